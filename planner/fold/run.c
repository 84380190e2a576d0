/*
 * The canonical run: see planner/fold.h.
 *
 * The longest run of steps with equal requests is folded, else what all steps have in
 * common. A block that is alive through the whole of the step after its own is kept for
 * good: its request gets no place in any step, where that is little; else nothing can be
 * folded up to there.
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

#include "db/size-text.h"
#include "planner/structure/private.h"

/* ---- Which steps fold ---- */

/* Share of a step's requests that may differ from the step before when it is assumed to
 * repeat without having been seen to. */
#define ASSUMED_DIFFERENCE 0.1

static uint64_t
digest (const TesseraRun *run, uint32_t begin, uint32_t end)
{
  TesseraUnit unit = { .begin = begin, .end = end };

  tessera_unit_measure (run->trace, &unit);
  return unit.digest;
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

/* The last step has nothing between it and a next one: where others have, it goes to the
 * end section. false: what lies between them is to be equal, and is not. */
static bool
close_gaps (const TesseraRun *run, bool are_equal, uint32_t first, uint32_t *last)
{
  if (!have_gaps (run, first, *last))
    return true;
  if (*last - first < 2 || (are_equal && !gaps_are_equal (run, first, *last)))
    return false;
  (*last)--;
  return true;
}

/* Blocks from before the trace need a start section to be slots of. */
static bool
leave_start (const TesseraRun *run, uint32_t *first, uint32_t last)
{
  if (*first < last && run->structure->steps[*first].begin_index == 0 &&
      run->blocks->n_blocks && (run->blocks->blocks[0].flags & TESSERA_AT_START))
    (*first)++;
  return *first < last;
}

/* Narrows [*first, *last] to steps that fold; false: none do. @are_alike: what lies between
 * them is to be equal too. What several steps keep does no harm: @habits. */
static bool
narrow (const TesseraRun *run,
        const TesseraHabits *habits,
        bool are_alike,
        uint32_t *first,
        uint32_t *last)
{
  const TesseraStep *steps = run->structure->steps;
  bool has_gaps = have_gaps (run, *first, *last);

  if (!close_gaps (run, are_alike, *first, last))
    return false;
  for (uint32_t k = *last; k > *first; k--)
    {
      const TesseraHabitRange before = { steps[k - 1].begin_index, steps[k].begin_index,
                                         k == *last && !has_gaps
                                             ? steps[k].end_index
                                             : steps[k + 1].begin_index };

      if (tessera_habits_leak (habits, &before))
        {
          *first = k;
          break;
        }
    }
  return leave_start (run, first, *last);
}

static void
fold_none (TesseraRun *run, const char *reason)
{
  TesseraUnits *units = &run->units;

  units->begin = units->end = units->first_end = run->limit;
  units->n_positions = run->limit ? run->limit : 1;
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

static void
fold_steps (TesseraRun *run, uint32_t first, uint32_t last)
{
  const TesseraStep *steps = run->structure->steps;
  TesseraUnits *units = &run->units;
  TesseraStepKind *kind = &units->kinds[0];

  run->last_step = last;
  units->begin = steps[first].begin_index;
  units->end = end_of (run, first, last);
  units->n_kinds = 1;
  kind->n_units = units->n_units = last - first + 1;
  units->units = g_new0 (TesseraUnit, units->n_units);
  units->place_of = g_new0 (uint32_t, units->end - units->begin + 1u);
  for (uint32_t u = 0; u < units->n_units; u++)
    {
      TesseraUnit *unit = &units->units[u];

      unit->is_step = true;
      unit->begin = steps[first + u].begin_index;
      unit->end = u + 1 < units->n_units ? steps[first + u + 1].begin_index : units->end;
      for (uint32_t e = unit->begin; e < unit->end; e++)
        {
          units->place_of[e - units->begin] = unit->n_requests;
          unit->n_requests += tessera_units_plan (units, e);
        }
    }
  kind->n_requests = units->units[0].n_requests;
  tessera_units_lay_out (units);
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

/* Forgets what was folded. */
static void
unfold (TesseraRun *run)
{
  tessera_units_clear (&run->units);
  run->units =
      (TesseraUnits){ .trace = run->trace, .blocks = run->blocks, .limit = run->limit };
}

/* "steps 3 to 12 ask for the same but for ..." */
static void
describe (TesseraRun *run, uint32_t first, uint32_t last, const TesseraDynamicLoad *load)
{
  const TesseraStep *steps = run->structure->steps;
  const TesseraStepKind *kind = &run->units.kinds[0];
  char but[120] = "", kept[120] = "";

  if (run->units.is_dynamic)
    snprintf (but, sizeof but,
              " but for %" PRIu32 " dynamic requests a step, %s at most alive",
              load->n_a_step, TESSERA_SIZE (load->most_bytes));
  if (kind->n_kept > 0)
    tessera_kept_say (kind->n_kept, kind->kept_bytes, kept, sizeof kept);
  snprintf (run->reason, sizeof run->reason,
            "steps %" PRId64 " to %" PRId64
            " ask for the same%s: a run follows this plan for any number of steps%s",
            steps[first].number, steps[last].number, but, kept);
}

/* Folds the steps without what they keep by habit; where they are not alike, also without
 * the requests that they do not share, if that is worth it. */
static void
fold_with_habits (TesseraRun *run,
                  const TesseraHabits *habits,
                  bool are_alike,
                  uint32_t from,
                  uint32_t to)
{
  uint32_t first = from, last = to;
  TesseraDynamicLoad load = { 0 };

  if (from == to || !narrow (run, habits, are_alike, &first, &last))
    return;
  if (!are_alike)
    {
      if (last - first >= TESSERA_SHARE_STEPS)
        first = last - TESSERA_SHARE_STEPS + 1;
      tessera_dynamic_find (run, first, last, end_of (run, first, last),
                            &run->units.is_dynamic, &load);
      if (!run->units.is_dynamic)
        return;
    }
  fold_steps (run, first, last);
  if (tessera_habits_are_any (habits))
    tessera_units_find_kept (&run->units);
  if (run->units.kinds[0].kept_bytes > habits->most_bytes)
    unfold (run);
  else
    describe (run, first, last, &load);
}

/* What several of the steps keep, little as it is. */
static void
find_habits (const TesseraRun *run,
             bool are_alike,
             uint32_t from,
             uint32_t to,
             TesseraHabits *out_habits)
{
  const TesseraStep *steps = run->structure->steps;
  g_autofree TesseraHabitRange *ranges =
      g_new (TesseraHabitRange, (size_t) to - from + 1);
  uint64_t peak_bytes = tessera_blocks_bound (run->blocks, steps[from].begin_index,
                                              steps[from + 1].end_index, NULL);
  uint32_t n = to - from + 1;
  /* What one step alone keeps is no habit if half of the steps, and two, come after it. */
  uint32_t n_early = are_alike ? MIN (n / 2, n - 2) : n;

  for (uint32_t k = from; k < to; k++)
    ranges[k - from] =
        (TesseraHabitRange){ steps[k].begin_index, steps[k + 1].begin_index,
                             k + 1 < to ? steps[k + 2].begin_index
                                        : steps[k + 1].end_index };
  tessera_habits_init (out_habits, run->trace, run->blocks, ranges, to - from, n_early,
                       tessera_kept_most (peak_bytes, run->units.n_kinds > 0));
}

/* Folds the steps, or what they share: as if none may keep anything; else with what they
 * keep, where that folds steps that are alike and would not else. */
static void
fold (TesseraRun *run, bool are_alike, uint32_t from, uint32_t to)
{
  TesseraHabits habits = { .trace = run->trace, .blocks = run->blocks };
  TesseraRun without;

  fold_with_habits (run, &habits, are_alike, from, to);
  if (from == to || (run->units.n_kinds > 0 && !are_alike))
    return;
  find_habits (run, are_alike, from, to, &habits);
  if (tessera_habits_are_any (&habits))
    {
      without = *run;
      run->units = (TesseraUnits){ 0 };
      unfold (run);
      fold_with_habits (run, &habits, are_alike, from, to);
      if (run->units.n_units > without.units.n_units)
        tessera_units_clear (&without.units);
      else
        {
          tessera_units_clear (&run->units);
          *run = without;
        }
    }
  tessera_habits_clear (&habits);
}

static void
decline_alike (TesseraRun *run, uint32_t first, uint32_t last)
{
  char reason[300];

  fold_steps (run, first, last);
  tessera_units_find_kept (&run->units);
  snprintf (reason, sizeof reason,
            "steps are alike but keep some of what they allocate, %s each: a run "
            "follows this plan only by asking for the same things in the same order",
            TESSERA_SIZE (run->units.kinds[0].kept_bytes));
  unfold (run);
  fold_none (run, reason);
}

/* Nothing is folded: why, and what that means for a run. Steps [@first, @last] are alike. */
static void
decline (TesseraRun *run, bool is_one_step, uint32_t first, uint32_t last)
{
  if (is_one_step && run->structure->n_steps > 1)
    fold_none (run,
               "one step was asked for and can't tell whether it repeats (ask for two): "
               "a run follows this plan only by asking for the same things in the same "
               "order");
  else if (is_one_step)
    fold_none (run,
               "the trace shows one step only and can't tell whether it repeats: a run "
               "follows this plan only by asking for the same things in the same order");
  else if (first < last)
    decline_alike (run, first, last);
  else
    fold_none (
        run, "each step asks for other sizes: a run follows this plan only with the same "
             "batches in the same order");
}

static void
choose (TesseraRun *run, uint32_t from, uint32_t to, bool is_asked)
{
  const TesseraStep *steps = run->structure->steps;
  uint32_t first = from, last = to;

  longest_run (run, &first, &last);
  /* Among steps that vary, two may be equal by chance. */
  if (2 * count_alike (run, from, to, first) < to - from + 1)
    last = first;
  fold (run, true, first, last);
  if (run->units.n_kinds == 0)
    fold (run, false, from, to);
  if (run->units.n_kinds > 0)
    return;
  if (is_asked && to > from && steps[to].begin_index > 0 &&
      difference (run, to) <= ASSUMED_DIFFERENCE)
    {
      snprintf (run->reason, sizeof run->reason,
                "step %" PRId64 " is taken for the one that repeats: it differs little "
                "from the step before",
                steps[to].number);
      fold_steps (run, to, to);
      return;
    }
  decline (run, from == to, first, last);
}

/* ---- The run ---- */

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
    fold_none (out_run,
               "no step that repeats was found: a run follows this plan only by asking "
               "for the same things in the same order");
  else
    choose (out_run, from, to, first_step >= 0 || last_step >= 0);
  return TESSERA_OK;
}

TesseraRunSpan
tessera_run_span (const TesseraUnits *units, uint32_t block, uint32_t *out_step)
{
  const TesseraStepKind *kind = &units->kinds[0];
  const TesseraBlock *of = &units->blocks->blocks[block];
  uint32_t step = *out_step = tessera_units_at (units, of->born_index);
  uint32_t place = units->place_of[of->born_index - units->begin];
  uint32_t died = of->died_index;
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

void
tessera_run_clear (TesseraRun *run)
{
  tessera_units_clear (&run->units);
  memset (run, 0, sizeof *run);
}
