/*
 * The left column: which colour is what, and what reserved memory was made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure/private.h"

#include <math.h>
#include <stdio.h>

#define ROW 18.0
#define SWATCH 10.0
#define NAME_X (SWATCH + 9.0)
#define BAR_X 114.0 /* behind the longest name */
#define BAR_RIGHT 52.0

typedef struct
{
  const TesseraSheet *sheet;
  TesseraArea area;
  double y; /* top of the next row */
} Column;

static TesseraTextStyle
style_of (const Column *column, bool is_bold, bool is_dim, TesseraTextAlign align)
{
  const TesseraPalette *palette = column->sheet->palette;
  return (TesseraTextStyle){ 11.0, is_bold, is_dim ? palette->dim : palette->text,
                             align };
}

/* A caption with the unit of the numbers below it. */
static void
draw_caption (Column *column, const char *text, bool with_unit)
{
  const TesseraTextStyle left = style_of (column, true, false, TESSERA_TEXT_LEFT);
  const TesseraTextStyle right = style_of (column, false, true, TESSERA_TEXT_RIGHT);
  cairo_t *cr = column->sheet->cr;
  double room = column->area.width - (with_unit ? 34.0 : 0.0);
  tessera_text_draw (cr, &left, column->area.x, column->y + 13.0, room, text);
  if (with_unit)
    tessera_text_draw (cr, &right, column->area.x + column->area.width, column->y + 13.0,
                       34.0, tessera_unit_name (column->sheet));
  column->y += ROW + 4.0;
}

static void
draw_amount (const Column *column, uint64_t bytes, bool is_bold)
{
  const TesseraTextStyle style = style_of (column, is_bold, !is_bold, TESSERA_TEXT_RIGHT);
  char text[32];
  tessera_number (column->sheet, bytes, text, sizeof text);
  tessera_text_draw (column->sheet->cr, &style, column->area.x + column->area.width,
                     column->y + 13.0, BAR_RIGHT, text);
}

/* A row with no swatch (@x 0) or that of the caller; TESSERA_NOWHERE: with no number. */
static void
draw_row (Column *column, double x, const char *name, uint64_t bytes)
{
  TesseraTextStyle style = style_of (column, false, false, TESSERA_TEXT_LEFT);
  style.cuts_middle = true;
  tessera_text_draw (column->sheet->cr, &style, column->area.x + x, column->y + 13.0,
                     column->area.width - x - BAR_RIGHT, name);
  if (bytes != TESSERA_NOWHERE)
    draw_amount (column, bytes, false);
  column->y += ROW;
}

static TesseraArea
swatch_of (const Column *column)
{
  return (TesseraArea){ column->area.x, column->y + 4.0, SWATCH, SWATCH };
}

/* What the column's numbers are of. */
static const char *
moment_of (const Column *column)
{
  const TesseraFigure *f = column->sheet->figure;
  const TesseraVerdict *verdict = f->verdict;
  return verdict == NULL ? "Where most is live"
         : verdict->died ? "At the failure"
         : verdict->parts.reserved_bytes < f->left->peak_reserved_bytes
             ? "At the later peak of reserved"
             : "At the peak of reserved";
}

static void
draw_entry (Column *column, const TesseraLegendEntry *entry)
{
  tessera_fill_area (column->sheet->cr, swatch_of (column), entry->rgb, 1.0);
  draw_row (column, NAME_X, entry->name, entry->live_bytes);
}

static void
draw_hatched_swatch (const TesseraSheet *sheet, TesseraArea area, uint32_t hatch)
{
  tessera_fill_area (sheet->cr, area, sheet->palette->reserved, 1.0);
  tessera_hatch_area (sheet->cr, area, hatch);
  tessera_pen_outline (sheet->pen, area, 1.0, sheet->palette->edge);
}

