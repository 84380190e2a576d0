/*
 * A planning instance: id,lower,upper,size, each row a block alive over [lower, upper).
 *
 * Times become events in order; where one block ends at the time another begins, it ends
 * first. Sizes count in the file's own unit, so nothing is aligned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/csv/csv-internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "db/array.h"
#include "recorder/import/snapshot.h"

#define FIRST_ADDR ((uint64_t) 1 << 32)
#define MAX_SIZE_BYTES ((uint64_t) 1 << 60)

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
} Block;

/* A block begins or ends. */
typedef struct
{
  uint64_t at;
  uint32_t block;
  bool is_begin;
} Edge;

typedef struct
{
  TesseraCsv *csv;
  Block *blocks;
  size_t n_blocks, cap_blocks;
  Edge *edges;
  size_t n_edges, cap_edges;
  uint64_t next_addr;
  uint64_t n_empty;
} Reader;

static TesseraStatus
add_block (Reader *reader, uint64_t lower, uint64_t upper, uint64_t size_bytes)
{
  if (lower >= upper)
    return tessera_csv_refuse (reader->csv,
                               "upper is %" PRIu64 " and lower %" PRIu64
                               ": a block has to live for a while",
                               upper, lower);
  if (size_bytes > MAX_SIZE_BYTES || reader->next_addr > UINT64_MAX - 2 * MAX_SIZE_BYTES)
    return tessera_csv_refuse (reader->csv, "sizes of more than 2^60 bytes");
  if (size_bytes == 0)
    {
      reader->n_empty++;
      return TESSERA_OK;
    }
  if (reader->n_blocks >= UINT32_MAX / 4)
    return tessera_csv_refuse (reader->csv, "more than a thousand million blocks");
  if (!TESSERA_RESERVE (reader->blocks, reader->cap_blocks, reader->n_blocks + 1) ||
      !TESSERA_RESERVE (reader->edges, reader->cap_edges, reader->n_edges + 2))
    return tessera_csv_no_memory (reader->csv);
  for (int i = 0; i < 2; i++)
    reader->edges[reader->n_edges++] = (Edge){ .at = i == 0 ? lower : upper,
                                               .block = (uint32_t) reader->n_blocks,
                                               .is_begin = i == 0 };
  reader->blocks[reader->n_blocks++] =
      (Block){ .addr = reader->next_addr, .size_bytes = size_bytes };
  reader->next_addr += size_bytes;
  return tessera_csv_hold (reader->csv,
                           TESSERA_CSV_BLOCK_BYTES + 3 * TESSERA_CSV_EVENT_BYTES);
}

static TesseraStatus
read_rows (Reader *reader)
{
  static const char *const names[] = { "lower", "upper", "size" };
  TesseraCsv *csv = reader->csv;
  int columns[3];
  TesseraStatus status;

  for (int i = 0; i < 3; i++)
    columns[i] = tessera_csv_column (csv, names[i]);
  while (tessera_csv_next (csv, &status))
    {
      uint64_t numbers[3];

      for (int i = 0; i < 3 && status == TESSERA_OK; i++)
        status = tessera_csv_u64 (csv, columns[i], names[i], NULL, &numbers[i]);
      if (status == TESSERA_OK)
        status = add_block (reader, numbers[0], numbers[1], numbers[2]);
      if (status != TESSERA_OK)
        return status;
    }
  return status;
}

static int
compare_edges (const void *left, const void *right)
{
  const Edge *a = left, *b = right;

  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->is_begin != b->is_begin)
    return a->is_begin ? 1 : -1;
  return a->block < b->block ? -1 : a->block > b->block;
}

static TesseraStatus
add_events (const Reader *reader, TesseraTrace *trace)
{
  static const TesseraAction of_begin[] = { TESSERA_ALLOC };
  static const TesseraAction of_end[] = { TESSERA_FREE_REQUESTED,
                                          TESSERA_FREE_COMPLETED };

  for (size_t i = 0; i < reader->n_edges; i++)
    {
      const Edge *edge = &reader->edges[i];
      const Block *block = &reader->blocks[edge->block];
      const TesseraAction *actions = edge->is_begin ? of_begin : of_end;
      size_t n_actions = edge->is_begin ? 1 : 2;

      for (size_t k = 0; k < n_actions; k++)
        {
          TesseraEvent event = { .addr = block->addr,
                                 .size_bytes = block->size_bytes,
                                 .stack = TESSERA_NONE,
                                 .action = (uint8_t) actions[k] };

          if (tessera_trace_add_event (trace, &event) != TESSERA_OK)
            return tessera_csv_no_memory (reader->csv);
        }
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_csv_read_instance (TesseraCsv *csv, TesseraTrace *trace)
{
  Reader reader = { .csv = csv, .next_addr = FIRST_ADDR };
  TesseraStatus status = read_rows (&reader);

  if (status == TESSERA_OK && reader.n_edges > 0)
    qsort (reader.edges, reader.n_edges, sizeof *reader.edges, compare_edges);
  if (status == TESSERA_OK)
    status = add_events (&reader, trace);
  free (reader.blocks);
  free (reader.edges);
  if (status != TESSERA_OK)
    return status;
  trace->alignment_bytes = 1;
  trace->starts_empty = true;
  if (tessera_trace_set_meta (trace, "format", "CSV planning instance") != TESSERA_OK ||
      tessera_note (trace, "empty_blocks", reader.n_empty, "blocks of size 0 left out") !=
          TESSERA_OK)
    return tessera_csv_no_memory (csv);
  return TESSERA_OK;
}
