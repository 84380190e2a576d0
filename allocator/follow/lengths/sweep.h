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

/* What each law takes, in whole blocks: [n_laws]. Returns:
 * false: a law gives nothing for these parameters. */
bool tessera_sweep_sizes (const TesseraLengths *lengths,
                          const TesseraParameters *parameters,
                          uint64_t *out_block_bytes);

/* Where a block of a slot that takes turns lies in its spare place: at the end, so that the
 * next one may be larger than any that was seen where this one is not. */
uint64_t tessera_sweep_spare (const TesseraLengthsSlot *slot,
                              uint64_t most_bytes,
                              uint64_t block_bytes);

/*
 * tessera_sweep:
 * @block_bytes: see above
 * @floors: (nullable) (array length=n_slots): of the step that makes what one step makes: no
 *   slot lies below its own, and what such a step never asks for takes nothing
 * @out_tops: (array length=n_swept): the end of each slot, in the order's places; its
 *   offset is that less its size
 *
 * Returns: the height: the highest end, fixed_bytes at least.
 */
uint64_t tessera_sweep (const TesseraLengths *lengths,
                        const TesseraOrder *order,
                        const uint64_t *block_bytes,
                        const uint64_t *floors,
                        uint64_t *out_tops);

/*
 * tessera_sweep_by:
 * @is_first: by the orders for the step that makes what one step makes, else by the
 *   others
 * @in_spare: by the orders for steps whose slots that take turns lie in their spare places
 * @floors: as above, or NULL
 * @out_order: the one that is used for these parameters: the one of their range. NULL:
 *   there is none
 *
 * Returns: the height; UINT64_MAX where there is no order.
 */
uint64_t tessera_sweep_by (const TesseraLengths *lengths,
                           const TesseraParameters *parameters,
                           bool is_first,
                           bool in_spare,
                           const uint64_t *block_bytes,
                           const uint64_t *floors,
                           uint64_t *out_tops,
                           const TesseraOrder **out_order);
