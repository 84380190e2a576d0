/*
 * A plan for steps of several kinds over one pool: see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps that have to be folded beyond those of one kind. */
#define LEAST_GAIN 1

static uint32_t
count_steps (const TesseraUnits *units)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < units->n_units; i++)
    n += units->units[i].is_step && units->units[i].kind != TESSERA_NONE;
  return n;
}

TesseraKindsBuild
tessera_kinds_find (const TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraStructure *structure = build->structure;
  const TesseraRun *run = &build->run;
  /* Steps that are alike in part only fold better in kinds, where there are any. */
  uint32_t n_run =
      run->repeats && !run->is_dynamic ? run->last_step - run->first_step + 1 : 0;
  TesseraKindsBuild kinds = { 0 };

  if (options->first_step >= 0 || options->last_step >= 0 || structure->n_steps < 2)
    return kinds;
  tessera_units_init (&kinds.units, build->trace, build->blocks, structure, 0,
                      (uint32_t) structure->n_steps - 1,
                      (uint32_t) build->trace->n_events, 2);
  if (kinds.units.n_kinds > 0 && count_steps (&kinds.units) <= n_run + LEAST_GAIN)
    tessera_units_clear (&kinds.units);
  return kinds;
}

/* What two layouts of each kind, of twice as many slots, have to win: a part of what is
 * alive, and what the driver gives at once. */
#define WORTH_SHARE 1024
#define WORTH_BYTES (UINT64_C (2) << 20)

bool
tessera_kinds_are_worth (uint64_t bytes, uint64_t single_bytes)
{
  return single_bytes >= bytes + WORTH_BYTES &&
         single_bytes - single_bytes / WORTH_SHARE > bytes;
}

bool
tessera_plan_alternates (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].alternate != TESSERA_ALTERNATE_NOT)
      return true;
  return false;
}

/* What edits hold is one block of one layout: then each kind has one. A preview has as
 * many as the plan that it repairs. */
static bool
alternate (const TesseraPlanBuild *build, TesseraUnits *units)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraPlan *before = options->is_preview ? options->former : NULL;
  uint64_t alive_bytes = tessera_blocks_bound (build->blocks, 0, units->limit, NULL);

  if (build->constraints.n_constraints > 0 ||
      (before != NULL && !tessera_plan_alternates (before)))
    return false;
  return tessera_units_alternate (units, build->left_out,
                                  MAX (alive_bytes / WORTH_SHARE, WORTH_BYTES));
}

TesseraKindsBuild
tessera_kinds_find_turns (const TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  TesseraKindsBuild kinds = { .is_planned = true };

  if (!run->repeats || run->is_dynamic || run->is_assumed ||
      run->first_step == run->last_step)
    return kinds;
  tessera_units_init (&kinds.units, build->trace, build->blocks, build->structure,
                      run->first_step, run->last_step, run->limit, 1);
  if (kinds.units.n_kinds > 0 && !alternate (build, &kinds.units))
    tessera_units_clear (&kinds.units);
  return kinds;
}

/* The kind whose units keep the most bytes for good. */
static const TesseraStepKind *
keeps_most (const TesseraUnits *units)
{
  const TesseraStepKind *most = &units->kinds[0];

  for (uint32_t k = 1; k < units->n_kinds; k++)
    if (units->kinds[k].kept_bytes > most->kept_bytes)
      most = &units->kinds[k];
  return most;
}

/* "steps come in 2 kinds (12 and 4 times)", or "12 steps ask for the same". */
static void
describe (TesseraPlanBuild *build, const TesseraUnits *units)
{
  TesseraPlan *plan = build->plan;
  const TesseraStepKind *most = keeps_most (units);
  uint32_t n_kinds = units->n_alternating > 0 ? units->n_alternating : units->n_kinds;
  GString *reason = g_string_new (NULL);
  char kept[200] = "";

  if (n_kinds == 1)
    g_string_append_printf (reason, "%" PRIu32 " steps ask for the same: ",
                            units->kinds[0].n_units + units->kinds[1].n_units);
  else
    {
      g_string_append_printf (reason, "steps come in %" PRIu32 " kinds (", n_kinds);
      for (uint32_t k = 0; k < n_kinds; k++)
        g_string_append_printf (
            reason, "%s%" PRIu32,
            k == 0             ? ""
            : k + 1 == n_kinds ? " and "
                               : ", ",
            units->kinds[k].n_units +
                (units->n_alternating > 0 ? units->kinds[k + n_kinds].n_units : 0));
      g_string_append (reason, " times): ");
    }
  if (most->n_kept > 0)
    tessera_kept_say (most->n_kept, most->kept_bytes, kept, sizeof kept);
  g_string_append_printf (reason, "a run follows this plan for any number of steps%s%s%s",
                          n_kinds == 1 ? "" : " in any order",
                          units->n_alternating > 0 ? ", in two layouts in turn" : "",
                          kept);
  free (plan->follow_reason);
  plan->follow_reason = g_string_free (reason, FALSE);
  plan->n_positions = units->n_positions;
  if (plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES)
    plan->followable = TESSERA_FOLLOWABLE_YES;
}

