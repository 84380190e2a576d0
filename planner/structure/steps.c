/*
 * What a program does: its steps here, phases and lifetime classes in files of their own.
 *
 * Steps from what the file says: ranges that are steps, else the ends of optimizer steps;
 * else repeat.c looks for a repetition.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* After an optimizer's step, a zero_grad that follows within so many events belongs to
 * the same step. */
#define ZERO_GRAD_REACH 64

/* More optimizers than a program has; the search stays linear whatever a file says. */
#define MAX_OPTIMIZERS 16

/* @structure: with room for it. */
static void
add_step (TesseraStructure *structure, uint32_t begin_index, uint32_t end_index)
{
  size_t n = structure->n_steps++;

  structure->steps[n] = (TesseraStep){ .begin_index = begin_index,
                                       .end_index = end_index,
                                       .number = (int64_t) n };
}

/* The number a step's name ends with ("step 12", "ProfilerStep#12"), or -1. */
static int64_t
number_in (const char *name)
{
  size_t n = strlen (name), first = n;
  int64_t number = 0;

  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
    first--;
  if (first == n || n - first > 15)
    return -1;
  for (size_t i = first; i < n; i++)
    number = 10 * number + (name[i] - '0');
  return number;
}

static bool
is_in_step (const TesseraTrace *trace, const TesseraRange *range)
{
  uint32_t parent = range->parent;

  while (parent < trace->n_ranges)
    {
      if (trace->ranges[parent].kind == TESSERA_RANGE_STEP)
        return true;
      parent = trace->ranges[parent].parent;
    }
  return false;
}

/* A range that is a step of its own, behind those found so far. */
static bool
is_next_step (const TesseraTrace *trace,
              const TesseraStructure *structure,
              const TesseraRange *range)
{
  return range->kind == TESSERA_RANGE_STEP && range->end_index >= range->begin_index &&
         range->end_index <= trace->n_events && !is_in_step (trace, range) &&
         (structure->n_steps == 0 ||
          range->begin_index >= structure->steps[structure->n_steps - 1].end_index);
}

/* Keeps the steps in which anything happened. By their numbers, one that is begun twice
 * (an evaluation came before its first work, or the program ended) is what was done the
 * second time. */
static void
keep_done (TesseraStructure *structure, bool are_numbered)
{
  TesseraStep *steps = structure->steps;
  size_t n = 0;

  for (size_t i = 0; i < structure->n_steps; i++)
    if (steps[i].begin_index < steps[i].end_index &&
        !(are_numbered && i + 1 < structure->n_steps &&
          steps[i].number == steps[i + 1].number))
      steps[n++] = steps[i];
  structure->n_steps = n;
}

/* Steps keep the numbers of their names when these rise. */
static void
steps_from_ranges (const TesseraTrace *trace, TesseraStructure *structure)
{
  bool are_numbered = true, do_rise = false;
  int64_t last = -1;

  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      const TesseraRange *range = &trace->ranges[i];
      int64_t number = number_in (tessera_trace_string (trace, range->name));

      if (!is_next_step (trace, structure, range))
        continue;
      add_step (structure, range->begin_index, range->end_index);
      are_numbered = are_numbered && number >= 0 && number >= last;
      do_rise = do_rise || (structure->n_steps > 1 && number > last);
      last = number;
      structure->steps[structure->n_steps - 1].number = number;
    }
  keep_done (structure, are_numbered && do_rise);
  if (!are_numbered || (!do_rise && structure->n_steps > 1))
    for (size_t i = 0; i < structure->n_steps; i++)
      structure->steps[i].number = (int64_t) i;
}

/* Where several optimizers take turns, the one whose first step comes last ends the
 * training step; of unequal counts the larger is the truer clock. */
static uint32_t
clock_name (const TesseraTrace *trace)
{
  uint32_t names[MAX_OPTIMIZERS], best = TESSERA_NONE;
  size_t counts[MAX_OPTIMIZERS], n_names = 0, best_count = 0;

  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      uint32_t name = trace->ranges[i].name;
      size_t k = 0;

      if (!g_str_has_prefix (tessera_trace_string (trace, name), "Optimizer.step#"))
        continue;
      while (k < n_names && names[k] != name)
        k++;
      if (k == MAX_OPTIMIZERS)
        continue;
      if (k == n_names)
        {
          names[n_names] = name;
          counts[n_names++] = 0;
        }
      counts[k]++;
    }
  for (size_t k = 0; k < n_names; k++)
    if (counts[k] >= best_count)
      {
        best = names[k];
        best_count = counts[k];
      }
  return best;
}

