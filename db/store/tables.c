/*
 * The tables of a trace, of a plan and of a plan for every length: a column for a field
 * of the struct that a row holds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/private.h"

#include "db/intern.h"

#define COLUMN(Item, field, column_kind, ...)                                            \
  {                                                                                      \
    .name = #field, .offset = offsetof (Item, field),                                    \
    .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__                                    \
  }
/* Where the column is called otherwise than the field. */
#define NAMED(column_name, Item, field, column_kind, ...)                                \
  {                                                                                      \
    .name = column_name, .offset = offsetof (Item, field),                               \
    .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__                                    \
  }
/* The item is the value. */
#define WHOLE(column_name, column_kind, ...)                                             \
  {                                                                                      \
    .name = column_name, .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__               \
  }
#define BELOW(what) .limit = TESSERA_LIMIT_##what

/* The table that is called so, numbered by NAME_index ... */
#define TABLE(table, Item, ...)                                                          \
  TABLE_AS (table, #table, #table "_index", Item, __VA_ARGS__)
/* ... or otherwise than its columns here. */
#define TABLE_AS(table, table_name, key_name, Item, ...)                                 \
  const TesseraTable tessera_##table##_table = { .name = table_name,                     \
                                                 .key = key_name,                        \
                                                 .columns = table##_columns,             \
                                                 .n_columns = sizeof table##_columns /   \
                                                              sizeof *table##_columns,   \
                                                 .item_bytes = sizeof (Item),            \
                                                 __VA_ARGS__ };                          \
  _Static_assert(sizeof table##_columns / sizeof *table##_columns <=                     \
                     TESSERA_MAX_COLUMNS,                                                \
                 "more columns than a row can have")

static const TesseraColumn recording_columns[] = {
  COLUMN (TesseraTrace, source, TEXT),
  COLUMN (TesseraTrace, n_events, COUNT),
  NAMED ("memory_bytes", TesseraTrace, device_bytes, BYTES),
  COLUMN (TesseraTrace, limit_bytes, BYTES),
  COLUMN (TesseraTrace, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraTrace, has_addresses, FLAG),
  COLUMN (TesseraTrace, has_segments, FLAG),
  COLUMN (TesseraTrace, has_time, FLAG),
  COLUMN (TesseraTrace, starts_empty, FLAG),
  NAMED ("is_expandable", TesseraTrace, settings.is_expandable, FLAG),
  NAMED ("max_split_bytes", TesseraTrace, settings.max_split_bytes, BYTES_OR_ALL),
  NAMED ("max_non_split_rounding_bytes",
         TesseraTrace,
         settings.max_non_split_rounding_bytes,
         BYTES),
  NAMED ("large_segment_bytes", TesseraTrace, settings.large_segment_bytes, BYTES),
  NAMED ("garbage_collection_threshold",
         TesseraTrace,
         settings.garbage_collection_threshold,
         REAL),
};
TABLE (recording, TesseraTrace, .n_scopes = 1, .has_gaps = true);

static const TesseraColumn rounding_columns[] = { WHOLE ("divisions", U32) };
TABLE_AS (rounding, "rounding", "interval_index", uint32_t, .n_scopes = 1);

static const TesseraColumn meta_columns[] = { COLUMN (TesseraMeta, key, TEXT),
                                              COLUMN (TesseraMeta, value, TEXT) };
TABLE (meta, TesseraMeta);

static const TesseraColumn string_columns[] = { COLUMN (TesseraTextItem, text, TEXT) };
TABLE (string, TesseraTextItem);

static const TesseraColumn frame_columns[] = {
  COLUMN (TesseraFrame, name, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraFrame, file, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraFrame, line, BITS)
};
TABLE (frame, TesseraFrame);

/* Callers come first: no walk outward can run in a circle. */
static const char *
check_stack_node (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraStackNode *node = item;

  return node->caller == TESSERA_NONE || node->caller < index ? NULL
                                                              : "caller is not an earlier"
                                                                " row";
}

static const TesseraColumn stack_node_columns[] = {
  COLUMN (TesseraStackNode, caller, U32_OR_NONE),
  COLUMN (TesseraStackNode, frame, U32, BELOW (FRAMES))
};
TABLE_AS (
    stack_node, "stack_node", "node_index", TesseraStackNode, .check = check_stack_node);

static const TesseraColumn stack_columns[] = { WHOLE (
    "node", U32_OR_NONE, BELOW (NODES)) };
TABLE (stack, uint32_t);

static const TesseraColumn device_columns[] = {
  COLUMN (TesseraDeviceInfo, device, U32), COLUMN (TesseraDeviceInfo, n_events, BYTES),
  COLUMN (TesseraDeviceInfo, n_segments, BYTES)
};
TABLE (device, TesseraDeviceInfo);

