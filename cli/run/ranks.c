/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/whose.h"
#include "cli/process.h"
#include "db/hash.h"

/* Each may hold a large trace in memory. */
#define MOST_PROCESSES 8

static void
rank_free (gpointer data)
{
  CliRank *rank = data;

  g_clear_pointer (&rank->looked, g_mapped_file_unref);
  g_clear_pointer (&rank->answered, g_mapped_file_unref);
  g_clear_pointer (&rank->alike, g_ptr_array_unref);
  g_free (rank->path);
  g_free (rank);
}

const CliRankLook *
cli_rank_look (const CliRank *rank)
{
  return (const CliRankLook *) g_mapped_file_get_contents (rank->looked);
}

const CliRankAnswer *
cli_rank_answer (const CliRank *rank)
{
  return rank->answered != NULL
             ? (const CliRankAnswer *) g_mapped_file_get_contents (rank->answered)
             : NULL;
}

/* When memory is free again, and what the driver gave, differs from rank to rank of equal
 * programs: neither is hashed. */
static size_t
hash_requests (const TesseraTrace *trace, guint64 *hashes)
{
  guint64 hash = TESSERA_HASH_START;
  size_t n = 0;

  for (size_t i = 0; i < trace->start.n_blocks; i++)
    hash += tessera_hash_number (TESSERA_HASH_START, trace->start.blocks[i].size_bytes);
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];
      const guint64 request[] = { event->action, event->size_bytes, event->stream,
                                  event->pool };

      if (event->action != TESSERA_ALLOC && event->action != TESSERA_FREE_REQUESTED &&
          event->action != TESSERA_OOM)
        continue;
      hash = tessera_hash_numbers (hash, request, G_N_ELEMENTS (request));
      hashes[n++] = hash;
    }
  return n;
}

static void
look (CliStudy *study, FILE *to)
{
  g_autofree guint64 *hashes = g_new (guint64, study->trace->n_events + 1);
  CliRankLook seen = {
    .peak_live_bytes = study->layout->peak_live_bytes,
    .peak_reserved_bytes = study->layout->peak_reserved_bytes,
    .rank = tessera_trace_get_number (study->trace, "rank"),
    .world = tessera_trace_get_number (study->trace, "world"),
    .n_failures = study->layout->n_ooms,
    .n_requests = hash_requests (study->trace, hashes),
  };
  const char *topology = tessera_trace_get_meta (study->trace, "topology");

  g_strlcpy (seen.topology, topology != NULL ? topology : "", sizeof seen.topology);

  fwrite (&seen, sizeof seen, 1, to);
  fwrite (hashes, sizeof *hashes, seen.n_requests, to);
}

char *
cli_rank_plan_path (const CliRank *rank, const char *plans)
{
  g_autofree char *name = g_strdup_printf ("rank-%" G_GUINT64_FORMAT ".tsp", rank->rank);

  return g_build_filename (plans, name, NULL);
}

static void
write_plans (CliStudy *study, const CliRank *rank, const char *plans)
{
  TesseraPlan *plan = study->plan;

  for (guint i = 0; i < rank->alike->len; i++)
    {
      const CliRank *member = rank->alike->pdata[i];
      g_autofree char *path = cli_rank_plan_path (member, plans);

      /* A run declines what was made for another rank. */
      if (member->rank < plan->world)
        plan->rank = (uint32_t) member->rank;
      cli_must (tessera_plan_save (plan, path, cli_error ()));
    }
}

/* What is asked of a file. */
typedef struct
{
  gboolean is_answered; /* else looked at */
  gboolean is_fast;
  const char *plans;
  CliRankPrepare prepare;
  gconstpointer user;
  guint n_at_once;
} Work;

static void
answer (CliStudy *study, const CliRank *rank, const Work *work, FILE *to)
{
  CliRankAnswer found = { 0 };

  if (!work->is_fast || work->plans != NULL)
    cli_study_plan_as_edited (study);
  if (!work->is_fast)
    cli_study_needs (study);
  if (work->plans != NULL)
    {
      write_plans (study, rank, work->plans);
      if (study->plan->followable == TESSERA_FOLLOWABLE_NO && study->lengths == NULL)
        g_strlcpy (found.not_followed,
                   study->plan->follow_reason != NULL ? study->plan->follow_reason
                                                      : "it is not advised",
                   sizeof found.not_followed);
    }
  found.verdict = cli_study_verdict (study);
  found.pytorch_bytes = tessera_needs_pytorch (&study->needs);
  found.across_bytes = study->needs.across_bytes;
  memcpy (found.need, study->need, sizeof found.need);
  fwrite (&found, sizeof found, 1, to);
}

