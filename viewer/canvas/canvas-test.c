/*
 * The canvas under a real hand: X events through XTest; and its pixels, counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/palette.h"
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
  double x, y; /* shares: where block 0 is, for those who take it in hand */
} Fixture;

static void
set_up (Fixture *f, gconstpointer canvas)
{
  f->window = test_window_new ();
  f->document = tessera_window_get_document (f->window);
  f->path = test_three_blocks_path ();
  f->canvas = test_find (GTK_WIDGET (f->window), canvas);
  test_window_open (f->window, f->path);
  WAIT (gtk_window_is_active (GTK_WINDOW (f->window)), 5000);
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

static double
span_t (Fixture *f)
{
  return f->document->view.t1 - f->document->view.t0;
}

static double
span_y (Fixture *f)
{
  return f->document->view.y1 - f->document->view.y0;
}

/* The share of a side's canvas where a block's middle is. */
static void
middle_on (Fixture *f, TesseraSide side, uint32_t block, double *share_x, double *share_y)
{
  const TesseraView *v = &f->document->view;
  TesseraView rect;

  g_assert_true (
      tessera_scene_block_rect (f->document->sheets[side]->scene, block, &rect));
  *share_x = ((rect.t0 + rect.t1) / 2 - v->t0) / (v->t1 - v->t0);
  *share_y = (v->y1 - (rect.y0 + rect.y1) / 2) / (v->y1 - v->y0);
}

static void
middle_of (Fixture *f, uint32_t block, double *share_x, double *share_y)
{
  middle_on (f, TESSERA_SIDE_LEFT, block, share_x, share_y);
}

static void
test_wheel (Fixture *f, gconstpointer unused)
{
  double world = f->document->world_bytes;

  test_hand_point (f->canvas, 0.25, 0.25);
  test_hand_button (4, TRUE);
  test_hand_button (4, FALSE);
  WAIT (span_t (f) < 0.99, 5000);
  g_assert_cmpfloat_with_epsilon (span_t (f), 0.8, 1e-6);
  g_assert_cmpfloat_with_epsilon (span_y (f), 0.8 * world, world * 1e-6);
  /* What was under the pointer still is. */
  g_assert_cmpfloat_with_epsilon (f->document->view.t0 + 0.25 * span_t (f), 0.25, 0.01);
  test_hand_key (XK_Control_L, TRUE);
  test_hand_button (4, TRUE);
  test_hand_button (4, FALSE);
  WAIT (span_t (f) < 0.7, 5000);
  test_hand_key (XK_Control_L, FALSE);
  g_assert_cmpfloat_with_epsilon (span_t (f), 0.64, 1e-6);
  g_assert_cmpfloat_with_epsilon (span_y (f), 0.8 * world, world * 1e-6);
}

static void
test_drag (Fixture *f, gconstpointer unused)
{
  tessera_document_zoom (f->document, 4, 4, 0.5, f->document->world_bytes / 2);
  double before = f->document->view.t0;
  test_hand_point (f->canvas, 0.5, 0.5);
  test_hand_button (1, TRUE);
  test_hand_point (f->canvas, 0.6, 0.5);
  test_hand_point (f->canvas, 0.75, 0.5);
  WAIT (f->document->view.t0 < before - 0.04, 5000);
  test_hand_button (1, FALSE);
  /* A quarter of the width to the right is a quarter of the span earlier. */
  WAIT (f->document->view.t0 < before - 0.06, 5000);
  g_assert_cmpfloat_with_epsilon (f->document->view.t0, before - 0.25 * 0.25, 0.005);
  g_assert_cmpuint (f->document->selected, ==, TESSERA_NONE);
}

static void
test_rubber_band (Fixture *f, gconstpointer unused)
{
  double world = f->document->world_bytes;

  test_hand_point (f->canvas, 0.25, 0.25);
  test_hand_button (3, TRUE);
  test_hand_point (f->canvas, 0.5, 0.5);
  test_hand_point (f->canvas, 0.75, 0.5);
  test_hand_button (3, FALSE);
  WAIT (span_t (f) < 0.9, 5000);
  g_assert_cmpfloat_with_epsilon (f->document->view.t0, 0.25, 0.01);
  g_assert_cmpfloat_with_epsilon (f->document->view.t1, 0.75, 0.01);
  g_assert_cmpfloat_with_epsilon (f->document->view.y1, 0.75 * world, 0.01 * world);
  g_assert_cmpfloat_with_epsilon (f->document->view.y0, 0.5 * world, 0.01 * world);
}

static void
click_block (Fixture *f, uint32_t block)
{
  double x, y;

  middle_of (f, block, &x, &y);
  test_hand_point (f->canvas, x, y);
  WAIT (f->document->hovered == block, 5000);
  test_hand_button (1, TRUE);
  test_hand_button (1, FALSE);
}

static void
test_click_selects (Fixture *f, gconstpointer unused)
{
  GtkLabel *size = GTK_LABEL (test_find (GTK_WIDGET (f->window), "block-size"));

  for (uint32_t block = 0; block < 3; block++)
    {
      click_block (f, block);
      WAIT (f->document->selected == block, 5000);
      g_assert_cmpstr (gtk_label_get_text (size), ==,
                       block == 0 ? "1.00 MiB" : "2.00 MiB");
    }
}

static uint32_t
pixel_at (const uint32_t *pixels, int width, int height, double share_x, double share_y)
{
  int x = CLAMP ((int) (share_x * width), 0, width - 1);
  int y = CLAMP ((int) (share_y * height), 0, height - 1);

  return pixels[(size_t) y * (size_t) width + (size_t) x] & 0xffffff;
}

static gboolean
is_near (uint32_t a, uint32_t b)
{
  for (int shift = 0; shift < 24; shift += 8)
    if (ABS ((int) (a >> shift & 255) - (int) (b >> shift & 255)) > 3)
      return FALSE;
  return TRUE;
}

/* A quarter of a colour on its ground. */
static uint32_t
quarter (uint32_t rgb, uint32_t ground)
{
  uint32_t sum = 0;

  for (int shift = 0; shift < 24; shift += 8)
    sum |= ((rgb >> shift & 255) + 3 * (ground >> shift & 255)) / 4 << shift;
  return sum;
}

/* Control takes in and out; a band with Shift takes what it meets. */
static void
test_several (Fixture *f, gconstpointer unused)
{
  click_block (f, 0);
  WAIT (f->document->selected == 0, 5000);
  test_hand_key (XK_Control_L, TRUE);
  click_block (f, 2);
  WAIT (tessera_document_n_selected (f->document) == 2, 5000);
  g_assert_cmpuint (f->document->selected, ==, 2);
  click_block (f, 0);
  WAIT (tessera_document_n_selected (f->document) == 1, 5000);
  test_hand_key (XK_Control_L, FALSE);
  g_assert_true (tessera_selection_has (f->document->selection, 2));
  test_hand_key (XK_Shift_L, TRUE);
  test_hand_point (f->canvas, 0.02, 0.02);
  test_hand_button (1, TRUE);
  test_hand_point (f->canvas, 0.5, 0.5);
  test_hand_point (f->canvas, 0.98, 0.98);
  test_hand_button (1, FALSE);
  WAIT (tessera_document_n_selected (f->document) == 3, 5000);
  test_hand_key (XK_Shift_L, FALSE);
  g_assert_true (test_is_fit (f->document)); /* and moved nothing */
}

/* The right button asks about the block under it, or about all that are selected where it
 * is one of them. */
static void
test_menu (Fixture *f, gconstpointer unused)
{
  const uint32_t two[] = { 0, 2 };
  double x, y;

  for (int several = 0; several < 2; several++)
    {
      GtkWidget *menu;

      if (several)
        tessera_document_select_blocks (f->document, two, 2, TESSERA_SELECT_ONLY, 0);
      middle_of (f, 2, &x, &y);
      test_hand_point (f->canvas, x, y);
      WAIT (f->document->hovered == 2, 5000);
      test_hand_button (3, TRUE);
      test_hand_button (3, FALSE);
      WAIT (f->document->selected == (several ? 0 : 2), 5000);
      g_assert_cmpuint (tessera_document_n_selected (f->document), ==, several ? 2 : 1);
      menu = test_find (f->canvas, "block-menu");
      WAIT (gtk_widget_get_mapped (menu), 5000);
      gtk_popover_popdown (GTK_POPOVER (menu));
      WAIT (!gtk_widget_get_mapped (menu), 5000);
      g_assert_true (test_is_fit (f->document));
    }
  gtk_test_accessible_assert_property (f->canvas, GTK_ACCESSIBLE_PROPERTY_LABEL,
                                       "PyTorch's layout, time by address");
}

/* The others lose three quarters of their colour on both sides. */
static void
test_others_are_dimmed (Fixture *f, gconstpointer unused)
{
  static const char *const names[] = { "canvas-left", "canvas-right" };
  const uint32_t two[] = { 0, 1 };
  int width, height;

  tessera_document_set_moment (f->document, 0);
  test_hand_point (f->canvas, 0.5, 0.02); /* no card over anything */
  WAIT (f->document->hovered == TESSERA_NONE, 5000);
  tessera_document_select_blocks (f->document, two, 2, TESSERA_SELECT_ONLY, 0);
  test_window_settle (f->window);
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      GtkWidget *canvas = test_find (GTK_WIDGET (f->window), names[side]);
      g_autofree uint32_t *pixels = test_pixels (canvas, &width, &height);
      const TesseraInk *ink = &f->document->paint->ink;

      for (uint32_t block = 0; block < 3; block++)
        {
          double x, y;

          middle_on (f, (TesseraSide) side, block, &x, &y);
          uint32_t pixel = pixel_at (pixels, width, height, x, y + 0.01);
          if (block < 2)
            g_assert_cmphex (pixel, ==, ink->block_rgb[block]);
          else
            g_assert_true (
                is_near (pixel, quarter (ink->block_rgb[block], ink->reserved_rgb)));
        }
    }
}

