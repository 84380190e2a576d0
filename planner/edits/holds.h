/*
 * What edits want of the places of blocks, of slots, and of the items that are packed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/edit.h"
#include "planner/pack.h"

/* A pin, together or apart: of blocks of the trace, and then of slots, each of which stands
 * for the blocks of all steps. */
typedef struct
{
  uint32_t edit; /* index */
  TesseraEditKind kind;
  union
  {
    uint32_t *blocks, *slots; /* ascending */
  };
  union
  {
    size_t n_blocks, n_slots;
  };
  uint64_t
      *offsets;   /* pin: of each; together: distance of each slot from the lowest, once
                        laid out */
  uint32_t *with; /* apart, where has_with: the other side, ascending */
  size_t n_with;
  bool has_with;
} TesseraHold;

/* The blocks of a trace as edits make them, and what is wanted of their places. */
typedef struct
{
  TesseraBlock *blocks; /* [n_blocks] grouped and edited */
  TesseraGroup *groups;
  size_t n_groups;
  TesseraHold *constraints; /* of blocks */
  size_t n_constraints, cap_constraints;
  uint32_t *left_out; /* [n_blocks] 1 + the edit (dynamic); 0: none; NULL: nobody is */
  uint64_t cap_bytes; /* the smallest; UINT64_MAX: none */
  uint32_t cap_edit;
} TesseraConstraints;

/*
 * tessera_constraints_of_trace:
 * @settled: (nullable): the edits, which become lists of blocks as they are applied
 * @error: a sentence that names the edit
 *
 * Groups the blocks anew, and applies the edits. @out_constraints is to be cleared in any
 * case.
 *
 * Returns: TESSERA_OK, or TESSERA_REFUSED where an edit can't be applied at all:
 * *out_conflict says which
 */
TESSERA_MUST_USE TesseraStatus
tessera_constraints_of_trace (const TesseraTrace *trace,
                              const TesseraBlocks *blocks,
                              const TesseraStructure *structure,
                              const TesseraEdit *edits,
                              size_t n_edits,
                              TesseraEdit *settled,
                              TesseraError *error,
                              TesseraEditConflict *out_conflict,
                              TesseraConstraints *out_constraints);
void tessera_constraints_clear (TesseraConstraints *constraints);

typedef struct
{
  const TesseraEdit *edits;
  TesseraError *error;
  TesseraEditConflict *conflict;
} TesseraComplaint;

typedef struct
{
  TesseraHold *holds;
  size_t n_holds;
  uint8_t *is_held;  /* [n_slots] by any; NULL: none is */
  uint64_t own_sets; /* of items: not for what edits keep apart */
  const TesseraPlan *plan;
  const TesseraComplaint *complaint;
} TesseraHolds;

/* Sets @complaint's conflict and sentence, which names both edits. Returns:
 * TESSERA_REFUSED */
TesseraStatus tessera_complain (const TesseraComplaint *complaint,
                                uint32_t first,
                                uint32_t second,
                                const char *reason);

/* Which slots stand for blocks. */
typedef struct
{
  const uint32_t *slot_of_block;  /* [n_blocks] or TESSERA_NONE: has none */
  const uint32_t *first_at_place; /* [n_slots] of slots that lie in one place for good (of
                                     several kinds of step) the first */
  const uint8_t *is_dynamic;      /* (nullable) [n_blocks] has none, and goes to a room */
  const uint8_t *is_kept;         /* [n_blocks] has none, since steps keep it */
} TesseraHoldsMap;

/* Of @plan, which has its slots and like @complaint must outlive the holds. TESSERA_OK or
 * TESSERA_REFUSED. To be cleared in any case. */
TESSERA_MUST_USE TesseraStatus tessera_holds_init (const TesseraConstraints *constraints,
                                                   const TesseraPlan *plan,
                                                   const TesseraHoldsMap *of,
                                                   const TesseraComplaint *complaint,
                                                   TesseraHolds *out_holds);
void tessera_holds_clear (TesseraHolds *holds);

/* Writes pins, sets and bodies into the items; @item_of_slot says whose they are. The
 * items' own sets stay. TESSERA_REFUSED where two edits want different things of one
 * item. */
TESSERA_MUST_USE TesseraStatus tessera_holds_apply (TesseraHolds *holds,
                                                    const uint32_t *item_of_slot,
                                                    TesseraItem *items,
                                                    size_t n_items);
/* Writes only the sets, of those slots that have an item. */
TESSERA_MUST_USE TesseraStatus tessera_holds_apply_sets (const TesseraHolds *holds,
                                                         const uint32_t *item_of_slot,
                                                         TesseraItem *items);
/* Says which edits are behind two items that the packer could not place. */
TesseraStatus tessera_holds_explain (const TesseraHolds *holds,
                                     const uint32_t *item_of_slot,
                                     const TesseraItem *items,
                                     const uint32_t conflict[2]);
