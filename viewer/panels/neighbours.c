/*
 * What lies around the selected block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

enum
{
  BEFORE,
  AFTER,
  RESTS_ON,
  ABOVE,
  PLAN_RESTS_ON,
  PLAN_ABOVE,
  N_NEIGHBOURS
};

static const char *const names[N_NEIGHBOURS] = { "born before",    "born after",
                                                 "rests on",       "above it",
                                                 "plan: rests on", "plan: above" };

#define TESSERA_TYPE_NEIGHBOURS (tessera_neighbours_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNeighbours, tessera_neighbours, TESSERA, NEIGHBOURS, GtkBox)

struct _TesseraNeighbours
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *heading;
  GtkWidget *labels[N_NEIGHBOURS];
  GtkWidget *buttons[N_NEIGHBOURS];
  uint32_t blocks[N_NEIGHBOURS];
};

G_DEFINE_TYPE (TesseraNeighbours, tessera_neighbours, GTK_TYPE_BOX)

/* The block that touches @block below (@above: above) while it is born, or
 * TESSERA_NONE. */
static uint32_t
find_in_address (const TesseraSheet *sheet, uint32_t block, gboolean above)
{
  TesseraView rect;
  double t, y;

  if (sheet == NULL || !tessera_scene_block_rect (sheet->scene, block, &rect))
    return TESSERA_NONE;
  /* A hair inside its life, half of the smallest block beyond its edge. */
  t = rect.t0 + (rect.t1 - rect.t0) * 1e-6;
  y = above ? rect.y1 + 256 : rect.y0 - 256;
  return y < 0 ? TESSERA_NONE : tessera_scene_block_at (sheet->scene, t, y);
}

static void
find (TesseraNeighbours *self)
{
  TesseraDocument *document = self->document;
  uint32_t selected = document->selected;
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = document->sheets[TESSERA_SIDE_RIGHT];

  self->blocks[BEFORE] = selected > 0 ? selected - 1 : TESSERA_NONE;
  self->blocks[AFTER] =
      selected + 1 < document->data->blocks->n_blocks ? selected + 1 : TESSERA_NONE;
  self->blocks[RESTS_ON] = find_in_address (left, selected, FALSE);
  self->blocks[ABOVE] = find_in_address (left, selected, TRUE);
  self->blocks[PLAN_RESTS_ON] = find_in_address (right, selected, FALSE);
  self->blocks[PLAN_ABOVE] = find_in_address (right, selected, TRUE);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraNeighbours *self = user;

  if (!(what & (TESSERA_CHANGED_SELECTION | TESSERA_CHANGED_SHEETS)) ||
      document->data == NULL || document->selected == TESSERA_NONE)
    return;
  find (self);
  gtk_widget_set_visible (self->heading, FALSE);
  for (int i = 0; i < N_NEIGHBOURS; i++)
    {
      gboolean any = self->blocks[i] != TESSERA_NONE;
      g_autofree char *text = NULL;

      gtk_widget_set_visible (self->labels[i], any);
      gtk_widget_set_visible (self->buttons[i], any);
      if (!any)
        continue;
      gtk_widget_set_visible (self->heading, TRUE);
      {
        const TesseraBlock *block = &document->data->blocks->blocks[self->blocks[i]];
        g_autofree char *size = tessera_describe_bytes (block->size_bytes);

        text =
            g_strdup_printf ("%s, %s", size, tessera_class_name (block->lifetime_class));
      }
      gtk_label_set_text (
          GTK_LABEL (gtk_button_get_child (GTK_BUTTON (self->buttons[i]))), text);
    }
}

static void
on_clicked (GtkButton *button, TesseraNeighbours *self)
{
  for (int i = 0; i < N_NEIGHBOURS; i++)
    if (self->buttons[i] == GTK_WIDGET (button) && self->blocks[i] != TESSERA_NONE)
      {
        uint32_t block = self->blocks[i];

        tessera_document_select (self->document, block);
        tessera_document_reveal (self->document, block);
        return;
      }
}

static void
tessera_neighbours_dispose (GObject *object)
{
  g_clear_object (&TESSERA_NEIGHBOURS (object)->document);
  G_OBJECT_CLASS (tessera_neighbours_parent_class)->dispose (object);
}

static void
tessera_neighbours_class_init (TesseraNeighboursClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_neighbours_dispose;
}

static void
tessera_neighbours_init (TesseraNeighbours *self)
{
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 4);
  for (int i = 0; i < N_NEIGHBOURS; i++)
    {
      GtkWidget *text = tessera_label_new ("", NULL);

      self->blocks[i] = TESSERA_NONE;
      self->labels[i] = tessera_label_new (names[i], "quiet");
      self->buttons[i] = gtk_button_new ();
      gtk_button_set_child (GTK_BUTTON (self->buttons[i]), text);
      gtk_widget_set_hexpand (self->buttons[i], TRUE);
      gtk_widget_set_css_classes (self->buttons[i],
                                  (const char *[]){ "flat", "small", "link-row", NULL });
      gtk_widget_set_name (self->buttons[i], names[i]);
      g_signal_connect (self->buttons[i], "clicked", G_CALLBACK (on_clicked), self);
      gtk_grid_attach (GTK_GRID (grid), self->labels[i], 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->buttons[i], 1, i, 1, 1);
    }
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 4);
  self->heading = tessera_heading_new ("Neighbours");
  gtk_box_append (GTK_BOX (self), self->heading);
  gtk_box_append (GTK_BOX (self), grid);
}

GtkWidget *
tessera_neighbours_new (TesseraDocument *document)
{
  TesseraNeighbours *self = g_object_new (TESSERA_TYPE_NEIGHBOURS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
