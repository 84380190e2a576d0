/*
 * Streams: queues of work that takes modelled time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/streams/clock.h"
#include "nullcuda/memory/slab.h"

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
double null_stream_last_end (int device);
void null_stream_wait (NullStream *stream,
                       double at_ns); /* its next work begins no sooner */
/* Work of @ns: queued, or recorded where the stream captures. */
void null_stream_queue (NullStream *stream, double ns);
/* Calls @visit for each stream in use. */
void null_stream_each (void (*visit) (NullStream *stream, void *user), void *user);

/* Takes the lock: a call named @name puts work of @ns on the stream. An error code. */
int null_submit (const char *name, void *stream, double ns);
