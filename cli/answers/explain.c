/*
 * tessera explain FILE [BLOCK]: why a block lies where it lies, what makes the peak of
 * the load, and what a plan would take if blocks were freed before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "cli/tell.h"
#include "edits/edits.h"
#include "planner/what-if.h"

#define MOST_NEIGHBOURS 8
#define MOST_ROWS 100
#define PEAK "the peak of live"

#define N_ASKED 5u /* rows that are planned again */

static char *by_text;

/* Blocks that are alive at the peak, in one row of info --by. */
typedef struct
{
  const char *name;
  uint32_t number;          /* of the row */
  guint64 bytes, n_blocks;  /* block bytes */
  guint8 lifetime_class;    /* of all of them; 0: of several */
  gboolean is_recomputable; /* all are activations */
} Row;

typedef struct
{
  CliStudy study; /* planned with the edits that stand */
  TesseraWhose whose;
  CliRegrouped regrouped;     /* its blocks as these edits class them */
  TesseraPlanOptions options; /* of every plan that is made here */
  TesseraEdit *settled; /* [study.history's] those edits, of the blocks that they mean */
  TesseraMoments peaks; /* of live, in each step */
} Explain;

/* A question and its answer. */
typedef struct
{
  gboolean without; /* kept elsewhere, not freed before */
  size_t n_changed; /* blocks, over the whole trace */
  guint64 changed_bytes;
  guint64 bound_bytes, height_bytes;
  guint64 n_left; /* requests that edits leave to the dynamic allocator */
} WhatIf;

/* The plan that the engineer has: with the edits that stand. */
static void
plan_as_edited (Explain *explain)
{
  CliStudy *study = &explain->study;
  TesseraPlanOptions *options = &explain->options;

  cli_study_edits (study, options);
  explain->regrouped = cli_regroup (study);
  cli_study_plan (study, options);
  cli_study_under_offsets (study);
  explain->settled = g_new0 (TesseraEdit, options->n_edits + 1);
  for (size_t i = 0; i < options->n_edits; i++)
    tessera_edit_copy (&options->edits[i], &explain->settled[i]);
  cli_must_of (study->path,
               tessera_edits_settle (study->trace, study->blocks, study->structure,
                                     explain->settled, options->n_edits));
}

/* Plans again, with the same edits of the same blocks, as if the chosen were freed before
 * the peaks. What is there all the time can be freed before no peak: the question is
 * then what keeping such blocks elsewhere would win, on another device or in the host's
 * memory. */
static WhatIf
ask_what_if (const Explain *explain, const guint8 *chosen, guint8 lifetime_class)
{
  const CliStudy *study = &explain->study;
  TesseraPlanOptions options = explain->options;
  WhatIf answer = { .without = lifetime_class == TESSERA_CLASS_PERSISTENT };
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraBlocks copy;

  options.edits = explain->settled;
  tessera_blocks_freed_before (study->blocks, chosen,
                               answer.without ? NULL : &explain->peaks, &answer.n_changed,
                               &answer.changed_bytes, &copy);
  cli_must (tessera_plan_trace (study->trace, &copy, study->structure, &options,
                                cli_error (), &plan));
  tessera_blocks_freed_before_clear (&copy);
  answer.bound_bytes = plan->bound_bytes;
  answer.height_bytes = plan->height_bytes;
  answer.n_left = plan->n_unplanned;
  return answer;
}

/* "1.5 GiB instead of 2 GiB (-512 MiB)", or "2 GiB, as now", and what is left to the dynamic allocator. */
static char *
describe_answer (const Explain *explain, const WhatIf *answer)
{
  const TesseraPlan *plan = explain->study.plan;
  const guint64 now_bytes = plan->height_bytes, then_bytes = answer->height_bytes;
  const gboolean wins = then_bytes < now_bytes;
  g_autofree char *left =
      plan->n_unplanned == 0 && answer->n_left == 0
          ? g_strdup ("")
          : g_strdup_printf (", and leaves %" G_GUINT64_FORMAT
                             " requests to the dynamic allocator instead of %zu",
                             answer->n_left, plan->n_unplanned);

  if (then_bytes == now_bytes)
    return g_strdup_printf ("%s, as now%s", TESSERA_SIZE (now_bytes), left);
  return g_strdup_printf (
      "%s instead of %s (%s%s)%s", TESSERA_SIZE (then_bytes), TESSERA_SIZE (now_bytes),
      wins ? "-" : "+",
      TESSERA_SIZE (wins ? now_bytes - then_bytes : then_bytes - now_bytes), left);
}

