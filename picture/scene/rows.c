/*
 * Which addresses become rows, where they lie, and which blocks lie in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/private.h"
#include "planner/memory.h"
#include "planner/pack.h"

/* Placements: real traces need a few hundred, and the worst that were made take half a second. */
#define PACK_WORK 100000

typedef struct
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  TesseraRows *rows;
  GArray *all; /* TesseraRow: what becomes rows->rows */
} Builder;

/* Equal of spans that may be one row: those of a plan's pool, and expandable ones of one owner. */
static uint64_t
owner_of (const TesseraSpan *span)
{
  uint64_t owner = (uint64_t) span->is_plan_pool << 63 | (uint64_t) span->is_expandable
                                                             << 62;
  if (span->is_expandable)
    owner |= (uint64_t) span->stream << 32 | (uint64_t) span->pool << 16 | span->is_small;
  return owner;
}

static TesseraRow *
add_row (Builder *builder, uint64_t addr, uint64_t size, uint32_t born, uint32_t died)
{
  TesseraRow row = { addr, size, 0, born, died, false };
  g_array_append_val (builder->all, row);
  return &g_array_index (builder->all, TesseraRow, builder->all->len - 1);
}

/* Whether @span carries on the expandable reservation that @last belongs to, or the pool.
 */
static bool
carries_on (const TesseraSpan *last, const TesseraRow *row, const TesseraSpan *span)
{
  if (last != NULL && last->is_plan_pool)
    return span->is_plan_pool;
  return last != NULL && last->is_expandable && owner_of (last) == owner_of (span) &&
         span->addr <= row->addr + row->size_bytes;
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
  TesseraRow *row =
      add_row (builder, addr, end - addr, span->born_index, span->died_index);
  row->is_pool = span->is_plan_pool;
  return row;
}

static void
rows_of_spans (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  g_autofree TesseraKeyed *order = g_new (TesseraKeyed, layout->n_spans + 1);
  const TesseraSpan *last = NULL;
  TesseraRow *row = NULL;
  /* By owner, then by address: equals stay as they are. */
  for (size_t i = 0; i < layout->n_spans; i++)
    order[i] = (TesseraKeyed){ layout->spans[i].addr, (uint32_t) i };
  tessera_sort (order, layout->n_spans);
  for (size_t i = 0; i < layout->n_spans; i++)
    order[i].key = owner_of (&layout->spans[order[i].value]);
  tessera_sort (order, layout->n_spans);
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[order[i].value];
      if (carries_on (last, row, span))
        {
          row->size_bytes =
              MAX (row->size_bytes, span->addr + span->size_bytes - row->addr);
          row->born_index = MIN (row->born_index, span->born_index);
          row->died_index = MAX (row->died_index, span->died_index);
        }
      else
        row = begin_row (builder, span);
      builder->rows->row_of_span[order[i].value] = builder->all->len - 1;
      last = span;
    }
  builder->rows->n_span_rows = builder->all->len;
}

/* ---- blocks into spans ------------------------------------------------------------ */

/* The last spans by address, while events pass: none below another that is alive. */
typedef struct
{
  const TesseraLayout *layout;
  GTree *last; /* address -> span */
  size_t next;
} Sweep;

static int
compare_addresses (gconstpointer a, gconstpointer b, gpointer unused)
{
  return (GPOINTER_TO_SIZE (a) > GPOINTER_TO_SIZE (b)) -
         (GPOINTER_TO_SIZE (a) < GPOINTER_TO_SIZE (b));
}

/* The span alive at an event that holds @addr; n_spans: none does. */
static size_t
find_span (const Sweep *sweep, uint64_t addr, uint32_t event_index)
{
  GTreeNode *node = g_tree_upper_bound (sweep->last, GSIZE_TO_POINTER (addr));
  node = node != NULL ? g_tree_node_previous (node) : g_tree_node_last (sweep->last);
  if (node == NULL)
    return sweep->layout->n_spans;
  size_t number = GPOINTER_TO_SIZE (g_tree_node_value (node));
  const TesseraSpan *span = &sweep->layout->spans[number];
  return span->died_index > event_index && addr - span->addr < span->size_bytes
             ? number
             : sweep->layout->n_spans;
}

/* What a new span takes the place of is over. */
static void
advance (Sweep *sweep, uint32_t event_index)
{
  for (; sweep->next < sweep->layout->n_spans; sweep->next++)
    {
      const TesseraSpan *span = &sweep->layout->spans[sweep->next];
      GTreeNode *node;
      if (span->born_index > event_index)
        break;
      if (span->died_index <= event_index) /* over before anybody looked */
        continue;
      while ((node = g_tree_lower_bound (sweep->last, GSIZE_TO_POINTER (span->addr))) !=
                 NULL &&
             GPOINTER_TO_SIZE (g_tree_node_key (node)) < span->addr + span->size_bytes)
        g_tree_remove (sweep->last, g_tree_node_key (node));
      g_tree_insert (sweep->last, GSIZE_TO_POINTER (span->addr),
                     GSIZE_TO_POINTER (sweep->next));
    }
}

/* Blocks come by born_index, those alive at the start first, and spans too: one sweep finds
 * all. Returns: whether all were found. */
static bool
find_rows_of_blocks (Builder *builder)
{
  g_autoptr (GTree) last = g_tree_new_full (compare_addresses, NULL, NULL, NULL);
  Sweep sweep = { builder->layout, last, 0 };
  bool all_found = true;
  for (size_t i = 0; i < builder->blocks->n_blocks; i++)
    {
      uint64_t addr = builder->layout->addr[i];
      builder->rows->block_y[i] = TESSERA_NOWHERE;
      if (addr == TESSERA_NOWHERE)
        continue;
      uint32_t born = builder->blocks->blocks[i].born_index;
      advance (&sweep, born);
      size_t span = find_span (&sweep, addr, born);
      if (span < builder->layout->n_spans)
        /* for now the number of its row, which is not placed yet */
        builder->rows->block_y[i] = builder->rows->row_of_span[span];
      else
        all_found = false;
    }
  return all_found;
}

