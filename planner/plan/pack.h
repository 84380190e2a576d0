/*
 * Packing a plan, one kind of step after the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

/* What is known while kind after kind is packed. Where nothing repeats there is one kind
 * without any requests. */
typedef struct
{
  TesseraPlanBuild *build;
  uint64_t *owners; /* [n_zones] ascending: each a zone (planner/plan/build.h) */
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

/* Pins requests of the kind at hand where an earlier packed kind has the same ones, or
 * only those that both begin with, as far as they are free there. Returns: how many. */
size_t tessera_kind_pin (TesseraKindPacking *packing, bool begins_only);
