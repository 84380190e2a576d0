/*
 * See judge-edits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/proof/judge-edits.h"

#include <stdlib.h>

#include "planner/groups.h"
#include "tests/ok.h"

/* The blocks as they are when it is the edit's turn. */
static guint8 *
select_blocks (const Instance *instance, const TesseraSelector *what, guint n_before)
{
  TesseraBlocks blocks = *instance->of.blocks;
  TesseraGroup *groups;
  size_t n_groups;
  guint8 *selected = g_new0 (guint8, blocks.n_blocks + 1);

  OK (tessera_edits_regroup (instance->of.trace, instance->of.blocks,
                             instance->of.structure, instance->edits, n_before, NULL,
                             NULL, &blocks.blocks, &groups, &n_groups));
  tessera_select (what, instance->of.trace, &blocks, instance->of.structure, groups,
                  n_groups, selected);
  free (blocks.blocks);
  tessera_groups_free (groups, n_groups);
  return selected;
}

static gboolean
is_spare (const TesseraPlan *plan, const TesseraSlot *slot)
{
  return slot->wraps && slot->ordinal == TESSERA_NONE &&
         plan->sections[slot->section].kind == TESSERA_SECTION_REPEATS;
}

/* Of several kinds of step, or of the start: one block's rest is the other. */
static gboolean
are_one_place (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->section != b->section && (a->wraps || b->wraps) &&
         a->offset_bytes == b->offset_bytes && a->block_bytes == b->block_bytes &&
         a->stream == b->stream && a->pool == b->pool;
}

static void
judge_apart (const TesseraPlan *plan,
             const guint8 *selected,
             const guint8 *with,
             const char *name)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < plan->n_slots; k++)
      {
        const TesseraSlot *a = &plan->slots[i], *b = &plan->slots[k];

        if (i == k || is_spare (plan, a) || is_spare (plan, b) || !selected[a->block] ||
            !with[b->block] || (selected == with && are_one_place (a, b)))
          continue;
        if (a->offset_bytes < b->offset_bytes + b->block_bytes &&
            b->offset_bytes < a->offset_bytes + a->block_bytes)
          g_error ("%s: slots %zu and %zu are not apart", name, i, k);
      }
}

void
judge_edits (const Instance *instance, const TesseraPlan *plan)
{
  for (guint e = 0; e < instance->n_edits; e++)
    {
      const TesseraEdit *edit = &instance->edits[e];
      g_autofree guint8 *selected = select_blocks (instance, &edit->what, e);
      g_autofree guint8 *with =
          edit->has_with ? select_blocks (instance, &edit->with, e) : NULL;

      if (edit->kind == TESSERA_EDIT_CAP)
        g_assert_cmpuint (plan->height_bytes, <=, edit->at);
      for (size_t i = 0; i < plan->n_slots; i++)
        {
          const TesseraSlot *slot = &plan->slots[i];

          if (is_spare (plan, slot) || !selected[slot->block])
            continue;
          if (edit->kind == TESSERA_EDIT_PIN)
            g_assert_cmpuint (slot->offset_bytes, ==, edit->at);
          g_assert_cmpint (edit->kind, !=, TESSERA_EDIT_DYNAMIC);
        }
      if (edit->kind == TESSERA_EDIT_APART)
        judge_apart (plan, selected, with != NULL ? with : selected, edit->name);
    }
}
