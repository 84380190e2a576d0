/*
 * One layout: title, lanes, canvas, and what is marked on the canvas.
 *
 * The canvas is a raster (it may hold millions of blocks) at device resolution; all else
 * is drawn as vectors above it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-text.h"
#include "picture/figure/private.h"
#include "picture/palette.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a panel ------------------------------------------------------------------- */

#define TITLE_HEIGHT 24.0
#define LANES_GAP 2.0
#define NOTE_FROM 20 /* rows above the peak of reserved by 1 / NOTE_FROM of it */

typedef struct
{
  const TesseraSheet *sheet;
  const TesseraLayout *layout;
  const TesseraScene *scene;
  TesseraArea canvas;
} Panel;

static void
draw_raster (const Panel *panel, const TesseraView *view, const TesseraInk *ink)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  int width = (int) lround (c->width * sheet->scale);
  int height = (int) lround (c->height * sheet->scale);
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  if (cairo_surface_status (surface) != CAIRO_STATUS_SUCCESS)
    g_error ("failed to allocate a picture of %d x %d", width, height);
  cairo_surface_flush (surface);
  tessera_scene_render (panel->scene, view, ink,
                        (uint32_t *) (void *) cairo_image_surface_get_data (surface),
                        (size_t) cairo_image_surface_get_stride (surface) / 4, width,
                        height, 0, 0);
  cairo_surface_mark_dirty (surface);
  cairo_save (sheet->cr);
  cairo_translate (sheet->cr, c->x, c->y);
  cairo_scale (sheet->cr, c->width / width, c->height / height);
  cairo_set_source_surface (sheet->cr, surface, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (sheet->cr), CAIRO_FILTER_NEAREST);
  cairo_paint (sheet->cr);
  cairo_restore (sheet->cr);
  cairo_surface_destroy (surface);
}

/* Reservations keep their rows when others come and go: what is drawn can be taller than
 * what was ever reserved at once, and then says so. */
static void
write_note (const Panel *panel, TesseraMarks *marks)
{
  uint64_t height = tessera_scene_height_bytes (panel->scene);
  uint64_t peak = panel->layout->peak_reserved_bytes;
  const TesseraPalette *palette = panel->sheet->palette;
  double text_width, text_height;
  if (peak == 0 || height <= peak + peak / NOTE_FROM)
    return;
  g_autofree char *text =
      g_strdup_printf ("never more than %s reserved at once", TESSERA_SIZE (peak));
  marks->pen->measure (marks->pen, &(TesseraWords){ text, 0.85 }, &text_width,
                       &text_height);
  tessera_marks_write (marks, text, panel->canvas.width - text_width - 7.0, 4.0,
                       panel->canvas.height, palette->dim);
}

/* What lies on the canvas, whose top left is where the pen begins. */
static void
draw_marks (const Panel *panel, const TesseraView *view, const TesseraInk *ink)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraFigure *f = sheet->figure;
  const TesseraParts *parts = f->verdict != NULL ? &f->verdict->parts : NULL;
  TesseraMarks marks = {
    .pen = sheet->pen,
    .whose = f->whose,
    .blocks = f->blocks,
    .layout = panel->layout,
    .recorded = f->left,
    .scene = panel->scene,
    .axis = sheet->axis,
    .is_plan = panel->layout->kind == TESSERA_LAYOUT_PLAN,
    .ink = ink,
    .view = *view,
    .labels = { .width = panel->canvas.width, .height = panel->canvas.height },
    .verdict = parts,
    .moment = panel->layout == f->left ? parts : NULL,
    .bound_bytes = sheet->bound_bytes,
    .room_bytes = sheet->shows_room ? sheet->room_bytes : 0,
    .room_is_device = sheet->room_is_device,
  };
  tessera_marks_draw (&marks);
  tessera_marks_say (&marks);
  write_note (panel, &marks);
  tessera_marks_name_blocks (&marks);
}

static void
draw_title (const Panel *panel, TesseraArea area)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraFigure *f = sheet->figure;
  bool is_right = panel->layout == f->right;
  const char *title = is_right ? f->right_title : f->left_title;
  const char *subtitle = is_right ? f->right_subtitle : f->left_subtitle;
  const TesseraTextStyle bold = { 13.0, true, sheet->palette->text, TESSERA_TEXT_LEFT };
  const TesseraTextStyle dim = { 11.0, false, sheet->palette->dim, TESSERA_TEXT_LEFT };
  double width = 0.0;
  if (title != NULL)
    width =
        tessera_text_draw (sheet->cr, &bold, area.x, area.y + 13.0, area.width, title);
  if (subtitle != NULL)
    tessera_text_draw (sheet->cr, &dim, area.x + width + (width > 0.0 ? 10.0 : 0.0),
                       area.y + 13.0, area.width - width - 10.0, subtitle);
}