static void
add_load (uint64_t *changes, uint32_t begin, uint32_t end, uint64_t bytes)
{
  if (begin >= end)
    return;
  changes[begin] += bytes;
  changes[end] -= bytes;
}

static void
add_load_of_carry (uint64_t *changes,
                   const TesseraUnits *units,
                   const TesseraCarries *carries,
                   const TesseraCarry *carry)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      const TesseraStepKind *kind = &units->kinds[k];

      add_load (changes, kind->begin, carry->ends[k], carry->block_bytes);
      if (carry->requests[k] != TESSERA_NONE && !carry->is_turn)
        add_load (changes, carries->requests[carry->requests[k]].born, kind->end,
                  carry->block_bytes);
    }
  add_load (changes, units->first_end, carry->after, carry->block_bytes);
}

/* The most that is held in one moment of any order of steps. */
static void
find_bound (TesseraPlanBuild *build, const TesseraCarries *carries)
{
  const TesseraUnits *units = carries->units;
  TesseraPlan *plan = build->plan;
  g_autofree uint64_t *changes = g_new0 (uint64_t, (size_t) plan->n_positions + 2);
  uint64_t load = 0;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (!plan->slots[i].wraps)
      add_load (changes, plan->slots[i].born, plan->slots[i].died,
                plan->slots[i].block_bytes);
  for (uint32_t i = 0; i < carries->n_carries; i++)
    add_load_of_carry (changes, units, carries, &carries->carries[i]);
  plan->bound_bytes = 0;
  for (uint32_t i = 0; i < plan->n_positions; i++)
    {
      load += changes[i];
      plan->bound_bytes = MAX (load, plan->bound_bytes);
    }
  plan->proven_bound_bytes = plan->bound_bytes;
}

void
tessera_kinds_build_clear (TesseraKindsBuild *kinds)
{
  tessera_carries_clear (&kinds->carries);
  tessera_units_clear (&kinds->units);
  free (kinds->holders);
  *kinds = (TesseraKindsBuild){ 0 };
}

/* Slots without places, and what no layout of them is below. */
static void
make_slots (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  TesseraCarries *carries = &kinds->carries;

  tessera_build_forget (build);
  tessera_carries_clear (carries);
  tessera_carries_init (carries, &kinds->units, build->left_out, kinds->holders);
  tessera_kinds_slots (build, carries);
  find_bound (build, carries);
}

TesseraStatus
tessera_kinds_lay_out (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  TesseraStatus status;

  make_slots (build, kinds);
  tessera_build_names (build);
  status = tessera_kinds_find_holds (build, &kinds->carries);
  return status == TESSERA_OK ? tessera_kinds_pack (build, &kinds->carries) : status;
}

/* With as many layouts as the units have. */
static TesseraStatus
plan_units (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  tessera_kinds_leave_out (build, &kinds->units);
  describe (build, &kinds->units);
  free (kinds->holders);
  kinds->holders = tessera_kinds_find_holders (build, &kinds->units);
  return tessera_kinds_lay_out (build, kinds);
}

/* Two layouts of each kind are planned already: instead one, where that is lower. */
static TesseraStatus
take_lower (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  uint64_t alternating_bytes = build->plan->height_bytes;
  TesseraKindsBuild single = tessera_kinds_find (build);
  TesseraStatus status = plan_units (build, &single);

  if (status != TESSERA_OK || build->plan->height_bytes > alternating_bytes)
    {
      tessera_kinds_build_clear (&single);
      return status == TESSERA_OK ? plan_units (build, kinds) : status;
    }
  tessera_kinds_build_clear (kinds);
  *kinds = single;
  kinds->carries.units = &kinds->units;
  return TESSERA_OK;
}

TesseraStatus
tessera_kinds_plan (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  uint64_t single_bytes = UINT64_MAX; /* no plan of one layout is lower */
  TesseraStatus status;

  if (!kinds->is_planned)
    {
      tessera_kinds_leave_out (build, &kinds->units);
      make_slots (build, kinds);
      if (alternate (build, &kinds->units))
        single_bytes = build->plan->bound_bytes;
    }
  kinds->is_planned = true;
  status = plan_units (build, kinds);
  if (status == TESSERA_OK && !build->options->is_preview &&
      build->plan->height_bytes > single_bytes)
    status = take_lower (build, kinds);
  return status;
}
