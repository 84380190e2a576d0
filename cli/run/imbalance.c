/*
 * tessera job DIR: which rank dies or needs most, and what it holds more than the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "cli/run/run.h"

#define MOST_NOTED 4 /* files of a note */
#define RECORDING "^[^.].*\\.(tsr|(pickle|pkl|csv)(\\.gz)?)$"

static char *plans, *rules_path, *topology, *cells;
static gboolean is_fast, to_slurm, to_parallel, submits;
static gint n_wanted; /* ranks */

/* In the order of a person: 2 before 10. */
static int
compare_paths (const void *a, const void *b)
{
  return strverscmp (*(char *const *) a, *(char *const *) b);
}

static void
add_folder (CliRanks *ranks, const char *folder)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();
  g_autoptr (GError) failure = NULL;
  g_autoptr (GDir) open = g_dir_open (folder, 0, &failure);
  const char *name;

  if (open == NULL)
    cli_fail_with ("%s", failure->message);
  while ((name = g_dir_read_name (open)) != NULL)
    if (g_regex_match_simple (RECORDING, name, 0, 0))
      g_ptr_array_add (found, g_build_filename (folder, name, NULL));
  if (found->len == 0)
    cli_fail_with ("%s holds no recording: each rank's snapshot (.pickle, .pickle.gz), "
                   "trace (.tsr) or table (.csv) is looked for",
                   folder);
  g_ptr_array_sort (found, compare_paths);
  for (guint i = 0; i < found->len; i++)
    cli_ranks_add (ranks, found->pdata[i], 0);
}

/* "0-3, 5": those that are alike; where they are in the job, or "". */
static char *
list_ranks (const CliRank *rank, const CliRanks *ranks, char **out_where)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < rank->alike->len; i++)
    g_array_append_val (numbers, ((CliRank *) rank->alike->pdata[i])->rank);
  *out_where = cli_topology_describe (&ranks->topology, numbers);
  return tessera_list_numbers (numbers, ", ");
}

/* "Rank 3", "ranks 0-3, 5 (stage 0, the least)". @remark: (nullable) */
static char *
name_ranks (const CliRank *rank,
            const CliRanks *ranks,
            gboolean begins,
            const char *remark)
{
  g_autofree char *where = NULL, *text = list_ranks (rank, ranks, &where);
  GString *name = g_string_new (begins ? "Rank" : "rank");

  g_string_append_printf (name, "%s %s", rank->alike->len > 1 ? "s" : "", text);
  if (*where != '\0' || remark != NULL)
    g_string_append_printf (name, " (%s%s%s)", where,
                            *where != '\0' && remark != NULL ? ", " : "",
                            remark != NULL ? remark : "");
  return g_string_free (name, FALSE);
}

/* The kinds that need most and least, and what is live at the peak of each. */
typedef struct
{
  const CliRank *most, *least;
  CliSide of_most, of_least; /* open where they differ */
} Imbalance;

static guint64
peak_bytes (const CliRank *rank)
{
  return cli_rank_look (rank)->peak_live_bytes;
}

static void
find_imbalance (Imbalance *imbalance, const CliRanks *ranks)
{
  for (guint i = 0; i < ranks->kinds->len; i++)
    {
      const CliRank *kind = ranks->kinds->pdata[i];

      if (i == 0 || peak_bytes (kind) > peak_bytes (imbalance->most))
        imbalance->most = kind;
      if (i == 0 || peak_bytes (kind) < peak_bytes (imbalance->least))
        imbalance->least = kind;
    }
  if (peak_bytes (imbalance->most) == peak_bytes (imbalance->least))
    return;
  cli_side_open (&imbalance->of_most, imbalance->most->path, "peak", rules_path);
  cli_side_open (&imbalance->of_least, imbalance->least->path, "peak", rules_path);
  cli_progress_end ();
}

/* "module model.embed (+2.00 GiB), by line train.py:12 main, parameter (+1.00 GiB)". */
static char *
describe_cause (const Imbalance *imbalance)
{
  g_autofree char *module =
      imbalance->of_most.whose.origins.modules != NULL
          ? cli_diff_most (&imbalance->of_least, &imbalance->of_most, TESSERA_BY_MODULE)
          : NULL;
  char *use = cli_diff_most (&imbalance->of_least, &imbalance->of_most, TESSERA_BY_USE);

  if (module == NULL || *module == '(' || use == NULL)
    return use != NULL ? use : g_strdup ("many places");
  char *both = g_strdup_printf ("module %s, by line %s", module, use);
  g_free (use);
  return both;
}

