/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process.h"

#define POLL_US 20000
#define LOG_END_BYTES 8192
/* Who is told to end may save something first. */
#define PATIENCE_US (5 * G_USEC_PER_SEC)
/* A run takes what the largest took so far; a Python with PyTorch takes about this. */
#define RUN_BYTES ((guint64) 1 << 30)

struct CliTrials
{
  GPtrArray *trials; /* CliTrial */
  char *folder;      /* of temporary files */
  guint n_jobs;
};

/* In the child; returns its exit status. Ctrl-C reaches the parent alone, who ends this
 * group; were the parent killed, we end too. */
static int
run_child (CliTrial *trial, const CliRehearsal *model)
{
  g_autofree char *log = g_strconcat (trial->stem, ".log", NULL);
  g_autofree char *trace = g_strconcat (trial->stem, ".tsr", NULL);
  g_autofree char *plan = g_strconcat (trial->stem, ".tsp", NULL);
  CliRehearsal run = *model;

  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  cli_process_ask (CLI_ASK_NEVER);
  if (freopen ("/dev/null", "r", stdin) == NULL || freopen (log, "w", stderr) == NULL)
    _exit (CLI_FAILED);
  dup2 (STDERR_FILENO, STDOUT_FILENO);
  run.job.record = trace;
  run.plan_path = plan;
  run.job.stacks = "0"; /* nobody sees the trace */
  run.trial = trial;
  return cli_rehearse (&run);
}

const CliTrial *
cli_trials_start (CliTrials *trials, const CliRehearsal *run)
{
  CliTrial *trial = mmap (NULL, sizeof *trial, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (trial == MAP_FAILED)
    cli_fail_with ("a dry run cannot be started: %s", g_strerror (errno));
  g_ptr_array_add (trials->trials, trial);
  g_snprintf (trial->stem, sizeof trial->stem, "%s/%u", trials->folder,
              trials->trials->len);
  fflush (NULL);
  const pid_t pid = fork ();
  if (pid == 0)
    exit (run_child (trial, run));
  if (pid < 0)
    cli_fail_with ("a dry run cannot be started: %s", g_strerror (errno));
  trial->pid = pid;
  setpgid (pid, pid); /* whoever of the two comes first */
  return trial;
}

void
cli_remove_files (const char *folder_path, const char *begin, const char *kept)
{
  g_autoptr (GDir) folder = g_dir_open (folder_path, 0, NULL);
  const char *name;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    if (g_str_has_prefix (name, begin) && g_strcmp0 (name, kept) != 0)
      {
        g_autofree char *path = g_build_filename (folder_path, name, NULL);
        g_unlink (path);
      }
}

/* Also what a run that was killed left; the log may stay. */
static void
remove_files (const CliTrial *trial, gboolean keeps_log)
{
  g_autofree char *folder = g_path_get_dirname (trial->stem);
  g_autofree char *begin = g_strconcat (strrchr (trial->stem, '/') + 1, ".", NULL);
  g_autofree char *log = g_strconcat (begin, "log", NULL);

  cli_remove_files (folder, begin, keeps_log ? log : NULL);
}

char *
cli_trial_last_line (const char *path, gboolean of_script)
{
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, NULL);
  gsize n = file != NULL ? g_mapped_file_get_length (file) : 0;
  gsize n_end = MIN (n, LOG_END_BYTES);
  g_autofree char *end =
      g_strndup (n > 0 ? g_mapped_file_get_contents (file) + n - n_end : "", n_end);
  g_auto (GStrv) lines = g_strsplit_set (end, "\r\n", -1);

  for (guint i = g_strv_length (lines); i-- > 0;)
    if (*g_strstrip (lines[i]) != '\0' &&
        !(of_script && g_str_has_prefix (lines[i], "tessera")))
      return g_strdup (lines[i]);
  return g_strdup ("it said nothing");
}

static void
take_result (CliTrial *trial, int wait_status)
{
  g_autofree char *log = g_strconcat (trial->stem, ".log", NULL);
  const int status = WIFEXITED (wait_status) ? WEXITSTATUS (wait_status) : -1;

  if (status == CLI_DONE)
    trial->state = CLI_TRIAL_MEASURED;
  else if (status == CLI_DOES_NOT_FIT)
    trial->state = CLI_TRIAL_OUT_OF_MEMORY;
  else
    {
      g_autofree char *line = cli_trial_last_line (log, status == CLI_SCRIPT_FAILED);

      trial->state = CLI_TRIAL_FAILED;
      g_snprintf (trial->remark, sizeof trial->remark, "%s (more in %s)", line, log);
    }
}

/* By force at @deadline_us. */
static void
stop (CliTrial *trial, gint64 deadline_us)
{
  if (trial->pid > 0)
    kill (-trial->pid, SIGTERM);
  while (trial->pid > 0 && waitpid (trial->pid, NULL, WNOHANG) == 0)
    {
      if (g_get_monotonic_time () > deadline_us)
        kill (-trial->pid, SIGKILL);
      g_usleep (POLL_US);
    }
  trial->pid = 0;
  remove_files (trial, FALSE);
}

