/*
 * Steps, phases and modules: told to the policies, recorded as ranges.
 *
 * Threads without modules of their own (autograd's, in backward) have theirs asked of Python
 * before an allocation is recorded; as long as the answer stays the same one range is open for
 * the thread. Steps and phases close all such ranges: a thread that has fallen asleep is in
 * none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/device.h"
#include "runtime/tessera.h"

/* Modules that Python names. */

enum
{
  NAME_BYTES = 256,
  MAX_DEPTH = 64,  /* what is nested deeper is counted, not told */
  MAX_ASKED = 1024 /* threads; of later ones nobody asks */
};

static __thread uint32_t modules[MAX_DEPTH]; /* ranges of this thread */
static __thread unsigned n_modules;

/* Of each thread that was ever asked for the range that is open, and one more; 0: none.
 * Whoever takes it away ends it. */
static _Atomic uint32_t inferred[MAX_ASKED];
static _Atomic unsigned n_asked;
static __thread unsigned asked_as; /* of this thread, from 1; 0: it was never asked for */
static __thread char inferred_name[NAME_BYTES];

typedef const char *(*Finder) (void);

static _Atomic (Finder) finder;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool is_asking; /* Python may free tensors while it is asked */

/* Of the interpreter in this process, or all NULL. */
static struct
{
  int (*is_initialized) (void);
  int (*is_finalizing) (void);
  int (*ensure) (void);
  void (*release) (int state);
} python;

static void
look_up (void *out_function, const char *name, const char *older_name)
{
  void *found = dlsym (RTLD_DEFAULT, name);

  if (found == NULL && older_name != NULL)
    found = dlsym (RTLD_DEFAULT, older_name);
  *(void **) out_function = found;
}

static void
set_up (void)
{
  look_up (&python.is_initialized, "Py_IsInitialized", NULL);
  look_up (&python.is_finalizing, "Py_IsFinalizing", "_Py_IsFinalizing");
  look_up (&python.ensure, "PyGILState_Ensure", NULL);
  look_up (&python.release, "PyGILState_Release", NULL);
}

/* Returns: false where there is no name. A process without Python is asked as it is. */
static bool
ask (Finder find, char *out_name)
{
  const char *name;
  int state = 0;

  out_name[0] = '\0';
  if (python.ensure != NULL && python.release != NULL)
    {
      if ((python.is_initialized != NULL && !python.is_initialized ()) ||
          (python.is_finalizing != NULL && python.is_finalizing ()))
        return false;
      state = python.ensure ();
    }
  name = find ();
  if (name != NULL)
    snprintf (out_name, NAME_BYTES, "%s", name);
  if (python.ensure != NULL && python.release != NULL)
    python.release (state);
  return out_name[0] != '\0';
}

/* Of the thread of this number, from 1. */
static void
close_range (TesseraRecorder *recorder, unsigned of)
{
  uint32_t range = atomic_exchange (&inferred[of - 1], 0);

  if (range != 0 && recorder != NULL)
    tessera_recorder_range_end (recorder, range - 1);
}

void
tessera_finder_ask (TesseraRecorder *recorder)
{
  Finder find = atomic_load_explicit (&finder, memory_order_acquire);
  char name[NAME_BYTES];
  bool has_name;

  if (find == NULL || is_asking || n_modules != 0)
    return;
  pthread_once (&once, set_up);
  if (asked_as == 0)
    asked_as = atomic_fetch_add (&n_asked, 1) + 1;
  if (asked_as > MAX_ASKED)
    return;
  is_asking = true;
  has_name = ask (find, name);
  is_asking = false;
  if (has_name && atomic_load (&inferred[asked_as - 1]) != 0 &&
      strcmp (inferred_name, name) == 0)
    return;
  close_range (recorder, asked_as);
  if (!has_name)
    return;
  strcpy (inferred_name, name);
  atomic_store (
      &inferred[asked_as - 1],
      tessera_recorder_range_begin (recorder, TESSERA_RANGE_MODULE, name, true) + 1);
}

static void
close_inferred (TesseraRecorder *recorder)
{
  unsigned n = atomic_load (&n_asked);

  for (unsigned i = 1; recorder != NULL && i <= n && i <= MAX_ASKED; i++)
    close_range (recorder, i);
}

void
tessera_set_module_finder (const char *(*find) (void) )
{
  atomic_store_explicit (&finder, find, memory_order_release);
}

/* Marks of the program. */

typedef struct
{
  char *name; /* NULL where the host had no memory for it */
  uint32_t range;
} Mark;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Mark phases[MAX_DEPTH]; /* the process's */
static unsigned n_phases;
static uint32_t step_range = TESSERA_NONE;

void
tessera_marks_lock (void)
{
  pthread_mutex_lock (&lock);
}

void
tessera_marks_unlock (void)
{
  pthread_mutex_unlock (&lock);
}

void
tessera_marks_after_fork (void)
{
  pthread_mutex_init (&lock, NULL);
  atomic_store (&finder, NULL);
}

