/*
 * The law of placeless requests: each is told from every slot, and from the others.
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
  const TesseraPlaceless *placeless = &plan->placeless[index];
  return tessera_fail (error, TESSERA_REFUSED,
                       "placeless: expected %s, found placeless request %zu (%" PRIu64
                       " bytes, %" PRIu64 " as asked for, stream %u, section %" PRIu32
                       ", before slot %" PRIu32 ", at %" PRIu32 ")",
                       expected, index, placeless->block_bytes, placeless->size_bytes,
                       (unsigned) placeless->stream, placeless->section,
                       placeless->before, placeless->born);
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
  size_t placeless;   /* the last */
  bool was_placeless; /* the last request */
} Walk;

static Walk
begin_section (const TesseraPlan *plan, const TesseraPlaceless *placeless)
{
  const TesseraSection *section = &plan->sections[placeless->section];
  return (Walk){ .slot = section->first_slot,
                 .end = end_of_requests (plan, section),
                 .born = -1 };
}

/* Slots before @slot come. Returns: whether each is born after a placeless request that
 * comes before it. Who was there before the first event may stand anywhere. */
static bool
walk_slots (const TesseraPlan *plan, Walk *walk, size_t slot)
{
  for (; walk->slot < slot; walk->slot++)
    {
      const TesseraSlot *next = &plan->slots[walk->slot];
      if (next->ordinal == TESSERA_NONE)
        continue;
      if (walk->was_placeless && next->born <= walk->born)
        return false;
      walk->born = next->born;
      walk->was_placeless = false;
    }
  return true;
}

/* The placeless request comes. Returns: whether it is its turn. */
static bool
walk_placeless (const TesseraPlan *plan, Walk *walk, size_t index)
{
  const TesseraPlaceless *placeless = &plan->placeless[index];
  if (placeless->before < walk->slot || placeless->before > walk->end)
    return false;
  if (!walk_slots (plan, walk, placeless->before))
    return false;
  walk->placeless = index;
  if (placeless->ordinal == TESSERA_NONE)
    return placeless->born == plan->sections[placeless->section].begin;
  if (placeless->born <= walk->born)
    return false;
  walk->born = placeless->born;
  walk->was_placeless = true;
  return true;
}

static bool
is_size_sane (const TesseraPlan *plan, const TesseraPlaceless *placeless)
{
  return placeless->block_bytes > 0 && placeless->block_bytes >= placeless->size_bytes &&
         placeless->block_bytes % plan->alignment_bytes == 0;
}

/* Each by itself. */
static TesseraStatus
check_alone (const TesseraPlan *plan, size_t index, TesseraError *error)
{
  const TesseraPlaceless *placeless = &plan->placeless[index];
  if (placeless->section >= plan->n_sections)
    return refuse (plan, index, error, "a section that is there");
  const TesseraSection *section = &plan->sections[placeless->section];
  if (placeless->born < section->begin || placeless->born >= section->end)
    return refuse (plan, index, error, "births inside the section");
  if (index > 0 && placeless[-1].section > placeless->section)
    return refuse (plan, index, error, "sections in order");
  if (!is_size_sane (plan, placeless))
    return refuse (plan, index, error,
                   "more than 0 bytes, in multiples of the alignment, and at least "
                   "the size asked for");
  if (placeless->stream >= plan->n_streams)
    return refuse (plan, index, error, "a stream of the plan's");
  return TESSERA_OK;
}

TesseraStatus
tessera_check_placeless (const TesseraPlan *plan, TesseraError *error)
{
  static const char in_order[] =
      "births in order, each between those of the slots around it";
  Walk walk = { 0 };
  for (size_t i = 0; i < plan->n_placeless; i++)
    {
      const TesseraPlaceless *placeless = &plan->placeless[i];
      TesseraStatus status = check_alone (plan, i, error);
      if (status != TESSERA_OK)
        return status;
      if (i == 0 || placeless[-1].section != placeless->section)
        walk = begin_section (plan, placeless);
      if (!walk_placeless (plan, &walk, i))
        return refuse (plan, i, error, in_order);
      bool is_last = i + 1 == plan->n_placeless;
      if ((is_last || placeless[1].section != placeless->section) &&
          !walk_slots (plan, &walk, walk.end))
        return refuse (plan, walk.placeless, error, in_order);
    }
  return TESSERA_OK;
}
