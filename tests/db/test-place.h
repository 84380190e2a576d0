/*
 * A folder of its own for each test of files, and SQL on the file in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "db/plan.h"
#include "db/trace.h"
#include "tests/ok.h"
#include "tests/db/auto.h"

typedef struct
{
  char *folder;
  char *path; /* in it; not there yet */
} TestPlace;

#define TEST(path, test)                                                                 \
  g_test_add (path, TestPlace, NULL, test_place_begin, test, test_place_end)

/* For g_test_add(). The end removes what is left in the folder. */
void test_place_begin (TestPlace *place, gconstpointer data);
void test_place_end (TestPlace *place, gconstpointer data);
void test_place_empty (const TestPlace *place);
unsigned test_place_count_files (const TestPlace *place);

/* Without an error, at the place's path. The file holds one device, or @device. */
void test_save (const TestPlace *place, const TesseraTrace *trace);
void test_save_plan (const TestPlace *place, const TesseraPlan *plan);
TesseraTrace *test_load (const TestPlace *place, uint32_t device);
TesseraPlan *test_load_plan (const TestPlace *place);

/* @pattern: as of g_pattern_match_simple(). */
void test_matches (const char *text, const char *pattern);

/* Returns: how the process ended, as waitpid() tells it. */
int test_wait (pid_t child);

/* Runs @sql on the file, which is made if need be. */
void test_execute (const char *path, const char *sql);

/* Returns: (transfer full): all rows of @sql: columns parted by '|', each row ended by
 * '\n', NULL as "NULL". */
char *test_ask (const char *path, const char *sql);

/* Who watches long work: lets it go on for so many calls. */
typedef struct
{
  unsigned n_calls, n_allowed;
  double last;
} TestWatch;

/* For TesseraProgress, with a TestWatch: fractions never go back, nor beyond 1. */
bool test_watch (void *user, double fraction);
