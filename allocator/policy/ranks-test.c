/*
 * Ranks that wait for each other, each under a plan that passes memory between streams:
 * that a barrier never makes a job hang.
 *
 * A rank's host gives its streams work in order; a device does what lies first on each of its
 * streams as soon as it can. A meeting is done when all its ranks have come to it. Ranks take
 * turns by chance, and one that looks whether work ends lets the others go on until nobody
 * can: only then it has looked in vain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "allocator/policy.h"
#include "tests/allocator/program.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  MOST_RANKS = 4,
  N_STREAMS = 3,
  N_STEPS = 5,
  N_SLOTS = 24,
  MOST_MEETINGS = N_STEPS * 64,
  N_PROGRAMS = 300,
};

typedef enum
{
  KERNEL,
  WAIT, /* for what a mark stands for */
  MEET, /* @number: of the meeting */
  SPIN, /* until the flag @number is set ... */
  SET   /* ... by this */
} WorkKind;

/* How much each stream was given. */
typedef struct
{
  guint n_given[N_STREAMS];
} Moment;

typedef struct
{
  WorkKind kind;
  guint number;
  Moment moment;
} Work;

typedef struct Job Job;

typedef struct
{
  TesseraVirtual device; /* must be first */
  Job *job;
  guint number;
  GArray *streams[N_STREAMS]; /* Work */
  guint n_done[N_STREAMS];
  bool flags[N_STEPS];
  TesseraPolicy *policy;
  MadePlan *plan;
  const Moment *looks_at; /* NULL: its host goes on */
  bool gives_up, is_at_end, is_over;
} Rank;

struct Job
{
  GRand *rand;
  guint n_ranks, turn;
  Rank ranks[MOST_RANKS];
  guint come[MOST_MEETINGS], members[MOST_MEETINGS]; /* a bit for each rank */
  void (*program) (Rank *rank);
  guint32 seed; /* of what all ranks do */
  bool trusts;  /* barriers are not tried */
  bool hangs;
  guint n_given_up, n_barriers;
  GMutex lock;
  GCond changed;
};

/* ---- What devices do ---- */

static bool
is_done (const Rank *rank, const Moment *moment)
{
  for (guint s = 0; s < N_STREAMS; s++)
    if (rank->n_done[s] < moment->n_given[s])
      return false;
  return true;
}

static bool
can_end (Rank *rank, const Work *work)
{
  Job *job = rank->job;

  switch (work->kind)
    {
    case WAIT:
      return is_done (rank, &work->moment);
    case MEET:
      job->come[work->number] |= 1u << rank->number;
      return job->come[work->number] == job->members[work->number];
    case SPIN:
      return rank->flags[work->number];
    case SET:
      rank->flags[work->number] = true;
      return true;
    default:
      return true;
    }
}

static void
advance (Job *job)
{
  for (bool has_moved = true; has_moved;)
    {
      has_moved = false;
      for (guint r = 0; r < job->n_ranks; r++)
        for (guint s = 0; s < N_STREAMS; s++)
          {
            Rank *rank = &job->ranks[r];
            const GArray *stream = rank->streams[s];

            while (rank->n_done[s] < stream->len &&
                   can_end (rank, &g_array_index (stream, Work, rank->n_done[s])))
              {
                rank->n_done[s]++;
                has_moved = true;
              }
          }
    }
}

/* ---- Turns ---- */

/* Who goes on: by chance one of those who can, else one that has looked in vain. A host that
 * waits for the end of its program looks for ever. */
static void
pass_turn (Job *job)
{
  guint able[MOST_RANKS], n_able = 0, n_over = 0;

  advance (job);
  for (guint r = 0; r < job->n_ranks; r++)
    {
      const Rank *rank = &job->ranks[r];

      n_over += rank->is_over;
      if (!rank->is_over &&
          (rank->looks_at == NULL || rank->gives_up || is_done (rank, rank->looks_at)))
        able[n_able++] = r;
    }
  for (guint r = 0; r < job->n_ranks && n_able == 0; r++)
    if (!job->ranks[r].is_over && !job->ranks[r].is_at_end)
      {
        job->ranks[r].gives_up = true;
        able[n_able++] = r;
      }
  job->hangs = job->hangs || (n_able == 0 && n_over < job->n_ranks);
  if (n_able > 0)
    job->turn = able[g_rand_int_range (job->rand, 0, (gint32) n_able)];
  g_cond_broadcast (&job->changed);
}

static void
take_turns (Rank *rank)
{
  Job *job = rank->job;

  pass_turn (job);
  while (job->turn != rank->number && !job->hangs)
    g_cond_wait (&job->changed, &job->lock);
}

