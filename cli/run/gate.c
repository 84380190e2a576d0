/*
 * tessera gate: does this change need more memory than the main branch? A dry run beside a
 * baseline, for continuous integration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "db/output.h"

static char *baseline_path, *above_text, *markdown_path, *junit_path, *gpu, *rules_path;
static char *steps;
static gint world, rank;

/* How much more is too much: a share of the baseline, and bytes. */
typedef struct
{
  double share;
  guint64 bytes;
} Limit;

static Limit
read_limit (const char *text)
{
  Limit limit = { 0 };
  char *end = NULL;

  if (text == NULL)
    return limit;
  const double number = g_ascii_strtod (text, &end);
  if (end != text && strcmp (end, "%") == 0 && number >= 0 && number < 1e6)
    limit.share = number / 100;
  else if (*end == '\0' || !tessera_parse_bytes (text, &limit.bytes))
    cli_usage ("--above takes a part of the baseline like 2%% or a size like 500MiB, not "
               "\"%s\"",
               text);
  return limit;
}

static gboolean
is_above (const Limit *limit, const CliSide *before, const CliSide *after)
{
  const double before_bytes = (double) before->live_bytes;

  return (double) after->live_bytes >
         before_bytes + limit->share * before_bytes + (double) limit->bytes;
}

/* Its answer is not ours; what the program prints goes to standard error. A program that
 * fails ends the command. */
static void
run_dry (char **program, const char *trace_path)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_autoptr (GError) failure = NULL;
  g_autofree char *self = g_file_read_link ("/proc/self/exe", &failure);
  g_autofree char *world_text = g_strdup_printf ("%d", world);
  g_autofree char *rank_text = g_strdup_printf ("%d", rank);

  if (self == NULL)
    cli_fail_with ("a dry run cannot be started: %s", failure->message);
  g_strv_builder_add_many (builder, self, "dry-run", "--json", "--force", "-o",
                           trace_path, NULL);
  if (gpu != NULL)
    g_strv_builder_add_many (builder, "--gpu", gpu, NULL);
  if (steps != NULL)
    g_strv_builder_add_many (builder, "--steps", steps, NULL);
  if (world > 0)
    g_strv_builder_add_many (builder, "--world", world_text, "--rank", rank_text, NULL);
  g_strv_builder_add (builder, "--");
  g_strv_builder_addv (builder, (const char **) program);
  g_auto (GStrv) words = g_strv_builder_end (builder);
  const int nowhere = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  const CliJobEnd end = cli_job_wait (NULL, words, nowhere);

  close (nowhere);
  if (end.stopped_by != 0 || end.signal_number != 0)
    cli_fail_with ("the dry run was stopped before its end");
  /* Who does not fit the GPU has a trace all the same. */
  if (end.status != CLI_DONE && end.status != CLI_DOES_NOT_FIT)
    exit (end.status);
}

static void
write_junit (const char *path, const char *sentence, gboolean is_too_much, double seconds)
{
  g_autofree char *shown = g_markup_escape_text (cli_shown (sentence), -1);
  g_autofree char *failure =
      is_too_much ? g_strdup_printf ("\n    <failure message=\"%s\"/>\n  ", shown)
                  : g_strdup ("");
  g_autofree char *text = g_strdup_printf (
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"tessera\" tests=\"1\" failures=\"%d\">\n"
      "  <testcase classname=\"tessera\" name=\"gpu memory\" time=\"%.1f\">%s"
      "<system-out>%s</system-out></testcase>\n</testsuite>\n",
      is_too_much ? 1 : 0, seconds, failure, shown);

  cli_must (tessera_write_file (path, text, strlen (text), cli_error ()));
}

/* A program that differs from run to run is not judged by the larger of two. */
static char *
judge (const Limit *limit,
       char **program,
       const CliSide *before,
       CliSide *after,
       const char *folder,
       gboolean *out_is_too_much)
{
  g_autofree char *sentence = cli_diff_sentence (before, after);

  *out_is_too_much = is_above (limit, before, after);
  if (!*out_is_too_much)
    return g_steal_pointer (&sentence);
  g_autofree char *path = g_build_filename (folder, "again.tsr", NULL);
  g_auto (CliSide) again = { 0 };
  run_dry (program, path);
  cli_side_open (&again, path, "peak", rules_path);
  if (again.live_bytes == after->live_bytes)
    return g_steal_pointer (&sentence);
  *out_is_too_much = is_above (limit, before, &again);
  return g_strdup_printf (
      "%s This program is not the same in each run: a second dry run had %s at its peak, "
      "which %s. Fix its seed, or allow for it with --above.",
      sentence, TESSERA_SIZE (again.live_bytes),
      *out_is_too_much ? "is too much as well" : "would pass");
}

