/*
 * Edits as edits about blocks by hand: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/regroup.h"
#include "planner/edits/wishes.h"
#include "planner/groups.h"

#include <stdlib.h>
#include <string.h>

/* *@selector, of the blocks that @selected says and of nothing else. */
static TesseraStatus
by_hand (TesseraSelector *selector, const uint8_t *selected, size_t n_blocks)
{
  tessera_selector_clear (selector);
  return tessera_selected_list (selected, n_blocks, &selector->blocks,
                                &selector->n_blocks);
}

/* Distances of the blocks in @settled, of those that @edit gives. */
static TesseraStatus
keep_shape (const TesseraEdit *edit, TesseraEdit *settled)
{
  if (!edit->shape)
    return TESSERA_OK;
  free (settled->shape);
  settled->shape = malloc ((settled->what.n_blocks + 1) * sizeof *settled->shape);
  if (!settled->shape)
    return TESSERA_NO_MEMORY;
  tessera_pin_offsets (edit, settled->what.blocks, settled->what.n_blocks,
                       settled->shape);
  for (size_t i = 0; i < settled->what.n_blocks; i++)
    settled->shape[i] -= edit->at;
  return TESSERA_OK;
}

static TesseraStatus
settle (TesseraRegroup *regroup, uint8_t *selected, TesseraEdit *settled)
{
  const size_t n_blocks = regroup->blocks->n_blocks;
  TesseraEdit edit;
  TesseraStatus status = tessera_edit_copy (settled, &edit);

  if (status == TESSERA_OK)
    status =
        tessera_select (&edit.what, regroup->trace, regroup->blocks, regroup->structure,
                        regroup->groups, regroup->n_groups, selected);
  if (status == TESSERA_OK)
    status = by_hand (&settled->what, selected, n_blocks);
  if (status == TESSERA_OK)
    status = keep_shape (&edit, settled);
  if (status == TESSERA_OK)
    status = tessera_regroup (regroup, &edit, selected);
  if (status == TESSERA_OK && edit.has_with)
    status =
        tessera_select (&edit.with, regroup->trace, regroup->blocks, regroup->structure,
                        regroup->groups, regroup->n_groups, selected);
  if (status == TESSERA_OK && edit.has_with)
    status = by_hand (&settled->with, selected, n_blocks);
  tessera_edit_clear (&edit);
  return status;
}

TesseraStatus
tessera_edits_settle (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraEdit *edits,
                      size_t n_edits)
{
  TesseraBlocks edited = *blocks;
  TesseraRegroup regroup = { trace, &edited, structure, NULL, 0, 0 };
  uint8_t *selected = malloc (blocks->n_blocks + 1);
  TesseraStatus status = TESSERA_NO_MEMORY;

  edited.blocks = malloc ((blocks->n_blocks + 1) * sizeof *edited.blocks);
  if (selected && edited.blocks)
    {
      memcpy (edited.blocks, blocks->blocks, blocks->n_blocks * sizeof *edited.blocks);
      status = tessera_group_blocks (trace, &edited, structure, &regroup.groups,
                                     &regroup.n_groups);
      regroup.cap_groups = regroup.n_groups;
    }
  for (size_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    if (!edits[i].is_undone)
      status = settle (&regroup, selected, &edits[i]);
  tessera_groups_free (regroup.groups, regroup.n_groups);
  free (edited.blocks);
  free (selected);
  return status;
}
