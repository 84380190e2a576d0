/*
 * Groups as units, and their fusion: see stalloc.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/stalloc/private.h"

#include "planner/memory.h"

/* Fusing looks at the larger unit for each of its offsets and each item of the smaller;
 * pairs that would cost more comparisons stay two. */
#define MOST_COMPARISONS (UINT64_C (1) << 24)

static bool
is_alone (const TesseraItem *item, const TesseraStallocItem *grouped)
{
  return grouped->group == TESSERA_NONE || grouped->kind == TESSERA_GROUP_HOMO_SIZE ||
         item->begin2 < item->end2;
}

static void
measure (TesseraStallocUnit *unit)
{
  unit->begin = UINT32_MAX;
  unit->end = 0;
  unit->height_bytes = 0;
  for (size_t i = 0; i < unit->n_decisions; i++)
    {
      const TesseraDecision *decision = &unit->decisions[i];
      uint64_t top_bytes = decision->offset_bytes + decision->size_bytes;

      if (decision->begin < unit->begin)
        unit->begin = (uint32_t) decision->begin;
      if (decision->end > unit->end)
        unit->end = (uint32_t) decision->end;
      if (top_bytes > unit->height_bytes)
        unit->height_bytes = top_bytes;
    }
}

static void
add_unit (TesseraStallocUnits *out,
          const TesseraItem *items,
          const TesseraStallocItem *grouped,
          const uint32_t *members,
          size_t n_members,
          bool is_group)
{
  const TesseraStallocItem *first = &grouped[members[0]];
  TesseraStallocUnit unit = { .decisions = g_new (TesseraDecision, n_members),
                              .n_decisions = n_members,
                              .begin2 = items[members[0]].begin2,
                              .end2 = items[members[0]].end2,
                              .from_phase = first->from_phase,
                              .to_phase = first->to_phase,
                              .is_group = is_group };

  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraItem *item = &items[members[i]];

      unit.decisions[i] =
          (TesseraDecision){ item->size_bytes, item->begin, item->end, 0, members[i] };
    }
  tessera_lay_lowest (unit.decisions, n_members);
  measure (&unit);
  TESSERA_GROW (out->units, out->cap_units, out->n_units + 1);
  out->units[out->n_units++] = unit;
}

static int
by_begin (const void *a, const void *b)
{
  const TesseraDecision *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->size_bytes != y->size_bytes)
    return x->size_bytes > y->size_bytes ? -1 : 1;
  return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static int
