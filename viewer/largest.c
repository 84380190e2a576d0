/*
 * The largest blocks alive at the chosen moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/largest.h"

#include "viewer/describe.h"
#include "viewer/document-view.h"
#include "viewer/ui.h"

#define N_ROWS 12

struct _TesseraLargest
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *heading;
  GtkWidget *rows[N_ROWS]; /* buttons */
  GtkWidget *sizes[N_ROWS];
  GtkWidget *sources[N_ROWS];
  uint32_t blocks[N_ROWS];
};

G_DEFINE_TYPE (TesseraLargest, tessera_largest, GTK_TYPE_BOX)

size_t
tessera_largest_blocks (const TesseraBlocks *blocks,
                        uint32_t event_index,
                        size_t n,
                        uint32_t *out_blocks)
{
  size_t n_found = 0;

  for (size_t i = 0; n > 0 && i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      size_t at;

      if (block->born_index > event_index || block->died_index <= event_index)
        continue;
      if (n_found == n &&
          block->size_bytes <= blocks->blocks[out_blocks[n - 1]].size_bytes)
        continue;
      at = n_found < n ? n_found++ : n - 1;
      for (; at > 0 && blocks->blocks[out_blocks[at - 1]].size_bytes < block->size_bytes;
           at--)
        out_blocks[at] = out_blocks[at - 1];
      out_blocks[at] = (uint32_t) i;
    }
  return n_found;
}

static void
show_row (TesseraLargest *self, size_t row)
{
  TesseraData *data = self->document->data;
  uint32_t block = self->blocks[row];
  g_autofree char *size = tessera_describe_bytes (data->blocks->blocks[block].size_bytes);
  g_autofree char *source = tessera_describe_source (data, block);
  g_autofree char *phases = tessera_describe_phases (data, block);
  const char *words =
      *source != '\0'   ? source
      : *phases != '\0' ? phases
                        : tessera_class_name (data->blocks->blocks[block].lifetime_class);

  gtk_label_set_text (GTK_LABEL (self->sizes[row]), size);
  gtk_label_set_text (GTK_LABEL (self->sources[row]), words);
  gtk_widget_set_tooltip_text (self->rows[row], words);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraLargest *self = user;
  g_autofree char *event = tessera_describe_count (document->moment);
  g_autofree char *text = NULL;
  size_t n;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  n = tessera_largest_blocks (document->data->blocks, document->moment, N_ROWS,
                              self->blocks);
  for (size_t i = 0; i < N_ROWS; i++)
    {
      gtk_widget_set_visible (self->rows[i], i < n);
      if (i < n)
        show_row (self, i);
    }
  if (document->moment != document->verdict.parts.event_index)
    text = g_strdup_printf ("Largest at event %s", event);
  else
    text = g_strdup (document->verdict.died ? "Largest at the failure"
                                            : "Largest at the peak");
  gtk_label_set_text (GTK_LABEL (self->heading), text);
}

static void
on_clicked (GtkButton *row, TesseraLargest *self)
{
  for (size_t i = 0; i < N_ROWS; i++)
    if (self->rows[i] == GTK_WIDGET (row))
      {
        tessera_document_select (self->document, self->blocks[i]);
        tessera_document_reveal (self->document, self->blocks[i]);
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
  for (size_t i = 0; i < N_ROWS; i++)
    {
      GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 10);

      self->sizes[i] = tessera_label_new ("", "figure");
      self->sources[i] = tessera_label_new ("", "quiet");
      gtk_label_set_ellipsize (GTK_LABEL (self->sizes[i]), PANGO_ELLIPSIZE_NONE);
      gtk_label_set_width_chars (GTK_LABEL (self->sizes[i]), 9);
      gtk_label_set_xalign (GTK_LABEL (self->sizes[i]), 1);
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
