/*
 * Units: what the files of the strategy `stalloc` share (stalloc.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/groups.h"
#include "planner/stalloc/stalloc.h"

/* A group, several that were fused, or a single item. */
typedef struct
{
  TesseraDecision *decisions; /* sources are items; offsets within the unit */
  size_t n_decisions;
  uint64_t height_bytes, offset_bytes;
  uint32_t begin, end;
  uint32_t begin2, end2;         /* of a single item that wraps; else equal */
  uint32_t from_phase, to_phase; /* of a group; TESSERA_NONE: none */
  bool is_group;
} TesseraStallocUnit;

typedef struct
{
  TesseraStallocUnit *units;
  size_t n_units, cap_units;
} TesseraStallocUnits;

/* Units of the items in @order, which is by group and then by begin; adjacent groups are
 * fused. @out is to be cleared. */
void tessera_stalloc_make_units (const TesseraItem *items,
                                 const TesseraStallocItem *grouped,
                                 const uint32_t *order,
                                 size_t n_order,
                                 TesseraStallocUnits *out);
void tessera_stalloc_clear_units (TesseraStallocUnits *units);