by_number (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static bool
is_free (const TesseraStallocUnit *unit,
         const TesseraDecision *decision,
         uint64_t at_bytes)
{
  for (size_t i = 0; i < unit->n_decisions; i++)
    {
      const TesseraDecision *other = &unit->decisions[i];

      if (decision->begin < other->end && other->begin < decision->end &&
          at_bytes < other->offset_bytes + other->size_bytes &&
          other->offset_bytes < at_bytes + decision->size_bytes)
        return false;
    }
  return true;
}

static void
take (TesseraStallocUnit *fused, TesseraDecision *decision, uint64_t at_bytes)
{
  fused->decisions[fused->n_decisions] = *decision;
  fused->decisions[fused->n_decisions++].offset_bytes = at_bytes;
  decision->size_bytes = 0;
}

/* Puts what fits of @rest (by begin; size 0: has its place) at each of the ascending
 * @offsets of the larger unit, and right above what was put there. */
static void
fill_gaps (TesseraStallocUnit *fused,
           TesseraDecision *rest,
           size_t n_rest,
           const uint64_t *offsets,
           size_t n_offsets)
{
  uint64_t at_bytes = 0;

  for (size_t k = 0; k < n_offsets; k++)
    {
      if (k && offsets[k] <= at_bytes)
        continue;
      at_bytes = offsets[k];
      for (size_t i = 0; i < n_rest;)
        if (rest[i].size_bytes && is_free (fused, &rest[i], at_bytes))
          {
            uint64_t size_bytes = rest[i].size_bytes;

            take (fused, &rest[i], at_bytes);
            at_bytes += size_bytes;
            i = 0;
          }
        else
          i++;
    }
}

/* What is left over keeps its own layout, on top. */
static void
put_on_top (TesseraStallocUnit *fused, TesseraDecision *rest, size_t n_rest)
{
  uint64_t lowest_bytes = UINT64_MAX, top_bytes;

  measure (fused);
  top_bytes = fused->height_bytes;
  for (size_t i = 0; i < n_rest; i++)
    if (rest[i].size_bytes && rest[i].offset_bytes < lowest_bytes)
      lowest_bytes = rest[i].offset_bytes;
  for (size_t i = 0; i < n_rest; i++)
    if (rest[i].size_bytes)
      take (fused, &rest[i], top_bytes + (rest[i].offset_bytes - lowest_bytes));
  measure (fused);
}

static double
area (const TesseraStallocUnit *unit)
{
  return (double) unit->height_bytes * (double) (unit->end - unit->begin);
}

/* The end phase of one is the start phase of the other. */
static bool
are_adjacent (const TesseraStallocUnit *a, const TesseraStallocUnit *b)
{
  return (a->to_phase != TESSERA_NONE && a->to_phase == b->from_phase) ||
         (b->to_phase != TESSERA_NONE && b->to_phase == a->from_phase);
}

static bool
can_fuse (const TesseraStallocUnit *a, const TesseraStallocUnit *b)
{
  const TesseraStallocUnit *large = a->height_bytes >= b->height_bytes ? a : b;
  const TesseraStallocUnit *small = large == a ? b : a;
  uint64_t n_large = large->n_decisions;

  return n_large > 0 && small->n_decisions > 0 && are_adjacent (a, b) &&
         n_large * n_large <= MOST_COMPARISONS / small->n_decisions;
}

/* Fuses two units where the area of one is less than that of both: then the time-memory
 * product is above their average. @a becomes the whole, @b is left empty. */
static void
fuse (TesseraStallocUnit *a, TesseraStallocUnit *b)
{
  const TesseraStallocUnit *large = a->height_bytes >= b->height_bytes ? a : b;
  const TesseraStallocUnit *small = large == a ? b : a;
  size_t n_large = large->n_decisions, n_small = small->n_decisions;
  TesseraStallocUnit fused = { .decisions = g_new (TesseraDecision, n_large + n_small),
                               .n_decisions = n_large,
                               .from_phase = (a->begin <= b->begin ? a : b)->from_phase,
                               .to_phase = (a->end >= b->end ? a : b)->to_phase,
                               .is_group = true };
  g_autofree TesseraDecision *rest = g_memdup2 (small->decisions, n_small * sizeof *rest);
  g_autofree uint64_t *offsets = g_new (uint64_t, n_large);

  memcpy (fused.decisions, large->decisions, n_large * sizeof *rest);
  for (size_t i = 0; i < n_large; i++)
    offsets[i] = large->decisions[i].offset_bytes;
  qsort (rest, n_small, sizeof *rest, by_begin);
  qsort (offsets, n_large, sizeof *offsets, by_number);
  fill_gaps (&fused, rest, n_small, offsets, n_large);
  put_on_top (&fused, rest, n_small);
  if (area (&fused) < area (a) + area (b))
    {
      free (a->decisions);
      free (b->decisions);
      *a = fused;
      *b = (TesseraStallocUnit){ 0 };
    }
  else
    free (fused.decisions);
}

/* Each group with those after it, once: what was fused goes on as one. There can be as
 * many single items as there are slots, so the groups are listed first. */
static void
fuse_groups (TesseraStallocUnits *all)
{
  g_autofree uint32_t *groups = g_new (uint32_t, all->n_units + 1);
  size_t n_groups = 0, n_left = 0;

  for (uint32_t i = 0; i < all->n_units; i++)
    if (all->units[i].is_group)
      groups[n_groups++] = i;
  for (size_t i = 0; i < n_groups; i++)
    for (size_t k = i + 1; k < n_groups; k++)
      if (can_fuse (&all->units[groups[i]], &all->units[groups[k]]))
        fuse (&all->units[groups[i]], &all->units[groups[k]]);
  for (size_t i = 0; i < all->n_units; i++)
    if (all->units[i].n_decisions > 0)
      all->units[n_left++] = all->units[i];
  all->n_units = n_left;
}

void
tessera_stalloc_make_units (const TesseraItem *items,
                            const TesseraStallocItem *grouped,
                            const uint32_t *order,
                            size_t n_order,
                            TesseraStallocUnits *out)
{
  g_autofree uint32_t *members = g_new (uint32_t, n_order + 1);

  *out = (TesseraStallocUnits){ 0 };
  for (size_t i = 0, end; i < n_order; i = end)
    {
      size_t n_members = 0;

      for (end = i; end < n_order && grouped[order[end]].group == grouped[order[i]].group;
           end++)
        if (is_alone (&items[order[end]], &grouped[order[end]]))
          add_unit (out, items, grouped, &order[end], 1, false);
        else
          members[n_members++] = order[end];
      if (n_members > 0)
        add_unit (out, items, grouped, members, n_members, true);
    }
  fuse_groups (out);
}

void
tessera_stalloc_clear_units (TesseraStallocUnits *units)
{
  for (size_t i = 0; i < units->n_units; i++)
    free (units->units[i].decisions);
  free (units->units);
  *units = (TesseraStallocUnits){ 0 };
}
