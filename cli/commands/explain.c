/* tessera explain FILE [BLOCK]: why it lies there, what makes the peak.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/tell/culprits.h"
#include "cli/tell/peak.h"
#include "cli/tell/waits.h"
#include "db/store.h"
#include "simulator/explain.h"

#define MOST_NEIGHBOURS 8
#define MOST_ROWS 100

static const char *const class_names[] = {
  [0] = "mixed",
  [TESSERA_CLASS_PERSISTENT] = "persistent",
  [TESSERA_CLASS_SCOPED] = "scoped",
  [TESSERA_CLASS_TRANSIENT] = "transient",
  [TESSERA_CLASS_DYNAMIC] = "dynamic",
};

typedef struct
{
  CliStudy study;
  TesseraPlanOptions options; /* of every plan that is made here */
  CliPeakBy by;
  gint n_rows;
  const char *freed_before; /* a phase or an event; NULL: the peak */
  TesseraMoments moments;
  gboolean json;
} Explain;

/* What the moments are, in words. */
static char *
moment_name (const Explain *explain)
{
  guint64 event;

  if (explain->freed_before == NULL)
    return g_strdup ("the peak");
  if (g_ascii_string_to_unsigned (explain->freed_before, 10, 0, TESSERA_NONE - 1, &event,
                                  NULL))
    return g_strdup_printf ("event %" G_GUINT64_FORMAT, event);
  return g_strdup_printf ("every %s", explain->freed_before);
}

static TesseraStatus
find_moments (Explain *explain, TesseraError *error)
{
  const CliStudy *study = &explain->study;
  const char *name = explain->freed_before;
  TesseraStatus status;
  guint64 event;

  if (name == NULL)
    status =
        tessera_moments_of_peaks (study->blocks, study->structure, &explain->moments);
  else if (g_ascii_string_to_unsigned (name, 10, 0, TESSERA_NONE - 1, &event, NULL))
    {
      if (event >= study->blocks->n_events)
        return tessera_fail (error, TESSERA_INVALID,
                             "%s has events 0 to %u, so there is no event %s",
                             study->path, study->blocks->n_events - 1, name);
      explain->moments.events = malloc (sizeof *explain->moments.events);
      status = explain->moments.events != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
      if (status == TESSERA_OK)
        explain->moments.events[explain->moments.n_events++] = (uint32_t) event;
    }
  else
    status = tessera_moments_of_phase (study->trace, study->structure, name,
                                       &explain->moments);
  if (status == TESSERA_OK && explain->moments.n_events == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "%s has no phase called \"%s\": the viewer shows those it has",
                         study->path, name != NULL ? name : "");
  return status == TESSERA_OK
             ? status
             : tessera_fail (error, status, "%s: not enough memory", study->path);
}

/* What is there all the time can be freed before no peak: the question is then what
 * keeping it elsewhere would win, on another device or in the host's memory. */
static gboolean
asks_without (const Explain *explain, guint8 lifetime_class)
{
  return explain->freed_before == NULL && lifetime_class == TESSERA_CLASS_PERSISTENT;
}

static void
json_answer (JsonBuilder *builder, const CliWhatIf *answer, gboolean without)
{
  json_builder_set_member_name (builder, "what_if");
  json_builder_begin_object (builder);
  cli_json_text (builder, "kind", without ? "kept elsewhere" : "freed before");
  cli_json_bytes (builder, "changed_blocks", answer->n_changed);
  cli_json_bytes (builder, "changed_bytes", answer->changed_bytes);
  cli_json_bytes (builder, "bound_bytes", answer->bound_bytes);
  cli_json_bytes (builder, "height_bytes", answer->height_bytes);
  json_builder_end_object (builder);
}

