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

/* The slots of all orders, one order after the other. Returns: NULL where the host has no
 * memory. */
static uint32_t *
list_places (const TesseraLengths *lengths, size_t *out_n_places)
{
  size_t n = lengths->n_swept;
  uint32_t *places = malloc ((lengths->n_orders * n + 1) * sizeof *places);

  for (uint32_t k = 0; places && n > 0 && k < lengths->n_orders; k++)
    memcpy (places + k * n, lengths->orders[k].slots, n * sizeof *places);
  *out_n_places = lengths->n_orders * n;
  return places;
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
  limits->below[TESSERA_LIMIT_STRINGS] = lengths->n_strings;
  limits->below[TESSERA_LIMIT_LAWS] = lengths->n_laws;
  limits->below[TESSERA_LIMIT_SLOTS] = lengths->n_slots;
}

/* As they are read: what comes later names what came before. */
static const TesseraPart length_parts[] = {
  TESSERA_PART (TesseraLengths, length_step, observed, n_observed),
  TESSERA_PART (TesseraLengths, length_phase, strings, n_strings),
  TESSERA_PART (TesseraLengths, length_law, laws, n_laws),
  TESSERA_PART (TesseraLengths, length_slot, slots, n_slots),
  TESSERA_PART (TesseraLengths, start_slot, start, n_start),
  TESSERA_PART (TesseraLengths, length_order, orders, n_orders),
};

static TesseraStatus
write_lengths (TesseraNewFile *file, const TesseraLengths *lengths)
{
  size_t n_places, n_edges;
  uint32_t *places = list_places (lengths, &n_places);
  TesseraOrderEdge *edges = list_edges (lengths, &n_edges);
  const TesseraRows rows[] = {
    { &tessera_length_plan_table, lengths, 1 },
    { &tessera_length_order_slot_table, places, n_places },
    { &tessera_length_order_edge_table, edges, n_edges },
  };
  TesseraLimits limits = { 0 };
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  TesseraStatus status =
      places && edges
          ? TESSERA_OK
          : tessera_fail_sqlite (file->error, NULL, SQLITE_NOMEM, file->path, "write");

  set_length_limits (&limits, lengths);
  if (status == TESSERA_OK)
    status = tessera_write_rows (&writer, 0, rows, LENGTH (rows));
  if (status == TESSERA_OK)
    status =
        tessera_write_parts (&writer, 0, lengths, length_parts, LENGTH (length_parts));
  free (places);
  free (edges);
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
  order->in_spare = row.in_spare;
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

/* Without a row of their plan the other tables have none. */
static TesseraStatus
read_tables (TesseraRowReader *reader, LengthsLoad *load)
{
  TesseraStatus status = tessera_read_row (reader, &tessera_length_plan_table,
                                           load->lengths, &load->is_there);
  size_t most = load->is_there ? TESSERA_NONE : 0;

  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (length_parts); i++)
    {
      set_length_limits (&reader->limits, load->lengths);
      status = tessera_read_part (reader, &length_parts[i], most, load->lengths);
    }
  load->places.most = load->edges.most = most;
  if (status == TESSERA_OK)
    status = tessera_read_items (reader, &tessera_length_order_slot_table, false,
                                 &load->places);
  if (status == TESSERA_OK)
    status = tessera_read_items (reader, &tessera_length_order_edge_table, false,
                                 &load->edges);
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
  limits->below[TESSERA_LIMIT_POSITIONS] = (uint64_t) plan->n_positions + 1;
  limits->below[TESSERA_LIMIT_STRINGS] = plan->n_strings;
  limits->below[TESSERA_LIMIT_SECTIONS] = plan->n_sections;
  limits->below[TESSERA_LIMIT_GROUPS] = plan->n_groups;
  limits->below[TESSERA_LIMIT_SLOTS] = plan->n_slots;
}

/* As they are read: what comes later names what came before. */
static const TesseraPart plan_parts[] = {
  TESSERA_PART (TesseraPlan, phase_name, strings, n_strings),
  TESSERA_PART (TesseraPlan, section, sections, n_sections),
  TESSERA_PART (TesseraPlan, group, groups, n_groups),
  TESSERA_PART (TesseraPlan, slot, slots, n_slots),
  TESSERA_PART (TesseraPlan, plan_edit, edits, n_edits),
  TESSERA_PART (TesseraPlan, crossing, crossings, n_crossings),
  TESSERA_PART (TesseraPlan, room, rooms, n_rooms),
  TESSERA_PART (TesseraPlan, region, regions, n_regions),
  TESSERA_PART (TesseraPlan, unplanned, unplanned, n_unplanned),
};
static_assert (offsetof (TesseraTextItem, text) == 0, "an item of strings is a string");

static TesseraStatus
write_plan (TesseraNewFile *file, const TesseraPlan *plan)
{
  const TesseraRows row = { &tessera_plan_table, plan, 1 };
  TesseraLimits limits = { 0 };
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  TesseraStatus status;

  set_limits (&limits, plan);
  status = tessera_write_rows (&writer, 0, &row, 1);
  if (status == TESSERA_OK)
    status = tessera_write_parts (&writer, 0, plan, plan_parts, LENGTH (plan_parts));
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

/* Sections and slots name each other: sections are read first, against no limit, and
 * looked at again once the slots are there. */
static TesseraStatus
check_sections (TesseraRowReader *reader, const TesseraPlan *plan)
{
  char reason[160];

  for (size_t i = 0; i < plan->n_sections; i++)
    if (!tessera_item_check (&tessera_section_table, &plan->sections[i], i,
                             &reader->limits, reason, sizeof reason))
      return tessera_fail_row (reader, &tessera_section_table, i, reason);
  return TESSERA_OK;
}

static TesseraStatus
read_plan (TesseraRowReader *reader, TesseraPlan *plan)
{
  bool is_there;
  TesseraStatus status = TESSERA_OK;

  set_limits (&reader->limits, plan);
  status = tessera_read_row (reader, &tessera_plan_table, plan, &is_there);
  if (status == TESSERA_OK && !is_there)
    status =
        tessera_fail (reader->error, TESSERA_BAD_INPUT,
                      "%s is damaged: it holds no plan; make it again", reader->path);
  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (plan_parts); i++)
    {
      set_limits (&reader->limits, plan);
      if (plan_parts[i].table == &tessera_section_table)
        reader->limits.below[TESSERA_LIMIT_SLOTS] = UINT64_MAX;
      status = tessera_read_part (reader, &plan_parts[i], TESSERA_NONE, plan);
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
