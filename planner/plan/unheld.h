/*
 * What the items of a plan come to without what edits hold them to, and what that is
 * worth with it.
 *
 * Few rules go around what is held as well as they do without: four pins leave the lowest
 * offset with windows that it has to lift. So where a layout with edits ends above what
 * is proven, the items are packed once more as if nothing held them, and that layout is
 * repaired (planner/pack/repack/repair.h), as a preview repairs the plan before. It is a
 * pure function of items and options, as all of a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/*
 * tessera_unheld_improve:
 * @options: what the layout was packed with
 * @offsets: (array length=n_items): of a layout; set where something lower was found
 * @packing: of @offsets
 *
 * Does nothing where nobody is held, nothing lower can be, or it was stopped.
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED
 */
TESSERA_MUST_USE TesseraStatus tessera_unheld_improve (const TesseraItem *items,
                                                       size_t n_items,
                                                       const TesseraPackOptions *options,
                                                       uint64_t *offsets,
                                                       TesseraPacking *packing);
