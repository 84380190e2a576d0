/*
 * The virtual clock: when work would be done, were there a GPU.
 *
 * The host has one time, which grows with every call it makes (5 us a launch or copy).
 * Each stream has the time at which what was queued on it ends, each event the time at
 * which it is reached. An event is done when the host's time has passed it; a wait moves
 * the host there. A queue is at most 200 ms deep: who goes further waits. With
 * NULLCUDA_LAG=0 work takes no time, so that everything is done at once.
 *
 * The clock depends on the order of calls alone, never on real time: one thread's run
 * gives the same times whenever it is repeated. One lock guards clock, streams, events
 * and captures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"
#include "nullcuda/tables.h"

typedef struct NullStream NullStream;
typedef struct NullEvent NullEvent;
typedef struct NullGraph NullGraph;

/* Whoever watches calls, not under a lock. */
void null_tell (const char *call, void *stream, void *event);

void null_clock_lock (void);
void null_clock_unlock (void);

/* Under the lock. */
double null_clock_now (void);
void null_clock_spend (double ns);    /* the host is busy that long */
void null_clock_reach (double at_ns); /* the host waits until then */

/* Takes the lock. The host is busy that long. */
void null_clock_pass (double ns);
/* Takes the lock. The host waits for all that is queued on @device. */
void null_clock_wait_for_all (int device);

/*
 * Streams: queues of work that takes modelled time.
 */

struct NullStream
{
  NullSlabHead head;
  bool is_blocking; /* waits for the default stream, and that one for it */
  int device, priority;
  double end_ns; /* when what is queued is done */
  unsigned long long id;
  NullGraph *capture; /* NULL: it does not capture */
  bool began_capture; /* else it joined through an event */
};

/* Under the clock's lock. NULL where the handle is none. 0, 1 and 2 are the default
 * streams of the thread's device. */
NullStream *null_stream_find (void *handle);
/* The end of all that is queued on @device, on streams destroyed since as well. */
double null_stream_last_end (int device);
void null_stream_wait (NullStream *stream,
                       double at_ns); /* its next work begins no sooner */
/* Work of @ns: queued, or recorded where the stream captures. */
void null_stream_queue (NullStream *stream, double ns);
/* Calls @visit for each stream in use. */
void null_stream_each (void (*visit) (NullStream *stream, void *user), void *user);

/* Takes the lock: a call named @name puts work of @ns on the stream. An error code. */
int null_submit (const char *name, void *stream, double ns);

/*
 * Graphs: what a capture recorded. A graph remembers how much work it holds, not which.
 */

/* Under the clock's lock. */
void null_graph_add (NullGraph *graph, double ns);
unsigned long long null_graph_id (const NullGraph *graph);
/* @stream takes part in the capture of that id, where it still goes on. */
void null_graph_join (NullStream *stream, unsigned long long capture_id);
/* Captures in which a stream of @device takes part yield no graph any more. Returns: whether
 * there are any. */
bool null_graph_invalidate (int device);
