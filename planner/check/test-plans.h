/*
 * Random plans and a slow oracle for the tests of the checker.
 *
 * The oracle goes by definition, position by position and address by address. Heights are
 * a few hundred units of the alignment, so that it can afford that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/check.h"
#include "tests/db/auto.h"
#include "tests/ok.h"

#define CHECK_ALIGNMENT 16u

/* 0 .. n - 1 */
guint check_pick (GRand *random, guint n);
gboolean
check_is_alive (const TesseraPlan *plan, const TesseraSlot *slot, uint32_t position);
gboolean check_share_addresses (const TesseraSlot *a, const TesseraSlot *b);
/* TRUE: the law is broken. */
gboolean check_oracle_overlap (const TesseraPlan *plan);
gboolean check_oracle_rotations (const TesseraPlan *plan);
gboolean check_oracle_streams (const TesseraPlan *plan);
/* The end of the highest slot. */
uint64_t check_height (const TesseraPlan *plan);
/* States what follows from the slots. */
void check_seal (TesseraPlan *plan);
/* Asserts what the checker says of the plan, which gets the digest that its slots have.
 * @out_error: why, if it is refused */
void check_assert_law (TesseraPlan *plan, TesseraLaw expected, TesseraError *out_error);
/* Whether the slot disturbs none of the first @n_placed. */
gboolean check_fits (const TesseraPlan *plan, size_t slot_index, size_t n_placed);
/* All at offset 0, nothing stated. */
TesseraPlan *check_random_slots (GRand *random);
/* A right plan. */
TesseraPlan *check_random_plan (GRand *random);
