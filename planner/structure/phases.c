/*
 * Phases: the trace's ranges that are neither steps nor modules, nested as the file says;
 * where these cover less than half of what happens, stretches of inferred labels fill
 * the rest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"
#include "db/array.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names by which people and frameworks call the parts of a step; compared as prefixes,
 * without case. Everything nested inside one belongs to it. */
static const char *const computation_names[] = {
  "forward",   "fwd",  "backward", "bwd",  "optim", "recompute",
  "zero_grad", "eval", "valid",    "test", "loss",
};

typedef struct
{
  const TesseraTrace *trace;
  TesseraStructure *out;
  size_t cap_phases;
  uint32_t *phase_of_range;
} Build;

static bool
is_phase (const TesseraTrace *trace, const TesseraRange *range)
{
  return (range->kind == TESSERA_RANGE_PHASE || range->kind == TESSERA_RANGE_OTHER) &&
         range->begin_index < range->end_index && range->end_index <= trace->n_events;
}

static bool
is_computation (const char *name)
{
  for (size_t i = 0; i < sizeof computation_names / sizeof *computation_names; i++)
    if (strncasecmp (name, computation_names[i], strlen (computation_names[i])) == 0)
      return true;
  return false;
}

static TesseraStatus
add_phase (Build *build, const TesseraPhase *phase)
{
  TesseraStructure *out = build->out;

  if (!TESSERA_RESERVE (out->phases, build->cap_phases, out->n_phases + 1))
    return TESSERA_NO_MEMORY;
  out->phases[out->n_phases++] = *phase;
  return TESSERA_OK;
}

/* The nearest enclosing phase of range @index; ranges between may be steps or modules. */
static uint32_t
parent_phase (const Build *build, size_t index)
{
  uint32_t parent = build->trace->ranges[index].parent;

  while (parent < index && build->phase_of_range[parent] == TESSERA_NONE)
    parent = build->trace->ranges[parent].parent;
  return parent < index ? build->phase_of_range[parent] : TESSERA_NONE;
}

/* A computation phase is its own; others belong to an enclosing one, else to the
 * outermost. */
static uint32_t
main_phase (const Build *build, uint32_t index)
{
  const TesseraPhase *phase = &build->out->phases[index];
  const TesseraPhase *parent =
      phase->parent == TESSERA_NONE ? NULL : &build->out->phases[phase->parent];

  if (!parent || is_computation (tessera_phase_name (build->trace, phase)))
    return index;
  return parent->main;
}

/* Adds the phase of range @index, if it is one, or of the stretch of equal labels that
 * begins at event @begin_index. */
