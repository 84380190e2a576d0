/*
 * Where rows lie, so that nothing overlaps and everything is low.
 *
 * First fit in two orders: the longest life first (what stays for ever lies at the
 * bottom, like the floor that everything else stands on), and the order of time. The
 * first is kept unless the second is lower by more than SLACK_PERCENT. On recorded
 * traces that is as high as what was reserved nearly always; where segments came and
 * went so that it is not, the planner's packer is asked, and taken where it is lower.
 *
 * Each placement looks at all rows placed so far; beyond MAX_OFFLINE_ROWS only the order
 * of time is used, where rows whose life is over give their place back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/gaps.h"
#include "picture/scene/rows.h"
#include "planner/pack.h"

#include <stdlib.h>

#define MAX_OFFLINE_ROWS 4096
#define SLACK_PERCENT 2
#define PACK_WORK 100000 /* placements; some 20 ms */

static int
compare_u64 (uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

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

/* A row that has its place: side by side in memory, as all of them are looked at for
 * each row that is placed. */
typedef struct
{
  uint64_t y_bytes;
  uint64_t size_bytes;
  uint32_t born_index;
  uint32_t died_index;
} Placed;

/* The lowest gap between what was placed, by y, that @row fits into while it lives. */
static uint64_t
find_gap (const Placed *placed, size_t n_placed, const TesseraRow *row)
{
  uint64_t y = 0;
  for (size_t k = 0; k < n_placed; k++)
    {
      const Placed *other = &placed[k];
      if (other->died_index <= row->born_index || row->died_index <= other->born_index)
        continue;
      if (other->y_bytes >= y && other->y_bytes - y >= row->size_bytes)
        break;
      if (other->y_bytes + other->size_bytes > y)
        y = other->y_bytes + other->size_bytes;
    }
  return y;
}

/* Places rows in @order, lowest gap first; @placed is room for n_rows, kept by y. Returns
 * the height. */
static uint64_t
first_fit (TesseraRow *rows, const uint32_t *order, size_t n, Placed *placed)
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
      placed[place] =
          (Placed){ row->y_bytes, row->size_bytes, row->born_index, row->died_index };
      if (row->y_bytes + row->size_bytes > height)
        height = row->y_bytes + row->size_bytes;
    }
  return height;
}

static int
compare_death (const void *pa, const void *pb, void *user)
{
  const TesseraRow *rows = user;
  uint32_t ia = *(const uint32_t *) pa, ib = *(const uint32_t *) pb;
  int by = compare_u64 (rows[ia].died_index, rows[ib].died_index);
  return by != 0 ? by : compare_u64 (ia, ib);
}

static bool
is_solid (const TesseraRow *row)
{
  return row->size_bytes > 0 && row->born_index < row->died_index;
}

/* The same for the order of time, where all that is not over is in the way. A pool is
 * there from the beginning. Rows that are never there lie at 0. */
static TesseraStatus
first_fit_by_time (TesseraRows *rows, const Order *by, const uint32_t *order)
{
  size_t n = rows->n_span_rows, n_over = 0;
  uint32_t *by_death = malloc ((n + 1) * sizeof *by_death);
  TesseraRowGaps gaps = { NULL, 0, 0 };
  TesseraStatus status =
      by_death != NULL ? tessera_row_gaps_init (&gaps, n) : TESSERA_NO_MEMORY;
  for (size_t i = 0; status == TESSERA_OK && i < n; i++)
    by_death[i] = (uint32_t) i;
  if (status == TESSERA_OK)
    qsort_r (by_death, n, sizeof *by_death, compare_death, rows->rows);
  rows->height_bytes = 0;
  for (size_t i = 0; status == TESSERA_OK && i < n; i++)
    {
      TesseraRow *row = &rows->rows[order[i]], *over;
      while (!by->is_pool[order[i]] && n_over < n &&
             (over = &rows->rows[by_death[n_over]])->died_index <= row->born_index)
        {
          if (is_solid (over))
            tessera_row_gaps_give (&gaps, over->y_bytes,
                                   over->y_bytes + over->size_bytes);
          n_over++;
        }
      row->y_bytes = is_solid (row) ? tessera_row_gaps_take (&gaps, row->size_bytes) : 0;
      if (row->y_bytes + row->size_bytes > rows->height_bytes)
        rows->height_bytes = row->y_bytes + row->size_bytes;
    }
  tessera_row_gaps_clear (&gaps);
  free (by_death);
  return status;
}

