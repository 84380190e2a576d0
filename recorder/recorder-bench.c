/*
 * What recording costs: nanoseconds of an event for the program, events a second into the
 * file, bytes of an event in it, what waiting costs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <time.h>

#include "tests/db/test-place.h"
#include "recorder/recorder.h"

#define N_BURST 250000 /* fits the ring */
#define N_SUSTAINED 5000000
#define N_THREADS 2
#define IDLE_SECONDS 3

static TesseraEvent
event_at (uint64_t k)
{
  return (TesseraEvent){ .action = k % 2 ? TESSERA_FREE_COMPLETED : TESSERA_ALLOC,
                         .addr = UINT64_C (0x7f0000000000) + k / 2 % 4096 * 2097152,
                         .size_bytes = (1 + k * 7919 % 4096) * 512,
                         .stack = TESSERA_NONE };
}

static TesseraRecorder *
begin (const TestPlace *place, uint32_t flush_ms)
{
  TesseraRecorderOptions options = { .path = place->path, .flush_ms = flush_ms };
  TesseraRecordedDevice device = { .alignment_bytes = 512 };
  TesseraRecorder *recorder;

  g_assert_cmpint (tessera_recorder_open (&options, NULL, &recorder), ==, TESSERA_OK);
  tessera_settings_default (&device.settings);
  tessera_recorder_device (recorder, &device);
  return recorder;
}

/* Of a thread or of all: other work on the machine matters less. */
static gsize
cpu_ns (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (gsize) now.tv_sec * 1000000000 + (gsize) now.tv_nsec;
}

static gpointer
record_burst (gpointer data)
{
  TesseraRecorder *recorder = data;
  gsize from_ns = cpu_ns (CLOCK_THREAD_CPUTIME_ID);

  for (uint64_t k = 0; k < N_BURST / N_THREADS; k++)
    {
      TesseraEvent event = event_at (k);

      (void) tessera_recorder_event (recorder, 0, &event);
    }
  return GSIZE_TO_POINTER (cpu_ns (CLOCK_THREAD_CPUTIME_ID) - from_ns);
}

/* The ring is touched first: a program's first lap costs page faults. */
static void
bench_calls (const TestPlace *place)
{
  TesseraRecorder *recorder = begin (place, 60000);
  GThread *threads[N_THREADS];
  gsize one_ns = 0, many_ns = 0;
  TesseraRecorderStats stats;

  for (int lap = 0; lap < 2; lap++)
    {
      one_ns = GPOINTER_TO_SIZE (record_burst (recorder)) +
               GPOINTER_TO_SIZE (record_burst (recorder));
      g_assert_cmpint (tessera_recorder_flush (recorder, NULL), ==, TESSERA_OK);
    }
  for (int i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new (NULL, record_burst, recorder);
  for (int i = 0; i < N_THREADS; i++)
    many_ns += GPOINTER_TO_SIZE (g_thread_join (threads[i]));
  tessera_recorder_get_stats (recorder, &stats);
  tessera_recorder_close (recorder);
  printf ("a call: %.0f ns; of each of %d threads at once: %.0f ns; lost %llu\n",
          (double) one_ns / N_BURST, N_THREADS, (double) many_ns / N_BURST,
          (unsigned long long) stats.n_lost);
}

/* As fast as the writer keeps up. */
static void
bench_sustained (const TestPlace *place)
{
  TesseraRecorder *recorder = begin (place, 0);
  gint64 from_us = g_get_monotonic_time ();
  gsize from_ns = cpu_ns (CLOCK_PROCESS_CPUTIME_ID);
  TesseraRecorderStats stats;
  double seconds;
  GStatBuf info;

  for (uint64_t k = 0; k < N_SUSTAINED;)
    {
      TesseraEvent event = event_at (k);

      if (k % 1024 == 0)
        {
          tessera_recorder_get_stats (recorder, &stats);
          if (stats.n_events - stats.n_written > N_BURST / 2)
            {
              g_usleep (1000);
              continue;
            }
        }
      k += tessera_recorder_event (recorder, 0, &event);
    }
  tessera_recorder_get_stats (recorder, &stats);
  tessera_recorder_close (recorder);
  seconds = (double) (g_get_monotonic_time () - from_us) / 1e6;
  g_assert_cmpint (g_stat (place->path, &info), ==, 0);
  printf (
      "sustained: %.0f events/s, %.0f ns of CPU each; %.1f bytes an event; lost %llu\n",
      N_SUSTAINED / seconds,
      (double) (cpu_ns (CLOCK_PROCESS_CPUTIME_ID) - from_ns) / N_SUSTAINED,
      (double) info.st_size / N_SUSTAINED, (unsigned long long) stats.n_lost);
}

/* Nothing happens. */
static void
bench_idle (const TestPlace *place)
{
  TesseraRecorder *recorder = begin (place, 0);
  gsize from_ns = cpu_ns (CLOCK_PROCESS_CPUTIME_ID);

  g_usleep (IDLE_SECONDS * G_USEC_PER_SEC);
  printf ("idle: %.3f %% of a core\n",
          (double) (cpu_ns (CLOCK_PROCESS_CPUTIME_ID) - from_ns) / (IDLE_SECONDS * 1e7));
  tessera_recorder_close (recorder);
}

int
main (void)
{
  TestPlace place;

  test_place_begin (&place, NULL);
  bench_calls (&place);
  bench_sustained (&place);
  bench_idle (&place);
  test_place_end (&place, NULL);
  return 0;
}