static char *
describe_imbalance (const Imbalance *imbalance, const CliRanks *ranks)
{
  const guint64 most_bytes = peak_bytes (imbalance->most);
  const guint64 least_bytes = peak_bytes (imbalance->least);
  g_autofree char *most = name_ranks (imbalance->most, ranks, TRUE, NULL);
  g_autofree char *least = name_ranks (imbalance->least, ranks, FALSE, "the least");

  if (ranks->ranks->len == 1)
    return g_strdup_printf ("%s alone is here: %s of live at its peak.", most,
                            TESSERA_SIZE (most_bytes));
  if (ranks->kinds->len == 1)
    return g_strdup_printf ("All %u ranks are alike: %s of live at the peak of each.",
                            ranks->ranks->len, TESSERA_SIZE (most_bytes));
  if (most_bytes == least_bytes)
    return g_strdup_printf ("All %u ranks need as much, %s of live at the peak, though "
                            "their requests differ.",
                            ranks->ranks->len, TESSERA_SIZE (most_bytes));
  g_autofree char *cause = describe_cause (imbalance);
  return g_strdup_printf (
      "%s need%s most: %s of live at the peak, %s (%.1f %%) more than %s: most in %s.",
      most, imbalance->most->alike->len > 1 ? "" : "s", TESSERA_SIZE (most_bytes),
      TESSERA_SIZE (most_bytes - least_bytes),
      100.0 * (double) (most_bytes - least_bytes) / (double) MAX (least_bytes, 1), least,
      cause);
}

/* G_MAXUINT64: not asked for, or not found. */
static guint64
need_bytes (const CliRank *rank, TesseraLayoutKind kind)
{
  const CliRankAnswer *answer = cli_rank_answer (rank);

  return answer != NULL && answer->need[kind].smallest_bytes > 0
             ? answer->need[kind].smallest_bytes
             : G_MAXUINT64;
}

/* Equal requests get more or less from the driver. */
static guint64
most_reserved_bytes (const CliRank *rank)
{
  guint64 bytes = 0;

  for (guint i = 0; i < rank->alike->len; i++)
    bytes = MAX (bytes, cli_rank_look (rank->alike->pdata[i])->peak_reserved_bytes);
  return bytes;
}

/* What differs between ranks that are alike is told of the fullest. */
static void
tell_kind (CliTable *table, const CliRank *rank, const CliRanks *ranks)
{
  const CliRankAnswer *answer = cli_rank_answer (rank);
  const TesseraVerdict *verdict = answer != NULL ? &answer->verdict : NULL;
  g_autofree char *where = NULL, *listed = list_ranks (rank, ranks, &where);
  g_autoptr (GString) named = g_string_new (listed);
  const guint64 native_bytes = need_bytes (rank, TESSERA_LAYOUT_NATIVE);
  const guint64 expandable_bytes = need_bytes (rank, TESSERA_LAYOUT_EXPANDABLE);
  const guint64 plan_bytes = need_bytes (rank, TESSERA_LAYOUT_PLAN);

  if (rank->alike->len > 1)
    g_string_append_printf (named, " (x %u)", rank->alike->len);
  if (*where != '\0')
    g_string_append_printf (named, ", %s", where);
  cli_table_text (table, named->str);
  CLI_INTEGERS (table, peak_bytes (rank), most_reserved_bytes (rank), native_bytes,
                expandable_bytes, plan_bytes);
  cli_table_text (table, verdict != NULL ? verdict->headline : "");
  cli_array ("ranks");
  for (guint i = 0; i < rank->alike->len; i++)
    cli_member (NULL, ((CliRank *) rank->alike->pdata[i])->rank);
  cli_close ();
  cli_member ("where", where);
  cli_member ("file", rank->path);
  cli_member ("peak_live_bytes", peak_bytes (rank));
  cli_member ("peak_reserved_bytes", most_reserved_bytes (rank));
  cli_member ("native_bytes", native_bytes);
  cli_member ("expandable_bytes", expandable_bytes);
  cli_member ("plan_bytes", plan_bytes);
  cli_member ("across_streams_bytes", answer != NULL && answer->across_bytes > 0
                                          ? answer->across_bytes
                                          : G_MAXUINT64);
  cli_member_bool ("died", cli_rank_look (rank)->n_failures > 0);
  cli_member ("cause", verdict != NULL ? cli_cause_name (verdict->cause) : NULL);
  cli_member ("headline", verdict != NULL ? verdict->headline : NULL);
  cli_member ("sentence", verdict != NULL ? verdict->sentence : NULL);
  cli_member ("not_followed", answer != NULL && answer->not_followed[0] != '\0'
                                  ? answer->not_followed
                                  : NULL);
}