static bool
is_lower (uint64_t height, uint64_t than)
{
  return than > height + height / 100 * SLACK_PERCENT;
}

/* The most that is there at one moment: no placement can be lower. */
static uint64_t
row_bound (const TesseraRows *rows, uint32_t n_events, TesseraStatus *status)
{
  int64_t *change = calloc ((size_t) n_events + 2, sizeof *change);
  int64_t now = 0, most = 0;
  if (change == NULL)
    {
      *status = TESSERA_NO_MEMORY;
      return 0;
    }
  for (size_t i = 0; i < rows->n_span_rows; i++)
    {
      const TesseraRow *row = &rows->rows[i];
      uint32_t died = row->died_index <= n_events ? row->died_index : n_events + 1;
      uint32_t born = row->born_index < died ? row->born_index : died;
      change[born] += (int64_t) row->size_bytes;
      change[died] -= (int64_t) row->size_bytes;
    }
  for (uint32_t i = 0; i <= n_events; i++)
    {
      now += change[i];
      most = now > most ? now : most;
    }
  free (change);
  return (uint64_t) most;
}

/* Asks the packer; rows stay as they are unless it is lower. */
static TesseraStatus
pack_rows (TesseraRows *rows, uint32_t n_events)
{
  size_t n = rows->n_span_rows;
  const TesseraPackOptions options = { .n_threads = 1, .work_budget = PACK_WORK };
  TesseraItem *items = calloc (n + 1, sizeof *items);
  uint64_t *offsets = calloc (n + 1, sizeof *offsets);
  TesseraPacking packing;
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (items != NULL && offsets != NULL)
    {
      for (size_t i = 0; i < n; i++)
        {
          const TesseraRow *row = &rows->rows[i];
          items[i].size_bytes = row->size_bytes;
          items[i].begin = row->born_index;
          items[i].end = row->died_index;
          items[i].prefer_low = row->died_index - row->born_index > n_events / 2;
        }
      status = tessera_pack (items, n, &options, offsets, &packing);
    }
  if (status == TESSERA_OK && is_lower (packing.height_bytes, rows->height_bytes))
    {
      for (size_t i = 0; i < n; i++)
        rows->rows[i].y_bytes = offsets[i];
      rows->height_bytes = packing.height_bytes;
    }
  free (items);
  free (offsets);
  return status;
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
static TesseraStatus
place_in_orders (TesseraRows *rows, Order *by, uint32_t *order)
{
  size_t n = rows->n_span_rows;
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, n, sizeof *order, compare_time, by);
  if (n > MAX_OFFLINE_ROWS)
    return first_fit_by_time (rows, by, order);
  Placed placed[MAX_OFFLINE_ROWS];
  uint64_t by_time = first_fit (rows->rows, order, n, placed);
  qsort_r (order, n, sizeof *order, compare_life, by);
  rows->height_bytes = first_fit (rows->rows, order, n, placed);
  if (is_lower (by_time, rows->height_bytes))
    {
      qsort_r (order, n, sizeof *order, compare_time, by);
      rows->height_bytes = first_fit (rows->rows, order, n, placed);
    }
  return TESSERA_OK;
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

TesseraStatus
tessera_rows_place (TesseraRows *rows)
{
  size_t n = rows->n_span_rows;
  uint32_t n_events = rows->layout->n_events;
  Order by = { rows, calloc (n + 1, sizeof (bool)) };
  uint32_t *order = malloc ((n + 1) * sizeof *order);
  bool has_pool = false;
  TesseraStatus status =
      by.is_pool != NULL && order != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    {
      has_pool = find_pools (rows, by.is_pool);
      status = place_in_orders (rows, &by, order);
    }
  if (status == TESSERA_OK && !has_pool && n <= MAX_OFFLINE_ROWS)
    {
      uint64_t bound = row_bound (rows, n_events, &status);
      if (status == TESSERA_OK && is_lower (bound, rows->height_bytes) &&
          all_solid (rows))
        status = pack_rows (rows, n_events);
    }
  stack_lone_rows (rows);
  free (by.is_pool);
  free (order);
  return status;
}
