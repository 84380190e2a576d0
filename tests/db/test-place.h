/*
 * A folder of its own for each test of files, and SQL on the file in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct
{
  char *folder;
  char *path; /* in it; not there yet */
} TestPlace;

/* For g_test_add(). The end removes what is left in the folder. */
void test_place_begin (TestPlace *place, gconstpointer data);
void test_place_end (TestPlace *place, gconstpointer data);
void test_place_empty (const TestPlace *place);
unsigned test_place_count_files (const TestPlace *place);

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
