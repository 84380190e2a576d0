/*
 * The largest blocks alive at the chosen moment, those that are alike in one row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

#define TESSERA_TYPE_LARGEST (tessera_largest_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLargest, tessera_largest, TESSERA, LARGEST, GtkBox)

struct _TesseraLargest
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *heading;
  GtkWidget *rows[TESSERA_N_LARGEST]; /* buttons */
  GtkWidget *sizes[TESSERA_N_LARGEST];
  GtkWidget *sources[TESSERA_N_LARGEST];
};

G_DEFINE_TYPE (TesseraLargest, tessera_largest, GTK_TYPE_BOX)

static void
show_row (TesseraLargest *self, size_t row)
{
  TesseraData *data = self->document->data;
  TesseraAlike alike = self->document->told.largest[row];
  uint32_t block = alike.block;
  g_autofree char *size = tessera_describe_bytes (data->blocks->blocks[block].size_bytes);
  g_autofree char *source = tessera_describe_source (data, block);
  g_autofree char *phases = tessera_describe_phases (data, block);
  const char *words =
      *source != '\0'   ? source
      : *phases != '\0' ? phases
                        : tessera_class_name (data->blocks->blocks[block].lifetime_class);
  g_autofree char *number = tessera_describe_count (alike.n_blocks);
  g_autofree char *several = g_strdup_printf ("%s × %s", number, words);

  if (alike.n_blocks > 1)
    words = several;
  gtk_label_set_text (GTK_LABEL (self->sizes[row]), size);
  tessera_name_set (self->sources[row], words);
  tessera_set_tip (self->rows[row], words);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraLargest *self = user;
  g_autofree char *moment = NULL, *text = NULL;
  size_t n;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_GROUPS)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  n = document->told.n_largest;
  for (size_t i = 0; i < TESSERA_N_LARGEST; i++)
    {
      gtk_widget_set_visible (self->rows[i], i < n);
      if (i < n)
        show_row (self, i);
    }
  moment = tessera_describe_told (document);
  text = g_strconcat ("Largest at ", moment, NULL);
  gtk_label_set_text (GTK_LABEL (self->heading), text);
  gtk_widget_set_visible (self->heading, n > 0);
}

/* With Control or Shift the blocks of several rows. */
static gboolean
wants_more (GtkWidget *row)
{
  GdkSeat *seat = gdk_display_get_default_seat (gtk_widget_get_display (row));
  GdkDevice *keyboard = seat != NULL ? gdk_seat_get_keyboard (seat) : NULL;

  return keyboard != NULL && (gdk_device_get_modifier_state (keyboard) &
                              (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) != 0;
}

static void
on_clicked (GtkButton *row, TesseraLargest *self)
{
  for (size_t i = 0; i < TESSERA_N_LARGEST; i++)
    if (self->rows[i] == GTK_WIDGET (row))
      {
        uint32_t block = self->document->told.largest[i].block;

        if (wants_more (self->rows[i]))
          tessera_document_select_toggle (self->document, block);
        else
          tessera_document_select (self->document, block);
        tessera_document_reveal (self->document, block);
        return;
      }
}

static void
tessera_largest_dispose (GObject *object)
{
  g_clear_object (&TESSERA_LARGEST (object)->document);
  G_OBJECT_CLASS (tessera_largest_parent_class)->dispose (object);
}

static void
tessera_largest_class_init (TesseraLargestClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_largest_dispose;
}

static void
tessera_largest_init (TesseraLargest *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  self->heading = tessera_heading_new ("");
  gtk_widget_set_margin_bottom (self->heading, 4);
  gtk_box_append (GTK_BOX (self), self->heading);
  for (size_t i = 0; i < TESSERA_N_LARGEST; i++)
    {
      GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 10);

      self->sizes[i] = tessera_label_new ("", "figure");
      self->sources[i] = tessera_name_new ("source", "quiet", 4);
      gtk_label_set_width_chars (GTK_LABEL (self->sizes[i]), 9);
      gtk_label_set_xalign (GTK_LABEL (self->sizes[i]), 1);
      gtk_widget_set_valign (self->sizes[i], GTK_ALIGN_START);
      gtk_widget_set_hexpand (self->sources[i], TRUE);
      gtk_box_append (GTK_BOX (box), self->sizes[i]);
      gtk_box_append (GTK_BOX (box), self->sources[i]);
      self->rows[i] = gtk_button_new ();
      gtk_button_set_child (GTK_BUTTON (self->rows[i]), box);
      gtk_widget_set_css_classes (
          self->rows[i], (const char *[]){ "flat", "small", "legend-row", NULL });
      g_signal_connect (self->rows[i], "clicked", G_CALLBACK (on_clicked), self);
      gtk_box_append (GTK_BOX (self), self->rows[i]);
    }
  gtk_widget_set_name (GTK_WIDGET (self), "largest");
}

GtkWidget *
tessera_largest_new (TesseraDocument *document)
{
  TesseraLargest *self = g_object_new (TESSERA_TYPE_LARGEST, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
