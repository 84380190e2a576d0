/*
 * Which addresses become rows, and which blocks lie in them; rows-place.c says where.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/rows.h"

#include "db/array.h"
#include "picture/scene/big-alloc.h"
#include "planner/check/marks.h"

#include <stdlib.h>

typedef struct
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  TesseraRows *rows;
  size_t cap_rows;
} Builder;

static int
compare_u64 (uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

/* A plan's pool together, expandable spans of one owner as well, by address; the others
 * as they come. */
static int
compare_owner (const void *pa, const void *pb, void *user)
{
  const TesseraSpan *spans = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  const TesseraSpan *a = &spans[ia], *b = &spans[ib];
  int order = a->is_plan_pool - b->is_plan_pool;
  if (order == 0)
    order = a->is_expandable - b->is_expandable;
  if (order == 0 && a->is_expandable)
    order = compare_u64 (a->stream, b->stream);
  if (order == 0 && a->is_expandable)
    order = compare_u64 (a->pool, b->pool);
  if (order == 0 && a->is_expandable)
    order = a->is_small - b->is_small;
  if (order == 0)
    order = compare_u64 (a->addr, b->addr);
  return order != 0 ? order : compare_u64 (ia, ib);
}

static int
compare_span_addr (const void *pa, const void *pb, void *user)
{
  const TesseraSpan *spans = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  int order = compare_u64 (spans[ia].addr, spans[ib].addr);
  return order != 0 ? order : compare_u64 (ia, ib);
}

static int
compare_born (const void *pa, const void *pb, void *user)
{
  const TesseraSpan *spans = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  int order = compare_u64 (spans[ia].born_index, spans[ib].born_index);
  return order != 0 ? order : compare_u64 (ia, ib);
}

static int
compare_died (const void *pa, const void *pb, void *user)
{
  const TesseraSpan *spans = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  int order = compare_u64 (spans[ia].died_index, spans[ib].died_index);
  return order != 0 ? order : compare_u64 (ia, ib);
}

static uint32_t *
sorted_spans (const TesseraLayout *layout,
              int (*compare) (const void *, const void *, void *))
{
  uint32_t *order = malloc ((layout->n_spans + 1) * sizeof *order);
  if (order == NULL)
    return NULL;
  for (size_t i = 0; i < layout->n_spans; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, layout->n_spans, sizeof *order, compare, layout->spans);
  return order;
}

static TesseraRow *
add_row (Builder *builder, uint64_t addr, uint64_t size, uint32_t born, uint32_t died)
{
  TesseraRows *rows = builder->rows;
  if (!TESSERA_RESERVE (rows->rows, builder->cap_rows, rows->n_rows + 1))
    return NULL;
  TesseraRow *row = &rows->rows[rows->n_rows++];
  *row = (TesseraRow){ addr, size, 0, born, died };
  return row;
}

/* Whether @span carries on the expandable reservation that @last belongs to, or the pool.
 */
static bool
carries_on (const TesseraSpan *last, const TesseraRow *row, const TesseraSpan *span)
{
  if (last != NULL && last->is_plan_pool)
    return span->is_plan_pool;
  return last != NULL && last->is_expandable && span->is_expandable &&
         last->stream == span->stream && last->pool == span->pool &&
         last->is_small == span->is_small && span->addr <= row->addr + row->size_bytes;
}

/* Pages of a pool may never have had memory, also its first and its last ones. */
static TesseraRow *
begin_row (Builder *builder, const TesseraSpan *span)
{
  const TesseraLayout *layout = builder->layout;
  uint64_t addr = span->addr, end = span->addr + span->size_bytes;
  if (span->is_plan_pool && layout->pool_addr != 0 && layout->pool_addr < addr)
    addr = layout->pool_addr;
  if (span->is_plan_pool && addr + layout->pool_bytes > end)
    end = addr + layout->pool_bytes;
  return add_row (builder, addr, end - addr, span->born_index, span->died_index);
}

static TesseraStatus
rows_of_spans (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  uint32_t *order = sorted_spans (layout, compare_owner);
  if (order == NULL)
    return TESSERA_NO_MEMORY;
  const TesseraSpan *last = NULL;
  TesseraRow *row = NULL;
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[order[i]];
      if (carries_on (last, row, span))
        {
          uint64_t end = span->addr + span->size_bytes;
          if (end > row->addr + row->size_bytes)
            row->size_bytes = end - row->addr;
          if (span->born_index < row->born_index)
            row->born_index = span->born_index;
          if (span->died_index > row->died_index)
            row->died_index = span->died_index;
        }
      else
        row = begin_row (builder, span);
      if (row == NULL)
        {
          free (order);
          return TESSERA_NO_MEMORY;
        }
      builder->rows->row_of_span[order[i]] = (uint32_t) (builder->rows->n_rows - 1);
      last = span;
    }
  builder->rows->n_span_rows = builder->rows->n_rows;
  free (order);
  return TESSERA_OK;
}

