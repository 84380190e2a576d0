/*
 * For benchmarks: a made-up trace of as many blocks as are wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Sizes and order of a caching allocator's program: each place is freed and taken again,
 * so that a plan at the bound is soon found. The same for each number of blocks. Returns:
 * the path of a .tsr in a folder of its own, for test_made_free(). */
char *test_made_new (uint32_t n_blocks);
void test_made_free (char *path); /* the folder too */
