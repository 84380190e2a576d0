/*
 * What the viewer's tests share: waiting for a condition, and traces to open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "viewer/model/document.h"

static inline gboolean
test_set_true (gpointer flag)
{
  *(gboolean *) flag = TRUE;
  return G_SOURCE_REMOVE;
}

static inline gboolean
test_keep_on (gpointer unused)
{
  return G_SOURCE_CONTINUE;
}

/* Runs the main loop until @condition holds; fails after @ms. */
#define WAIT(condition, ms)                                                              \
  G_STMT_START                                                                           \
  {                                                                                      \
    gboolean late_ = FALSE;                                                              \
    guint alarm_ = g_timeout_add ((ms), test_set_true, &late_);                          \
    guint tick_ = g_timeout_add (10, test_keep_on, NULL);                                \
    while (!(condition) && !late_)                                                       \
      g_main_context_iteration (NULL, TRUE);                                             \
    if (!late_)                                                                          \
      g_source_remove (alarm_);                                                          \
    g_source_remove (tick_);                                                             \
    g_assert_true (condition);                                                           \
  }                                                                                      \
  G_STMT_END

#define SLOW_MS 60000

/* The bundled sample that died, or NULL where it is not there. */
char *test_sample_path (void);
/* A table of three blocks, in a new file: A [0, 5) 1 MiB, B [1, 3) 2 MiB, C [3, end)
 * 2 MiB. The caller unlinks it. */
char *test_three_blocks_path (void);
/* 160 blocks that come and go where little room is left, so that no layout reaches the
 * bound and planning goes on for seconds; in a new file. The caller unlinks it. */
char *test_hard_path (void);
/* A snapshot of device 1 with two events, of device 3 with one, of 0 with none, in a new
 * file. The caller unlinks it. */
char *test_devices_path (void);
/* A recording of our own library, of four steps under a plan: a pool of 40 MiB with 25
 * hits, and in the third step two misses, of 12 and of 1 MiB, in 20 MiB of extras. */
char *test_followed_path (void);
/* Two streams take turns with 40 MiB, given back in between: the run reserves as much, a
 * plan that keeps them apart twice of it. In a new file. The caller unlinks it. */
char *test_turns_path (void);
/* Edits are kept beside a file: a copy in a folder of its own is opened. */
void test_copy_file (const char *from, const char *to);
/* All of the run is shown. */
gboolean test_is_fit (const TesseraDocument *document);
/* Opens and waits until nothing is at work any more. */
void test_open (TesseraDocument *document, const char *path);