static int
run_gate (int n_words, char **program)
{
  const Limit limit = read_limit (above_text);
  g_autoptr (GError) failure = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *trace_path = NULL;
  g_auto (CliSide) before = { 0 };
  g_auto (CliSide) after = { 0 };
  gboolean is_too_much;
  const gint64 begin_us = g_get_monotonic_time ();

  if (baseline_path == NULL)
    cli_usage ("--baseline MAIN.tsr is what the dry run is compared with: make it on the "
               "main branch, by tessera dry-run -o MAIN.tsr -- PROGRAM");
  if (markdown_path != NULL)
    cli_check_output (baseline_path, markdown_path, CLI_WRITES_OTHER);
  if (junit_path != NULL)
    cli_check_output (baseline_path, junit_path, CLI_WRITES_OTHER);
  cli_side_open (&before, baseline_path, "peak", rules_path);
  /* Where nothing of the trace is asked for: in a folder that goes. */
  folder = g_dir_make_tmp ("tessera-gate-XXXXXX", &failure);
  if (folder == NULL)
    cli_fail_with ("a temporary folder cannot be made: %s", failure->message);
  trace_path = cli_given.output != NULL ? g_canonicalize_filename (cli_given.output, NULL)
                                        : g_build_filename (folder, "run.tsr", NULL);
  run_dry (program, trace_path);
  cli_side_open (&after, trace_path, "peak", rules_path);
  g_autofree char *sentence =
      judge (&limit, program, &before, &after, folder, &is_too_much);
  const char *result = is_too_much ? "too much" : "passes";
  cli_say ("%s: %s\n", result, cli_shown (sentence));
  cli_member_bool ("passes", !is_too_much);
  if (cli_given.json)
    cli_tell_diff (&before, &after);
  cli_answer_end ();
  if (markdown_path != NULL)
    {
      g_autofree char *tables = cli_diff_text (&before, &after, TRUE);
      g_autofree char *page = g_strdup_printf ("### GPU memory: %s\n\n%s\n%s", result,
                                               cli_shown (sentence), tables);

      cli_must (tessera_write_file (markdown_path, page, strlen (page), cli_error ()));
    }
  if (junit_path != NULL)
    write_junit (junit_path, sentence, is_too_much,
                 (double) (g_get_monotonic_time () - begin_us) / 1e6);
  cli_remove_files (folder, "", NULL);
  g_rmdir (folder);
  return is_too_much ? CLI_DOES_NOT_FIT : CLI_DONE;
}

static const GOptionEntry options[] = {
  { CLI_OPTION ("baseline", FILENAME, &baseline_path),
    "The run that is the measure: a .tsr of a dry run of the main branch, or a snapshot",
    "MAIN.tsr" },
  { CLI_OPTION ("above", STRING, &above_text),
    "How much more at the peak of live is allowed: 2%, 500MiB (default: nothing)",
    "MORE" },
  { CLI_OPTION ("markdown", FILENAME, &markdown_path),
    "Write what changed as Markdown, for a pull request", "FILE" },
  { CLI_OPTION ("junit", FILENAME, &junit_path), "Write the result as JUnit XML",
    "FILE" },
  CLI_OPTION_OUTPUT ("Keep the trace of the dry run (default: it goes)", "T.tsr"),
  { CLI_OPTION ("gpu", STRING, &gpu), "As dry-run has it", "GPU" },
  { CLI_OPTION ("steps", STRING, &steps), "As dry-run has it", "N[-M]" },
  { CLI_OPTION ("world", INT, &world), "As dry-run has it", "N" },
  { CLI_OPTION ("rank", INT, &rank), "As dry-run has it", "N" },
  CLI_OPTION_RULES (&rules_path),
  { CLI_OPTION ("json", NONE, &cli_given.json), "Print JSON" },
  { NULL }
};

const CliCommand cli_gate = {
  .name = "gate",
  .synopsis = "--baseline MAIN.tsr -- PROGRAM...",
  .summary = "for CI: does this change need more memory than the main branch?",
  .help = "PROGRAM runs dry, with no GPU, and its peak of live is compared with the "
          "baseline's. Status: 0 it passes,\n"
          "3 it needs more than --above allows, 4 PROGRAM failed, 1 and 2 as with every "
          "command. docs/CI.md has workflows\nto copy.",
  .takes = CLI_RUNS_PROGRAM,
  .n_least = 1,
  .n_most = -1,
  .options = options,
  .run = run_gate,
};
