/* Which edits are behind a block's place. See explain.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/explain.h"

#include <stdio.h>

#include "edits/edits.h"

/* What an edit of the kind did for this place. */
static const char *const effects[] = {
  [TESSERA_EDIT_MERGE] = "groups it, which the strategy free does not look at",
  [TESSERA_EDIT_SPLIT] = "groups it, which the strategy free does not look at",
  [TESSERA_EDIT_GROUP] = "groups it, which the strategy free does not look at",
  [TESSERA_EDIT_MOVE] = "groups it, which the strategy free does not look at",
  [TESSERA_EDIT_PIN] = "pins it there",
  [TESSERA_EDIT_TOGETHER] = "keeps its distances from others",
  [TESSERA_EDIT_APART] = "keeps its addresses from others",
  [TESSERA_EDIT_DYNAMIC] = "leaves it to the dynamic allocator",
  [TESSERA_EDIT_CLASS] = "classes it",
  [TESSERA_EDIT_CAP] = "has no room for it under its cap",
};

/* Blocks that are one place of the plan: @block, and its like in other steps that lie
 * there or are left out as it is. */
static guint8 *
place_mates (const CliExplain *explain, uint32_t block)
{
  const TesseraLayout *planned = explain->study.planned;
  guint8 *mates = cli_peak_likes (&explain->study, block);

  for (size_t i = 0; i < planned->n_blocks; i++)
    if (mates[i] && i != block)
      mates[i] = planned->is_left[i] == planned->is_left[block] &&
                 (planned->is_left[i] || (planned->is_hit[i] && planned->is_hit[block] &&
                                          planned->addr[i] == planned->addr[block]));
  return mates;
}

/* The first of the selector's blocks (settled) that is a mate, @block before others. */
static uint32_t
find_mate (const TesseraSelector *selector, const guint8 *mates, uint32_t block)
{
  uint32_t found = TESSERA_NONE;

  for (size_t i = 0; i < selector->n_blocks; i++)
    if (selector->blocks[i] == block)
      return block;
    else if (found == TESSERA_NONE && mates[selector->blocks[i]])
      found = selector->blocks[i];
  return found;
}

/* Through which block the edit is about the place, or TESSERA_NONE. What is left out has
 * none that could be held, and a cap is about what nothing else left out. */
static uint32_t
concerned (const TesseraEdit *edit,
           const guint8 *mates,
           uint32_t block,
           gboolean is_left,
           gboolean was_told)
{
  if (edit->kind == TESSERA_EDIT_CAP)
    return is_left && !was_told ? block : TESSERA_NONE;
  if (is_left && (edit->kind == TESSERA_EDIT_PIN || edit->kind == TESSERA_EDIT_TOGETHER ||
                  edit->kind == TESSERA_EDIT_APART))
    return TESSERA_NONE;
  uint32_t through = find_mate (&edit->what, mates, block);

  return through == TESSERA_NONE && edit->has_with ? find_mate (&edit->with, mates, block)
                                                   : through;
}

static const char *
effect (const TesseraEdit *edit, gboolean is_left)
{
  return edit->kind == TESSERA_EDIT_DYNAMIC && !is_left
             ? "would leave it to the dynamic allocator, but it has no slot, since its "
               "request differs from step to step"
             : effects[edit->kind];
}

static void
tell (JsonBuilder *builder,
      const TesseraEdit *edit,
      size_t index,
      gboolean is_left,
      uint32_t block,
      uint32_t through)
{
  g_autofree char *text = tessera_edit_describe (edit);
  char by_way[64] = "";

  if (builder == NULL)
    {
      if (through != block)
        g_snprintf (by_way, sizeof by_way, ", by way of block %u, whose place it shares",
                    through);
      printf ("edit %zu %s%s: %s\n", index + 1, effect (edit, is_left), by_way,
              cli_shown (text));
      return;
    }
  json_builder_begin_object (builder);
  cli_json_bytes (builder, "edit", index + 1);
  cli_json_text (builder, "kind", edits_get_name (EDITS_KINDS, edit->kind));
  cli_json_text (builder, "text", text);
  cli_json_bytes (builder, "block", through);
  json_builder_end_object (builder);
}

gboolean
cli_explain_edits (JsonBuilder *builder, const CliExplain *explain, uint32_t block)
{
  const TesseraEdit *edits = tessera_history_get (explain->study.history, NULL);
  const gboolean is_left = explain->study.planned->is_left[block];
  g_autofree guint8 *mates = place_mates (explain, block);
  gboolean is_pinned = FALSE, was_left = FALSE;

  if (builder != NULL)
    {
      json_builder_set_member_name (builder, "edits");
      json_builder_begin_array (builder);
    }
  /* Caps last: they take what other edits did not. */
  for (int caps = 0; caps < 2; caps++)
    for (size_t i = 0; i < explain->options.n_edits; i++)
      {
        uint32_t through =
            (edits[i].kind == TESSERA_EDIT_CAP) == caps
                ? concerned (&explain->settled[i], mates, block, is_left, was_left)
                : TESSERA_NONE;

        if (through == TESSERA_NONE)
          continue;
        tell (builder, &edits[i], i, is_left, block, through);
        is_pinned |= edits[i].kind == TESSERA_EDIT_PIN;
        was_left |= edits[i].kind == TESSERA_EDIT_DYNAMIC;
      }
  if (builder != NULL)
    json_builder_end_array (builder);
  return is_pinned;
}
