/*
 * Groups as rectangles, and their fusion: see rectangles.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/rectangles.h"

#include "db/array.h"

#include <stdlib.h>
#include <string.h>

/* Fusing walks over the larger plan for each offset of it and each request of the
 * smaller; pairs that would cost more comparisons are left as they are. */
#define MOST_COMPARISONS (UINT64_C (1) << 24)

static bool
wraps (const TesseraItem *item)
{
  return item->begin2 < item->end2;
}

static void
widen (TesseraRectangle *rectangle, const TesseraItem *item)
{
  if (item->begin < rectangle->begin)
    rectangle->begin = item->begin;
  if (item->end > rectangle->end)
    rectangle->end = item->end;
  if (!wraps (item))
    return;
  rectangle->wraps = true;
  if (rectangle->begin2 == rectangle->end2 || item->begin2 < rectangle->begin2)
    rectangle->begin2 = item->begin2;
  if (item->end2 > rectangle->end2)
    rectangle->end2 = item->end2;
}

/* Lives that meet are one. */
static void
settle (TesseraRectangle *rectangle)
{
  if (rectangle->begin2 == rectangle->end2 || rectangle->end2 < rectangle->begin)
    return;
  if (rectangle->begin2 < rectangle->begin)
    rectangle->begin = rectangle->begin2;
  rectangle->begin2 = rectangle->end2 = 0;
}

/* Those that wrap have places to themselves, at the bottom; the others lie above. */
static TesseraStatus
lay_out (const TesseraItem *items, TesseraRectangle *rectangle)
{
  TesseraDecision *all = rectangle->plan.decisions;
  size_t n = rectangle->plan.n_decisions, n_wrap = 0;
  uint64_t floor = 0, height;
  TesseraStatus status;

  for (size_t i = 0; i < n; i++)
    if (wraps (&items[all[i].source]))
      {
        TesseraDecision decision = all[i];

        all[i] = all[n_wrap];
        decision.offset_bytes = floor;
        floor += decision.size_bytes;
        all[n_wrap++] = decision;
      }
  status = tessera_lay_lowest (all + n_wrap, n - n_wrap, &height);
  for (size_t i = n_wrap; i < n; i++)
    all[i].offset_bytes += floor;
  rectangle->size_bytes = floor + height;
  return status;
}

/* Members of HomoSize groups are requests by themselves. */
static bool
is_alone (const TesseraPaperItem *item, bool is_grouped)
{
  if (item->group == TESSERA_NONE || item->kind == TESSERA_GROUP_HOMO_SIZE)
    return true;
  return !is_grouped && item->kind != TESSERA_GROUP_HAND;
}

static TesseraStatus
add (TesseraRectangles *out,
     const TesseraItem *items,
     const TesseraPaperItem *grouped,
     const uint32_t *members,
     size_t n_members,
     bool is_single)
{
  const TesseraPaperItem *first = &grouped[members[0]];
  TesseraRectangle *rectangle;

  if (!TESSERA_RESERVE (out->rectangles, out->cap_rectangles, out->n_rectangles + 1))
    return TESSERA_NO_MEMORY;
  rectangle = &out->rectangles[out->n_rectangles];
  *rectangle = (TesseraRectangle){ .begin = UINT32_MAX,
                                   .from_phase = first->from_phase,
                                   .to_phase = first->to_phase,
                                   .group = first->group,
                                   .is_single = is_single };
  rectangle->plan.decisions = malloc (n_members * sizeof (TesseraDecision));
  if (!rectangle->plan.decisions)
    return TESSERA_NO_MEMORY;
  out->n_rectangles++;
  rectangle->plan.n_decisions = n_members;
  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraItem *item = &items[members[i]];

      rectangle->plan.decisions[i] =
          (TesseraDecision){ item->size_bytes, item->begin, item->end, 0, members[i] };
      widen (rectangle, item);
    }
  settle (rectangle);
  return lay_out (items, rectangle);
}

TesseraStatus
tessera_rectangles_make (const TesseraItem *items,
                         const TesseraPaperItem *grouped,
                         const uint32_t *order,
                         size_t n_order,
                         bool is_grouped,
                         TesseraRectangles *out)
{
  TesseraStatus status = TESSERA_OK;

  *out = (TesseraRectangles){ 0 };
  for (size_t i = 0, end; i < n_order && status == TESSERA_OK; i = end)
    {
      bool is_single = is_alone (&grouped[order[i]], is_grouped);

      end = i + 1;
      while (end < n_order && !is_single &&
             grouped[order[end]].group == grouped[order[i]].group)
        end++;
      status = add (out, items, grouped, order + i, end - i, is_single);
    }
  return status;
}

