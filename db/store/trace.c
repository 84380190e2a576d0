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

/* What a row may name of @trace: when reading, what was read before it. */
static void
set_limits (TesseraLimits *limits, const TesseraTrace *trace, size_t n_nodes)
{
  limits->below[TESSERA_LIMIT_STRINGS] = tessera_trace_n_strings (trace);
  limits->below[TESSERA_LIMIT_FRAMES] = trace->n_frames;
  limits->below[TESSERA_LIMIT_NODES] = n_nodes;
  limits->below[TESSERA_LIMIT_STACKS] = trace->n_stacks;
  limits->below[TESSERA_LIMIT_STREAMS] = trace->n_streams;
  limits->below[TESSERA_LIMIT_POOLS] = trace->n_pools;
  limits->below[TESSERA_LIMIT_MOMENTS] = trace->n_events + 1;
}

/* As they are read: what comes later names what came before. Texts come before all,
 * stacks between the two lists. */
static const TesseraPart tree_parts[] = {
  TESSERA_PART (TesseraStackTree, stack_node, nodes, n_nodes),
  TESSERA_PART (TesseraStackTree, stack, stack_nodes, n_stacks),
};
static const TesseraPart frame_part =
    TESSERA_PART (TesseraTrace, frame, frames, n_frames);
static const TesseraPart trace_parts[] = {
  TESSERA_PART (TesseraTrace, meta, meta, n_meta),
  TESSERA_PART (TesseraTrace, device, devices, n_devices),
  TESSERA_PART (TesseraTrace, stream, streams, n_streams),
  TESSERA_PART (TesseraTrace, pool, pools, n_pools),
  TESSERA_PART (TesseraTrace, event, events, n_events),
  TESSERA_PART (TesseraTrace, segment, start.segments, start.n_segments),
  TESSERA_PART (TesseraTrace, segment, end.segments, end.n_segments, .at_end = true),
  TESSERA_PART (TesseraTrace, held_block, start.blocks, start.n_blocks),
  TESSERA_PART (TesseraTrace, held_block, end.blocks, end.n_blocks, .at_end = true),
  TESSERA_PART (TesseraTrace, range, ranges, n_ranges),
  TESSERA_PART (TesseraTrace, tensor, tensors, n_tensors),
};

static TesseraStatus
write_trace (TesseraNewFile *file,
             const TesseraTrace *trace,
             const TesseraStackTree *tree,
             const TesseraProgress *progress)
{
  const TesseraRows rows[] = {
    { &tessera_recording_table, trace, 1 },
    { &tessera_rounding_table, trace->settings.roundup_divisions,
      LENGTH (trace->settings.roundup_divisions) },
    { &tessera_string_table, tessera_strings_all (trace->strings),
      tessera_trace_n_strings (trace) },
  };
  TesseraLimits limits = { 0 };
  TesseraRowWriter writer = { file->db, file->path,  &limits,
                              progress, file->error, trace->n_events };
  uint32_t device = trace->device;
  TesseraStatus status;

  set_limits (&limits, trace, tree->n_nodes);
  status = tessera_write_rows (&writer, device, rows, LENGTH (rows));
  if (status == TESSERA_OK)
    status = tessera_write_parts (&writer, device, trace, &frame_part, 1);
  if (status == TESSERA_OK)
    status = tessera_write_parts (&writer, device, tree, tree_parts, LENGTH (tree_parts));
  if (status == TESSERA_OK)
    status =
        tessera_write_parts (&writer, device, trace, trace_parts, LENGTH (trace_parts));
  return status;
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
  TesseraStackTree tree;
  TesseraRowReader reader;
  uint64_t n_events; /* as the file says */
} Load;

/* Equal content has one index in a trace: a row that repeats an earlier one would shift
 * all that follow. */
static TesseraStatus
fail_add (Load *load, const TesseraTable *table, TesseraStatus status, uint64_t index)
{
  return status == TESSERA_NO_MEMORY
             ? tessera_fail_sqlite (load->reader.error, NULL, SQLITE_NOMEM,
                                    load->reader.path, "read")
             : tessera_fail_row (&load->reader, table, index, TESSERA_REPEATS);
}