static void
test_keys (Fixture *f, gconstpointer unused)
{
  gtk_widget_grab_focus (f->canvas);
  test_hand_press (0, XK_equal);
  WAIT (span_t (f) < 0.9, 5000);
  test_hand_press (0, XK_Right);
  WAIT (f->document->view.t1 >= 0.9, 5000);
  test_hand_press (0, XK_0);
  WAIT (test_is_fit (f->document), 5000);
  test_hand_press (0, XK_n);
  WAIT (f->document->selected == 0, 5000);
  test_hand_press (0, XK_n);
  WAIT (f->document->selected == 1, 5000);
  test_hand_press (0, XK_p);
  WAIT (f->document->selected == 0, 5000);
  test_hand_key (XK_Shift_L, TRUE);
  test_hand_press (0, XK_n);
  WAIT (tessera_document_n_selected (f->document) == 2, 5000);
  test_hand_key (XK_Shift_L, FALSE);
  test_hand_press (0, XK_v);
  WAIT (tessera_document_n_selected (f->document) == 3, 5000);
  test_hand_press (0, XK_Escape);
  WAIT (f->document->selected == TESSERA_NONE, 5000);
  test_hand_press (0, XK_Tab);
  WAIT (gtk_widget_has_focus (test_find (GTK_WIDGET (f->window), "canvas-right")), 5000);
}

