/*
 * What the files of recorder/ share: the ring, the names that events refer to, the rows of
 * a batch, Python's stacks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "db/intern.h"
#include "db/live.h"
#include "recorder/recorder.h"

/* Of the clock that nobody sets. */
static inline int64_t
tessera_now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * The ring between producers and the writer: fixed size, many in, one out.
 *
 * A producer never waits, allocates or calls the system. The place it takes is the order
 * of things. When the ring is full the item is lost and counted, and so are all that
 * follow until the writer has emptied the ring: one gap, not a sieve.
 */

typedef enum
{
  TESSERA_ITEM_EVENT,
  TESSERA_ITEM_RANGE_BEGIN,
  TESSERA_ITEM_RANGE_END,
  TESSERA_ITEM_TENSOR
} TesseraItemKind;

typedef struct
{
  union
  {
    TesseraEvent event; /* at_ns: CLOCK_MONOTONIC */
    struct
    {
      int64_t at_ns; /* same */
      uint32_t handle;
      uint32_t name; /* begin only, as the following */
      uint8_t kind;  /* TesseraRangeKind */
      bool is_inferred;
    } range;
    TesseraTensor tensor; /* its event_index follows from the ring's order */
  };
  uint32_t device; /* of an event or a tensor */
  uint8_t kind;    /* TesseraItemKind */
} TesseraRingItem;

typedef struct TesseraRing TesseraRing;

/* @n_items is rounded up to a power of two. */
TESSERA_MUST_USE TesseraStatus tessera_ring_new (uint32_t n_items,
                                                 TesseraRing **out_ring);
void tessera_ring_free (TesseraRing *ring); /* NULL is fine */

/* Any thread. Returns: false when lost. */
bool tessera_ring_push (TesseraRing *ring, const TesseraRingItem *item);

/* The writer's thread only. Returns: how many of at most @n_items there were. Stops short
 * of a place that a producer has taken and not filled yet. */
size_t tessera_ring_take (TesseraRing *ring, TesseraRingItem *items, size_t n_items);
/* The writer's thread only: how many were lost after what was taken so far and were not
 * told before. 0 as long as there is something to take. */
uint64_t tessera_ring_take_lost (TesseraRing *ring);

/* Any thread; a moment's truth. */
uint32_t tessera_ring_n_items (const TesseraRing *ring); /* that fit */
uint64_t tessera_ring_n_pushed (const TesseraRing *ring);
uint64_t tessera_ring_n_taken (const TesseraRing *ring);
uint64_t tessera_ring_n_lost (const TesseraRing *ring);

/*
 * What events and ranges refer to by number: strings, frames, stacks, devices with their
 * streams and pools; and the facts about the trace.
 *
 * Any thread adds, under the lock; the writer looks what is new at every batch, after it
 * has taken the events that refer to it. Nothing waits for the disk here.
 */

typedef struct
{
  pthread_mutex_t lock; /* guards all below */
  TesseraTrace *shared; /* strings, frames, meta, source */
  TesseraStackTree tree;
  uint32_t *stack_of_node; /* TESSERA_NONE: no stack ends there */
  size_t cap_stack_of_node;
  TesseraTrace **devices; /* settings, streams, pools, the states at start and end */
  size_t n_devices, cap_devices;
  bool is_assumed; /* the one device is not the program's: it named none yet */
  bool has_news;   /* of devices or meta */
} TesseraNames;

TESSERA_MUST_USE TesseraStatus tessera_names_init (TesseraNames *names,
                                                   const char *source);
void tessera_names_clear (TesseraNames *names);

/* All take the lock. What cannot be told for want of memory stays unknown: events that
 * refer to it are not written. */
void tessera_names_meta (TesseraNames *names, const char *key, const char *value);
/* Find or add; TESSERA_NONE without memory. */
uint32_t tessera_names_string (TesseraNames *names, const char *text);
uint32_t tessera_names_frame (TesseraNames *names,
                              const char *function,
                              const char *file,
                              int64_t line);
uint32_t
tessera_names_stack (TesseraNames *names, const uint32_t *frames, size_t n_frames);

/* Into an empty state, and in order. Returns: false without memory. */
bool tessera_held_copy (TesseraHeld *to, const TesseraHeld *from);

/*
 * What the writer has seen of the names, and what came since.
 */

/* Names that only ever grow: so many were seen before, and copies of what came since. */
typedef struct
{
  void *items;
  size_t cap, n_seen, n_new;
} TesseraNewItems;

typedef struct
{
  TesseraTrace **heads; /* the writer's own copies of the devices */
  TesseraLiveDevice *devices;
  size_t n_devices, cap_heads, cap_devices;
  TesseraNewItems strings, frames, nodes, stacks; /* as in TesseraLiveBatch */
  TesseraTrace *meta;                             /* a copy; meta only */
  bool has_meta;                                  /* something in it is new */
} TesseraNews;

/* Copies what came since the last call; takes the names' lock.
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_news_take (TesseraNews *news, TesseraNames *names);
/* Is there anything? */
bool tessera_news_any (const TesseraNews *news);
/* Sets all of @batch but events, ranges and states at the end. */
void tessera_news_fill (const TesseraNews *news, TesseraLiveBatch *batch);
/* They are in the file: no news any more. */
void tessera_news_written (TesseraNews *news);
/* Lends the devices' states at the end, which are set by then. Returns: whether there is
 * any. */
