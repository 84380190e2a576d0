/*
 * A plan into its file and back, with what it says of steps of every length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "db/store/private.h"

#define LENGTH(array) (sizeof (array) / sizeof *(array))

/* The slot at a place counted over all orders. */
static void
get_order_slot (const void *items, size_t index, void *scratch)
{
  const TesseraLengths *lengths = items;
  const TesseraOrder *order = &lengths->orders[index / lengths->n_swept];

  *(uint32_t *) scratch = order->slots[index % lengths->n_swept];
}

/* The edges of all orders, their places counted over all of them. Returns: NULL where the
 * host has no memory. */
static TesseraOrderEdge *
list_edges (const TesseraLengths *lengths, size_t *out_n_edges)
{
  TesseraOrderEdge *edges;
  size_t n = 1;

  for (uint32_t k = 0; k < lengths->n_orders; k++)
    n += lengths->orders[k].n_edges;
  edges = malloc (n * sizeof *edges);
  n = 0;
  for (uint32_t k = 0; edges && k < lengths->n_orders; k++)
    {
      const TesseraOrder *order = &lengths->orders[k];
      uint32_t first = k * lengths->n_swept;

      for (uint32_t i = 0; i < lengths->n_swept; i++)
        for (uint32_t e = order->first_edge[i]; e < order->first_edge[i + 1]; e++)
          edges[n++] = (TesseraOrderEdge){ first + i, first + order->below[e] };
    }
  *out_n_edges = n;
  return edges;
}

/* Its slots are others than the plan's: so are the limits. */
static void
set_length_limits (TesseraLimits *limits, const TesseraLengths *lengths)
{
  tessera_limits_init (limits);
  limits->below[TESSERA_LIMIT_STRINGS] = lengths->n_strings;
  limits->below[TESSERA_LIMIT_LAWS] = lengths->n_laws;
  limits->below[TESSERA_LIMIT_SLOTS] = lengths->n_slots;
}

static TesseraStatus
write_lengths (TesseraNewFile *file, const TesseraLengths *lengths)
{
  size_t n_edges;
  TesseraOrderEdge *edges = list_edges (lengths, &n_edges);
  const TesseraRows parts[] = {
    { &tessera_length_plan_table, lengths, 1 },
    { &tessera_length_step_table, lengths->observed, lengths->n_observed },
    { &tessera_length_phase_table, lengths->strings, lengths->n_strings },
    { &tessera_length_law_table, lengths->laws, lengths->n_laws },
    { &tessera_length_slot_table, lengths->slots, lengths->n_slots },
    { &tessera_start_slot_table, lengths->start, lengths->n_start },
    { &tessera_length_order_table, lengths->orders, lengths->n_orders },
    { &tessera_length_order_slot_table, lengths,
      (size_t) lengths->n_orders * lengths->n_swept, get_order_slot },
    { &tessera_length_order_edge_table, edges, n_edges },
  };
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  TesseraStatus status;

  if (!edges)
    return tessera_fail_sqlite (file->error, NULL, SQLITE_NOMEM, file->path, "write");
  set_length_limits (&limits, lengths);
  status = tessera_write_rows (&writer, 0, parts, LENGTH (parts));
  free (edges);
  return status;
}

/* An array of a plan, or of its lengths, and the table that its items are rows of. */
typedef struct
{
  const TesseraTable *table;
  uint16_t array_at, count_at;
  uint16_t count_bytes; /* uint32_t or size_t */
} Part;

#define PART(Plan, table, array, count)                                                  \
  {                                                                                      \
    &table, offsetof (Plan, array), offsetof (Plan, count),                              \
        sizeof ((Plan *) NULL)->count                                                    \
  }

/* Arrays of a plan have no room to spare: capacities are known while reading only. */
static TesseraStatus
read_part (TesseraRowReader *reader, const Part *part, size_t most, void *plan)
{
  char *count = (char *) plan + part->count_at;
  TesseraItems items = { .most = most };
  TesseraStatus status = tessera_read_items (reader, part->table, &items);

  *(void **) ((char *) plan + part->array_at) = items.items;
  if (part->count_bytes == sizeof (uint32_t))
    *(uint32_t *) count = (uint32_t) items.n;
  else
    *(size_t *) count = items.n;
  return status;
}