/* Letters that move the picture are letters in a text field. */
static void
test_typing_is_typing (Fixture *f, gconstpointer unused)
{
  GtkWidget *text = test_find (GTK_WIDGET (f->window), "filter-text");

  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.table", NULL);
  WAIT (gtk_widget_get_mapped (text), 5000);
  gtk_widget_grab_focus (text);
  test_hand_press (0, XK_n);
  test_hand_press (0, XK_0);
  test_hand_press (0, XK_w);
  WAIT (g_str_equal (gtk_editable_get_text (GTK_EDITABLE (text)), "n0w"), 5000);
  g_assert_cmpuint (f->document->selected, ==, TESSERA_NONE);
  g_assert_true (test_is_fit (f->document));
}

static void
on_after_paint (GdkFrameClock *clock, gpointer painted)
{
  *(gboolean *) painted = TRUE;
}

/* From everything to a speck in one step: the old picture would be stretched beyond what the X
 * server's pictures can be; the frame must be drawn all the same. */
static void
test_far_jump (Fixture *f, gconstpointer unused)
{
  double world = f->document->world_bytes;

  for (double share = 0.1; share > 1e-9; share /= 10)
    {
      GdkFrameClock *clock = gtk_widget_get_frame_clock (f->canvas);
      gboolean painted = FALSE;
      gulong handler;

      tessera_document_fit (f->document);
      test_window_settle (f->window);
      handler =
          g_signal_connect (clock, "after-paint", G_CALLBACK (on_after_paint), &painted);
      tessera_document_set_view (
          f->document,
          &(TesseraView){ 0.51, 0.51 + share, 0.1 * world, (0.1 + share) * world });
      WAIT (painted, 5000);
      g_signal_handler_disconnect (clock, handler);
      test_window_settle (f->window);
    }
}

/* The darkest line of the hatching: nine tenths of its colour. */
static uint32_t
mixed (uint32_t ground, uint32_t line)
{
  uint32_t sum = 0;

  for (int shift = 0; shift < 24; shift += 8)
    sum |= ((ground >> shift & 255) + 9 * (line >> shift & 255)) / 10 << shift;
  return sum;
}

