/*
 * Orders of items. See order.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/order.h"

#include <stdlib.h>

/* Larger comes first. Doubles: area needs the range; what two sizes of more than 2^53
 * bytes lose in precision only makes them a tie. */
static double
measure (const TesseraPackItem *item, TesseraOrderKey key)
{
  double size = (double) item->size_bytes, life = (double) item->life_events;
  switch (key)
    {
    case TESSERA_BY_PREFERENCE:
      return item->prefer_low;
    case TESSERA_BY_CONTENTION:
      return item->contention;
    case TESSERA_BY_LOAD:
      return (double) item->load_bytes;
    case TESSERA_BY_LIFE:
      return life;
    case TESSERA_BY_AREA:
      return size * life;
    case TESSERA_BY_SIZE:
      return size;
    case TESSERA_BY_TIME:
      return -(double) tessera_pack_first_section (item);
    case TESSERA_BY_END_OF_LIST:
      break;
    }
  return 0;
}

static int
compare_entries (const void *a, const void *b)
{
  const TesseraOrderEntry *x = a, *y = b;
  for (int k = 0; k < TESSERA_ORDER_MAX_KEYS; k++)
    {
      if (x->keys[k] > y->keys[k])
        return -1;
      if (x->keys[k] < y->keys[k])
        return 1;
    }
  return x->source < y->source ? -1 : x->source > y->source;
}

void
tessera_order_items (const TesseraPackProblem *problem,
                     const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS],
                     TesseraOrderEntry *entries,
                     uint32_t *order)
{
  for (size_t i = 0; i < problem->n_items; i++)
    {
      entries[i].item = (uint32_t) i;
      entries[i].source = problem->items[i].source;
      for (int k = 0; k < TESSERA_ORDER_MAX_KEYS; k++)
        entries[i].keys[k] = measure (&problem->items[i], keys[k]);
    }
  tessera_order_entries (entries, problem->n_items, order);
}

void
tessera_order_entries (TesseraOrderEntry *entries, size_t n_entries, uint32_t *order)
{
  qsort (entries, n_entries, sizeof *entries, compare_entries);
  for (size_t i = 0; i < n_entries; i++)
    order[i] = entries[i].item;
}