static TesseraStatus
read_strings (Load *load)
{
  TesseraItems items = { .most = TESSERA_NONE };
  TesseraStatus status =
      tessera_read_items (&load->reader, &tessera_string_table, false, &items);
  char **texts = items.items;

  for (size_t i = 0; i < items.n; i++)
    {
      uint32_t string = 0;

      if (status == TESSERA_OK)
        {
          status =
              tessera_trace_intern (load->trace, texts[i], strlen (texts[i]), &string);
          if (status != TESSERA_OK || string != i)
            status = fail_add (load, &tessera_string_table, status, i);
        }
      free (texts[i]);
    }
  free (texts);
  free (items.keys);
  return status;
}

static TesseraStatus
read_stacks (Load *load)
{
  TesseraStackTree *tree = &load->tree;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (tree_parts); i++)
    {
      set_limits (&load->reader.limits, load->trace, tree->n_nodes);
      status = tessera_read_part (&load->reader, &tree_parts[i], TESSERA_NONE, tree);
    }
  for (size_t i = 0; status == TESSERA_OK && i < tree->n_stacks; i++)
    {
      status = tessera_stack_tree_unfold (tree, tree->stack_nodes[i], load->trace);
      if (status != TESSERA_OK)
        status = fail_add (load, &tessera_stack_table, status, i);
    }
  return status;
}

/* What the one row of the recording says, and its rounding. */
static TesseraStatus
read_recording (Load *load)
{
  TesseraTrace *trace = load->trace;
  TesseraItems rounding = { .items = trace->settings.roundup_divisions,
                            .cap = LENGTH (trace->settings.roundup_divisions),
                            .most = LENGTH (trace->settings.roundup_divisions) };
  bool is_there;
  TesseraStatus status;

  free (trace->source);
  trace->source = NULL;
  status = tessera_read_row (&load->reader, &tessera_recording_table, trace, &is_there);
  if (status == TESSERA_OK)
    status =
        tessera_read_items (&load->reader, &tessera_rounding_table, false, &rounding);
  free (rounding.keys);
  return status;
}

/* The events; *@out_keys: of each its index in the file, where that has other devices'
 * events in between. */
static TesseraStatus
read_events (Load *load, uint32_t **out_keys)
{
  TesseraItems items = { .most = load->n_events };
  TesseraStatus status =
      tessera_read_items (&load->reader, &tessera_event_table, false, &items);

  load->trace->events = items.items;
  load->trace->n_events = items.n;
  *out_keys = items.keys;
  if (status == TESSERA_OK && items.n != load->n_events)
    return tessera_fail (load->reader.error, TESSERA_BAD_INPUT,
                         "%s is damaged: it holds %zu of %llu events; make it again",
                         load->reader.path, items.n, (unsigned long long) load->n_events);
  return status;
}

