/*
 * What closed ranges force, whatever the packing.
 *
 * In the eyes of other owners an item lives longer than in those of its own (pack.h), so
 * at one moment the items of an owner that live in the eyes of others, taken together,
 * share no address with those of another owner. Among each other they may share
 * addresses, but for those that are alive together: at any other moment these lay side by
 * side. So at each moment an owner has no less than the largest load, at any moment, of
 * those of its items that others see alive now; and no layout is lower than the sum over
 * owners.
 *
 * Example: A (4, alive over [0,1)) and B (4, [2,3)) of one owner, both closed until 5,
 * and C (4, [4,5)) of another. A and B may lie in one place, C in none of theirs: 8,
 * where the load is never above 4.
 *
 * Cost: O(log n) an item and O(1) a section and owner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

/* Returns: TESSERA_OK or TESSERA_NO_MEMORY. Of a problem with one owner the load. */
TESSERA_MUST_USE TesseraStatus tessera_pack_closed (const TesseraPackProblem *problem,
                                                    uint64_t *out_bytes);
