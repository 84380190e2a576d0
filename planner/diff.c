/*
 * What two sequences have in common: see diff.h.
 *
 * Diagonal k is x - y = k. After d differences, points can only lie on diagonals
 * -d, -d + 2 ... d: row d of the furthest points has d + 1 of them, and rows lie one
 * behind the other: row d begins at d (d + 1) / 2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/diff.h"

#include <glib.h>

#include "db/trace.h"

typedef struct
{
  const uint64_t *a, *b;
  int64_t n_a, n_b;
  int32_t *furthest; /* x */
  size_t cap;
} Walk;

static int32_t *
row (const Walk *walk, int64_t d)
{
  return walk->furthest + d * (d + 1) / 2;
}

/* Whether the best way to diagonal @k with @d differences comes from above (an element of
 * b alone), not from the left (one of a). */
static bool
comes_down (const Walk *walk, int64_t d, int64_t k)
{
  const int32_t *before = row (walk, d - 1);
  int64_t i = (k + d) / 2; /* place in row d; i - 1 and i are the neighbours before */

  return k == -d || (k != d && before[i - 1] < before[i]);
}

/* Where the walk enters diagonal @k, before it slides along equal elements. */
static int64_t
enter (const Walk *walk, int64_t d, int64_t k)
{
  int64_t i = (k + d) / 2;

  if (d == 0)
    return 0;
  return comes_down (walk, d, k) ? row (walk, d - 1)[i] : row (walk, d - 1)[i - 1] + 1;
}

/* Fills row @d. Returns: whether the end of both was reached. */
static bool
advance (Walk *walk, int64_t d)
{
  for (int64_t i = 0; i <= d; i++)
    {
      int64_t k = 2 * i - d;
      int64_t x = enter (walk, d, k);

      while (x < walk->n_a && x - k < walk->n_b && walk->a[x] == walk->b[x - k])
        x++;
      row (walk, d)[i] = (int32_t) x;
      if (x >= walk->n_a && x - k >= walk->n_b)
        return true;
    }
  return false;
}

static uint32_t
go_back (const Walk *walk, int64_t d, uint32_t *b_of_a)
{
  int64_t x = walk->n_a, k = walk->n_a - walk->n_b;
  uint32_t n_common = 0;

  for (; d >= 0; d--)
    {
      int64_t from = enter (walk, d, k);

      for (; x > from; n_common++)
        {
          x--;
          b_of_a[x] = (uint32_t) (x - k);
        }
      if (d == 0)
        break;
      if (comes_down (walk, d, k))
        k++;
      else
        {
          k--;
          x--;
        }
    }
  return n_common;
}

uint32_t
tessera_diff (const uint64_t *a,
              uint32_t n_a,
              const uint64_t *b,
              uint32_t n_b,
              uint32_t max_different,
              uint32_t *out_b_of_a)
{
  Walk walk = { .a = a, .b = b, .n_a = n_a, .n_b = n_b };
  uint32_t n_common = 0;

  for (uint32_t i = 0; i < n_a; i++)
    out_b_of_a[i] = TESSERA_NONE;
  if (n_a > INT32_MAX / 2 || n_b > INT32_MAX / 2)
    return 0;
  for (int64_t d = 0; d <= (int64_t) max_different; d++)
    {
      size_t n_points = (size_t) ((d + 1) * (d + 2) / 2);

      if (n_points > walk.cap)
        {
          walk.cap = 2 * n_points;
          walk.furthest = g_renew (int32_t, walk.furthest, walk.cap);
        }
      if (advance (&walk, d))
        {
          n_common = go_back (&walk, d, out_b_of_a);
          break;
        }
    }
  g_free (walk.furthest);
  return n_common;
}