/* The end of a zero_grad that follows range @index closely, else @end_index. */
static uint32_t
after_zero_grad (const TesseraTrace *trace, size_t index, uint32_t end_index)
{
  for (size_t k = index + 1; k < trace->n_ranges && k <= index + MAX_OPTIMIZERS; k++)
    {
      const TesseraRange *next = &trace->ranges[k];

      if (next->begin_index > (uint64_t) end_index + ZERO_GRAD_REACH)
        break;
      if (next->begin_index >= end_index && next->end_index >= end_index &&
          next->end_index <= trace->n_events &&
          g_str_has_prefix (tessera_trace_string (trace, next->name),
                            "Optimizer.zero_grad#"))
        return next->end_index;
    }
  return end_index;
}

static void
steps_from_optimizer (const TesseraTrace *trace, TesseraStructure *structure)
{
  uint32_t name = clock_name (trace), begin_index = 0;

  for (size_t i = 0; name != TESSERA_NONE && i < trace->n_ranges; i++)
    {
      uint32_t end_index = trace->ranges[i].end_index;

      if (trace->ranges[i].name != name || end_index <= begin_index ||
          end_index > trace->n_events)
        continue;
      end_index = after_zero_grad (trace, i, end_index);
      add_step (structure, begin_index, end_index);
      begin_index = end_index;
    }
}

static uint64_t
signature (const TesseraTrace *trace, uint32_t begin_index, uint32_t end_index)
{
  uint64_t hash = TESSERA_FNV_BASIS;

  for (uint32_t i = begin_index; i < end_index; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      if (!tessera_is_request (event))
        continue;
      hash = tessera_mix (hash, event->action);
      hash = tessera_mix (hash, event->size_bytes);
      hash = tessera_mix (hash, ((uint64_t) event->stream << 16) | event->pool);
    }
  return hash;
}

/* Kinds are numbered in the order of their first steps. */
static void
sign_steps (const TesseraTrace *trace, TesseraStructure *structure)
{
  g_autoptr (GHashTable) kinds = g_hash_table_new (g_int64_hash, g_int64_equal);

  for (size_t i = 0; i < structure->n_steps; i++)
    {
      TesseraStep *step = &structure->steps[i];
      gpointer kind;

      step->signature = signature (trace, step->begin_index, step->end_index);
      if (!g_hash_table_lookup_extended (kinds, &step->signature, NULL, &kind))
        {
          kind = GUINT_TO_POINTER (g_hash_table_size (kinds));
          g_hash_table_insert (kinds, &step->signature, kind);
        }
      step->kind = GPOINTER_TO_UINT (kind);
    }
}

static void
find_steps (const TesseraTrace *trace, TesseraStructure *structure)
{
  structure->steps = g_new (TesseraStep, trace->n_ranges + 1);
  steps_from_ranges (trace, structure);
  if (structure->n_steps == 0)
    steps_from_optimizer (trace, structure);
  structure->steps_from =
      structure->n_steps ? TESSERA_STEPS_ANNOTATED : TESSERA_STEPS_NONE;
  structure->confidence = structure->n_steps ? 1 : 0;
  /* One optimizer step in the file says nothing about where steps begin. */
  if (structure->n_steps < 2)
    tessera_find_repetition (trace, structure);
  sign_steps (trace, structure);
}

TesseraStructure *
tessera_structure_new (const TesseraTrace *trace, TesseraBlocks *blocks)
{
  TesseraStructure *structure = g_new0 (TesseraStructure, 1);

  find_steps (trace, structure);
  tessera_find_phases (trace, structure);
  tessera_classify (blocks, structure);
  return structure;
}

void
tessera_structure_free (TesseraStructure *structure)
{
  if (!structure)
    return;
  g_free (structure->steps);
  g_free (structure->phases);
  g_free (structure->phase_of_event);
  g_free (structure);
}