/* Returns: whether @moment is done. */
static bool
look (Rank *rank, const Moment *moment)
{
  rank->looks_at = moment;
  take_turns (rank);
  rank->looks_at = NULL;
  bool has_given_up = rank->gives_up || rank->job->hangs;
  rank->gives_up = false;
  return !has_given_up;
}

/* ---- What a policy asks of its device ---- */

static Moment
now (const Rank *rank)
{
  Moment moment;

  for (guint s = 0; s < N_STREAMS; s++)
    moment.n_given[s] = rank->streams[s]->len;
  return moment;
}

static void
give (Rank *rank, uint32_t stream, WorkKind kind, guint number, const Moment *moment)
{
  const Moment none = { { 0 } };
  const Work work = { kind, number, moment != NULL ? *moment : none };

  g_array_append_val (rank->streams[stream], work);
}

static void *
mark (TesseraDevice *device, uint32_t stream)
{
  const Moment moment = now ((const Rank *) device);

  return g_memdup2 (&moment, sizeof moment);
}

static void
forget_mark (TesseraDevice *device, void *mark)
{
  g_free (mark);
}

static bool
ends (TesseraDevice *device, void *mark, uint64_t within_ns)
{
  Rank *rank = (Rank *) device;

  if (rank->job->trusts || look (rank, mark))
    return true;
  rank->job->n_given_up++;
  return false;
}

static bool
order (TesseraDevice *device, uint32_t stream, void *mark)
{
  Rank *rank = (Rank *) device;

  give (rank, stream, WAIT, 0, mark);
  rank->job->n_barriers++;
  return true;
}

/* ---- Jobs ---- */

/* Slots of all streams in turn, in a few places that come again and again: how many differs
 * from rank to rank, and so does which stream waits for which. */
static void
open_rank (Job *job, guint number, guint n_places)
{
  Rank *rank = &job->ranks[number];

  *rank = (Rank){ .job = job, .number = number, .plan = g_new0 (MadePlan, 1) };
  for (guint s = 0; s < N_STREAMS; s++)
    rank->streams[s] = g_array_new (FALSE, FALSE, sizeof (Work));
  for (guint i = 0; i < N_SLOTS; i++)
    made_plan_add_slot (rank->plan, 4 * MIB - 512 * i, i % N_STREAMS,
                        i % n_places * 4 * MIB);
  made_plan_finish (rank->plan, n_places * 4 * MIB);
  rank->plan->plan.crosses_streams = 1;
  tessera_virtual_init (&rank->device, 1000 * MIB);
  rank->device.device.mark = mark;
  rank->device.device.forget_mark = forget_mark;
  rank->device.device.ends = ends;
  rank->device.device.order = order;
  const TesseraPolicyOptions options = made_plan_options (rank->plan);
  WORKS (error, tessera_policy_new (&options, &rank->device.device, NULL, &error,
                                    &rank->policy));
}

static gpointer
run_rank (gpointer user)
{
  Rank *rank = user;
  Job *job = rank->job;

  g_mutex_lock (&job->lock);
  while (job->turn != rank->number && !job->hangs)
    g_cond_wait (&job->changed, &job->lock);
  job->program (rank);
  const Moment all = now (rank);
  rank->is_at_end = true;
  look (rank, &all);
  rank->is_over = true;
  pass_turn (job);
  g_mutex_unlock (&job->lock);
  return NULL;
}

static void
run_job (Job *job)
{
  GThread *threads[MOST_RANKS];

  for (guint r = 0; r < job->n_ranks; r++)
    open_rank (job, r, N_STREAMS + 1 + r % 2);
  for (guint r = 0; r < job->n_ranks; r++)
    threads[r] = g_thread_new ("rank", run_rank, &job->ranks[r]);
  for (guint r = 0; r < job->n_ranks; r++)
    g_thread_join (threads[r]);
  for (guint r = 0; r < job->n_ranks; r++)
    {
      Rank *rank = &job->ranks[r];

      tessera_policy_free (rank->policy);
      g_free (rank->plan);
      for (guint s = 0; s < N_STREAMS; s++)
        g_array_unref (rank->streams[s]);
    }
}

/* Takes the slot's place, after the one before the last gave its own back. Returns: whether it
 * is that of the plan. */
static bool
take (Rank *rank, guint slot, TesseraPolicyGrant *grants)
{
  const TesseraSlot *like = &rank->plan->slots[slot];

  if (slot >= 2)
    program_give_back (rank->policy, grants[slot - 2]);
  take_turns (rank);
  grants[slot] = program_take (rank->policy, like->size_bytes, like->stream);
  return grants[slot].is_hit;
}

static void
end_step (Rank *rank, const TesseraPolicyGrant *grants)
{
  program_give_back (rank->policy, grants[N_SLOTS - 2]);
  program_give_back (rank->policy, grants[N_SLOTS - 1]);
  tessera_policy_step (rank->policy);
}

