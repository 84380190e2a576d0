/*
 * The head of a sheet: one sentence and four numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure-private.h"

#include <math.h>

#define NUMBER_WIDTH 112.0
#define NUMBER_GAP 10.0

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
  uint64_t device = sheet->figure->trace->device_bytes;
  uint64_t native = sheet->figure->needs->native_bytes;
  if (device == 0 || bytes == 0)
    return sheet->theme->text;
  if (bytes > device)
    return sheet->theme->red;
  return native > device ? sheet->theme->green : sheet->theme->text;
}

static double
draw_numbers (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraNeeds *needs = sheet->figure->needs;
  if (needs == NULL)
    return 0.0;
  const Number numbers[] = { { "smallest device: native", needs->native_bytes,
                               verdict_rgb (sheet, needs->native_bytes) },
                             { "expandable", needs->expandable_bytes,
                               verdict_rgb (sheet, needs->expandable_bytes) },
                             { "plan", needs->plan_bytes,
                               verdict_rgb (sheet, needs->plan_bytes) },
                             { "bound", sheet->bound_bytes, sheet->theme->dim } };
  const TesseraTextStyle label = { 10.5, false, 0, TESSERA_TEXT_LEFT };
  double first = ceil (tessera_text_width (sheet->cr, &label, numbers[0].label)) + 1.0;
  first = first > NUMBER_WIDTH ? first : NUMBER_WIDTH;
  double width = first + 3.0 * (NUMBER_WIDTH + NUMBER_GAP);
  double x = area.x + area.width - width;
  for (size_t i = 0; i < 4; i++)
    {
      double room = i == 0 ? first : NUMBER_WIDTH;
      draw_number (sheet, &numbers[i], x, area.y + 36.0, room);
      x += room + NUMBER_GAP;
    }
  return width + 3.0 * NUMBER_GAP;
}

void
tessera_draw_head (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraVerdict *verdict = sheet->figure->verdict;
  const TesseraTextStyle headline = { 19.0, true, sheet->theme->text, TESSERA_TEXT_LEFT };
  const TesseraTextStyle sentence = { 12.0, false, sheet->theme->dim, TESSERA_TEXT_LEFT };
  double room = area.width - draw_numbers (sheet, area);
  if (verdict == NULL)
    return;
  tessera_text_draw (sheet->cr, &headline, area.x, area.y + 33.0, room,
                     verdict->headline);
  tessera_text_wrap (sheet->cr, &sentence, area.x, area.y + 54.0, room, 17.0, 2,
                     verdict->sentence);
}
