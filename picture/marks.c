/* Marks and names on a picture: see marks.h. SPDX-License-Identifier: Apache-2.0 */
#include "picture/marks.h"

#include "db/size-text.h"

#include <math.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------ */

#define HATCH_STEP 4.0

void
tessera_set_rgb (cairo_t *cr, uint32_t rgb, double alpha)
{
  cairo_set_source_rgba (cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                         (rgb & 255) / 255.0, alpha);
}

void
tessera_hatch_area (cairo_t *cr, TesseraArea area, uint32_t rgb)
{
  cairo_save (cr);
  cairo_rectangle (cr, area.x, area.y, area.width, area.height);
  cairo_clip (cr);
  tessera_set_rgb (cr, rgb, 1.0);
  cairo_set_line_width (cr, 1.0);
  for (double x = area.x; x < area.x + area.width + area.height; x += HATCH_STEP)
    {
      cairo_move_to (cr, x, area.y);
      cairo_line_to (cr, x - area.height, area.y + area.height);
    }
  cairo_stroke (cr);
  cairo_restore (cr);
}

void
tessera_pen_outline (TesseraPen *pen, TesseraArea area, double line, uint32_t rgb)
{
  const double x = area.x, y = area.y, width = area.width, height = area.height;

  pen->fill (pen, (TesseraArea){ x, y, width, line }, 0, rgb, 1);
  pen->fill (pen, (TesseraArea){ x, y + height - line, width, line }, 0, rgb, 1);
  pen->fill (pen, (TesseraArea){ x, y + line, line, height - 2 * line }, 0, rgb, 1);
  pen->fill (pen, (TesseraArea){ x + width - line, y + line, line, height - 2 * line }, 0,
             rgb, 1);
}

void
tessera_pen_dashes (TesseraPen *pen, TesseraArea area, double dash, uint32_t rgb)
{
  const bool across = area.width > area.height;
  const double length = across ? area.width : area.height;

  for (double at = 0; at < length; at += 2 * dash)
    {
      TesseraArea piece = area;

      *(across ? &piece.x : &piece.y) += at;
      *(across ? &piece.width : &piece.height) = fmin (dash, length - at);
      pen->fill (pen, piece, 0, rgb, 1);
    }
}

/* ---- steps of a scale ---------------------------------------------------------------- */