/* ---- blocks into spans ------------------------------------------------------------ */

/* Spans alive at one moment, by address, while events pass. */
typedef struct
{
  const TesseraLayout *layout;
  uint32_t *by_born, *by_died;
  uint32_t *by_addr, *rank; /* the spans by address, and of each span its place there */
  uint64_t *addr;           /* of by_addr: a search stays in the cache */
  TesseraMarks alive;       /* ranks */
  size_t next_born, next_died;
} Sweep;

/* The span alive that begins at or below @addr and nearest to it, or NULL. */
static const TesseraSpan *
alive_below (const Sweep *sweep, uint64_t addr, uint32_t *out_span)
{
  size_t low = 0, high = sweep->layout->n_spans;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (sweep->addr[middle] <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  uint64_t rank = tessera_marks_below (&sweep->alive, low);
  if (rank == TESSERA_NO_MARK)
    return NULL;
  *out_span = sweep->by_addr[rank];
  return &sweep->layout->spans[*out_span];
}

static void
advance (Sweep *sweep, uint32_t event_index)
{
  const TesseraSpan *spans = sweep->layout->spans;
  size_t n = sweep->layout->n_spans;
  while (sweep->next_born < n &&
         spans[sweep->by_born[sweep->next_born]].born_index <= event_index)
    {
      uint32_t span = sweep->by_born[sweep->next_born++];
      if (spans[span].died_index <= event_index) /* over before anybody looked */
        continue;
      tessera_marks_add (&sweep->alive, sweep->rank[span]);
    }
  while (sweep->next_died < n &&
         spans[sweep->by_died[sweep->next_died]].died_index <= event_index)
    tessera_marks_remove (&sweep->alive, sweep->rank[sweep->by_died[sweep->next_died++]]);
}

/* Blocks come by born_index, those alive at the start first: one sweep finds all. */
static bool
place_blocks (Builder *builder, Sweep *sweep)
{
  bool all_found = true;
  for (size_t i = 0; i < builder->blocks->n_blocks; i++)
    {
      uint64_t addr = builder->layout->addr[i];
      builder->rows->block_y[i] = TESSERA_NOWHERE;
      if (addr == TESSERA_NOWHERE)
        continue;
      advance (sweep, builder->blocks->blocks[i].born_index);
      uint32_t number;
      const TesseraSpan *span = alive_below (sweep, addr, &number);
      if (span != NULL && addr - span->addr < span->size_bytes)
        {
          /* for now the number of its row, which is not placed yet */
          builder->rows->block_y[i] = builder->rows->row_of_span[number];
        }
      else
        all_found = false;
    }
  return all_found;
}

static TesseraStatus
rank_by_addr (Sweep *sweep)
{
  const TesseraLayout *layout = sweep->layout;
  sweep->by_addr = sorted_spans (layout, compare_span_addr);
  sweep->rank = malloc ((layout->n_spans + 1) * sizeof *sweep->rank);
  sweep->addr = malloc ((layout->n_spans + 1) * sizeof *sweep->addr);
  if (sweep->by_addr == NULL || sweep->rank == NULL || sweep->addr == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < layout->n_spans; i++)
    {
      sweep->rank[sweep->by_addr[i]] = i;
      sweep->addr[i] = layout->spans[sweep->by_addr[i]].addr;
    }
  return tessera_marks_init (&sweep->alive, layout->n_spans);
}

static TesseraStatus
find_rows_of_blocks (Builder *builder, bool *out_all_found)
{
  const TesseraLayout *layout = builder->layout;
  Sweep sweep = { .layout = layout };
  sweep.by_born = sorted_spans (layout, compare_born);
  sweep.by_died = sorted_spans (layout, compare_died);
  TesseraStatus status = sweep.by_born != NULL && sweep.by_died != NULL
                             ? rank_by_addr (&sweep)
                             : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    *out_all_found = place_blocks (builder, &sweep);
  free (sweep.by_born);
  free (sweep.by_died);
  free (sweep.by_addr);
  free (sweep.rank);
  free (sweep.addr);
  tessera_marks_clear (&sweep.alive);
  return status;
}

static int
compare_addr (const void *pa, const void *pb, void *user)
{
  const TesseraLayout *layout = user;
  size_t a = *(const uint32_t *) pa, b = *(const uint32_t *) pb;
  return compare_u64 (layout->addr[a], layout->addr[b]);
}

/* Blocks outside of any span: each run of addresses that they touch is a row range. */
static TesseraStatus
rows_of_lone_blocks (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  TesseraRows *rows = builder->rows;
  size_t n = 0;
  uint32_t *lone = malloc ((layout->n_blocks + 1) * sizeof *lone);
  if (lone == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < layout->n_blocks; i++)
    if (layout->addr[i] != TESSERA_NOWHERE && rows->block_y[i] == TESSERA_NOWHERE)
      lone[n++] = (uint32_t) i;
  qsort_r (lone, n, sizeof *lone, compare_addr, (void *) layout);
  TesseraRow *row = NULL;
  for (size_t i = 0; i < n; i++)
    {
      uint64_t addr = layout->addr[lone[i]], size = layout->block_bytes[lone[i]];
      if (row == NULL || addr > row->addr + row->size_bytes)
        row = add_row (builder, addr, size, 0, layout->n_events);
      else if (addr + size > row->addr + row->size_bytes)
        row->size_bytes = addr + size - row->addr;
      if (row == NULL)
        {
          free (lone);
          return TESSERA_NO_MEMORY;
        }
      rows->block_y[lone[i]] = rows->n_rows - 1;
    }
  free (lone);
  return TESSERA_OK;
}

TesseraStatus
tessera_rows_new (const TesseraBlocks *blocks,
                  const TesseraLayout *layout,
                  TesseraRows **out_rows)
{
  *out_rows = NULL;
  TesseraRows *rows = calloc (1, sizeof *rows);
  if (rows == NULL)
    return TESSERA_NO_MEMORY;
  Builder builder = { blocks, layout, rows, 0 };
  bool all_found = true;
  rows->layout = layout;
  rows->row_of_span = malloc ((layout->n_spans + 1) * sizeof *rows->row_of_span);
  rows->block_y = tessera_big_alloc (layout->n_blocks * sizeof *rows->block_y);
  TesseraStatus status =
      rows->row_of_span != NULL && rows->block_y != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    status = rows_of_spans (&builder);
  if (status == TESSERA_OK)
    status = find_rows_of_blocks (&builder, &all_found);
  if (status == TESSERA_OK && !all_found)
    status = rows_of_lone_blocks (&builder);
  if (status == TESSERA_OK)
    status = tessera_rows_place (rows);
  if (status != TESSERA_OK)
    {
      tessera_rows_free (rows);
      return status;
    }
  for (size_t i = 0; i < layout->n_blocks; i++)
    if (rows->block_y[i] != TESSERA_NOWHERE)
      {
        const TesseraRow *row = &rows->rows[rows->block_y[i]];
        rows->block_y[i] = row->y_bytes + (layout->addr[i] - row->addr);
      }
  *out_rows = rows;
  return TESSERA_OK;
}

void
tessera_rows_free (TesseraRows *rows)
{
  if (rows == NULL)
    return;
  tessera_rows_drop_blocks (rows);
  free (rows->rows);
  free (rows->row_of_span);
  free (rows);
}

void
tessera_rows_drop_blocks (TesseraRows *rows)
{
  free (rows->block_y);
  rows->block_y = NULL;
}

/* ---- asking ----------------------------------------------------------------------- */

/* The next row from number *@i on whose memory is there at an event, with the span (or
 * lone run) that is: its address and size. */
static const TesseraRow *
next_alive (const TesseraRows *rows,
            uint32_t event_index,
            size_t *i,
            uint64_t *addr,
            uint64_t *size)
{
  size_t n_spans = rows->layout->n_spans;
  for (; *i < n_spans; (*i)++)
    {
      const TesseraSpan *span = &rows->layout->spans[*i];
      if (span->born_index > event_index || span->died_index <= event_index)
        continue;
      *addr = span->addr;
      *size = span->size_bytes;
      return &rows->rows[rows->row_of_span[(*i)++]];
    }
  size_t lone = rows->n_span_rows + (*i - n_spans);
  if (lone >= rows->n_rows)
    return NULL;
  (*i)++;
  *addr = rows->rows[lone].addr;
  *size = rows->rows[lone].size_bytes;
  return &rows->rows[lone];
}

uint64_t
tessera_rows_y_of (const TesseraRows *rows, uint64_t addr, uint32_t event_index)
{
  size_t i = 0;
  uint64_t from, size;
  const TesseraRow *row;
  while ((row = next_alive (rows, event_index, &i, &from, &size)) != NULL)
    if (addr >= from && addr - from < size)
      return row->y_bytes + (addr - row->addr);
  return TESSERA_NOWHERE;
}