static void
tell_kinds (const CliRanks *ranks)
{
  static const char *const columns[] = { "+ranks",
                                         "+live_bytes",
                                         "+reserved_bytes",
                                         "+smallest_native_bytes",
                                         "+expandable_bytes",
                                         "+plan_bytes",
                                         "+why",
                                         NULL };
  CliTable *table = cli_table_new ("kinds", columns);

  cli_say ("\n");
  for (guint i = 0; i < ranks->kinds->len; i++)
    tell_kind (table, ranks->kinds->pdata[i], ranks);
  cli_table_print (table);
  cli_say ("\n");
}

/* Files whose rank is a guess. */
static void
say_numbered (const CliRanks *ranks)
{
  g_autoptr (GString) named = g_string_new (NULL);
  guint n = 0;

  for (guint i = 0; i < ranks->ranks->len; i++)
    {
      const CliRank *rank = ranks->ranks->pdata[i];
      g_autofree char *name = g_path_get_basename (rank->path);

      if (rank->is_numbered && n++ < MOST_NOTED)
        g_string_append_printf (named, "%s%s is %" G_GUINT64_FORMAT, n > 1 ? ", " : "",
                                name, rank->rank);
    }
  if (n > 0)
    cli_say ("note: %u file%s tell%s no rank, or one that another file tells, and %s "
             "numbered in order: %s%s\n",
             n, n == 1 ? "" : "s", n == 1 ? "s" : "", n == 1 ? "is" : "are", named->str,
             n > MOST_NOTED ? " ..." : "");
}

/* Ranks that no file is of. */
static void
say_taken (const CliRanks *ranks)
{
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = 0; i < ranks->ranks->len; i++)
    if (((CliRank *) ranks->ranks->pdata[i])->is_taken)
      g_array_append_val (taken, ((CliRank *) ranks->ranks->pdata[i])->rank);
  if (taken->len == 0)
    return;
  g_autofree char *listed = tessera_list_numbers (taken, ", ");
  cli_say (
      "%u of %u ranks ran (%s). Taken as equal, since the next before and after of the "
      "same stage, tensor and expert position are alike: %s\n",
      ranks->ranks->len - taken->len, ranks->ranks->len, ranks->topology.text, listed);
}

/* Never be worse than PyTorch alone: a plan that is must say so.
 * Returns: whether it is. */
static gboolean
say_worse (const char *name, const CliRankAnswer *answer)
{
  const guint64 plan_bytes = answer->need[TESSERA_LAYOUT_PLAN].smallest_bytes;
  g_autofree char *across = NULL;

  if (answer->pytorch_bytes == 0 || plan_bytes <= answer->pytorch_bytes)
    return FALSE;
  if (answer->across_bytes > 0 && answer->across_bytes < plan_bytes)
    across = g_strdup_printf ("; add --across-streams for one of %s",
                              TESSERA_SIZE (answer->across_bytes));
  cli_say ("warning: %s: the plan needs a device of %s, PyTorch alone one of %s%s\n",
           name, TESSERA_SIZE (plan_bytes), TESSERA_SIZE (answer->pytorch_bytes),
           across != NULL ? across : "");
  return TRUE;
}

