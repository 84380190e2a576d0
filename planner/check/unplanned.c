/*
 * The law of unplanned requests: each is told from every slot, and from the others.
 *
 * They have no address, so there is nothing of theirs to overlap. What could go wrong is
 * that a run that is compared with the plan can't say whose turn it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>

static TesseraStatus
refuse (const TesseraPlan *plan, size_t index, TesseraError *error, const char *expected)
{
  const TesseraUnplanned *unplanned = &plan->unplanned[index];
  return tessera_fail (error, TESSERA_REFUSED,
                       "unplanned: expected %s, found unplanned request %zu (%" PRIu64
                       " bytes, %" PRIu64 " as asked for, stream %u, section %" PRIu32
                       ", before slot %" PRIu32 ", at %" PRIu32 ")",
                       expected, index, unplanned->block_bytes, unplanned->size_bytes,
                       (unsigned) unplanned->stream, unplanned->section,
                       unplanned->before, unplanned->born);
}

/* Slots of the section that are asked for: spares stand last in one that repeats. */
static size_t
end_of_requests (const TesseraPlan *plan, const TesseraSection *section)
{
  size_t end = (size_t) section->first_slot + section->n_slots;
  while (section->kind == TESSERA_SECTION_REPEATS && end > section->first_slot &&
         plan->slots[end - 1].ordinal == TESSERA_NONE)
    end--;
  return end;
}

/* The requests of a section, walked in their order. */
typedef struct
{
  size_t slot, end;   /* the next slot; where those that are asked for end */
  int64_t born;       /* of the last request */
  size_t unplanned;   /* the last */
  bool was_unplanned; /* the last request */
} Walk;

static Walk
begin_section (const TesseraPlan *plan, const TesseraUnplanned *unplanned)
{
  const TesseraSection *section = &plan->sections[unplanned->section];
  return (Walk){ .slot = section->first_slot,
                 .end = end_of_requests (plan, section),
                 .born = -1 };
}

/* Slots before @slot come. Returns: whether each is born after an unplanned request that
 * comes before it. Who was there before the first event may stand anywhere. */
static bool
walk_slots (const TesseraPlan *plan, Walk *walk, size_t slot)
{
  for (; walk->slot < slot; walk->slot++)
    {
      const TesseraSlot *next = &plan->slots[walk->slot];
      if (next->ordinal == TESSERA_NONE)
        continue;
      if (walk->was_unplanned && next->born <= walk->born)
        return false;
      walk->born = next->born;
      walk->was_unplanned = false;
    }
  return true;
}

/* The unplanned request comes. Returns: whether it is its turn. */
static bool
walk_unplanned (const TesseraPlan *plan, Walk *walk, size_t index)
{
  const TesseraUnplanned *unplanned = &plan->unplanned[index];
  if (unplanned->before < walk->slot || unplanned->before > walk->end)
    return false;
  if (!walk_slots (plan, walk, unplanned->before))
    return false;
  walk->unplanned = index;
  if (unplanned->ordinal == TESSERA_NONE)
    return unplanned->born == plan->sections[unplanned->section].begin;
  if (unplanned->born <= walk->born)
    return false;
  walk->born = unplanned->born;
  walk->was_unplanned = true;
  return true;
}

static bool
is_size_sane (const TesseraPlan *plan, const TesseraUnplanned *unplanned)
{
  return unplanned->block_bytes > 0 && unplanned->block_bytes >= unplanned->size_bytes &&
         unplanned->block_bytes % plan->alignment_bytes == 0;
}

/* Each by itself. */
static TesseraStatus
check_alone (const TesseraPlan *plan, size_t index, TesseraError *error)
{
  const TesseraUnplanned *unplanned = &plan->unplanned[index];
  if (unplanned->section >= plan->n_sections)
    return refuse (plan, index, error, "a section that is there");
  const TesseraSection *section = &plan->sections[unplanned->section];
  if (unplanned->born < section->begin || unplanned->born >= section->end)
    return refuse (plan, index, error, "births inside the section");
  if (index > 0 && unplanned[-1].section > unplanned->section)
    return refuse (plan, index, error, "sections in order");
  if (!is_size_sane (plan, unplanned))
    return refuse (plan, index, error,
                   "more than 0 bytes, in multiples of the alignment, and at least "
                   "the size asked for");
  if (unplanned->stream >= plan->n_streams)
    return refuse (plan, index, error, "a stream of the plan's");
  return TESSERA_OK;
}

TesseraStatus
tessera_check_unplanned (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  static const char in_order[] =
      "births in order, each between those of the slots around it";
  Walk walk = { 0 };
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *unplanned = &plan->unplanned[i];
      TesseraStatus status = check_alone (plan, i, error);
      if (status != TESSERA_OK)
        return status;
      if (i == 0 || unplanned[-1].section != unplanned->section)
        walk = begin_section (plan, unplanned);
      if (!walk_unplanned (plan, &walk, i))
        return refuse (plan, i, error, in_order);
      bool is_last = i + 1 == plan->n_unplanned;
      if ((is_last || unplanned[1].section != unplanned->section) &&
          !walk_slots (plan, &walk, walk.end))
        return refuse (plan, walk.unplanned, error, in_order);
    }
  return TESSERA_OK;
}