double
tessera_nice_step (double span, int most)
{
  double raw = span / MAX (most, 1);
  double power = pow (10, floor (log10 (raw)));
  double share = raw / power;

  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

double
tessera_nice_step_bytes (double span, int most)
{
  double raw = span / MAX (most, 1);
  double unit = 1;

  while (unit * 1024 <= raw)
    unit *= 1024;
  raw /= unit;
  /* Within a unit by tens, as people read them; what goes on into the next by parts of
   * that: 512 MiB, 1 GiB, 1.5 GiB, but no 500 MiB, 1000 MiB, 1.46 GiB. */
  if (span < 1024 * unit)
    return unit * tessera_nice_step (raw, 1);
  return unit * MAX (exp2 (ceil (log2 (raw))), 256);
}

/* ---- room for words ---------------------------------------------------------------- */

/* Air between two. */
#define GAP 2.0

void
tessera_labels_avoid (TesseraLabels *self, TesseraArea box)
{
  if (self->n_taken < TESSERA_MOST_LABELS)
    self->taken[self->n_taken++] = box;
}

static bool
is_free (const TesseraLabels *self, const TesseraArea *box)
{
  if (box->y < 0 || box->y + box->height > self->height)
    return false;
  for (unsigned i = 0; i < self->n_taken; i++)
    {
      const TesseraArea *other = &self->taken[i];

      if (box->x < other->x + other->width + GAP &&
          other->x - GAP < box->x + box->width &&
          box->y < other->y + other->height + GAP &&
          other->y - GAP < box->y + box->height)
        return false;
    }
  return true;
}

bool
tessera_labels_place (TesseraLabels *self, TesseraArea *box, double most)
{
  TesseraArea best = *box, at;
  double least = INFINITY;

  if (self->n_taken == TESSERA_MOST_LABELS)
    return false;
  best.x = fmax (fmin (best.x, self->width - best.width), 0);
  best.y = fmax (fmin (best.y, self->height - best.height), 0);
  at = best;
  const double wanted = best.y;
  if (is_free (self, &at))
    least = 0;
  /* Else the nearest free place touches one of those in the way. */
  for (unsigned i = 0; least > 0 && i < 2 * self->n_taken; i++)
    {
      const TesseraArea *r = &self->taken[i / 2];

      at.y = i % 2 == 0 ? r->y - at.height - GAP : r->y + r->height + GAP;
      const double way = fabs (at.y - wanted);
      if (way < least && way <= most && is_free (self, &at))
        {
          best = at;
          least = way;
        }
    }
  if (isinf (least))
    return false;
  *box = best;
  tessera_labels_avoid (self, best);
  return true;
}

/* ---- where things lie -------------------------------------------------------------- */

/* A mark is never smaller than this. */
#define LEAST_MARK 8.0
/* Beyond the edge: far enough for no outline to show. */
#define OUT_OF_SIGHT 20.0

bool
tessera_view_box_of (const TesseraView *view,
                     double width,
                     double height,
                     const TesseraView *rect,
                     TesseraArea *out_box)
{
  const double right = width + OUT_OF_SIGHT, bottom = height + OUT_OF_SIGHT;
  const double fx = width / (view->t1 - view->t0), fy = height / (view->y1 - view->y0);
  const double x0 = CLAMP ((rect->t0 - view->t0) * fx, -OUT_OF_SIGHT, right);
  const double x1 = CLAMP ((rect->t1 - view->t0) * fx, -OUT_OF_SIGHT, right);
  const double y0 = CLAMP ((view->y1 - rect->y1) * fy, -OUT_OF_SIGHT, bottom);
  const double y1 = CLAMP ((view->y1 - rect->y0) * fy, -OUT_OF_SIGHT, bottom);

  *out_box = (TesseraArea){ x0, y0, fmax (x1 - x0, 1), fmax (y1 - y0, 1) };
  return x1 > 0 && x0 < width && y1 > 0 && y0 < height;
}

static bool
box_of (const TesseraMarks *self, const TesseraView *rect, TesseraArea *out_box)
{
  return tessera_view_box_of (&self->view, self->labels.width, self->labels.height, rect,
                              out_box);
}

static double
t_of (const TesseraMarks *self, uint32_t event_index)
{
  return self->axis->at[MIN (event_index, self->axis->n_events)];
}

double
tessera_marks_x_of (const TesseraMarks *self, uint32_t event_index)
{
  const TesseraView *v = &self->view;

  return (t_of (self, event_index) - v->t0) / (v->t1 - v->t0) * self->labels.width;
}

double
tessera_marks_y_of (const TesseraMarks *self, double bytes)
{
  const TesseraView *v = &self->view;

  return (v->y1 - bytes) / (v->y1 - v->y0) * self->labels.height;
}

bool
tessera_marks_block_box (const TesseraMarks *self, uint32_t block, TesseraArea *out_box)
{
  TesseraView rect;

  return block != TESSERA_NONE && tessera_scene_block_rect (self->scene, block, &rect) &&
         box_of (self, &rect, out_box);
}

/* Where a line lies. Returns: whether there is one, and it is seen. */
static bool
line_of (const TesseraMarks *self, uint64_t bytes, double *out_y)
{
  *out_y = round (tessera_marks_y_of (self, (double) bytes));
  return bytes > 0 && *out_y >= 0 && *out_y <= self->labels.height;
}

/* Of the largest hole of the moment, from its segment's row at that event. Returns: whether it
 * can be seen. */
static bool
hole_box (const TesseraMarks *self, TesseraArea *out_box)
{
  const TesseraParts *parts = self->moment;

  if (parts == NULL || parts->largest_hole_bytes == 0)
    return false;
  const uint64_t low =
      tessera_scene_y_of (self->scene, parts->largest_hole_addr, parts->event_index);
  const double t = t_of (self, parts->event_index);
  const TesseraView rect = { t, t, (double) low,
                             (double) (low + parts->largest_hole_bytes) };
  if (low == TESSERA_NOWHERE || !box_of (self, &rect, out_box))
    return false;
  out_box->x -= 4;
  out_box->width = 8;
  return out_box->height >= 3;
}

/* From when some of it had memory first. */
static const TesseraSpan *
first_of_pool (const TesseraLayout *layout)
{
  for (size_t i = 0; layout->pool_bytes > 0 && i < layout->n_spans; i++)
    if (layout->spans[i].is_plan_pool)
      return &layout->spans[i];
  return NULL;
}

/* Of the pool of the plan that the recorded run followed, for as long as it did. Returns:
 * whether there is one, and it has a place. */
static bool
pool_box (const TesseraMarks *self, TesseraArea *out_box)
{
  const TesseraLayout *layout = self->layout;
  const TesseraSpan *first = first_of_pool (layout);
  const uint32_t end =
      layout->declined_index != 0 ? layout->declined_index : layout->n_events;
  uint64_t low = TESSERA_NOWHERE;

  if (first != NULL)
    low = tessera_scene_y_of (self->scene, first->addr, first->born_index);
  if (low == TESSERA_NOWHERE)
    return false;
  low -= first->addr - layout->pool_addr;
  return box_of (self,
                 &(TesseraView){ t_of (self, first->born_index), t_of (self, end),
                                 (double) low, (double) (low + layout->pool_bytes) },
                 out_box);
}

/* ---- marks ------------------------------------------------------------------------- */

/* A request that failed, at its size: where the plan has room for it, or on top of all
 * that was reserved. */
static void
draw_request (TesseraMarks *self, const TesseraOom *oom)
{
  const uint32_t event = oom->event_index, bad = self->pen->palette->bad;
  const uint64_t *reserved = self->layout->curves.reserved_bytes;
  TesseraView rect = { .t0 = t_of (self, event),
                       .t1 = t_of (self, event + 1),
                       .y0 = reserved != NULL ? (double) reserved[event] : 0.0 };
  TesseraArea box;

  rect.y1 = rect.y0 + (double) oom->size_bytes;
  if (event < self->blocks->n_events &&
      self->blocks->block_of_event[event] != TESSERA_NONE)
    (void) tessera_scene_block_rect (self->scene, self->blocks->block_of_event[event],
                                     &rect);
  if (!box_of (self, &rect, &box))
    return;
  box.width = fmax (box.width, LEAST_MARK);
  box.height = fmax (box.height, 3);
  box.x = fmin (box.x, fmax (self->labels.width - box.width, 0));
  self->pen->fill (self->pen, box, 0, bad, 0.3);
  tessera_pen_outline (self->pen, box, 1.5, bad);
}

static void
draw_failures (TesseraMarks *self)
{
  const double width = self->labels.width;
  double last_x = -INFINITY;

  for (size_t i = 0; i < self->recorded->n_ooms; i++)
    {
      const TesseraOom *oom = &self->recorded->ooms[i];
      const double x = tessera_marks_x_of (self, oom->event_index);

      if (oom->event_index >= self->axis->n_events || x > width + LEAST_MARK ||
          tessera_marks_x_of (self, oom->event_index + 1) < -LEAST_MARK)
        continue;
      draw_request (self, oom);
      if (self->is_plan || x - last_x < 2)
        continue;
      self->pen->fill (
          self->pen,
          (TesseraArea){ fmin (round (x), width - 1), 0, 1, self->labels.height }, 0,
          self->pen->palette->bad, 0.9);
      last_x = x;
    }
}

void
tessera_marks_draw (TesseraMarks *self)
{
  const TesseraPalette *palette = self->pen->palette;
  const double width = self->labels.width;
  TesseraArea box;
  double y;

  if (pool_box (self, &box))
    tessera_pen_outline (self->pen, box, 1.5, palette->accent);
  if (line_of (self, self->bound_bytes, &y))
    tessera_pen_dashes (self->pen, (TesseraArea){ 0, y - 1, width, 1 }, 6, palette->good);
  if (hole_box (self, &box))
    tessera_pen_outline (self->pen, box, 2, palette->accent);
  draw_failures (self);
  if (line_of (self, self->room_bytes, &y))
    self->pen->fill (self->pen, (TesseraArea){ 0, y - 1, width, 2 }, 0, palette->bad, 1);
}

/* ---- words ------------------------------------------------------------------------- */

/* The device and the bound are said first; what finds no room beside what was said before
 * is left out. */

/* From the edge, and from what they are about. */
#define MARGIN 7.0
/* Around words on a ground of their own. */
#define PAD 3.0
/* How far they may make way before nobody knows what they are about. */
#define MOST_WAY 60.0
/* Failures nearer to each other than this have one label. */
#define BETWEEN_FAILURES 160.0
#define SMALL 0.85

static void
measure (TesseraMarks *self, const char *text, double *out_width, double *out_height)
{
  self->pen->measure (self->pen, &(TesseraWords){ text, SMALL }, out_width, out_height);
}

bool
tessera_marks_write (TesseraMarks *self,
                     const char *text,
                     double x,
                     double y,
                     double most_way,
                     uint32_t rgb)
{
  TesseraArea box = { x - PAD, round (y), 0, 0 };

  measure (self, text, &box.width, &box.height);
  box.width += 2 * PAD;
  if (!tessera_labels_place (&self->labels, &box, most_way))
    return false;
  self->pen->fill (self->pen, box, 3, self->pen->palette->background, 0.78);
  self->pen->write (self->pen, &(TesseraWords){ text, SMALL }, box.x + PAD, box.y, rgb);
  return true;
}

/* Nothing is written across a line. */
static void
say_lines (TesseraMarks *self)
{
  const TesseraPalette *palette = self->pen->palette;
  g_autofree char *device =
      g_strdup_printf ("%s %s", self->room_is_device ? "device" : "obtainable",
                       TESSERA_SIZE (self->room_bytes));
  g_autofree char *bound = g_strdup_printf ("bound %s", TESSERA_SIZE (self->bound_bytes));
  double device_y, bound_y, width, height;
  const bool has_device = line_of (self, self->room_bytes, &device_y);
  const bool has_bound = line_of (self, self->bound_bytes, &bound_y);

  if (has_device)
    tessera_labels_avoid (&self->labels,
                          (TesseraArea){ 0, device_y - 1, self->labels.width, 1 });
  if (has_bound)
    tessera_labels_avoid (&self->labels,
                          (TesseraArea){ 0, bound_y - 1, self->labels.width, 1 });
  measure (self, device, &width, &height);
  if (has_device)
    tessera_marks_write (self, device, self->labels.width - width - MARGIN, device_y + 3,
                         MOST_WAY, palette->bad);
  if (has_bound)
    tessera_marks_write (self, bound, MARGIN, bound_y - height - 4, MOST_WAY,
                         palette->good);
}

/* Below the device's line, to the side of the mark where there is room. */
static void
say_failure (TesseraMarks *self, const TesseraOom *oom, double x)
{
  const TesseraPalette *palette = self->pen->palette;
  const bool is_verdict =
      self->verdict != NULL && self->verdict->event_index == oom->event_index;
  g_autofree char *text = g_strdup_printf (
      "asked %s%s%s", TESSERA_SIZE (oom->size_bytes), is_verdict ? ", hole " : "",
      is_verdict ? TESSERA_SIZE (self->verdict->largest_hole_bytes) : "");
  const TesseraWords title = { "✗ out of memory", 0.9, .is_bold = true };
  const TesseraWords line = { text, SMALL };
  const double room = (double) self->room_bytes;
  double w1, h1, w2, h2;

  self->pen->measure (self->pen, &title, &w1, &h1);
  self->pen->measure (self->pen, &line, &w2, &h2);
  TesseraArea box = { x, round (room > 0 ? tessera_marks_y_of (self, room) + 4 : 8),
                      fmax (w1, w2) + 12, h1 + h2 + 8 };
  bool has_line = true;

  box.x = x - box.width - 6 > 0 ? x - box.width - 6 : x + 8;
  /* Where it is too low for both lines, the title says what the mark is. */
  if (!tessera_labels_place (&self->labels, &box, self->labels.height))
    {
      has_line = false;
      box.width = w1 + 12;
      box.height = h1 + 6;
      if (!tessera_labels_place (&self->labels, &box, self->labels.height))
        return;
    }
  self->pen->fill (self->pen, box, 4, palette->background, 0.88);
  self->pen->write (self->pen, &title, box.x + 6, box.y + 3, palette->bad);
  if (has_line)
    self->pen->write (self->pen, &line, box.x + 6, box.y + 4 + h1, palette->dim);
}

/* Beside the place that a plan has for a request that failed. */
static void
say_served (TesseraMarks *self, uint32_t block)
{
  static const char text[] = "✓ fits here";
  TesseraArea box;
  double width, height;

  if (!tessera_marks_block_box (self, block, &box))
    return;
  measure (self, text, &width, &height);
  const double x = box.x - width - MARGIN;
  tessera_marks_write (self, text, x > 0 ? x : box.x + box.width + MARGIN, box.y + MARGIN,
                       MOST_WAY, self->pen->palette->good);
}

static void
say_failures (TesseraMarks *self)
{
  const TesseraLayout *layout = self->recorded;
  double last_x = -INFINITY;

  for (size_t i = 0; i < layout->n_ooms; i++)
    {
      const uint32_t event = layout->ooms[i].event_index;
      const double x = tessera_marks_x_of (self, event);

      if (x < -MARGIN || x > self->labels.width + MARGIN ||
          x - last_x <= BETWEEN_FAILURES || event >= self->blocks->n_events)
        continue;
      if (!self->is_plan)
        say_failure (self, &layout->ooms[i], x);
      else
        say_served (self, self->blocks->block_of_event[event]);
      last_x = x;
    }
}

/* In the middle of what can be seen of it. */
static void
say_hole (TesseraMarks *self)
{
  TesseraArea box;
  double width, height;

  if (!hole_box (self, &box))
    return;
  g_autofree char *text = g_strdup_printf (
      "largest hole %s", TESSERA_SIZE (self->moment->largest_hole_bytes));
  measure (self, text, &width, &height);
  const double top = fmax (box.y, 0),
               end = fmin (box.y + box.height, self->labels.height);
  const double x = box.x - width - 8;
  if (end - top > height + 4)
    tessera_marks_write (self, text, x > 0 ? x : box.x + box.width + 8,
                         (top + end - height) / 2, (end - top - height) / 2,
                         self->pen->palette->accent);
}

static void
say_pool (TesseraMarks *self)
{
  g_autofree char *text =
      g_strdup_printf ("the plan's pool %s", TESSERA_SIZE (self->layout->pool_bytes));
  TesseraArea box;
  double width, height;

  if (!pool_box (self, &box))
    return;
  measure (self, text, &width, &height);
  if (box.height > height + 8)
    tessera_marks_write (self, text,
                         fmin (box.x + box.width, self->labels.width) - width - 10,
                         box.y + 5, MOST_WAY, self->pen->palette->accent);
}

void
tessera_marks_say (TesseraMarks *self)
{
  say_lines (self);
  say_hole (self);
  say_failures (self);
  say_pool (self);
}

/* ---- names in blocks --------------------------------------------------------------- */

#define LEAST_WIDTH 48.0 /* of less a name says nothing */
#define LEAST_HEIGHT 13.0
#define EDGE 4.0 /* of the block */
/* More are no help to the eye, and cost every frame. */
#define MOST_NAMES 60

/* At the left end of what is seen of the block, else at the right, at its top or in the
 * middle. Returns: whether nothing else is said there. */
static bool
place_name (TesseraMarks *self, const TesseraShownBlock *room, TesseraArea *box)
{
  const double most = room->width - 2 * EDGE, below = (room->height - box->height) / 2;

  for (int at = 0; at < 4; at++)
    {
      box->x = room->x + EDGE + at % 2 * (most - box->width);
      box->y = room->y + (at < 2 ? fmin (below, 3) : below);
      if (tessera_labels_place (&self->labels, box, 0))
        return true;
    }
  return false;
}

/* The size below the name, which is cut where it must be; in a low block beside it, where both
 * fit. */
static void
name_block (TesseraMarks *self, const TesseraShownBlock *room)
{
  const uint32_t ground = self->ink->block_rgb[room->block];
  const uint32_t rgb = tessera_palette_text_on (ground);
  const double most = room->width - 2 * EDGE;
  g_autofree char *name = tessera_name_block (self->whose, room->block);
  char shown[256];
  /* Paths begin alike, lines of the program do not. */
  TesseraWords words = { tessera_show_text (name, shown, sizeof shown), SMALL,
                         .cuts_middle = strchr (name, ' ') == NULL };
  const TesseraWords size = { TESSERA_SIZE (self->blocks->blocks[room->block].size_bytes),
                              SMALL };
  double width, height, size_width, size_height;

  self->pen->measure (self->pen, &size, &size_width, &size_height);
  if (size_width > most)
    return;
  self->pen->measure (self->pen, &words, &width, &height);
  if (*name == '\0')
    width = height = 0;
  const bool is_low = height + size_height + EDGE > room->height && *name != '\0';
  const double gap = is_low ? size_height / 3 : 0;
  if (is_low && (width + gap + size_width > most || size_height > room->height))
    return;
  if (width > most)
    width = words.most_width = most;
  TesseraArea box = { .width =
                          is_low ? width + gap + size_width : fmax (width, size_width),
                      .height = is_low ? size_height : height + size_height };
  if (!place_name (self, room, &box))
    return;
  /* Stripes of what missed a plan are no ground for words. */
  if (self->layout->pool_bytes > 0)
    self->pen->fill (self->pen,
                     (TesseraArea){ box.x - 3, box.y, box.width + 6, box.height }, 3,
                     ground, 0.78);
  if (*name != '\0')
    self->pen->write (self->pen, &words, box.x, box.y, rgb);
  self->pen->write (self->pen, &size, box.x + (is_low ? width + gap : 0),
                    box.y + (is_low ? 0 : height), rgb);
}

void
tessera_marks_name_blocks (TesseraMarks *self)
{
  const TesseraInk *ink = self->ink;

  if (ink == NULL)
    return;
  g_autoptr (GArray) found =
      tessera_scene_largest (self->scene, &self->view, self->labels.width,
                             self->labels.height, LEAST_WIDTH, LEAST_HEIGHT, MOST_NAMES);
  for (guint i = 0; i < found->len; i++)
    {
      const TesseraShownBlock *room = &g_array_index (found, TesseraShownBlock, i);

      if ((ink->block_shown == NULL || ink->block_shown[room->block]) &&
          (ink->block_lit == NULL || ink->block_lit[room->block]))
        name_block (self, room);
    }
}
