/*
 * Rows that stay while what they show changes: no widget is made anew for it, none shows
 * what is no more, and few are made or destroyed between two frames.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list.h"

#include "viewer/panels/rows/cell.h"
#include "viewer/test-window.h"

#define N_COLUMNS 2

typedef struct
{
  GtkWidget *window;
  GtkColumnView *view;
  TesseraRowList *rows;
  TesseraCellKind *kind;
  int version; /* of what rows show */
  int n_made;
  int n_at_once; /* made since the last frame */
  int most_at_once;
  int n_written; /* since the last frame */
  int most_written;
  int n_seen;     /* cells in sight in the last frame */
  int n_unmarked; /* rows in sight in it that do not look selected */
  int n_told; /* rows of whose selection GTK was told, since the last frame */
  int most_told;
  int n_frames;
  GtkBitset *selected;
} Fixture;

static GtkWidget *
make (gpointer user, int column)
{
  Fixture *f = user;

  f->n_made++;
  f->n_at_once++;
  f->most_at_once = MAX (f->most_at_once, f->n_at_once);
  return tessera_cell_new (f->kind);
}

static void
show (gpointer user, GtkWidget *cell, guint position, int column)
{
  Fixture *f = user;
  g_autofree char *text = NULL;

  f->n_written++;
  f->most_written = MAX (f->most_written, f->n_written);
  text = position == GTK_INVALID_LIST_POSITION
             ? g_strdup ("")
             : g_strdup_printf ("%d:%u:%d", f->version, position, column);

  tessera_cell_set_text (TESSERA_CELL (cell), text);
}

static gboolean
is_selected (gpointer user, guint position)
{
  Fixture *f = user;

  return gtk_bitset_contains (f->selected, position);
}

static void
choose (gpointer user, guint position, guint n, TesseraSelectHow how)
{
  Fixture *f = user;

  if (how == TESSERA_SELECT_ONLY)
    gtk_bitset_remove_all (f->selected);
  if (how == TESSERA_SELECT_LESS)
    gtk_bitset_remove_range (f->selected, position, n);
  else if (n > 0)
    gtk_bitset_add_range (f->selected, position, n);
  tessera_row_list_reselect (f->rows);
}

static const TesseraRowListKind kind = { make, show, is_selected, choose };

/* What was done is a frame's work: before it, and in its ticks. */
static void
on_frame_end (GdkFrameClock *clock, gpointer user)
{
  Fixture *f = user;

  f->n_at_once = f->n_written = f->n_told = 0;
  f->n_frames++;
}

static GtkWidget *
list_new (Fixture *f)
{
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  f->view = GTK_COLUMN_VIEW (gtk_column_view_new (NULL));
  f->kind = tessera_cell_kind_new (
      &(TesseraCellLook){ .n_chars = 12, .most_lines = 1, .has_tip = TRUE });
  f->selected = gtk_bitset_new_empty ();
  f->rows = tessera_row_list_new (&kind, f, f->view);
  for (int i = 0; i < N_COLUMNS; i++)
    tessera_row_list_add_column (f->rows, "column", i);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), GTK_WIDGET (f->view));
  return scrolled;
}

static void
set_up (Fixture *f, gconstpointer unused)
{
  GtkWidget *scrolled = list_new (f);

  f->window = gtk_window_new ();
  gtk_window_set_child (GTK_WINDOW (f->window), scrolled);
  gtk_window_set_default_size (GTK_WINDOW (f->window), 400, 300);
  gtk_window_present (GTK_WINDOW (f->window));
  WAIT (gtk_widget_get_height (scrolled) > 100, SLOW_MS);
  g_signal_connect (gtk_widget_get_frame_clock (f->window), "after-paint",
                    G_CALLBACK (on_frame_end), f);
}

static void
list_free (Fixture *f)
{
  g_assert_finalize_object (f->rows);
  tessera_cell_kind_unref (f->kind);
  gtk_bitset_unref (f->selected);
}

static void
tear_down (Fixture *f, gconstpointer unused)
{
  tessera_row_list_close (f->rows);
  g_signal_handlers_disconnect_by_func (gtk_widget_get_frame_clock (f->window),
                                        on_frame_end, f);
  gtk_window_destroy (GTK_WINDOW (f->window));
  list_free (f);
}

