/*
 * Two plans of one trace, block by block.
 *
 * Both lists of slots are sorted by block, then walked together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/compare.h"

#include <stdlib.h>

static const char out_of_memory[] =
    "This computer ran out of memory while comparing plans: close other programs.";

/* The places of a plan's blocks, one a block. */
typedef struct
{
  const TesseraSlot **slots; /* by block */
  size_t n;
} Places;

static bool
is_spare (const TesseraPlan *plan, const TesseraSlot *slot)
{
  return slot->ordinal == TESSERA_NONE && slot->wraps &&
         slot->section < plan->n_sections &&
         plan->sections[slot->section].kind == TESSERA_SECTION_REPEATS;
}

static int
by_block (const void *a, const void *b)
{
  const TesseraSlot *x = *(const TesseraSlot *const *) a;
  const TesseraSlot *y = *(const TesseraSlot *const *) b;

  if (x->block != y->block)
    return x->block < y->block ? -1 : 1;
  return (x > y) - (x < y); /* of one plan's array */
}

static TesseraStatus
places_of (const TesseraPlan *plan, Places *places)
{
  size_t n = 0;

  places->n = 0;
  places->slots = malloc ((plan->n_slots + 1) * sizeof (const TesseraSlot *));
  if (places->slots == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block != TESSERA_NONE && !is_spare (plan, &plan->slots[i]))
      places->slots[n++] = &plan->slots[i];
  qsort (places->slots, n, sizeof (const TesseraSlot *), by_block);
  /* Of a block with several the first slot counts. */
  for (size_t i = 0; i < n; i++)
    if (places->n == 0 || places->slots[places->n - 1]->block != places->slots[i]->block)
      places->slots[places->n++] = places->slots[i];
  return TESSERA_OK;
}

static void
note_both (TesseraComparison *c, const TesseraSlot *a, const TesseraSlot *b)
{
  if (a->offset_bytes == b->offset_bytes)
    {
      c->n_same++;
      c->same_bytes += a->block_bytes;
      return;
    }
  c->moves[c->n_moved++] = (TesseraMovedBlock){ a->block,
                                                a->block_bytes,
                                                { a->offset_bytes, b->offset_bytes } };
  c->moved_bytes += a->block_bytes;
}

static void
note_only (TesseraComparison *c, int which, const TesseraSlot *slot)
{
  c->only[which][c->n_only[which]++] = slot->block;
  c->only_bytes[which] += slot->block_bytes;
}

static void
walk (TesseraComparison *c, const Places *a, const Places *b)
{
  size_t i = 0, k = 0;

  while (i < a->n || k < b->n)
    if (k == b->n || (i < a->n && a->slots[i]->block < b->slots[k]->block))
      note_only (c, 0, a->slots[i++]);
    else if (i == a->n || b->slots[k]->block < a->slots[i]->block)
      note_only (c, 1, b->slots[k++]);
    else
      note_both (c, a->slots[i++], b->slots[k++]);
}

static int
by_size (const void *a, const void *b)
{
  const TesseraMovedBlock *x = a, *y = b;

  if (x->block_bytes != y->block_bytes)
    return x->block_bytes > y->block_bytes ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

static TesseraStatus
compare (const TesseraPlan *first, const TesseraPlan *second, TesseraComparison *c)
{
  Places places[2] = { { NULL, 0 }, { NULL, 0 } };
  TesseraStatus status = places_of (first, &places[0]);

  if (status == TESSERA_OK)
    status = places_of (second, &places[1]);
  if (status == TESSERA_OK)
    {
      c->moves = malloc ((places[0].n + 1) * sizeof *c->moves);
      for (int i = 0; i < 2; i++)
        c->only[i] = malloc ((places[i].n + 1) * sizeof *c->only[i]);
      if (c->moves == NULL || c->only[0] == NULL || c->only[1] == NULL)
        status = TESSERA_NO_MEMORY;
    }
  if (status == TESSERA_OK)
    {
      c->n_slots[0] = places[0].n;
      c->n_slots[1] = places[1].n;
      walk (c, &places[0], &places[1]);
      qsort (c->moves, c->n_moved, sizeof *c->moves, by_size);
    }
  free (places[0].slots);
  free (places[1].slots);
  return status;
}

TesseraStatus
tessera_compare_plans (const TesseraPlan *first,
                       const TesseraPlan *second,
                       TesseraError *error,
                       TesseraComparison **out_comparison)
{
  TesseraComparison *c;
  TesseraStatus status;

  *out_comparison = NULL;
  if (first->trace_fingerprint != second->trace_fingerprint)
    return tessera_fail (error, TESSERA_REFUSED,
                         "The plans are not of the same trace (fingerprints %016llx and "
                         "%016llx): their blocks are not the same.",
                         (unsigned long long) first->trace_fingerprint,
                         (unsigned long long) second->trace_fingerprint);
  c = calloc (1, sizeof *c);
  if (c == NULL)
    return tessera_fail (error, TESSERA_NO_MEMORY, out_of_memory);
  c->height_bytes[0] = first->height_bytes;
  c->height_bytes[1] = second->height_bytes;
  c->bound_bytes[0] = first->bound_bytes;
  c->bound_bytes[1] = second->bound_bytes;
  status = compare (first, second, c);
  if (status == TESSERA_OK)
    *out_comparison = c;
  else
    {
      tessera_comparison_free (c);
      (void) tessera_fail (error, status, out_of_memory);
    }
  return status;
}

void
tessera_comparison_free (TesseraComparison *comparison)
{
  if (comparison == NULL)
    return;
  free (comparison->moves);
  free (comparison->only[0]);
  free (comparison->only[1]);
  free (comparison);
}
