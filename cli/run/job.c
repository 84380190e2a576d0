/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process.h"

/* What the null CUDA hands out: more than any GPU has, so that a run which does not fit
 * is recorded to its end. The program is told the GPU's own size. */
#define DRY_BUDGET "32TiB"

#define GPUS_PER_NODE 8

/* Relative to this program's folder: in a build folder inside the sources, and installed.
 */
static const struct
{
  const char *built;
  const char *installed;
} places[] = {
  [CLI_PLACE_VIEWER] = { "../viewer/tessera-viewer", "tessera-viewer" },
  [CLI_PLACE_LIBRARY] = { "../runtime/libtessera.so",
                          TESSERA_LIBRARIES "/libtessera.so" },
  [CLI_PLACE_NULLCUDA] = { "../nullcuda", TESSERA_LIBRARIES "/tessera/nullcuda" },
  [CLI_PLACE_AUTOLOAD] = { "../../python/tessera/autoload",
                           TESSERA_PYTHON "/tessera/autoload" },
};

char *
cli_place_find (CliPlace place)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  if (self == NULL)
    return NULL;
  g_autofree char *folder = g_path_get_dirname (self);
  const char *const candidates[] = { places[place].built, places[place].installed };
  for (size_t i = 0; i < G_N_ELEMENTS (candidates); i++)
    {
      g_autofree char *path = g_canonicalize_filename (candidates[i], folder);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  return NULL;
}

char *
cli_program_name (char **program)
{
  for (size_t i = 1; program[i] != NULL; i++)
    {
      if (strcmp (program[i], "-m") == 0 && program[i + 1] != NULL)
        return g_strdup (program[i + 1]);
      if (g_str_has_suffix (program[i], ".py"))
        {
          g_autofree char *base = g_path_get_basename (program[i]);
          return g_strndup (base, strlen (base) - strlen (".py"));
        }
    }
  return g_path_get_basename (program[0]);
}

const char *
cli_program_launcher (char **program)
{
  static const char *const launchers[] = { "torchrun", "accelerate", "deepspeed",
                                           "mpirun",   "mpiexec",    "srun",
                                           NULL };
  static const char *const modules[] = { "torch.distributed.run",
                                         "torch.distributed.launch",
                                         "accelerate.commands.launch", NULL };
  g_autofree char *base = g_path_get_basename (program[0]);

  if (g_strv_contains (launchers, base))
    return program[0];
  for (size_t i = 1; program[i] != NULL; i++)
    {
      g_autofree char *argument = g_path_get_basename (program[i]);
      if (g_strv_contains (launchers, argument) || g_strv_contains (modules, program[i]))
        return program[i];
      /* What follows the script is the script's own. */
      if (g_str_has_suffix (program[i], ".py") || strcmp (program[i - 1], "-m") == 0)
        break;
    }
  return NULL;
}

/* How many processes an option of a launcher asks for; 1: it is about something else. */
static guint64
count_processes (const char *option, const char *next)
{
  static const char *const names[] = { "nproc-per-node",
                                       "num-processes",
                                       "num-gpus",
                                       "nnodes",
                                       "num-nodes",
                                       "ntasks",
                                       "np",
                                       "n",
                                       NULL };
  g_auto (GStrv) parts = g_strsplit (option, "=", 2);
  const char *value = parts[0] != NULL && parts[1] != NULL ? parts[1] : next;

  if (parts[0] == NULL || *option != '-' || value == NULL ||
      !g_strv_contains (names,
                        g_strdelimit (parts[0], "_", '-') + strspn (parts[0], "-")))
    return 1;
  return MAX (g_ascii_strtoull (value, NULL, 10), 1);
}

