/*
 * In which unit a length counts: see scale.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/scale.h"

#include "db/lengths.h"

enum
{
  MAX_FACTOR = 8 /* that all numbers of pieces may have in common */
};

/* The numbers m with ceil (length m / rounding) = pieces factor, for all: from *out_least
 * to *out_most. */
static void
narrow (const uint64_t *length,
        const uint64_t *pieces,
        uint32_t n,
        uint64_t factor,
        uint64_t rounding,
        uint64_t *out_least,
        uint64_t *out_most)
{
  *out_least = 1;
  *out_most = UINT64_MAX;
  for (uint32_t k = 0; k < n && *out_least <= *out_most; k++)
    {
      uint64_t below = rounding * (pieces[k] * factor - 1) / length[k];
      uint64_t most = rounding * pieces[k] * factor / length[k];

      *out_least = below + 1 > *out_least ? below + 1 : *out_least;
      *out_most = most < *out_most ? most : *out_most;
    }
}

uint64_t
tessera_scale_of (const uint64_t *length, const uint64_t *pieces, uint32_t n)
{
  uint64_t found = 0;

  for (uint32_t k = 0; k < n; k++)
    if (length[k] == 0 || pieces[k] == 0 ||
        pieces[k] > (uint64_t) TESSERA_MAX_TERM / (MAX_FACTOR * 128))
      return 0;
  for (uint64_t rounding = 8; rounding <= 128 && found == 0; rounding *= 2)
    for (uint64_t factor = 1; factor <= MAX_FACTOR && found == 0; factor++)
      {
        uint64_t least, most;

        narrow (length, pieces, n, factor, rounding, &least, &most);
        if (least == most && least > 1)
          found = least;
      }
  return found;
}
