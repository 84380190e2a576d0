/*
 * What the files that make a plan share with each other, and nobody else.
 *
 * A plan is made of the kinds of step that fold: of none, of one, which is what an
 * ordinary program has, or of several. All of them have the same slots, items and
 * constraints; what is of a kind is an array.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <time.h>

#include "allocator/caching.h"
#include "planner/edits/holds.h"
#include "planner/fold.h"
#include "planner/memory.h"
#include "planner/pack.h"
#include "planner/plan/carries.h"
#include "planner/planner.h"

enum
{
  TESSERA_BUILD_MOST_SECTIONS = 10 /* the start, kinds of step, the end */
};

/* In left_out below: no edit does, steps keep it for good (planner/fold.h). */
#define TESSERA_LEFT_OUT_KEPT UINT32_MAX

/* When planning is to stop before its end: a person said so. */
typedef struct
{
  const TesseraProgress *asked; /* (nullable): the caller's */
  TesseraProgress progress;     /* asks it; once it said stop, it stays with it */
  bool has_stopped;
} TesseraStop;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks; /* with groups, as edited */
  const TesseraStructure *structure;
  const TesseraPlanOptions *options;
  TesseraComplaint complaint; /* whom sentences about edits go to */
  TesseraRun run;
  TesseraPlan *plan;
  size_t cap_slots, cap_unplanned;
  size_t n_spares[TESSERA_BUILD_MOST_SECTIONS]; /* by section: its last slots */

  TesseraConstraints constraints; /* of the edits */
  TesseraHolds holds;             /* the same, of slots */
  TesseraStop stop;

  /* The layout in hand. */
  const TesseraUnits *units; /* the steps that it folds: the run's, or of several kinds */
  TesseraCarries carries;
  uint64_t *holders;  /* (nullable): of the carries */
  uint32_t *left_out; /* [n_blocks] of those that stand for others: 1 + the edit that
                           leaves it without a slot, or TESSERA_LEFT_OUT_KEPT; 0: none */
  bool splits_sizes;  /* small and large have zones of their own */
} TesseraPlanBuild;

/* The kinds of step of the trace, where they fold more of its steps than its one run of
 * equal ones, and no steps are chosen; else there are none. */
TesseraUnits tessera_build_find_kinds (const TesseraPlanBuild *build);

/* Plans in that way of which the plan is lowest: one kind of step or several, in one
 * layout or two, and below what edits set as the most. TESSERA_REFUSED where edits
 * conflict. @kinds: what tessera_build_find_kinds() found; may change, and must stay
 * where it is as long as @build is used. */
TESSERA_MUST_USE TesseraStatus tessera_build_plan (TesseraPlanBuild *build,
                                                   TesseraUnits *kinds);

/* What edits leave out, and what steps keep, of those units. */
TESSERA_MUST_USE TesseraStatus tessera_build_leave_out (TesseraPlanBuild *build,
                                                        const TesseraUnits *units);
/* One more that stands for others, and its twin. @why: 1 + the edit. */
void tessera_build_mark_left_out (TesseraPlanBuild *build, uint32_t block, uint32_t why);

/* Sections, slots and unplanned requests of build->units, without what is left out, with
 * names, holds, offsets, height and rooms; what no layout of them is below. */
TESSERA_MUST_USE TesseraStatus tessera_build_layout (TesseraPlanBuild *build);

/* Fills slots, sections, crossings and unplanned requests, from the carries. */
void tessera_build_add_slots (TesseraPlanBuild *build);
/* Phases and ordinals. */
void tessera_build_names (TesseraPlanBuild *build);
/* Edits: numbers of who is held by what (carries.h), for the caller to free; and holds on
 * slots, once there are any. */
uint64_t *tessera_build_find_holders (const TesseraPlanBuild *build);
TESSERA_MUST_USE TesseraStatus tessera_build_find_holds (TesseraPlanBuild *build);
/* Offsets of slots and carries, height and strategy. */
TESSERA_MUST_USE TesseraStatus tessera_build_pack (TesseraPlanBuild *build);
/* Of a layout in which streams share addresses: moves buffers so that fewer do, no higher
 * than it is, or than the options allow. */
