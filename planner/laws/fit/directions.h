/*
 * What sizes are proportional to, up to a factor.
 *
 * Sizes of one slot in each step, divided by their greatest common divisor, are a
 * direction. Whatever the slot counts (tokens, images, pairs of tokens), all slots that
 * count the same lie in one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "planner/laws/fit/fit.h"

/* Whole numbers without a common divisor, one for each step. */
typedef struct
{
  uint64_t values[TESSERA_FIT_STEPS];
  uint32_t n_slots; /* proportional to it */
} TesseraDirection;

/* Divides by what all have in common. Returns: false: not a direction, since nothing
 * varies or a step has none. */
bool tessera_direction_reduce (TesseraDirection *direction, uint32_t n_steps);

static inline bool
tessera_direction_is_equal (const TesseraDirection *a,
                            const TesseraDirection *b,
                            uint32_t n_steps)
{
  for (uint32_t k = 0; k < n_steps; k++)
    if (a->values[k] != b->values[k])
      return false;
  return true;
}

/* Counts @direction among the @n first of @known. Returns: how many are known then. */
size_t tessera_direction_count_in (TesseraDirection *known,
                                   size_t n,
                                   const TesseraDirection *direction,
                                   uint32_t n_steps);

/* @of / @by as whole numbers, reduced. Returns: false: they would be too large, or no
 * direction. */
bool tessera_direction_divide (const TesseraDirection *of,
                               const TesseraDirection *by,
                               uint32_t n_steps,
                               TesseraDirection *out);

/* @a x @b is @product, but for a small factor. A quotient with anything else gives that
 * too, with a factor beyond reason. */
bool tessera_direction_is_product (const TesseraDirection *product,
                                   const TesseraDirection *a,
                                   const TesseraDirection *b,
                                   uint32_t n_steps);
