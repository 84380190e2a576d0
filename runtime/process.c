/*
 * Start, stop, fork; the recorder and the devices that exist.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "db/store.h"
#include "runtime/device.h"
#include "runtime/notice.h"
#include "runtime/plan-file.h"
#include "runtime/tessera.h"

/* A thread that was stopped inside of us (an interpreter that ends does that) is not
 * waited for: the trace is then flushed and stays open. */
#define LEAVE_TIMEOUT_MS 2000

static atomic_int state;                                 /* TesseraProcessState */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* opening devices, stopping */
static _Atomic (RuntimeDevice *) devices[TESSERA_MAX_DEVICES]; /* written under lock */
static _Atomic (TesseraRecorder *) recorder;
static atomic_uint n_recorder_users;
static TesseraPlan *plan;     /* to be followed; never freed: a device may use it */
static bool is_plan_taken;    /* by the first device; under lock */
static bool is_plan_followed; /* ... which does follow it */
static TesseraPolicyKind policy;
static char trace_path[sizeof tessera_options.record];

const char *
tessera_version (void)
{
  return TESSERA_VERSION;
}

TesseraProcessState
tessera_process_state (void)
{
  return (TesseraProcessState) atomic_load_explicit (&state, memory_order_acquire);
}

TesseraRecorder *
tessera_recorder_enter (void)
{
  TesseraRecorder *now;

  if (atomic_load_explicit (&recorder, memory_order_relaxed) == NULL)
    return NULL;
  atomic_fetch_add (&n_recorder_users, 1); /* before the load: see tessera_stop() */
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

RuntimeDevice *
tessera_process_known_device (int ordinal)
{
  if (ordinal < 0 || ordinal >= TESSERA_MAX_DEVICES)
    return NULL;
  return atomic_load_explicit (&devices[ordinal], memory_order_acquire);
}

/* A plan is for one device: the first that the process uses. */
static RuntimeDevice *
open_locked (int ordinal, TesseraError *error)
{
  RuntimeDevice *device = tessera_process_known_device (ordinal);
  TesseraRecorder *used;

  if (device != NULL)
    return device;
  used = tessera_recorder_enter ();
  device =
      tessera_device_open (ordinal, policy, is_plan_taken ? NULL : plan, used, error);
  tessera_recorder_leave (used);
  if (device == NULL)
    return NULL;
  is_plan_followed = is_plan_followed || tessera_device_follows (device);
  is_plan_taken = true;
  tessera_marks_tell (device);
  atomic_store_explicit (&devices[ordinal], device, memory_order_release);
  return device;
}

static RuntimeDevice *
open_device (int ordinal, TesseraError *error)
{
  RuntimeDevice *device;

  tessera_marks_lock ();
  pthread_mutex_lock (&lock);
  device = open_locked (ordinal, error);
  pthread_mutex_unlock (&lock);
  tessera_marks_unlock ();
  return device;
}

RuntimeDevice *
tessera_process_device (int ordinal, TesseraError *error)
{
  RuntimeDevice *device = NULL;

  if (tessera_process_state () == TESSERA_PROCESS_NEW)
    tessera_fail (error, TESSERA_REFUSED, "Tessera was not started.");
  else if (tessera_process_state () == TESSERA_PROCESS_FORKED)
    tessera_fail (error, TESSERA_REFUSED, "This is a forked child, which has no device.");
  else if (ordinal < 0 || ordinal >= TESSERA_MAX_DEVICES)
    tessera_fail (error, TESSERA_INVALID, "There is no device %d.", ordinal);
  else
    {
      device = tessera_process_known_device (ordinal);
      if (device == NULL)
        device = open_device (ordinal, error);
    }
  return device;
}

static void
after_fork_in_child (void)
{
  atomic_store (&state, TESSERA_PROCESS_FORKED);
  atomic_store (&recorder, NULL);
  pthread_mutex_init (&lock, NULL);
  tessera_notice_after_fork ();
  tessera_marks_after_fork ();
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
collect_facts (Facts *facts)
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
  add_fact (facts, "alloc_conf", tessera_options.alloc_conf);
  add_fact (facts, "plan_source", base_name (tessera_options.plan));
  add_fact (facts, "plan_digest", facts->plan_digest);
}

static void
open_recorder (void)
{
  Facts facts;
  TesseraRecorderOptions options = {
    .path = trace_path,
    .source = "a live run",
    .ring_events = tessera_options.ring_events,
    .flush_ms = tessera_options.flush_ms,
    .stacks = tessera_options.has_stacks,
  };
  TesseraRecorder *opened = NULL;
  TesseraError error = { 0 };

  collect_facts (&facts);
  options.meta = facts.all;
  options.n_meta = facts.n;
  if (!tessera_options_expand (&tessera_options, tessera_options.record, trace_path,
                               sizeof trace_path))
    tessera_notice ("The path of the trace is too long, so nothing is recorded.");
  else if (tessera_recorder_open (&options, &error, &opened) != TESSERA_OK)
    tessera_notice ("%s; the run goes on unrecorded.", error.text);
  atomic_store (&recorder, opened);
}

static bool
has_driver (void)
{
  /* The process keeps it; PyTorch has it loaded already. */
  void *driver = dlopen ("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

  return (driver != NULL && dlsym (driver, "cuInit") != NULL) ||
         dlsym (RTLD_DEFAULT, "cuInit") != NULL;
}

static void
open_plan (void)
{
  char path[sizeof tessera_options.plan];

  if (*tessera_options.plan == '\0')
    tessera_notice ("No plan was named to follow; expandable rules serve instead.");
  else if (tessera_options_expand (&tessera_options, tessera_options.plan, path,
                                   sizeof path))
    plan = tessera_plan_file_open (&tessera_options, path);
  if (plan == NULL)
    policy = TESSERA_POLICY_EXPANDABLE;
}

int
tessera_start (void)
{
  int result = 0;

  pthread_mutex_lock (&lock);
  if (tessera_process_state () != TESSERA_PROCESS_NEW)
    result = tessera_set_last_error ("Tessera can be started once in a process.");
  else if (!has_driver ())
    result = tessera_set_last_error (
        "There is no CUDA driver (libcuda.so.1): PyTorch's own allocator stays in "
        "place.");
  else
    {
      pthread_atfork (NULL, NULL, after_fork_in_child);
      tessera_options_settle (&tessera_options);
      policy = tessera_options.policy;
      if (policy == TESSERA_POLICY_PLAN)
        open_plan ();
      if (*tessera_options.record != '\0')
        open_recorder ();
      atomic_store_explicit (&state, TESSERA_PROCESS_SERVING, memory_order_release);
    }
  pthread_mutex_unlock (&lock);
  return result;
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

/* All devices stand still while the recorder is taken away, so that the state written is
 * that after the last event. */
static TesseraRecorder *
take_recorder (void)
{
  TesseraRecorder *taken;

  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (devices[i] != NULL)
      tessera_device_lock (devices[i]);
  taken = atomic_exchange (&recorder, NULL);
  for (int i = TESSERA_MAX_DEVICES - 1; i >= 0; i--)
    if (devices[i] != NULL)
      {
        if (taken != NULL)
          tessera_device_record_end (devices[i], taken);
        tessera_device_unlock (devices[i]);
      }
  return taken;
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

/* What was followed, beside what became of it. A process that is killed leaves it out. */
static void
close_recorder (TesseraRecorder *closing)
{
  TesseraError error = { 0 };

  (void) !tessera_recorder_flush (closing, NULL); /* what it met is told here: */
  note_loss (closing);
  tessera_recorder_close (closing);
  if (is_plan_followed &&
      tessera_trace_save_plan (trace_path, plan, &error) != TESSERA_OK)
    tessera_notice ("%s; the trace lacks the plan that was followed.", error.text);
}

/* Also at exit where nobody called it: the trace is then whole. */
__attribute__ ((destructor)) void
tessera_stop (void)
{
  TesseraRecorder *taken;
  TesseraError error = { 0 };

  if (tessera_process_state () != TESSERA_PROCESS_SERVING)
    return;
  pthread_mutex_lock (&lock);
  taken = take_recorder ();
  if (taken != NULL && wait_for_users ())
    close_recorder (taken);
  else if (taken != NULL && tessera_recorder_flush (taken, &error) != TESSERA_OK)
    tessera_notice ("%s", error.text);
  pthread_mutex_unlock (&lock);
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
