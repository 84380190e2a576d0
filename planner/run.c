/*
 * The canonical run: see run.h.
 *
 * The longest run of steps with equal requests is folded. That says nothing of frees, so
 * a slot lives as long as the longest-lived of the blocks that it stands for. A block
 * that is alive through the whole of the step after its own is a leak: from there on
 * nothing can be folded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/run.h"
#include "planner/dynamic/dynamic.h"
#include "planner/dynamic/share.h"
#include "planner/structure/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Share of a step's requests that may differ from the step before when it is assumed to
 * repeat without having been seen to. */
#define ASSUMED_DIFFERENCE 0.1

/* Steps that stand for all. */
static uint32_t
n_at_once (const TesseraRun *run)
{
  return run->is_paired ? 2 : 1;
}

static bool
asks (const TesseraEvent *event)
{
  return event->action == TESSERA_ALLOC || event->action == TESSERA_OOM;
}

/* A digest of the requests in [begin, end). */
static uint64_t
digest (const TesseraRun *run, uint32_t begin, uint32_t end)
{
  uint64_t hash = TESSERA_FNV_BASIS;

  for (uint32_t i = begin; i < end; i++)
    {
      const TesseraEvent *event = &run->trace->events[i];

      if (!asks (event))
        continue;
      hash = tessera_mix (tessera_mix (hash, event->action), event->size_bytes);
      hash = tessera_mix (hash, (uint64_t) event->stream << 16 | event->pool);
    }
  return hash;
}

/* What lies between steps k and k + 1, for first <= k < last, asks for the same. */
static bool
gaps_are_equal (const TesseraRun *run, uint32_t first, uint32_t last)
{
  const TesseraStep *steps = run->structure->steps;
  uint64_t of_first = digest (run, steps[first].end_index, steps[first + 1].begin_index);

  for (uint32_t k = first + 1; k < last; k++)
    if (digest (run, steps[k].end_index, steps[k + 1].begin_index) != of_first)
      return false;
  return true;
}

/* A block born in [begin, end) that is alive at @until: the step leaks. */
static bool
leaks (const TesseraRun *run, uint32_t begin, uint32_t end, uint32_t until)
{
  const TesseraBlocks *blocks = run->blocks;

  for (uint32_t i = begin; i < end; i++)
    if (run->trace->events[i].action == TESSERA_ALLOC &&
        blocks->blocks[blocks->block_of_event[i]].died_index >= until)
      return true;
  return false;
}

/* Whether something is asked for between step @k and the next. */
static bool
has_gap (const TesseraRun *run, uint32_t k)
{
  const TesseraStep *steps = run->structure->steps;

  return digest (run, steps[k].end_index, steps[k + 1].begin_index) != TESSERA_FNV_BASIS;
}

static bool
have_gaps (const TesseraRun *run, uint32_t first, uint32_t last)
{
  bool have = false;

  for (uint32_t k = first; k < last && !have; k++)
    have = has_gap (run, k);
  return have;
}

/* Narrows [*first, *last] to steps that fold; false: none do. @are_equal: what lies
 * between them has to be equal as well. */
static bool
narrow (const TesseraRun *run, bool are_equal, uint32_t *first, uint32_t *last)
{
  const TesseraStep *steps = run->structure->steps;
  bool has_gaps = have_gaps (run, *first, *last);

  /* The last step has nothing between it and a next one: it goes to the end section. */
  if (has_gaps)
    {
      if (*last - *first < 2 || (are_equal && !gaps_are_equal (run, *first, *last)))
        return false;
      (*last)--;
    }
  for (uint32_t k = *last; k > *first; k--)
    if (leaks (run, steps[k - 1].begin_index, steps[k].begin_index,
               k == *last && !has_gaps ? steps[k].end_index : steps[k + 1].begin_index))
      {
        *first = k;
        break;
      }
  /* Blocks from before the trace need a start section to be slots of. */
  if (*first < *last && steps[*first].begin_index == 0 && run->blocks->n_blocks &&
      (run->blocks->blocks[0].flags & TESSERA_AT_START))
    (*first)++;
  return *first < *last;
}

static void
whole (TesseraRun *run, const char *reason)
{
  run->repeats = false;
  run->n_positions = run->limit ? run->limit : 1;
  snprintf (run->reason, sizeof run->reason, "%s", reason);
}

