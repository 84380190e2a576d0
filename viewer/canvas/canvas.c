/*
 * Time x address: one layout, drawn, under the hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include "cli/command.h"

double
tessera_canvas_t_at (const TesseraCanvas *self, double x)
{
  return tessera_view_t_at (&self->panel, x);
}

double
tessera_canvas_bytes_at (const TesseraCanvas *self, double y)
{
  const TesseraView *v = &self->panel.document->view;

  return v->y1 - y / MAX (gtk_widget_get_height (self->panel.box), 1) * (v->y1 - v->y0);
}

uint32_t
tessera_canvas_block_at (const TesseraCanvas *self, double x, double y)
{
  return tessera_scene_block_at (tessera_canvas_sheet (self)->scene,
                                 tessera_canvas_t_at (self, x),
                                 tessera_canvas_bytes_at (self, y));
}

const TesseraSheet *
tessera_canvas_sheet (const TesseraCanvas *self)
{
  return self->panel.document->sheets[self->side];
}

/* --- for who does not see it ------------------------------------------------------ */

static void
say_value (TesseraCanvas *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  g_autofree char *proposed = tessera_document_describe_proposal (document);
  g_autofree char *text = NULL;

  if (sheet == NULL)
    text = g_strdup ("nothing to show yet");
  else if (proposed != NULL && self->side == TESSERA_SIDE_RIGHT)
    text = g_strdup_printf ("on the move: %s", proposed);
  else if (document->selected == TESSERA_NONE)
    text = g_strdup ("no block selected");
  else
    {
      const TesseraBlock *block = &document->data->blocks->blocks[document->selected];
      g_autofree char *life = tessera_describe_life (document->data, document->selected);
      g_autofree char *place = tessera_describe_place (sheet, document->selected);

      size_t n = tessera_document_n_selected (document);
      g_autofree char *several =
          n > 1 ? g_strdup_printf ("%zu blocks selected, the outlined one: ", n) : NULL;

      text = g_strdup_printf ("%sblock of %s, %s, %s", several != NULL ? several : "",
                              TESSERA_SIZE (block->size_bytes), life, place);
    }
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->panel.box),
                                  GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

static void
say_label (TesseraCanvas *self)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  gboolean is_plan =
      sheet != NULL ? sheet->planned != NULL : self->side == TESSERA_SIDE_RIGHT;

  tessera_set_accessible_label (self->panel.box,
                                is_plan ? "Planned layout, time by address"
                                        : "PyTorch's layout, time by address");
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraCanvas *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS))
    say_label (self);
  tessera_picture_set (self->picture, document->sheets[self->side], document->paint);
  if (self->side == TESSERA_SIDE_RIGHT && (what & TESSERA_CHANGED_SHEETS) &&
      (what & TESSERA_CHANGED_TRACE) == 0)
    tessera_canvas_start_moves (self);
  if (self->pinning && (what & TESSERA_CHANGED_PROPOSAL))
    tessera_canvas_update_pin (self, self->pin_dy);
  if (what &
      (TESSERA_CHANGED_SELECTION | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PROPOSAL))
    say_value (self);
  if (what & ~(guint) TESSERA_CHANGED_WORK)
    gtk_widget_queue_draw (self->panel.box);
}

/* --- the card beside the pointer -------------------------------------------------- */

/* What the block under the pointer is, in a few lines. Drawn, not a GtkTooltip: it must
 * follow the pointer without delay. */

#define MARGIN 8
#define AWAY 14 /* from the pointer */

/* Below its size and class. */
static char *
describe_hovered (TesseraCanvas *self, uint32_t block)
{
  TesseraData *data = self->panel.document->data;
  g_autofree char *life = tessera_describe_life (data, block);
  g_autofree char *phases = tessera_describe_phases (data, block);
  g_autofree char *birth = tessera_describe_birth (data, block);
  g_autofree char *place = tessera_describe_place (tessera_canvas_sheet (self), block);
  g_autofree char *group = tessera_describe_group (data, block);
  g_autofree char *name = tessera_name_block (&data->whose, block);

  return g_strconcat (life, " · ", *phases != '\0' ? phases : birth, "\n", place,
                      *group != '\0' ? " · " : "", group, *name != '\0' ? "\n" : "",
                      cli_shown (name), NULL);
}

static void
draw_card (TesseraCanvas *self,
           TesseraPen *pen,
           double canvas_width,
           double canvas_height)
{
  TesseraDocument *document = self->panel.document;
  uint32_t block = document->hovered;
  g_autofree char *title = NULL, *lines = NULL;
  TesseraWords head = { .scale = 1, .is_bold = true };
  TesseraWords body = { .scale = 0.85, .most_width = canvas_width - 2 * MARGIN - 8 };
  double x, y, w1, w2, h1, h2, width, height;

  if (block == TESSERA_NONE || document->hovered_side != self->side ||
      self->pointer_x < 0 || self->band != TESSERA_BAND_NONE)
    return;
  head.text = title = g_strdup_printf (
      "%s, %s", TESSERA_SIZE (document->data->blocks->blocks[block].size_bytes),
      tessera_class_name (document->data->blocks->blocks[block].lifetime_class));
  body.text = lines = describe_hovered (self, block);
  pen->measure (pen, &head, &w1, &h1);
  pen->measure (pen, &body, &w2, &h2);
  width = MAX (w1, w2) + 2 * MARGIN;
  height = h1 + h2 + 2 * MARGIN - 2;
  x = self->pointer_x + AWAY;
  if (x + width > canvas_width - 4)
    x = MAX (self->pointer_x - AWAY - width, 4);
  y = self->pointer_y + AWAY;
  if (y + height > canvas_height - 4)
    y = MAX (self->pointer_y - AWAY - height, 4);
  pen->fill (pen, (TesseraArea){ x - 1, y - 1, width + 2, height + 2 }, 7,
             pen->palette->frame, 1);
  pen->fill (pen, (TesseraArea){ x, y, width, height }, 6, pen->palette->background,
             0.97);
  pen->write (pen, &head, x + MARGIN, y + MARGIN - 2, pen->palette->text);
  pen->write (pen, &body, x + MARGIN, y + MARGIN + h1, pen->palette->dim);
}