/* Of a table that has one row, or none. */
static TesseraStatus
read_row (TesseraRowReader *reader,
          const TesseraTable *table,
          void *item,
          bool *out_is_there)
{
  TesseraItems items = { .most = 1 };
  TesseraStatus status = tessera_read_items (reader, table, &items);

  *out_is_there = items.n > 0;
  if (items.n > 0)
    memcpy (item, items.items, table->item_bytes);
  free (items.items);
  return status;
}

typedef struct
{
  TesseraLengths *lengths;
  bool is_there;
  TesseraItems places; /* order slots, order after order */
  TesseraItems edges;
} LengthsLoad;

/* The rows of one order into their arrays. Returns: TESSERA_BAD_INPUT where an edge names
 * another order's, or comes before those of a lower slot. */
static TesseraStatus
fill_order (const LengthsLoad *load, uint32_t index, size_t *next_edge)
{
  const TesseraLengths *lengths = load->lengths;
  uint32_t n = lengths->n_swept, first = index * n;
  size_t begin = *next_edge, end = begin;
  const uint32_t *places = load->places.items;
  const TesseraOrderEdge *edges = load->edges.items;
  TesseraOrder *order = &lengths->orders[index];
  const TesseraOrder row = *order;
  TesseraStatus status;

  while (end < load->edges.n && edges[end].above < (uint64_t) first + n)
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
      order->slots[i] = places[first + i];
      order->laws[i] = lengths->slots[order->slots[i]].law;
    }
  for (size_t e = begin; e < end; e++)
    {
      const TesseraOrderEdge *edge = &edges[e];

      if (edge->below < first || edge->below >= edge->above ||
          (e > begin && edge->above < edges[e - 1].above))
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
  if (load->places.n != (uint64_t) lengths->n_orders * lengths->n_swept ||
      load->places.n >= TESSERA_NONE)
    return TESSERA_BAD_INPUT;
  for (uint32_t k = 0; k < lengths->n_orders && status == TESSERA_OK; k++)
    status = fill_order (load, k, &next_edge);
  return status == TESSERA_OK && next_edge != load->edges.n ? TESSERA_BAD_INPUT : status;
}

/* As they are read: what comes later names what came before. */
static const Part length_parts[] = {
  PART (TesseraLengths, tessera_length_step_table, observed, n_observed),
  PART (TesseraLengths, tessera_length_phase_table, strings, n_strings),
  PART (TesseraLengths, tessera_length_law_table, laws, n_laws),
  PART (TesseraLengths, tessera_length_slot_table, slots, n_slots),
  PART (TesseraLengths, tessera_start_slot_table, start, n_start),
  PART (TesseraLengths, tessera_length_order_table, orders, n_orders),
};

/* Without a row of their plan the other tables have none. */
static TesseraStatus
read_tables (TesseraRowReader *reader, LengthsLoad *load)
{
  TesseraStatus status =
      read_row (reader, &tessera_length_plan_table, load->lengths, &load->is_there);
  size_t most = load->is_there ? TESSERA_NONE : 0;

  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (length_parts); i++)
    {
      set_length_limits (&reader->limits, load->lengths);
      status = read_part (reader, &length_parts[i], most, load->lengths);
    }
  load->places.most = load->edges.most = most;
  if (status == TESSERA_OK)
    status = tessera_read_items (reader, &tessera_length_order_slot_table, &load->places);
  if (status == TESSERA_OK)
    status = tessera_read_items (reader, &tessera_length_order_edge_table, &load->edges);
  return status;
}

