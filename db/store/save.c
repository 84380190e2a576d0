/*
 * A trace into its file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <stddef.h>

#include "db/store/file.h"
#include "db/stack-tree.h"
#include "db/store/tables.h"

/* A file has some thirty tables and each takes a page at least: small traces get small
 * pages. Measured: 1,000 events take 47 KiB with small ones, 124 KiB with large. */
#define SMALL_TRACE_EVENTS 65536
#define SMALL_PAGE_BYTES 1024
#define LARGE_PAGE_BYTES 4096

typedef struct
{
  const TesseraTable *table;
  bool at_end;
  TesseraRows rows;
} Part;

#define MAX_PARTS 20

static void
get_string (const void *items, size_t index, void *scratch)
{
  const TesseraTrace *trace = items;

  ((TesseraTextItem *) scratch)->text =
      (char *) tessera_trace_string (trace, (uint32_t) index);
}

static TesseraLimits
limits_of (const TesseraTrace *trace, const TesseraStackTree *tree)
{
  TesseraLimits limits;

  tessera_limits_init (&limits);
  limits.below[TESSERA_LIMIT_STRINGS] = tessera_trace_n_strings (trace);
  limits.below[TESSERA_LIMIT_FRAMES] = trace->n_frames;
  limits.below[TESSERA_LIMIT_NODES] = tree->n_nodes;
  limits.below[TESSERA_LIMIT_STACKS] = trace->n_stacks;
  limits.below[TESSERA_LIMIT_STREAMS] = trace->n_streams;
  limits.below[TESSERA_LIMIT_POOLS] = trace->n_pools;
  limits.below[TESSERA_LIMIT_MOMENTS] = trace->n_events + 1;
  return limits;
}

#define ROWS(array, n)                                                                   \
  {                                                                                      \
    .items = (array), .n_items = (n)                                                     \
  }

static size_t
list_parts (const TesseraTrace *trace, const TesseraStackTree *tree, Part *parts)
{
  const TesseraSettings *settings = &trace->settings;
  const Part all[] = {
    { &tessera_recording_table, .rows = ROWS (trace, 1) },
    { &tessera_rounding_table,
      .rows = ROWS (settings->roundup_divisions,
                    sizeof settings->roundup_divisions / sizeof (uint32_t)) },
    { &tessera_meta_table, .rows = ROWS (trace->meta, trace->n_meta) },
    { &tessera_string_table,
      .rows = { trace, tessera_trace_n_strings (trace), get_string } },
    { &tessera_frame_table, .rows = ROWS (trace->frames, trace->n_frames) },
    { &tessera_stack_node_table, .rows = ROWS (tree->nodes, tree->n_nodes) },
    { &tessera_stack_table, .rows = ROWS (tree->stack_nodes, tree->n_stacks) },
    { &tessera_device_table, .rows = ROWS (trace->devices, trace->n_devices) },
    { &tessera_stream_table, .rows = ROWS (trace->streams, trace->n_streams) },
    { &tessera_pool_table, .rows = ROWS (trace->pools, trace->n_pools) },
    { &tessera_event_table, .rows = ROWS (trace->events, trace->n_events) },
    { &tessera_segment_table,
      .rows = ROWS (trace->start.segments, trace->start.n_segments) },
    { &tessera_segment_table, true, ROWS (trace->end.segments, trace->end.n_segments) },
    { &tessera_held_block_table,
      .rows = ROWS (trace->start.blocks, trace->start.n_blocks) },
    { &tessera_held_block_table, true, ROWS (trace->end.blocks, trace->end.n_blocks) },
    { &tessera_range_table, .rows = ROWS (trace->ranges, trace->n_ranges) },
  };

  _Static_assert(sizeof all / sizeof *all <= MAX_PARTS, "more parts than there is room");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    parts[i] = all[i];
  return sizeof all / sizeof *all;
}

static TesseraStatus
write_parts (TesseraNewFile *file,
             const TesseraTrace *trace,
             const TesseraStackTree *tree,
             const TesseraProgress *progress)
{
  Part parts[MAX_PARTS];
  size_t n_parts = list_parts (trace, tree, parts);
  TesseraLimits limits = limits_of (trace, tree);
  TesseraRowWriter *writer;
  uint64_t n_rows = 0;
  TesseraStatus status;

  for (size_t i = 0; i < n_parts; i++)
    n_rows += parts[i].rows.n_items;
  status = tessera_row_writer_new (file->db, file->path, &limits, n_rows, progress,
                                   file->error, &writer);
  for (size_t i = 0; status == TESSERA_OK && i < n_parts; i++)
    status = tessera_write_rows (
        writer, parts[i].table,
        (TesseraScope){ .device = trace->device, .at_end = parts[i].at_end },
        parts[i].rows);
  tessera_row_writer_free (writer);
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
    {
      status = write_parts (&file, trace, &tree, progress);
      if (status == TESSERA_OK)
        status = tessera_new_file_commit (&file);
      else
        tessera_new_file_discard (&file);
    }
  tessera_stack_tree_clear (&tree);
  return status;
}
