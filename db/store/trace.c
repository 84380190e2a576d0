/*
 * A trace into its file and back, and what people changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/intern.h"
#include "db/store/private.h"

/* A file has some thirty tables and each takes a page at least: small traces get small
 * pages. Measured: 1,000 events take 47 KiB with small ones, 124 KiB with large. */
#define SMALL_TRACE_EVENTS 65536
#define SMALL_PAGE_BYTES 1024
#define LARGE_PAGE_BYTES 4096

static void
get_string (const void *items, size_t index, void *scratch)
{
  const TesseraTrace *trace = items;

  ((TesseraTextItem *) scratch)->text =
      (char *) tessera_trace_string (trace, (uint32_t) index);
}

/* What a row may name of @trace: when reading, what was read before it. */
static void
set_limits (TesseraLimits *limits, const TesseraTrace *trace, size_t n_nodes)
{
  tessera_limits_init (limits);
  limits->below[TESSERA_LIMIT_STRINGS] = tessera_trace_n_strings (trace);
  limits->below[TESSERA_LIMIT_FRAMES] = trace->n_frames;
  limits->below[TESSERA_LIMIT_NODES] = n_nodes;
  limits->below[TESSERA_LIMIT_STACKS] = trace->n_stacks;
  limits->below[TESSERA_LIMIT_STREAMS] = trace->n_streams;
  limits->below[TESSERA_LIMIT_POOLS] = trace->n_pools;
  limits->below[TESSERA_LIMIT_MOMENTS] = trace->n_events + 1;
}

static TesseraStatus
write_trace (TesseraNewFile *file,
             const TesseraTrace *trace,
             const TesseraStackTree *tree,
             const TesseraProgress *progress)
{
  const TesseraSettings *settings = &trace->settings;
  const TesseraHeld *start = &trace->start, *end = &trace->end;
  const TesseraRows parts[] = {
    { &tessera_recording_table, trace, 1 },
    { &tessera_rounding_table, settings->roundup_divisions,
      sizeof settings->roundup_divisions / sizeof (uint32_t) },
    { &tessera_meta_table, trace->meta, trace->n_meta },
    { &tessera_string_table, trace, tessera_trace_n_strings (trace), get_string },
    { &tessera_frame_table, trace->frames, trace->n_frames },
    { &tessera_stack_node_table, tree->nodes, tree->n_nodes },
    { &tessera_stack_table, tree->stack_nodes, tree->n_stacks },
    { &tessera_device_table, trace->devices, trace->n_devices },
    { &tessera_stream_table, trace->streams, trace->n_streams },
    { &tessera_pool_table, trace->pools, trace->n_pools },
    { &tessera_event_table, trace->events, trace->n_events },
    { &tessera_segment_table, start->segments, start->n_segments },
    { &tessera_segment_table, end->segments, end->n_segments, .at_end = true },
    { &tessera_held_block_table, start->blocks, start->n_blocks },
    { &tessera_held_block_table, end->blocks, end->n_blocks, .at_end = true },
    { &tessera_range_table, trace->ranges, trace->n_ranges },
    { &tessera_tensor_table, trace->tensors, trace->n_tensors },
  };
  const size_t n_parts = sizeof parts / sizeof *parts;
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path, &limits, progress, file->error };

  set_limits (&limits, trace, tree->n_nodes);
  for (size_t i = 0; i < n_parts; i++)
    writer.n_rows += parts[i].n_items;
  return tessera_write_rows (&writer, trace->device, parts, n_parts);
}

TesseraStatus
tessera_trace_save (const TesseraTrace *trace,
                    const char *path,
                    const TesseraProgress *progress,
                    TesseraError *error)
{
  TesseraNewFile file;
  TesseraStackTree tree = { 0 };
  TesseraStatus status = tessera_stack_tree_fill (&tree, trace);

  if (status != TESSERA_OK)
    tessera_fail (error, status, "Cannot save %s: %s", path,
                  status == TESSERA_NO_MEMORY ? "this machine has no memory left"
                                              : "its stacks are too long");
  else
    status = tessera_new_file_create (
        &file, path, &tessera_trace_format,
        trace->n_events < SMALL_TRACE_EVENTS ? SMALL_PAGE_BYTES : LARGE_PAGE_BYTES,
        error);
  if (status == TESSERA_OK)
    status = tessera_new_file_finish (&file, write_trace (&file, trace, &tree, progress));
  tessera_stack_tree_clear (&tree);
  return status;
}

