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

/* ---- lanes above a canvas: steps, and the two outermost levels of phases ------- */

#define STEP_HEIGHT 15.0
#define PHASE_HEIGHT 11.0
#define LANE_GAP 3.0
#define MAX_DEPTH 2u
#define LABEL_MARGIN 4.0
#define DARK_GROUND 0.5 /* below it labels are white */

static uint32_t
n_depths (const TesseraStructure *structure)
{
  uint32_t n = 0;
  for (size_t i = 0; i < structure->n_phases; i++)
    if (structure->phases[i].depth >= n && structure->phases[i].depth < MAX_DEPTH)
      n = structure->phases[i].depth + 1;
  return n;
}

/* 0 for a trace without steps and phases. */
static double
lanes_height (const TesseraStructure *structure)
{
  if (structure == NULL)
    return 0.0;
  return (structure->n_steps > 0 ? STEP_HEIGHT + LANE_GAP : 0.0) +
         n_depths (structure) * (PHASE_HEIGHT + LANE_GAP);
}

/* One stretch of a lane; its label only where all of it fits. */
static void
draw_stretch (const TesseraSheet *sheet,
              TesseraArea lane,
              uint32_t begin,
              uint32_t end,
              uint32_t rgb,
              const TesseraTextStyle *style,
              const char *label)
{
  const TesseraAxis *axis = sheet->axis;
  begin = begin < axis->n_events ? begin : axis->n_events;
  end = end < axis->n_events ? end : axis->n_events;
  if (begin >= end)
    return;
  double x0 = lane.x + axis->at[begin] * lane.width;
  double x1 = lane.x + axis->at[end] * lane.width;
  double gap = x1 - x0 > 3.0 ? 1.0 : 0.0;
  tessera_fill_area (sheet->cr, (TesseraArea){ x0, lane.y, x1 - x0 - gap, lane.height },
                     rgb, 1.0);
  double room = x1 - x0 - gap - 2.0 * LABEL_MARGIN;
  if (label[0] != '\0' && room > 0.0 &&
      tessera_text_width (sheet->cr, style, label) <= room)
    tessera_text_draw (sheet->cr, style, (x0 + x1 - gap) / 2.0,
                       lane.y + lane.height / 2.0 + style->size * 0.36, room, label);
}

static void
draw_steps (const TesseraSheet *sheet, TesseraArea lane)
{
  const TesseraStructure *structure = sheet->figure->structure;
  const TesseraTextStyle style = { 10.0, false, sheet->theme->text, TESSERA_TEXT_CENTRE };
  for (size_t i = 0; i < structure->n_steps; i++)
    {
      const TesseraStep *step = &structure->steps[i];
      char label[32];
      snprintf (label, sizeof label, "step %lld", (long long) step->number);
      draw_stretch (sheet, lane, step->begin_index, step->end_index, sheet->theme->line,
                    &style, label);
    }
}

static void
draw_phases (const TesseraSheet *sheet, TesseraArea lane, uint32_t depth)
{
  const TesseraFigure *figure = sheet->figure;
  TesseraTextStyle style = { 8.5, false, 0, TESSERA_TEXT_CENTRE };
  for (size_t i = 0; i < figure->structure->n_phases; i++)
    {
      const TesseraPhase *phase = &figure->structure->phases[i];
      if (phase->depth != depth)
        continue;
      const char *name = tessera_phase_name (figure->trace, phase);
      uint32_t rgb = tessera_colour_of_name (name, figure->dark);
      style.rgb = tessera_palette_light (rgb) < DARK_GROUND ? 0xffffff : 0x15171a;
      draw_stretch (sheet, lane, phase->begin_index, phase->end_index, rgb, &style, name);
    }
}

static void
draw_lanes (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraStructure *structure = sheet->figure->structure;
  if (structure == NULL)
    return;
  TesseraArea lane = { area.x, area.y, area.width, STEP_HEIGHT };
  if (structure->n_steps > 0)
    {
      draw_steps (sheet, lane);
      lane.y += STEP_HEIGHT + LANE_GAP;
    }
  lane.height = PHASE_HEIGHT;
  for (uint32_t depth = 0; depth < n_depths (structure); depth++)
    {
      draw_phases (sheet, lane, depth);
      lane.y += PHASE_HEIGHT + LANE_GAP;
    }
}

/* ---- a panel ------------------------------------------------------------------- */

#define TITLE_HEIGHT 24.0
#define LANES_GAP 5.0
#define MAX_MARKS 16 /* failed requests that are drawn */
#define MIN_MARK_WIDTH 7.0
#define NOTE_FROM 20 /* rows above the peak of reserved by 1 / NOTE_FROM of it */
#define NAME_SIZE 11.0
#define NAME_LINE 14.0
#define LEAST_NAME 48.0 /* wide: of less a name says nothing */
#define MAX_NAMES 60
#define LEAST_HOLE 18.0 /* pixels; smaller ones are not worth a label */