static void
say_plans (const CliRanks *ranks)
{
  guint n_useless = 0;

  for (guint i = 0; i < ranks->kinds->len; i++)
    {
      const CliRank *rank = ranks->kinds->pdata[i];
      const CliRankAnswer *answer = cli_rank_answer (rank);
      g_autofree char *name = name_ranks (rank, ranks, FALSE, NULL);

      if (answer == NULL || answer->not_followed[0] != '\0')
        cli_say ("%s: %s%s\n", name,
                 answer == NULL ? "no plan was written" : "no run follows the plan: ",
                 answer == NULL ? "" : cli_shown (answer->not_followed));
      n_useless +=
          answer == NULL || answer->not_followed[0] != '\0' || say_worse (name, answer);
    }
  if (n_useless < ranks->kinds->len)
    cli_say ("to follow: tessera run --plan %s -- torchrun ...\n", cli_shown (plans));
}

static void
member_file (const CliRank *rank)
{
  const CliRankLook *seen = cli_rank_look (rank);
  g_autofree char *plan = plans != NULL ? cli_rank_plan_path (rank, plans) : NULL;

  cli_object (NULL);
  cli_member ("rank", rank->rank);
  cli_member_bool ("numbered", rank->is_numbered);
  cli_member_bool ("taken", rank->is_taken);
  cli_member ("file", rank->path);
  cli_member ("plan", plan);
  cli_member ("requests", seen->n_requests);
  cli_member ("peak_live_bytes", seen->peak_live_bytes);
  cli_member ("peak_reserved_bytes", seen->peak_reserved_bytes);
  cli_close ();
}

/* What the fullest holds more than the least full, row by row, is for programs: people have the
 * command that tells it. */
static void
tell_differences (const Imbalance *imbalance)
{
  if (!cli_object_if ("imbalance",
                      peak_bytes (imbalance->most) != peak_bytes (imbalance->least)))
    return;
  cli_say ("all that differs: tessera diff %s %s\n", cli_shown (imbalance->least->path),
           cli_shown (imbalance->most->path));
  if (cli_given.json)
    cli_tell_diff (&imbalance->of_least, &imbalance->of_most);
  cli_close ();
}

static void
tell (const CliRanks *ranks, const Imbalance *imbalance)
{
  const CliRank *worst = ranks->kinds->pdata[0];
  const CliRankAnswer *answer = cli_rank_answer (worst);
  g_autofree char *sentence = describe_imbalance (imbalance, ranks);
  g_autofree char *name = name_ranks (worst, ranks, TRUE, NULL);

  if (answer != NULL && answer->verdict.died)
    cli_say ("%s: %s %s\n", name, answer->verdict.headline, answer->verdict.sentence);
  cli_say ("%s\n", cli_shown (sentence));
  cli_member ("sentence", sentence);
  cli_member ("topology", ranks->topology.n > 0 ? ranks->topology.text : NULL);
  cli_member ("ranks", ranks->ranks->len);
  cli_member ("world", ranks->world > 0 ? ranks->world : G_MAXUINT64);
  cli_member ("failed", ranks->n_failed);
  tell_kinds (ranks);
  if (ranks->world > ranks->ranks->len)
    cli_say ("note: of a job of %" G_GUINT64_FORMAT " ranks %u are here\n", ranks->world,
             ranks->ranks->len);
  say_numbered (ranks);
  say_taken (ranks);
  cli_array ("files");
  for (guint i = 0; i < ranks->ranks->len; i++)
    member_file (ranks->ranks->pdata[i]);
  cli_close ();
  tell_differences (imbalance);
  if (plans != NULL)
    say_plans (ranks);
}

/* What can be known before anything is computed. */
static void
check_plans (const CliRanks *ranks)
{
  if (g_mkdir_with_parents (plans, 0777) != 0)
    cli_fail_with ("%s cannot be made: %s", plans, g_strerror (errno));
  for (guint i = 0; i < ranks->ranks->len; i++)
    {
      const CliRank *rank = ranks->ranks->pdata[i];
      g_autofree char *path = cli_rank_plan_path (rank, plans);

      cli_check_output (rank->path, path, CLI_WRITES_PLAN);
    }
}

