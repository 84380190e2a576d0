/*
 * Which struct goes into which table of a trace or plan file.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/plan.h"
#include "db/store.h"
#include "db/store/rows.h"

typedef struct
{
  char *text;
} TesseraTextItem;

/* Places counted over all orders. */
typedef struct
{
  uint32_t above, below;
} TesseraOrderEdge;

/* of a trace file */
extern const TesseraTable tessera_recording_table;  /* TesseraTrace */
extern const TesseraTable tessera_rounding_table;   /* uint32_t */
extern const TesseraTable tessera_meta_table;       /* TesseraMeta */
extern const TesseraTable tessera_string_table;     /* TesseraTextItem */
extern const TesseraTable tessera_frame_table;      /* TesseraFrame */
extern const TesseraTable tessera_stack_node_table; /* TesseraStackNode */
extern const TesseraTable tessera_stack_table;      /* uint32_t: node */
extern const TesseraTable tessera_device_table;     /* TesseraDeviceInfo */
extern const TesseraTable tessera_stream_table;     /* uint64_t */
extern const TesseraTable tessera_pool_table;       /* TesseraPoolId */
extern const TesseraTable tessera_event_table;      /* TesseraEvent */
extern const TesseraTable tessera_segment_table;    /* TesseraSegment */
extern const TesseraTable tessera_held_block_table; /* TesseraHeldBlock */
extern const TesseraTable tessera_range_table;      /* TesseraRange */

extern const TesseraTable tessera_edit_table; /* TesseraStoredEdit */

/* of both files */
extern const TesseraTable tessera_plan_table;         /* TesseraPlan */
extern const TesseraTable tessera_phase_name_table;   /* TesseraTextItem */
extern const TesseraTable tessera_section_table;      /* TesseraSection */
extern const TesseraTable tessera_group_table;        /* TesseraGroup */
extern const TesseraTable tessera_slot_table;         /* TesseraSlot */
extern const TesseraTable tessera_crossing_table;     /* TesseraCrossing */
extern const TesseraTable tessera_room_table;         /* TesseraRoom */
extern const TesseraTable tessera_region_table;       /* TesseraRegion */
extern const TesseraTable tessera_placeless_table;    /* TesseraPlaceless */
extern const TesseraTable tessera_plan_edit_table;    /* TesseraPlanEdit */
extern const TesseraTable tessera_length_plan_table;  /* TesseraLengths */
extern const TesseraTable tessera_length_step_table;  /* TesseraParameters */
extern const TesseraTable tessera_length_phase_table; /* TesseraTextItem */
extern const TesseraTable tessera_length_law_table;   /* TesseraSizeLaw */
extern const TesseraTable tessera_length_slot_table;  /* TesseraLengthsSlot */
extern const TesseraTable tessera_start_slot_table;   /* TesseraStartSlot */
extern const TesseraTable tessera_order_table;        /* TesseraOrder */
extern const TesseraTable tessera_order_slot_table;   /* uint32_t */
extern const TesseraTable tessera_order_edge_table;   /* TesseraOrderEdge */
