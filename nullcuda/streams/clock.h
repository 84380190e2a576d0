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

typedef struct NullStream NullStream;
typedef struct NullEvent NullEvent;
typedef struct NullGraph NullGraph;

void null_clock_lock (void);
void null_clock_unlock (void);

/* Under the lock. */
double null_clock_now (void);
void null_clock_spend (double ns);    /* the host is busy that long */
void null_clock_reach (double at_ns); /* the host waits until then */

/* Takes the lock. The host waits for all that is queued on @device. */
void null_clock_wait_for_all (int device);