static void
draw_special_entries (Column *column, const TesseraParts *parts)
{
  const TesseraSheet *sheet = column->sheet;
  if (sheet->figure->left->n_ooms > 0)
    {
      TesseraArea swatch = swatch_of (column);
      tessera_fill_area (sheet->cr, swatch, sheet->palette->bad, 0.25);
      tessera_pen_outline (sheet->pen, swatch, 1.0, sheet->palette->bad);
      draw_row (column, NAME_X, "request that failed", TESSERA_NOWHERE);
    }
  const TesseraLayout *left = sheet->figure->left;
  if (left->pool_bytes > 0 && left->n_misses > 0)
    {
      draw_hatched_swatch (sheet, swatch_of (column), sheet->palette->missed);
      draw_row (column, NAME_X, "missed the plan", left->miss_bytes);
    }
  draw_hatched_swatch (sheet, swatch_of (column), sheet->palette->hatch);
  draw_row (column, NAME_X, "reserved, free",
            parts != NULL ? tessera_parts_free_bytes (parts) : TESSERA_NOWHERE);
}

/* Whether entry @i is among the @n that hold most. */
static bool
is_among (const TesseraColouring *colouring, size_t i, size_t n)
{
  size_t n_larger = 0;
  for (size_t k = 0; k < colouring->n_entries; k++)
    n_larger +=
        colouring->entries[k].live_bytes > colouring->entries[i].live_bytes ||
        (colouring->entries[k].live_bytes == colouring->entries[i].live_bytes && k < i);
  return n_larger < n;
}

/* All entries where there is room, else those that hold most and the sum of the rest. */
static void
draw_entries (Column *column, size_t n_rows)
{
  const TesseraColouring *colouring = column->sheet->colouring;
  size_t n = colouring->n_entries <= n_rows ? colouring->n_entries : n_rows - 1;
  uint64_t rest_bytes = 0;
  char name[32];
  for (size_t i = 0; i < colouring->n_entries; i++)
    if (is_among (colouring, i, n))
      draw_entry (column, &colouring->entries[i]);
    else
      rest_bytes += colouring->entries[i].live_bytes;
  if (n == colouring->n_entries)
    return;
  snprintf (name, sizeof name, "%zu more", colouring->n_entries - n);
  draw_row (column, NAME_X, name, rest_bytes);
}

static void
draw_legend (Column *column, const TesseraParts *parts, double bottom)
{
  char caption[64];
  snprintf (caption, sizeof caption, "%s, by %s", moment_of (column),
            tessera_colour_key_name (column->sheet->colouring->key));
  draw_caption (column, caption, true);
  double room = bottom - column->y - 2.0 * ROW;
  draw_entries (column, room > ROW ? (size_t) (room / ROW) : 1);
  draw_special_entries (column, parts);
}

static void
draw_part (
    Column *column, const char *name, uint64_t bytes, uint64_t of_bytes, bool is_sum)
{
  const TesseraSheet *sheet = column->sheet;
  const TesseraTextStyle style = style_of (column, is_sum, false, TESSERA_TEXT_LEFT);
  double bar_x = fmin (BAR_X, column->area.width / 2.0);
  double room = column->area.width - bar_x - BAR_RIGHT;
  double share = of_bytes > 0 ? (double) bytes / (double) of_bytes : 0.0;
  uint32_t rgb = is_sum ? sheet->palette->dim : sheet->palette->curve_live;
  tessera_text_draw (sheet->cr, &style, column->area.x, column->y + 13.0, bar_x - 6.0,
                     name);
  TesseraArea bar = { column->area.x + bar_x, column->y + 6.0, fmax (room * share, 0.75),
                      6.0 };
  if (bytes > 0)
    tessera_fill_area (sheet->cr, bar, rgb, 1.0);
  draw_amount (column, bytes, is_sum);
  column->y += ROW;
}

#define RULE_HEIGHT 18.0
#define LEAST_HOLDERS 3.0 /* rows worth a caption */
#define MOST_HOLDERS 10u