static const char *
check_stream (const void *item, uint64_t index, const TesseraLimits *limits)
{
  return index == 0 && *(const uint64_t *) item != 0 ? "it is not the default stream"
                                                     : NULL;
}

static const TesseraColumn stream_columns[] = { WHOLE ("handle", BITS) };
TABLE (stream, uint64_t, .n_scopes = 1, .check = check_stream);

static const char *
check_pool (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraPoolId *id = item;

  return index == 0 && (id->owner_id | id->user_id) != 0 ? "it is not the default pool"
                                                         : NULL;
}

static const TesseraColumn pool_columns[] = { COLUMN (TesseraPoolId, owner_id, BITS),
                                              COLUMN (TesseraPoolId, user_id, BITS) };
TABLE (pool, TesseraPoolId, .n_scopes = 1, .check = check_pool);

static const TesseraColumn event_columns[] = {
  COLUMN (TesseraEvent, action, U8, .below = TESSERA_MARK + 1, .minimum = 1),
  COLUMN (TesseraEvent, addr, BITS),
  COLUMN (TesseraEvent, size_bytes, BYTES),
  COLUMN (TesseraEvent, at_ns, BITS),
  COLUMN (TesseraEvent, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraEvent, stream, U16, BELOW (STREAMS)),
  COLUMN (TesseraEvent, pool, U16, BELOW (POOLS)),
  COLUMN (TesseraEvent, pool_known, FLAG),
  COLUMN (TesseraEvent, is_left, FLAG)
};
TABLE (event, TesseraEvent, .n_scopes = 1, .has_gaps = true);

static const TesseraColumn segment_columns[] = {
  COLUMN (TesseraSegment, addr, BITS),
  COLUMN (TesseraSegment, size_bytes, BYTES),
  COLUMN (TesseraSegment, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraSegment, stream, U16, BELOW (STREAMS)),
  COLUMN (TesseraSegment, pool, U16, BELOW (POOLS)),
  COLUMN (TesseraSegment, is_small, FLAG),
  COLUMN (TesseraSegment, is_expandable, FLAG)
};
TABLE (segment, TesseraSegment, .n_scopes = 2);

static const TesseraColumn held_block_columns[] = {
  COLUMN (TesseraHeldBlock, addr, BITS),
  COLUMN (TesseraHeldBlock, size_bytes, BYTES),
  COLUMN (TesseraHeldBlock, block_bytes, BYTES),
  COLUMN (TesseraHeldBlock, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraHeldBlock, state, U8, .below = TESSERA_BLOCK_LIVE + 1),
  COLUMN (TesseraHeldBlock, tail_open, FLAG)
};
TABLE_AS (held_block, "held_block", "block_index", TesseraHeldBlock, .n_scopes = 2);

/* Parents come first: no walk outward can run in a circle. */
static const char *
check_range (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraRange *range = item;

  if (range->begin_index > range->end_index)
    return "end_index is before begin_index";
  if (range->parent != TESSERA_NONE && range->parent >= index)
    return "parent is not an earlier row";
  return NULL;
}

static const TesseraColumn range_columns[] = {
  COLUMN (TesseraRange, name, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraRange, kind, U8, .below = TESSERA_RANGE_MODULE + 1),
  COLUMN (TesseraRange, begin_index, U32, BELOW (MOMENTS)),
  COLUMN (TesseraRange, end_index, U32, BELOW (MOMENTS)),
  COLUMN (TesseraRange, begin_ns, BITS),
  COLUMN (TesseraRange, end_ns, BITS),
  COLUMN (TesseraRange, parent, U32_OR_NONE),
  COLUMN (TesseraRange, is_inferred, FLAG)
};
TABLE (range, TesseraRange, .n_scopes = 1, .check = check_range);

static const TesseraColumn tensor_columns[] = {
  COLUMN (TesseraTensor, event_index, U32, BELOW (MOMENTS)),
  COLUMN (TesseraTensor, addr, BITS),
  COLUMN (TesseraTensor, kind, U8, .below = TESSERA_TENSOR_BUFFER + 1, .minimum = 1),
  COLUMN (TesseraTensor, name, U32, BELOW (STRINGS))
};
TABLE (tensor, TesseraTensor, .n_scopes = 1);

static const TesseraColumn edit_columns[] = {
  COLUMN (TesseraStoredEdit, name, TEXT), COLUMN (TesseraStoredEdit, created_s, BITS),
  COLUMN (TesseraStoredEdit, rule, TEXT), COLUMN (TesseraStoredEdit, is_undone, FLAG)
};
TABLE (edit, TesseraStoredEdit);