typedef struct
{
  const TesseraSheet *sheet;
  const TesseraLayout *layout;
  const TesseraScene *scene;
  TesseraArea canvas;
} Panel;

static double
y_of (const Panel *panel, double bytes)
{
  const TesseraArea *c = &panel->canvas;
  return c->y + c->height * (1.0 - bytes / panel->sheet->top_bytes);
}

static void
draw_raster (const Panel *panel)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraTheme *theme = sheet->theme;
  const TesseraArea *c = &panel->canvas;
  int width = (int) lround (c->width * sheet->scale);
  int height = (int) lround (c->height * sheet->scale);
  cairo_surface_t *surface =
      cairo_image_surface_create (CAIRO_FORMAT_RGB24, width, height);
  if (cairo_surface_status (surface) != CAIRO_STATUS_SUCCESS)
    g_error ("failed to allocate a picture of %d x %d", width, height);
  TesseraView view = { 0.0, 1.0, 0.0, sheet->top_bytes };
  TesseraInk ink = { sheet->colouring->block_rgb,
                     NULL,
                     theme->canvas,
                     theme->reserved,
                     theme->hatch,
                     theme->edge,
                     theme->missed };
  cairo_surface_flush (surface);
  tessera_scene_render (panel->scene, &view, &ink,
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

/* What blocks are called and how large they are, inside those that have the room: below each
 * other, or in a low block side by side where both fit. */
static void
draw_name (const Panel *panel, const TesseraShownBlock *shown)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraFigure *f = sheet->figure;
  uint32_t ground = sheet->colouring->block_rgb[shown->block];
  g_autofree char *name = tessera_name_block (f->whose, shown->block);
  const char *size = TESSERA_SIZE (f->blocks->blocks[shown->block].size_bytes);
  const TesseraTextStyle style = { .size = NAME_SIZE,
                                   .rgb = tessera_palette_text_on (ground),
                                   .cuts_middle = strchr (name, ' ') == NULL };
  double x = panel->canvas.x + shown->x + LABEL_MARGIN;
  double y = panel->canvas.y + shown->y;
  double room = shown->width - 2.0 * LABEL_MARGIN;
  double size_width = tessera_text_width (sheet->cr, &style, size);
  double width = tessera_text_width (sheet->cr, &style, name);
  bool is_low = shown->height < 2.0 * NAME_LINE + LABEL_MARGIN;
  if (size_width > (is_low ? room - width - NAME_SIZE : room))
    return;
  y += is_low ? (shown->height + NAME_LINE) / 2.0 - 3.0 : NAME_LINE;
  /* Stripes of what missed a plan are no ground for words. */
  if (panel->layout->pool_bytes > 0)
    tessera_fill_area (sheet->cr,
                       (TesseraArea){ x, y - NAME_SIZE,
                                      fmin (fmax (width, size_width), room),
                                      is_low ? NAME_LINE : 2.0 * NAME_LINE },
                       ground, 1.0);
  tessera_text_draw (sheet->cr, &style, x, y, room, name);
  if (is_low)
    x += width > 0.0 ? width + NAME_SIZE : 0.0;
  else
    y += width > 0.0 ? NAME_LINE : 0.0;
  tessera_text_draw (sheet->cr, &style, x, y, room, size);
}

static void
draw_names (const Panel *panel)
{
  const TesseraView view = { 0.0, 1.0, 0.0, panel->sheet->top_bytes };
  g_autoptr (GArray) found =
      tessera_scene_largest (panel->scene, &view, panel->canvas.width,
                             panel->canvas.height, LEAST_NAME, NAME_LINE, MAX_NAMES);
  for (guint i = 0; i < found->len; i++)
    draw_name (panel, &g_array_index (found, TesseraShownBlock, i));
}

/* Words on the canvas, on a ground that keeps them readable above blocks. */
G_GNUC_PRINTF (7, 8)
static void
draw_label (const Panel *panel,
            double x,
            double y,
            uint32_t rgb,
            bool is_bold,
            TesseraTextAlign align,
            const char *format,
            ...)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraTextStyle style = { 10.0, is_bold, rgb, align };
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  const TesseraArea *c = &panel->canvas;
  double room = align == TESSERA_TEXT_RIGHT ? x - c->x - 4.0 : c->x + c->width - x - 4.0;
  double width = fmin (tessera_text_width (sheet->cr, &style, text), room);
  double left = align == TESSERA_TEXT_RIGHT ? x - width : x;
  if (room <= 0.0)
    return;
  tessera_fill_area (sheet->cr, (TesseraArea){ left - 3.0, y - 10.0, width + 6.0, 14.0 },
                     sheet->theme->canvas, 0.78);
  tessera_text_draw (sheet->cr, &style, x, y, room, text);
}

