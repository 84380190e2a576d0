/*
 * One sheet: what is on it and where.
 *
 *   headline, sentence                              native  expandable  plan  bound
 *   ------------------------------------------------------------------------------
 *   legend    | left title            | right title
 *             | steps, phases         | steps, phases
 *   parts     | canvas                | canvas
 *             | memory over time
 *   where it came from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/plan.h"
#include "db/size-text.h"
#include "picture/figure/private.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the head: one sentence and four numbers ----------------------------------- */

#define NUMBER_WIDTH 112.0
#define NUMBER_GAP 10.0
#define HEAD_GAP 30.0
#define SENTENCE_Y 54.0 /* baseline of its first line */
#define LINE_HEIGHT 17.0
#define MAX_SENTENCE_LINES 4
#define MAX_FILLING_LINES 2
#define FIRST_LABEL "smallest device: native"
#define LEAST_HEADLINE 14.0

typedef struct
{
  const char *label;
  uint64_t bytes;
  uint32_t rgb;
} Number;

static void
draw_number (
    const TesseraSheet *sheet, const Number *number, double x, double y, double width)
{
  const TesseraTextStyle label = { 10.5, false, sheet->palette->dim, TESSERA_TEXT_LEFT };
  const TesseraTextStyle value = { 17.0, true, number->rgb, TESSERA_TEXT_LEFT };
  char text[32] = "\xe2\x80\x93";
  if (number->bytes > 0)
    tessera_format_bytes (number->bytes, text, sizeof text);
  tessera_text_draw (sheet->cr, &label, x, y, width, number->label);
  tessera_text_draw (sheet->cr, &value, x, y + 22.0, width, text);
  /* Red and green are not all that tells them apart. */
  if (number->rgb == sheet->palette->bad || number->rgb == sheet->palette->good)
    tessera_text_draw (sheet->cr, &label, x, y + 37.0, width,
                       number->rgb == sheet->palette->bad ? "does not fit" : "fits");
}

/* What a policy needs is red where the device does not have it, and green where it does
 * while PyTorch's own way would not fit. */
static uint32_t
verdict_rgb (const TesseraSheet *sheet, uint64_t bytes)
{
  uint64_t device = sheet->room_bytes;
  uint64_t native = sheet->figure->needs->native_bytes;
  if (device == 0 || bytes == 0)
    return sheet->palette->text;
  if (bytes > device)
    return sheet->palette->bad;
  return native > device ? sheet->palette->good : sheet->palette->text;
}

static const TesseraTextStyle label_style = { 10.5, false, 0, TESSERA_TEXT_LEFT };

static double
first_width (const TesseraSheet *sheet)
{
  return fmax (ceil (tessera_text_width (sheet->cr, &label_style, FIRST_LABEL)) + 1.0,
               NUMBER_WIDTH);
}

/* What the numbers take, the room between them and the sentence included. */
static double
numbers_width (const TesseraSheet *sheet)
{
  if (sheet->figure->needs == NULL)
    return 0.0;
  return first_width (sheet) + 3.0 * (NUMBER_WIDTH + NUMBER_GAP) + HEAD_GAP;
}

static void
draw_numbers (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraNeeds *needs = sheet->figure->needs;
  if (needs == NULL)
    return;
  const Number numbers[] = {
    { FIRST_LABEL, needs->native_bytes, verdict_rgb (sheet, needs->native_bytes) },
    { "expandable", needs->expandable_bytes,
      verdict_rgb (sheet, needs->expandable_bytes) },
    { "plan", needs->plan_bytes, verdict_rgb (sheet, needs->plan_bytes) },
    { "bound", sheet->bound_bytes, sheet->palette->dim }
  };
  double x = area.x + area.width - numbers_width (sheet) + HEAD_GAP;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    {
      double room = i == 0 ? first_width (sheet) : NUMBER_WIDTH;
      draw_number (sheet, &numbers[i], x, area.y + 36.0, room);
      x += room + NUMBER_GAP;
    }
}

static const TesseraTextStyle sentence_style = { 12.0, false, 0, TESSERA_TEXT_LEFT };

static double
head_height (const TesseraSheet *sheet, double width)
{
  const TesseraFigure *f = sheet->figure;
  double room = width - numbers_width (sheet);
  int n_lines = 2;
  if (f->verdict != NULL)
    n_lines = tessera_text_wrap (sheet->cr, &sentence_style, 0, 0, room, 0,
                                 MAX_SENTENCE_LINES, f->verdict->sentence);
  if (f->filling != NULL)
    n_lines += tessera_text_wrap (sheet->cr, &sentence_style, 0, 0, room, 0,
                                  MAX_FILLING_LINES, f->filling);
  return SENTENCE_Y + LINE_HEIGHT * (n_lines > 2 ? n_lines - 1 : 1) + 15.0;
}

