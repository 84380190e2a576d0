/*
 * tessera diff A B: what is live at the peak of one run, and of another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tell.h"

#include <string.h>

/* Of what a person reads, by each heading; --json has all that changed. */
#define MOST_ROWS 10
/* A change below one so many-th of what is live is not told to a person. */
#define SMALL_SHARE 2000

static const TesseraBy headings[] = { TESSERA_BY_CATEGORY, TESSERA_BY_MODULE,
                                      TESSERA_BY_LINE };

static char *at_text, *rules_path;

void
cli_side_open (CliSide *side, const char *path, const char *at, const char *rules)
{
  cli_study_open (&side->study, path);
  cli_study_live (&side->study);
  cli_whose_init (&side->whose, &side->study, rules);
  side->event_index = cli_read_moment (&side->study, at);
  side->live_bytes = tessera_live_bytes (side->study.layout, side->event_index);
}

void
cli_side_clear (CliSide *side)
{
  tessera_whose_clear (&side->whose);
  cli_study_clear (&side->study);
}

/* "+1.90 GiB". */
static char *
signed_size (guint64 before_bytes, guint64 after_bytes)
{
  return after_bytes >= before_bytes
             ? g_strdup_printf ("+%s", TESSERA_SIZE (after_bytes - before_bytes))
             : g_strdup_printf ("-%s", TESSERA_SIZE (before_bytes - after_bytes));
}

static GArray *
find_changes (const CliSide *before, const CliSide *after, TesseraBy by)
{
  return tessera_changes (&before->whose, before->event_index, &after->whose,
                          after->event_index, by);
}

char *
cli_diff_most (const CliSide *before, const CliSide *after, TesseraBy by)
{
  g_autoptr (GArray) changes = find_changes (before, after, by);
  const gboolean grows = after->live_bytes > before->live_bytes;

  for (guint i = 0; i < changes->len; i++)
    {
      const TesseraChange *change = &g_array_index (changes, TesseraChange, i);
      g_autofree char *size = signed_size (change->before_bytes, change->after_bytes);

      if ((change->after_bytes > change->before_bytes) == grows)
        return g_strdup_printf ("%s (%s)", change->name, size);
    }
  return NULL;
}

static char *
phase_at (const CliSide *side)
{
  const TesseraStructure *structure = side->study.structure;
  const uint32_t phase = side->event_index < side->study.blocks->n_events
                             ? structure->phase_of_event[side->event_index]
                             : TESSERA_NONE;

  return phase < structure->n_phases
             ? g_strdup_printf ("in %s", tessera_phase_name (side->study.trace,
                                                             &structure->phases[phase]))
             : g_strdup ("outside of phases");
}

/* What changed by too little for a row has no cause to be told either. */
static gboolean
is_little (const CliSide *before, const CliSide *after)
{
  return ABS ((gint64) after->live_bytes - (gint64) before->live_bytes) <=
         (gint64) (after->live_bytes / SMALL_SHARE);
}

char *
cli_diff_sentence (const CliSide *before, const CliSide *after)
{
  g_autofree char *size = signed_size (before->live_bytes, after->live_bytes);

  if (after->live_bytes == before->live_bytes)
    return g_strdup_printf ("The same at the peak of live: %s.",
                            TESSERA_SIZE (after->live_bytes));
  g_autofree char *most =
      is_little (before, after) ? NULL : cli_diff_most (before, after, TESSERA_BY_USE);
  g_autofree char *was = phase_at (before);
  g_autofree char *is = phase_at (after);
  /* What is compared may be two moments of another kind. */
  g_autofree char *moved =
      strcmp (was, is) == 0
          ? g_strdup ("")
          : g_strdup_printf (" The peak moved: it was %s, and is %s.", was, is);
  return g_strdup_printf (
      "%s at the peak of live, %s instead of %s (%+.1f %%)%s%s.%s", size,
      TESSERA_SIZE (after->live_bytes), TESSERA_SIZE (before->live_bytes),
      before->live_bytes > 0
          ? 100.0 * ((double) after->live_bytes / (double) before->live_bytes - 1.0)
          : 100.0,
      most != NULL ? ": most in " : "", most != NULL ? most : "", moved);
}

static const char *
what_happened (const TesseraChange *change)
{
  return change->before_blocks == 0                      ? "new"
         : change->after_blocks == 0                     ? "gone"
         : change->after_bytes > change->before_bytes    ? "grown"
         : change->after_bytes < change->before_bytes    ? "smaller"
         : change->after_blocks != change->before_blocks ? "other blocks"
                                                         : "same";
}

