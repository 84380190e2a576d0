/*
 * What reserved memory is made of at the chosen moment, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

/* The parts, their sum, and what is told beside them. */
enum
{
  SUM = TESSERA_N_PARTS,
  LARGEST_HOLE,
  NEXT_REQUEST,
  FREE_AT_DRIVER,
  NOT_PYTORCHS,
  N_ROWS
};

#define TESSERA_TYPE_PARTS (tessera_parts_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraPartsView, tessera_parts_view, TESSERA, PARTS_VIEW, GtkBox)

struct _TesseraPartsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *heading;
  GtkWidget *grid;
  GtkWidget *names[N_ROWS];
  GtkWidget *bars[N_ROWS]; /* NULL: none */
  GtkWidget *amounts[N_ROWS];
};

G_DEFINE_TYPE (TesseraPartsView, tessera_parts_view, GTK_TYPE_BOX)

/* What stands in the rows at the chosen moment. */
static void
list_rows (TesseraDocument *document, TesseraPart rows[N_ROWS])
{
  const TesseraParts *parts = &document->told.parts;

  tessera_parts_list (document->data->trace, parts, rows);
  rows[SUM] =
      (TesseraPart){ NULL, "reserved", "Taken from the device: the sum of the above",
                     parts->reserved_bytes };
  rows[LARGEST_HOLE] =
      (TesseraPart){ NULL, "largest hole", "That the next request could use",
                     parts->largest_hole_bytes, .is_rare = true };
  rows[NEXT_REQUEST] =
      (TesseraPart){ NULL, "next request", "Rounded; the next allocation or failure",
                     parts->request_bytes, .is_rare = true };
  rows[FREE_AT_DRIVER] = (TesseraPart){ NULL, "free at driver", "Not taken by anyone",
                                        parts->free_at_driver_bytes, .is_rare = true };
  rows[NOT_PYTORCHS] =
      (TesseraPart){ NULL, "not PyTorch's", "Device memory outside PyTorch's allocator",
                     parts->outside_bytes, .is_rare = true };
}

static void
set_heading (TesseraPartsView *self)
{
  g_autofree char *moment = tessera_describe_told (self->document);
  g_autofree char *text = g_strconcat ("At ", moment, NULL);

  gtk_label_set_text (GTK_LABEL (self->heading), text);
  tessera_set_tip (self->heading, strstr (text, "later") == NULL
                                      ? NULL
                                      : "At its first peak reserved memory was higher, "
                                        "with caches full from the start: what a run "
                                        "pays for is seen where it comes back");
}

static void
show_row (TesseraPartsView *self, int row, const TesseraPart *part)
{
  const TesseraPalette *palette = tessera_palette (self->document->dark);
  double whole = (double) MAX (self->document->told.parts.reserved_bytes, 1);
  g_autofree char *amount = tessera_describe_bytes (part->bytes);
  g_autofree char *exact = tessera_describe_bytes_exact (part->bytes);
  g_autofree char *tip = g_strdup_printf ("%s: %s", part->meaning, exact);

  gtk_label_set_text (GTK_LABEL (self->names[row]), part->name);
  gtk_label_set_text (GTK_LABEL (self->amounts[row]), amount);
  tessera_set_tip (self->names[row], tip);
  tessera_set_tip (self->amounts[row], tip);
  if (self->bars[row] == NULL)
    return;
  tessera_set_tip (self->bars[row], tip);
  tessera_bar_set (self->bars[row], (double) part->bytes / whole,
                   row == SUM ? palette->dim : palette->curve_live);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraPartsView *self = user;
  TesseraPart rows[N_ROWS];

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_COLOUR)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  set_heading (self);
  list_rows (document, rows);
  for (int row = 0; row < N_ROWS; row++)
    {
      uint64_t bytes = rows[row].bytes;
      gboolean is_told = !rows[row].is_rare || (bytes != TESSERA_NOWHERE && bytes != 0);

      gtk_widget_set_visible (self->names[row], is_told);
      gtk_widget_set_visible (self->amounts[row], is_told);
      if (self->bars[row] != NULL)
        gtk_widget_set_visible (self->bars[row], is_told);
      if (is_told)
        show_row (self, row, &rows[row]);
    }
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
add_row (TesseraPartsView *self, int row)
{
  const char *css_class = row < SUM ? NULL : row == SUM ? "strong" : "quiet";
  GtkGrid *grid = GTK_GRID (self->grid);

  self->names[row] = tessera_label_new ("", css_class);
  self->bars[row] = row <= SUM ? tessera_bar_new (0, 0) : NULL;
  self->amounts[row] = tessera_label_new ("", css_class);
  gtk_label_set_xalign (GTK_LABEL (self->amounts[row]), 1);
  gtk_widget_add_css_class (self->amounts[row], "figure");
  gtk_widget_set_hexpand (self->names[row], TRUE);
  gtk_grid_attach (grid, self->names[row], 0, row, 1, 1);
  if (self->bars[row] != NULL)
    gtk_grid_attach (grid, self->bars[row], 1, row, 1, 1);
  gtk_grid_attach (grid, self->amounts[row], 2, row, 1, 1);
}

static void
tessera_parts_view_init (TesseraPartsView *self)
{
  self->heading = tessera_heading_new ("");
  gtk_widget_set_name (self->heading, "parts-heading");
  self->grid = gtk_grid_new ();
  gtk_grid_set_column_spacing (GTK_GRID (self->grid), 8);
  gtk_grid_set_row_spacing (GTK_GRID (self->grid), 4);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  gtk_box_append (GTK_BOX (self), self->heading);
  gtk_box_append (GTK_BOX (self), self->grid);
  for (int row = 0; row < N_ROWS; row++)
    add_row (self, row);
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