/* Share of the blocks born in the step that the step before has no equal of. */
static double
difference (const TesseraRun *run, uint32_t step)
{
  size_t n_born = 0, n_different = 0;

  for (size_t i = 0; i < run->blocks->n_blocks; i++)
    if (run->blocks->blocks[i].step == step)
      {
        n_born++;
        n_different += run->blocks->blocks[i].lifetime_class == TESSERA_CLASS_DYNAMIC;
      }
  return n_born ? (double) n_different / (double) n_born : 1;
}

/* Where the last step of those that fold ends: where the next begins, unless something is
 * asked for in between that the others have nothing like. */
static uint32_t
end_of (const TesseraRun *run, uint32_t first, uint32_t last)
{
  const TesseraStep *steps = run->structure->steps;

  if (last + 1 >= run->structure->n_steps || steps[last + 1].begin_index > run->limit ||
      (has_gap (run, last) && !have_gaps (run, first, last)))
    return steps[last].end_index;
  return steps[last + 1].begin_index;
}

/* A request that has a slot. */
static bool
is_planned (const TesseraRun *run, uint32_t event)
{
  return asks (&run->trace->events[event]) &&
         !(run->is_dynamic && run->is_dynamic[run->blocks->block_of_event[event]]);
}

static TesseraStatus
fold (TesseraRun *run, uint32_t first, uint32_t last)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t n = 0, n_all = 0;

  run->repeats = true;
  run->first_step = first;
  run->last_step = last;
  run->step_begin = steps[first].begin_index;
  run->last_begin = steps[last].begin_index;
  run->last_end = end_of (run, first, last);
  run->step_end = last - first >= n_at_once (run)
                      ? steps[first + n_at_once (run)].begin_index
                      : run->last_end;
  run->n_positions = run->limit - run->last_end + run->step_end;
  run->requests = malloc ((run->last_end - run->step_begin + 1) * sizeof (uint32_t));
  run->ordinal_of = malloc ((run->last_end - run->step_begin + 1) * sizeof (uint32_t));
  if (!run->requests || !run->ordinal_of)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = run->step_begin, step = first; i < run->last_end; i++)
    {
      if (step < last && i == steps[step + 1].begin_index)
        {
          step++;
          n = 0;
        }
      run->ordinal_of[i - run->step_begin] = n;
      if (!is_planned (run, i))
        continue;
      run->requests[n_all++] = i;
      n++;
    }
  run->n_requests = n_all / (last - first + 1);
  return TESSERA_OK;
}

/* The longest run of steps in [*first, *last] that ask for the same; of equals the
 * latest.
 */
static void
longest_run (const TesseraRun *run, uint32_t *first, uint32_t *last)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t from = *first, to = *last, begin = from;
  uint64_t before = 0;

  *first = *last = from;
  for (uint32_t k = from; k <= to; k++)
    {
      uint64_t now = digest (run, steps[k].begin_index, steps[k].end_index);

      if (k == from || now != before)
        begin = k;
      before = now;
      if (k - begin >= *last - *first)
        {
          *first = begin;
          *last = k;
        }
    }
}

/* How many steps in [from, to] ask for the same as step @like, in a row or not: where
 * every few steps evaluate or log, the runs between are short. */
static uint32_t
count_alike (const TesseraRun *run, uint32_t from, uint32_t to, uint32_t like)
{
  const TesseraStep *steps = run->structure->steps;
  uint64_t wanted = digest (run, steps[like].begin_index, steps[like].end_index);
  uint32_t n = 0;

  for (uint32_t k = from; k <= to; k++)
    n += digest (run, steps[k].begin_index, steps[k].end_index) == wanted;
  return n;
}

/* Folds the steps without the requests that they do not share, where that is worth it.
 */
