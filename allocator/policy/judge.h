/*
 * Whether a plan was made for the run that follows it, by what misses.
 *
 * What misses is reserved beside the pool, so bytes count, not requests: a stretch of the
 * run misfits where more than a tenth of the bytes asked for missed. Stretches are what
 * lies between the marks of a program, and are joined until they ask for enough to
 * matter. One alone tells nothing: it may be an evaluation, or a first step that
 * compiles. A plan misfits where two in a row do and none ever fitted, or eight in a row
 * where some did; what lies before the first step counts only where hardly anything hit,
 * as in another model. Without marks stretches are as many requests as the plan's step
 * has; then an evaluation can't be told from the steps, and a plan that fitted once fits
 * for good.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

typedef struct
{
  TesseraHitCount now;      /* the stretch under way */
  TesseraHitCount misfit;   /* those in a row that misfit */
  uint64_t window_requests; /* without marks: how long the stretch is */
  uint64_t step_requests;   /* of the plan */
  uint64_t enough_bytes;    /* to matter beside the plan's pool */
  uint32_t n_misfits;       /* in a row */
  bool was_fit;             /* some stretch ever */
  bool has_marks;
} TesseraJudge;

void tessera_judge_init (TesseraJudge *judge, const TesseraPlan *plan);

/* The program told a mark: a step begins, or none. Returns: whether the plan misfits. */
TESSERA_MUST_USE bool tessera_judge_mark (TesseraJudge *judge);

/* The stretch is long enough without marks: a part of the next. */
bool tessera_judge_window (TesseraJudge *judge);

/* One request, served by the plan or not. Returns: whether the plan misfits. */
static inline bool
tessera_judge_request (TesseraJudge *judge, uint64_t size_bytes, bool is_hit)
{
  judge->now.n_requests++;
  judge->now.asked_bytes += size_bytes;
  if (!is_hit)
    {
      judge->now.n_misses++;
      judge->now.missed_bytes += size_bytes;
    }
  return !judge->has_marks && judge->now.n_requests >= judge->window_requests &&
         tessera_judge_window (judge);
}
