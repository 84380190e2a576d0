/*
 * Which addresses become rows, where they lie, and which blocks lie in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "answers/whose.h"
#include "picture/scene/private.h"
#include "planner/check/marks.h"
#include "planner/pack.h"

#include <glib.h>
#include <stdlib.h>

#define MAX_OFFLINE_ROWS 4096
#define SLACK_PERCENT 2
#define PACK_WORK 100000 /* placements; some 20 ms */

typedef struct
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  TesseraRows *rows;
  GArray *all; /* TesseraRow: what becomes rows->rows */
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

/* By key, then by number. */
static int
compare_keys (const void *pa, const void *pb, void *user)
{
  const uint64_t *keys = user;
  uint32_t a = *(const uint32_t *) pa, b = *(const uint32_t *) pb;
  int order = compare_u64 (keys[a], keys[b]);
  return order != 0 ? order : compare_u64 (a, b);
}

/* The numbers below @n in an order. g_free() */
static uint32_t *
sorted_numbers (size_t n, int (*compare) (const void *, const void *, void *), void *user)
{
  uint32_t *order = g_new (uint32_t, n + 1);
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, n, sizeof *order, compare, user);
  return order;
}

static TesseraRow *
add_row (Builder *builder, uint64_t addr, uint64_t size, uint32_t born, uint32_t died)
{
  TesseraRow row = { addr, size, 0, born, died };
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

static void
rows_of_spans (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  g_autofree uint32_t *order =
      sorted_numbers (layout->n_spans, compare_owner, layout->spans);
  const TesseraSpan *last = NULL;
  TesseraRow *row = NULL;
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[order[i]];
      if (carries_on (last, row, span))
        {
          row->size_bytes =
              MAX (row->size_bytes, span->addr + span->size_bytes - row->addr);
          row->born_index = MIN (row->born_index, span->born_index);
          row->died_index = MAX (row->died_index, span->died_index);
        }
      else
        row = begin_row (builder, span);
      builder->rows->row_of_span[order[i]] = builder->all->len - 1;
      last = span;
    }
  builder->rows->n_span_rows = builder->all->len;
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

/* Returns: whether all were found. */
static bool
find_rows_of_blocks (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  size_t n = layout->n_spans;
  g_autofree uint32_t *rank = g_new (uint32_t, n + 1);
  g_autofree uint64_t *addr = g_new (uint64_t, n + 1); /* first the keys of a sort */
  for (size_t i = 0; i < n; i++)
    addr[i] = layout->spans[i].born_index;
  g_autofree uint32_t *by_born = sorted_numbers (n, compare_keys, addr);
  for (size_t i = 0; i < n; i++)
    addr[i] = layout->spans[i].died_index;
  g_autofree uint32_t *by_died = sorted_numbers (n, compare_keys, addr);
  for (size_t i = 0; i < n; i++)
    addr[i] = layout->spans[i].addr;
  g_autofree uint32_t *by_addr = sorted_numbers (n, compare_keys, addr);
  Sweep sweep = { layout, by_born, by_died, by_addr, rank, addr, { { NULL } }, 0, 0 };
  for (uint32_t i = 0; i < n; i++)
    {
      rank[by_addr[i]] = i;
      addr[i] = layout->spans[by_addr[i]].addr;
    }
  if (tessera_marks_init (&sweep.alive, n) != TESSERA_OK)
    g_error ("failed to allocate marks for %zu spans", n);
  bool all_found = place_blocks (builder, &sweep);
  tessera_marks_clear (&sweep.alive);
  return all_found;
}

/* Blocks outside of any span: each run of addresses that they touch is a row range. */
static void
rows_of_lone_blocks (Builder *builder)
{
  const TesseraLayout *layout = builder->layout;
  uint64_t *block_y = builder->rows->block_y;
  size_t n = 0;
  g_autofree uint32_t *lone = g_new (uint32_t, layout->n_blocks + 1);
  for (size_t i = 0; i < layout->n_blocks; i++)
    if (layout->addr[i] != TESSERA_NOWHERE && block_y[i] == TESSERA_NOWHERE)
      lone[n++] = (uint32_t) i;
  qsort_r (lone, n, sizeof *lone, compare_keys, layout->addr);
  TesseraRow *row = NULL;
  for (size_t i = 0; i < n; i++)
    {
      uint64_t addr = layout->addr[lone[i]], size = layout->block_bytes[lone[i]];
      if (row == NULL || addr > row->addr + row->size_bytes)
        row = add_row (builder, addr, size, 0, layout->n_events);
      row->size_bytes = MAX (row->size_bytes, addr + size - row->addr);
      block_y[lone[i]] = builder->all->len - 1;
    }
}

/* ---- where rows lie --------------------------------------------------------------- */

/* Where rows lie, so that nothing overlaps and everything is low.
 *
 * First fit in two orders: the longest life first (what stays for ever lies at the
 * bottom, like the floor that everything else stands on), and the order of time. The
 * first is kept unless the second is lower by more than SLACK_PERCENT. On recorded
 * traces that is as high as what was reserved nearly always; where segments came and
 * went so that it is not, the planner's packer is asked, and taken where it is lower.
 *
 * Each placement looks at all rows placed so far; beyond MAX_OFFLINE_ROWS only the order
 * of time is used, where rows whose life is over give their place back. */

typedef struct
{
  const TesseraRows *rows;
  bool *is_pool; /* [n_rows]: a plan's pool, at the bottom */
} Order;

static int
compare_time (const void *pa, const void *pb, void *user)
{
  const Order *order = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  const TesseraRow *a = &order->rows->rows[ia], *b = &order->rows->rows[ib];
  int by = order->is_pool[ib] - order->is_pool[ia];
  if (by == 0)
    by = compare_u64 (a->born_index, b->born_index);
  if (by == 0)
    by = compare_u64 (b->died_index, a->died_index);
  if (by == 0)
    by = compare_u64 (a->addr, b->addr);
  return by != 0 ? by : compare_u64 (ia, ib);
}

static int
compare_life (const void *pa, const void *pb, void *user)
{
  const Order *order = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  const TesseraRow *a = &order->rows->rows[ia], *b = &order->rows->rows[ib];
  int by = order->is_pool[ib] - order->is_pool[ia];
  if (by == 0)
    by = compare_u64 (b->died_index - b->born_index, a->died_index - a->born_index);
  return by != 0 ? by : compare_time (pa, pb, user);
}

/* The lowest gap between what was placed, by y, that @row fits into while it lives. */
static uint64_t
find_gap (const TesseraRow *placed, size_t n_placed, const TesseraRow *row)
{
  uint64_t y = 0;
  for (size_t k = 0; k < n_placed; k++)
    {
      const TesseraRow *other = &placed[k];
      if (other->died_index <= row->born_index || row->died_index <= other->born_index)
        continue;
      if (other->y_bytes >= y && other->y_bytes - y >= row->size_bytes)
        break;
      if (other->y_bytes + other->size_bytes > y)
        y = other->y_bytes + other->size_bytes;
    }
  return y;
}

/* Places rows in @order, lowest gap first; @placed is room for copies of all, by y: as they
 * are looked at for each row, they lie side by side. Returns the height. */
static uint64_t
first_fit (TesseraRow *rows, const uint32_t *order, size_t n, TesseraRow *placed)
{
  uint64_t height = 0;
  size_t n_placed = 0;
  for (size_t i = 0; i < n; i++)
    {
      TesseraRow *row = &rows[order[i]];
      row->y_bytes = find_gap (placed, n_placed, row);
      size_t place = n_placed++;
      for (; place > 0 && placed[place - 1].y_bytes > row->y_bytes; place--)
        placed[place] = placed[place - 1];
      placed[place] = *row;
      if (row->y_bytes + row->size_bytes > height)
        height = row->y_bytes + row->size_bytes;
    }
  return height;
}

static bool
is_solid (const TesseraRow *row)
{
  return row->size_bytes > 0 && row->born_index < row->died_index;
}

/* Free stretches of an endless height. */

/* In order, none beside another. A device has room for some thousand segments of 2 MiB and
 * more at once: to walk along them is fast enough. */
typedef struct
{
  uint64_t begin, end;
} Gap;

/* The beginning of the lowest gap of at least @size_bytes, which becomes smaller. Where
 * there is none (sizes near 2^64 that no memory has): 0, and nothing is taken. */
static uint64_t
take_gap (GArray *gaps, uint64_t size_bytes)
{
  for (guint i = 0; i < gaps->len; i++)
    {
      Gap *gap = &g_array_index (gaps, Gap, i);
      uint64_t begin = gap->begin;
      if (gap->end - begin < size_bytes)
        continue;
      gap->begin += size_bytes;
      if (gap->begin == gap->end)
        g_array_remove_index (gaps, i);
      return begin;
    }
  return 0;
}

/* [begin, end) was taken, is not empty, and joins what is free beside it. */
static void
give_gap (GArray *gaps, uint64_t begin, uint64_t end)
{
  guint at = 0;
  while (at < gaps->len && g_array_index (gaps, Gap, at).begin < begin)
    at++;
  Gap gap = { begin, end };
  g_array_insert_val (gaps, at, gap);
  if (at + 1 < gaps->len && g_array_index (gaps, Gap, at + 1).begin == end)
    {
      g_array_index (gaps, Gap, at).end = g_array_index (gaps, Gap, at + 1).end;
      g_array_remove_index (gaps, at + 1);
    }
  if (at > 0 && g_array_index (gaps, Gap, at - 1).end == begin)
    {
      g_array_index (gaps, Gap, at - 1).end = g_array_index (gaps, Gap, at).end;
      g_array_remove_index (gaps, at);
    }
}

/* First fit in the order of time, where all that is not over is in the way. A pool is
 * there from the beginning. Rows that are never there lie at 0. */
static void
first_fit_by_time (TesseraRows *rows, const Order *by, const uint32_t *order)
{
  size_t n = rows->n_span_rows, n_over = 0;
  g_autofree uint64_t *deaths = g_new (uint64_t, n + 1);
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (Gap));
  Gap all = { 0, UINT64_MAX };
  g_array_append_val (gaps, all);
  for (size_t i = 0; i < n; i++)
    deaths[i] = rows->rows[i].died_index;
  g_autofree uint32_t *by_death = sorted_numbers (n, compare_keys, deaths);
  rows->height_bytes = 0;
  for (size_t i = 0; i < n; i++)
    {
      TesseraRow *row = &rows->rows[order[i]], *over;
      while (!by->is_pool[order[i]] && n_over < n &&
             (over = &rows->rows[by_death[n_over]])->died_index <= row->born_index)
        {
          if (is_solid (over))
            give_gap (gaps, over->y_bytes, over->y_bytes + over->size_bytes);
          n_over++;
        }
      row->y_bytes = is_solid (row) ? take_gap (gaps, row->size_bytes) : 0;
      rows->height_bytes = MAX (rows->height_bytes, row->y_bytes + row->size_bytes);
    }
}