static void
start (CliRank *rank, const Work *work)
{
  rank->result = memfd_create ("rank", MFD_CLOEXEC);
  rank->pid = rank->result >= 0 ? fork () : -1;
  if (rank->pid < 0)
    cli_fail_with ("no process can be started for %s: %s", rank->path,
                   g_strerror (errno));
  if (rank->pid > 0)
    return;
  cli_process_end_silently ();
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  g_auto (CliStudy) study = { 0 };
  FILE *to = fdopen (rank->result, "w");
  if (to == NULL)
    _exit (CLI_FAILED);
  if (work->prepare != NULL)
    work->prepare (rank, work->user);
  cli_study_open (&study, rank->path);
  if (work->is_answered)
    {
      cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
      answer (&study, rank, work, to);
    }
  else
    {
      cli_study_live (&study);
      look (&study, to);
    }
  _exit (!ferror (to) && fclose (to) == 0 ? CLI_DONE : CLI_FAILED);
}

/* Returns: what was found; NULL: it failed, and that was said. */
static GMappedFile *
finish (const CliRank *rank)
{
  GMappedFile *found = NULL;
  int status = 0;

  while (waitpid (rank->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  if (WIFSIGNALED (status))
    fprintf (stderr, "tessera: %s is left out: its process was ended by signal %d (%s)\n",
             cli_shown (rank->path), WTERMSIG (status), g_strsignal (WTERMSIG (status)));
  else if (WEXITSTATUS (status) == CLI_DONE)
    found = g_mapped_file_new_from_fd (rank->result, FALSE, NULL);
  close (rank->result);
  return found;
}

/* Returns: how many failed */
static guint
work_on (const GPtrArray *ranks, const Work *work)
{
  const guint n_at_once = CLAMP (
      work->n_at_once > 0 ? work->n_at_once : g_get_num_processors (), 1, MOST_PROCESSES);
  guint n_failed = 0;

  for (guint i = 0; i < ranks->len + n_at_once; i++)
    {
      if (i >= n_at_once)
        {
          CliRank *rank = ranks->pdata[i - n_at_once];
          GMappedFile **found = work->is_answered ? &rank->answered : &rank->looked;

          *found = finish (rank);
          n_failed += *found == NULL;
        }
      if (i < ranks->len)
        start (ranks->pdata[i], work);
    }
  return n_failed;
}

/* What stands in the brackets of the first alternative of @pattern that @name has, or -1. */
static gint64
number_in (const char *name, const char *pattern)
{
  g_autoptr (GMatchInfo) match = NULL;
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_CASELESS, 0, NULL);

  if (!g_regex_match (regex, name, 0, &match))
    return -1;
  g_autofree char *number = g_match_info_fetch (match, 1);
  return (gint64) g_ascii_strtoull (number, NULL, 10);
}

/* The rank that the name tells ("run-rank3.tsr", "fsdp-r3of16.pickle.gz"), or the
 * recording, or a number at the name's end ("run-3.tsr"); -1: nothing does. */
static gint64
find_rank (const CliRank *rank)
{
  const CliRankLook *seen = cli_rank_look (rank);
  g_autofree char *name = g_filename_display_basename (rank->path);
  const gint64 found = number_in (name, "^(?|.*?rank[-_.=]?([0-9]{1,6})(?![0-9])|"
                                        ".*?(?<![a-z0-9])r[-_.=]?([0-9]{1,6})(?![0-9]))");

  if (found >= 0)
    return found;
  if (seen->world > 1 && seen->rank < seen->world)
    return (gint64) MIN (seen->rank, G_MAXUINT32 - 1);
  return number_in (name, "(?<![a-z0-9])([0-9]{1,6})(\\.[a-z]+)+$");
}

static int
compare_ranks (const void *a, const void *b)
{
  const CliRank *x = *(CliRank *const *) a, *y = *(CliRank *const *) b;

  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Where two files tell the same rank (of two nodes, say), the second gets the next number
 * that is nobody's. */
static void
number_ranks (GPtrArray *ranks)
{
  g_autoptr (GHashTable) taken = g_hash_table_new (NULL, NULL);
  guint64 next = 0;

  for (guint i = 0; i < ranks->len; i++)
    {
      CliRank *rank = ranks->pdata[i];
      const gint64 found = find_rank (rank);

      rank->is_numbered =
          found < 0 || !g_hash_table_add (taken, GSIZE_TO_POINTER (found));
      rank->rank = (guint64) found;
    }
  for (guint i = 0; i < ranks->len; i++)
    {
      CliRank *rank = ranks->pdata[i];

      if (!rank->is_numbered)
        continue;
      while (!g_hash_table_add (taken, GSIZE_TO_POINTER (next)))
        next++;
      rank->rank = next;
    }
  g_ptr_array_sort (ranks, compare_ranks);
}

/* A job that dies has its ranks recorded for different lengths: they are alike where the
 * shorter recording is how the longer one begins, and no mere piece of it. */
static gboolean
are_alike (const CliRankLook *a, const CliRankLook *b)
{
  const guint64 n = MIN (a->n_requests, b->n_requests);

  if (n == 0)
    return a->n_requests == b->n_requests;
  return n >= MAX (a->n_requests, b->n_requests) / 2 &&
         a->hashes[n - 1] == b->hashes[n - 1];
}

static gboolean
is_fuller (const CliRankLook *a, const CliRankLook *b)
{
  return a->n_requests != b->n_requests ? a->n_requests > b->n_requests
                                        : a->peak_reserved_bytes > b->peak_reserved_bytes;
}

/* Where @rank is alike, it goes to those of that kind, else it is a new one. */
static void
add_to_kinds (GPtrArray *kinds, CliRank *rank)
{
  guint k = 0;

  while (k < kinds->len &&
         !are_alike (cli_rank_look (rank), cli_rank_look (kinds->pdata[k])))
    k++;
  if (k == kinds->len)
    {
      rank->alike = g_ptr_array_new ();
      g_ptr_array_add (kinds, rank);
    }
  CliRank *fullest = kinds->pdata[k];
  if (is_fuller (cli_rank_look (rank), cli_rank_look (fullest)))
    {
      rank->alike = g_steal_pointer (&fullest->alike);
      kinds->pdata[k] = fullest = rank;
    }
  g_ptr_array_add (fullest->alike, rank);
}

static int
compare_kinds (const void *a, const void *b)
{
  const CliRankLook *x = cli_rank_look (*(CliRank *const *) a);
  const CliRankLook *y = cli_rank_look (*(CliRank *const *) b);
  const guint64 pairs[][2] = { { x->n_failures > 0, y->n_failures > 0 },
                               { x->peak_live_bytes, y->peak_live_bytes },
                               { x->peak_reserved_bytes, y->peak_reserved_bytes } };

  for (size_t i = 0; i < G_N_ELEMENTS (pairs); i++)
    if (pairs[i][0] != pairs[i][1])
      return pairs[i][0] > pairs[i][1] ? -1 : 1;
  return compare_ranks (a, b);
}

void
cli_ranks_add (CliRanks *ranks, char *path, guint64 number)
{
  CliRank *rank = g_new0 (CliRank, 1);

  if (ranks->ranks == NULL)
    ranks->ranks = g_ptr_array_new_with_free_func (rank_free);
  rank->path = path;
  rank->rank = number;
  g_ptr_array_add (ranks->ranks, rank);
}

/* Those between two of a class that are alike. */
static void
take_equal_ranks (CliRanks *ranks)
{
  const CliTopology *topology = &ranks->topology;
  const guint n_recorded = ranks->ranks->len;
  g_autofree const CliRank **before = g_new0 (const CliRank *, topology->n_classes);

  for (guint i = 0; i < n_recorded; i++)
    {
      const CliRank *rank = ranks->ranks->pdata[i];
      const guint64 class = cli_topology_class (topology, rank->rank);
      const CliRank *other = before[class];

      before[class] = rank;
      if (other == NULL || other->kind != rank->kind)
        continue;
      for (guint64 number = other->rank + 1; number < MIN (rank->rank, topology->world);
           number++)
        if (cli_topology_class (topology, number) == class)
          {
            CliRank *taken = g_new0 (CliRank, 1);

            *taken = (CliRank){ .path = g_strdup (rank->path),
                                .rank = number,
                                .is_taken = TRUE,
                                .kind = rank->kind,
                                .looked = g_mapped_file_ref (rank->looked) };
            g_ptr_array_add (ranks->ranks, taken);
            g_ptr_array_add (rank->kind->alike, taken);
          }
    }
  g_ptr_array_sort (ranks->ranks, compare_ranks);
}

void
cli_ranks_fold (CliRanks *ranks)
{
  g_clear_pointer (&ranks->kinds, g_ptr_array_unref);
  ranks->kinds = g_ptr_array_new ();
  for (guint i = ranks->ranks->len; i-- > 0;)
    {
      CliRank *rank = ranks->ranks->pdata[i];

      g_clear_pointer (&rank->alike, g_ptr_array_unref);
      if (rank->is_taken)
        g_ptr_array_remove_index (ranks->ranks, i);
    }
  number_ranks (ranks->ranks);
  for (guint i = 0; i < ranks->ranks->len; i++)
    add_to_kinds (ranks->kinds, ranks->ranks->pdata[i]);
  g_ptr_array_sort (ranks->kinds, compare_kinds);
  for (guint i = 0; i < ranks->kinds->len; i++)
    {
      CliRank *kind = ranks->kinds->pdata[i];

      for (guint j = 0; j < kind->alike->len; j++)
        ((CliRank *) kind->alike->pdata[j])->kind = kind;
    }
  if (ranks->takes_equal)
    take_equal_ranks (ranks);
  for (guint i = 0; i < ranks->kinds->len; i++)
    g_ptr_array_sort (((CliRank *) ranks->kinds->pdata[i])->alike, compare_ranks);
}

void
cli_ranks_look (CliRanks *ranks,
                guint n_at_once,
                CliRankPrepare prepare,
                gconstpointer user)
{
  const Work work = { .prepare = prepare, .user = user, .n_at_once = n_at_once };
  g_autoptr (GPtrArray) fresh = g_ptr_array_new ();

  for (guint i = 0; i < ranks->ranks->len; i++)
    if (((CliRank *) ranks->ranks->pdata[i])->looked == NULL)
      g_ptr_array_add (fresh, ranks->ranks->pdata[i]);
  ranks->n_failed += work_on (fresh, &work);
  for (guint i = ranks->ranks->len; i-- > 0;)
    {
      const CliRank *rank = ranks->ranks->pdata[i];

      if (rank->looked == NULL)
        g_ptr_array_remove_index (ranks->ranks, i);
      else
        ranks->world = MAX (ranks->world, cli_rank_look (rank)->world);
    }
}

void
cli_ranks_answer (CliRanks *ranks, gboolean is_fast, const char *plans)
{
  const Work work = { .is_answered = TRUE, .is_fast = is_fast, .plans = plans };

  ranks->n_failed += work_on (ranks->kinds, &work);
}

void
cli_ranks_clear (CliRanks *ranks)
{
  g_clear_pointer (&ranks->kinds, g_ptr_array_unref);
  g_clear_pointer (&ranks->ranks, g_ptr_array_unref);
}

/* ---- How ranks are laid out ---- */

#define MOST_RANKS (1 << 20)

static gboolean
is_unlike (const CliAxis *axis)
{
  return strchr ("pte", axis->name[0]) != NULL;
}

static gboolean
read_axis (CliTopology *topology, const char *word)
{
  CliAxis *axis = &topology->axes[topology->n];

  if (topology->n == G_N_ELEMENTS (topology->axes) ||
      sscanf (word, "%15[a-z_0-9]=%7" G_GUINT64_FORMAT, axis->name, &axis->size) != 2 ||
      axis->size == 0 || (topology->world *= axis->size) > MOST_RANKS)
    return FALSE;
  topology->n_classes *= is_unlike (axis) ? axis->size : 1;
  g_snprintf (topology->text + strlen (topology->text),
              sizeof topology->text - strlen (topology->text), "%s%s=%" G_GUINT64_FORMAT,
              topology->n > 0 ? " " : "", axis->name, axis->size);
  topology->n++;
  return TRUE;
}

gboolean
cli_topology_read (CliTopology *topology, const char *text)
{
  g_auto (GStrv) words = g_regex_split_simple ("(?:#.*|[\\s,])+", text, G_REGEX_RAW, 0);
  guint64 stride = 1;

  *topology = (CliTopology){ .world = 1, .n_classes = 1 };
  for (char **word = words; word != NULL && *word != NULL; word++)
    if (**word != '\0' && !read_axis (topology, *word))
      {
        *topology = (CliTopology){ 0 };
        return FALSE;
      }
  for (guint i = topology->n; i-- > 0; stride *= topology->axes[i].size)
    topology->axes[i].stride = stride;
  return topology->n > 0;
}

guint64
cli_topology_class (const CliTopology *topology, guint64 rank)
{
  guint64 class = 0;

  for (guint i = 0; i < topology->n; i++)
    if (is_unlike (&topology->axes[i]))
      class = class * topology->axes[i].size +
              rank / topology->axes[i].stride % topology->axes[i].size;
  return class;
}

char *
cli_topology_describe (const CliTopology *topology, const GArray *ranks)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < topology->n; i++)
    {
      const CliAxis *axis = &topology->axes[i];
      g_autofree guint8 *is_here = g_new0 (guint8, axis->size);
      g_autoptr (GArray) places = g_array_new (FALSE, FALSE, sizeof (guint64));

      for (guint j = 0; j < ranks->len; j++)
        is_here[g_array_index (ranks, guint64, j) / axis->stride % axis->size] = 1;
      for (guint64 place = 0; place < axis->size; place++)
        if (is_here[place])
          g_array_append_val (places, place);
      if (places->len == axis->size)
        continue;
      g_autofree char *listed = tessera_list_numbers (places, ", ");
      g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "",
                              axis->name[0] != 'p' ? axis->name
                              : places->len > 1    ? "stages"
                                                   : "stage",
                              listed);
    }
  return g_string_free (text, FALSE);
}
