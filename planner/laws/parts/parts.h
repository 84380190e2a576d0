/*
 * Parts of steps: what lies between two cuts, such as the micro-batches of a step that
 * accumulates gradients.
 *
 * Each micro-batch may have a length of its own; then sizes follow laws of the part, not
 * of the step. A cut is where the phase begins again in which steps begin their work
 * (forward), after another one came (backward): who follows a plan is told the same. The
 * last part of a step reaches to its end.
 *
 * What is asked for between two steps is a part of neither.
 *
 * Example: forward, backward, forward, backward, optimizer is cut before the second
 * forward: two parts, one forward and backward each, and the optimizer with the second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

typedef struct
{
  TesseraStructure structure; /* steps are parts, phases have their bare names; events
                                 are borrowed */
  const char *phase; /* whose begin is the cut, by its bare name; NULL: no step is cut */
  uint32_t *step_of; /* [parts] the step that it is of; the number of them: of none */
  const TesseraStructure *whole;
} TesseraStepParts;

/* @structure and @trace must outlive @parts. Only steps and phases that the trace tells
 * are cut: inferred ones no run could tell. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus
tessera_step_parts_init (TesseraStepParts *parts,
                         const TesseraTrace *trace,
                         const TesseraStructure *structure);
void tessera_step_parts_clear (TesseraStepParts *parts);
