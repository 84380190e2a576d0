/*
 * For benchmarks: what people do in a window, a line of a table for each thing, with the
 * longest turn of the main loop, which is how long nothing can be clicked.
 *
 * No turn should take more than 16 ms of the processor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/test-window.h"

/* Nothing waits for so long: planning a million blocks on a busy machine. */
#define BENCH_PATIENCE_MS 600000

typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  gint64 begin_us;
  double begin_ms;
  int n_actions, n_within, n_within_drawn;
  guint stopper;       /* 0: nothing is to be stopped */
  gboolean is_stopped; /* planning was, before its end */
} TestBench;

typedef void (*TestMeasure) (const char *path);

/* A benchmark's main: calls @measure for a copy of the file that is named, since edits
 * are kept beside a file or in it; else for traces that are made up, of as many blocks as
 * are named, without a name of 100,000 and of a million. */
int test_bench_main (int argc, char **argv, TestMeasure measure);

void test_bench_act (TestBench *bench, const char *action);
/* What is done from now on, up to test_bench_end(). */
void test_bench_begin (TestBench *bench);
double test_bench_since_s (const TestBench *bench);
/* Waits until all is done and drawn, and prints the line. @preview_s: 0 where there is
 * none. */
void test_bench_end (TestBench *bench, const char *what, double preview_s);
/* The same for edits: waits for the plan of those that stand, the preview first. */
void test_bench_end_edit (TestBench *bench, const char *what);
/* Waits without printing. */
void test_bench_settle (TestBench *bench);
void test_bench_wait_ms (guint ms);
/* Is something waited for that is not seen? Of needs nothing is said. */
gboolean test_bench_is_quiet (TesseraDocument *document);
/* From no window to the plan of a file in it, measured. */
void test_bench_open (TestBench *bench, const char *path);
/* Says how many actions were within the limit, and takes the window down. */
void test_bench_close (TestBench *bench);
