/*
 * Room in layers for what is pinned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/*
 * tessera_held_make_room:
 * @items: what edits hold is held
 * @layered: (array length=n_items): where items lie in layers, UINT64_MAX: in none
 * @out_items: (array length=n_items): filled on success: @items, those in layers pinned
 *   there, but for those in the way of a pin of @items, which are free to go anywhere
 *
 * Returns: TESSERA_OK; TESSERA_REFUSED: so much is pinned that looking at it would take
 * seconds
 */
TESSERA_MUST_USE TesseraStatus tessera_held_make_room (const TesseraItem *items,
                                                       size_t n_items,
                                                       const uint64_t *layered,
                                                       TesseraItem *out_items);
