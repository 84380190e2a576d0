/*
 * A plan into its file and back, with what it says of steps of every length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/store/private.h"

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
      const TesseraRows rows = { &tessera_order_edge_table, &edges,
                                 lengths->orders[k].n_edges, get_edge, first_key };

      status = tessera_write_rows (writer, 0, &rows, 1);
      first_key += lengths->orders[k].n_edges;
    }
  return status;
}

/* Its slots are others than the plan's: so are the limits. */
static TesseraStatus
write_lengths (TesseraNewFile *file, const TesseraLengths *lengths)
{
  const TesseraRows parts[] = {
    { &tessera_length_plan_table, lengths, 1 },
    { &tessera_length_step_table, lengths->observed, lengths->n_observed },
    { &tessera_length_phase_table, lengths->strings, lengths->n_strings },
    { &tessera_length_law_table, lengths->laws, lengths->n_laws },
    { &tessera_length_slot_table, lengths->slots, lengths->n_slots },
    { &tessera_start_slot_table, lengths->start, lengths->n_start },
    { &tessera_order_table, lengths->orders, lengths->n_orders },
    { &tessera_order_slot_table, lengths, (size_t) lengths->n_orders * lengths->n_swept,
      get_order_slot },
  };
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  TesseraStatus status;

  tessera_limits_init (&limits);
  limits.below[TESSERA_LIMIT_STRINGS] = lengths->n_strings;
  limits.below[TESSERA_LIMIT_LAWS] = lengths->n_laws;
  limits.below[TESSERA_LIMIT_SLOTS] = lengths->n_slots;
  status = tessera_write_rows (&writer, 0, parts, sizeof parts / sizeof *parts);
  return status == TESSERA_OK ? write_edges (&writer, lengths) : status;
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
} LengthsLoad;

