/* See tell.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell.h"

#include <stdio.h>
#include <string.h>

#include "planner/modules.h"

/* Kinds of phases that info itself tells of; of more --by phase does. */
#define MOST_BRIEF_PHASES 8u
/* Rows of less than one so many-th of all are told together. */
#define SMALL_SHARE 200

char *
cli_read_rules (const char *path)
{
  g_autoptr (GError) failure = NULL;
  char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, &failure))
    cli_fail_with ("%s cannot be read: %s", path, failure->message);
  g_autoptr (TesseraRules) rules = tessera_rules_new (text, path, cli_error ());
  cli_must (rules != NULL ? TESSERA_OK : TESSERA_BAD_INPUT);
  return text;
}

void
cli_whose_init (TesseraWhose *whose, const CliStudy *study, const char *rules_path)
{
  g_autofree char *rules = rules_path != NULL ? cli_read_rules (rules_path) : NULL;

  *whose = (TesseraWhose){ .trace = study->trace,
                           .blocks = study->blocks,
                           .structure = study->structure,
                           .layout = study->layout };
  cli_must (tessera_whose_find (whose, rules, study->path, cli_error ()));
}

TesseraBy
cli_read_by (const char *text, TesseraBy otherwise)
{
  int by = 0;

  if (text == NULL)
    return otherwise;
  while (by < TESSERA_N_BYS && !g_str_equal (text, tessera_by_name ((TesseraBy) by)))
    by++;
  if (by == TESSERA_N_BYS)
    cli_usage ("--by takes category, module, line, stack, phase, step or use, not \"%s\"",
               text);
  return (TesseraBy) by;
}

uint32_t
cli_read_moment (const CliStudy *study, const char *text)
{
  const TesseraLayout *layout = study->layout;
  const uint32_t n_events = study->blocks->n_events;
  guint64 first, last;

  if (text == NULL ? layout->n_ooms > 0 : strcmp (text, "failure") == 0)
    {
      if (layout->n_ooms == 0)
        cli_fail_with ("%s has no failed request", study->path);
      return layout->ooms[layout->n_ooms - 1].event_index;
    }
  if (text == NULL || strcmp (text, "peak") == 0)
    return tessera_fullest (layout, 0, n_events);
  if (!cli_read_range (text, "..", &first, &last) ||
      (last == first && strstr (text, "..") != NULL))
    cli_usage (
        "--at takes an event index, \"peak\", \"failure\" or a range A..B of events "
        "with B above A, not \"%s\"",
        text);
  /* The event itself, or up to the last one of the range. */
  last = MAX (last, first + 1);
  if (first >= n_events || last > n_events)
    cli_fail_with ("%s has events 0 to %u, so there is no event %" G_GUINT64_FORMAT,
                   study->path, n_events > 0 ? n_events - 1 : 0,
                   first >= n_events ? first : last - 1);
  return tessera_fullest (layout, (uint32_t) first, (uint32_t) last);
}

static void
say_stack (const TesseraTrace *trace, uint32_t stack)
{
  if (stack >= trace->n_stacks)
    return;
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];

      cli_say ("%40s%s:%" G_GINT64_FORMAT " %s\n", "",
               cli_shown (tessera_trace_string (trace, frame->file)), frame->line,
               cli_shown (tessera_trace_string (trace, frame->name)));
    }
}

static void
tell_row (const TesseraTrace *trace,
          const TesseraOwner *owner,
          guint64 all_bytes,
          TesseraBy by)
{
  const double share = all_bytes > 0 ? (double) owner->bytes / (double) all_bytes : 0.0;
  const gboolean has_stack = by == TESSERA_BY_STACK && owner->stack != TESSERA_NONE;
  g_autofree char *line = tessera_name_line (trace, owner->stack);
  g_autofree char *times = g_strdup_printf (" x %u", owner->n_times);

  cli_say ("%12s %5.1f %% %7" G_GUINT64_FORMAT "  %*s%s%s\n", TESSERA_SIZE (owner->bytes),
           100 * share, owner->n_blocks, (int) (2 * owner->depth), "",
           cli_shown (has_stack ? line : owner->name), owner->n_times > 1 ? times : "");
  if (has_stack)
    say_stack (trace, owner->stack);
  cli_object (NULL);
  cli_member ("name", owner->name);
  cli_member ("bytes", owner->bytes);
  cli_member ("blocks", owner->n_blocks);
  cli_member ("share", share);
  cli_member ("depth", owner->depth);
  cli_member ("times", owner->n_times);
  cli_member ("line", line);
  cli_close ();
}

