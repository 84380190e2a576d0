/*
 * Ranges of a trace: their order and who encloses whom.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "db/trace.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* Outer before inner; the last two keys only make the order the same in every run. */
static int
compare_ranges (const void *left, const void *right)
{
  const TesseraRange *a = left, *b = right;
  int order = COMPARE (a->begin_index, b->begin_index);

  if (!order)
    order = COMPARE (a->begin_ns, b->begin_ns);
  if (!order)
    order = COMPARE (b->end_index, a->end_index);
  if (!order)
    order = COMPARE (b->end_ns, a->end_ns);
  if (!order)
    order = COMPARE (a->kind, b->kind);
  if (!order)
    order = COMPARE (a->name, b->name);
  return order ? order : COMPARE (a->is_inferred, b->is_inferred);
}

/* @inner does not begin before @outer. A range without events lies inside another only if
 * the nanoseconds say so, or the outer one goes on after it. */
static bool
contains (const TesseraRange *outer, const TesseraRange *inner)
{
  return inner->end_index <= outer->end_index && inner->end_ns <= outer->end_ns &&
         (inner->begin_index < outer->end_index || inner->begin_ns < outer->end_ns);
}

void
tessera_trace_settle_ranges (TesseraTrace *trace)
{
  TesseraRange *ranges = trace->ranges;

  if (trace->n_ranges == 0)
    return;
  qsort (ranges, trace->n_ranges, sizeof *ranges, compare_ranges);
  /* Whoever encloses range i encloses range i - 1 too, or is it: climbing from there
   * passes each link once in all. Ranges that overlap without nesting stay true to this:
   * what begins later and lies inside the earlier one lies inside the later one too. */
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      uint32_t parent = i ? (uint32_t) i - 1 : TESSERA_NONE;

      while (parent != TESSERA_NONE && !contains (&ranges[parent], &ranges[i]))
        parent = ranges[parent].parent;
      ranges[i].parent = parent;
    }
}
