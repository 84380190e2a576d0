/*
 * What blocks are called and how large they are, inside those that have the room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include "cli/command.h"
#include "picture/palette.h"

#define LEAST_WIDTH 48 /* pixels: of less a name says nothing */
#define LEAST_HEIGHT 13
#define PAD 4 /* from the edges of the block */
/* More are no help to the eye, and cost every frame. */
#define MOST_NAMES 60

/* The size below the name, which is cut where it must be; in a low block beside it, where both
 * fit. At the left end of what is seen of the block, else at the right, at its top or in the
 * middle; not at all where something else is said there. */
static void
draw_name (TesseraCanvas *self,
           GtkSnapshot *snapshot,
           TesseraLabels *labels,
           const TesseraShownBlock *room)
{
  const TesseraData *data = self->panel.document->data;
  const uint32_t ground_rgb = self->panel.document->paint->ink.block_rgb[room->block];
  const uint32_t rgb = tessera_palette_text_on (ground_rgb);
  const int most = (int) room->width - 2 * PAD;
  g_autofree char *name = tessera_name_block (&data->whose, room->block);
  g_autofree char *text =
      g_strconcat (cli_shown (name), *name != '\0' ? "\n" : "",
                   TESSERA_SIZE (data->blocks->blocks[room->block].size_bytes), NULL);
  g_autoptr (PangoLayout) layout = tessera_text_new (self->panel.box, text, 0.85, FALSE);
  PangoRectangle last; /* the size, which is never cut */
  graphene_rect_t box;
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  pango_layout_line_get_pixel_extents (
      pango_layout_get_line_readonly (layout, pango_layout_get_line_count (layout) - 1),
      NULL, &last);
  if (last.width > most)
    return;
  if (height + PAD > room->height)
    {
      g_strdelimit (text, "\n", ' ');
      pango_layout_set_text (layout, text, -1);
      pango_layout_get_pixel_size (layout, &width, &height);
      if (width > most || height > room->height)
        return;
    }
  else if (width > most)
    {
      /* Paths begin alike, lines of the program do not. */
      pango_layout_set_ellipsize (layout, strchr (name, ' ') != NULL
                                              ? PANGO_ELLIPSIZE_END
                                              : PANGO_ELLIPSIZE_MIDDLE);
      pango_layout_set_width (layout, most * PANGO_SCALE);
    }
  width = MIN (width, most);
  for (int at = 0; at < 4; at++)
    {
      const double below = (room->height - height) / 2;

      box = GRAPHENE_RECT_INIT ((float) (room->x + PAD + at % 2 * (most - width)),
                                (float) (room->y + (at < 2 ? MIN (below, 3) : below)),
                                (float) width, (float) height);
      if (!tessera_labels_place (labels, &box, 0))
        continue;
      /* Stripes of what missed a plan are no ground for words. */
      if (data->pool.n_bytes > 0)
        tessera_draw_label (snapshot, layout, box.origin.x, box.origin.y, rgb,
                            ground_rgb);
      else
        tessera_draw_text (snapshot, layout, box.origin.x, box.origin.y, rgb);
      return;
    }
}

void
tessera_canvas_draw_names (TesseraCanvas *self,
                           GtkSnapshot *snapshot,
                           TesseraLabels *labels)
{
  const TesseraPaint *paint = self->panel.document->paint;
  g_autoptr (GArray) found = NULL;

  if (paint == NULL)
    return;
  found = tessera_scene_largest (
      tessera_canvas_sheet (self)->scene, &self->panel.document->view,
      gtk_widget_get_width (self->panel.box), gtk_widget_get_height (self->panel.box),
      LEAST_WIDTH, LEAST_HEIGHT, MOST_NAMES);
  for (guint i = 0; i < found->len; i++)
    {
      const TesseraShownBlock *shown = &g_array_index (found, TesseraShownBlock, i);

      if ((paint->shown == NULL || paint->shown[shown->block]) &&
          (paint->lit == NULL || tessera_selection_has (paint->lit, shown->block)))
        draw_name (self, snapshot, labels, shown);
    }
}
