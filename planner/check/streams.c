/*
 * The law of streams. See check.h for what it says and sweep.h.
 *
 * One walk over the slots by offset is enough: if the slot that reaches highest so far is
 * of the newcomer's stream, no other stream can still be there, for it would have met that
 * slot before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct
{
  uint64_t offset_bytes;
  uint32_t slot;
} Start;

static int
compare_starts (const void *a, const void *b)
{
  const Start *x = a, *y = b;
  if (x->offset_bytes != y->offset_bytes)
    return x->offset_bytes < y->offset_bytes ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static uint64_t
top_of (const TesseraPlan *plan, uint32_t slot)
{
  return plan->slots[slot].offset_bytes + plan->slots[slot].block_bytes;
}

/* Nobody shares addresses with a private pool: a captured graph uses its memory whenever
 * it is replayed. */
static bool
may_share (const TesseraSlot *a, const TesseraSlot *b, bool crosses)
{
  return a->pool == b->pool && (crosses || a->stream == b->stream);
}

static TesseraStatus
refuse_pair (const TesseraPlan *plan, size_t first, size_t second, TesseraError *error)
{
  TesseraSlotText one, other;
  tessera_check_describe (plan, first, &one);
  tessera_check_describe (plan, second, &other);
  return tessera_fail (error, TESSERA_REFUSED,
                       "streams: expected no address shared between streams or private "
                       "pools, found %s and %s",
                       one.text, other.text);
}

static TesseraStatus
check_apart (const TesseraPlan *plan, TesseraError *error)
{
  Start *starts = calloc (plan->n_slots + 1, sizeof *starts);
  if (starts == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    starts[i] = (Start){ plan->slots[i].offset_bytes, (uint32_t) i };
  qsort (starts, plan->n_slots, sizeof *starts, compare_starts);
  TesseraStatus status = TESSERA_OK;
  uint32_t highest = TESSERA_NONE;
  for (size_t i = 0; status == TESSERA_OK && i < plan->n_slots; i++)
    {
      uint32_t slot = starts[i].slot;
      bool is_alone =
          highest == TESSERA_NONE ||
          may_share (&plan->slots[highest], &plan->slots[slot], plan->crosses_streams) ||
          top_of (plan, highest) <= starts[i].offset_bytes;
      if (!is_alone)
        status = refuse_pair (plan, highest, slot, error);
      if (highest == TESSERA_NONE || top_of (plan, slot) > top_of (plan, highest))
        highest = slot;
    }
  free (starts);
  return status;
}

TesseraStatus
tessera_check_streams (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].stream >= plan->n_streams)
      {
        TesseraSlotText text;
        tessera_check_describe (plan, i, &text);
        return tessera_fail (error, TESSERA_REFUSED,
                             "streams: expected a stream below %" PRIu32 ", found %s",
                             plan->n_streams, text.text);
      }
  return check_apart (plan, error);
}
