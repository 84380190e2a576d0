/*
 * What sizes are proportional to: see directions.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/directions.h"

enum
{
  MAX_FACTOR = 64 /* of a product, over the same without common divisors */
};

static uint64_t
common_divisor (uint64_t a, uint64_t b)
{
  while (b != 0)
    {
      uint64_t rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

bool
tessera_direction_reduce (TesseraDirection *direction, uint32_t n_steps)
{
  uint64_t divisor = 0;
  bool is_varied = false;

  for (uint32_t k = 0; k < n_steps; k++)
    {
      if (direction->values[k] == 0 || direction->values[k] > (uint64_t) TESSERA_MAX_TERM)
        return false;
      divisor = common_divisor (divisor, direction->values[k]);
      is_varied = is_varied || direction->values[k] != direction->values[0];
    }
  for (uint32_t k = 0; k < n_steps; k++)
    direction->values[k] /= divisor;
  return is_varied;
}

size_t
tessera_direction_count_in (TesseraDirection *known,
                            size_t n,
                            const TesseraDirection *direction,
                            uint32_t n_steps)
{
  for (size_t i = 0; i < n; i++)
    if (tessera_direction_is_equal (&known[i], direction, n_steps))
      {
        known[i].n_slots += direction->n_slots;
        return n;
      }
  known[n] = *direction;
  return n + 1;
}

bool
tessera_direction_divide (const TesseraDirection *of,
                          const TesseraDirection *by,
                          uint32_t n_steps,
                          TesseraDirection *out)
{
  uint64_t below = 1;

  *out = (TesseraDirection){ .n_slots = 0 };
  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t rest = by->values[k] / common_divisor (of->values[k], by->values[k]);

      below = below / common_divisor (below, rest) * rest;
      if (below > UINT32_MAX)
        return false;
    }
  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t divisor = common_divisor (of->values[k], by->values[k]);

      if (of->values[k] > (uint64_t) TESSERA_MAX_TERM / below)
        return false;
      out->values[k] = of->values[k] / divisor * (below / (by->values[k] / divisor));
    }
  return tessera_direction_reduce (out, n_steps);
}

bool
tessera_direction_is_product (const TesseraDirection *product,
                              const TesseraDirection *a,
                              const TesseraDirection *b,
                              uint32_t n_steps)
{
  uint64_t factor = 0;

  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t found;

      if (__builtin_mul_overflow (a->values[k], b->values[k], &found) ||
          found % product->values[k] != 0 ||
          (k > 0 && found / product->values[k] != factor))
        return false;
      factor = found / product->values[k];
    }
  return factor <= MAX_FACTOR;
}
