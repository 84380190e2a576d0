/*
 * Fusion of two local plans: groups.h; the method is STAlloc's (EuroSys '26), section 4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint64_t height, begin, end;
} Extent;

static Extent
extent_of (const TesseraLocalPlan *plan)
{
  Extent extent = { .begin = UINT64_MAX };

  for (size_t i = 0; i < plan->n_decisions; i++)
    {
      const TesseraDecision *d = &plan->decisions[i];

      if (d->offset_bytes + d->size_bytes > extent.height)
        extent.height = d->offset_bytes + d->size_bytes;
      if (d->begin < extent.begin)
        extent.begin = d->begin;
      if (d->end > extent.end)
        extent.end = d->end;
    }
  return extent;
}

static double
area (const Extent *extent)
{
  return extent->end > extent->begin
             ? (double) extent->height * (double) (extent->end - extent->begin)
             : 0;
}

static int
by_begin (const void *a, const void *b)
{
  const TesseraDecision *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->size_bytes != y->size_bytes)
    return x->size_bytes > y->size_bytes ? -1 : 1;
  return x->offset_bytes < y->offset_bytes ? -1 : x->offset_bytes > y->offset_bytes;
}

static int
by_number (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static bool
is_free (const TesseraLocalPlan *plan, const TesseraDecision *d, uint64_t offset)
{
  for (size_t i = 0; i < plan->n_decisions; i++)
    {
      const TesseraDecision *o = &plan->decisions[i];

      if (d->begin < o->end && o->begin < d->end &&
          offset < o->offset_bytes + o->size_bytes &&
          o->offset_bytes < offset + d->size_bytes)
        return false;
    }
  return true;
}

/* Puts what fits of @rest (by begin; placed ones get size 0) into the gaps of @fused: at
 * each offset of the larger plan, lowest first, and right above what was put there. */
static void
fill_gaps (TesseraLocalPlan *fused,
           TesseraDecision *rest,
           size_t n_rest,
           uint64_t *offsets)
{
  size_t n_offsets = fused->n_decisions;
  uint64_t at = 0;

  for (size_t i = 0; i < n_offsets; i++)
    offsets[i] = fused->decisions[i].offset_bytes;
  qsort (offsets, n_offsets, sizeof *offsets, by_number);
  for (size_t k = 0; k < n_offsets; k++)
    {
      bool is_placed;

      if (k && offsets[k] <= at)
        continue;
      at = offsets[k];
      do
        {
          is_placed = false;
          for (size_t i = 0; i < n_rest && !is_placed; i++)
            if (rest[i].size_bytes && is_free (fused, &rest[i], at))
              {
                fused->decisions[fused->n_decisions] = rest[i];
                fused->decisions[fused->n_decisions++].offset_bytes = at;
                at += rest[i].size_bytes;
                rest[i].size_bytes = 0;
                is_placed = true;
              }
        }
      while (is_placed);
    }
}

/* What is left over keeps its own layout, on top. */
static void
put_on_top (TesseraLocalPlan *fused, const TesseraDecision *rest, size_t n_rest)
{
  uint64_t top = extent_of (fused).height, lowest = UINT64_MAX;

  for (size_t i = 0; i < n_rest; i++)
    if (rest[i].size_bytes && rest[i].offset_bytes < lowest)
      lowest = rest[i].offset_bytes;
  for (size_t i = 0; i < n_rest; i++)
    if (rest[i].size_bytes)
      {
        fused->decisions[fused->n_decisions] = rest[i];
        fused->decisions[fused->n_decisions++].offset_bytes =
            top + (rest[i].offset_bytes - lowest);
      }
}

TesseraStatus
tessera_fuse (const TesseraLocalPlan *a,
              const TesseraLocalPlan *b,
              bool *out_accepted,
              TesseraLocalPlan *out_fused)
{
  Extent extent_a = extent_of (a), extent_b = extent_of (b), extent;
  bool a_is_larger = extent_a.height >= extent_b.height;
  const TesseraLocalPlan *large = a_is_larger ? a : b, *small = a_is_larger ? b : a;
  size_t n = large->n_decisions + small->n_decisions;
  TesseraLocalPlan fused = { malloc ((n + 1) * sizeof (TesseraDecision)), 0 };
  TesseraDecision *rest = malloc ((small->n_decisions + 1) * sizeof *rest);
  uint64_t *offsets = malloc ((large->n_decisions + 1) * sizeof *offsets);
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_accepted = false;
  *out_fused = (TesseraLocalPlan){ 0 };
  if (!fused.decisions || !rest || !offsets)
    goto out;
  if (large->n_decisions)
    memcpy (fused.decisions, large->decisions, large->n_decisions * sizeof *rest);
  if (small->n_decisions)
    memcpy (rest, small->decisions, small->n_decisions * sizeof *rest);
  fused.n_decisions = large->n_decisions;
  qsort (rest, small->n_decisions, sizeof *rest, by_begin);
  fill_gaps (&fused, rest, small->n_decisions, offsets);
  put_on_top (&fused, rest, small->n_decisions);
  extent = extent_of (&fused);
  /* TMP(fused) above the areas' weighted mean of both: the used area is the same, so the
   * reserved one has to be smaller. */
  *out_accepted = area (&extent) < area (&extent_a) + area (&extent_b);
  if (*out_accepted)
    {
      *out_fused = fused;
      fused.decisions = NULL;
    }
  status = TESSERA_OK;
out:
  free (fused.decisions);
  free (rest);
  free (offsets);
  return status;
}
