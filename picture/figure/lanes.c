/*
 * Lanes above a canvas: steps, and the two outermost levels of phases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure/private.h"
#include "picture/palette.h"

#include <stdio.h>

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

double
tessera_lanes_height (const TesseraStructure *structure)
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

void
tessera_draw_lanes (const TesseraSheet *sheet, TesseraArea area)
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
