/*
 * What reserved memory is made of at the chosen moment, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/parts.h"

#include "viewer/document/describe.h"
#include "viewer/window/ui.h"

struct _TesseraPartsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *heading;
  GtkWidget *grid;
};

G_DEFINE_TYPE (TesseraPartsView, tessera_parts_view, GTK_TYPE_BOX)

typedef struct
{
  const char *name;
  size_t offset; /* of its uint64_t in TesseraParts */
  const char *tooltip;
} Part;

#define PART(name, field, tooltip)                                                       \
  {                                                                                      \
    name, G_STRUCT_OFFSET (TesseraParts, field), tooltip                                 \
  }
static const Part parts[] = {
  PART ("live", live_bytes, "Asked for by the program and not freed"),
  PART ("rounding", rounding_bytes, "Block sizes above what was asked for"),
  PART ("pending", pending_bytes, "Freed, waiting for an event of another stream"),
  PART ("other stream", other_stream_bytes, "Free, but kept for another stream or pool"),
  PART ("hard holes", hard_bytes, "Free between live blocks of a segment"),
  PART ("soft holes", soft_bytes, "Free at the edge of a segment in use"),
  PART ("cache", cache_bytes, "Whole free segments: given back before anything fails"),
};

static void
add_row (TesseraPartsView *self,
         int row,
         const char *name,
         uint64_t bytes,
         double share,
         uint32_t rgb,
         const char *tooltip,
         const char *css_class)
{
  g_autofree char *amount = tessera_describe_bytes (bytes);
  g_autofree char *exact = tessera_describe_bytes_exact (bytes);
  g_autofree char *tip = g_strdup_printf ("%s: %s", tooltip, exact);
  GtkWidget *cells[] = { tessera_label_new (name, css_class),
                         tessera_bar_new (share, rgb),
                         tessera_label_new (amount, css_class) };

  gtk_label_set_xalign (GTK_LABEL (cells[2]), 1);
  gtk_widget_add_css_class (cells[2], "figure");
  gtk_widget_set_hexpand (cells[0], TRUE);
  for (int i = 0; i < 3; i++)
    {
      tessera_set_tip (cells[i], tip);
      if (i != 1 || share >= 0)
        gtk_grid_attach (GTK_GRID (self->grid), cells[i], i, row, 1, 1);
      else
        g_object_unref (g_object_ref_sink (cells[i]));
    }
}

static void
clear_grid (TesseraPartsView *self)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (self->grid)) != NULL)
    gtk_grid_remove (GTK_GRID (self->grid), child);
}

static void
set_heading (TesseraPartsView *self)
{
  TesseraDocument *document = self->document;
  g_autofree char *event = tessera_describe_count (document->told.parts.event_index);
  g_autofree char *text = NULL;

  if (document->told.parts.event_index != document->verdict.parts.event_index)
    text = g_strdup_printf ("At event %s", event);
  else
    text =
        g_strdup (document->verdict.died ? "At the failure" : "At the peak of reserved");
  gtk_label_set_text (GTK_LABEL (self->heading), text);
}

static void
add_extra_rows (TesseraPartsView *self, int row)
{
  const TesseraParts *p = &self->document->told.parts;
  const struct
  {
    const char *name;
    uint64_t bytes;
    const char *tooltip;
  } extra[] = {
    { "largest hole", p->largest_hole_bytes, "That the next request could use" },
    { "next request", p->request_bytes, "Rounded; the next allocation or failure" },
    { "free at driver", p->free_at_driver_bytes, "Not taken by anyone" },
    { "not PyTorch's", p->outside_bytes, "Device memory outside PyTorch's allocator" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (extra); i++)
    if (extra[i].bytes != TESSERA_NOWHERE && extra[i].bytes != 0)
      add_row (self, row++, extra[i].name, extra[i].bytes, -1, 0, extra[i].tooltip,
               "quiet");
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraPartsView *self = user;
  const TesseraPalette *palette = tessera_palette (document->dark);
  double whole = (double) MAX (document->told.parts.reserved_bytes, 1);
  int row = 0;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_COLOUR)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  clear_grid (self);
  set_heading (self);
  for (size_t i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      uint64_t bytes = G_STRUCT_MEMBER (uint64_t, &document->told.parts, parts[i].offset);

      add_row (self, row++, parts[i].name, bytes, (double) bytes / whole,
               palette->curve_live, parts[i].tooltip, NULL);
    }
  add_row (self, row++, "reserved", document->told.parts.reserved_bytes, 1, palette->dim,
           "Taken from the device: the sum of the above", "strong");
  add_extra_rows (self, row);
}

static void
tessera_parts_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_PARTS_VIEW (object)->document);
  G_OBJECT_CLASS (tessera_parts_view_parent_class)->dispose (object);
}

static void
tessera_parts_view_class_init (TesseraPartsViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_parts_view_dispose;
}

static void
tessera_parts_view_init (TesseraPartsView *self)
{
  self->heading = tessera_heading_new ("");
  self->grid = gtk_grid_new ();
  gtk_grid_set_column_spacing (GTK_GRID (self->grid), 8);
  gtk_grid_set_row_spacing (GTK_GRID (self->grid), 4);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_box_append (GTK_BOX (self), self->heading);
  gtk_box_append (GTK_BOX (self), self->grid);
  gtk_widget_set_name (GTK_WIDGET (self), "parts");
}

GtkWidget *
tessera_parts_view_new (TesseraDocument *document)
{
  TesseraPartsView *self = g_object_new (TESSERA_TYPE_PARTS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