typedef struct
{
  TesseraTrace *trace;
  TesseraHeld *held; /* where segments and blocks go now */
  TesseraStackTree tree;
  TesseraRowReader reader;
  uint64_t n_events;    /* as the file says */
  bool is_one_of_many;  /* the file has other devices' events in between */
  uint32_t *event_keys; /* then: of each event, its index in the file */
  size_t cap_event_keys;
} Load;

static TesseraStatus
take_recording (void *user, void *item, uint64_t index, uint64_t key)
{
  TesseraTrace *trace = ((Load *) user)->trace, *read = item;

  free (trace->source);
  trace->source = read->source;
  trace->device_bytes = read->device_bytes;
  trace->limit_bytes = read->limit_bytes;
  trace->alignment_bytes = read->alignment_bytes;
  trace->has_addresses = read->has_addresses;
  trace->has_segments = read->has_segments;
  trace->has_time = read->has_time;
  trace->starts_empty = read->starts_empty;
  trace->settings = read->settings;
  return index == 0 ? TESSERA_OK : TESSERA_BAD_INPUT;
}

static TesseraStatus
take_rounding (void *user, void *item, uint64_t index, uint64_t key)
{
  TesseraSettings *settings = &((Load *) user)->trace->settings;

  if (index >= sizeof settings->roundup_divisions / sizeof (uint32_t))
    return TESSERA_BAD_INPUT;
  settings->roundup_divisions[index] = *(const uint32_t *) item;
  return TESSERA_OK;
}

static TesseraStatus
take_meta (void *user, void *item, uint64_t index, uint64_t key)
{
  TesseraTrace *trace = ((Load *) user)->trace;
  TesseraMeta *meta = item;
  TesseraStatus status = TESSERA_BAD_INPUT;

  if (!tessera_trace_get_meta (trace, meta->key))
    status = tessera_trace_set_meta (trace, meta->key, meta->value);
  tessera_item_clear (&tessera_meta_table, item);
  return status;
}

/* Equal content has one index in a trace: a row that repeats an earlier one would shift
 * all that follow. */
static TesseraStatus
must_be_new (TesseraStatus status, uint32_t added, uint64_t index)
{
  return status == TESSERA_OK && added != index ? TESSERA_BAD_INPUT : status;
}

static TesseraStatus
take_string (void *user, void *item, uint64_t index, uint64_t key)
{
  const char *text = ((TesseraTextItem *) item)->text;
  uint32_t string = 0;
  TesseraStatus status =
      tessera_trace_intern (((Load *) user)->trace, text, strlen (text), &string);

  tessera_item_clear (&tessera_string_table, item);
  return must_be_new (status, string, index);
}

static TesseraStatus
take_frame (void *user, void *item, uint64_t index, uint64_t key)
{
  uint32_t frame = 0;
  TesseraStatus status = tessera_trace_add_frame (((Load *) user)->trace, item, &frame);

  return must_be_new (status, frame, index);
}

static TesseraStatus
take_stack_node (void *user, void *item, uint64_t index, uint64_t key)
{
  TesseraStackTree *tree = &((Load *) user)->tree;

  if (tree->n_nodes >= TESSERA_NONE)
    return TESSERA_BAD_INPUT;
  if (!TESSERA_RESERVE (tree->nodes, tree->cap_nodes, tree->n_nodes + 1))
    return TESSERA_NO_MEMORY;
  tree->nodes[tree->n_nodes++] = *(const TesseraStackNode *) item;
  return TESSERA_OK;
}

static TesseraStatus
take_stack (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;

  return tessera_stack_tree_unfold (&load->tree, *(const uint32_t *) item, load->trace);
}

static TesseraStatus
take_device (void *user, void *item, uint64_t index, uint64_t key)
{
  return tessera_trace_add_device (((Load *) user)->trace, item);
}

static TesseraStatus
take_stream (void *user, void *item, uint64_t index, uint64_t key)
{
  uint16_t stream = 0;
  TesseraStatus status = tessera_trace_add_stream (((Load *) user)->trace,
                                                   *(const uint64_t *) item, &stream);

  return must_be_new (status, stream, index);
}

static TesseraStatus
take_pool (void *user, void *item, uint64_t index, uint64_t key)
{
  uint16_t pool = 0;
  TesseraStatus status = tessera_trace_add_pool (((Load *) user)->trace,
                                                 *(const TesseraPoolId *) item, &pool);

  return must_be_new (status, pool, index);
}

