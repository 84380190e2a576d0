/*
 * A block in the hand: dragged over the plan, let go, given back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/test-hand.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>

typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  GtkWidget *canvas;
  char *path;
  double x, y; /* shares: where the block is */
} Fixture;

/* A of three blocks is selected: planned beside the two others, which share a place. */
static void
set_up (Fixture *f, gconstpointer unused)
{
  const TesseraView *v;
  TesseraView rect;

  f->window = test_window_new ();
  f->document = tessera_window_get_document (f->window);
  f->path = test_three_blocks_path ();
  f->canvas = test_find (GTK_WIDGET (f->window), "canvas-right");
  test_window_open (f->window, f->path);
  WAIT (gtk_window_is_active (GTK_WINDOW (f->window)), 5000);
  tessera_document_select (f->document, 0);
  test_window_settle (f->window);
  v = &f->document->view;
  g_assert_true (tessera_scene_block_rect (f->document->sheets[TESSERA_SIDE_RIGHT]->scene,
                                           0, &rect));
  f->x = ((rect.t0 + rect.t1) / 2 - v->t0) / (v->t1 - v->t0);
  f->y = (v->y1 - (rect.y0 + rect.y1) / 2) / (v->y1 - v->y0);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  g_autofree char *kept = g_strconcat (f->path, ".edits.json", NULL);

  WAIT (test_hand_is_off (f->canvas), 5000);
  test_window_free (f->window);
  g_unlink (kept);
  g_unlink (f->path);
  g_free (f->path);
}

/* From the bottom to the other place that is free: on top of the two. */
static uint64_t
drag (Fixture *f)
{
  const TesseraView *v = &f->document->view;
  const TesseraLandings *landings;
  uint64_t other;
  double share;

  test_hand_point (f->canvas, f->x, f->y);
  test_hand_button (1, TRUE);
  WAIT (f->document->proposal.landings != NULL, 5000);
  landings = f->document->proposal.landings;
  g_assert_cmpuint (f->document->proposal.offset_bytes, ==, landings->base_bytes);
  other = 3 << 20;
  g_assert_cmpuint (landings->base_bytes, ==, 0);
  share = ((double) landings->base_bytes - (double) other) / (v->y1 - v->y0);
  test_hand_point (f->canvas, f->x, f->y + share / 2);
  test_hand_point (f->canvas, f->x, f->y + share);
  WAIT (f->document->proposal.offset_bytes == other, 5000);
  g_assert_cmpuint (f->document->proposal.pushed->len, ==, 0);
  return other;
}

static void
test_drop (Fixture *f, gconstpointer unused)
{
  TesseraView view = f->document->view;
  uint64_t other = drag (f);
  size_t n;

  test_hand_button (1, FALSE);
  WAIT (tessera_document_n_standing (f->document) == 1, 5000);
  test_window_settle (f->window);
  g_assert_cmpint (tessera_history_get (f->document->history, &n)->kind, ==,
                   TESSERA_EDIT_PIN);
  g_assert_cmpuint (tessera_history_get (f->document->history, &n)->at, ==, other);
  g_assert_null (f->document->proposal.landings);
  /* The hand moved the block, not the picture. */
  g_assert_cmpfloat (f->document->view.t0, ==, view.t0);
}

static void
test_escape (Fixture *f, gconstpointer unused)
{
  drag (f);
  test_hand_press (0, XK_Escape);
  WAIT (f->document->proposal.landings == NULL, 5000);
  test_hand_button (1, FALSE);
  WAIT (test_hand_is_off (f->canvas), 5000);
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 0);
  g_assert_cmpuint (f->document->selected, ==, 0);
}

/* A press that goes nowhere is a click. */
static void
test_click (Fixture *f, gconstpointer unused)
{
  test_hand_point (f->canvas, f->x, f->y);
  test_hand_button (1, TRUE);
  WAIT (f->document->proposal.landings != NULL, 5000);
  test_hand_button (1, FALSE);
  WAIT (f->document->proposal.landings == NULL, 5000);
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 0);
}

static void
test_keys (Fixture *f, gconstpointer unused)
{
  uint64_t base;

  gtk_widget_grab_focus (f->canvas);
  test_hand_press (GDK_ALT_MASK, XK_Up);
  WAIT (f->document->proposal.landings != NULL, 5000);
  base = f->document->proposal.landings->base_bytes;
  test_hand_press (GDK_ALT_MASK, base == 0 ? XK_Up : XK_Down);
  WAIT (f->document->proposal.offset_bytes != base, 5000);
  test_hand_press (0, XK_Escape);
  WAIT (f->document->proposal.landings == NULL, 5000);
  g_assert_cmpuint (f->document->selected, ==, 0);
  test_hand_press (GDK_ALT_MASK, base == 0 ? XK_Up : XK_Down);
  WAIT (f->document->proposal.landings != NULL, 5000);
  WAIT (f->document->proposal.offset_bytes != base, 5000);
  test_hand_press (0, XK_Return);
  WAIT (tessera_document_n_standing (f->document) == 1, 5000);
  test_window_settle (f->window);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
#define ADD(name, function)                                                              \
  g_test_add ("/pin/" name, Fixture, NULL, set_up, function, tear_down)
  ADD ("drop", test_drop);
  ADD ("escape", test_escape);
  ADD ("click", test_click);
  ADD ("keys", test_keys);
  return g_test_run ();
}