static void
meet (Rank *rank, uint32_t stream, guint number, guint members)
{
  rank->job->members[number] = members;
  if (members & 1u << rank->number)
    give (rank, stream, MEET, number, NULL);
}

/* All ranks give their streams the same work in the same order: kernels, meetings of all or of
 * two, and waits of one stream for another. */
static void
work_in_order (Rank *rank)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (rank->job->seed);
  const guint n_ranks = rank->job->n_ranks;
  TesseraPolicyGrant grants[N_SLOTS];
  guint n_meetings = 0;

  for (guint step = 0; step < N_STEPS; step++)
    {
      for (guint i = 0; i < N_SLOTS && !rank->job->hangs; i++)
        {
          const uint32_t stream = i % N_STREAMS;
          const guint other = (guint) g_rand_int_range (rand, 0, N_STREAMS);
          const guint first = (guint) g_rand_int_range (rand, 0, (gint32) n_ranks);
          Moment moment = { { 0 } };

          g_assert_true (take (rank, i, grants) || rank->job->hangs);
          moment.n_given[other] = rank->streams[other]->len;
          if (g_rand_boolean (rand))
            give (rank, stream, WAIT, 0, &moment);
          give (rank, stream, KERNEL, 0, NULL);
          if (g_rand_boolean (rand))
            meet (rank, stream, n_meetings++,
                  g_rand_boolean (rand) ? (1u << n_ranks) - 1
                                        : 1u << first | 1u << (first + 1) % n_ranks);
        }
      end_step (rank, grants);
    }
}

/* Each rank posts what it receives before it sends, on streams of their own. */
static void
receive_early (Rank *rank)
{
  TesseraPolicyGrant grants[N_SLOTS];

  for (guint step = 0; step < N_STEPS; step++)
    {
      meet (rank, 2, 2 * step + rank->number, 3);
      for (guint i = 0; i < N_SLOTS && !rank->job->hangs; i++)
        {
          take (rank, i, grants);
          give (rank, i % N_STREAMS, KERNEL, 0, NULL);
        }
      meet (rank, 1, 2 * step + !rank->number, 3);
      end_step (rank, grants);
    }
}

/* A kernel spins until another one, on another stream, sets its flag. */
static void
spin (Rank *rank)
{
  TesseraPolicyGrant grants[N_SLOTS];

  for (guint step = 0; step < N_STEPS; step++)
    {
      give (rank, 0, SPIN, step, NULL);
      for (guint i = 0; i < N_SLOTS && !rank->job->hangs; i++)
        {
          take (rank, i, grants);
          give (rank, i % N_STREAMS, KERNEL, 0, NULL);
        }
      give (rank, 1, SET, step, NULL);
      end_step (rank, grants);
    }
}

static void
run (Job *job, void (*program) (Rank *rank), guint n_ranks, guint32 seed)
{
  job->program = program;
  job->n_ranks = n_ranks;
  job->seed = seed;
  job->rand = g_rand_new_with_seed (seed + 1);
  run_job (job);
  g_rand_free (job->rand);
}

/* Whether barriers are tried or not. */
static void
test_in_order (void)
{
  guint n_barriers = 0;

  for (guint32 seed = 0; seed < N_PROGRAMS; seed++)
    {
      Job job = { .trusts = seed % 4 == 0 };

      run (&job, work_in_order, 2 + seed % (MOST_RANKS - 1), seed);
      g_assert_false (job.hangs);
      g_assert_cmpuint (job.n_given_up, ==, 0);
      n_barriers += job.n_barriers;
    }
  g_test_message ("%u jobs, %u barriers", N_PROGRAMS, n_barriers);
  g_assert_cmpuint (n_barriers, >, 50 * N_PROGRAMS);
}

/* Barriers that are not tried make these hang, so that those which are tried are given up. */
static void
test_given_up (gconstpointer data)
{
  const bool is_of_ranks = GPOINTER_TO_INT (data);

  for (guint32 seed = 0; seed < 20; seed++)
    for (int trusts = 0; trusts < 2; trusts++)
      {
        Job job = { .trusts = trusts };

        run (&job, is_of_ranks ? receive_early : spin, is_of_ranks ? 2 : 1, seed);
        g_assert_cmpint (job.hangs, ==, trusts);
        g_assert_cmpint (job.n_given_up > 0, ==, !trusts);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ranks/in-order", test_in_order);
  g_test_add_data_func ("/ranks/receives-posted-early", GINT_TO_POINTER (true),
                        test_given_up);
  g_test_add_data_func ("/ranks/kernels-that-spin", GINT_TO_POINTER (false),
                        test_given_up);
  return g_test_run ();
}