char *
cli_program_unlaunched (char **program)
{
  const char *launcher = cli_program_launcher (program);
  g_autoptr (GString) text = g_string_new (NULL);
  guint64 n_processes = 1;
  char **word = program;

  while (*word != launcher)
    word++;
  for (word++; *word != NULL && !g_str_has_suffix (*word, ".py") &&
               !g_str_equal (*word, "-m") && !g_str_equal (*word, "--module");
       word++)
    n_processes *= MIN (count_processes (*word, word[1]), 1u << 16);
  if (n_processes > 1)
    g_string_printf (text, "--world %" G_GUINT64_FORMAT " --rank 0 ", n_processes);
  g_string_append (text, *word != NULL ? "-- python" : "-- python train.py");
  for (; *word != NULL; word++)
    {
      g_autofree char *quoted = g_shell_quote (*word);

      g_string_append_printf (
          text, " %s", strpbrk (*word, " '\"$\\&|;<>()*?`") != NULL ? quoted : *word);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

gboolean
cli_job_policy_is_known (const char *policy)
{
  static const char *const policies[] = { "native", "expandable", "direct", "plan",
                                          NULL };
  return g_strv_contains (policies, policy);
}

gboolean
cli_job_follow_is_known (const char *follow)
{
  return follow == NULL || g_str_equal (follow, "length") ||
         g_str_equal (follow, "trace");
}

/* The pattern of @path alone, whatever % it holds. Newly allocated; NULL: NULL */
static char *
pattern_of (const char *path)
{
  g_auto (GStrv) parts = g_strsplit (path != NULL ? path : "", "%", -1);

  return path != NULL ? g_strjoinv ("%%", parts) : NULL;
}

static void
set (char ***env, const char *name, const char *value)
{
  if (value != NULL)
    *env = g_environ_setenv (*env, name, value, TRUE);
}

/* @number, or where it is 0 @otherwise. */
static void
set_number (char ***env, const char *name, gint64 number, const char *otherwise)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, number);
  set (env, name, number != 0 ? text : otherwise);
}

/* Puts @first before what a variable of several paths has. */
static void
put_first (char ***env, const char *name, const char *first)
{
  const char *rest = g_environ_getenv (*env, name);
  g_autofree char *both = rest != NULL && *rest != '\0'
                              ? g_strdup_printf ("%s:%s", first, rest)
                              : g_strdup (first);
  set (env, name, both);
}

static char *
find (CliPlace place, const char *what, TesseraError *error)
{
  char *path = cli_place_find (place);

  if (path == NULL)
    (void) tessera_fail (error, TESSERA_IO,
                         "%s is neither beside this program nor installed: build all of "
                         "Tessera (./run), or install it",
                         what);
  return path;
}

static void
set_dry (char ***env, const CliJob *job, const char *nullcuda)
{
  static const char *const said[] = { "TESSERA_EVENTS", "TESSERA_SECONDS", "TESSERA_PLAN",
                                      "TESSERA_TRY", "TESSERA_TRY_MODULES" };
  g_autofree char *preloaded = g_build_filename (nullcuda, "libnullcuda.so", NULL);

  /* A dry run is what its command line says. */
  for (size_t i = 0; i < G_N_ELEMENTS (said); i++)
    *env = g_environ_unsetenv (*env, said[i]);
  put_first (env, "LD_PRELOAD", preloaded);
  put_first (env, "LD_LIBRARY_PATH", nullcuda);
  set (env, "NULLCUDA_FORCE", "1"); /* a dry run is dry beside a GPU too */
  set_number (env, "NULLCUDA_BUDGET", (gint64) job->budget_bytes, DRY_BUDGET);
  set (env, "NULLCUDA_LAG", "1"); /* work takes a modelled time */
  if (g_environ_getenv (*env, "PYTHONHASHSEED") == NULL)
    set (env, "PYTHONHASHSEED", "0"); /* else two runs have their sets in two orders */
  set_number (env, "NULLCUDA_DEVICE", (gint64) job->gpu_bytes, job->gpu);
  set (env, "TESSERA_DRY_RUN", "1");
  set_number (env, "TESSERA_HEADROOM", (gint64) job->headroom_bytes, "0");
  set (env, "TESSERA_CONTRACT", job->contract);
  g_autofree char *steps = g_strdup_printf ("%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT,
                                            job->least_steps, job->most_steps);
  set (env, "TESSERA_STEPS", steps);
  set_number (env, "TESSERA_EVENTS", job->most_events, NULL);
  if (job->most_seconds > 0)
    {
      char text[G_ASCII_DTOSTR_BUF_SIZE];
      set (env, "TESSERA_SECONDS", g_ascii_dtostr (text, sizeof text, job->most_seconds));
    }
  if (job->world > 0)
    {
      set_number (env, "TESSERA_WORLD", job->world, NULL);
      set_number (env, "TESSERA_RANK", job->rank, "0");
    }
  /* A rank takes the device of its number in the node. */
  set_number (env, "NULLCUDA_COUNT",
              job->n_gpus > 0 ? job->n_gpus : MIN (job->world, GPUS_PER_NODE), NULL);
  set (env, "TESSERA_TRY", job->change);
  set (env, "TESSERA_TRY_MODULES", job->change_modules);
}

