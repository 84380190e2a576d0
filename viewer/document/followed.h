/*
 * Plans that were made or read, and how the trace runs when it follows them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "edits/history.h"
#include "planner/planner.h"
#include "viewer/document/data.h"

/* What a plan is to be. */
typedef struct
{
  TesseraStrategy strategy;
  gboolean is_preview; /* made at once, to be looked at until the full plan is there */
  gboolean goes_on;    /* from the plan that stood, as `tessera plan --resume` does */
  uint32_t generation; /* of the session's edits: which stood */
} TesseraPlanRequest;

/* A plan and how the trace runs when it is followed. Shared like TesseraData. */
typedef struct
{
  TesseraData *data;
  TesseraPlan *plan;
  TesseraLayout *layout;
  TesseraPlanRequest request; /* all zero: the plan is from a file */
  double seconds;             /* that planning took; 0: it is from a file */
} TesseraFollowed;

/* Who is told, and who stops it. */
typedef struct
{
  const TesseraProgress *planning;  /* where it says stop, the best plan so far is the
                                       result, cut short; no preview */
  const TesseraProgress *following; /* what comes after: TESSERA_CANCELLED there */
  const TesseraListener *listener;  /* (nullable): height and bound so far */
} TesseraPlanWatch;

/* @history: (nullable): edits to be applied.
 * @former: (nullable): the plan that stands; a hint for a preview, and what a plan goes
 * on from.
 * @out_conflict: (nullable): set on TESSERA_REFUSED. */
TesseraStatus tessera_followed_new (TesseraData *data,
                                    const TesseraPlanRequest *request,
                                    const TesseraHistory *history,
                                    const TesseraFollowed *former,
                                    const TesseraPlanWatch *watch,
                                    TesseraError *error,
                                    TesseraEditConflict *out_conflict,
                                    TesseraFollowed **out_planned);
/* A plan from a file, checked against the trace it is to serve. */
TesseraStatus tessera_followed_load (TesseraData *data,
                                     const char *path,
                                     const TesseraProgress *progress,
                                     TesseraError *error,
                                     TesseraFollowed **out_planned);
/* What the run takes at the most: the pool, and beside it what the plan leaves to the
 * dynamic allocator (*out_beside_bytes). */
uint64_t tessera_followed_peak_bytes (const TesseraFollowed *planned,
                                      uint64_t *out_beside_bytes);
TesseraFollowed *tessera_followed_ref (TesseraFollowed *planned);
void tessera_followed_unref (TesseraFollowed *planned); /* NULL is fine */