static void
draw_head (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraVerdict *verdict = sheet->figure->verdict;
  TesseraTextStyle headline = { 19.0, true, sheet->palette->text, TESSERA_TEXT_LEFT };
  TesseraTextStyle sentence = sentence_style;
  double room = area.width - numbers_width (sheet), y = area.y + SENTENCE_Y;
  draw_numbers (sheet, area);
  if (verdict == NULL)
    return;
  while (headline.size > LEAST_HEADLINE &&
         tessera_text_width (sheet->cr, &headline, verdict->headline) > room)
    headline.size -= 1.0;
  tessera_text_draw (sheet->cr, &headline, area.x, area.y + 33.0, room,
                     verdict->headline);
  sentence.rgb = sheet->palette->text;
  if (sheet->figure->filling != NULL)
    y += LINE_HEIGHT * tessera_text_wrap (sheet->cr, &sentence, area.x, y, room,
                                          LINE_HEIGHT, MAX_FILLING_LINES,
                                          sheet->figure->filling);
  sentence.rgb = sheet->palette->dim;
  tessera_text_wrap (sheet->cr, &sentence, area.x, y, room, LINE_HEIGHT,
                     MAX_SENTENCE_LINES, verdict->sentence);
}

/* ---- the sheet ----------------------------------------------------------------- */

#define MARGIN 20.0
#define LEGEND_SHARE 0.165
#define LEGEND_LEAST 190.0
#define LEGEND_MOST 264.0
#define GAP 14.0
#define FOOT_HEIGHT 22.0
#define MIN_WIDTH 560.0
#define MIN_HEIGHT 400.0
#define DEVICE_IN_SIGHT 1.6 /* a device larger than this times all else is left out */
#define ROOM_ABOVE 1.03

static void
find_top (TesseraSheet *sheet)
{
  const TesseraFigure *figure = sheet->figure;
  sheet->bound_bytes = figure->needs != NULL ? figure->needs->bound_bytes : 0;
  if (sheet->bound_bytes == 0 && figure->plan != NULL)
    sheet->bound_bytes = figure->plan->bound_bytes;
  sheet->bound_bytes = tessera_plan_shown_bound (
      figure->plan, sheet->bound_bytes,
      figure->needs != NULL ? tessera_needs_pytorch (figure->needs) : 0);
  double top = tessera_scene_top_bytes (sheet->left);
  if (sheet->right != NULL)
    top = fmax (top, tessera_scene_top_bytes (sheet->right));
  top = fmax (top, (double) sheet->bound_bytes);
  sheet->room_bytes =
      tessera_room_bytes (figure->whose->trace, figure->left, &sheet->room_is_device);
  double room = (double) sheet->room_bytes;
  sheet->shows_room = room > 0.0 && room <= top * DEVICE_IN_SIGHT;
  if (sheet->shows_room)
    top = fmax (top, room);
  sheet->top_bytes = top > 0.0 ? top * ROOM_ABOVE : 1.0;
}

/* Legends tell of the verdict's moment, as the parts below them do. */
static void
count_live (const TesseraFigure *f, TesseraColouring *colouring)
{
  uint64_t live_bytes[TESSERA_MAX_LEGEND_ENTRIES];
  if (f->verdict == NULL)
    return;
  tessera_colouring_live_at (colouring, f->blocks, f->left, f->verdict->parts.event_index,
                             live_bytes);
  for (size_t i = 0; i < colouring->n_entries; i++)
    colouring->entries[i].live_bytes = live_bytes[i];
}

static void
sheet_init (TesseraSheet *sheet)
{
  const TesseraFigure *f = sheet->figure;
  sheet->colouring = tessera_colouring_new (f->whose, f->blocks, f->groups, f->n_groups,
                                            f->colour, f->dark);
  sheet->axis = tessera_axis_new (f->whose->trace, f->blocks, f->axis);
  sheet->left = tessera_scene_new (f->blocks, f->left, sheet->axis);
  if (f->right != NULL)
    sheet->right = tessera_scene_new (f->blocks, f->right, sheet->axis);
  count_live (f, sheet->colouring);
  find_top (sheet);
}

static void
sheet_clear (TesseraSheet *sheet)
{
  tessera_scene_free (sheet->left);
  tessera_scene_free (sheet->right);
  tessera_colouring_free (sheet->colouring);
  tessera_axis_free (sheet->axis);
}

