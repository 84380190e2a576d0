/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/run/run.h"

/* In a process of its own, which then looks at the trace: the dry run. */
static void
record (const CliRank *rank, gconstpointer user)
{
  const CliRehearsal *model = user;
  g_autofree char *log = g_strconcat (rank->path, ".log", NULL);
  CliJob job = model->job;
  int ours = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

  job.rank = (gint64) rank->rank;
  job.record = rank->path;
  if (freopen ("/dev/null", "r", stdin) == NULL || freopen (log, "w", stderr) == NULL)
    _exit (CLI_FAILED);
  const CliJobEnd end = cli_job_wait (&job, model->program, STDERR_FILENO);
  dup2 (ours, STDERR_FILENO);
  if (end.stopped_by != 0)
    _exit (CLI_FAILED);
  if (end.status != 0 || end.signal_number != 0 ||
      !g_file_test (rank->path, G_FILE_TEST_EXISTS))
    {
      g_autofree char *line = cli_trial_last_line (log, TRUE);
      cli_fail_with ("rank %" G_GUINT64_FORMAT " %s: %s (more in %s)", rank->rank,
                     end.status != 0 || end.signal_number != 0
                         ? "failed"
                         : "allocated no memory of the GPU",
                     line, log);
    }
  g_unlink (log);
}

static void
add (CliRanks *ranks, guint64 number, const char *folder)
{
  g_autofree char *name = g_strdup_printf ("rank-%" G_GUINT64_FORMAT ".tsr", number);

  cli_ranks_add (ranks, g_build_filename (folder, name, NULL), number);
}

/* Between two that follow each other and are unlike the middle one; and one inside of those
 * that are alike, unless another beside them is, or they are the first and the last of a
 * stage. Three eighths: what repeats every so many ranks, mostly a power of two, is not met
 * by halves. @numbers: the class's; @ran: by place in it, NULL: it did not */
static void
choose_between (CliRanks *ranks, const GArray *numbers, CliRank **ran, const char *folder)
{
  const CliRank *kinds[] = { NULL, NULL, NULL }; /* of the last three that ran */
  guint places[] = { 0, 0, 0 };

  /* One further: behind the last there is none. */
  for (guint place = 0; place <= numbers->len; place++)
    {
      if (place < numbers->len && ran[place] == NULL)
        continue;
      const CliRank *now = place < numbers->len ? ran[place]->kind : NULL;
      const guint n = places[2] - places[1];
      const gboolean is_alike = kinds[1] == kinds[2];
      const gboolean is_seen =
          is_alike && (kinds[0] == kinds[2] || now == kinds[2] ||
                       (n + 1 == numbers->len && ranks->topology.n_classes > 1));

      if (kinds[1] != NULL && n > 1 && !is_seen)
        add (ranks,
             g_array_index (numbers, guint64,
                            places[1] + MAX (1, is_alike ? n * 3 / 8 : n / 2)),
             folder);
      kinds[0] = kinds[1], kinds[1] = kinds[2], kinds[2] = now;
      places[1] = places[2], places[2] = place;
    }
}

/* Adds what is to run next: the first and the last of each class, then what lies between. */
static void
choose_next (CliRanks *ranks, const char *folder)
{
  const CliTopology *topology = &ranks->topology;
  g_autofree CliRank **by_number = g_new0 (CliRank *, topology->world);

  for (guint i = 0; i < ranks->ranks->len; i++)
    {
      CliRank *rank = ranks->ranks->pdata[i];
      by_number[rank->rank] = rank->is_taken ? NULL : rank;
    }
  for (guint64 class = 0; class < topology->n_classes; class ++)
    {
      g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_autoptr (GPtrArray) ran = g_ptr_array_new ();

      for (guint64 number = 0; number < topology->world; number++)
        if (cli_topology_class (topology, number) == class)
          {
            g_array_append_val (numbers, number);
            g_ptr_array_add (ran, by_number[number]);
          }
      const guint last = ran->len - 1;
      if (ran->pdata[0] == NULL)
        add (ranks, g_array_index (numbers, guint64, 0), folder);
      if (ran->pdata[last] == NULL && last > 0)
        add (ranks, g_array_index (numbers, guint64, last), folder);
      if (ran->pdata[0] != NULL && ran->pdata[last] != NULL)
        choose_between (ranks, numbers, (CliRank **) ran->pdata, folder);
    }
}

/* Whether all kinds fit, by the better of PyTorch's own policies. */
static int
tell_fit (const CliQuestion *question, const CliRanks *ranks)
{
  const guint64 available_bytes = cli_answer_available (question);
  gboolean fits = TRUE;

  for (guint i = 0; i < ranks->kinds->len; i++)
    {
      const TesseraNeed *need = cli_rank_answer (ranks->kinds->pdata[i])->need;
      fits =
          fits && MIN (need[TESSERA_LAYOUT_NATIVE].smallest_bytes,
                       need[TESSERA_LAYOUT_EXPANDABLE].smallest_bytes) <= available_bytes;
    }
  cli_say ("%s fits %s, which leaves %s to PyTorch (head-room %s, %s)\n",
           fits ? "every rank" : "not every rank", question->gpu,
           TESSERA_SIZE (available_bytes), TESSERA_SIZE (question->headroom_bytes),
           question->headroom_why);
  return fits ? CLI_DONE : CLI_DOES_NOT_FIT;
}

int
cli_all_ranks (const CliRehearsal *model, const char *topology, const char *folder)
{
  const guint64 world = (guint64) model->job.world;
  g_autofree char *beside = g_build_filename (folder, "topology", NULL);
  g_autofree char *alone = g_strdup_printf ("rank=%" G_GUINT64_FORMAT, world);
  g_auto (CliRanks) ranks = { .takes_equal = TRUE };
  g_autoptr (GError) problem = NULL;

  if (topology != NULL &&
      (!cli_topology_read (&ranks.topology, topology) || ranks.topology.world != world))
    cli_usage ("--topology takes how the %" G_GUINT64_FORMAT
               " ranks are laid out, outermost first: pp=4,dp=16, not \"%s\"",
               world, topology);
  cli_job_check (&model->job, model->program);
  if (g_mkdir (folder, 0777) != 0)
    cli_fail_with ("the folder %s cannot be made: %s; name another one with -o", folder,
                   g_strerror (errno));
  add (&ranks, 0, folder);
  for (guint n = 0; n < ranks.ranks->len;)
    {
      const guint n_next = ranks.ranks->len - n;

      fprintf (stderr, "tessera: %u rank%s of %" G_GUINT64_FORMAT " run ...\n", n_next,
               n_next == 1 ? "" : "s", world);
      cli_ranks_look (&ranks, cli_most_jobs (model->n_jobs), record, model);
      if (ranks.n_failed > 0)
        return CLI_SCRIPT_FAILED;
      /* Where nobody said how ranks are laid out, the first one's groups tell. */
      if (ranks.topology.n == 0 &&
          (!cli_topology_read (&ranks.topology,
                               cli_rank_look (ranks.ranks->pdata[0])->topology) ||
           ranks.topology.world != world))
        cli_topology_read (&ranks.topology, alone);
      cli_ranks_fold (&ranks);
      n = ranks.ranks->len;
      choose_next (&ranks, folder);
    }
  if (!g_file_set_contents (beside, ranks.topology.text, -1, &problem))
    cli_fail_with ("%s", problem->message);
  int result = cli_ranks_tell (&ranks);
  return result != CLI_DONE ? result : tell_fit (&model->question, &ranks);
}