/* Three blocks give rectangles of their colours, and hatching where memory is reserved
 * and free; at any scale factor (the test runs at 1 and at 2). */
static void
test_pixels_are_right (Fixture *f, gconstpointer unused)
{
  const TesseraSheet *sheet = f->document->sheets[TESSERA_SIDE_LEFT];
  const TesseraInk *ink = &f->document->paint->ink;
  g_autofree uint32_t *pixels = NULL;
  size_t n_reserved = 0, n_hatch = 0;
  int width, height;
  double x, y;

  /* Out of the way of the marks that are drawn on top. */
  tessera_document_set_moment (f->document, 0);
  test_window_settle (f->window);
  pixels = test_pixels (f->canvas, &width, &height);
  g_assert_cmpint (width, ==,
                   gtk_widget_get_width (f->canvas) *
                       gtk_widget_get_scale_factor (f->canvas));
  for (uint32_t block = 0; block < 3; block++)
    {
      middle_of (f, block, &x, &y);
      g_assert_cmphex (pixel_at (pixels, width, height, x, y + 0.01), ==,
                       ink->block_rgb[block]);
    }
  g_assert_cmpuint (sheet->layout->peak_reserved_bytes, >=, 20 << 20);
  for (size_t i = 0; i < (size_t) width * (size_t) height; i++)
    {
      n_reserved += is_near (pixels[i], ink->reserved_rgb);
      n_hatch += is_near (pixels[i], mixed (ink->reserved_rgb, ink->hatch_rgb));
    }
  /* Most of the picture is reserved and free. */
  g_assert_cmpuint (n_reserved, >, (size_t) width * (size_t) height / 4);
  g_assert_cmpuint (n_hatch, >, (size_t) width * (size_t) height / 50);
}

/* --- a block in the hand: dragged over the plan, dropped, given back --------------- */

/* The first of three blocks is selected: planned beside the two others, which share a
 * place. */
static void
set_up_pin (Fixture *f, gconstpointer canvas)
{
  set_up (f, canvas);
  tessera_document_select (f->document, 0);
  test_window_settle (f->window);
  middle_on (f, TESSERA_SIDE_RIGHT, 0, &f->x, &f->y);
}

/* From the bottom to the other place that is free: on top of the two. */
static uint64_t
drag_block (Fixture *f)
{
  const TesseraView *v = &f->document->view;
  const TesseraLandings *landings;

  test_hand_point (f->canvas, f->x, f->y);
  test_hand_button (1, TRUE);
  WAIT (f->document->proposal.landings != NULL, 5000);
  landings = f->document->proposal.landings;
  g_assert_cmpuint (f->document->proposal.offset_bytes, ==, landings->base_bytes);
  uint64_t other = 3 << 20;
  g_assert_cmpuint (landings->base_bytes, ==, 0);
  double share = ((double) landings->base_bytes - (double) other) / (v->y1 - v->y0);
  test_hand_point (f->canvas, f->x, f->y + share / 2);
  test_hand_point (f->canvas, f->x, f->y + share);
  WAIT (f->document->proposal.offset_bytes == other, 5000);
  g_assert_null (f->document->proposal.pushed);
  return other;
}