static TesseraStatus
take_lengths (void *user, void *item, uint64_t index, uint64_t key)
{
  LengthsLoad *load = user;

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
    LengthsLoad *load = user;                                                            \
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
  LengthsLoad *load = user;
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
fill_order (const LengthsLoad *load, uint32_t index, size_t *next_edge)
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
fill_orders (const LengthsLoad *load)
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
read_tables (TesseraRowReader *reader, LengthsLoad *load)
{
  static const struct
  {
    const TesseraTable *table;
    TesseraTakeRow take;
  } parts[] = { { &tessera_length_plan_table, take_lengths },
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

static TesseraStatus
read_lengths (TesseraRowReader *reader, TesseraLengths **out_lengths)
{
  LengthsLoad load = { 0 };
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

/* Plans are small (some MB at most), their tables few. */
#define PAGE_BYTES 1024

static void
set_limits (TesseraLimits *limits, const TesseraPlan *plan)
{
  tessera_limits_init (limits);
  limits->below[TESSERA_LIMIT_POSITIONS] = (uint64_t) plan->n_positions + 1;
  limits->below[TESSERA_LIMIT_STRINGS] = plan->n_strings;
  limits->below[TESSERA_LIMIT_SECTIONS] = plan->n_sections;
  limits->below[TESSERA_LIMIT_GROUPS] = plan->n_groups;
  limits->below[TESSERA_LIMIT_SLOTS] = plan->n_slots;
}

static TesseraStatus
write_plan (TesseraNewFile *file, const TesseraPlan *plan)
{
  const TesseraRows parts[] = {
    { &tessera_plan_table, plan, 1 },
    { &tessera_phase_name_table, plan->strings, plan->n_strings },
    { &tessera_section_table, plan->sections, plan->n_sections },
    { &tessera_group_table, plan->groups, plan->n_groups },
    { &tessera_slot_table, plan->slots, plan->n_slots },
    { &tessera_plan_edit_table, plan->edits, plan->n_edits },
    { &tessera_crossing_table, plan->crossings, plan->n_crossings },
    { &tessera_room_table, plan->rooms, plan->n_rooms },
    { &tessera_region_table, plan->regions, plan->n_regions },
    { &tessera_placeless_table, plan->placeless, plan->n_placeless },
  };
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path,  &limits,
                              NULL,     file->error, plan->n_slots };
  TesseraStatus status;

  set_limits (&limits, plan);
  status = tessera_write_rows (&writer, 0, parts, sizeof parts / sizeof *parts);
  return status == TESSERA_OK && plan->lengths ? write_lengths (file, plan->lengths)
                                               : status;
}

static TesseraStatus
write_and_commit (TesseraNewFile *file, const TesseraPlan *plan)
{
  TesseraStatus status = write_plan (file, plan);

  if (status == TESSERA_OK)
    return tessera_new_file_commit (file);
  tessera_new_file_discard (file);
  return status;
}

TesseraStatus
tessera_plan_save (const TesseraPlan *plan, const char *path, TesseraError *error)
{
  TesseraNewFile file;
  TesseraStatus status =
      tessera_new_file_create (&file, path, &tessera_plan_format, PAGE_BYTES, error);

  return status == TESSERA_OK ? write_and_commit (&file, plan) : status;
}

/* Arrays of a plan have no room to spare: capacities are known while reading only. */
typedef struct
{
  TesseraPlan *plan;
  bool has_plan;
  const struct Part *part; /* whose rows come */
  size_t cap;              /* of its array */
} Load;

typedef struct Part
{
  const TesseraTable *table;
  TesseraTakeRow take;
  size_t array_at, count_at; /* in the plan */
  size_t item_bytes;
} Part;

static TesseraStatus
take_plan (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;

  if (load->has_plan)
    {
      tessera_item_clear (&tessera_plan_table, item);
      return TESSERA_BAD_INPUT;
    }
  *load->plan = *(const TesseraPlan *) item;
  load->has_plan = true;
  return TESSERA_OK;
}

/* At the end of an array of the plan's. */
static TesseraStatus
take_item (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;
  const Part *part = load->part;
  char *plan = (char *) load->plan;
  void **array = (void **) (plan + part->array_at);
  size_t *count = (size_t *) (plan + part->count_at);
  TesseraStatus status = TESSERA_OK;

  if (*count >= TESSERA_NONE)
    status = TESSERA_BAD_INPUT;
  else if (!tessera_array_reserve (array, &load->cap, *count + 1, part->item_bytes))
    status = TESSERA_NO_MEMORY;
  if (status != TESSERA_OK)
    {
      tessera_item_clear (part->table, item);
      return status;
    }
  memcpy ((char *) *array + *count * part->item_bytes, item, part->item_bytes);
  ++*count;
  return TESSERA_OK;
}

#define ITEMS(table, array, count)                                                       \
  {                                                                                      \
    &table, take_item, offsetof (TesseraPlan, array), offsetof (TesseraPlan, count),     \
        sizeof *((TesseraPlan *) NULL)->array                                            \
  }

/* As they are read: what comes later names what came before. */
static const Part parts[] = {
  { &tessera_plan_table, take_plan, 0, 0, 0 },
  ITEMS (tessera_phase_name_table, strings, n_strings),
  ITEMS (tessera_section_table, sections, n_sections),
  ITEMS (tessera_group_table, groups, n_groups),
  ITEMS (tessera_slot_table, slots, n_slots),
  ITEMS (tessera_plan_edit_table, edits, n_edits),
  ITEMS (tessera_crossing_table, crossings, n_crossings),
  ITEMS (tessera_room_table, rooms, n_rooms),
  ITEMS (tessera_region_table, regions, n_regions),
  ITEMS (tessera_placeless_table, placeless, n_placeless),
};
static_assert (offsetof (TesseraTextItem, text) == 0, "an item of strings is a string");

/* Sections and slots name each other: sections are read first, against no limit, and
 * looked at again once the slots are there. */
static TesseraStatus
check_sections (TesseraRowReader *reader, const TesseraPlan *plan)
{
  char reason[160];

  for (size_t i = 0; i < plan->n_sections; i++)
    if (!tessera_item_check (&tessera_section_table, &plan->sections[i], i,
                             &reader->limits, reason, sizeof reason))
      return tessera_fail (reader->error, TESSERA_BAD_INPUT,
                           "%s is damaged: in table section, row %zu, %s; make it again",
                           reader->path, i, reason);
  return TESSERA_OK;
}

static TesseraStatus
read_plan (TesseraRowReader *reader, Load *load)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < sizeof parts / sizeof *parts; i++)
    {
      set_limits (&reader->limits, load->plan);
      load->part = &parts[i];
      load->cap = 0;
      if (parts[i].table == &tessera_section_table)
        reader->limits.below[TESSERA_LIMIT_SLOTS] = UINT64_MAX;
      status = tessera_read_rows (reader, parts[i].table, (TesseraScope){ 0 },
                                  parts[i].take, load);
      if (status == TESSERA_OK && !load->has_plan)
        status =
            tessera_fail (reader->error, TESSERA_BAD_INPUT,
                          "%s is damaged: it holds no plan; make it again", reader->path);
    }
  set_limits (&reader->limits, load->plan);
  if (status == TESSERA_OK)
    status = check_sections (reader, load->plan);
  return status == TESSERA_OK ? read_lengths (reader, &load->plan->lengths) : status;
}

TesseraStatus
tessera_plan_load (const char *path, TesseraError *error, TesseraPlan **out_plan)
{
  Load load = { 0 };
  TesseraRowReader reader = { .path = path, .error = error };
  TesseraStatus status =
      tessera_file_open (path, &tessera_plan_format, error, &reader.db);

  *out_plan = NULL;
  if (status != TESSERA_OK)
    return status;
  status = tessera_plan_new (&load.plan);
  status = status == TESSERA_OK
               ? read_plan (&reader, &load)
               : tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "read");
  sqlite3_close (reader.db);
  if (status == TESSERA_OK)
    *out_plan = load.plan;
  else
    tessera_plan_free (load.plan);
  return status;
}