/* Of the device's own events, how many come before @key of all? */
static uint32_t
own_index (const TesseraTrace *trace, const uint32_t *keys, uint32_t key)
{
  size_t low = 0, high = trace->n_events;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (keys[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

/* Ranges and tensors are between events of all devices. */
static void
number_events (TesseraTrace *trace, const uint32_t *keys)
{
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      trace->ranges[i].begin_index =
          own_index (trace, keys, trace->ranges[i].begin_index);
      trace->ranges[i].end_index = own_index (trace, keys, trace->ranges[i].end_index);
    }
  for (size_t i = 0; i < trace->n_tensors; i++)
    trace->tensors[i].event_index =
        own_index (trace, keys, trace->tensors[i].event_index);
}

/* What no row says by itself. */
static TesseraStatus
check_trace (Load *load)
{
  TesseraTrace *trace = load->trace;
  const char *pytorch = tessera_trace_get_meta (trace, "pytorch");

  for (size_t i = 1; i < trace->n_tensors; i++)
    if (trace->tensors[i].event_index < trace->tensors[i - 1].event_index)
      return tessera_fail_row (&load->reader, &tessera_tensor_table, i, TESSERA_REPEATS);
  if (trace->n_streams == 0 || trace->n_pools == 0)
    return tessera_fail_row (&load->reader,
                             trace->n_pools ? &tessera_stream_table : &tessera_pool_table,
                             0, "it is missing");
  trace->settings.oldest_segment_first =
      pytorch != NULL && strcmp (pytorch, TESSERA_PYTORCH_2_13) == 0;
  return TESSERA_OK;
}

static TesseraStatus
read_trace (Load *load)
{
  TesseraTrace *trace = load->trace;
  TesseraRowReader *reader = &load->reader;
  uint32_t *keys = NULL;
  TesseraStatus status = read_recording (load);

  free (trace->streams);
  free (trace->pools);
  trace->streams = NULL;
  trace->pools = NULL;
  trace->n_streams = trace->cap_streams = trace->n_pools = trace->cap_pools = 0;
  if (status == TESSERA_OK)
    status = read_strings (load);
  set_limits (&reader->limits, trace, 0);
  if (status == TESSERA_OK)
    status = tessera_read_part (reader, &frame_part, TESSERA_NONE, trace);
  if (status == TESSERA_OK)
    status = read_stacks (load);
  for (size_t i = 0; status == TESSERA_OK && i < LENGTH (trace_parts); i++)
    {
      set_limits (&reader->limits, trace, 0);
      if (reader->allows_gaps)
        reader->limits.below[TESSERA_LIMIT_MOMENTS] = TESSERA_MAX_EVENTS + 1;
      status = trace_parts[i].table == &tessera_event_table
                   ? read_events (load, &keys)
                   : tessera_read_part (reader, &trace_parts[i], TESSERA_NONE, trace);
    }
  if (status == TESSERA_OK && reader->allows_gaps)
    number_events (trace, keys);
  free (keys);
  return status == TESSERA_OK ? check_trace (load) : status;
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
      reader->device = (uint32_t) sqlite3_column_int64 (statement, 0);
      load->trace->device = reader->device;
      load->n_events = (uint64_t) sqlite3_column_int64 (statement, 1);
      load->reader.n_rows = load->n_events;
      reader->allows_gaps = sqlite3_column_int (statement, 2);
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

static TesseraStatus
load_once (const char *path,
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
    status = read_trace (&load);
  tessera_stack_tree_clear (&load.tree);
  sqlite3_close (load.reader.db);
  if (status == TESSERA_OK)
    *out_trace = load.trace;
  else
    tessera_trace_free (load.trace);
  return status;
}

/* A recorder moves pages into its file after each 16 MiB: time enough for all but the
 * largest recordings. */
#define MOST_TRIES 5

TesseraStatus
tessera_trace_load (const char *path,
                    uint32_t device,
                    const TesseraProgress *progress,
                    TesseraError *error,
                    TesseraTrace **out_trace)
{
  TesseraStatus status;

  *out_trace = NULL;
  for (int i = 0; i < MOST_TRIES; i++)
    {
      const TesseraFileState before = tessera_file_state (path);

      status = load_once (path, device, progress, error, out_trace);
      const TesseraFileState after = tessera_file_state (path);
      if (status == TESSERA_CANCELLED || memcmp (&before, &after, sizeof before) == 0)
        return status;
      tessera_trace_free (*out_trace);
      *out_trace = NULL;
      if (error != NULL)
        *error = (TesseraError){ 0 };
    }
  status = tessera_file_check_idle (path, error);
  return status != TESSERA_OK
             ? status
             : tessera_fail (
                   error, TESSERA_IO,
                   "%s changes faster than it can be read; copy it and read that", path);
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
  status = tessera_read_items (&reader, &tessera_edit_table, false, &items);
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
  const TesseraLimits limits = { 0 };
  TesseraRowWriter writer = { file->db, file->path, &limits, NULL, file->error };
  int rc = sqlite3_exec (file->db, deletion, NULL, NULL, NULL);

  if (rc != SQLITE_OK)
    return tessera_fail_sqlite (file->error, file->db, rc, file->path, "write");
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