static void
member_answer (const WhatIf *answer)
{
  cli_object ("what_if");
  cli_member ("kind", answer->without ? "kept elsewhere" : "freed before");
  cli_member ("changed_blocks", answer->n_changed);
  cli_member ("changed_bytes", answer->changed_bytes);
  cli_member ("bound_bytes", answer->bound_bytes);
  cli_member ("height_bytes", answer->height_bytes);
  cli_member ("left", answer->n_left);
  cli_close ();
}

/* Alike but for the step. */
static gboolean
is_like (const Explain *explain, uint32_t a, uint32_t b)
{
  const TesseraBlock *x = &explain->study.blocks->blocks[a];
  const TesseraBlock *y = &explain->study.blocks->blocks[b];

  return x->size_bytes == y->size_bytes && x->stream == y->stream && x->pool == y->pool &&
         x->stack == y->stack &&
         explain->whose.categories[a] == explain->whose.categories[b];
}

/* One byte a block: @block and its like in every other step (same size, stream, stack and
 * category, as many such before it in the step). */
static guint8 *
find_alike (const Explain *explain, uint32_t block)
{
  const TesseraBlock *all = explain->study.blocks->blocks;
  const size_t n_blocks = explain->study.blocks->n_blocks;
  guint8 *chosen = g_new0 (guint8, n_blocks + 1);
  uint32_t step = TESSERA_NONE;
  guint ordinal = 0, before = 0;

  for (uint32_t i = 0; i < block; i++)
    ordinal += all[i].step == all[block].step && is_like (explain, i, block);
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      if (all[i].step == TESSERA_NONE || !is_like (explain, i, block))
        continue;
      before = all[i].step == step ? before + 1 : 0;
      step = all[i].step;
      chosen[i] = before == ordinal;
    }
  chosen[block] = 1;
  return chosen;
}

static void
tell_blocks (const Explain *explain,
             const char *key,
             const char *what,
             const uint32_t *blocks,
             size_t n)
{
  cli_say ("%s: %s", what, n == 0 ? "nothing" : "");
  cli_array (key);
  for (size_t i = 0; i < n; i++)
    {
      const TesseraBlock *block = &explain->study.blocks->blocks[blocks[i]];

      cli_member (NULL, blocks[i]);
      if (i < MOST_NEIGHBOURS)
        cli_say ("%sblock %u (%s, events %u to %u)", i > 0 ? ", " : "", blocks[i],
                 TESSERA_SIZE (block->block_bytes), block->born_index, block->died_index);
    }
  cli_close ();
  if (n > MOST_NEIGHBOURS)
    cli_say (", and %zu more", n - MOST_NEIGHBOURS);
  cli_say ("\n");
}

/* What it is and where it lies. */
static void
tell_block (const Explain *explain, uint32_t index, const TesseraPlaceReason *reason)
{
  const TesseraBlock *block = &explain->regrouped.blocks.blocks[index];
  const TesseraLayout *planned = explain->study.planned;
  const char *class = cli_class_name (block->lifetime_class);
  const char *strategy = explain->study.plan->strategy;
  g_autofree char *line = tessera_owner_of (&explain->whose, TESSERA_BY_LINE, index);
  const uint64_t offset = reason->addr - reason->base_addr;

  cli_say ("block %u: %s (%" G_GUINT64_FORMAT
           " bytes asked for), %s, stream %u, events %u to %u\n%s\n",
           index, TESSERA_SIZE (reason->block_bytes), block->size_bytes, class,
           block->stream, block->born_index, block->died_index, cli_shown (line));
  cli_say ("in the plan it lies at %s to %s of %s%s; strategy %s\n",
           TESSERA_SIZE (offset), TESSERA_SIZE (offset + reason->block_bytes),
           planned->is_hit[index] ? "the pool" : "dynamic memory",
           planned->is_hit[index]    ? ""
           : planned->is_left[index] ? ", a planned miss"
                                     : ", the plan has no place free for it",
           cli_shown (strategy));
  cli_member ("file", explain->study.path);
  cli_member ("block", index);
  cli_member ("size_bytes", block->size_bytes);
  cli_member ("block_bytes", reason->block_bytes);
  cli_member ("class", class);
  cli_member ("line", line);
  cli_member ("layout", cli_layout_name (planned->kind));
  cli_member ("strategy", strategy);
  cli_member ("addr", reason->addr);
  cli_member ("offset_bytes", offset);
  cli_member_bool ("left", planned->is_left[index]);
}

