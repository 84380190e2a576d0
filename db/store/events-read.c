/*
 * The event table of a large file, read by several threads at once: events-read.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/events-read.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/store/file.h"
#include "db/store/tables.h"

#define MAX_PARTS 4
/* Fewer are read before another thread has opened the file. */
#define MIN_PART_EVENTS 50000

typedef struct
{
  TesseraEvent *events; /* of the whole trace */
  uint64_t n_events;
  uint32_t device;
  const TesseraProgress *progress; /* asked by the first part alone */
  bool is_cancelled;
  atomic_bool is_over; /* somebody failed: the others need not go on */
} Shared;

typedef struct
{
  Shared *shared;
  TesseraRowReader reader;
  TesseraProgress progress;
  uint64_t begin, end, next;
  TesseraStatus status;
  pthread_t thread;
  bool is_first, has_thread;
} Part;

static bool
report (void *user, double fraction)
{
  Part *part = user;
  Shared *shared = part->shared;

  if (part->is_first && !tessera_progress (shared->progress, fraction))
    {
      shared->is_cancelled = true;
      shared->is_over = true;
    }
  return !shared->is_over;
}

static TesseraStatus
take_event (void *user, void *item, uint64_t index, uint64_t key)
{
  Part *part = user;

  if (key != index || index >= part->end)
    return TESSERA_BAD_INPUT;
  part->shared->events[index] = *(const TesseraEvent *) item;
  part->next = index + 1;
  return TESSERA_OK;
}

static void
read_part (Part *part)
{
  /* The last looks behind the end as well: there must be nothing. */
  uint64_t end = part->end < part->shared->n_events ? part->end : INT64_MAX;
  TesseraScope scope = { .device = part->shared->device,
                         .begin_key = part->begin,
                         .end_key = end };

  part->status =
      tessera_read_rows (&part->reader, &tessera_event_table, scope, take_event, part);
  if (part->status == TESSERA_OK && part->next != part->end)
    part->status = TESSERA_BAD_INPUT;
  if (part->status != TESSERA_OK)
    part->shared->is_over = true;
}

static void *
run_part (void *user)
{
  Part *part = user;
  TesseraError unsaid = { 0 };

  part->reader.error = &unsaid;
  part->status = tessera_file_open (part->reader.path, &tessera_trace_format, &unsaid,
                                    &part->reader.db);
  if (part->status == TESSERA_OK)
    {
      read_part (part);
      sqlite3_close (part->reader.db);
    }
  else
    part->shared->is_over = true;
  return NULL;
}

static size_t
count_parts (uint64_t n_events)
{
  cpu_set_t cpus;
  uint64_t n_parts = n_events / MIN_PART_EVENTS;

  if (n_parts > MAX_PARTS)
    n_parts = MAX_PARTS;
  if (sched_getaffinity (0, sizeof cpus, &cpus) != 0)
    return 1;
  return n_parts < (uint64_t) CPU_COUNT (&cpus) ? n_parts : (size_t) CPU_COUNT (&cpus);
}

/* Reads with as many threads as parts, this one among them. Returns: whether all went
 * well. */
static bool
read_parts (Shared *shared, const TesseraRowReader *reader, size_t n_parts)
{
  Part parts[MAX_PARTS];
  TesseraError unsaid = { 0 };
  bool is_whole = true;

  for (size_t i = 0; i < n_parts; i++)
    {
      Part *part = &parts[i];

      *part = (Part){ .shared = shared,
                      .reader = *reader,
                      .progress = { report, part },
                      .begin = shared->n_events * i / n_parts,
                      .end = shared->n_events * (i + 1) / n_parts,
                      .status = TESSERA_NO_MEMORY,
                      .is_first = i == 0 };
      part->next = part->begin;
      part->reader.progress = &part->progress;
      part->reader.error = &unsaid;
      part->reader.n_rows = part->end - part->begin;
      part->reader.n_read = part->reader.n_next_report = 0;
      part->has_thread = !part->is_first && !shared->is_over &&
                         pthread_create (&part->thread, NULL, run_part, part) == 0;
      if (!part->is_first && !part->has_thread)
        shared->is_over = true;
    }
  if (!shared->is_over)
    read_part (&parts[0]);
  for (size_t i = 0; i < n_parts; i++)
    {
      if (parts[i].has_thread)
        pthread_join (parts[i].thread, NULL);
      is_whole = is_whole && parts[i].status == TESSERA_OK;
    }
  return is_whole;
}

/* Whether two looks at a path saw the same file with the same content. */
static bool
is_same (const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool
is_apart_of_use (const TesseraRowReader *reader, const struct stat *as_opened, uint64_t n)
{
  return n <= (uint64_t) as_opened->st_size / TESSERA_EVENT_ROW_BYTES &&
         tessera_file_is_at_rest (reader->path);
}

TesseraStatus
tessera_read_events_apart (const TesseraRowReader *reader,
                           const struct stat *as_opened,
                           uint32_t device,
                           uint64_t n_events,
                           TesseraTrace *trace)
{
  Shared shared = { .n_events = n_events,
                    .device = device,
                    .progress = reader->progress };
  size_t n_parts = count_parts (n_events);
  struct stat now;

  if (n_parts < 2 || n_events > TESSERA_MAX_EVENTS ||
      !is_apart_of_use (reader, as_opened, n_events) ||
      !TESSERA_RESERVE (trace->events, trace->cap_events, n_events))
    return TESSERA_REFUSED;
  shared.events = trace->events;
  /* Another file of that name by now? Then the parts do not belong together. */
  if (read_parts (&shared, reader, n_parts) && stat (reader->path, &now) == 0 &&
      is_same (as_opened, &now))
    {
      trace->n_events = n_events;
      return TESSERA_OK;
    }
  if (shared.is_cancelled)
    return tessera_fail_cancelled (reader);
  return TESSERA_REFUSED;
}
