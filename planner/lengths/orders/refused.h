/*
 * What the guard of the pool (allocator/policy/guard/guard.h) would refuse of a plan for
 * every length in a run of several streams, for small and large blocks that lie where the
 * other ones lay: within a step, and where a step of another length comes next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/status.h"

/*
 * tessera_lengths_refused:
 * @at: (array length=n_at): steps in the order in which they come
 * @out_bytes: of all blocks that their places are refused to; what is refused lies
 *   elsewhere. What has a fixed place is asked for and shares it with nobody
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_refused (const TesseraLengths *lengths,
                                                        const TesseraParameters *at,
                                                        size_t n_at,
                                                        uint64_t *out_bytes);