/* "NAME=value" of each variable; NULL: a part that the job needs is not installed. */
static char **
make_environ (const CliJob *job, TesseraError *error)
{
  g_autofree char *library = find (CLI_PLACE_LIBRARY, "libtessera.so", error);
  g_autofree char *autoload =
      library != NULL ? find (CLI_PLACE_AUTOLOAD, "Tessera's Python package", error)
                      : NULL;
  g_autofree char *nullcuda =
      autoload != NULL && job->is_dry
          ? find (CLI_PLACE_NULLCUDA, "the null CUDA (libnullcuda.so)", error)
          : NULL;
  char **env = g_get_environ ();

  if (autoload == NULL || (job->is_dry && nullcuda == NULL))
    {
      g_strfreev (env);
      return NULL;
    }
  if (job->is_dry)
    set_dry (&env, job, nullcuda);
  put_first (&env, "PYTHONPATH", autoload);
  if (g_environ_getenv (env, "TESSERA_LIBRARY") == NULL)
    set (&env, "TESSERA_LIBRARY", library);
  g_autofree char *command = g_file_read_link ("/proc/self/exe", NULL);
  set (&env, "TESSERA_COMMAND", command); /* which makes snapshots of the trace */
  g_autofree char *record =
      job->is_dry ? pattern_of (job->record) : g_strdup (job->record);
  g_autofree char *plan = job->is_dry ? pattern_of (job->plan) : g_strdup (job->plan);
  set (&env, "TESSERA_RECORD", record);
  set (&env, "TESSERA_PLAN", plan);
  set (&env, "TESSERA_POLICY", job->policy);
  set (&env, "TESSERA_STACKS", job->stacks);
  set (&env, "TESSERA_FOLLOW", job->follow);
  set (&env, "TESSERA_FORCE", job->overwrites ? "1" : NULL);
  return env;
}

/* Does not import torch, which takes seconds: its package says what it was built for. */
#define LOOK_FOR_PYTORCH                                                                 \
  "import importlib.util, pathlib, re\n"                                                 \
  "spec = importlib.util.find_spec('torch')\n"                                           \
  "if spec is None or spec.origin is None:\n"                                            \
  "    print('none')\n"                                                                  \
  "else:\n"                                                                              \
  "    text = (pathlib.Path(spec.origin).parent / 'version.py').read_text()\n"           \
  "    cuda = re.search(r'^cuda\\b[^=]*=\\s*(.*)$', text, re.M)\n"                       \
  "    print('cpu' if cuda and cuda.group(1).strip() == 'None' else 'cuda')\n"

void
cli_job_check (const CliJob *job, char **program)
{
  g_auto (GStrv) env = make_environ (job, cli_error ());
  g_autofree char *base = g_path_get_basename (program[0]);
  g_autofree char *output = NULL;
  g_autoptr (GError) problem = NULL;
  char *look[] = { program[0], "-c", LOOK_FOR_PYTORCH, NULL };

  cli_must (env != NULL ? TESSERA_OK : TESSERA_IO);
  if (!g_str_has_prefix (base, "python"))
    return;
  g_autofree char *shown = g_filename_display_name (program[0]);
  if (!g_spawn_sync (NULL, look, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                     NULL, NULL, &output, NULL, NULL, &problem))
    cli_fail_with ("%s does not start: %s; name the Python that has PyTorch", shown,
                   problem->message);
  g_strstrip (output);
  if (strcmp (output, "none") == 0)
    cli_fail_with (
        "%s has no PyTorch: %s -m pip install torch, or name the Python that has it",
        shown, shown);
  if (strcmp (output, "cpu") == 0)
    cli_fail_with (
        "the PyTorch of %s is built without CUDA, so nothing would ask for memory of a "
        "GPU: install the build for CUDA (on Linux: pip install torch, from PyPI)",
        shown);
}