static bool
is_lower (uint64_t height, uint64_t than)
{
  return than > height + height / 100 * SLACK_PERCENT;
}

/* The most that is there at one moment: no placement can be lower. */
static uint64_t
row_bound (const TesseraRows *rows, uint32_t n_events)
{
  g_autofree int64_t *change = g_new0 (int64_t, (size_t) n_events + 2);
  for (size_t i = 0; i < rows->n_span_rows; i++)
    {
      const TesseraRow *row = &rows->rows[i];
      uint32_t died = MIN (row->died_index, n_events + 1);
      change[MIN (row->born_index, died)] += (int64_t) row->size_bytes;
      change[died] -= (int64_t) row->size_bytes;
    }
  return tessera_highest_sum (change, n_events + 1, NULL);
}

/* Asks the packer; rows stay as they are unless it is lower. */
static void
pack_rows (TesseraRows *rows, uint32_t n_events)
{
  size_t n = rows->n_span_rows;
  const TesseraPackOptions options = { .n_threads = 1, .work_budget = PACK_WORK };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, n + 1);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, n + 1);
  TesseraPacking packing;
  for (size_t i = 0; i < n; i++)
    {
      const TesseraRow *row = &rows->rows[i];
      items[i].size_bytes = row->size_bytes;
      items[i].begin = row->born_index;
      items[i].end = row->died_index;
      items[i].prefer_low = row->died_index - row->born_index > n_events / 2;
    }
  if (tessera_pack (items, n, &options, offsets, &packing) != TESSERA_OK ||
      !is_lower (packing.height_bytes, rows->height_bytes))
    return;
  for (size_t i = 0; i < n; i++)
    rows->rows[i].y_bytes = offsets[i];
  rows->height_bytes = packing.height_bytes;
}