static const char *
innermost_phase (void)
{
  unsigned depth = n_phases < MAX_DEPTH ? n_phases : MAX_DEPTH;

  return depth != 0 ? phases[depth - 1].name : NULL;
}

void
tessera_marks_tell (RuntimeDevice *device)
{
  tessera_device_phase (device, innermost_phase ());
}

static uint32_t
begin_range (TesseraRecorder *recorder, TesseraRangeKind kind, const char *name)
{
  return recorder != NULL ? tessera_recorder_range_begin (recorder, kind, name, false)
                          : TESSERA_NONE;
}

static void
end_range (TesseraRecorder *recorder, uint32_t range)
{
  if (recorder != NULL && range != TESSERA_NONE)
    tessera_recorder_range_end (recorder, range);
}

void
tessera_marks_record (TesseraRecorder *recorder)
{
  step_range = TESSERA_NONE;
  for (unsigned i = 0; i < n_phases && i < MAX_DEPTH; i++)
    phases[i].range = phases[i].name != NULL
                          ? begin_range (recorder, TESSERA_RANGE_PHASE, phases[i].name)
                          : TESSERA_NONE;
  for (unsigned i = 0; i < MAX_ASKED; i++)
    atomic_store (&inferred[i], 0);
}

void
tessera_step (int64_t number)
{
  TesseraRecorder *recorder;
  char name[40];

  if (tessera_process_state () == TESSERA_PROCESS_FORKED)
    return;
  snprintf (name, sizeof name, "step %" PRId64, number);
  tessera_marks_lock ();
  recorder = tessera_recorder_enter ();
  close_inferred (recorder);
  end_range (recorder, step_range);
  step_range =
      number >= 0 ? begin_range (recorder, TESSERA_RANGE_STEP, name) : TESSERA_NONE;
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      tessera_device_step (tessera_process_known_device (i), number >= 0);
  tessera_recorder_leave (recorder);
  tessera_marks_unlock ();
}

int
tessera_step_repeats (void)
{
  bool does = true;

  if (tessera_process_state () == TESSERA_PROCESS_FORKED)
    return 0;
  tessera_marks_lock ();
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      does &= tessera_device_step_repeats (tessera_process_known_device (i));
  tessera_marks_unlock ();
  return does;
}

static void
tell_devices (void)
{
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      tessera_marks_tell (tessera_process_known_device (i));
}

void
tessera_phase_begin (const char *name)
{
  TesseraRecorder *recorder;

  if (tessera_process_state () == TESSERA_PROCESS_FORKED)
    return;
  tessera_marks_lock ();
  if (n_phases++ < MAX_DEPTH)
    {
      recorder = tessera_recorder_enter ();
      close_inferred (recorder);
      phases[n_phases - 1] =
          (Mark){ strdup (name), begin_range (recorder, TESSERA_RANGE_PHASE, name) };
      tell_devices ();
      tessera_recorder_leave (recorder);
    }
  tessera_marks_unlock ();
}

void
tessera_phase_end (void)
{
  TesseraRecorder *recorder;

  if (tessera_process_state () == TESSERA_PROCESS_FORKED)
    return;
  tessera_marks_lock ();
  if (n_phases != 0 && --n_phases < MAX_DEPTH)
    {
      recorder = tessera_recorder_enter ();
      close_inferred (recorder);
      end_range (recorder, phases[n_phases].range);
      tell_devices (); /* the policies may still hold the old name until here */
      free (phases[n_phases].name);
      tessera_recorder_leave (recorder);
    }
  tessera_marks_unlock ();
}

void
tessera_module_begin (const char *name)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (asked_as != 0 && asked_as <= MAX_ASKED && recorder != NULL)
    close_range (recorder, asked_as);
  if (n_modules++ < MAX_DEPTH)
    modules[n_modules - 1] = begin_range (recorder, TESSERA_RANGE_MODULE, name);
  tessera_recorder_leave (recorder);
}

void
tessera_module_end (void)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (n_modules != 0 && --n_modules < MAX_DEPTH)
    end_range (recorder, modules[n_modules]);
  tessera_recorder_leave (recorder);
}

void
tessera_note (const char *key, const char *value)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (recorder != NULL)
    tessera_recorder_meta (recorder, key, value);
  tessera_recorder_leave (recorder);
}

void
tessera_tensor (int device, const void *address, int kind, const char *name)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (recorder != NULL && tessera_process_known_device (device) != NULL)
    tessera_recorder_tensor (recorder, (uint32_t) device, (uint64_t) (uintptr_t) address,
                             (TesseraTensorKind) kind, name);
  tessera_recorder_leave (recorder);
}

void
tessera_mark (const char *name)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (recorder == NULL)
    return;
  end_range (recorder, begin_range (recorder, TESSERA_RANGE_OTHER, name));
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      tessera_device_mark (tessera_process_known_device (i));
  tessera_recorder_leave (recorder);
}
