/*
 * Two plans of one trace, block by block.
 *
 * Both lists of slots are sorted by block, then walked together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/compare.h"

#include <glib.h>

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

/* The slots of a plan's blocks, by block: of a block with several the first counts. */
static GPtrArray *
slots_of (const TesseraPlan *plan)
{
  GPtrArray *slots = g_ptr_array_new ();
  guint n = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block != TESSERA_NONE && !is_spare (plan, &plan->slots[i]))
      g_ptr_array_add (slots, &plan->slots[i]);
  g_ptr_array_sort (slots, by_block);
  for (guint i = 0; i < slots->len; i++)
    {
      const TesseraSlot *last = n > 0 ? slots->pdata[n - 1] : NULL;
      TesseraSlot *slot = slots->pdata[i];

      if (last == NULL || last->block != slot->block)
        slots->pdata[n++] = slot;
    }
  g_ptr_array_set_size (slots, (gint) n);
  return slots;
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
walk (TesseraComparison *c, const GPtrArray *first, const GPtrArray *second)
{
  guint i = 0, k = 0;

  while (i < first->len || k < second->len)
    {
      const TesseraSlot *a = i < first->len ? first->pdata[i] : NULL;
      const TesseraSlot *b = k < second->len ? second->pdata[k] : NULL;
      bool has_a = a != NULL && (b == NULL || a->block <= b->block);
      bool has_b = b != NULL && (a == NULL || b->block <= a->block);

      if (has_a && has_b)
        note_both (c, a, b);
      else
        note_only (c, has_b, has_a ? a : b);
      i += has_a;
      k += has_b;
    }
}

static int
by_size (const void *a, const void *b)
{
  const TesseraMovedBlock *x = a, *y = b;

  if (x->block_bytes != y->block_bytes)
    return x->block_bytes > y->block_bytes ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

TesseraStatus
tessera_compare_plans (const TesseraPlan *first,
                       const TesseraPlan *second,
                       TesseraError *error,
                       TesseraComparison **out_comparison)
{
  g_autoptr (GPtrArray) a = slots_of (first), b = slots_of (second);
  TesseraComparison *c;

  *out_comparison = NULL;
  if (first->trace_fingerprint != second->trace_fingerprint)
    return tessera_fail (error, TESSERA_REFUSED,
                         "The plans are not of the same trace (fingerprints %016llx and "
                         "%016llx): their blocks are not the same.",
                         (unsigned long long) first->trace_fingerprint,
                         (unsigned long long) second->trace_fingerprint);
  c = g_new (TesseraComparison, 1);
  *c = (TesseraComparison){
    .n_slots = { a->len, b->len },
    .height_bytes = { first->height_bytes, second->height_bytes },
    .bound_bytes = { first->bound_bytes, second->bound_bytes },
    .moves = g_new (TesseraMovedBlock, a->len),
    .only = { g_new (uint32_t, a->len), g_new (uint32_t, b->len) },
  };
  walk (c, a, b);
  if (c->n_moved > 0)
    qsort (c->moves, c->n_moved, sizeof *c->moves, by_size);
  *out_comparison = c;
  return TESSERA_OK;
}

void
tessera_comparison_free (TesseraComparison *comparison)
{
  if (comparison == NULL)
    return;
  g_free (comparison->moves);
  g_free (comparison->only[0]);
  g_free (comparison->only[1]);
  g_free (comparison);
}
