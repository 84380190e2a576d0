/*
 * A plan for every length into the tables of its plan: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/lengths.h"

#include <stdlib.h>

#include "db/array.h"
#include "db/store/tables.h"

/* The slot at a place counted over all orders. */
static void
get_order_slot (const void *items, size_t index, void *scratch)
{
  const TesseraLengths *lengths = items;
  const TesseraOrder *order = &lengths->orders[index / lengths->n_swept];

  *(uint32_t *) scratch = order->slots[index % lengths->n_swept];
}

/* Edges of one order; above and below are counted over all orders. */
typedef struct
{
  const TesseraOrder *order;
  uint32_t first_place; /* of the order */
  uint32_t n_places;
} EdgesOfOrder;

static void
get_edge (const void *items, size_t index, void *scratch)
{
  const EdgesOfOrder *edges = items;
  const TesseraOrder *order = edges->order;
  uint32_t place = 0;

  for (uint32_t low = 0, high = edges->n_places; low < high;)
    {
      uint32_t middle = low + (high - low) / 2;

      /* first_edge ascends: the last place whose edges begin at or before this one. */
      if (order->first_edge[middle + 1] <= index)
        low = middle + 1;
      else
        high = middle;
      place = low;
    }
  *(TesseraOrderEdge *) scratch =
      (TesseraOrderEdge){ .above = edges->first_place + place,
                          .below = edges->first_place + order->below[index] };
}

static TesseraStatus
write_edges (TesseraRowWriter *writer, const TesseraLengths *lengths)
{
  uint64_t first_key = 0;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t k = 0; k < lengths->n_orders && status == TESSERA_OK; k++)
    {
      const EdgesOfOrder edges = { &lengths->orders[k], k * lengths->n_swept,
                                   lengths->n_swept };

      status = tessera_write_rows (writer, &tessera_order_edge_table, (TesseraScope){ 0 },
                                   (TesseraRows){ .items = &edges,
                                                  .n_items = lengths->orders[k].n_edges,
                                                  .get = get_edge,
                                                  .first_key = first_key });
      first_key += lengths->orders[k].n_edges;
    }
  return status;
}

TesseraStatus
tessera_write_lengths (TesseraRowWriter *writer, const TesseraLengths *lengths)
{
  TesseraStatus status = TESSERA_OK;

  if (!lengths)
    return TESSERA_OK;
  const struct
  {
    const TesseraTable *table;
    TesseraRows rows;
  } parts[] = {
    { &tessera_length_plan_table, { lengths, 1, NULL } },
    { &tessera_length_step_table, { lengths->observed, lengths->n_observed, NULL } },
    { &tessera_length_phase_table, { lengths->strings, lengths->n_strings, NULL } },
    { &tessera_length_law_table, { lengths->laws, lengths->n_laws, NULL } },
    { &tessera_length_slot_table, { lengths->slots, lengths->n_slots, NULL } },
    { &tessera_start_slot_table, { lengths->start, lengths->n_start, NULL } },
    { &tessera_order_table, { lengths->orders, lengths->n_orders, NULL } },
    { &tessera_order_slot_table,
      { lengths, (size_t) lengths->n_orders * lengths->n_swept, get_order_slot } },
  };

  for (size_t i = 0; status == TESSERA_OK && i < sizeof parts / sizeof *parts; i++)
    status =
        tessera_write_rows (writer, parts[i].table, (TesseraScope){ 0 }, parts[i].rows);
  return status == TESSERA_OK ? write_edges (writer, lengths) : status;
}

typedef struct
{
  TesseraLengths *lengths;
  uint32_t n_plans;
  size_t cap_observed, cap_strings, cap_laws, cap_slots, cap_start, cap_orders;
  uint32_t *places; /* order slots, order after order */
  size_t n_places, cap_places;
  TesseraOrderEdge *edges;
  size_t n_edges, cap_edges;
} Load;

static TesseraStatus
take_plan (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;

  if (load->n_plans++ > 0)
    {
      tessera_item_clear (&tessera_length_plan_table, item);
      return TESSERA_BAD_INPUT;
    }
  *load->lengths = *(const TesseraLengths *) item;
  return TESSERA_OK;
}

/* A row at the end of an array of the plan's. */
#define TAKE(name, Item, array, count, cap)                                              \
  static TesseraStatus name (void *user, void *item, uint64_t index, uint64_t key)       \
  {                                                                                      \
    Load *load = user;                                                                   \
                                                                                         \
    if (load->n_plans == 0 || index >= TESSERA_NONE)                                     \
      return TESSERA_BAD_INPUT;                                                          \
    if (!TESSERA_RESERVE (array, cap, (size_t) (count) + 1))                             \
      return TESSERA_NO_MEMORY;                                                          \
    (array)[(count)++] = *(const Item *) item;                                           \
    return TESSERA_OK;                                                                   \
  }

TAKE (take_step,
      TesseraParameters,
      load->lengths->observed,
      load->lengths->n_observed,
      load->cap_observed)
TAKE (
    take_law, TesseraSizeLaw, load->lengths->laws, load->lengths->n_laws, load->cap_laws)
TAKE (take_slot,
      TesseraLengthsSlot,
      load->lengths->slots,
      load->lengths->n_slots,
      load->cap_slots)
TAKE (take_start,
      TesseraStartSlot,
      load->lengths->start,
      load->lengths->n_start,
      load->cap_start)
TAKE (take_order,
      TesseraOrder,
      load->lengths->orders,
      load->lengths->n_orders,
      load->cap_orders)