static void
print_answer (const Explain *explain, const CliWhatIf *answer, gboolean without)
{
  const TesseraPlan *plan = explain->study.plan;
  g_autofree char *moment = moment_name (explain);
  g_autofree char *what =
      without ? g_strdup ("kept elsewhere") : g_strdup_printf ("freed before %s", moment);
  char now[32], then[32], won[32];
  gboolean wins = answer->height_bytes <= plan->height_bytes;

  if (answer->n_changed == 0)
    {
      printf ("what if %s: nothing changes, it does not live across that\n", what);
      return;
    }
  printf ("what if %s: the plan takes %s instead of %s (%s%s)\n", what,
          tessera_format_bytes (answer->height_bytes, then, sizeof then),
          tessera_format_bytes (plan->height_bytes, now, sizeof now), wins ? "-" : "+",
          tessera_format_bytes (wins ? plan->height_bytes - answer->height_bytes
                                     : answer->height_bytes - plan->height_bytes,
                                won, sizeof won));
}

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
print_blocks (const Explain *explain, const char *what, const uint32_t *blocks, size_t n)
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
json_place (const Explain *explain,
            uint32_t index,
            const TesseraPlaceReason *reason,
            TesseraError *error)
{
  const TesseraBlock *block = &explain->study.blocks->blocks[index];
  g_autofree char *line = cli_own_line (explain->study.trace, block->stack);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree guint8 *likes = cli_peak_likes (&explain->study, index);
  const gboolean without = asks_without (explain, block->lifetime_class);
  CliWhatIf answer = { 0 };

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", explain->study.path);
  cli_json_bytes (builder, "block", index);
  cli_json_bytes (builder, "size_bytes", block->size_bytes);
  cli_json_bytes (builder, "block_bytes", reason->block_bytes);
  cli_json_bytes (builder, "born_index", block->born_index);
  cli_json_bytes (builder, "died_index", block->died_index);
  cli_json_text (builder, "class", class_names[block->lifetime_class]);
  cli_json_text (builder, "line", line);
  cli_json_text (builder, "layout", cli_layout_name (explain->study.planned->kind));
  cli_json_text (builder, "strategy", explain->study.plan->strategy);
  cli_json_bytes (builder, "addr", reason->addr);
  cli_json_bytes (builder, "offset_bytes", reason->addr - reason->base_addr);
  cli_json_bytes (builder, "lower_offset_bytes", reason->lower_addr - reason->base_addr);
  json_blocks (builder, "below", reason->below, reason->n_below);
  json_blocks (builder, "above", reason->above, reason->n_above);
  json_blocks (builder, "chain", reason->chain, reason->n_chain);
  cli_explain_waits (builder, &explain->study, index);
  TesseraStatus status = cli_what_if (&explain->study, &explain->options, likes,
                                      without ? NULL : &explain->moments, &answer, error);
  if (status != TESSERA_OK)
    return status;
  json_answer (builder, &answer, without);
  json_builder_end_object (builder);
  cli_print_json (builder);
  return TESSERA_OK;
}

static TesseraStatus
print_place (const Explain *explain,
             uint32_t index,
             const TesseraPlaceReason *reason,
             TesseraError *error)
{
  const TesseraBlock *block = &explain->study.blocks->blocks[index];
  g_autofree char *line = cli_own_line (explain->study.trace, block->stack);
  g_autofree guint8 *likes = cli_peak_likes (&explain->study, index);
  const TesseraPlan *plan = explain->study.plan;
  const gboolean without = asks_without (explain, block->lifetime_class);
  CliWhatIf answer;
  char size[32], from[32], to[32], lower[32];
  uint64_t offset = reason->addr - reason->base_addr;

  printf ("block %u: %s (%" G_GUINT64_FORMAT " bytes asked for), %s, stream %u,"
          " events %u to %u\n%s\n",
          index, tessera_format_bytes (reason->block_bytes, size, sizeof size),
          block->size_bytes, class_names[block->lifetime_class], block->stream,
          block->born_index, block->died_index, line);
  printf ("in the plan it lies at %s to %s of %s%s; strategy %s\n",
          tessera_format_bytes (offset, from, sizeof from),
          tessera_format_bytes (offset + reason->block_bytes, to, sizeof to),
          explain->study.planned->is_hit[index] ? "the pool" : "dynamic memory",
          explain->study.planned->is_hit[index] ? "" : ", it missed the plan",
          plan->strategy);
  print_blocks (explain, "rests on", reason->below, reason->n_below);
  print_blocks (explain, "carries", reason->above, reason->n_above);
  print_blocks (explain, "down to the ground", reason->chain, reason->n_chain);
  if (reason->lower_addr < reason->addr)
    printf ("lower: %s is free over its whole life; the strategy's order placed it when"
            " others it was kept from lay there\n",
            tessera_format_bytes (reason->lower_addr - reason->base_addr, lower,
                                  sizeof lower));
  else
    puts ("lower: no place below is free over its whole life");
  cli_explain_waits (NULL, &explain->study, index);
  TesseraStatus status = cli_what_if (&explain->study, &explain->options, likes,
                                      without ? NULL : &explain->moments, &answer, error);
  if (status == TESSERA_OK)
    print_answer (explain, &answer, without);
  return status;
}