G_NORETURN static void
does_not_start (const char *program, const char *why)
{
  g_autofree char *shown = g_filename_display_name (program);
  cli_fail_with ("%s does not start: %s; after -- comes the command as you would type "
                 "it, e.g. python train.py",
                 shown, why);
}

void
cli_job_find_plan (char **path, int rank)
{
  g_autoptr (GDir) folder = g_dir_open (*path, 0, NULL);
  const char *name = NULL;

  if (folder == NULL)
    return;
  while (name == NULL || !g_str_has_prefix (name, "rank-"))
    if ((name = g_dir_read_name (folder)) == NULL)
      cli_fail_with (
          "%s is a folder without plans, such as tessera job DIR --plans writes", *path);
  g_autofree char *given = *path;
  g_autofree char *pattern = pattern_of (given);
  *path = rank < 0 ? g_strconcat (pattern, "/rank-%r.tsp", NULL)
                   : g_strdup_printf ("%s/rank-%d.tsp", given, rank);
}

/* A pattern; the folder that it is in, which nobody typed, is none. */
static char *
absolute (const char *pattern)
{
  g_autofree char *here = g_get_current_dir ();
  g_autofree char *folder = pattern_of (here);
  return pattern != NULL ? g_canonicalize_filename (pattern, folder) : NULL;
}

void
cli_job_become (const CliJob *wanted, char **program)
{
  g_autofree char *record = absolute (wanted->record);
  g_autofree char *plan = absolute (wanted->plan);
  CliJob job = *wanted;
  TesseraError error = { 0 };

  job.record = record;
  job.plan = plan;
  char **env = make_environ (&job, &error);
  if (env == NULL)
    {
      fprintf (stderr, "tessera: %s; going on without Tessera\n", error.text);
      env = g_get_environ ();
    }
  cli_process_restore ();
  execvpe (program[0], program, env);
  const int why = errno;
  g_strfreev (env);
  does_not_start (program[0], g_strerror (why));
}

/* In the child, before the program: it ends with us, were we killed, and its addresses are the
 * same each time, by which PyTorch's autocast orders what it frees. A container may forbid that.
 */
static void
set_up_child (gpointer user)
{
  cli_process_restore ();
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  personality (ADDR_NO_RANDOMIZE);
}

static gboolean
spawn (char **program, char **env, int stdout_to, GPid *out_pid, GError **error)
{
  /* GLib closes in the child what it takes stdout from: not a stderr that is to stay. */
  int child_stdout = stdout_to >= 0 ? fcntl (stdout_to, F_DUPFD_CLOEXEC, 3) : -1;
  gboolean has_started = g_spawn_async_with_pipes_and_fds (
      NULL, (const char *const *) program, (const char *const *) env,
      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_CHILD_INHERITS_STDIN,
      set_up_child, NULL, -1, child_stdout, -1, NULL, NULL, 0, out_pid, NULL, NULL, NULL,
      error);

  if (child_stdout >= 0)
    close (child_stdout);
  return has_started;
}

CliJobEnd
cli_job_wait (const CliJob *job, char **program, int stdout_to)
{
  g_auto (GStrv) env = job != NULL ? make_environ (job, cli_error ()) : g_get_environ ();
  g_autoptr (GError) problem = NULL;
  GPid pid = 0;
  int status = 0;

  cli_must (env != NULL ? TESSERA_OK : TESSERA_IO);
  cli_process_ask (CLI_ASK_CHILD);
  if (!spawn (program, env, stdout_to, &pid, &problem))
    does_not_start (program[0], problem->message);
  cli_process_pass_to (pid);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    continue;
  const CliJobEnd end = { .status = WIFEXITED (status) ? WEXITSTATUS (status) : 0,
                          .signal_number = WIFSIGNALED (status) ? WTERMSIG (status) : 0,
                          .stopped_by = cli_process_asked_by () };
  cli_process_ask (CLI_ASK_NEVER);
  return end;
}