void
tessera_rectangles_clear (TesseraRectangles *rectangles)
{
  for (size_t i = 0; i < rectangles->n_rectangles; i++)
    free (rectangles->rectangles[i].plan.decisions);
  free (rectangles->rectangles);
  *rectangles = (TesseraRectangles){ 0 };
}

/* The end phase of one is the start phase of the other. */
static bool
are_adjacent (const TesseraRectangle *a, const TesseraRectangle *b)
{
  return (a->to_phase != TESSERA_NONE && a->to_phase == b->from_phase) ||
         (b->to_phase != TESSERA_NONE && b->to_phase == a->from_phase);
}

/* Fusion knows one life of each. */
static bool
can_fuse (const TesseraRectangle *a, const TesseraRectangle *b)
{
  const TesseraRectangle *large = a->size_bytes >= b->size_bytes ? a : b;
  const TesseraRectangle *small = large == a ? b : a;
  uint64_t n_large = large->plan.n_decisions;

  return n_large > 0 && small->plan.n_decisions > 0 && !a->is_single && !b->is_single &&
         are_adjacent (a, b) && !a->wraps && !b->wraps &&
         n_large * n_large <= MOST_COMPARISONS / small->plan.n_decisions;
}

/* What comes of two: it goes from the earlier's first phase to the later's last. */
static void
take_fused (TesseraRectangle *a, TesseraRectangle *b, TesseraLocalPlan fused)
{
  bool a_is_first = a->begin <= b->begin;

  if (!a_is_first)
    a->from_phase = b->from_phase;
  if (a->end < b->end)
    a->to_phase = b->to_phase;
  free (a->plan.decisions);
  free (b->plan.decisions);
  a->plan = fused;
  b->plan = (TesseraLocalPlan){ 0 };
  a->begin = a_is_first ? a->begin : b->begin;
  a->end = a->end > b->end ? a->end : b->end;
  a->size_bytes = 0;
  for (size_t i = 0; i < fused.n_decisions; i++)
    if (fused.decisions[i].offset_bytes + fused.decisions[i].size_bytes > a->size_bytes)
      a->size_bytes = fused.decisions[i].offset_bytes + fused.decisions[i].size_bytes;
}

/* Lists those that may be fused with anybody: of requests by themselves there can be as
 * many as there are slots. Returns: how many. */
static size_t
list_groups (const TesseraRectangles *rectangles, uint32_t *groups)
{
  size_t n = 0;

  for (uint32_t i = 0; i < rectangles->n_rectangles; i++)
    if (!rectangles->rectangles[i].is_single)
      groups[n++] = i;
  return n;
}

/* Each with those after it, once: what was fused goes on as one. */
static TesseraStatus
fuse_groups (TesseraRectangle *all, const uint32_t *groups, size_t n_groups)
{
  for (size_t i = 0; i < n_groups; i++)
    for (size_t k = i + 1; k < n_groups; k++)
      {
        TesseraRectangle *a = &all[groups[i]], *b = &all[groups[k]];
        TesseraLocalPlan fused;
        bool is_accepted;

        if (!can_fuse (a, b))
          continue;
        if (tessera_fuse (&a->plan, &b->plan, &is_accepted, &fused) != TESSERA_OK)
          return TESSERA_NO_MEMORY;
        if (is_accepted)
          take_fused (a, b, fused);
      }
  return TESSERA_OK;
}

TesseraStatus
tessera_rectangles_fuse (TesseraRectangles *rectangles)
{
  TesseraRectangle *all = rectangles->rectangles;
  uint32_t *groups = malloc ((rectangles->n_rectangles + 1) * sizeof *groups);
  size_t n_left = 0;
  TesseraStatus status;

  if (!groups)
    return TESSERA_NO_MEMORY;
  status = fuse_groups (all, groups, list_groups (rectangles, groups));
  free (groups);
  if (status != TESSERA_OK)
    return status;
  for (size_t i = 0; i < rectangles->n_rectangles; i++)
    if (all[i].plan.n_decisions > 0)
      all[n_left++] = all[i];
  rectangles->n_rectangles = n_left;
  return TESSERA_OK;
}
