/*
 * Packing anew around the peak where there are several owners.
 *
 * Everybody is looked for by the lives that others see, which hold an item's own: those
 * who then turn out to be of the same owner, and never alive together, are not in the
 * way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/repack/repair.h"

/* As tessera_repack(), of a problem without limits and with several owners. */
TESSERA_MUST_USE TesseraStatus tessera_repack_owners (const TesseraPackProblem *problem,
                                                      const TesseraRepackOptions *options,
                                                      uint64_t *offsets,
                                                      uint64_t *height_bytes);

/* As tessera_repair(). */
TESSERA_MUST_USE TesseraStatus tessera_repair_owners (const TesseraPackProblem *problem,
                                                      const TesseraRepairOptions *options,
                                                      uint64_t *offsets,
                                                      uint64_t *height_bytes);
