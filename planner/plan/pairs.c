/*
 * Steps planned two by two.
 *
 * Example: a loop keeps what its model gave (out = model (batch)) until the next step has
 * given the same. So for a moment two of these are there, and no place is the one that is
 * free the rest of the time: a rotation of two reserves both. Of a pair of steps the
 * first makes it in one place, the second in another, and each place is free from when
 * the next step let go of it until it is its turn again.
 *
 * What an optimizer makes anew for each weight is the opposite: hundreds of blocks, of
 * which one is there twice at a time. There rotations are lower. So steps are planned one
 * by one first, and two by two where rotations cost something; the lower plan is taken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

/* What a pair, of twice as many slots, has to be lower by: a part of the height, and what
 * the driver gives at once. */
#define WORTH_SHARE 1024
#define WORTH_BYTES (UINT64_C (2) << 20)

/* All that laying out made, with what it was made from. */
typedef struct
{
  TesseraPlan plan;
  TesseraPlanBuild build;
} Layout;

static void
set_aside (TesseraPlanBuild *build, Layout *out_layout)
{
  *out_layout = (Layout){ *build->plan, *build };
  tessera_build_release (build);
  build->plan->strategy = build->plan->follow_reason = NULL;
  build->plan->cut_short = TESSERA_CUT_NOT;
  build->plan->proven_bound_bytes = 0;
  build->run = (TesseraRun){ 0 };
  build->left_out = NULL;
}

/* Instead of the layout that @build has. */
static void
take_back (TesseraPlanBuild *build, const Layout *layout)
{
  TesseraStop stop = build->stop;

  tessera_build_forget (build);
  free (build->plan->strategy);
  free (build->plan->follow_reason);
  tessera_run_clear (&build->run);
  free (build->left_out);
  *build->plan = layout->plan;
  *build = layout->build;
  build->stop = stop;
}

static void
drop (TesseraPlanBuild *build, const Layout *layout)
{
  Layout kept;

  set_aside (build, &kept);
  take_back (build, layout);
  take_back (build, &kept);
}

static TesseraStatus
lay_out (TesseraPlanBuild *build)
{
  TesseraStatus status = tessera_build_leave_out (build);

  return status == TESSERA_OK ? tessera_build_layout (build) : status;
}

/* @run: (transfer full) */
static TesseraStatus
lay_out_pairs (TesseraPlanBuild *build, const TesseraRun *run)
{
  TesseraPlan *plan = build->plan;

  build->run = *run;
  plan->n_positions = run->n_positions;
  free (plan->follow_reason);
  plan->follow_reason = g_strdup (run->reason);
  return lay_out (build);
}

bool
tessera_build_is_worth (uint64_t singles_bytes, uint64_t bytes)
{
  return singles_bytes >= bytes + WORTH_BYTES &&
         singles_bytes - singles_bytes / WORTH_SHARE > bytes;
}

static bool
has_pairs (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].is_paired)
      return true;
  return false;
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
  return has_spares && plan->cut_short == TESSERA_CUT_NOT &&
         tessera_build_is_worth (
             plan->height_bytes,
             tessera_blocks_bound (build->blocks, 0, build->run.limit, NULL));
}

/* Where edits hold only what comes one by one, it does. */
static TesseraStatus
try_pairs (TesseraPlanBuild *build)
{
  TesseraEditConflict *conflict = build->options->out_conflict;
  TesseraError error = build->error ? *build->error : (TesseraError){ 0 };
  TesseraRun paired;
  Layout single;
  TesseraStatus status;

  if (!tessera_run_pair (&build->run, &paired))
    return TESSERA_OK;
  set_aside (build, &single);
  build->load_bytes = 0;
  build->singles_bytes = single.build.load_bytes;
  status = lay_out_pairs (build, &paired);
  if (status == TESSERA_OK &&
      tessera_build_is_worth (single.plan.height_bytes, build->plan->height_bytes))
    {
      drop (build, &single);
      return TESSERA_OK;
    }
  take_back (build, &single);
  if (status != TESSERA_REFUSED)
    return status;
  if (build->error)
    *build->error = error;
  if (conflict)
    *conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  return TESSERA_OK;
}

/* As the plan that is repaired has them. */
static TesseraStatus
repeat_pairs (TesseraPlanBuild *build)
{
  TesseraRun paired;

  if (!tessera_run_pair (&build->run, &paired))
    return lay_out (build);
  tessera_run_clear (&build->run);
  return lay_out_pairs (build, &paired);
}

TesseraStatus
tessera_build_pairs (TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraPlan *before = options->is_preview ? options->former : NULL;
  TesseraStatus status;

  build->load_bytes = build->singles_bytes = 0;
  if (before != NULL)
    return has_pairs (before) ? repeat_pairs (build) : lay_out (build);
  status = lay_out (build);
  return status == TESSERA_OK && may_be_lower (build) ? try_pairs (build) : status;
}