static TesseraStatus
add_range (Build *build, size_t index)
{
  const TesseraRange *range = &build->trace->ranges[index];
  uint32_t self = (uint32_t) build->out->n_phases;
  TesseraPhase phase = { .begin_index = range->begin_index,
                         .end_index = range->end_index,
                         .name = range->name,
                         .is_inferred = range->is_inferred };

  build->phase_of_range[index] = TESSERA_NONE;
  if (!is_phase (build->trace, range))
    return TESSERA_OK;
  phase.parent = parent_phase (build, index);
  if (phase.parent != TESSERA_NONE)
    phase.depth = build->out->phases[phase.parent].depth + 1;
  if (add_phase (build, &phase) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  build->out->phases[self].main = main_phase (build, self);
  build->phase_of_range[index] = self;
  return TESSERA_OK;
}

static TesseraStatus
add_stretch (Build *build, const char **labels, uint32_t begin_index, uint32_t end_index)
{
  TesseraPhase phase = { .begin_index = begin_index,
                         .end_index = end_index,
                         .name = TESSERA_NONE,
                         .label = labels[begin_index],
                         .parent = TESSERA_NONE,
                         .main = (uint32_t) build->out->n_phases,
                         .is_inferred = 1 };

  build->out->phases_inferred = true;
  return add_phase (build, &phase);
}

/* Ranges and stretches are each in order of their begins: merged, they stay so. @labels
 * may be NULL. */
static TesseraStatus
add_all (Build *build, const char **labels)
{
  const TesseraTrace *trace = build->trace;
  const TesseraStructure *out = build->out;
  size_t range = 0, step = 0;
  uint32_t i = 0;

  while (labels && i < trace->n_events)
    {
      uint32_t end = i + 1;

      for (; range < trace->n_ranges && trace->ranges[range].begin_index <= i; range++)
        if (add_range (build, range) != TESSERA_OK)
          return TESSERA_NO_MEMORY;
      while (step < out->n_steps && out->steps[step].begin_index <= i)
        step++;
      while (end < trace->n_events && labels[end] == labels[i] &&
             (step == out->n_steps || end < out->steps[step].begin_index))
        end++;
      if (labels[i] && add_stretch (build, labels, i, end) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      i = end;
    }
  for (; range < trace->n_ranges; range++)
    if (add_range (build, range) != TESSERA_OK)
      return TESSERA_NO_MEMORY;
  return TESSERA_OK;
}

/* Innermost: the latest begun of the phases still open. */
static TesseraStatus
assign_events (const TesseraTrace *trace, TesseraStructure *out)
{
  uint32_t *open = malloc ((out->n_phases + 1) * sizeof *open);
  size_t n_open = 0, next = 0;

  if (!open)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      for (; next < out->n_phases && out->phases[next].begin_index <= i; next++)
        open[n_open++] = (uint32_t) next;
      while (n_open && out->phases[open[n_open - 1]].end_index <= i)
        n_open--;
      out->phase_of_event[i] = n_open ? open[n_open - 1] : TESSERA_NONE;
    }
  free (open);
  return TESSERA_OK;
}

/* Whether ranges name less than half of the requests, and stacks are there to read. */
static bool
is_to_infer (const TesseraTrace *trace, const TesseraStructure *out)
{
  size_t n_requests = 0, n_named = 0, n_stacks = 0;

  for (uint32_t i = 0; i < trace->n_events; i++)
    if (tessera_is_request (&trace->events[i]))
      {
        n_requests++;
        n_named += out->phase_of_event[i] != TESSERA_NONE;
        n_stacks += trace->events[i].stack != TESSERA_NONE;
      }
  return 2 * n_named < n_requests && 10 * n_stacks >= n_requests;
}

static TesseraStatus
fill_with_inferred (Build *build)
{
  TesseraStructure *out = build->out;
  const char **labels = calloc (build->trace->n_events + 1, sizeof *labels);
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (labels)
    status = tessera_infer_labels (build->trace, labels);
  for (uint32_t i = 0; status == TESSERA_OK && i < build->trace->n_events; i++)
    if (out->phase_of_event[i] != TESSERA_NONE)
      labels[i] = NULL;
  out->n_phases = 0;
  if (status == TESSERA_OK)
    status = add_all (build, labels);
  free (labels);
  return status;
}

TesseraStatus
tessera_find_phases (const TesseraTrace *trace, TesseraStructure *structure)
{
  Build build = { .trace = trace, .out = structure };
  TesseraStatus status = TESSERA_NO_MEMORY;

  build.phase_of_range = malloc ((trace->n_ranges + 1) * sizeof *build.phase_of_range);
  structure->phase_of_event =
      malloc ((trace->n_events + 1) * sizeof *structure->phase_of_event);
  if (!build.phase_of_range || !structure->phase_of_event)
    goto out;
  status = add_all (&build, NULL);
  if (status == TESSERA_OK)
    status = assign_events (trace, structure);
  if (status == TESSERA_OK && is_to_infer (trace, structure))
    {
      status = fill_with_inferred (&build);
      if (status == TESSERA_OK)
        status = assign_events (trace, structure);
    }
out:
  free (build.phase_of_range);
  return status;
}
