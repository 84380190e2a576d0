/*
 * The card beside the pointer: what the block under it is, in a few lines.
 *
 * Drawn, not a GtkTooltip: it must follow the pointer without delay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/model/document.h"
#include "viewer/kit/draw.h"

#define MARGIN 8
#define AWAY 14 /* from the pointer */

static void
append_word (GString *text, const char *word)
{
  if (*word == '\0')
    return;
  if (text->len > 0)
    g_string_append (text, " · ");
  g_string_append (text, word);
}

static char *
second_line (TesseraCanvas *self, uint32_t block)
{
  TesseraData *data = self->document->data;
  g_autofree char *life = tessera_describe_life (data, block);
  g_autofree char *phases = tessera_describe_phases (data, block);
  g_autofree char *birth = tessera_describe_birth (data, block);
  GString *text = g_string_new (life);

  append_word (text, *phases != '\0' ? phases : birth);
  return g_string_free (text, FALSE);
}

static char *
third_line (TesseraCanvas *self, uint32_t block)
{
  g_autofree char *place = tessera_describe_place (tessera_canvas_sheet (self), block);
  g_autofree char *group = tessera_describe_group (self->document->data, block);
  GString *text = g_string_new (place);

  append_word (text, group);
  return g_string_free (text, FALSE);
}

void
tessera_canvas_draw_card (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  TesseraDocument *document = self->document;
  const TesseraPalette *palette = tessera_palette (document->dark);
  uint32_t block = document->hovered;
  int canvas_width = gtk_widget_get_width (GTK_WIDGET (self));
  int canvas_height = gtk_widget_get_height (GTK_WIDGET (self));
  g_autofree char *size = NULL, *title = NULL, *second = NULL, *third = NULL,
                  *source = NULL;
  g_autoptr (PangoLayout) head = NULL, body = NULL;
  g_autofree char *lines = NULL;
  int w1, w2, h1, h2;
  double x, y, width, height;

  if (block == TESSERA_NONE || document->hovered_side != self->side ||
      self->pointer_x < 0 || self->band != TESSERA_BAND_NONE)
    return;
  size = tessera_describe_bytes (document->data->blocks->blocks[block].size_bytes);
  title = g_strdup_printf (
      "%s, %s", size,
      tessera_class_name (document->data->blocks->blocks[block].lifetime_class));
  second = second_line (self, block);
  third = third_line (self, block);
  source = tessera_describe_source (document->data, block);
  lines = g_strjoin ("\n", second, third, *source != '\0' ? source : NULL, NULL);
  head = tessera_text_new (GTK_WIDGET (self), title, 1.0, TRUE);
  body = tessera_text_new (GTK_WIDGET (self), lines, 0.85, FALSE);
  pango_layout_set_ellipsize (body, PANGO_ELLIPSIZE_END);
  pango_layout_set_width (body, (canvas_width - 2 * MARGIN - 8) * PANGO_SCALE);
  pango_layout_get_pixel_size (head, &w1, &h1);
  pango_layout_get_pixel_size (body, &w2, &h2);
  width = MAX (w1, w2) + 2 * MARGIN;
  height = h1 + h2 + 2 * MARGIN - 2;
  x = self->pointer_x + AWAY;
  if (x + width > canvas_width - 4)
    x = MAX (self->pointer_x - AWAY - width, 4);
  y = self->pointer_y + AWAY;
  if (y + height > canvas_height - 4)
    y = MAX (self->pointer_y - AWAY - height, 4);
  tessera_draw_pill (snapshot, x - 1, y - 1, width + 2, height + 2, 7, palette->frame, 1);
  tessera_draw_pill (snapshot, x, y, width, height, 6, palette->background, 0.97);
  tessera_draw_text (snapshot, head, x + MARGIN, y + MARGIN - 2, palette->text);
  tessera_draw_text (snapshot, body, x + MARGIN, y + MARGIN + h1, palette->dim);
}
