/*
 * Going on from a plan that was made before. See resume.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/resume.h"

#include "planner/check.h"
#include "planner/dynamic/rooms.h"

#include <stdlib.h>
#include <string.h>

static TesseraStatus
refuse (const TesseraPlanBuild *build, const char *reason)
{
  const char *name = build->options->resumed_name;

  return tessera_fail (build->error, TESSERA_REFUSED, "planning can't go on from %s: %s",
                       name != NULL ? name : "that plan", reason);
}

static bool
has_strategy (const TesseraPlan *plan, TesseraStrategy strategy)
{
  bool is_stalloc =
      plan->strategy != NULL && strncmp (plan->strategy, "stalloc:", 8) == 0;

  return is_stalloc == (strategy == TESSERA_STRATEGY_STALLOC);
}

TesseraStatus
tessera_resume_check (const TesseraPlanBuild *build)
{
  const TesseraPlan *before = build->options->resumed;

  if (before == NULL)
    return TESSERA_OK;
  if (before->trace_fingerprint != tessera_trace_fingerprint (build->trace))
    return refuse (build, "it was made from another trace");
  if (build->wishes.cap_bytes != UINT64_MAX)
    return refuse (build, "under a cap it is decided anew which blocks have slots");
  if (!has_strategy (before, build->options->strategy))
    return refuse (build, "it was made with another strategy");
  return TESSERA_OK;
}

static bool
is_like (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->block == b->block && a->block_bytes == b->block_bytes && a->born == b->born &&
         a->died == b->died && a->section == b->section && a->stream == b->stream &&
         a->pool == b->pool && a->wraps == b->wraps && a->died_next == b->died_next;
}

/* Its height by its slots, whatever it says. Returns: false where its slots are others.
 */
static bool
compare (const TesseraPlan *plan, const TesseraPlan *before, uint64_t *out_height_bytes)
{
  *out_height_bytes = 0;
  if (before->n_slots != plan->n_slots)
    return false;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &before->slots[i];
      uint64_t top_bytes;

      if (!is_like (&plan->slots[i], slot) ||
          __builtin_add_overflow (slot->offset_bytes, slot->block_bytes, &top_bytes))
        return false;
      if (top_bytes > *out_height_bytes)
        *out_height_bytes = top_bytes;
    }
  return true;
}

/* What follows from where slots lie. */
static TesseraStatus
derive (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

  free (plan->rooms);
  free (plan->regions);
  plan->rooms = NULL;
  plan->regions = NULL;
  plan->n_rooms = plan->n_regions = 0;
  return tessera_build_rooms (build);
}

static TesseraStatus
take_offsets (TesseraPlanBuild *build, uint64_t height_bytes)
{
  const TesseraPlan *before = build->options->resumed;
  TesseraPlan *plan = build->plan;
  char *strategy = strdup (before->strategy);

  if (strategy == NULL)
    return TESSERA_NO_MEMORY;
  free (plan->strategy);
  plan->strategy = strategy;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = before->slots[i].offset_bytes;
  plan->height_bytes = height_bytes;
  if (plan->proven_bound_bytes > height_bytes)
    plan->proven_bound_bytes = plan->bound_bytes;
  return derive (build);
}

/* What was taken from the file is a layout. */
static TesseraStatus
judge (const TesseraPlanBuild *build)
{
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraError broken = { 0 };
  TesseraStatus status = tessera_check_plan (build->plan, build->trace, &law, &broken);

  if (status == TESSERA_OK)
    status = tessera_check_edits (build->plan, &build->holds, build->wishes.cap_bytes,
                                  &law, &broken);
  if (status == TESSERA_OK || status == TESSERA_NO_MEMORY)
    return status;
  return refuse (build, broken.text);
}

TesseraStatus
tessera_resume_settle (TesseraPlanBuild *build)
{
  const TesseraPlan *before = build->options->resumed;
  TesseraStatus status;
  uint64_t height_bytes;

  if (before == NULL)
    return TESSERA_OK;
  if (!compare (build->plan, before, &height_bytes))
    return refuse (build, "its slots are not those of this trace with these options");
  build->plan->resumed_digest = tessera_plan_digest (before);
  if (height_bytes >= build->plan->height_bytes)
    return TESSERA_OK;
  status = take_offsets (build, height_bytes);
  build->plan->slot_digest = tessera_plan_digest (build->plan);
  return status == TESSERA_OK ? judge (build) : status;
}
