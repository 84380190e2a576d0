/*
 * Recording into a trace while the program runs: see recorder.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "recorder/private.h"

#define DEFAULT_RING_EVENTS 262144
#define DEFAULT_FLUSH_MS 250

/* Forks between this process and the one that loaded the library. */
static atomic_uint n_forks;

static void
count_fork (void)
{
  atomic_fetch_add (&n_forks, 1);
}

static void
watch_forks (void)
{
  pthread_atfork (NULL, NULL, count_fork);
}

bool
tessera_recorder_is_recording (const TesseraRecorder *recorder)
{
  return recorder->n_forks == atomic_load_explicit (&n_forks, memory_order_relaxed) &&
         tessera_writer_is_running (recorder->writer);
}

static void
recorder_free (TesseraRecorder *recorder)
{
  tessera_python_free (recorder->python);
  tessera_names_clear (&recorder->names);
  tessera_ring_free (recorder->ring);
  free (recorder);
}

TesseraStatus
tessera_recorder_open (const TesseraRecorderOptions *options,
                       TesseraError *error,
                       TesseraRecorder **out_recorder)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  TesseraRecorder *recorder = calloc (1, sizeof *recorder);
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_recorder = NULL;
  pthread_once (&once, watch_forks);
  if (recorder)
    status = tessera_names_init (&recorder->names,
                                 options->source ? options->source : options->path);
  if (status == TESSERA_OK)
    {
      status = tessera_ring_new (options->ring_events ? options->ring_events
                                                      : DEFAULT_RING_EVENTS,
                                 &recorder->ring);
      if (status != TESSERA_OK)
        tessera_names_clear (&recorder->names);
    }
  if (status != TESSERA_OK)
    {
      free (recorder);
      return tessera_fail (error, status,
                           "Cannot write %s: this machine has no memory left",
                           options->path);
    }
  recorder->n_forks = atomic_load (&n_forks);
  pthread_mutex_init (&recorder->range_lock, NULL);
  for (size_t i = 0; i < options->n_meta; i++)
    tessera_names_meta (&recorder->names, options->meta[i].key, options->meta[i].value);
  tessera_names_meta (&recorder->names, "format", TESSERA_FORMAT_RECORDED);
  tessera_names_meta (&recorder->names, TESSERA_META_CLOSED, "no");
  if (options->stacks)
    recorder->python = tessera_python_new (&recorder->names);
  status =
      tessera_writer_start (options->path, options->overwrites,
                            options->flush_ms ? options->flush_ms : DEFAULT_FLUSH_MS,
                            recorder->ring, &recorder->names, error, &recorder->writer);
  if (status == TESSERA_OK)
    *out_recorder = recorder;
  else
    recorder_free (recorder);
  return status;
}

void
tessera_recorder_close (TesseraRecorder *recorder)
{
  if (!recorder)
    return;
  if (recorder->n_forks == atomic_load (&n_forks))
    {
      tessera_names_meta (&recorder->names, TESSERA_META_CLOSED, "yes");
      tessera_writer_stop (recorder->writer);
    }
  else
    tessera_writer_abandon (recorder->writer);
  recorder_free (recorder);
}

void
tessera_recorder_meta (TesseraRecorder *recorder, const char *key, const char *value)
{
  if (tessera_recorder_is_recording (recorder))
    tessera_names_meta (&recorder->names, key, value);
}

uint32_t
tessera_recorder_stack (TesseraRecorder *recorder)
{
  return recorder->python && tessera_recorder_is_recording (recorder)
             ? tessera_python_stack (recorder->python)
             : TESSERA_NONE;
}

bool
tessera_recorder_event (TesseraRecorder *recorder,
                        uint32_t device,
                        const TesseraEvent *event)
{
  TesseraRingItem item = { .event = *event,
                           .device = device,
                           .kind = TESSERA_ITEM_EVENT };

  if (!tessera_recorder_is_recording (recorder))
    return false;
  item.event.at_ns = tessera_now_ns ();
  return tessera_ring_push (recorder->ring, &item);
}

static bool
push_mark (TesseraRecorder *recorder, const TesseraRingItem *item)
{
  if (!tessera_ring_push (recorder->ring, item))
    return false;
  atomic_fetch_add_explicit (&recorder->n_marks, 1, memory_order_relaxed);
  return true;
}

uint32_t
tessera_recorder_range_begin (TesseraRecorder *recorder,
                              TesseraRangeKind kind,
                              const char *name,
                              bool is_inferred)
{
  TesseraRingItem item = { .range = { .kind = (uint8_t) kind,
                                      .is_inferred = is_inferred },
                           .kind = TESSERA_ITEM_RANGE_BEGIN };
  uint32_t handle = TESSERA_NONE;

  if (!tessera_recorder_is_recording (recorder))
    return TESSERA_NONE;
  item.range.name = tessera_names_string (&recorder->names, name);
  pthread_mutex_lock (&recorder->range_lock);
  item.range.at_ns = tessera_now_ns ();
  item.range.handle = recorder->n_handles;
  if (recorder->n_handles < TESSERA_NONE && push_mark (recorder, &item))
    handle = recorder->n_handles++;
  pthread_mutex_unlock (&recorder->range_lock);
  return handle;
}

void
tessera_recorder_range_end (TesseraRecorder *recorder, uint32_t range)
{
  TesseraRingItem item = { .range = { .handle = range }, .kind = TESSERA_ITEM_RANGE_END };

  if (range == TESSERA_NONE || !tessera_recorder_is_recording (recorder))
    return;
  item.range.at_ns = tessera_now_ns ();
  if (!push_mark (recorder, &item))
    tessera_writer_end_range (recorder->writer, range);
}

bool
tessera_recorder_tensor (TesseraRecorder *recorder,
                         uint32_t device,
                         uint64_t addr,
                         TesseraTensorKind kind,
                         const char *name)
{
  TesseraRingItem item = { .tensor = { .addr = addr, .kind = (uint8_t) kind },
                           .device = device,
                           .kind = TESSERA_ITEM_TENSOR };

  if (kind < TESSERA_TENSOR_PARAMETER || kind > TESSERA_TENSOR_BUFFER ||
      !tessera_recorder_is_recording (recorder))
    return false;
  item.tensor.name = tessera_names_string (&recorder->names, name);
  return push_mark (recorder, &item);
}

void
tessera_recorder_get_stats (TesseraRecorder *recorder, TesseraRecorderStats *out_stats)
{
  uint64_t n_marks = atomic_load (&recorder->n_marks), n_pushed;

  *out_stats = (TesseraRecorderStats){ 0 };
  if (recorder->n_forks != atomic_load (&n_forks))
    return;
  n_pushed = tessera_ring_n_pushed (recorder->ring);
  tessera_writer_get_stats (recorder->writer, out_stats);
  out_stats->n_events = (n_pushed > n_marks ? n_pushed - n_marks : 0) - out_stats->n_lost;
  out_stats->n_lost += tessera_ring_n_lost (recorder->ring);
}

TesseraStatus
tessera_recorder_flush (TesseraRecorder *recorder, TesseraError *error)
{
  if (recorder->n_forks != atomic_load (&n_forks))
    return tessera_fail (error, TESSERA_INVALID,
                         "A forked child has no recording to be flushed");
  return tessera_writer_flush (recorder->writer, error);
}

void
tessera_recorder_end_state (TesseraRecorder *recorder,
                            uint32_t device,
                            const TesseraHeld *held)
{
  if (tessera_recorder_is_recording (recorder))
    tessera_writer_end_state (recorder->writer, device, held);
}