void
tessera_draw_panel (const TesseraSheet *sheet,
                    const TesseraLayout *layout,
                    const TesseraScene *scene,
                    TesseraArea area,
                    bool with_scale)
{
  if (with_scale)
    {
      area.x += TESSERA_SCALE_WIDTH;
      area.width -= TESSERA_SCALE_WIDTH;
    }
  const TesseraFigure *f = sheet->figure;
  const TesseraPalette *palette = sheet->palette;
  const TesseraView view = { 0.0, 1.0, 0.0, sheet->top_bytes };
  const TesseraInk ink = { sheet->colouring->block_rgb,
                           NULL,
                           palette->background,
                           palette->reserved,
                           palette->hatch,
                           palette->edge,
                           palette->missed };
  double lanes = tessera_lanes_height (f->whose->structure);
  double above = TITLE_HEIGHT + lanes + (lanes > 0.0 ? LANES_GAP : 0.0);
  Panel panel = { sheet, layout, scene, area };
  panel.canvas = (TesseraArea){ floor (area.x), floor (area.y + above),
                                floor (area.width), floor (area.height - above) };
  draw_title (&panel, area);
  draw_raster (&panel, &view, &ink);
  cairo_save (sheet->cr);
  tessera_draw_scale (sheet, panel.canvas, sheet->top_bytes, with_scale);
  cairo_rectangle (sheet->cr, panel.canvas.x, 0.0, panel.canvas.width,
                   panel.canvas.y + panel.canvas.height);
  cairo_clip (sheet->cr);
  cairo_translate (sheet->cr, panel.canvas.x, area.y + TITLE_HEIGHT);
  if (lanes > 0.0)
    tessera_lanes_draw (sheet->pen, f->whose->trace, f->whose->structure, sheet->axis,
                        &view, panel.canvas.width, f->dark);
  cairo_translate (sheet->cr, 0.0, panel.canvas.y - area.y - TITLE_HEIGHT);
  draw_marks (&panel, &view, &ink);
  cairo_restore (sheet->cr);
  tessera_pen_outline (sheet->pen, panel.canvas, 1.0, palette->frame);
}

/* ---- memory over time, below the canvases ------------------------------------- */

#define CURVES_TITLE 22.0

typedef struct
{
  const char *name;
  uint32_t rgb;
} Key;

static void
draw_keys (const TesseraSheet *sheet, double x, double y, const Key *keys, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      const TesseraTextStyle style = { 11.0, false, sheet->palette->dim,
                                       TESSERA_TEXT_LEFT };
      if (keys[i].name == NULL)
        continue;
      tessera_fill_area (sheet->cr, (TesseraArea){ x, y - 6.0, 12.0, 4.0 }, keys[i].rgb,
                         1.0);
      x += 17.0;
      x += tessera_text_draw (sheet->cr, &style, x, y, 120.0, keys[i].name) + 16.0;
    }
}

static void
draw_curves_title (const TesseraSheet *sheet, TesseraArea area)
{
  static const char *const axes[] = { "axis: bytes moved", "axis: events", "axis: time" };
  const TesseraPalette *palette = sheet->palette;
  const TesseraTextStyle bold = { 12.0, true, palette->text, TESSERA_TEXT_LEFT };
  const TesseraTextStyle dim = { 11.0, false, palette->dim, TESSERA_TEXT_RIGHT };
  double y = area.y + 13.0;
  double x =
      area.x + tessera_text_draw (sheet->cr, &bold, area.x, y, 200.0, "Memory over time");
  const Key keys[] = { { "reserved", palette->curve_reserved },
                       { "allocated", palette->curve_allocated },
                       { "live", palette->curve_live },
                       { sheet->bound_bytes > 0 ? "bound" : NULL, palette->good } };
  draw_keys (sheet, x + 22.0, y, keys, 4);
  tessera_text_draw (sheet->cr, &dim, area.x + area.width, y, 160.0,
                     axes[sheet->axis->kind]);
}

void
tessera_draw_curves (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraLayout *left = sheet->figure->left;
  area.x += TESSERA_SCALE_WIDTH;
  area.width -= TESSERA_SCALE_WIDTH;
  const TesseraArea box = { floor (area.x), floor (area.y + CURVES_TITLE),
                            floor (area.width),
                            floor (area.height - CURVES_TITLE - 4.0) };
  double top =
      fmax ((double) left->peak_reserved_bytes, (double) left->peak_active_bytes);
  top = fmax (fmax (top, (double) sheet->bound_bytes) * 1.06, 1.0);
  double bound_y = box.y + box.height * (1.0 - (double) sheet->bound_bytes / top);
  draw_curves_title (sheet, area);
  tessera_fill_area (sheet->cr, box, sheet->palette->background, 1.0);
  tessera_curves_draw (sheet->cr, box, &left->curves, sheet->axis, top,
                       (uint32_t) lround (box.width * sheet->scale), sheet->palette);
  tessera_draw_scale (sheet, box, top, true);
  if (sheet->bound_bytes > 0)
    tessera_pen_dashes (sheet->pen, (TesseraArea){ box.x, floor (bound_y), box.width, 1 },
                        6, sheet->palette->good);
  tessera_pen_outline (sheet->pen, box, 1.0, sheet->palette->frame);
}
