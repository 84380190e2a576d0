/*
 * A program that records until it is killed: see kill-test.c.
 *
 * kill-driver TRACE PROGRESS: PROGRESS is a file of one number, mapped, that says how
 * many events there are. Event k is an allocation or free of size k + 1; a step is
 * STEP_EVENTS of them, with two phases inside. About 300,000 events a second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "recorder/recorder.h"

#define STEP_EVENTS 1000
#define BURST_EVENTS 250
#define PAUSE_NS 500000

static void
record_burst (TesseraRecorder *recorder, uint64_t from)
{
  for (uint64_t k = from; k < from + BURST_EVENTS; k++)
    {
      TesseraEvent event = { .action = k % 2 ? TESSERA_FREE_COMPLETED : TESSERA_ALLOC,
                             .addr = (k / 2 % 64 + 1) << 12,
                             .size_bytes = k + 1,
                             .stack = TESSERA_NONE };

      (void) tessera_recorder_event (recorder, 0, &event);
    }
}

/* Ends what is open and begins what follows, at multiples of half a step. */
static void
mark (TesseraRecorder *recorder, uint64_t k, uint32_t *step, uint32_t *phase)
{
  char name[32];

  if (k % (STEP_EVENTS / 2) != 0)
    return;
  tessera_recorder_range_end (recorder, *phase);
  if (k % STEP_EVENTS == 0)
    {
      tessera_recorder_range_end (recorder, *step);
      snprintf (name, sizeof name, "step %llu", (unsigned long long) (k / STEP_EVENTS));
      *step = tessera_recorder_range_begin (recorder, TESSERA_RANGE_STEP, name, false);
    }
  *phase = tessera_recorder_range_begin (recorder, TESSERA_RANGE_PHASE,
                                         k % STEP_EVENTS ? "backward" : "forward", false);
}

int
main (int argc, char **argv)
{
  const struct timespec pause = { .tv_nsec = PAUSE_NS };
  TesseraRecorderOptions options = { .path = argv[1] };
  TesseraRecordedDevice device = { .alignment_bytes = 512 };
  uint32_t step = TESSERA_NONE, phase = TESSERA_NONE;
  atomic_uint_fast64_t *progress;
  TesseraRecorder *recorder;
  int fd;

  if (argc != 3 || (fd = open (argv[2], O_RDWR)) < 0)
    return 2;
  progress = mmap (NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (progress == MAP_FAILED ||
      tessera_recorder_open (&options, NULL, &recorder) != TESSERA_OK)
    return 3;
  tessera_settings_default (&device.settings);
  tessera_recorder_device (recorder, &device);
  for (uint64_t k = 0;; k += BURST_EVENTS)
    {
      if (k % (STEP_EVENTS / 2) == 0)
        mark (recorder, k, &step, &phase);
      record_burst (recorder, k);
      atomic_store (progress, k + BURST_EVENTS);
      nanosleep (&pause, NULL);
    }
}
