/*
 * The canonical run: see planner/fold.h.
 *
 * What folds says nothing of frees, so a slot lives as long as the longest-lived of the
 * blocks that it stands for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static TesseraStatus
find_step (const TesseraStructure *structure,
           int64_t number,
           TesseraError *error,
           uint32_t *out_index)
{
  for (uint32_t i = 0; i < structure->n_steps; i++)
    if (structure->steps[i].number == number)
      {
        *out_index = i;
        return TESSERA_OK;
      }
  if (structure->n_steps == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "step %" PRId64
                         " was asked for, but no steps were found in this "
                         "trace: plan it without a range of steps",
                         number);
  return tessera_fail (error, TESSERA_INVALID,
                       "step %" PRId64 " was asked for, but the trace has steps %" PRId64
                       " to %" PRId64 ": choose among these",
                       number, structure->steps[0].number,
                       structure->steps[structure->n_steps - 1].number);
}

TesseraStatus
tessera_run_init (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  int64_t first_step,
                  int64_t last_step,
                  TesseraError *error,
                  TesseraRun *out_run)
{
  uint32_t from = 0, to = structure->n_steps ? (uint32_t) structure->n_steps - 1 : 0;
  TesseraStatus status = TESSERA_OK;

  *out_run = (TesseraRun){ .trace = trace,
                           .blocks = blocks,
                           .structure = structure,
                           .limit = (uint32_t) trace->n_events };
  if (first_step >= 0)
    status = find_step (structure, first_step, error, &from);
  if (status == TESSERA_OK && last_step >= 0)
    {
      status = find_step (structure, last_step, error, &to);
      if (status == TESSERA_OK && to < structure->n_steps - 1)
        out_run->limit = structure->steps[to].end_index;
    }
  if (status != TESSERA_OK)
    return status;
  out_run->units =
      (TesseraUnits){ .trace = trace, .blocks = blocks, .limit = out_run->limit };
  if (from > to)
    return tessera_fail (error, TESSERA_INVALID,
                         "the first step of the plan, %" PRId64 ", lies after the last, "
                         "%" PRId64 ": exchange them",
                         first_step, last_step);
  if (structure->n_steps == 0)
    tessera_run_whole (
        out_run, "no step that repeats was found: a run follows this plan only by asking "
                 "for the same things in the same order");
  else
    tessera_run_choose (out_run, from, to, first_step >= 0 || last_step >= 0);
  return TESSERA_OK;
}

/* In the @step-th of the steps that repeat. */
static TesseraRunSpan
span_in_step (const TesseraUnits *units, const TesseraBlock *block, uint32_t step)
{
  const TesseraStepKind *kind = &units->kinds[0];
  uint32_t place = units->place_of[block->born_index - units->begin];
  uint32_t died = block->died_index;
  TesseraRunSpan span = { .born = place > 0 ? kind->requests[place - 1] + 1 : kind->begin,
                          .died = kind->end };

  if (died < units->units[step].end)
    span.died = tessera_units_position (units, 0, units->place_of[died - units->begin]);
  else if (step + 1 < units->n_units && died < units->units[step + 1].end)
    span.died_next =
        tessera_units_position (units, 0, units->place_of[died - units->begin]);
  else
    span.died_next = kind->end;
  if (span.died_next <= kind->begin)
    span.died_next = 0;
  return span;
}

bool
tessera_run_span (const TesseraRun *run,
                  uint32_t block,
                  TesseraRunSpan *out_span,
                  uint32_t *out_step)
{
  const TesseraUnits *units = &run->units;
  const TesseraBlock *of = &run->blocks->blocks[block];

  *out_step = 0;
  if (!units->is_dynamic || !units->is_dynamic[block] || of->born_index >= run->limit)
    return false;
  if (of->born_index >= units->begin && of->born_index < units->end)
    {
      *out_step = tessera_units_at (units, of->born_index);
      *out_span = span_in_step (units, of, *out_step);
      return true;
    }
  *out_span =
      (TesseraRunSpan){ .born = tessera_units_outside (units, of->born_index),
                        .died =
                            of->died_index >= units->begin && of->died_index < units->end
                                ? MIN (of->died_index, units->first_end)
                                : tessera_units_outside (units, of->died_index) };
  out_span->died = MAX (out_span->died, out_span->born + 1);
  return true;
}

void
tessera_run_clear (TesseraRun *run)
{
  tessera_units_clear (&run->units);
  memset (run, 0, sizeof *run);
}
