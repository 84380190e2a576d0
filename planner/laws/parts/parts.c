/*
 * Parts of steps: see parts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/parts/parts.h"

#include <stdlib.h>
#include <string.h>

#include "db/lengths.h"

enum
{
  MAX_NAMES = 8 /* of phases that are tried, in the order in which they come */
};

/* The bare name of the phase at the event; NULL: none. */
static const char *
name_at (const TesseraTrace *trace, const TesseraStructure *structure, uint32_t event)
{
  uint32_t phase = structure->phase_of_event[event];

  if (phase == TESSERA_NONE)
    return NULL;
  return tessera_bare_phase (tessera_phase_name (trace, &structure->phases[phase]));
}

/* Cuts of the step, each the first event of a part but the first; at most @most are
 * stored. Returns: how many there are. */
static size_t
cut_step (const TesseraTrace *trace,
          const TesseraStructure *structure,
          const TesseraStep *step,
          const char *name,
          TesseraStep *out_parts,
          size_t most)
{
  TesseraCutter cutter = { .phase = name };
  uint32_t phase = TESSERA_NONE;
  size_t n = 0;

  for (uint32_t e = step->begin_index; e < step->end_index; e++)
    {
      if (structure->phase_of_event[e] == phase)
        continue;
      phase = structure->phase_of_event[e];
      if (!tessera_cutter_see (&cutter, name_at (trace, structure, e)))
        continue;
      if (n < most)
        out_parts[n] = (TesseraStep){ .begin_index = e, .number = step->number };
      n++;
    }
  return n;
}

/* The first phase that comes again in some step, after others. Returns: NULL: none. */
static const char *
find_name (const TesseraTrace *trace, const TesseraStructure *structure, size_t *out_n)
{
  const TesseraStep *last = &structure->steps[structure->n_steps - 1];
  const char *tried[MAX_NAMES];
  size_t n_tried = 0;

  for (uint32_t e = last->begin_index; e < last->end_index && n_tried < MAX_NAMES; e++)
    {
      const char *name = name_at (trace, structure, e);
      size_t i = 0;

      while (name && i < n_tried && strcmp (tried[i], name) != 0)
        i++;
      if (!name || i < n_tried)
        continue;
      tried[n_tried++] = name;
      *out_n = 0;
      for (size_t k = 0; k < structure->n_steps; k++)
        *out_n += cut_step (trace, structure, &structure->steps[k], name, NULL, 0);
      if (*out_n > 0)
        return name;
    }
  return NULL;
}

/* What is asked for between a step's end and the next one's begin (an evaluation) is of
 * no part of the step: its sizes follow other batches. */
static void
add_between (TesseraStepParts *parts,
             const TesseraTrace *trace,
             const TesseraStructure *whole,
             size_t step)
{
  TesseraStructure *out = &parts->structure;
  uint32_t e = whole->steps[step].end_index;
  uint32_t end = step + 1 < whole->n_steps ? whole->steps[step + 1].begin_index
                                           : (uint32_t) trace->n_events;

  while (e < end && trace->events[e].action != TESSERA_ALLOC)
    e++;
  if (e >= end)
    return;
  parts->step_of[out->n_steps] = (uint32_t) whole->n_steps;
  out->steps[out->n_steps++] = (TesseraStep){
    .begin_index = whole->steps[step].end_index,
    .end_index = end,
    .number = whole->steps[step].number,
  };
}

/* Each step as its parts, one behind the other. */
static TesseraStatus
make_parts (TesseraStepParts *parts,
            const TesseraTrace *trace,
            const TesseraStructure *whole,
            size_t n_cuts)
{
  TesseraStructure *out = &parts->structure;
  size_t n_all = 2 * whole->n_steps + n_cuts;

  out->steps = calloc (n_all + 1, sizeof *out->steps);
  parts->step_of = calloc (n_all + 1, sizeof *parts->step_of);
  if (!out->steps || !parts->step_of)
    return TESSERA_NO_MEMORY;
  for (size_t k = 0; k < whole->n_steps; k++)
    {
      const TesseraStep *step = &whole->steps[k];
      size_t first = out->n_steps;

      out->steps[out->n_steps++] = *step;
      out->n_steps += cut_step (trace, whole, step, parts->phase,
                                &out->steps[out->n_steps], n_all - out->n_steps);
      for (size_t i = first; i < out->n_steps; i++)
        {
          parts->step_of[i] = (uint32_t) k;
          out->steps[i].end_index =
              i + 1 < out->n_steps ? out->steps[i + 1].begin_index : step->end_index;
        }
      add_between (parts, trace, whole, k);
    }
  return TESSERA_OK;
}

/* Phases by their bare names, so that equal parts look equal. */
static TesseraStatus
bare_phases (TesseraStepParts *parts,
             const TesseraTrace *trace,
             const TesseraStructure *of)
{
  TesseraStructure *out = &parts->structure;

  out->phases = malloc ((of->n_phases + 1) * sizeof *out->phases);
  if (!out->phases)
    return TESSERA_NO_MEMORY;
  memcpy (out->phases, of->phases, of->n_phases * sizeof *out->phases);
  for (size_t i = 0; i < out->n_phases; i++)
    out->phases[i].label =
        tessera_bare_phase (tessera_phase_name (trace, &of->phases[i]));
  return TESSERA_OK;
}

TesseraStatus
tessera_step_parts_init (TesseraStepParts *parts,
                         const TesseraTrace *trace,
                         const TesseraStructure *structure)
{
  size_t n_cuts = 0;
  TesseraStatus status;

  *parts = (TesseraStepParts){ .whole = structure };
  if (structure->steps_from != TESSERA_STEPS_ANNOTATED || structure->phases_inferred ||
      !structure->phase_of_event || structure->n_steps == 0)
    return TESSERA_OK;
  parts->phase = find_name (trace, structure, &n_cuts);
  if (!parts->phase)
    return TESSERA_OK;
  parts->structure = *structure;
  parts->structure.steps = NULL;
  parts->structure.n_steps = 0;
  parts->structure.phases = NULL;
  status = make_parts (parts, trace, structure, n_cuts);
  if (status == TESSERA_OK)
    status = bare_phases (parts, trace, structure);
  if (status != TESSERA_OK)
    tessera_step_parts_clear (parts);
  return status;
}

void
tessera_step_parts_clear (TesseraStepParts *parts)
{
  free (parts->structure.steps);
  free (parts->structure.phases);
  free (parts->step_of);
  memset (parts, 0, sizeof *parts);
}
