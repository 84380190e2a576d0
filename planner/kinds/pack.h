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
  uint64_t *owners; /* [n_zones] ascending */
  uint32_t n_zones;
  bool is_placed[TESSERA_MAX_KINDS];
  bool is_first; /* the kind at hand is: start, end and carries have no place yet */
  uint64_t height_bytes;

  /* Of the kind at hand. */
  uint32_t kind;
  TesseraItem *items;
  size_t n_items, cap_items;
  uint32_t *item_of_slot;  /* [n_slots] or TESSERA_NONE */
  uint32_t *item_of_carry; /* [n_carries] */
} TesseraKindsPacking;

/* Fills the items of the kind at hand. Time is that of the start, a step of this kind,
 * the end; what has its place already is pinned. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_items (TesseraKindsPacking *packing);

/* Pins requests of the kind at hand where an earlier packed kind has the same ones, or
 * only those that both begin with, as far as they are free there. *@out_n_pinned: how
 * many. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_pin (TesseraKindsPacking *packing,
                                                  bool begins_only,
                                                  size_t *out_n_pinned);
