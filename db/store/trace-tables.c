/*
 * The tables of a trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/tables.h"

#include "db/stack-tree.h"
#include "db/store/columns.h"

static const TesseraColumn recording_columns[] = {
  COLUMN (TesseraTrace, source, TEXT),
  COLUMN (TesseraTrace, n_events, COUNT),
  NAMED ("memory_bytes", TesseraTrace, device_bytes, BYTES),
  COLUMN (TesseraTrace, limit_bytes, BYTES),
  COLUMN (TesseraTrace, alignment_bytes, U32, .minimum = 1),
  COLUMN (TesseraTrace, has_addresses, BOOL),
  COLUMN (TesseraTrace, has_segments, BOOL),
  COLUMN (TesseraTrace, has_time, BOOL),
  COLUMN (TesseraTrace, starts_empty, BOOL),
  NAMED ("is_expandable", TesseraTrace, settings.is_expandable, BOOL),
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
TABLE (recording,
       "recording",
       "recording_index",
       TesseraTrace,
       recording_columns,
       .n_scopes = 1,
       .has_gaps = true);

static const TesseraColumn rounding_columns[] = { WHOLE ("divisions", U32) };
TABLE (rounding, "rounding", "interval_index", uint32_t, rounding_columns, .n_scopes = 1);

static const TesseraColumn meta_columns[] = { COLUMN (TesseraMeta, key, TEXT),
                                              COLUMN (TesseraMeta, value, TEXT) };
TABLE (meta, "meta", "meta_index", TesseraMeta, meta_columns);

static const TesseraColumn string_columns[] = { COLUMN (TesseraTextItem, text, TEXT) };
TABLE (string, "string", "string_index", TesseraTextItem, string_columns);

static const TesseraColumn frame_columns[] = {
  COLUMN (TesseraFrame, name, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraFrame, file, U32_OR_NONE, BELOW (STRINGS)),
  COLUMN (TesseraFrame, line, NUMBER)
};
TABLE (frame, "frame", "frame_index", TesseraFrame, frame_columns);

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
TABLE (stack_node,
       "stack_node",
       "node_index",
       TesseraStackNode,
       stack_node_columns,
       .check = check_stack_node);

static const TesseraColumn stack_columns[] = { WHOLE (
    "node", U32_OR_NONE, BELOW (NODES)) };
TABLE (stack, "stack", "stack_index", uint32_t, stack_columns);

static const TesseraColumn device_columns[] = {
  COLUMN (TesseraDeviceInfo, device, U32), COLUMN (TesseraDeviceInfo, n_events, BYTES),
  COLUMN (TesseraDeviceInfo, n_segments, BYTES)
};
TABLE (device, "device", "device_index", TesseraDeviceInfo, device_columns);

static const TesseraColumn stream_columns[] = { WHOLE ("handle", BITS) };
TABLE (stream, "stream", "stream_index", uint64_t, stream_columns, .n_scopes = 1);

static const TesseraColumn pool_columns[] = { COLUMN (TesseraPoolId, owner_id, BITS),
                                              COLUMN (TesseraPoolId, user_id, BITS) };
TABLE (pool, "pool", "pool_index", TesseraPoolId, pool_columns, .n_scopes = 1);

static const TesseraColumn event_columns[] = {
  COLUMN (TesseraEvent, action, U8, BELOW (ACTIONS), .minimum = 1),
  COLUMN (TesseraEvent, addr, BITS),
  COLUMN (TesseraEvent, size_bytes, BYTES),
  COLUMN (TesseraEvent, at_ns, NUMBER),
  COLUMN (TesseraEvent, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraEvent, stream, U16, BELOW (STREAMS)),
  COLUMN (TesseraEvent, pool, U16, BELOW (POOLS)),
  COLUMN (TesseraEvent, pool_known, FLAG),
  COLUMN (TesseraEvent, is_left, FLAG)
};
TABLE (event,
       "event",
       "event_index",
       TesseraEvent,
       event_columns,
       .n_scopes = 1,
       .has_gaps = true);

static const TesseraColumn segment_columns[] = {
  COLUMN (TesseraSegment, addr, BITS),
  COLUMN (TesseraSegment, size_bytes, BYTES),
  COLUMN (TesseraSegment, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraSegment, stream, U16, BELOW (STREAMS)),
  COLUMN (TesseraSegment, pool, U16, BELOW (POOLS)),
  COLUMN (TesseraSegment, is_small, BOOL),
  COLUMN (TesseraSegment, is_expandable, BOOL)
};
TABLE (
    segment, "segment", "segment_index", TesseraSegment, segment_columns, .n_scopes = 2);

static const TesseraColumn held_block_columns[] = {
  COLUMN (TesseraHeldBlock, addr, BITS),
  COLUMN (TesseraHeldBlock, size_bytes, BYTES),
  COLUMN (TesseraHeldBlock, block_bytes, BYTES),
  COLUMN (TesseraHeldBlock, stack, U32_OR_NONE, BELOW (STACKS)),
  COLUMN (TesseraHeldBlock, state, U8, BELOW (STATES)),
  COLUMN (TesseraHeldBlock, tail_open, FLAG)
};
TABLE (held_block,
       "held_block",
       "block_index",
       TesseraHeldBlock,
       held_block_columns,
       .n_scopes = 2);

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
  COLUMN (TesseraRange, kind, U8, BELOW (RANGE_KINDS)),
  COLUMN (TesseraRange, begin_index, U32, BELOW (MOMENTS)),
  COLUMN (TesseraRange, end_index, U32, BELOW (MOMENTS)),
  COLUMN (TesseraRange, begin_ns, NUMBER),
  COLUMN (TesseraRange, end_ns, NUMBER),
  COLUMN (TesseraRange, parent, U32_OR_NONE),
  COLUMN (TesseraRange, is_inferred, FLAG)
};
TABLE (range,
       "range",
       "range_index",
       TesseraRange,
       range_columns,
       .n_scopes = 1,
       .check = check_range);

static const TesseraColumn edit_columns[] = {
  COLUMN (TesseraStoredEdit, name, TEXT), COLUMN (TesseraStoredEdit, created_s, NUMBER),
  COLUMN (TesseraStoredEdit, rule, TEXT), COLUMN (TesseraStoredEdit, is_undone, FLAG)
};
TABLE (edit, "edit", "edit_index", TesseraStoredEdit, edit_columns);