static void
tell_place (const Explain *explain,
            uint32_t index,
            const TesseraPlaceReason *reason,
            const WhatIf *answer)
{
  g_autofree char *text = describe_answer (explain, answer);
  const uint64_t lower = reason->lower_addr - reason->base_addr;

  tell_block (explain, index, reason);
  tell_blocks (explain, "below", "rests on", reason->below, reason->n_below);
  tell_blocks (explain, "above", "carries", reason->above, reason->n_above);
  tell_blocks (explain, "chain", "down to the ground", reason->chain, reason->n_chain);
  cli_member ("lower_offset_bytes", lower);
  if (reason->lower_addr == reason->addr)
    cli_say ("lower: no place below is free over its whole life\n");
  else
    cli_say (
        "lower: %s is free over its whole life; %s\n", TESSERA_SIZE (lower),
        explain->options.n_edits > 0
            ? "an edit keeps it from there, or others that lay there when it was placed"
            : "the strategy's order placed it when others it was kept from lay "
              "there");
  cli_say ("what if %s: %s%s\n",
           answer->without ? "kept elsewhere" : "freed before " PEAK,
           answer->n_changed == 0 ? "nothing changes, it does not live across that"
                                  : "the plan takes ",
           answer->n_changed == 0 ? "" : text);
  member_answer (answer);
}

static void
explain_block (const Explain *explain, const char *text)
{
  const CliStudy *study = &explain->study;
  TesseraPlaceReason reason;
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &number, NULL) ||
      number >= study->blocks->n_blocks)
    cli_fail_with ("%s has blocks 0 to %zu, so there is no block %s", study->path,
                   study->blocks->n_blocks - 1, text);
  const uint32_t index = (uint32_t) number;
  if (!tessera_explain_place (study->blocks, study->planned, index, &reason))
    cli_fail_with ("%s: block %s was never placed: its request failed", study->path,
                   text);
  g_autofree guint8 *alike = find_alike (explain, index);
  const WhatIf answer = ask_what_if (
      explain, alike, explain->regrouped.blocks.blocks[index].lifetime_class);
  tell_place (explain, index, &reason, &answer);
  tessera_place_reason_clear (&reason);
}

static gint
by_bytes (gconstpointer a, gconstpointer b)
{
  const Row *left = a, *right = b;

  if (left->bytes != right->bytes)
    return left->bytes > right->bytes ? -1 : 1;
  return strcmp (left->name, right->name);
}

/* What is alive at @at: array of Row, most bytes first. @row_of_block, @names: of --by. */
static GArray *
group_blocks (const Explain *explain,
              uint32_t at,
              const uint32_t *row_of_block,
              const GPtrArray *names)
{
  const TesseraBlocks *blocks = &explain->regrouped.blocks;
  GArray *rows = g_array_new (FALSE, TRUE, sizeof (Row));

  g_array_set_size (rows, names->len);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      Row *row = &g_array_index (rows, Row, row_of_block[i]);

      if (block->born_index > at || block->died_index <= at)
        continue;
      if (row->n_blocks++ == 0)
        *row = (Row){ .name = names->pdata[row_of_block[i]],
                      .number = row_of_block[i],
                      .n_blocks = 1,
                      .lifetime_class = block->lifetime_class,
                      .is_recomputable = TRUE };
      row->bytes += block->block_bytes;
      if (row->lifetime_class != block->lifetime_class)
        row->lifetime_class = 0;
      row->is_recomputable &= explain->whose.categories[i] == TESSERA_ACTIVATION;
    }
  for (guint i = names->len; i-- > 0;)
    if (g_array_index (rows, Row, i).n_blocks == 0)
      g_array_remove_index_fast (rows, i);
  g_array_sort (rows, by_bytes);
  return rows;
}

/* Plans again as if all that are ever in the row were freed before. */
static WhatIf
ask_of_row (const Explain *explain, const Row *row, const uint32_t *row_of_block)
{
  const size_t n_blocks = explain->study.blocks->n_blocks;
  g_autofree guint8 *chosen = g_new0 (guint8, n_blocks + 1);

  for (size_t i = 0; i < n_blocks; i++)
    chosen[i] = row_of_block[i] == row->number;
  return ask_what_if (explain, chosen, row->lifetime_class);
}