static TesseraStatus
take_event (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;

  if (key >= TESSERA_MAX_EVENTS || (!load->is_one_of_many && key != index))
    return TESSERA_BAD_INPUT;
  if (load->is_one_of_many)
    {
      if (!TESSERA_RESERVE (load->event_keys, load->cap_event_keys, index + 1))
        return TESSERA_NO_MEMORY;
      load->event_keys[index] = (uint32_t) key;
    }
  return tessera_trace_add_event (load->trace, item);
}

static TesseraStatus
take_segment (void *user, void *item, uint64_t index, uint64_t key)
{
  return tessera_trace_add_segment (((Load *) user)->held, item);
}

static TesseraStatus
take_held_block (void *user, void *item, uint64_t index, uint64_t key)
{
  return tessera_trace_add_block (((Load *) user)->held, item);
}

/* Of the device's own events, how many come before @key of all? */
static uint32_t
own_index (const Load *load, uint32_t key)
{
  size_t low = 0, high = load->trace->n_events;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (load->event_keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

static TesseraStatus
take_range (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;
  TesseraRange *range = item;

  if (load->is_one_of_many)
    {
      range->begin_index = own_index (load, range->begin_index);
      range->end_index = own_index (load, range->end_index);
    }
  return tessera_trace_add_range (load->trace, range);
}

static TesseraStatus
take_tensor (void *user, void *item, uint64_t index, uint64_t key)
{
  Load *load = user;
  TesseraTensor *tensor = item;

  if (load->is_one_of_many)
    tensor->event_index = own_index (load, tensor->event_index);
  return tessera_trace_add_tensor (load->trace, tensor);
}

static TesseraStatus
read_parts (Load *load)
{
  static const struct
  {
    const TesseraTable *table;
    bool at_end;
    TesseraTakeRow take;
  } parts[] = { { &tessera_recording_table, false, take_recording },
                { &tessera_rounding_table, false, take_rounding },
                { &tessera_meta_table, false, take_meta },
                { &tessera_string_table, false, take_string },
                { &tessera_frame_table, false, take_frame },
                { &tessera_stack_node_table, false, take_stack_node },
                { &tessera_stack_table, false, take_stack },
                { &tessera_device_table, false, take_device },
                { &tessera_stream_table, false, take_stream },
                { &tessera_pool_table, false, take_pool },
                { &tessera_event_table, false, take_event },
                { &tessera_segment_table, false, take_segment },
                { &tessera_segment_table, true, take_segment },
                { &tessera_held_block_table, false, take_held_block },
                { &tessera_held_block_table, true, take_held_block },
                { &tessera_range_table, false, take_range },
                { &tessera_tensor_table, false, take_tensor } };
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < sizeof parts / sizeof *parts; i++)
    {
      TesseraScope scope = { .device = load->trace->device, .at_end = parts[i].at_end };

      set_limits (&load->reader.limits, load->trace, load->tree.n_nodes);
      if (load->is_one_of_many)
        load->reader.limits.below[TESSERA_LIMIT_MOMENTS] = TESSERA_MAX_EVENTS + 1;
      load->held = parts[i].at_end ? &load->trace->end : &load->trace->start;
      status =
          tessera_read_rows (&load->reader, parts[i].table, scope, parts[i].take, load);
    }
  if (status == TESSERA_OK && load->trace->n_events != load->n_events)
    status = tessera_fail (load->reader.error, TESSERA_BAD_INPUT,
                           "%s is damaged: it holds %zu of %llu events; make it again",
                           load->reader.path, load->trace->n_events,
                           (unsigned long long) load->n_events);
  return status;
}

/* Sets the trace's device to @device, or to the one with most events. */
static TesseraStatus
choose_device (Load *load, uint32_t device)
{
  TesseraRowReader *reader = &load->reader;
  sqlite3_stmt *statement = NULL;
  TesseraStatus status = TESSERA_OK;
  int rc = sqlite3_prepare_v2 (reader->db,
                               "SELECT device, n_events,"
                               " (SELECT count(*) > 1 FROM recording) FROM recording"
                               " WHERE ?1 IN (device, -1) AND device BETWEEN 0 AND ?2"
                               " AND n_events >= 0"
                               " ORDER BY n_events DESC, device LIMIT 1",
                               -1, &statement, NULL);

  if (rc == SQLITE_OK)
    rc =
        sqlite3_bind_int64 (statement, 1, device == TESSERA_NONE ? -1 : (int64_t) device);
  if (rc == SQLITE_OK)
    rc = sqlite3_bind_int64 (statement, 2, TESSERA_NONE - 1);
  if (rc == SQLITE_OK)
    rc = sqlite3_step (statement);
  if (rc == SQLITE_ROW)
    {
      load->trace->device = (uint32_t) sqlite3_column_int64 (statement, 0);
      load->n_events = (uint64_t) sqlite3_column_int64 (statement, 1);
      load->reader.n_rows = load->n_events;
      load->is_one_of_many = sqlite3_column_int (statement, 2);
    }
  else if (rc != SQLITE_DONE)
    status = tessera_fail_sqlite (reader->error, reader->db, rc, reader->path, "read");
  else if (device == TESSERA_NONE)
    status = tessera_fail (reader->error, TESSERA_BAD_INPUT,
                           "%s is damaged: it holds no recording; make it again",
                           reader->path);
  else
    status = tessera_fail (reader->error, TESSERA_INVALID,
                           "%s holds no recording of device %u; leave the device out to"
                           " take the one with most events",
                           reader->path, device);
  sqlite3_finalize (statement);
  return status;
}

TesseraStatus
tessera_trace_load (const char *path,
                    uint32_t device,
                    const TesseraProgress *progress,
                    TesseraError *error,
                    TesseraTrace **out_trace)
{
  Load load = { .reader = { .path = path, .progress = progress, .error = error } };
  TesseraStatus status;

  *out_trace = NULL;
  status = tessera_file_open (path, &tessera_trace_format, error, &load.reader.db);
  if (status != TESSERA_OK)
    return status;
  status = tessera_trace_new (&load.trace);
  if (status != TESSERA_OK)
    tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "read");
  if (status == TESSERA_OK)
    status = choose_device (&load, device);
  if (status == TESSERA_OK)
    status = read_parts (&load);
  tessera_stack_tree_clear (&load.tree);
  free (load.event_keys);
  sqlite3_close (load.reader.db);
  if (status == TESSERA_OK)
    *out_trace = load.trace;
  else
    tessera_trace_free (load.trace);
  return status;
}

