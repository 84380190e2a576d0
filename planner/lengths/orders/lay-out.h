/*
 * One packing of the swept slots, at given parameters: what an order is taken from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths/build.h"
#include "planner/lengths/orders/order.h"

/* Whether PyTorch's small blocks and its large ones are to be kept apart, as in a plan that
 * is there to be followed (planner/plan/build.h). */
bool tessera_lengths_splits_sizes (const TesseraLengthsBuild *build);

typedef struct
{
  bool is_first;  /* of the step that makes what one step makes: others may lie in its
                     place  until it comes. Around what is pinned zones would cost more
                     than  they  are worth, but in steps of parts */
  bool has_zones; /* small ones (at the most) lie below all others */
} TesseraLayOutWay;

/*
 * tessera_lengths_lay_out:
 * @swept: [n_swept] slots
 * @block_bytes: [n_laws] at the parameters
 * @out_laid_out: [n_swept]; offsets count from where the first of them may lie
 * @out_n_low: so many lie below all others and are kept apart from them: the small ones;
 * of parts that make what is there over cuts the large ones
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_lay_out (const TesseraLengthsBuild *build,
                                                        const uint32_t *swept,
                                                        const TesseraLayOutWay *way,
                                                        const uint64_t *block_bytes,
                                                        TesseraLaidOut *out_laid_out,
                                                        uint32_t *out_n_low);

/* What no layout of the same slots, without anything pinned, is below. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_bound (const TesseraLengthsBuild *build,
                                                      const uint32_t *swept,
                                                      bool has_zones,
                                                      const uint64_t *block_bytes,
                                                      uint64_t *out_bytes);
