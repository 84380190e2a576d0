/* Why a block lies where it lies. See explain.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/explain.h"

#include <stdio.h>

#include "cli/tell/culprits.h"
#include "simulator/explain.h"

#define MOST_NEIGHBOURS 8

static void
json_blocks (JsonBuilder *builder, const char *key, const uint32_t *blocks, size_t n)
{
  json_builder_set_member_name (builder, key);
  json_builder_begin_array (builder);
  for (size_t i = 0; i < n; i++)
    json_builder_add_int_value (builder, blocks[i]);
  json_builder_end_array (builder);
}

static void
print_blocks (const CliExplain *explain,
              const char *what,
              const uint32_t *blocks,
              size_t n)
{
  printf ("%s: %s", what, n == 0 ? "nothing" : "");
  for (size_t i = 0; i < MIN (n, MOST_NEIGHBOURS); i++)
    {
      const TesseraBlock *block = &explain->study.blocks->blocks[blocks[i]];
      char size[32];

      printf ("%sblock %u (%s, events %u to %u)", i > 0 ? ", " : "", blocks[i],
              tessera_format_bytes (block->block_bytes, size, sizeof size),
              block->born_index, block->died_index);
    }
  printf (n > MOST_NEIGHBOURS ? ", and %zu more\n" : "\n", n - MOST_NEIGHBOURS);
}

static TesseraStatus
json_place (const CliExplain *explain,
            uint32_t index,
            const TesseraPlaceReason *reason,
            TesseraError *error)
{
  const TesseraBlock *block = &explain->regrouped.blocks.blocks[index];
  g_autofree char *line = cli_own_line (explain->study.trace, block->stack);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree guint8 *likes = cli_peak_likes (&explain->study, index);
  const gboolean without = cli_asks_without (explain, block->lifetime_class);
  CliWhatIf answer = { 0 };

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", explain->study.path);
  cli_json_bytes (builder, "block", index);
  cli_json_bytes (builder, "size_bytes", block->size_bytes);
  cli_json_bytes (builder, "block_bytes", reason->block_bytes);
  cli_json_bytes (builder, "born_index", block->born_index);
  cli_json_bytes (builder, "died_index", block->died_index);
  cli_json_text (builder, "class", cli_class_name (block->lifetime_class));
  cli_json_text (builder, "line", line);
  cli_json_text (builder, "layout", cli_layout_name (explain->study.planned->kind));
  cli_json_text (builder, "strategy", explain->study.plan->strategy);
  cli_json_bytes (builder, "addr", reason->addr);
  cli_json_bytes (builder, "offset_bytes", reason->addr - reason->base_addr);
  cli_json_bytes (builder, "lower_offset_bytes", reason->lower_addr - reason->base_addr);
  json_blocks (builder, "below", reason->below, reason->n_below);
  json_blocks (builder, "above", reason->above, reason->n_above);
  json_blocks (builder, "chain", reason->chain, reason->n_chain);
  cli_json_bool (builder, "left", explain->study.planned->is_left[index]);
  (void) cli_explain_edits (builder, explain, index);
  TesseraStatus status = cli_explain_what_if (explain, likes, without, &answer, error);
  if (status != TESSERA_OK)
    return status;
  cli_answer_to_json (builder, &answer, without);
  json_builder_end_object (builder);
  cli_print_json (builder);
  return TESSERA_OK;
}

static void
print_answer (const CliExplain *explain, const CliWhatIf *answer, gboolean without)
{
  g_autofree char *moment = cli_moment_name (explain);
  g_autofree char *what =
      without ? g_strdup ("kept elsewhere") : g_strdup_printf ("freed before %s", moment);
  g_autofree char *text = cli_answer_text (explain, answer);

  if (answer->n_changed == 0)
    printf ("what if %s: nothing changes, it does not live across that\n",
            cli_shown (what));
  else
    printf ("what if %s: the plan takes %s\n", cli_shown (what), text);
}

/* What it is and where it lies. */
static void
print_block (const CliExplain *explain, uint32_t index, const TesseraPlaceReason *reason)
{
  const TesseraBlock *block = &explain->regrouped.blocks.blocks[index];
  const TesseraLayout *planned = explain->study.planned;
  g_autofree char *line = cli_own_line (explain->study.trace, block->stack);
  const uint64_t offset = reason->addr - reason->base_addr;
  char size[32], from[32], to[32];

  printf ("block %u: %s (%" G_GUINT64_FORMAT " bytes asked for), %s, stream %u,"
          " events %u to %u\n%s\n",
          index, tessera_format_bytes (reason->block_bytes, size, sizeof size),
          block->size_bytes, cli_class_name (block->lifetime_class), block->stream,
          block->born_index, block->died_index, cli_shown (line));
  printf ("in the plan it lies at %s to %s of %s%s; strategy %s\n",
          tessera_format_bytes (offset, from, sizeof from),
          tessera_format_bytes (offset + reason->block_bytes, to, sizeof to),
          planned->is_hit[index] ? "the pool" : "dynamic memory",
          planned->is_hit[index]    ? ""
          : planned->is_left[index] ? ", a planned miss"
                                    : ", the plan has no place free for it",
          cli_shown (explain->study.plan->strategy));
}

static void
print_lower (const TesseraPlaceReason *reason, gboolean is_pinned)
{
  char lower[32];

  if (reason->lower_addr == reason->addr)
    puts ("lower: no place below is free over its whole life");
  else
    printf ("lower: %s is free over its whole life; %s\n",
            tessera_format_bytes (reason->lower_addr - reason->base_addr, lower,
                                  sizeof lower),
            is_pinned ? "the pin keeps it from there"
                      : "the strategy's order placed it when others it was kept from lay "
                        "there");
}

static TesseraStatus
print_place (const CliExplain *explain,
             uint32_t index,
             const TesseraPlaceReason *reason,
             TesseraError *error)
{
  g_autofree guint8 *likes = cli_peak_likes (&explain->study, index);
  const gboolean without =
      cli_asks_without (explain, explain->regrouped.blocks.blocks[index].lifetime_class);
  CliWhatIf answer;

  print_block (explain, index, reason);
  const gboolean is_pinned = cli_explain_edits (NULL, explain, index);
  print_blocks (explain, "rests on", reason->below, reason->n_below);
  print_blocks (explain, "carries", reason->above, reason->n_above);
  print_blocks (explain, "down to the ground", reason->chain, reason->n_chain);
  print_lower (reason, is_pinned);
  TesseraStatus status = cli_explain_what_if (explain, likes, without, &answer, error);
  if (status == TESSERA_OK)
    print_answer (explain, &answer, without);
  return status;
}

TesseraStatus
cli_explain_block (const CliExplain *explain, const char *text, TesseraError *error)
{
  const CliStudy *study = &explain->study;
  TesseraPlaceReason reason;
  guint64 index;

  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &index, NULL) ||
      index >= study->blocks->n_blocks)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has blocks 0 to %zu, so there is no block %s", study->path,
                         study->blocks->n_blocks - 1, text);
  TesseraStatus status =
      tessera_explain_place (study->blocks, study->planned, (uint32_t) index, &reason);
  if (status == TESSERA_INVALID)
    return tessera_fail (error, status,
                         "%s: block %s was never placed: its request failed", study->path,
                         text);
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "%s: not enough memory", study->path);
  if (explain->json)
    status = json_place (explain, (uint32_t) index, &reason, error);
  else
    status = print_place (explain, (uint32_t) index, &reason, error);
  tessera_place_reason_clear (&reason);
  return status;
}