static const TesseraColumn plan_columns[] = {
  COLUMN (TesseraPlan, height_bytes, BYTES),
  COLUMN (TesseraPlan, bound_bytes, BYTES),
  COLUMN (TesseraPlan, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraPlan, n_positions, U32),
  COLUMN (TesseraPlan, trace_fingerprint, BITS),
  COLUMN (TesseraPlan, slot_digest, BITS),
  COLUMN (TesseraPlan, device, U32_OR_NONE),
  COLUMN (TesseraPlan, n_streams, U32),
  COLUMN (TesseraPlan, followable, U8, .below = TESSERA_FOLLOWABLE_YES + 1),
  COLUMN (TesseraPlan, crosses_streams, FLAG),
  COLUMN (TesseraPlan, checked, FLAG),
  COLUMN (TesseraPlan, follow_reason, TEXT_OR_NULL),
  COLUMN (TesseraPlan, strategy, TEXT_OR_NULL),
  COLUMN (TesseraPlan, source, TEXT_OR_NULL),
  COLUMN (TesseraPlan, world, U32),
  COLUMN (TesseraPlan, rank, U32),
  COLUMN (TesseraPlan, device_bytes, BYTES),
  COLUMN (TesseraPlan, torch, TEXT_OR_NULL),
  COLUMN (TesseraPlan, proven_bound_bytes, BYTES),
  COLUMN (TesseraPlan, cut_short, U8, .below = 2),
  COLUMN (TesseraPlan, work_budget, BYTES)
};
TABLE (plan, TesseraPlan);

static const TesseraColumn phase_name_columns[] = { NAMED (
    "name", TesseraTextItem, text, TEXT) };
TABLE_AS (phase_name, "phase_name", "phase", TesseraTextItem);

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
  COLUMN (TesseraSection, alternate, U8, .below = TESSERA_ALTERNATE_SECOND + 1)
};
TABLE (section, TesseraSection, .check = check_section);

static const TesseraColumn group_columns[] = {
  COLUMN (TesseraGroup, name, TEXT),
  COLUMN (TesseraGroup, kind, U8, .below = TESSERA_GROUP_HAND + 1),
  COLUMN (TesseraGroup, lifetime_class, U8, .below = TESSERA_CLASS_DYNAMIC + 1),
  COLUMN (TesseraGroup, n_blocks, U32),
  COLUMN (TesseraGroup, height_bytes, BYTES),
  COLUMN (TesseraGroup, bytes_x_events, BITS),
  COLUMN (TesseraGroup, time_memory_product, REAL)
};
TABLE_AS (group, "block_group", "group_index", TesseraGroup);

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
  COLUMN (TesseraSlot, lifetime_class, U8, .below = TESSERA_CLASS_DYNAMIC + 1),
  COLUMN (TesseraSlot, wraps, FLAG)
};
TABLE (slot, TesseraSlot);

static const char *
check_unplanned (const void *item, uint64_t index, const TesseraLimits *limits)
{
  const TesseraUnplanned *unplanned = item;

  return unplanned->before > limits->below[TESSERA_LIMIT_SLOTS]
             ? "before_slot does not exist"
             : NULL;
}

static const TesseraColumn unplanned_columns[] = {
  COLUMN (TesseraUnplanned, size_bytes, BYTES),
  COLUMN (TesseraUnplanned, block_bytes, BYTES),
  COLUMN (TesseraUnplanned, section, U32, BELOW (SECTIONS)),
  NAMED ("before_slot", TesseraUnplanned, before, U32),
  COLUMN (TesseraUnplanned, born, U32, BELOW (POSITIONS)),
  COLUMN (TesseraUnplanned, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraUnplanned, ordinal, U32_OR_NONE),
  COLUMN (TesseraUnplanned, block, U32_OR_NONE),
  COLUMN (TesseraUnplanned, stream, U16),
  COLUMN (TesseraUnplanned, pool, U16)
};
TABLE (unplanned, TesseraUnplanned, .check = check_unplanned);

static const TesseraColumn crossing_columns[] = {
  COLUMN (TesseraCrossing, slot, U32, BELOW (SLOTS)),
  COLUMN (TesseraCrossing, section, U32, BELOW (SECTIONS)),
  COLUMN (TesseraCrossing, died, U32, BELOW (POSITIONS))
};
TABLE (crossing, TesseraCrossing);

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
TABLE (room, TesseraRoom, .check = check_room);

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
TABLE (region, TesseraRegion, .check = check_region);

static const TesseraColumn plan_edit_columns[] = { COLUMN (TesseraPlanEdit, name, TEXT),
                                                   COLUMN (TesseraPlanEdit, rule, TEXT) };
TABLE (plan_edit, TesseraPlanEdit);

