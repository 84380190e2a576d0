/*
 * Offsets for a step of a given length: one walk through an order (db/lengths.h).
 *
 * Cost: the laws once each, then for each slot a look at the slots that it rests on, two
 * on average.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"

/* What each law takes, in whole blocks: [n_laws]. Returns: false: a law gives nothing for
 * these parameters. */
bool tessera_sweep_sizes (const TesseraLengths *lengths,
                          const TesseraParameters *parameters,
                          uint64_t *out_block_bytes);

/* The order that is used for these parameters. */
const TesseraOrder *tessera_sweep_order (const TesseraLengths *lengths,
                                         const TesseraParameters *parameters);

/*
 * tessera_sweep:
 * @block_bytes: see above
 * @out_tops: (array length=n_swept): the end of each slot, in the order's places; its
 *   offset is that less its size
 *
 * Returns: the height: the highest end, fixed_bytes at least.
 */
uint64_t tessera_sweep (const TesseraLengths *lengths,
                        const TesseraOrder *order,
                        const uint64_t *block_bytes,
                        uint64_t *out_tops);