static TesseraStatus
fold_partly (TesseraRun *run, uint32_t from, uint32_t to)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t first = from, last = to;
  TesseraDynamicLoad load = { 0 };
  TesseraStatus status;

  if (from == to || !narrow (run, false, &first, &last))
    return TESSERA_OK;
  if (last - first >= TESSERA_SHARE_STEPS)
    first = last - TESSERA_SHARE_STEPS + 1;
  status = tessera_dynamic_find (run->trace, run->blocks, run->structure, first, last,
                                 end_of (run, first, last), run->limit, &run->is_dynamic,
                                 &load);
  if (status != TESSERA_OK || !run->is_dynamic)
    return status;
  snprintf (
      run->reason, sizeof run->reason,
      "steps %" PRId64 " to %" PRId64 " ask for the same but for %" PRIu32
      " dynamic requests a step, %.1f MiB at most alive: a run follows this plan for "
      "any number of steps",
      steps[first].number, steps[last].number, load.n_a_step,
      (double) load.most_bytes / (1 << 20));
  return fold (run, first, last);
}

/* Nothing is folded: why, and what that means for a run. */
static void
decline (TesseraRun *run, bool is_one_step, bool are_alike)
{
  if (is_one_step && run->structure->n_steps > 1)
    whole (run, "one step was asked for and can't tell whether it repeats (ask for two): "
                "a run follows this plan only by asking for the same things in the same "
                "order");
  else if (is_one_step)
    whole (run, "the trace shows one step only and can't tell whether it repeats: a run "
                "follows this plan only by asking for the same things in the same order");
  else if (are_alike)
    whole (run, "steps are alike but keep some of what they allocate: a run follows this "
                "plan only by asking for the same things in the same order");
  else
    whole (run,
           "each step asks for other sizes: a run follows this plan only with the same "
           "batches in the same order");
}

/* Steps [from, to] are in view. */
static TesseraStatus
choose (TesseraRun *run, uint32_t from, uint32_t to, bool is_asked)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t first = from, last = to;
  bool are_alike;
  TesseraStatus status;

  longest_run (run, &first, &last);
  /* Among steps that vary, two may be equal by chance. */
  if (2 * count_alike (run, from, to, first) < to - from + 1)
    last = first;
  are_alike = first < last;
  if (are_alike && narrow (run, true, &first, &last))
    {
      snprintf (run->reason, sizeof run->reason,
                "steps %" PRId64 " to %" PRId64
                " ask for the same: a run follows this plan for any number of steps",
                steps[first].number, steps[last].number);
      return fold (run, first, last);
    }
  status = fold_partly (run, from, to);
  if (status != TESSERA_OK || run->repeats)
    return status;
  if (is_asked && to > from && steps[to].begin_index > 0 &&
      difference (run, to) <= ASSUMED_DIFFERENCE)
    {
      run->is_assumed = true;
      snprintf (run->reason, sizeof run->reason,
                "step %" PRId64 " is taken for the one that repeats: it differs little "
                "from the step before",
                steps[to].number);
      return fold (run, to, to);
    }
  decline (run, from == to, are_alike);
  return TESSERA_OK;
}

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
    whole (out_run,
           "no step that repeats was found: a run follows this plan only by asking "
           "for the same things in the same order");
  else
    status = choose (out_run, from, to, first_step >= 0 || last_step >= 0);
  if (status != TESSERA_OK)
    tessera_run_clear (out_run);
  return status == TESSERA_NO_MEMORY
             ? tessera_fail (error, status, "not enough memory to plan")
             : status;
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
  return ordinal < n_at_once (run) * run->n_requests ? run->requests[ordinal]
                                                     : run->step_end;
}

/* Requests of what repeats before the step of it that the event is in. */
static uint32_t
n_before_step (const TesseraRun *run, uint32_t event)
{
  return run->is_paired && event >= run->structure->steps[run->first_step + 1].begin_index
             ? run->n_requests
             : 0;
}

static void
spell_of_step (const TesseraRun *run, const TesseraBlock *block, TesseraSpell *spell)
{
  uint32_t after, n = n_at_once (run) * run->n_requests;
  uint32_t before = n_before_step (run, block->born_index);
  uint32_t latest =
      before +
      latest_end (run, run->ordinal_of[block->born_index - run->step_begin], &after);

  /* The end comes behind the later step of a pair. */
  if (before + run->n_requests < n)
    after = 0;
  spell->born = block->born_index;
  spell->died = position_of_request (run, latest);
  if (after)
    spell->died = after > run->step_end ? after : run->step_end;
  if (latest > n)
    {
      spell->tail = latest - n;
      spell->died_next = position_of_request (run, spell->tail);
    }
  if (run->is_assumed && after)
    spell->died_next = spell->born; /* until its successor comes, for all we know */
  spell->wraps = spell->died_next > run->step_begin;
  if (!spell->wraps)
    spell->died_next = 0;
}

