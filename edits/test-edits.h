/*
 * Edits for tests: one of each kind, and random ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "edits/edits.h"

/* Kinds 1 .. TESSERA_EDIT_CAP, everything in use that a kind can have. */
TesseraEdit test_edit_of_kind (TesseraEditKind kind);
/* With one or two conditions that some block of @blocks may meet. */
TesseraEdit test_edit_random (GRand *random, const TesseraBlocks *blocks);
void test_edits_assert_equal (const TesseraEdit *a, const TesseraEdit *b);
void test_selectors_assert_equal (const TesseraSelector *a, const TesseraSelector *b);
