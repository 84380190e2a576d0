/*
 * Outward from the peak, in both directions of time.
 *
 * At the peak everybody alive lies without holes: stacked, the load is the height. From
 * there those born later follow in order of their births, and those that died before in
 * reverse order of their deaths; the two never meet. So the moment that is hardest comes
 * first, and in each direction what lies next to each other in the stack was born, or
 * dies, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/sweep/sweep.h"

#define TESSERA_N_OUTWARD 4

/* Tells whether it is for such problems: without second lives and without limits. */
bool tessera_outward_is_for (const TesseraPackProblem *problem);

/*
 * tessera_sweep_outward:
 * @number: 0 .. TESSERA_N_OUTWARD - 1: the stack by births or by deaths, the others by
 *   best or by first fit
 * @order: (array): scratch of n_items
 *
 * Returns: false when the watch said stop, or @looks are spent; else @offsets are set.
 */
TESSERA_MUST_USE bool tessera_sweep_outward (TesseraSweep *sweep,
                                             uint32_t number,
                                             uint64_t looks,
                                             const TesseraPackWatch *watch,
                                             uint32_t *order,
                                             uint64_t *offsets,
                                             uint64_t *height_bytes);