/* --- what can be done with the selected blocks, as a menu where they are ----------- */

static void
make_menu (TesseraCanvas *self)
{
  self->menu = gtk_popover_menu_new_from_model (NULL);
  gtk_popover_set_has_arrow (GTK_POPOVER (self->menu), FALSE);
  gtk_widget_set_halign (self->menu, GTK_ALIGN_START);
  gtk_widget_set_name (self->menu, "block-menu");
  tessera_set_accessible_label (self->menu, "Selected blocks");
  gtk_widget_set_parent (self->menu, self->panel.box);
}

void
tessera_canvas_pop_menu_up (TesseraCanvas *self, double x, double y)
{
  g_autoptr (GtkBuilder) builder =
      gtk_builder_new_from_resource ("/org/tessera/Viewer/menus.ui");
  g_autoptr (GMenuModel) edits = tessera_edit_menu_model (self->panel.document);
  GMenu *menu = G_MENU (gtk_builder_get_object (builder, "block-menu"));

  if (self->menu == NULL)
    make_menu (self);
  g_menu_append_submenu (menu, "Edit the plan", edits);
  gtk_popover_menu_set_menu_model (GTK_POPOVER_MENU (self->menu), G_MENU_MODEL (menu));
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu),
                               &(GdkRectangle){ (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}

void
tessera_canvas_ask (GtkWidget *canvas)
{
  TesseraCanvas *self = tessera_panel_of (canvas);
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  TesseraView rect = self->panel.document->view;
  TesseraArea box;

  if (sheet == NULL)
    return;
  if (self->panel.document->selected != TESSERA_NONE)
    (void) tessera_scene_block_rect (sheet->scene, self->panel.document->selected, &rect);
  (void) tessera_canvas_box_of (self, &rect, &box);
  tessera_canvas_pop_menu_up (
      self, CLAMP (box.x + box.width / 2, 0, gtk_widget_get_width (self->panel.box)),
      CLAMP (box.y + box.height / 2, 0, gtk_widget_get_height (self->panel.box)));
}

/* --- the canvas ------------------------------------------------------------------- */

static void
on_picture (gpointer user)
{
  gtk_widget_queue_draw (((TesseraCanvas *) user)->panel.box);
}

gboolean
tessera_canvas_is_complete (GtkWidget *canvas)
{
  const TesseraCanvas *self = tessera_panel_of (canvas);

  return self->moves == NULL && tessera_picture_is_complete (self->picture);
}

static void
draw (gpointer user, TesseraWidgetPen *own, int width, int height)
{
  TesseraCanvas *self = user;
  TesseraPen *pen = &own->base;
  const TesseraArea all = { 0, 0, width, height };

  pen->fill (pen, all, 0, pen->palette->background, 1);
  tessera_picture_snapshot (self->picture, own->snapshot, &self->panel.document->view,
                            width, height, gtk_widget_get_scale_factor (self->panel.box));
  tessera_canvas_draw_moves (self, own);
  if (tessera_canvas_sheet (self) != NULL)
    {
      tessera_canvas_draw_marks (self, pen);
      tessera_canvas_draw_proposal (self, pen);
    }
  tessera_pen_outline (pen, all, 1, pen->palette->frame);
  if (tessera_canvas_sheet (self) != NULL)
    draw_card (self, pen, width, height);
}

static void
on_destroy (GtkWidget *canvas, TesseraCanvas *self)
{
  tessera_canvas_stop_moves (self);
  g_clear_pointer (&self->menu, gtk_widget_unparent);
}

static void
canvas_clear (gpointer canvas)
{
  tessera_picture_free (((TesseraCanvas *) canvas)->picture);
}

GtkWidget *
tessera_canvas_new (TesseraDocument *document, TesseraSide side)
{
  static const TesseraDrawingKind kind = { draw, 160, 56, 480, 400 };
  TesseraCanvas *self = tessera_drawing_new (
      sizeof *self, document, side == TESSERA_SIDE_LEFT ? "canvas-left" : "canvas-right",
      &kind, canvas_clear);

  self->side = side;
  self->picture = tessera_picture_new (on_picture, self);
  self->pointer_x = self->pointer_y = -1;
  gtk_widget_set_focusable (self->panel.box, TRUE);
  gtk_widget_set_hexpand (self->panel.box, TRUE);
  gtk_widget_set_vexpand (self->panel.box, TRUE);
  g_signal_connect (self->panel.box, "destroy", G_CALLBACK (on_destroy), self);
  tessera_canvas_add_controllers (self);
  return tessera_panel_watch (self, on_changed);
}
