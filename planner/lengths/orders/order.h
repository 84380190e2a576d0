/*
 * From a layout to the order in which slots lie, which holds for any sizes.
 *
 * In each moment the blocks alive lie one above the other. Whoever lies directly above
 * another in some moment rests on it: that is an edge. New neighbours meet only where a
 * block is born or dies, so there are at most three edges an event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"

/* [begin, end) and where it lies. */
typedef struct
{
  uint32_t begin, end;
  uint64_t offset_bytes;
} TesseraLaidOut;

/*
 * tessera_order_from_layout:
 * @items: no two that are alive in one moment have the same offset; begin < end
 * @n_positions: no end is beyond it
 * @out_order: slots are indices into @items; laws are left 0
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_order_from_layout (const TesseraLaidOut *items,
                                                          uint32_t n_items,
                                                          uint32_t n_positions,
                                                          TesseraOrder *out_order);