bool tessera_news_lend_ends (TesseraNews *news, const TesseraNames *names);
void tessera_news_clear (TesseraNews *news);

/*
 * What the ring gave, as the rows of one batch: events and tensors by device, ranges with
 * their ends.
 *
 * The writer's thread only. Labels are made here: the index of an event is its place in
 * the ring's order; nanoseconds count from the first event and never go back (clocks are
 * read before places are taken, so neighbours may be swapped); no two ends of ranges have
 * the same, so that ranges in order of begin are in the file's order. A range that is
 * open ends "now" in every batch.
 */

typedef struct
{
  uint32_t handle;
  uint32_t index;     /* of its row */
  TesseraRange range; /* times as the clock gave them */
} TesseraOpenRange;

typedef struct
{
  TesseraEvent *events;
  uint32_t *indices;
  size_t n_events, cap_events, cap_indices;
  TesseraTensor *tensors;
  size_t n_tensors, cap_tensors;
} TesseraDeviceRows;

typedef struct
{
  bool has_base;   /* there was an event */
  int64_t base_ns; /* its time; before: when recording began */
  int64_t last_ns;
  uint64_t n_events, n_ranges; /* in all */
  uint64_t n_refused;          /* events that name what nobody has told: not written */
  TesseraOpenRange *open;      /* ascending index */
  size_t n_open, cap_open;
  /* of this batch */
  TesseraDeviceRows *devices; /* as in the news */
  size_t n_devices, cap_devices;
  TesseraRange *ranges;
  uint32_t *range_indices;
  size_t n_changed, cap_ranges, cap_range_indices;
  int64_t ranges_later_ns;
} TesseraBatchRows;

/* @now_ns: when recording begins. */
void tessera_batch_rows_init (TesseraBatchRows *rows, int64_t now_ns);
void tessera_batch_rows_clear (TesseraBatchRows *rows);

/* After the news were taken. All but end_range: TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_begin (TesseraBatchRows *rows,
                                                         const TesseraNews *news);
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_add (TesseraBatchRows *rows,
                                                       const TesseraNews *news,
                                                       const TesseraRingItem *item);
/* A range without events that says what is missing here. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_add_gap (TesseraBatchRows *rows,
                                                           uint32_t name,
                                                           int64_t now_ns);
/* Returns: TESSERA_INVALID if no such range is open. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_end_range (TesseraBatchRows *rows,
                                                             uint32_t handle,
                                                             int64_t now_ns);
/* Ends what is open for now, and puts all in @batch, whose devices are @news's. */
TESSERA_MUST_USE TesseraStatus tessera_batch_rows_fill (TesseraBatchRows *rows,
                                                        TesseraNews *news,
                                                        TesseraLiveBatch *batch);

/*
 * The Python stack of the calling thread, where the process has a Python.
 *
 * The C API is found by name in the process: nothing is linked, so one library serves
 * Python 3.9 to 3.14 and programs without it. Frames are remembered by code object and
 * instruction; the code objects they are remembered by stay referenced for the rest of
 * the process. Of a deeper stack the innermost 256 frames are kept.
 */

typedef struct TesseraPython TesseraPython;

/* @names is borrowed. Returns: NULL where there is no Python, or no memory. */
TesseraPython *tessera_python_new (TesseraNames *names);
void tessera_python_free (TesseraPython *python); /* NULL is fine */

/* Any thread, with or without the interpreter's lock, which it takes: with no lock of
 * one's own. Returns: TESSERA_NONE on a thread that runs no Python, before and after the
 * interpreter's life. */
uint32_t tessera_python_stack (TesseraPython *python);

struct TesseraRecorder
{
  unsigned n_forks; /* when it was opened: a child's differs */
  TesseraRing *ring;
  TesseraNames names;
  TesseraPython *python;      /* NULL: no stacks */
  pthread_mutex_t range_lock; /* handles are given in the ring's order */
  uint32_t n_handles;
  atomic_uint_fast64_t n_marks; /* in the ring, and no event */
  char *path;
  int64_t flush_ns;
  atomic_bool is_running;
  pthread_t thread;

  pthread_mutex_t lock; /* guards the following */
  pthread_cond_t wake;  /* the writer */
  pthread_cond_t done;  /* who waits for it */
  uint64_t n_flushes, n_flushed;
  bool is_open, is_stopping;
  TesseraRecorderStats stats;
  uint32_t *late_ends; /* handles of ranges */
  size_t n_late_ends, cap_late_ends;

  /* the thread's own */
  TesseraLive *live;
  TesseraNews news;
  TesseraBatchRows rows;
  TesseraRingItem *items;
  size_t n_held;    /* of them: taken and not looked at yet */
  int claim;        /* of that file; -1: none */
  bool keeps_older; /* a file that is there stays until there is an event */
  uint64_t n_lost, n_refused_reported;
  int64_t begun_ns; /* the last batch */
};

/* Neither a child of whoever opened it nor after a failure. Hot. */
bool tessera_recorder_is_recording (const TesseraRecorder *recorder);