TesseraStatus
tessera_trace_load_edits (const char *trace_path,
                          TesseraError *error,
                          TesseraStoredEdit **out_edits,
                          size_t *out_n_edits)
{
  TesseraItems items = { .most = TESSERA_NONE };
  TesseraRowReader reader = { .path = trace_path, .error = error };
  TesseraStatus status =
      tessera_file_open (trace_path, &tessera_trace_format, error, &reader.db);

  *out_edits = NULL;
  *out_n_edits = 0;
  if (status != TESSERA_OK)
    return status;
  tessera_limits_init (&reader.limits);
  status = tessera_read_items (&reader, &tessera_edit_table, &items);
  sqlite3_close (reader.db);
  if (status != TESSERA_OK)
    {
      tessera_stored_edits_free (items.items, items.n);
      return status;
    }
  *out_edits = items.items;
  *out_n_edits = items.n;
  return TESSERA_OK;
}

static TesseraStatus
write_table (TesseraNewFile *file, const TesseraRows *rows, const char *deletion)
{
  TesseraLimits limits;
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  int rc = sqlite3_exec (file->db, deletion, NULL, NULL, NULL);

  if (rc != SQLITE_OK)
    return tessera_fail_sqlite (file->error, file->db, rc, file->path, "write");
  tessera_limits_init (&limits);
  return tessera_write_rows (&writer, 0, rows, 1);
}

static TesseraStatus
replace_table (const char *trace_path,
               const TesseraRows *rows,
               const char *deletion,
               TesseraError *error)
{
  TesseraNewFile file;
  TesseraStatus status =
      tessera_new_file_copy (&file, trace_path, &tessera_trace_format, error);

  if (status != TESSERA_OK)
    return status;
  return tessera_new_file_finish (&file, write_table (&file, rows, deletion));
}

TesseraStatus
tessera_trace_save_edits (const char *trace_path,
                          const TesseraStoredEdit *edits,
                          size_t n_edits,
                          TesseraError *error)
{
  const TesseraRows rows = { &tessera_edit_table, edits, n_edits };

  return replace_table (trace_path, &rows, "DELETE FROM edit", error);
}

TesseraStatus
tessera_trace_save_meta (const TesseraTrace *trace,
                         const char *trace_path,
                         TesseraError *error)
{
  const TesseraRows rows = { &tessera_meta_table, trace->meta, trace->n_meta };

  return replace_table (trace_path, &rows, "DELETE FROM meta", error);
}

void
tessera_stored_edits_free (TesseraStoredEdit *edits, size_t n_edits)
{
  for (size_t i = 0; i < n_edits; i++)
    tessera_item_clear (&tessera_edit_table, &edits[i]);
  free (edits);
}
