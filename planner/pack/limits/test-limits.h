/*
 * For tests of what is pinned, apart, or of one body: random items, and the laws told
 * once more, pair by pair and byte by byte, from pack.h alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

#include <glib.h>

typedef struct
{
  uint32_t n_items, n_moments, n_zones, n_bodies;
  gboolean has_sets;
} TestLimitsShape;

/* 0 .. @n - 1 */
uint32_t test_limits_pick (GRand *random, uint32_t n);
/* Neither pinned nor of a body. */
TesseraItem test_limits_item (GRand *random, const TestLimitsShape *shape);
/* Whether the two share an address that they may not. */
gboolean test_limits_overlap (const TesseraItem *a,
                              uint64_t at_a,
                              const TesseraItem *b,
                              uint64_t at_b);
/* That the layout is one, as high as it is said to be. */
void test_limits_assert_laws (const TesseraItem *items,
                              uint32_t n_items,
                              const uint64_t *offsets,
                              const TesseraPacking *packing);
