/*
 * Where what a planned step asks for beyond its plan may lie in the pool.
 *
 * Not thread-safe by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/lengths.h"
#include "allocator/policy/pages/growth.h"

/* Finds the highest place above the fixed ones that no slot of the step needs any more
 * and that the guard would grant. A block that outlives the step may lie in the next
 * one's way. Looks at every slot of the step. Returns: whether there is one; false as
 * well where host memory is short. */
bool tessera_strays_find (const TesseraLengthsFollower *follower,
                          const TesseraGrowth *growth,
                          uint64_t fixed_bytes,
                          const TesseraGuardRequest *request,
                          uint64_t *out_offset_bytes);