static TesseraStatus
explain_block (const Explain *explain, const char *text, TesseraError *error)
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

static void
json_row (JsonBuilder *builder,
          const CliPeakRow *row,
          const CliWhatIf *answer,
          gboolean without)
{
  json_builder_begin_object (builder);
  cli_json_text (builder, "name", row->name);
  cli_json_bytes (builder, "bytes", row->bytes);
  cli_json_bytes (builder, "blocks", row->n_blocks);
  cli_json_text (builder, "class", class_names[row->lifetime_class]);
  cli_json_bool (builder, "recomputable", row->is_recomputable);
  if (answer != NULL)
    json_answer (builder, answer, without);
  json_builder_end_object (builder);
}

static void
print_row (const Explain *explain,
           const CliPeakRow *row,
           const CliWhatIf *answer,
           gboolean without)
{
  const TesseraPlan *plan = explain->study.plan;
  char bytes[32], then[32], won[32] = "";

  printf ("%11s %5.1f %% %7" G_GUINT64_FORMAT "  %-10s %s%s\n",
          tessera_format_bytes (row->bytes, bytes, sizeof bytes),
          100.0 * (double) row->bytes / (double) MAX (plan->bound_bytes, 1),
          row->n_blocks, class_names[row->lifetime_class], row->name,
          row->is_recomputable ? " (could be recomputed)" : "");
  if (answer != NULL && answer->n_changed > 0)
    printf ("%41s%s: the plan takes %s instead (%s%s)\n", "",
            without ? "kept elsewhere" : "freed before",
            tessera_format_bytes (answer->height_bytes, then, sizeof then),
            answer->height_bytes <= plan->height_bytes ? "-" : "+",
            tessera_format_bytes (answer->height_bytes <= plan->height_bytes
                                      ? plan->height_bytes - answer->height_bytes
                                      : answer->height_bytes - plan->height_bytes,
                                  won, sizeof won));
}