static void
test_pin_drop (Fixture *f, gconstpointer unused)
{
  TesseraView view = f->document->view;
  uint64_t other = drag_block (f);
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
test_pin_escape (Fixture *f, gconstpointer unused)
{
  drag_block (f);
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
test_pin_click (Fixture *f, gconstpointer unused)
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
test_pin_keys (Fixture *f, gconstpointer unused)
{
  gtk_widget_grab_focus (f->canvas);
  test_hand_press (GDK_ALT_MASK, XK_Up);
  WAIT (f->document->proposal.landings != NULL, 5000);
  uint64_t base = f->document->proposal.landings->base_bytes;
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

/* Words in black or white, which are what blocks are called. */
static int
count_words (GskRenderNode *node)
{
  const GdkRGBA *colour;
  int n = 0;

  switch (gsk_render_node_get_node_type (node))
    {
    case GSK_CONTAINER_NODE:
      for (guint i = 0; i < gsk_container_node_get_n_children (node); i++)
        n += count_words (gsk_container_node_get_child (node, i));
      return n;
    case GSK_TRANSFORM_NODE:
      return count_words (gsk_transform_node_get_child (node));
    case GSK_CLIP_NODE:
      return count_words (gsk_clip_node_get_child (node));
    case GSK_TEXT_NODE:
      colour = gsk_text_node_get_color (node);
      return (colour->red <= 0 || colour->red >= 1) && colour->red == colour->green &&
             colour->green == colour->blue;
    default:
      return 0;
    }
}

static int
count_names (Fixture *f)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (f->canvas);
  GtkSnapshot *snapshot = gtk_snapshot_new ();

  gdk_paintable_snapshot (paintable, snapshot, gtk_widget_get_width (f->canvas),
                          gtk_widget_get_height (f->canvas));
  GskRenderNode *node = gtk_snapshot_free_to_node (snapshot);
  int n = count_words (node);
  gsk_render_node_unref (node);
  return n;
}

/* Name and size stand in what is large enough and seen; nothing else is written in
 * these colours. */
static void
test_names (Fixture *f, gconstpointer unused)
{
  int n_all = count_names (f);

  g_assert_cmpint (n_all, >=, 2);
  tessera_document_filter (f->document, 0, FALSE);
  for (size_t i = 1; i < f->document->paint->colouring->n_entries; i++)
    tessera_document_filter (f->document, i, FALSE);
  test_window_settle (f->window);
  g_assert_cmpint (count_names (f), ==, 0);
  tessera_document_show_all (f->document);
  test_window_settle (f->window);
  g_assert_cmpint (count_names (f), ==, n_all);
  tessera_document_zoom (f->document, 1, 1e-3, 0.5, 0);
  tessera_document_zoom (f->document, 1, 1e6, 0.5, f->document->world_bytes);
  test_window_settle (f->window);
  g_assert_cmpint (count_names (f), ==, 0);
}

/* Whether a link ends in a block: just before its end, in the middle of its height. */
static gboolean
shows_link (Fixture *f, uint32_t block)
{
  const TesseraView *v = &f->document->view;
  const uint32_t select = tessera_palette (FALSE)->select;
  const double inside = 4.0 / gtk_widget_get_width (f->canvas);
  g_autofree uint32_t *pixels = NULL;
  TesseraView rect;
  int width, height;

  test_window_settle (f->window);
  pixels = test_pixels (f->canvas, &width, &height);
  g_assert_true (tessera_scene_block_rect (f->document->sheets[TESSERA_SIDE_RIGHT]->scene,
                                           block, &rect));
  return pixel_at (pixels, width, height, (rect.t1 - v->t0) / (v->t1 - v->t0) - inside,
                   (v->y1 - (rect.y0 + rect.y1) / 2) / (v->y1 - v->y0)) == select;
}

/* Of the two blocks that take turns on two streams the later one is linked to the earlier, and
 * that one to it; nothing is where neither is selected, or streams are apart. */
static void
test_handover (Fixture *f, gconstpointer unused)
{
  g_autofree char *path = test_turns_path ();

  test_window_open (f->window, path);
  tessera_document_select (f->document, 1);
  g_assert_false (shows_link (f, 0));
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window), "win.across", NULL));
  test_window_settle (f->window);
  for (uint32_t block = 0; block < 2; block++)
    {
      tessera_document_select (f->document, block);
      g_assert_true (shows_link (f, 0));
    }
  tessera_document_select (f->document, TESSERA_NONE);
  g_assert_false (shows_link (f, 0));
  g_unlink (path);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
#define ADD(name, function)                                                              \
  g_test_add ("/canvas/" name, Fixture, "canvas-left", set_up, function, tear_down)
  ADD ("wheel", test_wheel);
  ADD ("drag", test_drag);
  ADD ("rubber band", test_rubber_band);
  ADD ("click selects", test_click_selects);
  ADD ("several", test_several);
  ADD ("menu", test_menu);
  ADD ("others are dimmed", test_others_are_dimmed);
  ADD ("keys", test_keys);
  ADD ("typing is typing", test_typing_is_typing);
  ADD ("far jump", test_far_jump);
  ADD ("pixels", test_pixels_are_right);
#define ADD_PIN(name, function)                                                          \
  g_test_add ("/canvas/pin/" name, Fixture, "canvas-right", set_up_pin, function,        \
              tear_down)
  ADD_PIN ("drop", test_pin_drop);
  ADD_PIN ("escape", test_pin_escape);
  ADD_PIN ("click", test_pin_click);
  ADD_PIN ("keys", test_pin_keys);
  g_test_add ("/canvas/handover", Fixture, "canvas-right", set_up, test_handover,
              tear_down);
  g_test_add ("/canvas/names", Fixture, "canvas-right", set_up, test_names, tear_down);
  return g_test_run ();
}
