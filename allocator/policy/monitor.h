/*
 * The plan monitor: whether a plan was made for the run that follows it, by what misses.
 *
 * What misses is reserved beside the pool, so bytes count, not requests: a stretch of the
 * run misfits where more than a tenth of the bytes asked for missed. Stretches are what
 * lies between the marks of a program, and are joined until they ask for enough to
 * matter. One alone tells nothing: it may be an evaluation, or a first step that
 * compiles. A plan misfits where two in a row do and none ever fitted, or eight in a row
 * where some did; what lies before the first step counts only where hardly anything hit,
 * as in another model. The stretch that decides needn't come to its end where most of a
 * good part of it missed. Without marks stretches are as many requests as the plan's step
 * has; then an evaluation can't be told from the steps, and a plan that fitted once fits
 * for good. What the plan leaves to others (unplanned requests) does not count.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

typedef struct
{
  TesseraHitCount now;      /* the stretch under way */
  TesseraHitCount misfit;   /* those in a row that misfit */
  uint64_t window_requests; /* how long the stretch is at most */
  uint64_t step_requests;   /* of the plan */
  uint64_t enough_bytes;    /* to matter beside the plan's pool */
  uint64_t early_bytes; /* asked for in this stretch: it is looked at before its end */
  uint32_t n_misfits;   /* in a row */
  bool was_fit;         /* some stretch ever */
  bool has_marks;
} TesseraMonitor;

void tessera_monitor_init (TesseraMonitor *monitor, const TesseraPlan *plan);
/* Of a plan that is followed by length, with a pool of @height_bytes at the most. */
void tessera_monitor_init_lengths (TesseraMonitor *monitor,
                                   const TesseraLengths *lengths,
                                   uint64_t height_bytes);

/* The program told a mark: a step begins, or none. Returns: whether the plan misfits. */
TESSERA_MUST_USE bool tessera_monitor_mark (TesseraMonitor *monitor);

/* Whether it looks as if the plan might misfit, long before that is decided: by the
 * stretch under way, or the one before. */
TESSERA_MUST_USE bool tessera_monitor_doubts (const TesseraMonitor *monitor);

/* The part of tessera_monitor_request() that is seldom due. */
bool tessera_monitor_look (TesseraMonitor *monitor);

/* One request, served by the plan or not. Returns: whether the plan misfits. */
static inline bool
tessera_monitor_request (TesseraMonitor *monitor, uint64_t size_bytes, bool is_hit)
{
  monitor->now.n_requests++;
  monitor->now.asked_bytes += size_bytes;
  if (!is_hit)
    {
      monitor->now.n_misses++;
      monitor->now.missed_bytes += size_bytes;
    }
  if (monitor->now.asked_bytes < monitor->early_bytes &&
      monitor->now.n_requests < monitor->window_requests)
    return false;
  return tessera_monitor_look (monitor);
}
