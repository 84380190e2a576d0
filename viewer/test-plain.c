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
