/*
 * The recorder as a library that Python can load: for stack-test.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "recorder/recorder.h"

#define EXPORT __attribute__ ((visibility ("default")))

EXPORT int shim_open (const char *path);
EXPORT void shim_event (uint64_t size_bytes);
EXPORT void shim_event_without_python (uint64_t size_bytes);
EXPORT void shim_event_while_raising (uint64_t size_bytes);
EXPORT double shim_stack_ns (int n_times);
EXPORT int shim_flush (void);
EXPORT void shim_close (void);
EXPORT void shim_close_after_python (void);

static TesseraRecorder *recorder;
static bool closes_after_python;

int
shim_open (const char *path)
{
  TesseraRecorderOptions options = { .path = path, .stacks = true };
  TesseraRecordedDevice device = { .alignment_bytes = 512 };

  if (tessera_recorder_open (&options, NULL, &recorder) != TESSERA_OK)
    return -1;
  tessera_settings_default (&device.settings);
  tessera_recorder_device (recorder, &device);
  return 0;
}

/* Sizes tell events apart. */
void
shim_event (uint64_t size_bytes)
{
  TesseraEvent event = { .action = TESSERA_ALLOC,
                         .addr = size_bytes << 12,
                         .size_bytes = size_bytes,
                         .stack = tessera_recorder_stack (recorder) };

  (void) tessera_recorder_event (recorder, 0, &event);
}

static void *
run_event (void *user)
{
  shim_event (*(uint64_t *) user);
  return NULL;
}

/* On a thread that Python knows nothing of. */
void
shim_event_without_python (uint64_t size_bytes)
{
  pthread_t thread;

  if (pthread_create (&thread, NULL, run_event, &size_bytes) == 0)
    pthread_join (thread, NULL);
}

/* Called with the interpreter's lock: the exception is for the caller. */
void
shim_event_while_raising (uint64_t size_bytes)
{
  void (*raise) (void *, const char *) = dlsym (RTLD_DEFAULT, "PyErr_SetString");
  void **type = dlsym (RTLD_DEFAULT, "PyExc_LookupError");

  raise (*type, "on its way");
  shim_event (size_bytes);
}

double
shim_stack_ns (int n_times)
{
  struct timespec from, to;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &from);
  for (int i = 0; i < n_times; i++)
    (void) tessera_recorder_stack (recorder);
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &to);
  return ((double) (to.tv_sec - from.tv_sec) * 1e9 +
          (double) (to.tv_nsec - from.tv_nsec)) /
         n_times;
}

/* Returns: 0 when all events so far are in the file. */
int
shim_flush (void)
{
  return tessera_recorder_flush (recorder, NULL) == TESSERA_OK ? 0 : -1;
}

void
shim_close (void)
{
  tessera_recorder_close (recorder);
  recorder = NULL;
}

void
shim_close_after_python (void)
{
  closes_after_python = true;
}

/* Runs when the interpreter is gone. */
__attribute__ ((destructor)) static void
end (void)
{
  if (!closes_after_python)
    return;
  shim_event (999);
  shim_close ();
}
