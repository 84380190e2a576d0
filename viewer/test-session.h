/*
 * A document for tests: three blocks opened, closed without a leak.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/test-help.h"
#include "tests/db/auto.h"
#include "tests/ok.h"

typedef struct
{
  TesseraDocument *document;
  char *path;    /* of test_three_blocks_path() */
  char *kept;    /* beside it: where edits are kept */
  guint changed; /* what was heard since it was last cleared */
} TestSession;

/* For g_test_add(); the first of them opens nothing. */
void test_session_set_up_empty (TestSession *session, gconstpointer unused);
void test_session_set_up (TestSession *session, gconstpointer unused);
void test_session_tear_down (TestSession *session, gconstpointer unused);
/* Until nothing is at work. */
void test_session_settle (TestSession *session);
/* ... after this. */
void test_session_do (TestSession *session, void (*act) (TesseraDocument *));
/* Closes the file and opens it again. */
void test_session_reopen (TestSession *session);
