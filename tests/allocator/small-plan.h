/*
 * Plans small enough to say which slot serves what; for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/plan.h"

/* Slots of @sizes (a letter each) and @phases ('f', 'b' or ' '), each with a range of its
 * own; a section ends before each of @section_ends, and the second one repeats. */
TesseraPlan small_plan_make (const char *sizes,
                             const char *phases,
                             const guint *section_ends,
                             guint n_sections);
void small_plan_clear (TesseraPlan *plan);

/* Makes the requests of @letters, each freed at once, where '|' is a step mark, and 'f'
 * and 'b' are phases; asserts which slots serve them ('a' the first, '-' none). */
void small_plan_check_follow (const TesseraPlan *plan,
                              const char *letters,
                              const char *expected);