/* Returns whether any row is a plan's pool. */
static bool
find_pools (const TesseraRows *rows, bool *is_pool)
{
  bool any = false;
  for (size_t i = 0; i < rows->layout->n_spans; i++)
    if (rows->layout->spans[i].is_plan_pool)
      any = is_pool[rows->row_of_span[i]] = true;
  return any;
}

/* Both orders, the better of the two. */
static void
place_in_orders (TesseraRows *rows, Order *by, uint32_t *order)
{
  size_t n = rows->n_span_rows;
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, n, sizeof *order, compare_time, by);
  if (n > MAX_OFFLINE_ROWS)
    {
      first_fit_by_time (rows, by, order);
      return;
    }
  TesseraRow placed[MAX_OFFLINE_ROWS];
  uint64_t by_time = first_fit (rows->rows, order, n, placed);
  qsort_r (order, n, sizeof *order, compare_life, by);
  rows->height_bytes = first_fit (rows->rows, order, n, placed);
  if (is_lower (by_time, rows->height_bytes))
    {
      qsort_r (order, n, sizeof *order, compare_time, by);
      rows->height_bytes = first_fit (rows->rows, order, n, placed);
    }
}

/* The packer takes no empty rows and none without life. */
static bool
all_solid (const TesseraRows *rows)
{
  for (size_t i = 0; i < rows->n_span_rows; i++)
    if (!is_solid (&rows->rows[i]))
      return false;
  return true;
}

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

static void
place_rows (TesseraRows *rows)
{
  size_t n = rows->n_span_rows;
  uint32_t n_events = rows->layout->n_events;
  g_autofree bool *is_pool = g_new0 (bool, n + 1);
  g_autofree uint32_t *order = g_new (uint32_t, n + 1);
  Order by = { rows, is_pool };
  bool has_pool = find_pools (rows, is_pool);
  place_in_orders (rows, &by, order);
  if (!has_pool && n <= MAX_OFFLINE_ROWS &&
      is_lower (row_bound (rows, n_events), rows->height_bytes) && all_solid (rows))
    pack_rows (rows, n_events);
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
  rows->block_y = tessera_big_alloc (layout->n_blocks * sizeof *rows->block_y);
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
  tessera_rows_drop_blocks (rows);
  g_free (rows->rows);
  g_free (rows->row_of_span);
  g_free (rows);
}

void
tessera_rows_drop_blocks (TesseraRows *rows)
{
  free (rows->block_y);
  rows->block_y = NULL;
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
