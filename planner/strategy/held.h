/*
 * What edits hold, beside groups as rectangles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/*
 * tessera_held_pack:
 * @items: what edits hold is held
 * @bodies: (array length=n_items): the same, each group a body
 * @layered: (array length=n_items): where items lie in layers as if nobody were held,
 *   UINT64_MAX: in none
 * @offsets: (array length=n_items): filled on success
 *
 * The lower of two: bodies moved among what is held, and what is held around the layers,
 * of which those in the way of a pin leave. A preview (is_brief) does with one of them
 * where that is likely the lower, or low enough.
 *
 * Returns: as tessera_pack() does
 */
TESSERA_MUST_USE TesseraStatus tessera_held_pack (const TesseraItem *items,
                                                  const TesseraItem *bodies,
                                                  const uint64_t *layered,
                                                  size_t n_items,
                                                  const TesseraPackOptions *options,
                                                  uint64_t *offsets,
                                                  TesseraPacking *out_packing);