static void
set_rows (Fixture *f, guint n)
{
  f->version++;
  tessera_row_list_set_rows (f->rows, n, 0);
}

static void
settle (Fixture *f)
{
  gboolean passed = FALSE;

  WAIT (tessera_row_list_is_settled (f->rows), SLOW_MS);
  g_timeout_add (60, test_set_true, &passed);
  WAIT (passed, SLOW_MS);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (f->rows)), ==,
                    tessera_row_list_get_n_rows (f->rows));
}

/* How many cells say something; each says what it should, or @only_seen those that are in
 * sight. */
static int
count_texts (Fixture *f, GtkWidget *widget, gboolean only_seen)
{
  g_autofree char *version = g_strdup_printf ("%d:", f->version);
  int n = 0;

  if (only_seen && !gtk_widget_get_mapped (widget))
    return 0;
  if (TESSERA_IS_CELL (widget) && *tessera_cell_get_text (TESSERA_CELL (widget)) != '\0')
    {
      g_assert_true (
          g_str_has_prefix (tessera_cell_get_text (TESSERA_CELL (widget)), version));
      n++;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_texts (f, child, only_seen);
  return n;
}

static int
count_version (GtkWidget *widget, int version)
{
  g_autofree char *prefix = g_strdup_printf ("%d:", version);
  int n = TESSERA_IS_CELL (widget) &&
          g_str_has_prefix (tessera_cell_get_text (TESSERA_CELL (widget)), prefix);

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_version (child, version);
  return n;
}

static void
test_in_place (Fixture *f, gconstpointer unused)
{
  int n_made;

  settle (f);
  set_rows (f, 5000);
  g_assert_cmpint (f->n_made, <=, 20 * N_COLUMNS);
  f->n_at_once = f->most_at_once = 0;
  settle (f);
  n_made = f->n_made;
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), >=, 100 * N_COLUMNS);
  g_assert_cmpint (f->most_at_once, <=, 2 * 20 * N_COLUMNS);
  /* Others in their place, as many and many more, with the same widgets: those in sight
   * at once, the others soon, and not all in one frame. */
  f->n_written = f->most_written = 0;
  set_rows (f, 5000);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), TRUE), >=, 8 * N_COLUMNS);
  set_rows (f, 1000000);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), TRUE), >=, 8 * N_COLUMNS);
  settle (f);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), >=, 100 * N_COLUMNS);
  g_assert_cmpint (f->n_made, ==, n_made);
  g_assert_cmpint (f->most_written, <, 120 * N_COLUMNS);
  /* Few: those that went are blank at once and go a few at a time. */
  set_rows (f, 7);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), TRUE), ==, 7 * N_COLUMNS);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (f->rows)), >, 100);
  settle (f);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), ==, 7 * N_COLUMNS);
  g_assert_cmpint (f->n_made, ==, n_made);
  set_rows (f, 0);
  settle (f);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), ==, 0);
  /* And back, before they are all gone. */
  set_rows (f, 300);
  set_rows (f, 3);
  set_rows (f, 300);
  settle (f);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), >=, 100 * N_COLUMNS);
}

static void
on_paint (GdkFrameClock *clock, gpointer user)
{
  Fixture *f = user;

  /* Each that is seen is of this version. */
  f->n_seen = count_texts (f, GTK_WIDGET (f->view), TRUE);
}

/* Who scrolls while rows out of sight are still to be written sees none that is not, in
 * any frame; nor where the list is made to scroll. */
static void
test_scrolled (Fixture *f, gconstpointer unused)
{
  static const double by[] = { 700, 700, 2000, -2000 };
  GtkAdjustment *adjustment = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (f->view));
  GdkFrameClock *clock = gtk_widget_get_frame_clock (GTK_WIDGET (f->view));

  set_rows (f, 5000);
  settle (f);
  g_signal_connect_after (clock, "layout", G_CALLBACK (on_paint), f);
  for (size_t round = 0; round <= G_N_ELEMENTS (by); round++)
    {
      set_rows (f, 5000);
      f->n_seen = 0;
      if (round < G_N_ELEMENTS (by))
        gtk_adjustment_set_value (adjustment,
                                  gtk_adjustment_get_value (adjustment) + by[round]);
      else
        tessera_row_list_scroll_to (f->rows, 4000);
      WAIT (f->n_seen > 0, SLOW_MS);
      settle (f);
    }
  g_assert_cmpfloat (gtk_adjustment_get_value (adjustment), >, 4000);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), >=, 100 * N_COLUMNS);
  g_signal_handlers_disconnect_by_func (clock, on_paint, f);
}

