/*
 * What packings are judged by, for tests: pair by pair and moment by moment, sharing
 * nothing with the packer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

#include <glib.h>

/* Items that judge_lowest() can try in all orders. */
#define JUDGE_MOST_TO_TRY 8

/* Whether they may not share an address. */
gboolean judge_conflict (const TesseraItem *a, const TesseraItem *b);
uint64_t judge_top (const TesseraItem *items, uint32_t n_items, const uint64_t *offsets);
/* The largest load of one moment in each zone, summed over zones. */
uint64_t judge_load_bound (const TesseraItem *items, uint32_t n_items);
/* No two that conflict share an address; pins and distances of bodies are kept. */
void
judge_assert_keeps (const TesseraItem *items, uint32_t n_items, const uint64_t *offsets);
/* That, and that heights and bounds of the packing are what they are said to be. */
void judge_assert_packed (const TesseraItem *items,
                          uint32_t n_items,
                          const uint64_t *offsets,
                          const TesseraPacking *packing);
/* What has to be packed, and is. @offsets: (array length=n_items): filled */
TesseraPacking judge_pack (const TesseraItem *items,
                           uint32_t n_items,
                           const TesseraPackOptions *options,
                           uint64_t *offsets);
/* Largest first, the longer of equal ones, ties as they come, all above those beside which
 * every other one lies; zones on top of each other. Without pins and bodies. */
uint64_t judge_first_fit_by_size (const TesseraItem *items, uint32_t n_items);
/* The lowest height there is, of at most JUDGE_MOST_TO_TRY items without pins and bodies.
 */
uint64_t judge_lowest (const TesseraItem *items, uint32_t n_items);
