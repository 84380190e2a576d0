/*
 * Start, stop, fork; the plan to follow and the devices that exist.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/tessera.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* opening devices, stopping */
static _Atomic (RuntimeDevice *) devices[TESSERA_MAX_DEVICES]; /* written under lock */
static TesseraPlan *plan;  /* to be followed; never freed: a device may use it */
static bool is_plan_taken; /* under lock */
static _Atomic int n_seen; /* devices that PyTorch sees; 0: not told */
static TesseraPolicyKind policy;

const char *
tessera_version (void)
{
  return TESSERA_VERSION;
}

RuntimeDevice *
tessera_process_known_device (int ordinal)
{
  if (ordinal < 0 || ordinal >= TESSERA_MAX_DEVICES)
    return NULL;
  return atomic_load_explicit (&devices[ordinal], memory_order_acquire);
}

void
tessera_process_see_devices (int n_devices)
{
  atomic_store_explicit (&n_seen, n_devices, memory_order_relaxed);
}

/* A plan is for one device: where its trace had several, for that of its number, if there is
 * such a one; else for the first that the process uses. */
static bool
takes_plan (int ordinal)
{
  if (plan == NULL || is_plan_taken)
    return false;
  if (plan->device == (uint32_t) ordinal || plan->device == TESSERA_NONE ||
      plan->device >= (uint32_t) atomic_load_explicit (&n_seen, memory_order_relaxed))
    return true;
  tessera_notice ("The plan is of device %u and followed there; on device %d expandable "
                  "rules serve.",
                  plan->device, ordinal);
  return false;
}

static RuntimeDevice *
open_locked (int ordinal, TesseraError *error)
{
  bool has_plan;
  RuntimeDevice *device = tessera_process_known_device (ordinal);
  TesseraRecorder *used;

  if (device != NULL)
    return device;
  used = tessera_recorder_enter ();
  has_plan = takes_plan (ordinal);
  device = tessera_device_open (ordinal, policy, has_plan ? plan : NULL, used, error);
  tessera_recorder_leave (used);
  if (device == NULL)
    return NULL;
  is_plan_taken |= has_plan;
  tessera_marks_tell (device);
  if (tessera_torch_uses_streams (ordinal))
    tessera_device_see_streams (device);
  atomic_store_explicit (&devices[ordinal], device, memory_order_release);
  return device;
}

void
tessera_process_see_streams (int ordinal)
{
  RuntimeDevice *device;

  /* A device that is being opened either is there after this, or has yet to ask. */
  pthread_mutex_lock (&lock);
  device = tessera_process_known_device (ordinal);
  pthread_mutex_unlock (&lock);
  if (device != NULL)
    tessera_device_see_streams (device);
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
  tessera_process_enter (TESSERA_PROCESS_FORKED);
  tessera_recording_forget ();
  pthread_mutex_init (&lock, NULL);
  tessera_notice_after_fork ();
  tessera_marks_after_fork ();
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

static void
lock_devices (void)
{
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (devices[i] != NULL)
      tessera_device_lock (devices[i]);
}

static void
unlock_devices (void)
{
  for (int i = TESSERA_MAX_DEVICES - 1; i >= 0; i--)
    if (devices[i] != NULL)
      tessera_device_unlock (devices[i]);
}

static void
begin_recording (void)
{
  char path[sizeof tessera_options.record];
  TesseraError error = { 0 };
  TesseraRecorder *opened = NULL;

  if (!tessera_options_expand (&tessera_options, tessera_options.record, path,
                               sizeof path))
    tessera_fail (&error, TESSERA_INVALID, "The path of the trace is too long");
  else
    opened =
        tessera_recording_open (path, tessera_options.stacks != 0, policy, plan, &error);
  if (opened == NULL)
    tessera_notice ("%s; the run goes on unrecorded.", error.text);
  tessera_recording_begin (opened);
}

int
tessera_start (void)
{
  int result = 0;

  pthread_mutex_lock (&lock);
  if (tessera_process_state () != TESSERA_PROCESS_NEW)
    result = tessera_set_last_error ("Tessera can be started once in a process.");
  else if (!has_driver ())
    result = tessera_set_last_error ("There is no CUDA driver (libcuda.so.1).");
  else
    {
      pthread_atfork (NULL, NULL, after_fork_in_child);
      tessera_throw_prepare ();
      tessera_options_settle (&tessera_options);
      policy = tessera_options.policy;
      if (policy == TESSERA_POLICY_PLAN)
        open_plan ();
      if (*tessera_options.record != '\0')
        begin_recording ();
      tessera_process_enter (TESSERA_PROCESS_SERVING);
    }
  pthread_mutex_unlock (&lock);
  return result;
}

/* All devices stand still while a recorder comes, or is taken away, so that the state that
 * it has is that before its first event, or after its last. */
int
tessera_record (const char *path, int stacks)
{
  TesseraRecorder *opened = NULL;
  TesseraError error = { 0 };

  tessera_marks_lock ();
  pthread_mutex_lock (&lock);
  if (tessera_process_state () != TESSERA_PROCESS_SERVING || tessera_is_recording ())
    tessera_fail (&error, TESSERA_REFUSED,
                  "Tessera serves nothing, or records this run already.");
  else
    opened = tessera_recording_open (path, stacks != 0, policy, plan, &error);
  if (opened != NULL)
    {
      lock_devices ();
      for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
        if (devices[i] != NULL)
          tessera_device_record_start (devices[i], opened);
      tessera_marks_record (opened);
      tessera_recording_begin (opened);
      unlock_devices ();
    }
  pthread_mutex_unlock (&lock);
  tessera_marks_unlock ();
  return opened != NULL ? 0 : tessera_set_last_error ("%s", error.text);
}

/* Also at exit where nobody called it: the trace is then whole. */
__attribute__ ((destructor)) void
tessera_stop (void)
{
  TesseraRecorder *taken;

  if (tessera_process_state () != TESSERA_PROCESS_SERVING)
    return;
  pthread_mutex_lock (&lock);
  lock_devices ();
  taken = tessera_recording_take ();
  for (int i = 0; taken != NULL && i < TESSERA_MAX_DEVICES; i++)
    if (devices[i] != NULL)
      tessera_device_record_state (devices[i], taken, true);
  unlock_devices ();
  if (taken != NULL)
    tessera_recording_end (taken);
  pthread_mutex_unlock (&lock);
}