static TesseraStatus
explain_peak (const Explain *explain, TesseraError *error)
{
  const CliStudy *study = &explain->study;
  TesseraStatus status = TESSERA_OK;
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *moment = moment_name (explain);
  uint32_t at = 0;
  char bound[32], height[32];
  uint64_t bytes = tessera_blocks_bound (study->blocks, 0, study->blocks->n_events, &at);
  g_autoptr (GArray) rows = cli_peak_rows (study, explain->by, at);

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", study->path);
  cli_json_bytes (builder, "at_event", at);
  cli_json_bytes (builder, "bound_bytes", bytes);
  cli_json_bytes (builder, "height_bytes", study->plan->height_bytes);
  cli_json_text (builder, "freed_before", moment);
  json_builder_set_member_name (builder, "rows");
  json_builder_begin_array (builder);
  if (!explain->json)
    printf ("the peak: %s at event %u; the plan takes %s. What if a row were freed before"
            " %s:\n",
            tessera_format_bytes (bytes, bound, sizeof bound), at,
            tessera_format_bytes (study->plan->height_bytes, height, sizeof height),
            moment);
  if (!explain->json)
    printf ("%11s %7s %7s  %-10s %s\n", "bytes", "of it", "blocks", "class", "row");
  for (guint i = 0; i < MIN (rows->len, MOST_ROWS) && status == TESSERA_OK; i++)
    {
      const CliPeakRow *row = &g_array_index (rows, CliPeakRow, i);
      gboolean is_asked = i < (guint) explain->n_rows;
      const gboolean without = asks_without (explain, row->lifetime_class);
      CliWhatIf answer = { 0 };

      if (is_asked)
        {
          g_autofree guint8 *chosen = cli_peak_row_blocks (study, explain->by, row->name);

          status = cli_what_if (study, &explain->options, chosen,
                                without ? NULL : &explain->moments, &answer, error);
        }
      if (status == TESSERA_OK && explain->json)
        json_row (builder, row, is_asked ? &answer : NULL, without);
      else if (status == TESSERA_OK)
        print_row (explain, row, is_asked ? &answer : NULL, without);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  if (status == TESSERA_OK && explain->json)
    cli_print_json (builder);
  return status;
}

static gboolean
parse_by (const char *text, CliPeakBy *out_by)
{
  static const char *const names[] = {
    [CLI_BY_PHASES] = "phases", [CLI_BY_LINE] = "line", [CLI_BY_SIZE] = "size"
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_str_equal (text, names[i]))
      {
        *out_by = (CliPeakBy) i;
        return TRUE;
      }
  return FALSE;
}

int
cli_explain (int argc, char **argv)
{
  g_autofree char *by = NULL;
  g_autofree char *before = NULL;
  gboolean across = FALSE;
  CliCommon common = { 0 };
  Explain explain = { .options = { .first_step = -1, .last_step = -1 }, .n_rows = 5 };
  GOptionEntry entries[] = {
    { "by", 0, 0, G_OPTION_ARG_STRING, &by,
      "Rows of the peak: phases (of birth and death), line, or size", "WHAT" },
    { "freed-before", 0, 0, G_OPTION_ARG_STRING, &before,
      "What if it were freed before each phase of this name, or before an event "
      "(default: the peak of each step)",
      "PHASE|EVENT" },
    { "rows", 0, 0, G_OPTION_ARG_INT, &explain.n_rows,
      "Plan again for so many rows, largest first (default 5)", "N" },
    { "across-streams", 0, 0, G_OPTION_ARG_NONE, &across,
      "Let ranges pass from stream to stream", NULL },
    { NULL }
  };
  TesseraError error = { 0 };

  if (!cli_parse ("explain", &argc, &argv, entries, &common, 1, 2))
    return CLI_USAGE;
  if (by != NULL && !parse_by (by, &explain.by))
    return cli_usage ("explain", "--by takes phases, line or size, not \"%s\"", by);
  if (explain.n_rows < 0)
    return cli_usage ("explain", "--rows takes a number of rows, 0 or more");
  explain.json = common.json;
  explain.freed_before = before;
  explain.options.across_streams = across;
  TesseraStatus status = cli_study_open (&explain.study, argv[1], &common, &error);
  explain.options.progress = cli_progress ("planning");
  if (status == TESSERA_OK && explain.study.blocks->n_blocks == 0)
    status = tessera_fail (&error, TESSERA_INVALID, "%s holds no blocks", argv[1]);
  if (status == TESSERA_OK)
    status = cli_study_plan (&explain.study, &explain.options, &error);
  if (status == TESSERA_OK)
    status = find_moments (&explain, &error);
  if (status == TESSERA_OK)
    status = argc == 3 ? explain_block (&explain, argv[2], &error)
                       : explain_peak (&explain, &error);
  cli_progress_end ();
  int result = status == TESSERA_OK ? CLI_DONE : cli_fail (&error);
  free (explain.moments.events);
  cli_study_clear (&explain.study);
  return result;
}
