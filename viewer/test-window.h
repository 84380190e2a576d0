/*
 * A window for tests: made, found through, looked at, taken down without a leak.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/window/window.h"
#include "viewer/test-help.h"

/* FALSE: there is no display, and the test program should skip. */
gboolean test_init_display (int *argc, char ***argv);

/* Presented and mapped; nothing open. */
TesseraWindow *test_window_new (void);
/* Destroys it and makes sure that nothing still holds it or its document. */
void test_window_free (TesseraWindow *window);
/* Opens and waits until all is done and drawn. */
void test_window_open (TesseraWindow *window, const char *path);
void test_window_settle (TesseraWindow *window);

/* The widget of that name, anywhere below @root; the test fails where there is none. */
GtkWidget *test_find (GtkWidget *root, const char *name);
/* What a widget shows, 0xAARRGGBB a device pixel. */
uint32_t *test_pixels (GtkWidget *widget, int *out_width, int *out_height);

/* A window with what tests ask of it. */
typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document; /* the window's */
  char *path;                /* of test_three_blocks_path() */
} TestView;

/* For g_test_add(): nothing is open. Edits kept beside the file go with it. */
void test_view_set_up (TestView *view, gconstpointer unused);
void test_view_tear_down (TestView *view, gconstpointer unused);
GtkWidget *test_view_find (TestView *view, const char *name);
/* There is one of that name, and it is seen. */
gboolean test_view_sees (TestView *view, const char *name);
/* A label's. */
const char *test_view_text (TestView *view, const char *name);
/* @action: without "win." */
void test_view_act (TestView *view, const char *action);
/* ... and waits until all is done and drawn. */
void test_view_do (TestView *view, const char *action);
gboolean test_view_is_enabled (TestView *view, const char *action);
