/*
 * How long a range stays closed to other streams after its block's end.
 *
 * PyTorch may give a freed block to the next allocation of its owner that it can serve,
 * so by then a correct program has ordered the owner's stream behind every use of the
 * block, and perhaps not earlier. A range may therefore pass to another owner (stream, or
 * size class of a stream) only from the owner's first request on that PyTorch could have
 * served from the block: same pool and class, not larger.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

/* Positions of a run that does the repeating step twice: start, step, step, end. */
typedef struct
{
  uint32_t born;
  uint32_t died;
  uint32_t opens; /* >= died: from here on others may have the range */
  uint32_t event; /* <= opens: the owner's request that orders the owner behind it; the
                     run's end: there is none */
  uint32_t event_slot; /* whose that is, or TESSERA_NONE */
} TesseraOccupancy;

typedef struct TesseraClosing TesseraClosing;

TESSERA_MUST_USE TesseraStatus tessera_closing_new (const TesseraPlanBuild *build,
                                                    TesseraClosing **out_closing);
void tessera_closing_free (TesseraClosing *closing); /* NULL is fine */

/* The slot's stay in the first of the two steps, or the only one (@pass 0), or in the
 * second (1). Returns: false where there is no such stay. */
bool tessera_closing_stay (const TesseraClosing *closing,
                           uint32_t slot,
                           int pass,
                           TesseraOccupancy *out_stay);
/* The same for a slot of the start that lives on until @died, inside the first step. */
void tessera_closing_prolong (const TesseraClosing *closing,
                              uint32_t slot,
                              uint32_t died,
                              TesseraOccupancy *stay);
/* The list of ranges that pass from stream to stream, or wait for side streams. */
TESSERA_MUST_USE TesseraStatus tessera_build_hand_overs (TesseraPlanBuild *build,
                                                         const TesseraClosing *closing);
/* Whether no request of the owner comes while the range is closed: then closing it to
 * all is no loss to the owner. */
bool tessera_closing_is_free (const TesseraClosing *closing, uint32_t slot);
/* How far into the next step (position) the range is closed after its block's end: 0 not
 * at all, the step's end: throughout. Of a slot of the start: into the first. */
uint32_t tessera_closing_tail (const TesseraClosing *closing, uint32_t slot);
/* Makes the item of the slot end where it opens, whoever comes next. @from: where it
 * begins when it reaches into the repeating step: the step's begin, or sooner. */
void tessera_closing_extend (const TesseraClosing *closing,
                             uint32_t slot,
                             uint32_t from,
                             TesseraItem *item);
