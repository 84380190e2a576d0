/*
 * In which unit a length counts, from what is rounded.
 *
 * Sizes that are proportional to the length give it up to a factor. What is rounded up
 * tells the factor: kernels round the number of tokens, not that of images. Example:
 * images 14, 8, 12, 15 and a workspace of 44, 25, 37, 47 equal pieces are 197 tokens an
 * image in pieces of 64, and no other whole number does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

/*
 * tessera_scale_of:
 * @length: (array length=n): without a common divisor, each >= 1
 * @pieces: (array length=n): sizes without a common divisor, not proportional to @length
 *
 * Returns: the one whole number m >= 2 with which some multiple of each of @pieces is
 *   @length x m / rounding, rounded up, for one of the roundings of laws; 0: there is
 *   none, or several
 */
uint64_t tessera_scale_of (const uint64_t *length, const uint64_t *pieces, uint32_t n);
