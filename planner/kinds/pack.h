/*
 * Packing a plan of several kinds of step, one kind after the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/plan.h"

/* What is known while kind after kind is packed. */
typedef struct
{
  TesseraPlanBuild *build;
  TesseraCarries *carries;
  bool splits_sizes; /* small and large have zones of their own */
  uint64_t *owners;  /* [n_zones] ascending */
  uint32_t n_zones;
  bool is_placed[TESSERA_MAX_KINDS];
  uint8_t *has_place; /* [n_slots] its offset is known */
  bool is_first;      /* the kind at hand is: start, end and carries have no place yet */
  uint64_t height_bytes;
  const char *strategy; /* static text: of the first kind's packing */

  /* Of the kind at hand. */
  uint32_t kind;
  uint32_t twin; /* its second layout, packed with it; or TESSERA_NONE */
  TesseraItem *items;
  size_t n_items, cap_items;
  uint32_t *item_of_slot;  /* [n_slots] its carry's, if it has one; or TESSERA_NONE */
  uint32_t *item_of_carry; /* [n_carries], or TESSERA_NONE: it is not there */
} TesseraKindsPacking;

/* Fills the items of the kind at hand. Time is that of the start, a step of this kind (and
 * one in its second layout), the end; what has its place already is pinned. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_items (TesseraKindsPacking *packing);

/* The zone of the slot is that of its owner (planner/plan/build.h). */
uint64_t tessera_kinds_owner (const TesseraKindsPacking *packing,
                              const TesseraSlot *slot);

/* Adds what edits hold beside these, and writes what they want into the items. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_hold (TesseraKindsPacking *packing);

/* The sets of items that this takes for itself. */
uint64_t tessera_kinds_own_sets (void);

/* An item for a slot that is not of the kind at hand, alive over [@begin, @end). */
void tessera_kinds_add_elsewhere (TesseraKindsPacking *packing,
                                  uint32_t slot,
                                  uint32_t begin,
                                  uint32_t end);

/* A position behind all that the kind's items live over. */
uint32_t tessera_kinds_after_all (const TesseraKindsPacking *packing);

/* Pins requests of the kind at hand where an earlier packed kind has the same ones, or
 * only those that both begin with, as far as they are free there. Returns: how many. */
size_t tessera_kinds_pin (TesseraKindsPacking *packing, bool begins_only);
