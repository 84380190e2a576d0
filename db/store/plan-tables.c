/*
 * The tables of a plan, whatever it is for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/tables.h"

#include "db/store/columns.h"

static const TesseraColumn plan_columns[] = {
  COLUMN (TesseraPlan, height_bytes, BYTES),
  COLUMN (TesseraPlan, bound_bytes, BYTES),
  COLUMN (TesseraPlan, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraPlan, n_positions, U32),
  COLUMN (TesseraPlan, trace_fingerprint, BITS),
  COLUMN (TesseraPlan, slot_digest, BITS),
  COLUMN (TesseraPlan, device, U32),
  COLUMN (TesseraPlan, n_streams, U32),
  COLUMN (TesseraPlan, followable, U8, BELOW (FOLLOWABLES)),
  COLUMN (TesseraPlan, checked, FLAG),
  COLUMN (TesseraPlan, follow_reason, TEXT_OR_NULL),
  COLUMN (TesseraPlan, strategy, TEXT_OR_NULL),
  COLUMN (TesseraPlan, source, TEXT_OR_NULL),
  COLUMN (TesseraPlan, world, U32),
  COLUMN (TesseraPlan, rank, U32),
  COLUMN (TesseraPlan, device_bytes, BYTES),
  COLUMN (TesseraPlan, torch, TEXT_OR_NULL),
  COLUMN (TesseraPlan, proven_bound_bytes, BYTES),
  COLUMN (TesseraPlan, cut_short, U8, BELOW (CUTS)),
  COLUMN (TesseraPlan, time_limit_s, REAL),
  COLUMN (TesseraPlan, work_budget, BYTES),
  COLUMN (TesseraPlan, resumed_digest, BITS)
};
TABLE (plan, "plan", "plan_index", TesseraPlan, plan_columns);

static const TesseraColumn phase_name_columns[] = { NAMED (
    "name", TesseraTextItem, text, TEXT) };
TABLE (phase_name, "phase_name", "phase", TesseraTextItem, phase_name_columns);

static const char *
check_section (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraSection *section = item;

  if (section->begin > section->end)
    return "end_position is before begin_position";
  if ((uint64_t) section->first_slot + section->n_slots >
      limits->below[TESSERA_LIMIT_SLOTS])
    return "its slots do not exist";
  return NULL;
}

/* first_slot may be one past the last: of an empty section at the end. */
static const TesseraColumn section_columns[] = {
  NAMED ("begin_position", TesseraSection, begin, U32, BELOW (POSITIONS)),
  NAMED ("end_position", TesseraSection, end, U32, BELOW (POSITIONS)),
  COLUMN (TesseraSection, first_slot, U32),
  COLUMN (TesseraSection, n_slots, U32),
  NAMED ("repeats", TesseraSection, kind, FLAG),
  COLUMN (TesseraSection, n_steps, U32),
  COLUMN (TesseraSection, is_paired, FLAG)
};
TABLE (section,
       "section",
       "section_index",
       TesseraSection,
       section_columns,
       .check = check_section);

static const TesseraColumn group_columns[] = {
  COLUMN (TesseraGroup, name, TEXT),
  COLUMN (TesseraGroup, kind, U8, BELOW (GROUP_KINDS)),
  COLUMN (TesseraGroup, lifetime_class, U8, BELOW (CLASSES)),
  COLUMN (TesseraGroup, n_blocks, U32),
  COLUMN (TesseraGroup, height_bytes, BYTES),
  COLUMN (TesseraGroup, bytes_x_events, BITS),
  COLUMN (TesseraGroup, time_memory_product, REAL)
};
TABLE (group, "block_group", "group_index", TesseraGroup, group_columns);

/* Whether lifetimes and places make sense is the checker's to say (planner/check.h): a
 * plan that breaks its laws can be read, so that the law can be named. */
