/*
 * The head of a sheet: one sentence and four numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure/private.h"

#include <math.h>

#include "db/size-text.h"

#define NUMBER_WIDTH 112.0
#define NUMBER_GAP 10.0
#define HEAD_GAP 30.0
#define SENTENCE_Y 54.0 /* baseline of its first line */
#define LINE_HEIGHT 17.0
#define MAX_SENTENCE_LINES 4
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
  const TesseraTextStyle label = { 10.5, false, sheet->theme->dim, TESSERA_TEXT_LEFT };
  const TesseraTextStyle value = { 17.0, true, number->rgb, TESSERA_TEXT_LEFT };
  char text[32] = "\xe2\x80\x93";
  if (number->bytes > 0)
    tessera_format_bytes (number->bytes, text, sizeof text);
  tessera_text_draw (sheet->cr, &label, x, y, width, number->label);
  tessera_text_draw (sheet->cr, &value, x, y + 22.0, width, text);
}

/* What a policy needs is red where the device does not have it, and green where it does
 * while PyTorch's own way would not fit. */
static uint32_t
verdict_rgb (const TesseraSheet *sheet, uint64_t bytes)
{
  uint64_t device = sheet->room_bytes;
  uint64_t native = sheet->figure->needs->native_bytes;
  if (device == 0 || bytes == 0)
    return sheet->theme->text;
  if (bytes > device)
    return sheet->theme->red;
  return native > device ? sheet->theme->green : sheet->theme->text;
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
    { "bound", sheet->bound_bytes, sheet->theme->dim }
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

double
tessera_head_height (const TesseraSheet *sheet, double width)
{
  const TesseraVerdict *verdict = sheet->figure->verdict;
  int n_lines = 2;
  if (verdict != NULL)
    n_lines =
        tessera_text_lines (sheet->cr, &sentence_style, width - numbers_width (sheet),
                            MAX_SENTENCE_LINES, verdict->sentence);
  return SENTENCE_Y + LINE_HEIGHT * (n_lines > 2 ? n_lines - 1 : 1) + 15.0;
}

void
tessera_draw_head (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraVerdict *verdict = sheet->figure->verdict;
  TesseraTextStyle headline = { 19.0, true, sheet->theme->text, TESSERA_TEXT_LEFT };
  TesseraTextStyle sentence = sentence_style;
  double room = area.width - numbers_width (sheet);
  draw_numbers (sheet, area);
  if (verdict == NULL)
    return;
  while (headline.size > LEAST_HEADLINE &&
         tessera_text_width (sheet->cr, &headline, verdict->headline) > room)
    headline.size -= 1.0;
  sentence.rgb = sheet->theme->dim;
  tessera_text_draw (sheet->cr, &headline, area.x, area.y + 33.0, room,
                     verdict->headline);
  tessera_text_wrap (sheet->cr, &sentence, area.x, area.y + SENTENCE_Y, room, LINE_HEIGHT,
                     MAX_SENTENCE_LINES, verdict->sentence);
}