/* Blocks outside of any span: each run of addresses that they touch is a row range. */
static void
rows_of_lone_blocks (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  uint64_t *block_y = builder->rows->block_y;
  size_t n = 0;
  g_autofree TesseraKeyed *lone = g_new (TesseraKeyed, layout->n_blocks + 1);
  for (size_t i = 0; i < layout->n_blocks; i++)
    if (layout->addr[i] != TESSERA_NOWHERE && block_y[i] == TESSERA_NOWHERE)
      lone[n++] = (TesseraKeyed){ layout->addr[i], (uint32_t) i };
  tessera_sort (lone, n);
  TesseraRow *row = NULL;
  for (size_t i = 0; i < n; i++)
    {
      uint64_t addr = lone[i].key, size = layout->block_bytes[lone[i].value];
      if (row == NULL || addr > row->addr + row->size_bytes)
        row = add_row (builder, addr, size, 0, layout->n_events);
      row->size_bytes = MAX (row->size_bytes, addr + size - row->addr);
      block_y[lone[i].value] = builder->all->len - 1;
    }
}

/* ---- where rows lie --------------------------------------------------------------- */

/* Runs of blocks outside of any span are there all the time: one above the other. */
static void
stack_lone_rows (TesseraRows *rows)
{
  for (size_t i = rows->n_span_rows; i < rows->n_rows; i++)
    {
      rows->rows[i].y_bytes = rows->height_bytes;
      rows->height_bytes += rows->rows[i].size_bytes;
    }
}

/* Asks the planner's packer, so that nothing overlaps and everything is low. What is there most of
 * the time lies at the bottom, like the floor that all else stands on; a plan's pool begins at 0.
 * Rows that are never there lie at 0, and so do all if sizes are beyond any memory. */
static void
place_rows (TesseraRows *rows)
{
  const TesseraPackOptions options = { .work_budget = PACK_WORK };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, rows->n_span_rows + 1);
  g_autofree TesseraRow **placed = g_new (TesseraRow *, rows->n_span_rows + 1);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, rows->n_span_rows + 1);
  TesseraPacking packing;
  size_t n = 0;
  for (size_t i = 0; i < rows->n_span_rows; i++)
    {
      TesseraRow *row = &rows->rows[i];
      uint32_t life = row->died_index - MIN (row->born_index, row->died_index);
      if (row->size_bytes == 0 || life == 0)
        continue;
      items[n] = (TesseraItem){ .size_bytes = row->size_bytes,
                                .begin = row->born_index,
                                .end = row->died_index,
                                .is_pinned = row->is_pool,
                                .prefer_low = life > rows->layout->n_events / 2 };
      placed[n++] = row;
    }
  if (tessera_pack (items, n, &options, offsets, &packing) == TESSERA_OK)
    for (size_t i = 0; i < n; i++)
      placed[i]->y_bytes = offsets[i];
  for (size_t i = 0; i < rows->n_span_rows; i++)
    rows->height_bytes =
        MAX (rows->height_bytes, rows->rows[i].y_bytes + rows->rows[i].size_bytes);
  stack_lone_rows (rows);
}

/* ---- all of it -------------------------------------------------------------------- */

TesseraRows *
tessera_rows_new (const TesseraBlocks *blocks, const TesseraLayout *layout)
{
  TesseraRows *rows = g_new0 (TesseraRows, 1);
  Builder builder = { blocks, layout, rows,
                      g_array_new (FALSE, FALSE, sizeof (TesseraRow)) };
  rows->layout = layout;
  rows->row_of_span = g_new (uint32_t, layout->n_spans + 1);
  rows->block_y = g_new (uint64_t, layout->n_blocks);
  rows_of_spans (&builder);
  if (!find_rows_of_blocks (&builder))
    rows_of_lone_blocks (&builder);
  rows->n_rows = builder.all->len;
  rows->rows = (TesseraRow *) (void *) g_array_free (builder.all, FALSE);
  place_rows (rows);
  for (size_t i = 0; i < layout->n_blocks; i++)
    if (rows->block_y[i] != TESSERA_NOWHERE)
      {
        const TesseraRow *row = &rows->rows[rows->block_y[i]];
        rows->block_y[i] = row->y_bytes + (layout->addr[i] - row->addr);
      }
  return rows;
}

void
tessera_rows_free (TesseraRows *rows)
{
  if (rows == NULL)
    return;
  g_free (rows->block_y);
  g_free (rows->rows);
  g_free (rows->row_of_span);
  g_free (rows);
}

/* ---- asking ----------------------------------------------------------------------- */

uint64_t
tessera_rows_y_of (const TesseraRows *rows, uint64_t addr, uint32_t event_index)
{
  for (size_t i = 0; i < rows->layout->n_spans; i++)
    {
      const TesseraSpan *span = &rows->layout->spans[i];
      const TesseraRow *row = &rows->rows[rows->row_of_span[i]];
      if (span->born_index <= event_index && event_index < span->died_index &&
          addr >= span->addr && addr - span->addr < span->size_bytes)
        return row->y_bytes + (addr - row->addr);
    }
  for (size_t i = rows->n_span_rows; i < rows->n_rows; i++)
    {
      const TesseraRow *row = &rows->rows[i];
      if (addr >= row->addr && addr - row->addr < row->size_bytes)
        return row->y_bytes + (addr - row->addr);
    }
  return TESSERA_NOWHERE;
}