/* Where what is seen goes with nearly all the rest, its widgets show what stays: nothing
 * is made for it, and not a few rows go in each of many frames. */
static void
test_far (Fixture *f, gconstpointer unused)
{
  static const guint left[] = { 150, 2000, 0 };

  for (size_t i = 0; i < G_N_ELEMENTS (left); i++)
    {
      int n_frames;

      set_rows (f, 5000);
      settle (f);
      tessera_row_list_scroll_to (f->rows, 4500);
      settle (f);
      n_frames = f->n_frames;
      set_rows (f, left[i]);
      settle (f);
      g_assert_cmpint (f->n_frames - n_frames, <, 60);
      g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), TRUE), >=,
                       (int) MIN (left[i], 8) * N_COLUMNS);
    }
}

typedef struct
{
  Fixture *a, *b;
  int n_frames_of_both;
} Pair;

static void
on_laid_out (GdkFrameClock *clock, gpointer user)
{
  Pair *pair = user;

  pair->n_frames_of_both += pair->a->n_written > 0 && pair->b->n_written > 0;
}

/* Of two lists in a window one is written at once and the other in the next frame, and no
 * frame is the work of both. */
static void
test_turns (Fixture *f, gconstpointer unused)
{
  Fixture other = { 0 };
  Pair pair = { f, &other };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *first = g_object_ref (gtk_window_get_child (GTK_WINDOW (f->window)));
  GtkWidget *second = list_new (&other);
  GdkFrameClock *clock = gtk_widget_get_frame_clock (GTK_WIDGET (f->window));

  gtk_box_set_homogeneous (GTK_BOX (box), TRUE);
  gtk_window_set_child (GTK_WINDOW (f->window), box);
  gtk_widget_set_vexpand (first, TRUE);
  gtk_box_append (GTK_BOX (box), first);
  gtk_box_append (GTK_BOX (box), second);
  g_object_unref (first);
  WAIT (gtk_widget_get_height (second) > 100, SLOW_MS);
  set_rows (f, 5000);
  set_rows (&other, 5000);
  settle (f);
  settle (&other);
  other.n_written = 0;
  g_signal_connect (clock, "after-paint", G_CALLBACK (on_frame_end), &other);
  g_signal_connect_after (clock, "layout", G_CALLBACK (on_laid_out), &pair);
  for (int round = 0; round < 3; round++)
    {
      set_rows (f, 5000);
      set_rows (&other, 5000);
      g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), TRUE), >=, 3 * N_COLUMNS);
      g_assert_cmpint (count_version (GTK_WIDGET (other.view), other.version), ==, 0);
      WAIT (count_version (GTK_WIDGET (other.view), other.version) > 0, SLOW_MS);
      g_assert_cmpint (count_texts (&other, GTK_WIDGET (other.view), TRUE), >=,
                       3 * N_COLUMNS);
      settle (f);
      settle (&other);
    }
  g_assert_cmpint (pair.n_frames_of_both, ==, 0);
  g_assert_cmpint (count_texts (&other, GTK_WIDGET (other.view), FALSE), >=,
                   100 * N_COLUMNS);
  g_signal_handlers_disconnect_by_func (clock, on_laid_out, &pair);
  g_signal_handlers_disconnect_by_func (clock, on_frame_end, &other);
  tessera_row_list_close (other.rows);
  gtk_box_remove (GTK_BOX (box), second);
  list_free (&other);
}

/* The row that shows @text, in any column; NULL: none that is seen. */
static GtkWidget *
find_row (GtkWidget *widget, const char *text)
{
  GtkWidget *row = NULL;

  if (TESSERA_IS_CELL (widget) && gtk_widget_get_mapped (widget) &&
      g_str_equal (tessera_cell_get_text (TESSERA_CELL (widget)), text))
    for (row = widget; !g_str_equal (gtk_widget_get_css_name (row), "row");)
      row = gtk_widget_get_parent (row);
  for (GtkWidget *child = gtk_widget_get_first_child (widget);
       row == NULL && child != NULL; child = gtk_widget_get_next_sibling (child))
    row = find_row (child, text);
  return row;
}

