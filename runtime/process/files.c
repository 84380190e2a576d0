/*
 * The files of the process: the trace that its recorder writes, and the plan that it follows,
 * with the reasons for which that is declined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guest.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "db/size-text.h"
#include "db/store.h"
#include "planner/check.h"
#include "runtime/tessera.h"

/* A thread that was stopped inside of us (an interpreter that ends does that) is not
 * waited for: the trace is then flushed and stays open. */
#define LEAVE_TIMEOUT_MS 2000

static _Atomic (TesseraRecorder *) recorder;
static atomic_uint n_recorder_users;
static char trace_path[sizeof tessera_options.record];

TesseraRecorder *
tessera_recorder_enter (void)
{
  TesseraRecorder *now;

  if (atomic_load_explicit (&recorder, memory_order_relaxed) == NULL)
    return NULL;
  atomic_fetch_add (&n_recorder_users, 1); /* before the load: see wait_for_users() */
  now = atomic_load (&recorder);
  if (now == NULL)
    atomic_fetch_sub (&n_recorder_users, 1);
  return now;
}

void
tessera_recorder_leave (TesseraRecorder *used)
{
  if (used != NULL)
    atomic_fetch_sub (&n_recorder_users, 1);
}

TesseraRecorder *
tessera_recorder_still (TesseraRecorder *used)
{
  return used != NULL ? atomic_load (&recorder) : NULL;
}

static const char *
base_name (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash != NULL ? slash + 1 : path;
}

typedef struct
{
  TesseraMeta all[10];
  size_t n;
  char rank[16], world[16], plan_digest[24];
} Facts;

static void
add_fact (Facts *facts, const char *key, const char *value)
{
  if (*value != '\0')
    facts->all[facts->n++] = (TesseraMeta){ (char *) key, (char *) value };
}

/* What the recording says of itself: see docs/FORMAT.md. */
static void
collect_facts (Facts *facts, TesseraPolicyKind policy, const TesseraPlan *plan)
{
  facts->n = 0;
  facts->plan_digest[0] = '\0';
  snprintf (facts->rank, sizeof facts->rank, "%u", tessera_options.rank);
  snprintf (facts->world, sizeof facts->world, "%u", tessera_options.world);
  if (plan != NULL)
    snprintf (facts->plan_digest, sizeof facts->plan_digest, "%016" PRIx64,
              plan->slot_digest);
  add_fact (facts, "tessera", TESSERA_VERSION);
  add_fact (facts, "policy", tessera_policy_kind_name (policy));
  add_fact (facts, "rank", facts->rank);
  add_fact (facts, "world", facts->world);
  add_fact (facts, "torch", tessera_options.torch);
  if (strverscmp (tessera_options.torch, "2.13") >= 0)
    add_fact (facts, "pytorch", TESSERA_PYTORCH_2_13);
  add_fact (facts, "alloc_conf", tessera_options.alloc_conf);
  add_fact (facts, "plan_source", base_name (tessera_options.plan));
  add_fact (facts, "plan_digest", facts->plan_digest);
}

TesseraRecorder *
tessera_recording_open (const char *path,
                        bool stacks,
                        TesseraPolicyKind policy,
                        const TesseraPlan *plan,
                        TesseraError *error)
{
  Facts facts;
  TesseraRecorderOptions options = {
    .path = trace_path,
    .overwrites = tessera_options.overwrites,
    .source = "a live run",
    .ring_events = tessera_options.ring_events,
    .flush_ms = tessera_options.flush_ms,
    .stacks = stacks,
  };
  TesseraRecorder *opened = NULL;

  collect_facts (&facts, policy, plan);
  options.meta = facts.all;
  options.n_meta = facts.n;
  if (snprintf (trace_path, sizeof trace_path, "%s", path) >= (int) sizeof trace_path)
    tessera_fail (error, TESSERA_INVALID, "The path of the trace is too long");
  else
    (void) !tessera_recorder_open (&options, error, &opened);
  return opened;
}

void
tessera_recording_begin (TesseraRecorder *opened)
{
  atomic_store (&recorder, opened);
}

TesseraRecorder *
tessera_recording_take (void)
{
  return atomic_exchange (&recorder, NULL);
}

void
tessera_recording_forget (void)
{
  atomic_store (&recorder, NULL);
}