/* @answer: (nullable): nobody asked */
static void
tell_row (CliTable *table, const Explain *explain, const Row *row, const WhatIf *answer)
{
  g_autofree char *name = g_strdup_printf (
      "%s%s", row->name, row->is_recomputable ? " (could be recomputed)" : "");
  g_autofree char *text =
      answer != NULL && answer->n_changed > 0 ? describe_answer (explain, answer) : NULL;
  g_autofree char *reported =
      text == NULL
          ? NULL
          : g_strdup_printf ("%s: %s",
                             answer->without ? "kept elsewhere" : "freed before", text);

  cli_table_text (table, row->name);
  CLI_INTEGERS (table, row->bytes, row->n_blocks);
  cli_table_text (table, cli_class_name (row->lifetime_class));
  cli_table_text (table, name);
  cli_table_text (table, reported);
  if (answer != NULL)
    member_answer (answer);
}

static void
tell_rows (const Explain *explain, uint32_t at)
{
  static const char *const columns[] = { "-name", "bytes", "blocks",
                                         "class", "+row",  "+what_the_plan_would_take",
                                         NULL };
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree uint32_t *row_of_block = tessera_owner_rows (
      &explain->whose, cli_read_by (by_text, TESSERA_BY_CATEGORY), TESSERA_NONE, names);
  g_autoptr (GArray) rows = group_blocks (explain, at, row_of_block, names);
  CliTable *table = cli_table_new ("rows", columns);

  for (guint i = 0; i < MIN (rows->len, MOST_ROWS); i++)
    {
      const Row *row = &g_array_index (rows, Row, i);
      const gboolean is_asked = i < N_ASKED;
      const WhatIf answer =
          is_asked ? ask_of_row (explain, row, row_of_block) : (WhatIf){ 0 };

      tell_row (table, explain, row, is_asked ? &answer : NULL);
    }
  cli_progress_end ();
  cli_table_print (table);
}

static void
explain_peak (const Explain *explain)
{
  const TesseraBlocks *blocks = &explain->regrouped.blocks;
  const TesseraPlan *plan = explain->study.plan;
  uint32_t at = 0;
  uint64_t bytes = tessera_blocks_bound (blocks, 0, blocks->n_events, &at);

  cli_say (PEAK ": %s at event %u; the plan takes %s. What if a row were freed before "
                "that:\n",
           TESSERA_SIZE (bytes), at, TESSERA_SIZE (plan->height_bytes));
  cli_member ("file", explain->study.path);
  cli_member ("at_event", at);
  cli_member ("bound_bytes", bytes);
  cli_member ("height_bytes", plan->height_bytes);
  cli_member ("edits", plan->n_edits);
  tell_rows (explain, at);
}

static int
run_explain (int n_files, char **files)
{
  Explain explain = { .options = { .first_step = -1, .last_step = -1 } };

  (void) cli_read_by (by_text, TESSERA_BY_CATEGORY);
  cli_study_open (&explain.study, files[0]);
  explain.options.progress = cli_progress ("planning");
  if (explain.study.blocks->n_blocks == 0)
    cli_fail_with ("%s holds no blocks", files[0]);
  plan_as_edited (&explain);
  cli_whose_init (&explain.whose, &explain.study, NULL);
  tessera_moments_of_peaks (explain.study.blocks, explain.study.structure,
                            &explain.peaks);
  cli_progress_end ();
  if (!cli_given.json)
    cli_tell_edits (&explain.study);
  if (n_files == 2)
    explain_block (&explain, files[1]);
  else
    explain_peak (&explain);
  for (size_t i = 0; i < explain.options.n_edits; i++)
    tessera_edit_clear (&explain.settled[i]);
  g_free (explain.settled);
  free (explain.peaks.events);
  tessera_whose_clear (&explain.whose);
  cli_regrouped_clear (&explain.regrouped);
  cli_study_clear (&explain.study);
  return CLI_DONE;
}

static const GOptionEntry explain_options[] = {
  { CLI_OPTION ("by", STRING, &by_text),
    "Rows of the peak of live: category (default), module, line, stack, phase, step or "
    "use",
    "WHAT" },
  CLI_OPTION_EDITS,
  CLI_OPTION_NO_EDITS,
  { NULL }
};

const CliCommand cli_explain = {
  .name = "explain",
  .synopsis = "FILE [BLOCK]",
  .summary = "why a block lies where the plan puts it; what makes the peak of live",
  .help = "Without BLOCK: what is alive at the peak of live, and what the plan would "
          "take if it were freed before.\nBLOCK is an index as `tessera export --table "
          "blocks` and the viewer show it. The plan is made\nwith the edits that are "
          "kept with FILE, unless --edits or --no-edits is given, and they are listed.",
  .takes = CLI_READS_TRACE | CLI_PLANS,
  .n_least = 1,
  .n_most = 2,
  .options = explain_options,
  .run = run_explain,
};