/* Where the last rows go GTK puts others before those that it keeps, which are hidden
 * while their styles are made: only so long, and who has the focus keeps it. */
static void
test_from_the_end (Fixture *f, gconstpointer unused)
{
  GtkWidget *focused;
  int n_rows = 0;

  set_rows (f, 1000);
  settle (f);
  WAIT (tessera_row_list_scroll_to (f->rows, 999), SLOW_MS);
  settle (f);
  focused = find_row (GTK_WIDGET (f->view), "1:996:0");
  g_assert_nonnull (focused);
  g_assert_true (gtk_widget_grab_focus (focused));
  set_rows (f, 998);
  settle (f);
  g_assert_true (gtk_window_get_focus (GTK_WINDOW (f->window)) == focused);
  g_assert_true (find_row (GTK_WIDGET (f->view), "2:996:0") == focused);
  for (GtkWidget *row = gtk_widget_get_first_child (gtk_widget_get_parent (focused));
       row != NULL; row = gtk_widget_get_next_sibling (row), n_rows++)
    g_assert_true (gtk_widget_get_visible (row));
  g_assert_cmpint (n_rows, >=, 100);
  g_assert_cmpint (count_texts (f, GTK_WIDGET (f->view), FALSE), ==, n_rows * N_COLUMNS);
}

/* Of one column, or from one row on. */
static void
test_parts (Fixture *f, gconstpointer unused)
{
  GtkWidget *view = GTK_WIDGET (f->view);

  set_rows (f, 10);
  settle (f);
  g_assert_cmpint (count_version (view, 1), ==, 10 * N_COLUMNS);
  f->version = 2;
  tessera_row_list_show (f->rows, 1);
  g_assert_cmpint (count_version (view, 2), ==, 10);
  g_assert_cmpint (count_version (view, 1), ==, 10);
  f->version = 3;
  tessera_row_list_set_rows (f->rows, 10, 4);
  g_assert_cmpint (count_version (view, 3), ==, 6 * N_COLUMNS);
  g_assert_cmpint (count_version (view, 2), ==, 4);
  g_assert_cmpint (count_version (view, 1), ==, 4);
}

static void
test_selection (Fixture *f, gconstpointer unused)
{
  GtkSelectionModel *model = GTK_SELECTION_MODEL (f->rows);
  g_autoptr (GtkBitset) wanted = gtk_bitset_new_range (3, 2);
  g_autoptr (GtkBitset) mask = gtk_bitset_new_range (2, 6);
  g_autoptr (GtkBitset) selected = NULL;

  set_rows (f, 20);
  settle (f);
  gtk_selection_model_select_all (model);
  g_assert_cmpuint (gtk_bitset_get_size (f->selected), ==, 20);
  gtk_selection_model_select_range (model, 5, 4, TRUE);
  g_assert_cmpuint (gtk_bitset_get_size (f->selected), ==, 4);
  gtk_selection_model_select_item (model, 1, FALSE);
  gtk_selection_model_unselect_item (model, 6);
  gtk_selection_model_set_selection (model, wanted, mask); /* 2 to 7: of these 3, 4 */
  selected = gtk_selection_model_get_selection (model);
  g_assert_cmpuint (gtk_bitset_get_size (selected), ==, 4);
  for (guint i = 0; i < 20; i++)
    g_assert_cmpint (gtk_bitset_contains (selected, i), ==,
                     i == 1 || i == 3 || i == 4 || i == 8);
  /* What is not there is not chosen. */
  g_assert_false (gtk_selection_model_select_item (model, 20, TRUE));
  gtk_selection_model_select_range (model, 18, 100, TRUE);
  g_assert_cmpuint (gtk_bitset_get_size (f->selected), ==, 2);
  gtk_selection_model_unselect_all (model);
  g_assert_true (gtk_bitset_is_empty (f->selected));
}

static void
on_told (GtkSelectionModel *model, guint position, guint n, Fixture *f)
{
  f->n_told++;
  f->most_told = MAX (f->most_told, f->n_told);
}

static guint
count_marked (GtkWidget *widget)
{
  guint n = g_str_equal (gtk_widget_get_css_name (widget), "row") &&
            (gtk_widget_get_state_flags (widget) & GTK_STATE_FLAG_SELECTED) != 0;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_marked (child);
  return n;
}