/* For people: what changed by enough, in Markdown where it is for a page. */
static void
append_changes (GString *text,
                const GArray *changes,
                const char *heading,
                guint64 all_bytes,
                gboolean is_markdown)
{
  const char *row =
      is_markdown ? "| %s | %s | %s | %s | `%s` |\n" : "%12s %12s %12s  %-8s  %s\n";
  guint n = 0;

  for (guint i = 0; i < changes->len && n < MOST_ROWS; i++)
    {
      const TesseraChange *change = &g_array_index (changes, TesseraChange, i);
      const gint64 more_bytes =
          (gint64) change->after_bytes - (gint64) change->before_bytes;
      g_autofree char *size = signed_size (change->before_bytes, change->after_bytes);

      if (ABS (more_bytes) <= (gint64) (all_bytes / SMALL_SHARE))
        continue;
      if (n++ == 0)
        g_string_append_printf (
            text,
            is_markdown ? "\n| change | before | after | | %s |\n|--:|--:|--:|---|---|\n"
                        : "\n      change       before        after            %s\n",
            heading);
      g_string_append_printf (text, row, size, TESSERA_SIZE (change->before_bytes),
                              TESSERA_SIZE (change->after_bytes), what_happened (change),
                              cli_shown (change->name));
    }
}

char *
cli_diff_text (const CliSide *before, const CliSide *after, gboolean is_markdown)
{
  const guint64 all_bytes = MAX (before->live_bytes, after->live_bytes);
  GString *text = g_string_new (NULL);
  g_autoptr (GArray) phases = tessera_phase_changes (&before->whose, &after->whose);

  append_changes (text, phases, "peak of each phase", all_bytes, is_markdown);
  for (size_t i = 0; i < G_N_ELEMENTS (headings); i++)
    {
      g_autoptr (GArray) changes = find_changes (before, after, headings[i]);

      append_changes (text, changes, tessera_by_name (headings[i]), all_bytes,
                      is_markdown);
    }
  return g_string_free (text, FALSE);
}

/* For programs: all rows of one heading. */
static void
member_changes (const char *heading, const GArray *changes, gboolean has_blocks)
{
  static const char *const all[] = {
    "name", "before_bytes", "after_bytes", "before_blocks", "after_blocks", "what", NULL
  };
  static const char *const bytes[] = { "name", "before_bytes", "after_bytes", "what",
                                       NULL };
  CliTable *table = cli_table_new (heading, has_blocks ? all : bytes);

  for (guint i = 0; i < changes->len; i++)
    {
      const TesseraChange *change = &g_array_index (changes, TesseraChange, i);

      cli_table_text (table, change->name);
      CLI_INTEGERS (table, change->before_bytes, change->after_bytes);
      if (has_blocks)
        CLI_INTEGERS (table, change->before_blocks, change->after_blocks);
      cli_table_text (table, what_happened (change));
    }
  cli_table_print (table);
}

static void
member_side (const char *key, const CliSide *side)
{
  cli_object (key);
  cli_member ("file", side->study.path);
  cli_member ("event_index", side->event_index);
  cli_member ("live_bytes", side->live_bytes);
  cli_member ("peak_reserved_bytes", side->study.layout->peak_reserved_bytes);
  cli_member ("steps", side->study.structure->n_steps);
  cli_member ("blocks", side->study.blocks->n_blocks);
  cli_close ();
}

void
cli_tell_diff (const CliSide *before, const CliSide *after)
{
  g_autofree char *sentence = cli_diff_sentence (before, after);

  cli_say ("%s\n", cli_shown (sentence));
  cli_member ("sentence", sentence);
  if (!cli_given.json)
    {
      g_autofree char *text = cli_diff_text (before, after, FALSE);

      cli_say ("%s", text);
      return;
    }
  member_side ("before", before);
  member_side ("after", after);
  g_autoptr (GArray) phases = tessera_phase_changes (&before->whose, &after->whose);
  member_changes ("phase_peaks", phases, FALSE);
  for (size_t i = 0; i < G_N_ELEMENTS (headings); i++)
    {
      g_autoptr (GArray) changes = find_changes (before, after, headings[i]);

      member_changes (tessera_by_name (headings[i]), changes, TRUE);
    }
}

static int
run_diff (int n_files, char **files)
{
  g_auto (CliSide) before = { 0 };
  g_auto (CliSide) after = { 0 };

  cli_side_open (&before, files[0], at_text != NULL ? at_text : "peak", rules_path);
  cli_side_open (&after, files[1], at_text != NULL ? at_text : "peak", rules_path);
  cli_tell_diff (&before, &after);
  cli_say ("\n%12s %12s %12s\n%12s %12s %12s\n", "reserved", "before", "after", "",
           TESSERA_SIZE (before.study.layout->peak_reserved_bytes),
           TESSERA_SIZE (after.study.layout->peak_reserved_bytes));
  return CLI_DONE;
}

static const GOptionEntry options[] = {
  { CLI_OPTION ("at", STRING, &at_text),
    "The moment of both that is compared: peak (of live, default), failure, or an event",
    "MOMENT" },
  CLI_OPTION_RULES (&rules_path),
  { NULL }
};

const CliCommand cli_diff = {
  .name = "diff",
  .synopsis = "A B",
  .summary = "what a change did: the peaks of two runs by category, module, line",
  .help =
      "A and B are snapshots, CSVs or .tsr files, A the older. Lines that moved inside "
      "their function are the same\nlines; numbered modules change together (layers.*).",
  .takes = CLI_READS_TRACE,
  .n_least = 2,
  .n_most = 2,
  .options = options,
  .run = run_diff,
};