static const TesseraColumn length_plan_columns[] = {
  NAMED ("most_batch", TesseraLengths, most.batch, BYTES, .minimum = 1),
  NAMED ("most_length", TesseraLengths, most.length, BYTES, .minimum = 1),
  COLUMN (TesseraLengths, has_batch, FLAG),
  COLUMN (TesseraLengths, n_steps, U32),
  COLUMN (TesseraLengths, n_early, U32),
  COLUMN (TesseraLengths, fixed_bytes, BYTES),
  COLUMN (TesseraLengths, start_bytes, BYTES),
  COLUMN (TesseraLengths, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraLengths, cut_phase, TEXT_OR_NULL),
};
TABLE (length_plan, TesseraLengths);

static const TesseraColumn length_step_columns[] = {
  COLUMN (TesseraParameters, batch, BYTES),
  COLUMN (TesseraParameters, length, BYTES),
};
TABLE (length_step, TesseraParameters);

static const TesseraColumn length_phase_columns[] = { NAMED (
    "name", TesseraTextItem, text, TEXT) };
TABLE (length_phase, TesseraTextItem);

static const TesseraColumn length_law_columns[] = {
  NAMED ("by_one", TesseraSizeLaw, numerators[TESSERA_TERM_ONE], BITS),
  NAMED ("by_batch", TesseraSizeLaw, numerators[TESSERA_TERM_BATCH], BITS),
  NAMED ("by_length", TesseraSizeLaw, numerators[TESSERA_TERM_LENGTH], BITS),
  NAMED ("by_tokens", TesseraSizeLaw, numerators[TESSERA_TERM_TOKENS], BITS),
  NAMED ("by_square", TesseraSizeLaw, numerators[TESSERA_TERM_SQUARE], BITS),
  COLUMN (TesseraSizeLaw, denominator, BITS),
  COLUMN (TesseraSizeLaw, cap_bytes, BYTES),
  COLUMN (TesseraSizeLaw, rounding, U32),
  COLUMN (TesseraSizeLaw, kind, U8),
};
TABLE (length_law, TesseraSizeLaw);

static const TesseraColumn length_slot_columns[] = {
  COLUMN (TesseraLengthsSlot, law, U32, BELOW (LAWS)),
  COLUMN (TesseraLengthsSlot, died, U32),
  COLUMN (TesseraLengthsSlot, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraLengthsSlot, stream, U16),
  COLUMN (TesseraLengthsSlot, pool, U16),
  COLUMN (TesseraLengthsSlot, place, U8, .below = TESSERA_PLACE_NONE + 1),
  COLUMN (TesseraLengthsSlot, is_once, FLAG),
  COLUMN (TesseraLengthsSlot, crosses, FLAG),
  COLUMN (TesseraLengthsSlot, offset_bytes, BYTES),
  COLUMN (TesseraLengthsSlot, spare_bytes, BYTES),
  COLUMN (TesseraLengthsSlot, gone, U32),
  COLUMN (TesseraLengthsSlot, seen, U8),
  COLUMN (TesseraLengthsSlot, is_over_cuts, FLAG),
  COLUMN (TesseraLengthsSlot, from_tokens, BYTES),
  COLUMN (TesseraLengthsSlot, to_tokens, BYTES),
};
TABLE (length_slot, TesseraLengthsSlot);

static const TesseraColumn start_slot_columns[] = {
  COLUMN (TesseraStartSlot, size_bytes, BYTES),
  COLUMN (TesseraStartSlot, block_bytes, BYTES),
  COLUMN (TesseraStartSlot, offset_bytes, BYTES),
  COLUMN (TesseraStartSlot, died, U32),
  COLUMN (TesseraStartSlot, phase, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraStartSlot, stream, U16),
  COLUMN (TesseraStartSlot, pool, U16),
  COLUMN (TesseraStartSlot, is_held, FLAG),
  COLUMN (TesseraStartSlot, is_left, FLAG),
};
TABLE (start_slot, TesseraStartSlot);

static const TesseraColumn length_order_columns[] = {
  COLUMN (TesseraOrder, from_tokens, BYTES),
  COLUMN (TesseraOrder, is_first, FLAG),
  COLUMN (TesseraOrder, in_spare, FLAG),
  COLUMN (TesseraOrder, n_low, U32),
};
TABLE (length_order, TesseraOrder);

static const TesseraColumn length_order_slot_columns[] = { WHOLE (
    "slot", U32, BELOW (SLOTS)) };
TABLE (length_order_slot, uint32_t);

static const TesseraColumn length_order_edge_columns[] = {
  COLUMN (TesseraOrderEdge, above, U32),
  COLUMN (TesseraOrderEdge, below, U32),
};
TABLE (length_order_edge, TesseraOrderEdge);
