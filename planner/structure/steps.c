/*
 * Steps from what the file says: ranges that are steps, else the ends of optimizer steps;
 * else repeat.c looks for a repetition.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <stdlib.h>
#include <string.h>

/* After an optimizer's step, a zero_grad that follows within so many events belongs to
 * the same step. */
#define ZERO_GRAD_REACH 64

/* More optimizers than a program has; the search stays linear whatever a file says. */
#define MAX_OPTIMIZERS 16

static bool
starts_with (const char *text, const char *prefix)
{
  return strncmp (text, prefix, strlen (prefix)) == 0;
}

static TesseraStatus
add_step (TesseraStructure *structure, uint32_t begin_index, uint32_t end_index)
{
  size_t n = structure->n_steps;

  if ((n & (n - 1)) == 0) /* room for the next power of two */
    {
      TesseraStep *more =
          realloc (structure->steps, (n ? 2 * n : 1) * sizeof *structure->steps);

      if (!more)
        return TESSERA_NO_MEMORY;
      structure->steps = more;
    }
  structure->steps[n] = (TesseraStep){ .begin_index = begin_index,
                                       .end_index = end_index,
                                       .number = (int64_t) n };
  structure->n_steps++;
  return TESSERA_OK;
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
static TesseraStatus
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
      if (add_step (structure, range->begin_index, range->end_index) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      are_numbered = are_numbered && number >= 0 && number >= last;
      do_rise = do_rise || (structure->n_steps > 1 && number > last);
      last = number;
      structure->steps[structure->n_steps - 1].number = number;
    }
  keep_done (structure, are_numbered && do_rise);
  if (!are_numbered || (!do_rise && structure->n_steps > 1))
    for (size_t i = 0; i < structure->n_steps; i++)
      structure->steps[i].number = (int64_t) i;
  return TESSERA_OK;
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

      if (!starts_with (tessera_trace_string (trace, name), "Optimizer.step#"))
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
          starts_with (tessera_trace_string (trace, next->name), "Optimizer.zero_grad#"))
        return next->end_index;
    }
  return end_index;
}

static TesseraStatus
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
      if (add_step (structure, begin_index, end_index) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      begin_index = end_index;
    }
  return TESSERA_OK;
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

static int
by_signature (const void *a, const void *b)
{
  const TesseraStep *const *x = a;
  const TesseraStep *const *y = b;

  if ((*x)->signature != (*y)->signature)
    return (*x)->signature < (*y)->signature ? -1 : 1;
  return *x < *y ? -1 : *x > *y;
}

/* Kinds are numbered in the order of their first steps. */
static TesseraStatus
sign_steps (const TesseraTrace *trace, TesseraStructure *structure)
{
  size_t n = structure->n_steps;
  TesseraStep **sorted = malloc ((n + 1) * sizeof *sorted);
  uint32_t n_kinds = 0;

  if (!sorted)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n; i++)
    {
      TesseraStep *step = &structure->steps[i];

      step->signature = signature (trace, step->begin_index, step->end_index);
      sorted[i] = step;
    }
  qsort (sorted, n, sizeof (TesseraStep *), by_signature);
  /* For now the kind is the first step of its signature ... */
  for (size_t i = 0; i < n; i++)
    sorted[i]->kind = i && sorted[i]->signature == sorted[i - 1]->signature
                          ? sorted[i - 1]->kind
                          : (uint32_t) (sorted[i] - structure->steps);
  /* ... whose own kind has its number by the time another refers to it. */
  for (size_t i = 0; i < n; i++)
    structure->steps[i].kind = structure->steps[i].kind == i
                                   ? n_kinds++
                                   : structure->steps[structure->steps[i].kind].kind;
  free (sorted);
  return TESSERA_OK;
}

TesseraStatus
tessera_find_steps (const TesseraTrace *trace, TesseraStructure *structure)
{
  TesseraStatus status = steps_from_ranges (trace, structure);

  if (status == TESSERA_OK && structure->n_steps == 0)
    status = steps_from_optimizer (trace, structure);
  structure->steps_from =
      structure->n_steps ? TESSERA_STEPS_ANNOTATED : TESSERA_STEPS_NONE;
  structure->confidence = structure->n_steps ? 1 : 0;
  /* One optimizer step in the file says nothing about where steps begin. */
  if (status == TESSERA_OK && structure->n_steps < 2)
    status = tessera_find_repetition (trace, structure);
  if (status == TESSERA_OK)
    status = sign_steps (trace, structure);
  return status;
}
