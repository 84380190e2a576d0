/*
 * A few items among many that stand.
 *
 * Whoever moves sees no more of those that stand than which addresses are taken while it
 * lives. Between two moments at which one of the few begins or ends that is one set for
 * all of them, mostly of a few ranges: layers lie on top of each other without gaps. So
 * what is packed is the few among these ranges: of 100,000 blocks with one pinned in
 * layers some hundred items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/*
 * tessera_standing_pack:
 * @layered: (array length=n_items): where items lie in layers, UINT64_MAX: in none. Those
 *   that are pinned there stand; each zone has addresses of its own among them
 * @offsets: (array length=n_items): filled on success
 *
 * Returns: as tessera_pack() does; TESSERA_REFUSED too where more move than it is for, or
 * lives differ between owners
 */
TESSERA_MUST_USE TesseraStatus tessera_standing_pack (const TesseraItem *items,
                                                      const uint64_t *layered,
                                                      size_t n_items,
                                                      const TesseraPackOptions *options,
                                                      uint64_t *offsets,
                                                      TesseraPacking *out_packing);