static void
free_trial (gpointer data)
{
  CliTrial *trial = data;

  munmap (trial, sizeof *trial);
}

/* Of this machine, for runs: before the first one. */
static guint64
available_memory (void)
{
  static guint64 bytes;
  g_autofree char *text = NULL;
  const char *line =
      bytes == 0 && g_file_get_contents ("/proc/meminfo", &text, NULL, NULL)
          ? strstr (text, "MemAvailable:")
          : NULL;

  if (line != NULL)
    bytes = g_ascii_strtoull (line + strlen ("MemAvailable:"), NULL, 10) << 10;
  return bytes;
}

guint
cli_most_jobs (guint asked)
{
  const guint64 memory_bytes = available_memory ();
  struct rusage largest;

  if (asked > 0)
    return asked;
  getrusage (RUSAGE_CHILDREN, &largest);
  return (guint) CLAMP (memory_bytes / MAX (RUN_BYTES, (guint64) largest.ru_maxrss << 10),
                        1, g_get_num_processors ());
}

CliTrials *
cli_trials_new (guint n_jobs)
{
  g_autoptr (GError) problem = NULL;
  CliTrials *trials = g_new0 (CliTrials, 1);

  trials->folder = g_dir_make_tmp ("tessera-sweep-XXXXXX", &problem);
  if (trials->folder == NULL)
    cli_fail_with ("there is no place for traces: %s", problem->message);
  trials->trials = g_ptr_array_new_with_free_func (free_trial);
  trials->n_jobs = n_jobs;
  return trials;
}

void
cli_trials_free (CliTrials *trials)
{
  g_rmdir (trials->folder); /* no: a log of a script that failed is there */
  g_free (trials->folder);
  g_ptr_array_unref (trials->trials);
  g_free (trials);
}

/* After a signal, by which we end once nothing of ours goes on. */
G_NORETURN static void
stop_all (const CliTrials *trials, int number)
{
  gint64 deadline_us = g_get_monotonic_time () + PATIENCE_US;

  for (guint i = 0; i < trials->trials->len; i++)
    stop (trials->trials->pdata[i], deadline_us);
  g_rmdir (trials->folder);
  cli_process_ask (CLI_ASK_NEVER);
  raise (number);
  g_assert_not_reached ();
}

void
cli_trials_run (CliTrials *trials,
                gboolean (*start_next) (gpointer user),
                void (*on_end) (const CliTrial *trial, gpointer user),
                gpointer user)
{
  guint n_running;

  cli_process_ask (CLI_ASK_ON_ALL);
  do
    {
      n_running = 0;
      for (guint i = 0; i < trials->trials->len; i++)
        {
          CliTrial *trial = trials->trials->pdata[i];
          int wait_status;

          if (trial->pid == 0)
            continue;
          n_running++;
          if (waitpid (trial->pid, &wait_status, WNOHANG) == 0)
            continue;
          n_running--;
          trial->pid = 0;
          take_result (trial, wait_status);
          remove_files (trial, trial->state == CLI_TRIAL_FAILED);
          if (on_end != NULL)
            on_end (trial, user);
        }
      while (n_running < cli_most_jobs (trials->n_jobs) && start_next (user))
        n_running++;
      if (cli_process_asked_by () != 0)
        stop_all (trials, cli_process_asked_by ());
      g_usleep (POLL_US);
    }
  while (n_running > 0);
  cli_process_ask (CLI_ASK_NEVER);
  cli_progress_end ();
}

/* ---- --try ---- */

typedef struct
{
  const char *change;              /* "fused+zero-grad" */
  const TesseraSuggestion *advice; /* NULL: it has none */
  const CliTrial *trial;
} Try;

typedef struct
{
  const CliRehearsal *run;
  CliTrials *trials;
  GArray *tries;       /* Try */
  const char *modules; /* that checkpointing is about; NULL: none are advised */
  guint n_started;
} Tries;

char **
cli_changes_read (const char *text)
{
  /* As trying.py knows them. */
  static const char *const known[] = { "fused",         "foreach-off", "zero-grad",
                                       "checkpointing", "8-bit",       "bf16-optimizer",
                                       "offload",       CLI_SUGGESTED, NULL };
  g_auto (GStrv) parts = g_strsplit_set (text, ",+", -1);

  for (char **part = parts; *part != NULL; part++)
    if (!g_strv_contains (known, *part))
      {
        g_autofree char *names = g_strjoinv (", ", (char **) known);
        cli_usage (
            "--try takes %s, and fused+zero-grad for two at once, not \"%s\": a smaller "
            "batch, a loss in parts and a del are for the script",
            names, *part);
      }
  return g_strsplit (text, ",", -1);
}

