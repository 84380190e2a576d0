/*
 * For benchmarks: how long the turns of the main loop took, and what they were spent on.
 *
 * A turn is what happens between two looks at what is waiting: as long as it lasts
 * nothing can be clicked. Times are of the processor, of the main thread alone: what
 * others do on the machine is no part of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

typedef struct
{
  double wall_ms;
  double all_ms;
  /* Of it. What is left is done by handlers and idles. */
  double update_ms;   /* ticks; styles, which GTK looks up in one */
  double layout_ms;   /* sizes and places of widgets */
  double snapshot_ms; /* what is to be drawn, told */
  double render_ms;   /* drawn, here by the processor */
  double longest_ms;  /* of what was called in it */
  const char *what;   /* that was, (nullable): none of the sources that are told */
} TestTurn;

typedef struct
{
  TestTurn longest; /* by all_ms */
  TestTurn drawn;   /* the longest but for render_ms */
  double wall_ms;   /* the longest by the clock on the wall */
} TestTurns;

/* From now on, until the program ends: turns of the default context, frames of all
 * windows. To be called before the first window is made. */
void test_turns_watch (TestTurns *turns);
/* What was so far is forgotten; what the caller does itself from now on is a turn's. */
void test_turns_reset (void);
/* What a turn takes where a renderer on a GPU draws. */
double test_turn_without_render_ms (const TestTurn *turn);
/* Of the thread or of all. */
double test_cpu_ms (gboolean all_threads);
