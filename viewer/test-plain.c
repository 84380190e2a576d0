/*
 * A window of plain widgets. See test-plain.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-plain.h"

#include "viewer/panels/rows/cell.h"

static const char *
text_of (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    return gtk_label_get_text (GTK_LABEL (widget));
  return TESSERA_IS_CELL (widget) ? tessera_cell_get_text (TESSERA_CELL (widget)) : "";
}

static GtkWidget *
first_seen (GtkWidget *child)
{
  while (child != NULL && !gtk_widget_get_mapped (child))
    child = gtk_widget_get_next_sibling (child);
  return child;
}

static GtkWidget *
label_new (const char *text)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  return label;
}

/* Widgets that stand beside each other do so in the copy. */
static GtkOrientation
orientation_of (GtkWidget *widget, GtkWidget *first)
{
  GtkWidget *second = first_seen (gtk_widget_get_next_sibling (first));
  graphene_rect_t a, b;

  return second != NULL && gtk_widget_compute_bounds (first, widget, &a) &&
                 gtk_widget_compute_bounds (second, widget, &b) &&
                 a.origin.x != b.origin.x && a.origin.y == b.origin.y
             ? GTK_ORIENTATION_HORIZONTAL
             : GTK_ORIENTATION_VERTICAL;
}

static GtkWidget *
copy (GtkWidget *widget, guint *n_widgets)
{
  GtkWidget *first = first_seen (gtk_widget_get_first_child (widget));
  GtkWidget *box;

  ++*n_widgets;
  if (first == NULL || GTK_IS_LABEL (widget))
    return label_new (text_of (widget));
  box = gtk_box_new (orientation_of (widget, first), 0);
  for (GtkWidget *child = first; child != NULL;
       child = first_seen (gtk_widget_get_next_sibling (child)))
    gtk_box_append (GTK_BOX (box), copy (child, n_widgets));
  return box;
}

GtkWindow *
test_plain_new (GtkWindow *like, guint *out_n_widgets)
{
  GtkWindow *plain = GTK_WINDOW (gtk_window_new ());

  *out_n_widgets = 0;
  gtk_window_set_child (plain, copy (GTK_WIDGET (like), out_n_widgets));
  gtk_window_set_default_size (plain, gtk_widget_get_width (GTK_WIDGET (like)),
                               gtk_widget_get_height (GTK_WIDGET (like)));
  gtk_window_present (plain);
  return plain;
}

static void
change (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    {
      g_autofree char *text = g_utf8_strreverse (text_of (widget), -1);

      gtk_label_set_text (GTK_LABEL (widget), text);
      return;
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    change (child);
}

void
test_plain_change (GtkWindow *plain)
{
  change (gtk_window_get_child (plain));
}

/* --- a list ----------------------------------------------------------------------- */

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer unused)
{
  gtk_list_item_set_child (item, label_new (""));
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer unused)
{
  gtk_label_set_text (
      GTK_LABEL (gtk_list_item_get_child (item)),
      gtk_string_object_get_string (GTK_STRING_OBJECT (gtk_list_item_get_item (item))));
}

static GtkWidget *
view_of (GtkWindow *plain)
{
  return gtk_scrolled_window_get_child (
      GTK_SCROLLED_WINDOW (gtk_window_get_child (plain)));
}

GtkWindow *
test_plain_list_new (guint n_rows, guint n_columns)
{
  GtkWindow *plain = GTK_WINDOW (gtk_window_new ());
  GtkWidget *scrolled = gtk_scrolled_window_new ();
  GtkStringList *texts = gtk_string_list_new (NULL);
  GtkWidget *view;

  for (guint i = 0; i < n_rows; i++)
    gtk_string_list_append (texts, "a text");
  view = gtk_column_view_new (
      GTK_SELECTION_MODEL (gtk_multi_selection_new (G_LIST_MODEL (texts))));
  for (guint i = 0; i < n_columns; i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      GtkColumnViewColumn *column = gtk_column_view_column_new ("column", factory);

      g_signal_connect (factory, "setup", G_CALLBACK (on_setup), NULL);
      g_signal_connect (factory, "bind", G_CALLBACK (on_bind), NULL);
      gtk_column_view_append_column (GTK_COLUMN_VIEW (view), column);
      g_object_unref (column);
    }
  g_object_set_data (G_OBJECT (view), "texts", texts);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), view);
  gtk_window_set_child (plain, scrolled);
  gtk_window_set_default_size (plain, 600, 500);
  gtk_window_present (plain);
  return plain;
}

void
test_plain_list_shorten (GtkWindow *plain)
{
  GtkStringList *texts = g_object_get_data (G_OBJECT (view_of (plain)), "texts");

  gtk_string_list_remove (texts, g_list_model_get_n_items (G_LIST_MODEL (texts)) - 1);
}

void
test_plain_list_scroll (GtkWindow *plain, double share)
{
  GtkAdjustment *down = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (view_of (plain)));

  gtk_adjustment_set_value (down, share * (gtk_adjustment_get_upper (down) -
                                           gtk_adjustment_get_page_size (down)));
}
