/*
 * Steps, phases and modules: told to the policies, recorded as ranges.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/finder.h"
#include "runtime/process/recording.h"

enum
{
  MAX_DEPTH = 64 /* what is nested deeper is counted, not told */
};

typedef struct
{
  char *name; /* NULL where the host had no memory for it */
  uint32_t range;
} Mark;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Mark phases[MAX_DEPTH]; /* the process's */
static unsigned n_phases;
static uint32_t step_range = TESSERA_NONE;

static __thread uint32_t modules[MAX_DEPTH]; /* ranges of this thread */
static __thread unsigned n_modules;

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
  tessera_finder_after_fork ();
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

static void
close_inferred (TesseraRecorder *recorder)
{
  if (recorder != NULL)
    tessera_finder_close_all (recorder);
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
      tessera_device_step (tessera_process_known_device (i), recorder);
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

unsigned
tessera_module_depth (void)
{
  return n_modules;
}

void
tessera_module_begin (const char *name)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (recorder != NULL)
    tessera_finder_close_mine (recorder);
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
tessera_mark (const char *name)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  if (recorder == NULL)
    return;
  end_range (recorder, begin_range (recorder, TESSERA_RANGE_OTHER, name));
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      tessera_device_mark (tessera_process_known_device (i), recorder);
  tessera_recorder_leave (recorder);
}