bool
tessera_run_spell (const TesseraRun *run, uint32_t block, TesseraSpell *out_spell)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  *out_spell = (TesseraSpell){ .tail = TESSERA_NONE };
  if (of->born_index >= run->limit && !(of->flags & TESSERA_AT_START))
    return false;
  if (run->is_dynamic && run->is_dynamic[block])
    return false;
  if (!run->repeats || of->born_index < run->step_begin ||
      of->born_index >= run->last_end)
    {
      out_spell->born = position_of (run, of->born_index);
      out_spell->died = position_of (run, of->died_index);
      /* Through the first of the repeating steps: through the one that stands for all. */
      if (run->repeats && of->died_index >= run->step_end &&
          of->died_index < run->last_end)
        out_spell->died = run->step_end;
    }
  else if (of->born_index < run->step_end)
    spell_of_step (run, of, out_spell);
  else
    return false;
  if (out_spell->died <= out_spell->born)
    out_spell->died = out_spell->born + 1;
  return true;
}

static void
span_in_step (const TesseraRun *run,
              const TesseraBlock *block,
              uint32_t step,
              TesseraSpell *span)
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
                  TesseraSpell *out_span,
                  uint32_t *out_step)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  *out_span = (TesseraSpell){ .tail = TESSERA_NONE };
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

/* The same of a repeating step that is not of the first pair. */
static uint32_t
n_before_step_like (const TesseraRun *run, uint32_t event)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t low = run->first_step, high = run->last_step + 1;

  if (!run->is_paired)
    return 0;
  while (high - low > 1)
    {
      uint32_t middle = low + (high - low) / 2;

      if (steps[middle].begin_index <= event)
        low = middle;
      else
        high = middle;
    }
  return (low - run->first_step) % 2 * run->n_requests;
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
      ->block_of_event[run->requests[n_before_step_like (run, of->born_index) +
                                     run->ordinal_of[of->born_index - run->step_begin]]];
}

uint32_t
tessera_run_partner (const TesseraRun *run, uint32_t block)
{
  const TesseraBlock *of = &run->blocks->blocks[block];
  uint32_t ordinal;

  if (!run->is_paired || of->flags & TESSERA_AT_START ||
      of->born_index < run->step_begin || of->born_index >= run->step_end)
    return TESSERA_NONE;
  ordinal = run->ordinal_of[of->born_index - run->step_begin];
  if (n_before_step (run, of->born_index) == 0)
    ordinal += run->n_requests;
  return run->blocks->block_of_event[run->requests[ordinal]];
}

uint32_t
tessera_run_tail (const TesseraRun *run, uint32_t block)
{
  const TesseraBlock *of = &run->blocks->blocks[block];

  if (!run->repeats || of->born_index >= run->step_begin ||
      of->died_index <= run->step_begin || of->died_index >= run->step_end)
    return TESSERA_NONE;
  return n_before_step (run, of->died_index) +
         run->ordinal_of[of->died_index - run->step_begin];
}

bool
tessera_run_pair (const TesseraRun *run, TesseraRun *out_paired)
{
  uint32_t first = run->first_step, last = run->last_step;
  TesseraRun paired = *run;

  *out_paired = (TesseraRun){ 0 };
  first += (last - first) % 2 == 0;
  if (!run->repeats || run->is_dynamic || run->is_assumed || first >= last)
    return false;
  paired.is_paired = true;
  paired.requests = paired.ordinal_of = NULL;
  snprintf (paired.reason, sizeof paired.reason,
            "steps %" PRId64 " to %" PRId64
            " ask for the same: a run follows this plan for any number of steps, which "
            "take two layouts in turn",
            run->structure->steps[first].number, run->structure->steps[last].number);
  if (fold (&paired, first, last) != TESSERA_OK)
    {
      tessera_run_clear (&paired);
      return false;
    }
  *out_paired = paired;
  return true;
}

void
tessera_run_clear (TesseraRun *run)
{
  free (run->requests);
  free (run->ordinal_of);
  free (run->is_dynamic);
  memset (run, 0, sizeof *run);
}