void tessera_build_part_streams (const TesseraPlanBuild *build,
                                 const TesseraItem *items,
                                 const uint32_t *item_of_slot,
                                 size_t n_items,
                                 uint64_t *offsets);
/* Fills the rooms of a plan that has its offsets; none where nothing is dynamic. */
void tessera_build_rooms (TesseraPlanBuild *build);
/* Lays out again and again with fewer slots until the plan is no higher than the cap that
 * an edit sets. */
TESSERA_MUST_USE TesseraStatus tessera_build_under_cap (TesseraPlanBuild *build);

/* Whether the slot is a spare. Its section has to be closed. */
static inline bool
tessera_build_is_spare (const TesseraPlanBuild *build, size_t slot)
{
  uint32_t section = build->plan->slots[slot].section;
  const TesseraSection *of = &build->plan->sections[section];

  return slot >= (size_t) of->first_slot + of->n_slots - build->n_spares[section];
}

/* PyTorch's small pool, by rounded size. */
static inline bool
tessera_slot_is_small (const TesseraSlot *slot)
{
  return slot->block_bytes <= TESSERA_SMALL_BYTES;
}

/* Slots of equal owner may follow each other at once: same pool, and size class where
 * these are split; across streams, else same stream. */
static inline uint64_t
tessera_build_owner (const TesseraPlanBuild *build, const TesseraSlot *slot)
{
  uint64_t stream = build->plan->crosses_streams ? 0 : (uint64_t) slot->stream << 1;

  return build->splits_sizes
             ? (uint64_t) slot->pool << 32 | stream | tessera_slot_is_small (slot)
             : slot->pool;
}

/* ---- Packing a plan, one kind of step after the other (pack.c, items.c, holds.c) ---- */

/* What is known while kind after kind is packed. Where nothing repeats there is one kind
 * without any requests. */
typedef struct
{
  TesseraPlanBuild *build;
  uint64_t *owners; /* [n_zones] ascending: each a zone */
  uint32_t n_zones;
  bool is_placed[TESSERA_MAX_KINDS];
  uint8_t *has_place; /* [n_slots] its offset is known */
  bool is_first;      /* the kind at hand is: start, end and carries have no place yet */
  uint64_t height_bytes;
  TesseraPacking result; /* of the first kind */

  /* Of the kind at hand. */
  uint32_t kind;
  uint32_t twin; /* its second layout, packed with it; or TESSERA_NONE */
  TesseraItem *items;
  size_t n_items, cap_items;
  uint32_t *item_of_slot;  /* [n_slots] its carry's, if it has one; or TESSERA_NONE */
  uint32_t *item_of_carry; /* [n_carries], or TESSERA_NONE: it is not there */
} TesseraKindPacking;

/* Fills the items of the kind at hand, but for what edits hold. Time is that of the start,
 * a step of this kind (and one in its second layout), the end; what has its place already
 * is pinned. */
void tessera_kind_items (TesseraKindPacking *packing);

/* Adds what edits hold beside these, and writes what they want into the items. */
TESSERA_MUST_USE TesseraStatus tessera_kind_hold (TesseraKindPacking *packing);

/* The sets of items that this takes for itself. */
uint64_t tessera_kind_own_sets (const TesseraUnits *units);

/* An item for a slot that is not of the kind at hand, alive over [@begin, @end). */
void tessera_kind_add_elsewhere (TesseraKindPacking *packing,
                                 uint32_t slot,
                                 uint32_t begin,
                                 uint32_t end);

/* A position behind all that the kind's items live over. */
uint32_t tessera_kind_after_all (const TesseraKindPacking *packing);

/* Pins requests of the kind at hand where an earlier packed kind has the same ones, as far
 * as they are free there. Returns: how many. */
size_t tessera_kind_pin (TesseraKindPacking *packing);
