/*
 * Edits that are drawn. See drawn.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/drawn.h"

#include <stdlib.h>
#include <string.h>

static int
compare_blocks (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static TesseraSelector
select_blocks (uint32_t *blocks, size_t n)
{
  TesseraSelector selector;
  size_t n_kept = 0;

  qsort (blocks, n, sizeof *blocks, compare_blocks);
  for (size_t i = 0; i < n; i++)
    if (n_kept == 0 || blocks[n_kept - 1] != blocks[i])
      blocks[n_kept++] = blocks[i];
  tessera_selector_init (&selector);
  selector.blocks = malloc (n * sizeof *blocks);
  memcpy (selector.blocks, blocks, n_kept * sizeof *blocks);
  selector.n_blocks = n_kept;
  return selector;
}

static TesseraEdit *
add_edit (GArray *edits, TesseraEditKind kind, uint32_t *blocks, size_t n)
{
  TesseraEdit edit = { .kind = kind, .name = strdup ("drawn"), .with = { .step = -1 } };

  edit.what = select_blocks (blocks, n);
  tessera_selector_init (&edit.with);
  g_array_append_val (edits, edit);
  return &g_array_index (edits, TesseraEdit, edits->len - 1);
}

/* Every other one is among the larger: the best of eight. */
static const TesseraSlot *
draw_slot (const TesseraPlan *plan, GRand *random)
{
  const TesseraSlot *best = NULL;
  int n_tries = g_rand_boolean (random) ? 8 : 1;

  for (int i = 0; i < n_tries; i++)
    {
      const TesseraSlot *slot =
          &plan->slots[g_rand_int_range (random, 0, (gint32) plan->n_slots)];
      if (best == NULL || slot->block_bytes > best->block_bytes)
        best = slot;
    }
  return best;
}

static uint64_t
draw_offset (const TesseraPlan *plan, GRand *random, uint64_t top_bytes)
{
  uint64_t steps = top_bytes / plan->alignment_bytes;

  return (uint64_t) (g_rand_double (random) * (double) (steps + 1)) *
         plan->alignment_bytes;
}

static void
draw_pin (const TesseraPlan *plan, GRand *random, GArray *edits, bool at_stop)
{
  const TesseraSlot *slot = draw_slot (plan, random), *other;
  uint64_t top_bytes = plan->height_bytes - slot->block_bytes;
  uint32_t block = slot->block;
  uint64_t at = draw_offset (plan, random, top_bytes);

  for (int i = 0; at_stop && i < 100; i++)
    {
      other = draw_slot (plan, random);
      at = other->offset_bytes + (g_rand_boolean (random) ? other->block_bytes : 0);
      if (at <= top_bytes)
        break;
    }
  add_edit (edits, TESSERA_EDIT_PIN, &block, 1)->at = MIN (at, top_bytes);
}

/* Some that lie near each other in the list, moved as one. */
static void
draw_move (const TesseraPlan *plan, size_t n_blocks, GRand *random, GArray *edits)
{
  uint32_t blocks[12], n = 3 + (uint32_t) g_rand_int_range (random, 0, 9);
  uint32_t n_slots = (uint32_t) plan->n_slots;
  uint32_t first = (uint32_t) g_rand_int_range (random, 0, (gint32) (n_slots - n));
  g_autofree uint64_t *at = g_new0 (uint64_t, n_blocks);
  uint64_t low = UINT64_MAX, high = 0;
  TesseraEdit *edit;

  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraSlot *slot = &plan->slots[first + i];
      blocks[i] = slot->block;
      at[slot->block] = slot->offset_bytes;
      low = MIN (low, slot->offset_bytes);
      high = MAX (high, slot->offset_bytes + slot->block_bytes);
    }
  edit = add_edit (edits, TESSERA_EDIT_PIN, blocks, n);
  edit->at = draw_offset (plan, random, plan->height_bytes - (high - low));
  edit->shape = malloc (edit->what.n_blocks * sizeof *edit->shape);
  for (size_t i = 0; i < edit->what.n_blocks; i++)
    edit->shape[i] = at[edit->what.blocks[i]] - low;
}

static TesseraEdit *
draw_set (const TesseraPlan *plan,
          GRand *random,
          GArray *edits,
          TesseraEditKind kind,
          uint32_t n)
{
  uint32_t blocks[64];

  for (uint32_t i = 0; i < n; i++)
    blocks[i] = draw_slot (plan, random)->block;
  return add_edit (edits, kind, blocks, n);
}

void
drawn_edits_clear (GArray *edits)
{
  for (guint i = 0; i < edits->len; i++)
    tessera_edit_clear (&g_array_index (edits, TesseraEdit, i));
  g_array_set_size (edits, 0);
}

void
drawn_edits (const TesseraPlan *plan,
             size_t n_blocks,
             GRand *random,
             TesseraDrawn kind,
             GArray *edits)
{
  uint32_t blocks[4];
  TesseraEdit *edit;

  drawn_edits_clear (edits);
  switch (kind)
    {
    case TESSERA_DRAWN_PIN:
    case TESSERA_DRAWN_PIN_STOP:
      draw_pin (plan, random, edits, kind == TESSERA_DRAWN_PIN_STOP);
      return;
    case TESSERA_DRAWN_PINS:
      for (int i = 0; i < 4; i++)
        draw_pin (plan, random, edits, i % 2);
      return;
    case TESSERA_DRAWN_MOVE:
      draw_move (plan, n_blocks, random, edits);
      return;
    case TESSERA_DRAWN_TOGETHER:
      draw_set (plan, random, edits, TESSERA_EDIT_TOGETHER, 8);
      return;
    case TESSERA_DRAWN_APART:
      edit = draw_set (plan, random, edits, TESSERA_EDIT_APART, 4);
      for (int i = 0; i < 4; i++)
        blocks[i] = draw_slot (plan, random)->block;
      edit->with = select_blocks (blocks, 4);
      edit->has_with = true;
      return;
    case TESSERA_DRAWN_DYNAMIC:
      draw_set (plan, random, edits, TESSERA_EDIT_DYNAMIC, 1);
      return;
    case TESSERA_DRAWN_CAP:
      blocks[0] = 0;
      edit = add_edit (edits, TESSERA_EDIT_CAP, blocks, 1);
      edit->at = (uint64_t) ((double) plan->height_bytes *
                             g_rand_double_range (random, 0.8, 0.99));
      return;
    case TESSERA_DRAWN_STALLOC:
      draw_set (plan, random, edits, TESSERA_EDIT_GROUP, 16)->group = strdup ("drawn");
      return;
    case TESSERA_DRAWN_NOTHING:
    case TESSERA_N_DRAWN:
      return;
    }
}