static void
draw_foot (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraFigure *f = sheet->figure;
  const TesseraTextStyle dim = { 10.5, false, sheet->palette->dim, TESSERA_TEXT_LEFT };
  char text[400], device[32] = "", blocks[32], events[32];
  if (f->whose->trace->device_bytes > 0)
    tessera_format_bytes (f->whose->trace->device_bytes, device, sizeof device);
  snprintf (text, sizeof text, "%.200s \xc2\xb7 %s blocks \xc2\xb7 %s events%s%s",
            f->whose->trace->source != NULL ? f->whose->trace->source : "trace",
            tessera_format_count (f->blocks->n_blocks, blocks, sizeof blocks),
            tessera_format_count (f->blocks->n_events, events, sizeof events),
            device[0] != '\0' ? " \xc2\xb7 device " : "", device);
  tessera_text_draw (sheet->cr, &dim, area.x, area.y + 15.0, area.width, text);
}

/* Both canvases, side by side or one above the other. */
static void
draw_panels (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraFigure *f = sheet->figure;
  TesseraArea left = area, right = area;
  if (sheet->right != NULL && f->stacked)
    {
      left.height = floor ((area.height - GAP) / 2.0);
      right.y += left.height + GAP;
      right.height = area.height - left.height - GAP;
    }
  else if (sheet->right != NULL)
    {
      double canvas = floor ((area.width - TESSERA_SCALE_WIDTH - GAP) / 2.0);
      left.width = canvas + TESSERA_SCALE_WIDTH;
      right.x += left.width + GAP;
      right.width = canvas;
    }
  tessera_draw_panel (sheet, f->left, sheet->left, left, true);
  if (sheet->right != NULL)
    tessera_draw_panel (sheet, f->right, sheet->right, right, f->stacked);
}

static void
draw_sheet (const TesseraSheet *sheet, double width, double height)
{
  cairo_t *cr = sheet->cr;
  double inner = width - 2.0 * MARGIN, below = head_height (sheet, inner);
  double curves = floor (height * 0.16 < 96.0 ? 96.0 : height * 0.16);
  double legend = floor (fmin (fmax (width * LEGEND_SHARE, LEGEND_LEAST), LEGEND_MOST));
  double right_x = MARGIN + legend + GAP, right_width = width - MARGIN - right_x;
  double foot_y = height - FOOT_HEIGHT - 4.0, curves_y = floor (foot_y - curves);
  tessera_fill_area (cr, (TesseraArea){ 0, 0, width, height }, sheet->palette->sheet,
                     1.0);
  draw_head (sheet, (TesseraArea){ MARGIN, 0, inner, below });
  tessera_fill_area (cr, (TesseraArea){ 0, below, width, 1 }, sheet->palette->frame, 1.0);
  tessera_draw_legend (
      sheet, (TesseraArea){ MARGIN, below + 12.0, legend - 8.0, foot_y - below - 12.0 });
  draw_panels (sheet, (TesseraArea){ right_x, below + 10.0, right_width,
                                     curves_y - below - 10.0 - GAP });
  tessera_draw_curves (sheet, (TesseraArea){ right_x, curves_y, right_width, curves });
  draw_foot (sheet, (TesseraArea){ right_x + TESSERA_SCALE_WIDTH, foot_y,
                                   right_width - TESSERA_SCALE_WIDTH, FOOT_HEIGHT });
}

TesseraStatus
tessera_figure_draw (const TesseraFigure *figure,
                     cairo_t *cr,
                     double width,
                     double height,
                     double scale,
                     TesseraError *error)
{
  if (!(width >= MIN_WIDTH && height >= MIN_HEIGHT && scale > 0.0 &&
        width * scale < 32768.0 && height * scale < 32768.0))
    return tessera_fail (
        error, TESSERA_INVALID,
        "A picture of %.0f x %.0f at scale %g can't be drawn: it needs at "
        "least %.0f x %.0f, and at most 32,767 pixels each way.",
        width, height, scale, MIN_WIDTH, MIN_HEIGHT);
  TesseraSheetPen pen = tessera_sheet_pen (cr, tessera_palette (figure->dark));
  TesseraSheet sheet = { .figure = figure,
                         .pen = &pen.base,
                         .palette = tessera_palette (figure->dark),
                         .cr = cr,
                         .scale = scale };
  cairo_save (cr);
  tessera_text_prepare (cr);
  sheet_init (&sheet);
  draw_sheet (&sheet, width, height);
  cairo_restore (cr);
  sheet_clear (&sheet);
  if (cairo_status (cr) != CAIRO_STATUS_SUCCESS)
    return tessera_fail (error, TESSERA_IO, "The picture could not be drawn: %s.",
                         cairo_status_to_string (cairo_status (cr)));
  return TESSERA_OK;
}
