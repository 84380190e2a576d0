/*
 * How many kinds of step a plan has, and how many layouts each of them: what ends lowest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

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

TesseraUnits
tessera_build_find_kinds (const TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraStructure *structure = build->structure;
  const TesseraUnits *single = &build->run.units;
  /* Steps that are alike in part only fold better in kinds, where there are any. */
  uint32_t n_single = single->is_dynamic ? 0 : single->n_units;
  TesseraUnits units = { 0 };

  if (options->first_step >= 0 || options->last_step >= 0 || structure->n_steps < 2)
    return units;
  tessera_units_init (&units, build->trace, build->blocks, structure, 0,
                      (uint32_t) structure->n_steps - 1,
                      (uint32_t) build->trace->n_events, 2);
  if (units.n_kinds > 0 && count_steps (&units) <= n_single + LEAST_GAIN)
    tessera_units_clear (&units);
  return units;
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

/* Whether some kind is what lies between two steps: an evaluation. */
static bool
has_between (const TesseraUnits *units)
{
  uint32_t k = 0;

  while (k < units->n_kinds && units->units[units->kinds[k].unit].is_step)
    k++;
  return k < units->n_kinds;
}

/* "steps come in 2 kinds (12 and 4 times)", or "12 steps ask for the same". The caller
 * frees it. */
static char *
describe_kinds (const TesseraUnits *units)
{
  const TesseraStepKind *most = keeps_most (units);
  uint32_t n_kinds = units->n_alternating > 0 ? units->n_alternating : units->n_kinds;
  GString *reason = g_string_new (NULL);
  char kept[200] = "";

  if (n_kinds == 1)
    g_string_append_printf (reason, "%" PRIu32 " steps ask for the same: ",
                            units->kinds[0].n_units + units->kinds[1].n_units);
  else
    {
      g_string_append_printf (reason, "steps%s come in %" PRIu32 " kinds (",
                              has_between (units) ? " and what lies between" : "",
                              n_kinds);
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
  return g_string_free (reason, FALSE);
}

static void
describe (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const TesseraUnits *units = build->units;
  const char *reason = build->run.reason;
  g_autofree char *of_kinds = NULL;

  plan->followable =
      units->n_kinds > 0 ? TESSERA_FOLLOWABLE_YES : TESSERA_FOLLOWABLE_SAME_BATCHES;
  if (plan->alignment_bytes == 1)
    {
      plan->followable = TESSERA_FOLLOWABLE_NO;
      reason =
          "this is a planner's instance, not the record of a run: nothing follows it";
    }
  else if (units != &build->run.units)
    reason = of_kinds = describe_kinds (units);
  free (plan->follow_reason);
  plan->follow_reason = g_strdup (reason);
}

/* Of those units, as many kinds and layouts as they have. */
static TesseraStatus
lay_out (TesseraPlanBuild *build, const TesseraUnits *units)
{
  TesseraStatus status = tessera_build_leave_out (build, units);

  if (status != TESSERA_OK)
    return status;
  describe (build);
  free (build->holders);
  build->holders = tessera_build_find_holders (build);
  return tessera_build_layout (build);
}

/* What two layouts of each kind, of twice as many slots, have to win: a part of what is
 * alive, and what the driver gives at once. */
#define WORTH_SHARE 1024
#define WORTH_BYTES (UINT64_C (2) << 20)

/* Whether two layouts are enough lower than one. */
static bool
is_worth (uint64_t bytes, uint64_t single_bytes)
{
  return single_bytes >= bytes + WORTH_BYTES &&
         single_bytes - single_bytes / WORTH_SHARE > bytes;
}

static bool
alternates (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].alternate != TESSERA_ALTERNATE_NOT)
      return true;
  return false;
}

/* Gives the units two layouts where that may win something. What edits hold is one block
 * of one layout: then each kind has one. A preview has as many as the plan that it
 * repairs. */
static bool
alternate (const TesseraPlanBuild *build, TesseraUnits *units)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraPlan *before = options->is_preview ? options->former : NULL;
  uint64_t alive_bytes = tessera_blocks_bound (build->blocks, 0, units->limit, NULL);

  if (build->constraints.n_constraints > 0 || (before != NULL && !alternates (before)))
    return false;
  return tessera_carries_alternate (units, build->left_out,
                                    MAX (alive_bytes / WORTH_SHARE, WORTH_BYTES));
}

/* The one kind of step in two layouts, where steps keep what the next has made as well by
 * then; else none. */
static TesseraUnits
find_turns (const TesseraPlanBuild *build)
{
  const TesseraRun *run = &build->run;
  uint32_t n = run->units.n_units;
  TesseraUnits units = { 0 };

  if (n < 2 || run->units.is_dynamic)
    return units;
  tessera_units_init (&units, build->trace, build->blocks, build->structure,
                      run->last_step - (n - 1), run->last_step, run->limit, 1);
  if (units.n_kinds > 0 && !alternate (build, &units))
    tessera_units_clear (&units);
  return units;
}

/* Rotations have places beyond those of their requests, and the plan is higher than what
 * the trace has alive. */
static bool
may_be_lower (const TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;
  bool has_spares = false;

  for (size_t i = 0; i < plan->n_sections; i++)
    has_spares = has_spares || build->n_spares[i] > 0;
  return has_spares && !plan->cut_short &&
         is_worth (tessera_blocks_bound (build->blocks, 0, build->run.limit, NULL),
                   plan->height_bytes);
}

/* One kind of step: in one layout, or in two (@turns) where rotations cost something and
 * that is lower. A preview has as many as the plan that it repairs. */
static TesseraStatus
lay_out_single (TesseraPlanBuild *build, TesseraUnits *turns)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraPlan *before = options->is_preview ? options->former : NULL;
  uint64_t single_bytes = UINT64_MAX;
  TesseraStatus status;

  if (before == NULL || !alternates (before))
    {
      status = lay_out (build, &build->run.units);
      if (status != TESSERA_OK || before != NULL || !may_be_lower (build))
        return status;
      single_bytes = build->plan->height_bytes;
    }
  else
    status = tessera_build_leave_out (build, &build->run.units);
  if (status != TESSERA_OK)
    return status;
  *turns = find_turns (build);
  if (turns->n_kinds > 0)
    status = lay_out (build, turns);
  else if (before != NULL)
    status = lay_out (build, &build->run.units);
  if (status != TESSERA_OK || turns->n_kinds == 0 ||
      is_worth (build->plan->height_bytes, single_bytes))
    return status;
  return lay_out (build, &build->run.units);
}

TesseraStatus
tessera_build_plan (TesseraPlanBuild *build, TesseraUnits *kinds)
{
  TesseraStatus status;

  if (kinds->n_kinds == 0)
    status = lay_out_single (build, kinds);
  else
    {
      status = tessera_build_leave_out (build, kinds);
      if (status != TESSERA_OK)
        return status;
      (void) alternate (build, kinds);
      status = lay_out (build, kinds);
    }
  if (status == TESSERA_OK && build->plan->height_bytes > build->constraints.cap_bytes)
    status = tessera_build_under_cap (build);
  return status;
}
