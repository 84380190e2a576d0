/*
 * A plan into its file, into the file of its trace, and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/store/file.h"
#include "db/store/lengths.h"
#include "db/store/tables.h"

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

/* Its slots are others than the plan's: so are the limits. */
static TesseraStatus
write_lengths (TesseraNewFile *file, const TesseraPlan *plan)
{
  TesseraLimits limits;
  TesseraRowWriter *writer;
  TesseraStatus status;

  tessera_limits_init (&limits);
  if (plan->lengths)
    {
      limits.below[TESSERA_LIMIT_STRINGS] = plan->lengths->n_strings;
      limits.below[TESSERA_LIMIT_LAWS] = plan->lengths->n_laws;
      limits.below[TESSERA_LIMIT_SLOTS] = plan->lengths->n_slots;
    }
  status = tessera_row_writer_new (file->db, file->path, &limits, 0, NULL, file->error,
                                   &writer);
  if (status == TESSERA_OK)
    status = tessera_write_lengths (writer, plan->lengths);
  tessera_row_writer_free (writer);
  return status;
}

static TesseraStatus
write_plan (TesseraNewFile *file, const TesseraPlan *plan)
{
  const struct
  {
    const TesseraTable *table;
    TesseraRows rows;
  } parts[] = {
    { &tessera_plan_table, { plan, 1, NULL } },
    { &tessera_phase_name_table, { plan->strings, plan->n_strings, NULL } },
    { &tessera_section_table, { plan->sections, plan->n_sections, NULL } },
    { &tessera_group_table, { plan->groups, plan->n_groups, NULL } },
    { &tessera_slot_table, { plan->slots, plan->n_slots, NULL } },
    { &tessera_plan_edit_table, { plan->edits, plan->n_edits, NULL } },
    { &tessera_crossing_table, { plan->crossings, plan->n_crossings, NULL } },
    { &tessera_room_table, { plan->rooms, plan->n_rooms, NULL } },
    { &tessera_region_table, { plan->regions, plan->n_regions, NULL } },
    { &tessera_placeless_table, { plan->placeless, plan->n_placeless, NULL } },
  };
  TesseraLimits limits;
  TesseraRowWriter *writer;
  TesseraStatus status;

  set_limits (&limits, plan);
  status = tessera_row_writer_new (file->db, file->path, &limits, plan->n_slots, NULL,
                                   file->error, &writer);
  for (size_t i = 0; status == TESSERA_OK && i < sizeof parts / sizeof *parts; i++)
    status =
        tessera_write_rows (writer, parts[i].table, (TesseraScope){ 0 }, parts[i].rows);
  tessera_row_writer_free (writer);
  return status == TESSERA_OK ? write_lengths (file, plan) : status;
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
  return status == TESSERA_OK ? tessera_read_lengths (reader, &load->plan->lengths)
                              : status;
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
