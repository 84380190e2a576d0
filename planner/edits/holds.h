/*
 * What edits want of the places of slots, and of the items that are packed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/edits/wishes.h"
#include "planner/pack.h"
#include "planner/run.h"

/* A wish, of slots: each stands for the blocks of all steps. */
typedef struct
{
  uint32_t edit;
  TesseraEditKind kind;
  uint32_t *slots; /* ascending */
  size_t n_slots;
  uint64_t *offsets; /* pin: of each; together: distance of each from the lowest, once
                        laid out */
  uint32_t *with;    /* ascending */
  size_t n_with;
  bool has_with;
} TesseraHold;

typedef struct
{
  TesseraHold *holds;
  size_t n_holds;
  uint8_t *is_held; /* [n_slots] by any; NULL: none is */
} TesseraHolds;

typedef struct
{
  const TesseraEdit *edits;
  TesseraError *error;
  TesseraEditConflict *conflict;
} TesseraComplaint;

/* Sets @complaint's conflict and sentence, which names both edits. Returns:
 * TESSERA_REFUSED */
TesseraStatus tessera_complain (const TesseraComplaint *complaint,
                                uint32_t first,
                                uint32_t second,
                                const char *reason);

/*
 * tessera_holds_init:
 * @n_requests: slots from here on to @n_spares more are spares, which no block asks for
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, TESSERA_REFUSED
 */
TESSERA_MUST_USE TesseraStatus tessera_holds_init (const TesseraWishes *wishes,
                                                   const TesseraRun *run,
                                                   const TesseraPlan *plan,
                                                   size_t first_spare,
                                                   size_t n_spares,
                                                   const TesseraComplaint *complaint,
                                                   TesseraHolds *out_holds);
void tessera_holds_clear (TesseraHolds *holds);

/* Writes pins, sets and bodies into the items; @item_of_slot says whose they are.
 * TESSERA_REFUSED where two edits want different things of one item. */
TESSERA_MUST_USE TesseraStatus tessera_holds_apply (TesseraHolds *holds,
                                                    const uint32_t *item_of_slot,
                                                    const TesseraPlan *plan,
                                                    const TesseraComplaint *complaint,
                                                    TesseraItem *items,
                                                    size_t n_items);
/* Says which edits are behind two items that the packer could not place. */
TesseraStatus tessera_holds_explain (const TesseraHolds *holds,
                                     const uint32_t *item_of_slot,
                                     const TesseraItem *items,
                                     const TesseraComplaint *complaint,
                                     const uint32_t conflict[2]);