/* As told, or as the folder or the recordings tell it. */
static void
find_topology (CliRanks *ranks, const char *folder)
{
  g_autofree char *beside = g_build_filename (folder, "topology", NULL);
  g_autofree char *text = NULL;
  const guint64 world = ranks->world;
  const CliRankLook *seen = cli_rank_look (ranks->ranks->pdata[0]);

  ranks->takes_equal =
      topology != NULL || g_file_get_contents (beside, &text, NULL, NULL);
  const char *found = topology != NULL ? topology : text != NULL ? text : seen->topology;
  const char *whose = topology != NULL ? "--topology" : beside;
  const gboolean is_read = cli_topology_read (&ranks->topology, found);
  const gboolean is_one = is_read && (world == 0 || ranks->topology.world == world);
  if (!is_read && ranks->takes_equal)
    cli_fail_with (
        "%s does not tell how ranks are laid out: it is to be like pp=4,dp=16, "
        "outermost first",
        whose);
  if (!is_one && ranks->takes_equal)
    cli_fail_with ("%s lays out %" G_GUINT64_FORMAT
                   " ranks, but this job has %" G_GUINT64_FORMAT
                   ": their product is the number of ranks",
                   whose, ranks->topology.world, world);
  if (!is_one)
    ranks->topology = (CliTopology){ 0 };
}

int
cli_ranks_tell (CliRanks *ranks)
{
  Imbalance imbalance = { 0 };

  if (plans != NULL)
    check_plans (ranks);
  cli_ranks_answer (ranks, is_fast, plans);
  find_imbalance (&imbalance, ranks);
  tell (ranks, &imbalance);
  cli_side_clear (&imbalance.of_most);
  cli_side_clear (&imbalance.of_least);
  return ranks->n_failed > 0 ? CLI_FAILED : CLI_DONE;
}

/* ---- --slurm, --parallel ---- */

/* For the shell, in which $i is the cell. */
static void
write_task (
    const char *folder, const char *tessera, const char *name, gint world, char **program)
{
  g_autofree char *path = g_build_filename (folder, "task", NULL);
  g_autofree char *quoted_folder = g_shell_quote (folder);
  g_autofree char *braced = g_strdup_printf ("{%s}", name);
  g_autoptr (GString) words = g_string_new (NULL);
  g_autoptr (GError) problem = NULL;

  for (char **word = program; *word != NULL; word++)
    {
      g_autofree char *quoted = g_shell_quote (*word);
      g_string_append_printf (words, " %s", quoted);
    }
  g_string_replace (words, braced, "'\"$i\"'", 0);
  g_autofree char *rank = g_strdup_printf (" --world %d --rank \"$i\"", world);
  g_autofree char *text = g_strdup_printf (
      "#!/bin/sh\n# The dry run of one %s: of this array's task, or: sh task N\n"
      "i=${1:-$SLURM_ARRAY_TASK_ID}\nexec %s dry-run%s --events 0 -o %s/%s-$i.tsr --%s\n",
      name, tessera, world > 0 ? rank : "", quoted_folder, name, words->str);
  if (g_mkdir_with_parents (folder, 0777) != 0)
    cli_fail_with ("%s cannot be made: %s", folder, g_strerror (errno));
  if (!g_file_set_contents (path, text, -1, &problem))
    cli_fail_with ("%s", problem->message);
}

/* Dry runs that an engine runs, one for each cell, of "rank=0..63" or "batch=1,2,4", where the
 * program has {batch}; @world: ranks of the job, 0: the cells are none; @words: the folder, then
 * the program, ends with NULL. Writes FOLDER/task, the dry run of one cell, and prints the line
 * that has the engine run all of them and then answers, or runs that line. Returns: the exit
 * status */