TAKE (take_order_slot, uint32_t, load->places, load->n_places, load->cap_places)
TAKE (take_edge, TesseraOrderEdge, load->edges, load->n_edges, load->cap_edges)

static TesseraStatus
take_phase (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;
  TesseraLengths *lengths = load->lengths;
  TesseraStatus status = TESSERA_OK;

  if (load->n_plans == 0)
    status = TESSERA_BAD_INPUT;
  else if (!TESSERA_RESERVE (lengths->strings, load->cap_strings,
                             (size_t) lengths->n_strings + 1))
    status = TESSERA_NO_MEMORY;
  if (status != TESSERA_OK)
    tessera_item_clear (&tessera_length_phase_table, item);
  else
    lengths->strings[lengths->n_strings++] = ((TesseraTextItem *) item)->text;
  return status;
}

/* The rows of one order into their arrays. Returns: TESSERA_BAD_INPUT where an edge names
 * another order's, or comes before those of a lower slot. */
static TesseraStatus
fill_order (const Load *load, uint32_t index, size_t *next_edge)
{
  const TesseraLengths *lengths = load->lengths;
  uint32_t n = lengths->n_swept, first = index * n;
  size_t begin = *next_edge, end = begin;
  TesseraOrder *order = &lengths->orders[index];
  const TesseraOrder row = *order;
  TesseraStatus status;

  while (end < load->n_edges && load->edges[end].above < (uint64_t) first + n)
    end++;
  if (end - begin > UINT32_MAX)
    return TESSERA_BAD_INPUT;
  status = tessera_order_init (order, n, (uint32_t) (end - begin));
  order->from_tokens = row.from_tokens;
  order->is_first = row.is_first;
  order->n_low = row.n_low;
  if (status != TESSERA_OK)
    return status;
  for (uint32_t i = 0; i < n; i++)
    {
      order->slots[i] = load->places[first + i];
      order->laws[i] = lengths->slots[order->slots[i]].law;
    }
  for (size_t e = begin; e < end; e++)
    {
      const TesseraOrderEdge *edge = &load->edges[e];

      if (edge->below < first || edge->below >= edge->above ||
          (e > begin && edge->above < load->edges[e - 1].above))
        return TESSERA_BAD_INPUT;
      order->below[e - begin] = edge->below - first;
      order->first_edge[edge->above - first + 1]++;
    }
  for (uint32_t i = 0; i < n; i++)
    order->first_edge[i + 1] += order->first_edge[i];
  *next_edge = end;
  return TESSERA_OK;
}

static TesseraStatus
fill_orders (const Load *load)
{
  TesseraLengths *lengths = load->lengths;
  TesseraStatus status = TESSERA_OK;
  size_t next_edge = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    lengths->n_swept += lengths->slots[i].place == TESSERA_PLACE_SWEPT;
  if (load->n_places != (uint64_t) lengths->n_orders * lengths->n_swept ||
      load->n_places >= TESSERA_NONE)
    return TESSERA_BAD_INPUT;
  for (uint32_t k = 0; k < lengths->n_orders && status == TESSERA_OK; k++)
    status = fill_order (load, k, &next_edge);
  return status == TESSERA_OK && next_edge != load->n_edges ? TESSERA_BAD_INPUT : status;
}

static TesseraStatus
read_tables (TesseraRowReader *reader, Load *load)
{
  static const struct
  {
    const TesseraTable *table;
    TesseraTakeRow take;
  } parts[] = { { &tessera_length_plan_table, take_plan },
                { &tessera_length_step_table, take_step },
                { &tessera_length_phase_table, take_phase },
                { &tessera_length_law_table, take_law },
                { &tessera_length_slot_table, take_slot },
                { &tessera_start_slot_table, take_start },
                { &tessera_order_table, take_order },
                { &tessera_order_slot_table, take_order_slot },
                { &tessera_order_edge_table, take_edge } };
  const TesseraLengths *lengths = load->lengths;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < sizeof parts / sizeof *parts; i++)
    {
      reader->limits.below[TESSERA_LIMIT_STRINGS] = lengths->n_strings;
      reader->limits.below[TESSERA_LIMIT_LAWS] = lengths->n_laws;
      reader->limits.below[TESSERA_LIMIT_SLOTS] = lengths->n_slots;
      status = tessera_read_rows (reader, parts[i].table, (TesseraScope){ 0 },
                                  parts[i].take, load);
    }
  return status;
}

TesseraStatus
tessera_read_lengths (TesseraRowReader *reader, TesseraLengths **out_lengths)
{
  Load load = { 0 };
  char reason[96] = "its orders do not fit its slots";
  TesseraStatus status = tessera_lengths_new (&load.lengths);

  *out_lengths = NULL;
  tessera_limits_init (&reader->limits);
  if (status == TESSERA_OK)
    status = read_tables (reader, &load);
  if (status == TESSERA_OK && load.n_plans > 0)
    {
      status = fill_orders (&load);
      if (status == TESSERA_OK &&
          !tessera_lengths_is_sound (load.lengths, reason, sizeof reason))
        status = TESSERA_BAD_INPUT;
      if (status == TESSERA_BAD_INPUT)
        tessera_fail (reader->error, status,
                      "%s is damaged: of its plan for every length, %s; make it again",
                      reader->path, reason);
    }
  if (status == TESSERA_NO_MEMORY)
    tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path, "read");
  free (load.places);
  free (load.edges);
  if (status == TESSERA_OK && load.n_plans > 0)
    *out_lengths = load.lengths;
  else
    tessera_lengths_free (load.lengths);
  return status;
}