static void
draw_bound (const Panel *panel)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  if (sheet->bound_bytes == 0)
    return;
  double y = floor (y_of (panel, (double) sheet->bound_bytes)) + 0.5;
  tessera_draw_bound_line (sheet, c->x, y, c->width);
  draw_label (panel, c->x + 7.0, y - 5.0, sheet->theme->green, false, TESSERA_TEXT_LEFT,
              "bound %s", TESSERA_SIZE (sheet->bound_bytes));
}

/* Of the plan that the recorded run followed: it begins at 0. */
static void
draw_pool (const Panel *panel)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  if (panel->layout->pool_bytes == 0)
    return;
  double y = fmax (floor (y_of (panel, (double) panel->layout->pool_bytes)), c->y);
  tessera_frame_area (sheet->cr, (TesseraArea){ c->x, y, c->width, c->y + c->height - y },
                      sheet->theme->live, 1.0);
  draw_label (panel, c->x + 7.0, y + 13.0, sheet->theme->live, false, TESSERA_TEXT_LEFT,
              "the plan's pool %s", TESSERA_SIZE (panel->layout->pool_bytes));
}

static void
draw_device (const Panel *panel)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  if (!sheet->shows_room)
    return;
  double y = floor (y_of (panel, (double) sheet->room_bytes));
  tessera_fill_area (sheet->cr, (TesseraArea){ c->x, y, c->width, 1.0 },
                     sheet->theme->red, 1.0);
  draw_label (panel, c->x + 7.0, y + 13.0, sheet->theme->red, false, TESSERA_TEXT_LEFT,
              "%s %s", sheet->room_is_device ? "device" : "obtainable",
              TESSERA_SIZE (sheet->room_bytes));
}

static void
draw_red_rect (const Panel *panel, double t0, double t1, double y0, double y1)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  double width = fmax ((t1 - t0) * c->width, MIN_MARK_WIDTH);
  double x = fmin (c->x + t0 * c->width, c->x + c->width - width);
  double top = fmax (y_of (panel, y1), c->y), bottom = y_of (panel, y0);
  TesseraArea area = { floor (x), floor (top), ceil (width), fmax (bottom - top, 2.0) };
  tessera_fill_area (sheet->cr, area, sheet->theme->red, 0.28);
  tessera_frame_area (sheet->cr, area, sheet->theme->red, 1.0);
}

/* A request that failed: where it happened, and its size above what was reserved. */
static void
draw_oom (const Panel *panel, const TesseraOom *oom, bool with_label)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraArea *c = &panel->canvas;
  if (oom->event_index >= sheet->axis->n_events)
    return;
  double t0 = sheet->axis->at[oom->event_index],
         t1 = sheet->axis->at[oom->event_index + 1];
  double x = fmin (floor (c->x + t0 * c->width), c->x + c->width - 1.0);
  tessera_fill_area (sheet->cr, (TesseraArea){ x, c->y, 1.0, c->height },
                     sheet->theme->red, 0.9);
  double reserved = panel->layout->curves.reserved_bytes != NULL
                        ? (double) panel->layout->curves.reserved_bytes[oom->event_index]
                        : 0.0;
  draw_red_rect (panel, t0, t1, reserved, reserved + (double) oom->size_bytes);
  if (!with_label)
    return;
  bool tells_free = oom->free_at_driver_bytes != TESSERA_NOWHERE;
  bool on_left = t0 > 0.5;
  double at = on_left ? x - 8.0 : x + 9.0 + fmax ((t1 - t0) * c->width, MIN_MARK_WIDTH);
  TesseraTextAlign align = on_left ? TESSERA_TEXT_RIGHT : TESSERA_TEXT_LEFT;
  double y =
      fmin (fmax (y_of (panel, reserved + (double) oom->size_bytes * 0.5), c->y + 34.0),
            c->y + c->height - 20.0);
  draw_label (panel, at, y, sheet->theme->red, true, align, "out of memory");
  draw_label (panel, at, y + 14.0, sheet->theme->dim, false, align, "asked %s%s%s%s",
              TESSERA_SIZE (oom->size_bytes), tells_free ? ", " : "",
              tells_free ? TESSERA_SIZE (oom->free_at_driver_bytes) : "",
              tells_free ? " free at the driver" : "");
}