/* Whether nobody is left who entered before the recorder was taken away. */
static bool
wait_for_users (void)
{
  const struct timespec pause = { .tv_nsec = 1000000 };

  for (int waited_ms = 0; atomic_load (&n_recorder_users) != 0; waited_ms++)
    {
      if (waited_ms == LEAVE_TIMEOUT_MS)
        return false;
      nanosleep (&pause, NULL);
    }
  return true;
}

static void
note_loss (TesseraRecorder *closing)
{
  TesseraRecorderStats stats;

  tessera_recorder_get_stats (closing, &stats);
  if (stats.has_failed)
    tessera_notice ("%s; recording ended there.", stats.error.text);
  else if (stats.n_lost != 0)
    tessera_notice ("The trace lacks %" PRIu64 " events of %" PRIu64
                    ": the ring was full; a larger ring_events holds them.",
                    stats.n_lost, stats.n_events + stats.n_lost);
}

void
tessera_recording_end (TesseraRecorder *taken)
{
  TesseraError error = { 0 };

  if (wait_for_users ())
    {
      (void) !tessera_recorder_flush (taken, NULL); /* what it met is told here: */
      note_loss (taken);
      tessera_recorder_close (taken);
    }
  else if (tessera_recorder_flush (taken, &error) != TESSERA_OK)
    tessera_notice ("%s", error.text);
}

int
tessera_is_recording (void)
{
  TesseraRecorder *used = tessera_recorder_enter ();

  tessera_recorder_leave (used);
  return used != NULL;
}

const char *
tessera_trace_path (void)
{
  return tessera_is_recording () ? trace_path : NULL;
}

int
tessera_flush (void)
{
  TesseraRecorder *used = tessera_recorder_enter ();
  TesseraError error = { 0 };
  int result = 0;

  if (used != NULL && tessera_recorder_flush (used, &error) != TESSERA_OK)
    result = tessera_set_last_error ("%s", error.text);
  tessera_recorder_leave (used);
  return result;
}

/* Two cards of one kind do not report the same memory to the byte. */
#define DEVICE_TOLERANCE 16 /* one part in so many */

#define INSTEAD "expandable rules serve instead"

/* What the plan's trace did not tell is not held against it. */
static bool
is_for_this_run (const TesseraOptions *options, const TesseraPlan *plan, const char *path)
{
  if (plan->world != 0 && (plan->world != options->world || plan->rank != options->rank))
    tessera_notice ("The plan %s is not followed, " INSTEAD
                    ": it was made for rank %u of "
                    "%u, and this is rank %u of %u.",
                    path, plan->rank, plan->world, options->rank, options->world);
  else if (plan->torch != NULL && *options->torch != '\0' &&
           strcmp (plan->torch, options->torch) != 0)
    tessera_notice ("The plan %s is not followed, " INSTEAD ": it was made under PyTorch "
                    "%s, and this is %s.",
                    path, plan->torch, options->torch);
  else
    return true;
  return false;
}

TesseraPlan *
tessera_plan_file_open (const TesseraOptions *options, const char *path)
{
  TesseraPlan *plan = NULL;
  TesseraError error = { 0 };
  TesseraLaw law;

  if (tessera_plan_load (path, &error, &plan) != TESSERA_OK)
    tessera_notice ("%s; " INSTEAD ".", error.text);
  else if (tessera_check_plan (plan, NULL, &law, &error) != TESSERA_OK ||
           (plan->lengths != NULL &&
            tessera_check_lengths (plan->lengths, &law, &error) != TESSERA_OK))
    tessera_notice ("The plan %s is refused by the checker, " INSTEAD ": %s.", path,
                    error.text);
  else if (is_for_this_run (options, plan, path))
    return plan;
  tessera_plan_free (plan);
  return NULL;
}

bool
tessera_plan_file_suits (const TesseraPlan *plan, int ordinal, uint64_t device_bytes)
{
  if (!tessera_torch_tells_streams ())
    {
      tessera_notice ("The plan is not followed on device %d, " INSTEAD ": PyTorch does "
                      "not tell which streams use a block (no record_stream hook).",
                      ordinal);
      return false;
    }
  if (plan->device_bytes != 0 && device_bytes != 0 &&
      (plan->device_bytes > device_bytes + device_bytes / DEVICE_TOLERANCE ||
       device_bytes > plan->device_bytes + plan->device_bytes / DEVICE_TOLERANCE))
    {
      tessera_notice (
          "The plan is not followed on device %d, " INSTEAD ": it was made for "
          "a device of %s, and this one has %s.",
          ordinal, TESSERA_SIZE (plan->device_bytes), TESSERA_SIZE (device_bytes));
      return false;
    }
  return true;
}
