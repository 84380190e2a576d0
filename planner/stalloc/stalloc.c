/*
 * Groups as units, their fusion, units in layers, and what is left around these: see
 * stalloc.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/stalloc/stalloc.h"

#include "planner/gaps.h"
#include "planner/groups.h"
#include "planner/memory.h"

#define STRATEGY "groups as units, fused, in layers"

/* A group, several that were fused, or a single item. */
typedef struct
{
  TesseraDecision *decisions; /* sources are items; offsets within the unit */
  size_t n_decisions;
  uint64_t height_bytes, offset_bytes;
  uint32_t begin, end;
  uint32_t begin2, end2;         /* of a single item that wraps; else equal */
  uint32_t from_phase, to_phase; /* of a group; TESSERA_NONE: none */
  bool is_group;
} Unit;

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
measure (Unit *unit)
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
add_unit (GArray *units,
          const TesseraItem *items,
          const TesseraStallocItem *grouped,
          const uint32_t *members,
          size_t n_members,
          bool is_group)
{
  const TesseraStallocItem *first = &grouped[members[0]];
  Unit unit = { .decisions = g_new (TesseraDecision, n_members),
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
  g_array_append_val (units, unit);
}

static int
by_birth (const void *a, const void *b)
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
is_free (const Unit *unit, const TesseraDecision *decision, uint64_t at_bytes)
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
take (Unit *fused, TesseraDecision *decision, uint64_t at_bytes)
{
  fused->decisions[fused->n_decisions] = *decision;
  fused->decisions[fused->n_decisions++].offset_bytes = at_bytes;
  decision->size_bytes = 0;
}

/* Puts what fits of @rest (by begin; size 0: has its place) at each of the ascending
 * @offsets of the larger unit, and right above what was put there. */
static void
fill_gaps (Unit *fused,
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
put_on_top (Unit *fused, TesseraDecision *rest, size_t n_rest)
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
area (const Unit *unit)
{
  return (double) unit->height_bytes * (double) (unit->end - unit->begin);
}

/* The end phase of one is the start phase of the other. */
static bool
are_adjacent (const Unit *a, const Unit *b)
{
  return (a->to_phase != TESSERA_NONE && a->to_phase == b->from_phase) ||
         (b->to_phase != TESSERA_NONE && b->to_phase == a->from_phase);
}

static bool
can_fuse (const Unit *a, const Unit *b)
{
  const Unit *large = a->height_bytes >= b->height_bytes ? a : b;
  const Unit *small = large == a ? b : a;
  uint64_t n_large = large->n_decisions;

  return n_large > 0 && small->n_decisions > 0 && are_adjacent (a, b) &&
         n_large * n_large <= MOST_COMPARISONS / small->n_decisions;
}

/* Fuses two units where the area of one is less than that of both: then the time-memory
 * product is above their average. @a becomes the whole, @b is left empty. */
static void
fuse (Unit *a, Unit *b)
{
  const Unit *large = a->height_bytes >= b->height_bytes ? a : b;
  const Unit *small = large == a ? b : a;
  size_t n_large = large->n_decisions, n_small = small->n_decisions;
  Unit fused = { .decisions = g_new (TesseraDecision, n_large + n_small),
                 .n_decisions = n_large,
                 .from_phase = (a->begin <= b->begin ? a : b)->from_phase,
                 .to_phase = (a->end >= b->end ? a : b)->to_phase,
                 .is_group = true };
  g_autofree TesseraDecision *rest = g_memdup2 (small->decisions, n_small * sizeof *rest);
  g_autofree uint64_t *offsets = g_new (uint64_t, n_large);

  memcpy (fused.decisions, large->decisions, n_large * sizeof *rest);
  for (size_t i = 0; i < n_large; i++)
    offsets[i] = large->decisions[i].offset_bytes;
  qsort (rest, n_small, sizeof *rest, by_birth);
  qsort (offsets, n_large, sizeof *offsets, by_number);
  fill_gaps (&fused, rest, n_small, offsets, n_large);
  put_on_top (&fused, rest, n_small);
  if (area (&fused) < area (a) + area (b))
    {
      g_free (a->decisions);
      g_free (b->decisions);
      *a = fused;
      *b = (Unit){ 0 };
    }
  else
    g_free (fused.decisions);
}

static Unit *
unit_at (const GArray *units, guint i)
{
  return &g_array_index (units, Unit, i);
}

/* Each group with those after it, once: what was fused goes on as one. There can be as
 * many single items as there are slots, so the groups are listed first. */
static void
fuse_groups (GArray *units)
{
  g_autofree guint *groups = g_new (guint, units->len + 1);
  size_t n_groups = 0;

  for (guint i = 0; i < units->len; i++)
    if (unit_at (units, i)->is_group)
      groups[n_groups++] = i;
  for (size_t i = 0; i < n_groups; i++)
    for (size_t k = i + 1; k < n_groups; k++)
      if (can_fuse (unit_at (units, groups[i]), unit_at (units, groups[k])))
        fuse (unit_at (units, groups[i]), unit_at (units, groups[k]));
  for (guint i = units->len; i-- > 0;)
    if (unit_at (units, i)->n_decisions == 0)
      g_array_remove_index_fast (units, i);
}

static void
clear_unit (void *unit)
{
  g_free (((Unit *) unit)->decisions);
}

/* Returns: units of the items in @order, which is by group and then by begin; adjacent
 * groups are fused. */
static GArray *
make_units (const TesseraItem *items,
            const TesseraStallocItem *grouped,
            const uint32_t *order,
            size_t n_order)
{
  g_autofree uint32_t *members = g_new (uint32_t, n_order + 1);
  GArray *units = g_array_new (FALSE, FALSE, sizeof (Unit));

  g_array_set_clear_func (units, clear_unit);
  for (size_t i = 0, end; i < n_order; i = end)
    {
      size_t n_members = 0;

      for (end = i; end < n_order && grouped[order[end]].group == grouped[order[i]].group;
           end++)
        if (is_alone (&items[order[end]], &grouped[order[end]]))
          add_unit (units, items, grouped, &order[end], 1, false);
        else
          members[n_members++] = order[end];
      if (n_members > 0)
        add_unit (units, items, grouped, members, n_members, true);
    }
  fuse_groups (units);
  return units;
}

/* Layers. */

/* A layer is as high as the largest unit in it and holds one unit at a time. */
typedef struct
{
  GArray *free_times; /* of TesseraGap */
  uint64_t offset_bytes;
} Layer;

static int
by_size_and_begin (const void *a, const void *b)
{
  const Unit *x = a, *y = b;

  if (x->height_bytes != y->height_bytes)
    return x->height_bytes > y->height_bytes ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->decisions[0].source > y->decisions[0].source) -
         (x->decisions[0].source < y->decisions[0].source);
}

/* Whether the layer is free over the lives of the unit. @out_since: since when, before the
 * first of them. */
static bool
has_room (const Layer *layer, const Unit *unit, uint64_t *out_since)
{
  *out_since = tessera_gaps_around (layer->free_times, unit->begin, unit->end);
  return *out_since != UINT64_MAX &&
         (unit->begin2 == unit->end2 ||
          tessera_gaps_around (layer->free_times, unit->begin2, unit->end2) !=
              UINT64_MAX);
}

/* Of the first @n_standing layers, which are higher, the first that is free; else of the
 * others, of equal height, the one that is free for the shortest time before the unit's
 * begin; NULL: none is free. */
static Layer *
find_layer (GArray *layers, guint n_standing, const Unit *unit)
{
  Layer *best = NULL;
  uint64_t latest = 0;

  for (guint i = 0; i < layers->len; i++)
    {
      Layer *layer = &g_array_index (layers, Layer, i);
      uint64_t since;

      if (!has_room (layer, unit, &since) || (best != NULL && since <= latest))
        continue;
      best = layer;
      latest = since;
      if (i < n_standing)
        break;
    }
  return best;
}

static void
clear_layer (void *layer)
{
  g_array_unref (((Layer *) layer)->free_times);
}

/* Sorts the units and gives each an offset in layers from @base_bytes upwards. Returns:
 * the end of the highest layer */
static uint64_t
place_in_layers (GArray *units, uint64_t base_bytes)
{
  g_autoptr (GArray) layers = g_array_new (FALSE, FALSE, sizeof (Layer));
  uint64_t top_bytes = base_bytes, height_bytes = 0;
  guint n_standing = 0;

  g_array_set_clear_func (layers, clear_layer);
  g_array_sort (units, by_size_and_begin);
  for (guint i = 0; i < units->len; i++)
    {
      Unit *unit = unit_at (units, i);
      Layer *layer;

      if (unit->height_bytes != height_bytes)
        n_standing = layers->len;
      height_bytes = unit->height_bytes;
      layer = find_layer (layers, n_standing, unit);
      if (layer == NULL)
        {
          const Layer added = { tessera_gaps_new (), top_bytes };

          g_array_append_val (layers, added);
          layer = &g_array_index (layers, Layer, layers->len - 1);
          top_bytes += unit->height_bytes;
        }
      tessera_gaps_take (layer->free_times, unit->begin, unit->end);
      if (unit->begin2 < unit->end2)
        tessera_gaps_take (layer->free_times, unit->begin2, unit->end2);
      unit->offset_bytes = layer->offset_bytes;
    }
  return top_bytes;
}

static bool
is_for_layers (const TesseraItem *item, const TesseraStallocItem *grouped)
{
  return grouped->kind != TESSERA_GROUP_HOMO_LAYER && !tessera_item_is_held (item);
}

/* Lays the items in @order, of one zone, from @top_bytes upwards. Returns: where they
 * end */
static uint64_t
place_zone (const TesseraItem *items,
            const TesseraStallocItem *grouped,
            const uint32_t *order,
            size_t n_order,
            uint64_t *offsets,
            uint64_t top_bytes)
{
  g_autoptr (GArray) units = make_units (items, grouped, order, n_order);

  top_bytes = place_in_layers (units, top_bytes);
  for (guint i = 0; i < units->len; i++)
    for (size_t k = 0; k < unit_at (units, i)->n_decisions; k++)
      {
        const TesseraDecision *decision = &unit_at (units, i)->decisions[k];

        offsets[decision->source] =
            unit_at (units, i)->offset_bytes + decision->offset_bytes;
      }
  return top_bytes;
}

/* Offsets of what goes into layers, the zones one upon another; UINT64_MAX for others.
 * Returns: their height */
static uint64_t
place_layers (const TesseraItem *items,
              const TesseraStallocItem *grouped,
              size_t n_items,
              uint64_t *offsets)
{
  g_autofree TesseraKeyed *keyed = g_new (TesseraKeyed, n_items + 1);
  g_autofree uint32_t *order = g_new (uint32_t, n_items + 1);
  uint64_t height_bytes = 0;
  size_t n = 0;

  for (uint32_t i = 0; i < n_items; i++)
    {
      offsets[i] = UINT64_MAX;
      if (is_for_layers (&items[i], &grouped[i]))
        keyed[n++] = (TesseraKeyed){ items[i].begin, i };
    }
  tessera_sort (keyed, n);
  for (size_t i = 0; i < n; i++)
    keyed[i].key =
        (uint64_t) items[keyed[i].value].zone << 32 | grouped[keyed[i].value].group;
  tessera_sort (keyed, n);
  for (size_t i = 0; i < n; i++)
    order[i] = keyed[i].value;
  for (size_t i = 0, end; i < n; i = end)
    {
      for (end = i + 1; end < n && keyed[end].key >> 32 == keyed[i].key >> 32;)
        end++;
      height_bytes =
          place_zone (items, grouped, order + i, end - i, offsets, height_bytes);
    }
  return height_bytes;
}

/* Returns: the addresses at which no item is pinned, by itself or with its body. */
static GArray *
find_unpinned (const TesseraItem *items, size_t n_items)
{
  g_autofree uint64_t *bases = g_new (uint64_t, n_items + 1);
  GArray *gaps = tessera_gaps_new ();

  memset (bases, 0xff, (n_items + 1) * sizeof *bases); /* UINT64_MAX */
  for (size_t i = 0; i < n_items; i++)
    if (items[i].body && items[i].is_pinned)
      bases[items[i].body] = items[i].pinned_bytes - items[i].body_offset_bytes;
  for (size_t i = 0; i < n_items; i++)
    {
      const bool is_of_body = items[i].body && bases[items[i].body] != UINT64_MAX;
      uint64_t at_bytes = items[i].is_pinned
                              ? items[i].pinned_bytes
                              : bases[items[i].body] + items[i].body_offset_bytes;

      if (items[i].is_pinned || is_of_body)
        tessera_gaps_take (gaps, at_bytes, at_bytes + items[i].size_bytes);
    }
  return gaps;
}

/* Packs the items without an offset, and those in the way of a pin, around the others,
 * which stay in their layers. */
static TesseraStatus
place_rest (const TesseraItem *items,
            size_t n_items,
            const TesseraPackOptions *options,
            uint64_t *offsets,
            TesseraPacking *out_packing)
{
  TesseraPackOptions one_pass = *options;
  g_autofree TesseraItem *around = g_new (TesseraItem, n_items + 1);
  g_autoptr (GArray) unpinned = find_unpinned (items, n_items);

  one_pass.work_budget = 1; /* as the method is: nothing is improved */
  for (size_t i = 0; i < n_items; i++)
    {
      around[i] = items[i];
      if (offsets[i] == UINT64_MAX ||
          tessera_gaps_around (unpinned, offsets[i], offsets[i] + items[i].size_bytes) ==
              UINT64_MAX)
        continue;
      around[i].is_pinned = 1;
      around[i].pinned_bytes = offsets[i];
    }
  return tessera_pack (around, n_items, &one_pass, offsets, out_packing);
}

TesseraStatus
tessera_stalloc_pack (const TesseraItem *items,
                      const TesseraStallocItem *grouped,
                      size_t n_items,
                      const TesseraPackOptions *options,
                      uint64_t *offsets,
                      TesseraPacking *out_packing)
{
  TesseraPacking packing = { .height_bytes =
                                 place_layers (items, grouped, n_items, offsets) };
  TesseraStatus status = TESSERA_OK;
  bool has_rest = false;

  for (size_t i = 0; i < n_items; i++)
    has_rest = has_rest || offsets[i] == UINT64_MAX;
  if (has_rest)
    status = place_rest (items, n_items, options, offsets, &packing);
  packing.strategy = STRATEGY;
  *out_packing = packing;
  return status;
}
