/*
 * For benchmarks: a made-up trace of as many blocks as are wanted, and what the main
 * thread did meanwhile.
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

/* What the main thread did meanwhile: its longest turn, in processor and in wall time. */
typedef struct
{
  gint64 last_us;
  double last_cpu_ms;
  double longest_ms, longest_cpu_ms;
  guint source;
} TestWatch;

void test_watch_start (TestWatch *watch);
/* From now on. */
void test_watch_reset (TestWatch *watch);
void test_watch_stop (TestWatch *watch);
/* Of the thread or of all. */
double test_cpu_ms (gboolean all_threads);