/* All rows for programs, at most @most for people. */
static void
tell_rows (const char *key,
           const TesseraWhose *whose,
           TesseraBy by,
           uint32_t event_index,
           guint most)
{
  g_autoptr (GArray) owners = tessera_whose (whose, by, event_index);
  const guint64 all_bytes = tessera_live_bytes (whose->layout, event_index);

  if (!cli_given.json)
    cli_rows_worth_reading (owners, all_bytes, most);
  cli_say ("%12s %7s %7s  %s\n", "bytes", "share", "blocks", tessera_by_name (by));
  cli_array (key);
  for (guint i = 0; i < owners->len; i++)
    tell_row (whose->trace, &g_array_index (owners, TesseraOwner, i), all_bytes, by);
  cli_close ();
}

GArray *
cli_rows_worth_reading (GArray *owners, guint64 all_bytes, guint most)
{
  TesseraOwner *rows = (TesseraOwner *) (void *) owners->data;
  TesseraOwner others = { .n_times = 1, .stack = TESSERA_NONE };
  guint n_others = 0, n = 0;

  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner row = rows[i];

      if (n < most && (row.bytes >= all_bytes / SMALL_SHARE || owners->len <= 3))
        {
          rows[i] = rows[n];
          rows[n++] = row;
        }
      else if (row.depth == 0)
        {
          n_others++;
          others.bytes += row.bytes;
          others.n_blocks += row.n_blocks;
        }
    }
  g_array_set_size (owners, n);
  if (n_others > 0)
    {
      others.name = g_strdup_printf ("%u more", n_others);
      g_array_append_val (owners, others);
    }
  return owners;
}

/* The peak of each phase, of several and at most @most for people. */
static void
tell_phase_peaks (const TesseraWhose *whose, guint most)
{
  static const char *const columns[] = { "live_bytes", "reserved_bytes", "event_index",
                                         "name", NULL };
  g_autoptr (GArray) peaks = tessera_phase_peaks (whose);

  if (!cli_given.json && (peaks->len < 2 || peaks->len > most))
    return;
  cli_say ("\npeak of each phase:\n");
  CliTable *table = cli_table_new ("phase_peaks", columns);
  for (guint i = 0; i < peaks->len; i++)
    {
      const TesseraPhasePeak *peak = &g_array_index (peaks, TesseraPhasePeak, i);

      CLI_INTEGERS (table, peak->live_bytes, peak->reserved_bytes, peak->event_index);
      cli_table_text (table, peak->name);
    }
  cli_table_print (table);
}

/* How a recording comes to have lines. */
static void
tell_stackless (const TesseraTrace *trace)
{
  if (trace->n_stacks == 0)
    cli_say ("the file has no stacks: record with %s to see lines\n",
             tessera_trace_get_meta (trace, "policy") != NULL
                 ? "tessera record --stacks"
                 : "torch.cuda.memory._record_memory_history(stacks=\"python\")");
}

void
cli_tell_whose (const CliStudy *study,
                const TesseraWhose *whose,
                TesseraBy by,
                uint32_t event_index)
{
  g_autofree char *failure = tessera_describe_refused (whose, event_index);
  const guint64 all_bytes = tessera_live_bytes (study->layout, event_index);

  cli_member ("file", study->path);
  cli_member ("event_index", event_index);
  cli_member ("live_bytes", all_bytes);
  cli_member ("by", tessera_by_name (by));
  cli_say ("%s are live at event %u%s. By %s:\n", TESSERA_SIZE (all_bytes), event_index,
           failure != NULL ? ", where a request failed" : "", tessera_by_name (by));
  tell_rows ("rows", whose, by, event_index, CLI_MOST_ROWS);
  if (failure != NULL)
    cli_say ("refused then: %s\n", cli_shown (failure));
  if (by == TESSERA_BY_PHASE)
    tell_phase_peaks (whose, CLI_MOST_ROWS);
  tell_stackless (study->trace);
}

/* What grows in @n_steps, and for programs all rows. */
static void
tell_rows_of_growth (const GArray *changes, size_t n_steps)
{
  static const char *const columns[] = {
    "step_bytes",   "before_bytes", "after_bytes", "before_blocks",
    "after_blocks", "name",         NULL
  };
  CliTable *table = cli_table_new ("rows", columns);
  guint n = 0;

  for (guint i = 0; i < changes->len; i++)
    {
      const TesseraChange *change = &g_array_index (changes, TesseraChange, i);
      const gint64 more_bytes =
          (gint64) change->after_bytes - (gint64) change->before_bytes;
      const gint64 step_bytes = more_bytes / (gint64) n_steps;

      if (!cli_given.json && (step_bytes <= 0 || n == CLI_MOST_ROWS))
        continue;
      n++;
      CLI_INTEGERS (table, (guint64) step_bytes, change->before_bytes,
                    change->after_bytes, change->before_blocks, change->after_blocks);
      cli_table_text (table, change->name);
    }
  cli_table_print (table);
  if (n == 0)
    cli_say ("nothing grows\n");
}

