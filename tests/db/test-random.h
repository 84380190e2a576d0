/*
 * Random fields, and fields compared, for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#include <glib.h>
#include <string.h>

/* Fields of @a and @b, compared: SAME (x), SAME (y). */
#define SAME(field) test_same (#field, (uint64_t) a->field, (uint64_t) b->field)
#define SAME_TEXT(field) g_assert_cmpstr (a->field, ==, b->field)
#define SAME_ALL(array, n)                                                               \
  test_same_all (#array, a->array, b->array, (n) * sizeof *a->array)

static inline void
test_same (const char *field, uint64_t a, uint64_t b)
{
  if (a != b)
    g_error ("%s: %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT, field, a, b);
}

static inline void
test_same_all (const char *array, const void *a, const void *b, size_t n_bytes)
{
  if (n_bytes > 0 && memcmp (a, b, n_bytes) != 0)
    g_error ("%s differ", array);
}

/* Odd values now and then. */
static inline uint64_t
test_any_64 (GRand *random)
{
  static const uint64_t odd[] = { 0, 1, INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX };

  if (g_rand_int_range (random, 0, 4) == 0)
    return odd[g_rand_int_range (random, 0, G_N_ELEMENTS (odd))];
  return (uint64_t) g_rand_int (random) << 32 | g_rand_int (random);
}

static inline uint64_t
test_any_bytes (GRand *random)
{
  return test_any_64 (random) & INT64_MAX;
}

/* An index below @n, or none. */
static inline uint32_t
test_any_index (GRand *random, size_t n)
{
  if (n == 0 || g_rand_int_range (random, 0, 8) == 0)
    return TESSERA_NONE;
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static inline uint32_t
test_below (GRand *random, size_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}