/* @change NULL: all that is advised and can be made. */
static void
add_tries (Tries *tries, const GArray *advice, const char *change)
{
  Try one = { .change = change };

  for (guint i = 0; i < advice->len; i++)
    {
      const TesseraSuggestion *row = &g_array_index (advice, TesseraSuggestion, i);
      const char *name = tessera_try_name (row->what);

      if (row->modules != NULL)
        tries->modules = row->modules;
      if (change != NULL && g_str_equal (name, change))
        one.advice = row;
      if (change != NULL || !tessera_try_is_from_outside (row->what))
        continue;
      const Try advised = { .change = name, .advice = row };
      g_array_append_val (tries->tries, advised);
    }
  if (change != NULL)
    g_array_append_val (tries->tries, one);
}

static gboolean
start_next_try (gpointer user)
{
  Tries *tries = user;
  CliRehearsal run = *tries->run;

  if (tries->n_started == tries->tries->len)
    return FALSE;
  Try *one = &g_array_index (tries->tries, Try, tries->n_started++);
  run.job.change = one->change;
  run.job.change_modules = tries->modules;
  one->trial = cli_trials_start (tries->trials, &run);
  return TRUE;
}

/* Why there are no figures; NULL: there are. To be freed. */
static char *
describe_failure (const Try *one)
{
  if (one->trial->is_unchanged)
    return g_strdup_printf ("not tried: %s", one->trial->remark);
  if (one->trial->state == CLI_TRIAL_MEASURED)
    return NULL;
  return g_strdup_printf ("%s: the script fails: %s", one->change,
                          one->trial->state == CLI_TRIAL_FAILED ? one->trial->remark
                                                                : "it dies of memory");
}

static void
add_try (CliTable *table, const Try *one, guint64 now_bytes)
{
  const CliTrial *trial = one->trial;
  g_autofree char *failure = describe_failure (one);
  g_autofree char *difference = g_strdup_printf (
      "%+.1f %%",
      100.0 * ((double) trial->live_bytes / (double) MAX (now_bytes, 1) - 1.0));

  cli_table_text (table, one->change);
  cli_table_integer (table, failure == NULL ? trial->live_bytes : G_MAXUINT64);
  for (guint i = 0; i < CLI_N_POLICIES; i++)
    cli_table_integer (table, failure == NULL ? trial->bytes[i] : G_MAXUINT64);
  cli_table_integer (table, one->advice != NULL ? one->advice->peak_bytes : G_MAXUINT64);
  cli_table_text (table, failure);
  cli_table_text (table, failure != NULL ? failure : difference);
}

static void
keep_try (const Try *one, CliStudy *study)
{
  g_autofree char *failure = describe_failure (one);
  g_autofree char *key = g_strconcat (TESSERA_TRIED_KEY, one->change, NULL);
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, one->trial->live_bytes);

  if (one->advice != NULL)
    cli_must (tessera_trace_set_meta (study->trace, key,
                                      failure == NULL ? text
                                      : one->trial->is_unchanged
                                          ? "a dry run cannot make it"
                                          : "the script fails with it"));
}

void
cli_try (const CliRehearsal *run, CliStudy *study, const TesseraWhose *whose)
{
  static const char *const columns[] = {
    "change",           "live_bytes",       "native_bytes",
    "expandable_bytes", "plan_bytes",       "predicted_live_bytes",
    "-remark",          "+live changes by", NULL
  };
  const guint64 now_bytes = study->layout->peak_live_bytes;
  g_autoptr (GArray) advice = tessera_suggest (whose);
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Try));
  Tries tries = { .run = run, .trials = cli_trials_new (run->n_jobs), .tries = all };
  int lock;

  for (char **change = run->changes; *change != NULL; change++)
    add_tries (&tries, advice, g_str_equal (*change, CLI_SUGGESTED) ? NULL : *change);
  cli_trials_run (tries.trials, start_next_try, NULL, &tries);
  cli_say (
      all->len > 0
          ? "\ntried, each by a dry run of its own:\n"
          : "\nnothing is tried: no change is advised that can be made from outside\n");
  CliTable *table = cli_table_new ("tried", columns);
  cli_table_text (table, "as it is");
  CLI_INTEGERS (table, now_bytes, study->needs.native_bytes,
                study->needs.expandable_bytes, study->needs.plan_bytes, G_MAXUINT64);
  cli_table_text (table, NULL);
  cli_table_text (table, NULL);
  for (guint i = 0; i < all->len; i++)
    {
      add_try (table, &g_array_index (all, Try, i), now_bytes);
      keep_try (&g_array_index (all, Try, i), study);
    }
  cli_table_print (table);
  cli_must (tessera_file_lock (study->path, cli_error (), &lock));
  cli_must (tessera_trace_save_meta (study->trace, study->path, cli_error ()));
  tessera_file_unlock (lock);
  cli_trials_free (tries.trials);
}