static const TesseraColumn slot_columns[] = {
  COLUMN (TesseraSlot, size_bytes, BYTES),
  COLUMN (TesseraSlot, block_bytes, BYTES),
  COLUMN (TesseraSlot, offset_bytes, BYTES),
  COLUMN (TesseraSlot, born, U32, BELOW (POSITIONS)),
  COLUMN (TesseraSlot, died, U32, BELOW (POSITIONS)),
  COLUMN (TesseraSlot, died_next, U32, BELOW (POSITIONS)),
  COLUMN (TesseraSlot, section, U32, BELOW (SECTIONS)),
  COLUMN (TesseraSlot, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraSlot, ordinal, U32_OR_NONE),
  NAMED ("block_group", TesseraSlot, group, U32_OR_NONE, BELOW (GROUPS)),
  COLUMN (TesseraSlot, block, U32_OR_NONE),
  COLUMN (TesseraSlot, stream, U16),
  COLUMN (TesseraSlot, pool, U16),
  COLUMN (TesseraSlot, lifetime_class, U8, BELOW (CLASSES)),
  COLUMN (TesseraSlot, wraps, FLAG)
};
TABLE (slot, "slot", "slot_index", TesseraSlot, slot_columns);

static const char *
check_placeless (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraPlaceless *placeless = item;

  return placeless->before > limits->below[TESSERA_LIMIT_SLOTS]
             ? "before_slot does not exist"
             : NULL;
}

static const TesseraColumn placeless_columns[] = {
  COLUMN (TesseraPlaceless, size_bytes, BYTES),
  COLUMN (TesseraPlaceless, block_bytes, BYTES),
  COLUMN (TesseraPlaceless, section, U32, BELOW (SECTIONS)),
  NAMED ("before_slot", TesseraPlaceless, before, U32),
  COLUMN (TesseraPlaceless, born, U32, BELOW (POSITIONS)),
  COLUMN (TesseraPlaceless, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraPlaceless, ordinal, U32_OR_NONE),
  COLUMN (TesseraPlaceless, block, U32_OR_NONE),
  COLUMN (TesseraPlaceless, stream, U16),
  COLUMN (TesseraPlaceless, pool, U16)
};
TABLE (placeless,
       "placeless",
       "placeless_index",
       TesseraPlaceless,
       placeless_columns,
       .check = check_placeless);

static const TesseraColumn crossing_columns[] = {
  COLUMN (TesseraCrossing, slot, U32, BELOW (SLOTS)),
  COLUMN (TesseraCrossing, section, U32, BELOW (SECTIONS)),
  COLUMN (TesseraCrossing, died, U32, BELOW (POSITIONS))
};
TABLE (crossing, "crossing", "crossing_index", TesseraCrossing, crossing_columns);

static const char *
check_room (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraRoom *room = item;

  if (room->begin_bytes > room->end_bytes)
    return "end_bytes is before begin_bytes";
  /* One past the last: nothing comes next. */
  if (room->before > limits->below[TESSERA_LIMIT_SLOTS])
    return "before_slot does not exist";
  return NULL;
}

static const TesseraColumn room_columns[] = {
  COLUMN (TesseraRoom, section, U32, BELOW (SECTIONS)),
  NAMED ("before_slot", TesseraRoom, before, U32),
  COLUMN (TesseraRoom, born, U32, BELOW (POSITIONS)),
  COLUMN (TesseraRoom, died, U32, BELOW (POSITIONS)),
  COLUMN (TesseraRoom, died_next, U32, BELOW (POSITIONS)),
  COLUMN (TesseraRoom, stream, U16),
  COLUMN (TesseraRoom, is_small, FLAG),
  COLUMN (TesseraRoom, begin_bytes, BYTES),
  COLUMN (TesseraRoom, end_bytes, BYTES),
  COLUMN (TesseraRoom, n_requests, U32),
  COLUMN (TesseraRoom, most_bytes, BYTES),
  COLUMN (TesseraRoom, sum_bytes, BYTES)
};
TABLE (room, "room", "room_index", TesseraRoom, room_columns, .check = check_room);

static const char *
check_region (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraRegion *region = item;

  return region->begin_bytes > region->end_bytes ? "end_bytes is before begin_bytes"
                                                 : NULL;
}

static const TesseraColumn region_columns[] = {
  COLUMN (TesseraRegion, stream, U16), COLUMN (TesseraRegion, is_small, FLAG),
  COLUMN (TesseraRegion, begin_bytes, BYTES), COLUMN (TesseraRegion, end_bytes, BYTES)
};
TABLE (region,
       "region",
       "region_index",
       TesseraRegion,
       region_columns,
       .check = check_region);

static const TesseraColumn plan_edit_columns[] = { COLUMN (TesseraPlanEdit, name, TEXT),
                                                   COLUMN (TesseraPlanEdit, rule, TEXT) };
TABLE (plan_edit, "plan_edit", "plan_edit_index", TesseraPlanEdit, plan_edit_columns);