static TesseraStatus
read_lengths (TesseraRowReader *reader, TesseraLengths **out_lengths)
{
  LengthsLoad load = { 0 };
  char reason[96] = "its orders do not fit its slots";
  TesseraStatus status = tessera_lengths_new (&load.lengths);

  *out_lengths = NULL;
  if (status == TESSERA_OK)
    status = read_tables (reader, &load);
  if (status == TESSERA_OK && load.is_there)
    {
      status = fill_orders (&load);
      if (status == TESSERA_OK &&
          !tessera_lengths_is_sound (load.lengths, reason, sizeof reason))
        status = reason[0] != '\0' ? TESSERA_BAD_INPUT : TESSERA_NO_MEMORY;
      if (status == TESSERA_BAD_INPUT)
        tessera_fail (reader->error, status,
                      "%s is damaged: of its plan for every length, %s; make it again",
                      reader->path, reason);
    }
  if (status == TESSERA_NO_MEMORY)
    tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path, "read");
  free (load.places.items);
  free (load.edges.items);
  if (status == TESSERA_OK && load.is_there)
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
    { &tessera_unplanned_table, plan->unplanned, plan->n_unplanned },
  };
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path,  &limits,
                              NULL,     file->error, plan->n_slots };
  TesseraStatus status;

  set_limits (&limits, plan);
  status = tessera_write_rows (&writer, 0, parts, LENGTH (parts));
  return status == TESSERA_OK && plan->lengths ? write_lengths (file, plan->lengths)
                                               : status;
}

TesseraStatus
tessera_plan_save (const TesseraPlan *plan, const char *path, TesseraError *error)
{
  TesseraNewFile file;
  TesseraStatus status =
      tessera_new_file_create (&file, path, &tessera_plan_format, PAGE_BYTES, error);

  return status == TESSERA_OK ? tessera_new_file_finish (&file, write_plan (&file, plan))
                              : status;
}

/* As they are read: what comes later names what came before. */
static const Part plan_parts[] = {
  PART (TesseraPlan, tessera_phase_name_table, strings, n_strings),
  PART (TesseraPlan, tessera_section_table, sections, n_sections),
  PART (TesseraPlan, tessera_group_table, groups, n_groups),
  PART (TesseraPlan, tessera_slot_table, slots, n_slots),
  PART (TesseraPlan, tessera_plan_edit_table, edits, n_edits),
  PART (TesseraPlan, tessera_crossing_table, crossings, n_crossings),
  PART (TesseraPlan, tessera_room_table, rooms, n_rooms),
  PART (TesseraPlan, tessera_region_table, regions, n_regions),
  PART (TesseraPlan, tessera_unplanned_table, unplanned, n_unplanned),
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
read_plan (TesseraRowReader *reader, TesseraPlan *plan)
{
  bool is_there;
  TesseraStatus status = TESSERA_OK;

  set_limits (&reader->limits, plan);
  status = read_row (reader, &tessera_plan_table, plan, &is_there);
  if (status == TESSERA_OK && !is_there)
    status =
        tessera_fail (reader->error, TESSERA_BAD_INPUT,
                      "%s is damaged: it holds no plan; make it again", reader->path);
  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (plan_parts); i++)
    {
      set_limits (&reader->limits, plan);
      if (plan_parts[i].table == &tessera_section_table)
        reader->limits.below[TESSERA_LIMIT_SLOTS] = UINT64_MAX;
      status = read_part (reader, &plan_parts[i], TESSERA_NONE, plan);
    }
  set_limits (&reader->limits, plan);
  if (status == TESSERA_OK)
    status = check_sections (reader, plan);
  return status == TESSERA_OK ? read_lengths (reader, &plan->lengths) : status;
}

TesseraStatus
tessera_plan_load (const char *path, TesseraError *error, TesseraPlan **out_plan)
{
  TesseraPlan *plan = NULL;
  TesseraRowReader reader = { .path = path, .error = error };
  TesseraStatus status =
      tessera_file_open (path, &tessera_plan_format, error, &reader.db);

  *out_plan = NULL;
  if (status != TESSERA_OK)
    return status;
  status = tessera_plan_new (&plan);
  status = status == TESSERA_OK
               ? read_plan (&reader, plan)
               : tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "read");
  sqlite3_close (reader.db);
  if (status == TESSERA_OK)
    *out_plan = plan;
  else
    tessera_plan_free (plan);
  return status;
}
