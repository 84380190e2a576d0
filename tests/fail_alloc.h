/*
 * Making the k-th allocation fail, for tests.
 *
 * Link the test with fail_alloc_sources and fail_alloc_link_args (db/meson.build): calls
 * of malloc, calloc, realloc, strdup and strndup in the program and in its static
 * libraries then come here first; those inside shared libraries (GLib) do not. Usage:
 *
 *   for (unsigned nth = 1;; nth++)
 *     {
 *       tessera_fail_alloc_at (nth);
 *       status = what_is_tested (&out);
 *       if (!tessera_fail_alloc_stop ())
 *         break; // it needed fewer than nth: all have been tried
 *       g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
 *     }
 *
 * Blocks held are counted, so that a leak on the way out shows without a sanitizer:
 * compare tessera_fail_alloc_held() before and after.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The @nth allocation from now on (1: the next) fails, once. Every thread counts. */
void tessera_fail_alloc_at (unsigned long nth);

/* Ends it. Returns: whether an allocation was made to fail. */
bool tessera_fail_alloc_stop (void);

/* Blocks allocated less blocks freed since the program began. */
long tessera_fail_alloc_held (void);
