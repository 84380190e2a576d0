/*
 * What two sequences have in common, in order: the longest there is.
 *
 * Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica
 * 1, 1986: the greedy walk over diagonals, with the furthest points kept for the way
 * back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/*
 * tessera_diff:
 * @max_different: give up beyond so many elements of one that the other lacks; the work
 * is
 *   (@n_a + @n_b) x this at most, the memory its square x 8 bytes
 * @out_b_of_a: (array length=n_a): the place in @b of each element of @a, or TESSERA_NONE
 *
 * Returns: how many are common; 0 also where they differ in more
 */
uint32_t tessera_diff (const uint64_t *a,
                       uint32_t n_a,
                       const uint64_t *b,
                       uint32_t n_b,
                       uint32_t max_different,
                       uint32_t *out_b_of_a);