static int
count_unmarked_in_sight (GtkWidget *widget)
{
  int n = g_str_equal (gtk_widget_get_css_name (widget), "row") &&
          gtk_widget_get_mapped (widget) &&
          (gtk_widget_get_state_flags (widget) & GTK_STATE_FLAG_SELECTED) == 0;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_unmarked_in_sight (child);
  return n;
}

static void
on_marks_laid_out (GdkFrameClock *clock, gpointer user)
{
  Fixture *f = user;

  f->n_unmarked = count_unmarked_in_sight (GTK_WIDGET (f->view));
}

/* Who scrolls sees no row that looks as if it were not selected, in any frame. */
static void
test_marks_scrolled (Fixture *f, gconstpointer unused)
{
  static const double by[] = { 60, 700, 2000, -2000, 100000 };
  GtkAdjustment *adjustment = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (f->view));
  GdkFrameClock *clock = gtk_widget_get_frame_clock (GTK_WIDGET (f->view));

  set_rows (f, 5000);
  settle (f);
  g_signal_connect_after (clock, "layout", G_CALLBACK (on_marks_laid_out), f);
  for (size_t i = 0; i < G_N_ELEMENTS (by); i++)
    {
      gtk_selection_model_select_all (GTK_SELECTION_MODEL (f->rows));
      f->n_unmarked = -1;
      gtk_adjustment_set_value (adjustment,
                                gtk_adjustment_get_value (adjustment) + by[i]);
      WAIT (f->n_unmarked >= 0, SLOW_MS);
      g_assert_cmpint (f->n_unmarked, ==, 0);
      settle (f);
      gtk_selection_model_unselect_all (GTK_SELECTION_MODEL (f->rows));
      settle (f);
    }
  g_signal_handlers_disconnect_by_func (clock, on_marks_laid_out, f);
}

/* GTK styles a row anew that it is told of: a few at once and in each frame, those in
 * sight first, all in the end. */
static void
test_marks (Fixture *f, gconstpointer unused)
{
  set_rows (f, 5000);
  settle (f);
  g_signal_connect (f->rows, "selection-changed", G_CALLBACK (on_told), f);
  f->n_told = f->most_told = 0;
  gtk_selection_model_select_all (GTK_SELECTION_MODEL (f->rows));
  g_assert_cmpint (f->n_told, >=, 8);
  settle (f);
  g_assert_cmpint (f->most_told, <=, 10);
  g_assert_cmpuint (count_marked (GTK_WIDGET (f->view)), >=, 100);
  gtk_selection_model_unselect_all (GTK_SELECTION_MODEL (f->rows));
  settle (f);
  g_assert_cmpuint (count_marked (GTK_WIDGET (f->view)), ==, 0);
}

/* To whom it is read out a cell is a label, and whoever rests on it reads all of it. */
static void
test_cell (Fixture *f, gconstpointer unused)
{
  GtkWidget *cell = g_object_ref_sink (tessera_cell_new (f->kind));

  tessera_cell_set_text (TESSERA_CELL (cell), "forward 1, step 0");
  gtk_test_accessible_assert_role (GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_ROLE_LABEL);
  gtk_test_accessible_assert_property (
      GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_PROPERTY_LABEL, "forward 1, step 0");
  g_assert_true (gtk_widget_get_has_tooltip (cell));
  g_object_unref (cell);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
  g_test_add ("/row-list/in place", Fixture, NULL, set_up, test_in_place, tear_down);
  g_test_add ("/row-list/scrolled", Fixture, NULL, set_up, test_scrolled, tear_down);
  g_test_add ("/row-list/far", Fixture, NULL, set_up, test_far, tear_down);
  g_test_add ("/row-list/turns", Fixture, NULL, set_up, test_turns, tear_down);
  g_test_add ("/row-list/from the end", Fixture, NULL, set_up, test_from_the_end,
              tear_down);
  g_test_add ("/row-list/parts", Fixture, NULL, set_up, test_parts, tear_down);
  g_test_add ("/row-list/selection", Fixture, NULL, set_up, test_selection, tear_down);
  g_test_add ("/row-list/marks", Fixture, NULL, set_up, test_marks, tear_down);
  g_test_add ("/row-list/marks scrolled", Fixture, NULL, set_up, test_marks_scrolled,
              tear_down);
  g_test_add ("/row-list/cell", Fixture, NULL, set_up, test_cell, tear_down);
  return g_test_run ();
}