/* Their rule, caption and sum, too. */
static double
parts_height (const TesseraParts *parts)
{
  size_t n_rows = TESSERA_N_PARTS + (parts != NULL && parts->new_segment_bytes > 0);
  return parts != NULL ? RULE_HEIGHT + ROW + 4.0 + (double) n_rows * ROW : 0.0;
}

static void
draw_rule (Column *column)
{
  TesseraArea line = { column->area.x, column->y + RULE_HEIGHT / 2.0, column->area.width,
                       1.0 };
  tessera_fill_area (column->sheet->cr, line, column->sheet->palette->frame, 1.0);
  column->y += RULE_HEIGHT;
}

/* What lay beside PyTorch's segments at that moment, where there is room to say it. */
static void
draw_facts (Column *column, const TesseraParts *parts)
{
  const struct
  {
    const char *name;
    uint64_t bytes;
  } facts[] = { { "asked", parts->request_bytes },
                { "largest hole", parts->largest_hole_bytes },
                { "free at the driver", parts->free_at_driver_bytes },
                { "not PyTorch's", parts->outside_bytes } };
  size_t n = sizeof facts / sizeof facts[0];
  if (column->y + RULE_HEIGHT + (double) n * ROW > column->area.y + column->area.height)
    return;
  draw_rule (column);
  for (size_t i = 0; i < n; i++)
    if (facts[i].bytes != TESSERA_NOWHERE && facts[i].bytes != 0)
      draw_row (column, 0.0, facts[i].name, facts[i].bytes);
}

static void
draw_parts (Column *column, const TesseraVerdict *verdict)
{
  const TesseraParts *p = &verdict->parts;
  TesseraPart rows[TESSERA_N_PARTS];
  tessera_parts_list (column->sheet->figure->whose->trace, p, rows);
  draw_rule (column);
  draw_caption (column, moment_of (column), true);
  for (size_t i = 0; i < TESSERA_N_PARTS; i++)
    if (rows[i].bytes > 0 || !rows[i].is_rare)
      draw_part (column, rows[i].name, rows[i].bytes, p->reserved_bytes, false);
  draw_part (column, "reserved", p->reserved_bytes, p->reserved_bytes, true);
}

/* The modules that hold most at the verdict's moment, by the names that `tessera info` has, where
 * the column has room for some. */
static void
draw_holders (Column *column)
{
  const TesseraFigure *f = column->sheet->figure;
  double bottom = column->area.y + column->area.height;
  double room = bottom - column->y - RULE_HEIGHT - ROW - 4.0;
  char caption[64];
  if (f->verdict == NULL || f->colour == TESSERA_COLOUR_MODULE ||
      room < LEAST_HOLDERS * ROW)
    return;
  TesseraWhose whose = *f->whose;
  whose.layout = f->left;
  g_autoptr (GArray) rows =
      tessera_owners (&whose, TESSERA_BY_MODULE, NULL, f->verdict->parts.event_index);
  if (rows->len < 2)
    return;
  draw_rule (column);
  snprintf (caption, sizeof caption, "%s, by module", moment_of (column));
  draw_caption (column, caption, true);
  for (guint i = 0; i < rows->len && i < MOST_HOLDERS && column->y + ROW <= bottom; i++)
    {
      const TesseraOwner *owner = &g_array_index (rows, TesseraOwner, i);
      draw_row (column, 0.0, owner->name, owner->bytes);
    }
}

void
tessera_draw_legend (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraVerdict *verdict = sheet->figure->verdict;
  const TesseraParts *parts = verdict != NULL ? &verdict->parts : NULL;
  Column column = { sheet, area, area.y };
  draw_legend (&column, parts, area.y + area.height - parts_height (parts) - ROW);
  if (parts != NULL)
    {
      draw_parts (&column, verdict);
      draw_facts (&column, parts);
    }
  draw_holders (&column);
}