void
cli_tell_growth (const CliStudy *study, const TesseraWhose *whose, TesseraBy by)
{
  const TesseraStructure *structure = study->structure;
  const size_t n_steps = structure->n_steps - 3;

  if (structure->n_steps < 4)
    cli_fail_with ("%s has %zu steps: growth is what is more where the last begins than "
                   "where the third does, so four are needed",
                   study->path, structure->n_steps);
  const TesseraStep *first = &structure->steps[2], *last = first + n_steps;
  const uint32_t begin = MAX (first->begin_index, 1) - 1;
  const uint32_t end = MAX (last->begin_index, 1) - 1;
  const guint64 before_bytes = tessera_live_bytes (study->layout, begin);
  const guint64 after_bytes = tessera_live_bytes (study->layout, end);
  g_autoptr (GArray) changes = tessera_changes (whose, begin, whose, end, by);
  cli_say ("%s are live where step %" G_GINT64_FORMAT
           " begins, %s where step %" G_GINT64_FORMAT " does. By %s:\n",
           TESSERA_SIZE (before_bytes), first->number, TESSERA_SIZE (after_bytes),
           last->number, tessera_by_name (by));
  cli_member ("file", study->path);
  cli_member ("by", tessera_by_name (by));
  cli_member ("first_step", first->number);
  cli_member ("last_step", last->number);
  cli_member ("before_bytes", before_bytes);
  cli_member ("after_bytes", after_bytes);
  tell_rows_of_growth (changes, n_steps);
}

GArray *
cli_suggest (const CliStudy *study, const TesseraWhose *whose)
{
  GArray *suggestions =
      tessera_suggest_policies (study->trace, &study->needs, study->plan, study->path);
  g_autoptr (GArray) changes = tessera_suggest (whose);

  g_array_append_vals (suggestions, changes->data, changes->len);
  g_array_set_clear_func (changes, NULL);
  return suggestions;
}

void
cli_tell_suggestions (const CliStudy *study, const TesseraWhose *whose)
{
  g_autoptr (GArray) suggestions = cli_suggest (study, whose);

  if (suggestions->len > 0)
    cli_say ("\nwhat to do:\n");
  cli_array ("what_to_do");
  for (guint i = 0; i < suggestions->len; i++)
    {
      const TesseraSuggestion *row = &g_array_index (suggestions, TesseraSuggestion, i);

      cli_say ("%12s less %s: %s\n", TESSERA_SIZE (row->wins_bytes), row->of,
               cli_shown (row->sentence));
      cli_say ("%12s %s\n", "", cli_shown (row->type));
      cli_object (NULL);
      cli_member ("what", tessera_try_name (row->what));
      cli_member ("wins_bytes", row->wins_bytes);
      cli_member ("of", row->of);
      cli_member ("type", row->type);
      cli_member ("sentence", row->sentence);
      cli_member ("peak_bytes", row->peak_bytes);
      cli_member ("tried_bytes", row->tried_bytes > 0 ? row->tried_bytes : G_MAXUINT64);
      cli_close ();
    }
  cli_close ();
}

static gboolean
is_all_unknown (const CliStudy *study, const TesseraWhose *whose, uint32_t event_index)
{
  for (size_t i = 0; i < study->blocks->n_blocks; i++)
    if (!tessera_category_is_unknown ((TesseraCategory) whose->categories[i]) &&
        tessera_is_live (study->blocks, study->layout, i, event_index))
      return FALSE;
  return TRUE;
}

void
cli_tell_whose_briefly (const CliStudy *study,
                        const TesseraWhose *whose,
                        uint32_t event_index)
{
  const guint64 all_bytes = tessera_live_bytes (study->layout, event_index);
  g_autofree char *refused = tessera_describe_refused (whose, event_index);

  if (!cli_given.json && is_all_unknown (study, whose, event_index))
    {
      cli_say ("\nnothing says whose memory it was: the file has no stacks, steps or "
               "phases (docs/CATEGORIES.md)\n");
      return;
    }
  cli_say ("\nwhose the %s are that were live at event %u:\n", TESSERA_SIZE (all_bytes),
           event_index);
  cli_object ("whose");
  cli_member ("event_index", event_index);
  cli_member ("live_bytes", all_bytes);
  cli_member ("refused", refused);
  tell_rows ("category", whose, TESSERA_BY_CATEGORY, event_index, CLI_MOST_ROWS);
  if (cli_given.json || study->trace->n_stacks > 0)
    tell_rows ("line", whose, TESSERA_BY_LINE, event_index, CLI_BRIEF_ROWS);
  tell_stackless (study->trace);
  cli_close ();
  tell_phase_peaks (whose, MOST_BRIEF_PHASES);
}
