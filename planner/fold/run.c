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

/* The position of an event outside the repeating steps. */
static uint32_t
position_of (const TesseraRun *run, uint32_t event)
{
  if (event >= run->limit)
    return run->n_positions;
  return run->repeats && event >= run->last_end ? event - run->last_end + run->step_end
                                                : event;
}

/* The latest end of the blocks that a request of the repeating step stands for, in
 * requests from its step's begin: beyond n_requests it lies in the next step. What the
 * last step leaves behind ends at *out_end, else that is 0. */
static uint32_t
latest_end (const TesseraRun *run, uint32_t ordinal, uint32_t *out_end)
{
  uint32_t n_steps = run->last_step - run->first_step + 1, latest = 0;
  const TesseraStep *steps = &run->structure->steps[run->first_step];

  *out_end = 0;
  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint32_t event = run->requests[(size_t) k * run->n_requests + ordinal];
      uint32_t died = run->blocks->blocks[run->blocks->block_of_event[event]].died_index;
      uint32_t end = k + 1 < n_steps ? steps[k + 1].begin_index : run->last_end;
      uint32_t at;

      if (died >= run->last_end)
        {
          *out_end = position_of (run, died);
          continue;
        }
      at = run->ordinal_of[died - run->step_begin] + (died < end ? 0 : run->n_requests);
      if (at > latest)
        latest = at;
    }
  return latest;
}

/* Where in what repeats its request @ordinal is. */
static uint32_t
position_of_request (const TesseraRun *run, uint32_t ordinal)
{
  return ordinal < run->n_requests ? run->requests[ordinal] : run->step_end;
}

static void
lifetime_of_step (const TesseraRun *run,
                  const TesseraBlock *block,
                  TesseraLifetime *lifetime)
{
  uint32_t after, n = run->n_requests;
  uint32_t latest =
      latest_end (run, run->ordinal_of[block->born_index - run->step_begin], &after);

  lifetime->born = block->born_index;
  lifetime->died = position_of_request (run, latest);
  if (after)
    lifetime->died = after > run->step_end ? after : run->step_end;
  if (latest > n)
    {
      lifetime->tail = latest - n;
      lifetime->died_next = position_of_request (run, lifetime->tail);
    }
  if (run->is_assumed && after)
    lifetime->died_next = lifetime->born; /* until its successor comes, for all we know */
  lifetime->wraps = lifetime->died_next > run->step_begin;
  if (!lifetime->wraps)
    lifetime->died_next = 0;
}

bool
tessera_run_lifetime (const TesseraRun *run,
                      uint32_t block,
                      TesseraLifetime *out_lifetime)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  *out_lifetime = (TesseraLifetime){ .tail = TESSERA_NONE };
  if (of->born_index >= run->limit && !(of->flags & TESSERA_AT_START))
    return false;
  if (run->is_dynamic && run->is_dynamic[block])
    return false;
  if (!run->repeats || of->born_index < run->step_begin ||
      of->born_index >= run->last_end)
    {
      out_lifetime->born = position_of (run, of->born_index);
      out_lifetime->died = position_of (run, of->died_index);
      /* Through the first of the repeating steps: through the one that stands for all. */
      if (run->repeats && of->died_index >= run->step_end &&
          of->died_index < run->last_end)
        out_lifetime->died = run->step_end;
    }
  else if (of->born_index < run->step_end)
    lifetime_of_step (run, of, out_lifetime);
  else
    return false;
  if (out_lifetime->died <= out_lifetime->born)
    out_lifetime->died = out_lifetime->born + 1;
  return true;
}

static void
span_in_step (const TesseraRun *run,
              const TesseraBlock *block,
              uint32_t step,
              TesseraLifetime *span)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t ordinal = run->ordinal_of[block->born_index - run->step_begin];
  uint32_t end = step < run->last_step ? steps[step + 1].begin_index : run->last_end;
  uint32_t after =
      step + 1 < run->last_step ? steps[step + 2].begin_index : run->last_end;

  span->born = ordinal > 0 ? run->requests[ordinal - 1] + 1 : run->step_begin;
  span->died = run->step_end;
  if (block->died_index < end)
    {
      span->died =
          position_of_request (run, run->ordinal_of[block->died_index - run->step_begin]);
      return;
    }
  span->wraps = true;
  span->died_next = run->step_end;
  if (block->died_index < after)
    span->died_next =
        position_of_request (run, run->ordinal_of[block->died_index - run->step_begin]);
  span->wraps = span->died_next > run->step_begin;
  span->died_next = span->wraps ? span->died_next : 0;
}

bool
tessera_run_span (const TesseraRun *run,
                  uint32_t block,
                  TesseraLifetime *out_span,
                  uint32_t *out_step)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  *out_span = (TesseraLifetime){ .tail = TESSERA_NONE };
  *out_step = run->first_step;
  if (!run->is_dynamic || !run->is_dynamic[block] || of->born_index >= run->limit)
    return false;
  if (of->born_index >= run->step_begin && of->born_index < run->last_end)
    {
      while (*out_step < run->last_step &&
             run->structure->steps[*out_step + 1].begin_index <= of->born_index)
        ++*out_step;
      span_in_step (run, of, *out_step, out_span);
      return true;
    }
  out_span->born = position_of (run, of->born_index);
  out_span->died = position_of (run, of->died_index);
  if (of->died_index >= run->step_end && of->died_index < run->last_end)
    out_span->died = run->step_end;
  if (out_span->died <= out_span->born)
    out_span->died = out_span->born + 1;
  return true;
}

uint32_t
tessera_run_stands_for (const TesseraRun *run, uint32_t block)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  if (of->born_index >= run->limit && !(of->flags & TESSERA_AT_START))
    return TESSERA_NONE;
  if (run->is_dynamic && run->is_dynamic[block])
    return TESSERA_NONE;
  if (!run->repeats || of->flags & TESSERA_AT_START || of->born_index < run->step_end ||
      of->born_index >= run->last_end)
    return block;
  return run->blocks
      ->block_of_event[run->requests[run->ordinal_of[of->born_index - run->step_begin]]];
}

uint32_t
tessera_run_tail (const TesseraRun *run, uint32_t block)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  if (!run->repeats || of->born_index >= run->step_begin ||
      of->died_index <= run->step_begin || of->died_index >= run->step_end)
    return TESSERA_NONE;
  return run->ordinal_of[of->died_index - run->step_begin];
}

void
tessera_run_clear (TesseraRun *run)
{
  free (run->requests);
  free (run->ordinal_of);
  free (run->is_dynamic);
  free (run->is_kept);
  memset (run, 0, sizeof *run);
}