/* The largest hole that the request could have used, as a bar at that moment. */
static void
draw_hole (const Panel *panel)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraVerdict *verdict = sheet->figure->verdict;
  if (verdict == NULL || panel->layout != sheet->figure->left ||
      verdict->parts.largest_hole_bytes == 0 ||
      verdict->parts.event_index >= sheet->axis->n_events)
    return;
  const TesseraParts *parts = &verdict->parts;
  uint64_t low =
      tessera_scene_y_of (panel->scene, parts->largest_hole_addr, parts->event_index);
  if (low == TESSERA_NOWHERE)
    return;
  double t = sheet->axis->at[parts->event_index];
  double x = floor (panel->canvas.x + t * panel->canvas.width);
  double bottom = y_of (panel, (double) low);
  double top = y_of (panel, (double) low + (double) parts->largest_hole_bytes);
  if (bottom - top < LEAST_HOLE)
    return;
  const TesseraArea ends[] = { { x - 6.0, floor (top) + 1.0, 6.0, 1.0 },
                               { x - 6.0, floor (bottom) - 2.0, 6.0, 1.0 },
                               { x - 4.0, floor (top) + 1.0, 2.0, bottom - top - 2.0 } };
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    tessera_fill_area (sheet->cr, ends[i], sheet->theme->text, 0.9);
  bool on_left = t > 0.35;
  draw_label (panel, on_left ? x - 13.0 : x + 10.0, floor ((top + bottom) / 2.0) + 4.0,
              sheet->theme->text, false, on_left ? TESSERA_TEXT_RIGHT : TESSERA_TEXT_LEFT,
              "largest hole %s", TESSERA_SIZE (parts->largest_hole_bytes));
}

static void
draw_marks (const Panel *panel)
{
  const TesseraLayout *layout = panel->layout;
  const TesseraBlocks *blocks = panel->sheet->figure->blocks;
  size_t first = layout->n_ooms > MAX_MARKS ? layout->n_ooms - MAX_MARKS : 0;
  for (size_t i = first; i < layout->n_ooms; i++)
    draw_oom (panel, &layout->ooms[i], i + 1 == layout->n_ooms);
  int n_marks = 0;
  for (size_t i = blocks->n_blocks; i > 0 && n_marks < MAX_MARKS; i--)
    {
      TesseraView rect; /* failed once, and has a place here */
      if ((blocks->blocks[i - 1].flags & TESSERA_FAILED) == 0 ||
          !tessera_scene_block_rect (panel->scene, (uint32_t) (i - 1), &rect))
        continue;
      draw_red_rect (panel, rect.t0, rect.t1, rect.y0, rect.y1);
      n_marks++;
    }
}

/* Reservations keep their rows when others come and go: what is drawn can be taller than
 * what was ever reserved at once, and then says so. */
static void
draw_note (const Panel *panel)
{
  uint64_t height = tessera_scene_height_bytes (panel->scene);
  uint64_t peak = panel->layout->peak_reserved_bytes;
  const TesseraArea *c = &panel->canvas;
  if (peak == 0 || height <= peak + peak / NOTE_FROM)
    return;
  draw_label (panel, c->x + c->width - 7.0, c->y + 14.0, panel->sheet->theme->dim, false,
              TESSERA_TEXT_RIGHT, "never more than %s reserved at once",
              TESSERA_SIZE (peak));
}

static void
draw_title (const Panel *panel, TesseraArea area)
{
  const TesseraSheet *sheet = panel->sheet;
  const TesseraFigure *f = sheet->figure;
  bool is_right = panel->layout == f->right;
  const char *title = is_right ? f->right_title : f->left_title;
  const char *subtitle = is_right ? f->right_subtitle : f->left_subtitle;
  const TesseraTextStyle bold = { 13.0, true, sheet->theme->text, TESSERA_TEXT_LEFT };
  const TesseraTextStyle dim = { 11.0, false, sheet->theme->dim, TESSERA_TEXT_LEFT };
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
  double lanes = lanes_height (sheet->figure->structure);
  double above = TITLE_HEIGHT + lanes + (lanes > 0.0 ? LANES_GAP - 3.0 : 0.0);
  Panel panel = { sheet, layout, scene, area };
  panel.canvas = (TesseraArea){ floor (area.x), floor (area.y + above),
                                floor (area.width), floor (area.height - above) };
  draw_title (&panel, area);
  draw_lanes (sheet, (TesseraArea){ panel.canvas.x, area.y + TITLE_HEIGHT,
                                    panel.canvas.width, lanes });
  draw_raster (&panel);
  cairo_save (sheet->cr);
  tessera_draw_scale (sheet, panel.canvas, sheet->top_bytes, with_scale);
  draw_names (&panel);
  draw_pool (&panel);
  draw_bound (&panel);
  draw_device (&panel);
  draw_marks (&panel);
  draw_hole (&panel);
  draw_note (&panel);
  tessera_frame_area (sheet->cr, panel.canvas, sheet->theme->line, 1.0);
  cairo_restore (sheet->cr);
}