static int
hand_to_engine (const char *asked, gint world, char **words)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *tessera = g_shell_quote (self != NULL ? self : "tessera");
  g_autofree char *folder = g_canonicalize_filename (words[0], NULL);
  g_autofree char *in = g_shell_quote (folder);
  g_autofree char *answer = g_strdup_printf ("%s job %s", tessera, in);
  g_autofree char *wrapped = g_shell_quote (answer);
  g_auto (GStrv) parts = g_strsplit_set (asked, "=", 2);
  char **program = words + 1;

  if (*program != NULL && g_str_equal (*program, "--"))
    program++;
  if (*program == NULL ||
      !g_regex_match_simple ("^[A-Za-z_]\\w*=(\\d+\\.\\.\\d+|\\d+(,\\d+)*)$", asked, 0,
                             0))
    cli_usage ("say what to run: --world 64 DIR -- python train.py, or --sweep "
               "batch=1,2,4 DIR -- python train.py --batch {batch}");
  write_task (folder, tessera, parts[0], world, program);

  g_autoptr (GString) values = g_string_new (parts[1]);
  const gboolean is_range = g_string_replace (values, "..", to_slurm ? "-" : " ", 0) > 0;
  g_string_replace (values, ",", to_slurm ? "," : " ", 0);
  g_autofree char *line =
      to_slurm
          ? g_strdup_printf ("array=$(sbatch --parsable --array=%s --output=%s/%%a.log "
                             "%s/task) && sbatch --dependency=afterany:${array%%%%;*} "
                             "--output=%s/answer.txt --wrap %s",
                             values->str, in, in, in, wrapped)
          : g_strdup_printf ("%s %s | parallel --joblog %s/joblog sh %s/task; %s",
                             is_range ? "seq" : "printf '%s\\n'", values->str, in, in,
                             answer);
  char *shell[] = { "/bin/sh", "-c", line, NULL };
  CliJobEnd end = { 0 };
  if (submits)
    end = cli_job_wait (NULL, shell, -1);
  else
    g_print ("%s\n", line);
  return end.status == 0 && end.signal_number == 0 ? CLI_DONE : CLI_FAILED;
}

static int
run_ranks (int n_files, char **files)
{
  g_auto (CliRanks) ranks = { 0 };

  if (to_slurm || to_parallel)
    {
      g_autofree char *each = g_strdup_printf ("rank=0..%d", n_wanted - 1);
      return hand_to_engine (cells != NULL ? cells : each, n_wanted, files);
    }
  if (submits || n_wanted != 0 || cells != NULL)
    cli_usage ("--submit, --world and --sweep go with --slurm or --parallel");
  for (char **file = files; *file != NULL; file++)
    if (g_file_test (*file, G_FILE_TEST_IS_DIR))
      add_folder (&ranks, *file);
    else
      cli_ranks_add (&ranks, g_strdup (*file), 0);
  cli_ranks_look (&ranks, 0, NULL, NULL);
  if (ranks.ranks->len == 0)
    return CLI_FAILED;
  find_topology (&ranks, files[0]);
  cli_ranks_fold (&ranks);
  return cli_ranks_tell (&ranks);
}

static const GOptionEntry options[] = {
  { CLI_OPTION ("plans", FILENAME, &plans),
    "Write each rank's plan into this folder: rank-0.tsp ...", "PLANS" },
  { CLI_OPTION ("topology", STRING, &topology), "How ranks are laid out", "pp=4,dp=16" },
  { CLI_OPTION ("slurm", NONE, &to_slurm), "A Slurm array that dry-runs a job" },
  { CLI_OPTION ("parallel", NONE, &to_parallel), "The same by GNU parallel" },
  { CLI_OPTION ("submit", NONE, &submits), "Run that line, do not print it" },
  { CLI_OPTION ("world", INT, &n_wanted), "... of so many ranks", "N" },
  { CLI_OPTION ("sweep", STRING, &cells), "... or values of {NAME}", "NAME=VALUES" },
  CLI_OPTION_FORCE,
  CLI_OPTION_NO_EDITS,
  CLI_OPTION_RULES (&rules_path),
  { CLI_OPTION ("fast", NONE, &is_fast), "Leave out smallest devices" },
  { NULL }
};

const CliCommand cli_job = {
  .name = "job",
  .synopsis = "DIR",
  .summary = "which rank dies or needs most, and why ranks are unequal",
  .help = "DIR holds a recording of each rank (or name the files): run-%r.tsr, "
          "rank3.pickle, x-r3of16.pickle.gz.\nThe rank is the name's, else the "
          "recording's own. Ranks that ask for the same are one row, also where\none was "
          "recorded for less long; what frees memory later, and what the driver gave, is "
          "not compared.\nWorst first: who dies, then by what is live at the peak. "
          "--topology, outermost first, or DIR/topology, else the recordings\nsay where "
          "ranks are; by the first two, ranks between equal ones of a stage are taken as "
          "equal.\nWith --slurm or --parallel: DIR -- PROGRAM...",
  .takes = CLI_READS_TRACE | CLI_PLANS,
  .n_least = 1,
  .n_most = -1,
  .options = options,
  .run = run_ranks,
};
