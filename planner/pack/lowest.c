/*
 * The rule of the lowest reachable offset. See private.h.
 *
 * The floor of an item is the highest of the skyline over its life: the offset it would
 * get now. Next comes the item with the lowest floor, ties by rank.
 *
 * Floors are not kept. What matters is the lowest window of the skyline, a longest run of
 * sections of equal height: items that live inside it have its height as floor and come
 * next. If there are none, the window is lifted to its lower neighbour and becomes one
 * with it: whoever comes next there reaches into the neighbour anyway. So a window may
 * stand higher than what has been placed, never lower. Items that are held to something,
 * or have two lives, lie there before the rule begins; what is left free below them is
 * lost.
 *
 * Which waiting item of the best rank lives inside a window is asked of a tree over the
 * items: neighbours in their array are neighbours in time, so each node knows the box of
 * its items' begins and ends, and a question skips or takes whole nodes. Trees are
 * bottom-up: leaf k is node n_leaves + k, its parent is half of that.
 *
 * Cost: some O(log n) a placement, and a question to the tree for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include <string.h>

/* Of more than one item in so many, or more in all, that come first, fits are as good. */
#define MOST_FIRST_PART 4
#define MOST_FIRST 4096

#define ROOT 1
#define NO_RANK UINT32_MAX
#define NO_WINDOW UINT32_MAX
#define NO_HEIGHT UINT64_MAX

/* First and last sections of the items below a node. */
typedef struct
{
  uint32_t first_begin, last_begin;
  uint32_t first_end, last_end;
} Box;

struct TesseraLowest
{
  const TesseraPackProblem *problem;
  uint32_t n_windows_leaves; /* a power of two, as n_leaves */
  uint64_t *heights;  /* [2 * n_windows_leaves]: lowest of the windows that begin below;
                        NO_HEIGHT: none does. Leaf s: of the window that begins at s */
  uint32_t *end;      /* [n_sections] of the window that begins here */
  uint32_t *previous; /* [n_sections] begin of the window before the one that begins here,
                         or NO_WINDOW */
  uint32_t n_leaves;
  Box *boxes;     /* [2 * n_leaves] */
  uint32_t *best; /* [2 * n_leaves]: lowest rank of those below that wait, or NO_RANK */
};

static uint32_t
leaves_for (size_t n)
{
  uint32_t n_leaves = 1;
  while (n_leaves < n)
    n_leaves *= 2;
  return n_leaves;
}

/* ---- windows ---- */

static uint64_t
height_of (const TesseraLowest *lowest, uint32_t begin)
{
  return lowest->heights[lowest->n_windows_leaves + begin];
}

static void
set_height (TesseraLowest *lowest, uint32_t begin, uint64_t height_bytes)
{
  uint64_t *heights = lowest->heights;
  uint32_t node = lowest->n_windows_leaves + begin;
  heights[node] = height_bytes;
  for (node /= 2; node >= ROOT; node /= 2)
    {
      uint64_t low = MIN (heights[node * 2], heights[node * 2 + 1]);
      if (low == heights[node])
        break;
      heights[node] = low;
    }
}

/* One window of height 0. */
static void
flatten (TesseraLowest *lowest)
{
  memset (lowest->heights, 0xff,
          (size_t) lowest->n_windows_leaves * 2 * sizeof *lowest->heights);
  lowest->end[0] = lowest->problem->n_sections;
  lowest->previous[0] = NO_WINDOW;
  set_height (lowest, 0, 0);
}

/* The first of the lowest windows: where it begins; its height. */
static uint32_t
find_lowest (const TesseraLowest *lowest, uint64_t *out_height_bytes)
{
  const uint64_t *heights = lowest->heights;
  uint32_t node = ROOT;
  while (node < lowest->n_windows_leaves)
    node = node * 2 + (heights[node * 2] == heights[node] ? 0 : 1);
  *out_height_bytes = heights[node];
  return node - lowest->n_windows_leaves;
}

/* The window that holds @section: the nearest begin at or below it. */
static uint32_t
window_of (const TesseraLowest *lowest, uint32_t section)
{
  const uint64_t *heights = lowest->heights;
  uint32_t node = lowest->n_windows_leaves + section;
  if (heights[node] == NO_HEIGHT)
    {
      /* Section 0 is always a begin, so the way up ends at a left neighbour. */
      while (!(node & 1) || heights[node - 1] == NO_HEIGHT)
        node /= 2;
      node--;
      while (node < lowest->n_windows_leaves)
        node = node * 2 + (heights[node * 2 + 1] != NO_HEIGHT ? 1 : 0);
    }
  return node - lowest->n_windows_leaves;
}

/* Makes a window begin at @section. */
static void
split_at (TesseraLowest *lowest, uint32_t section)
{
  const uint32_t n_sections = lowest->problem->n_sections;
  if (section >= n_sections)
    return;
  uint32_t begin = window_of (lowest, section);
  if (begin == section)
    return;
  uint32_t end = lowest->end[begin];
  lowest->end[section] = end;
  lowest->previous[section] = begin;
  lowest->end[begin] = section;
  if (end < n_sections)
    lowest->previous[end] = section;
  set_height (lowest, section, height_of (lowest, begin));
}

/* Joins the window with the one before when both are of one height. */
static void
join_with_previous (TesseraLowest *lowest, uint32_t begin)
{
  const uint32_t n_sections = lowest->problem->n_sections;
  if (begin == 0 || begin >= n_sections)
    return;
  uint32_t previous = lowest->previous[begin];
  if (height_of (lowest, previous) != height_of (lowest, begin))
    return;
  uint32_t end = lowest->end[begin];
  lowest->end[previous] = end;
  if (end < n_sections)
    lowest->previous[end] = previous;
  set_height (lowest, begin, NO_HEIGHT);
}

/* Raises the sections of [begin, end) that stand lower. */
static void
raise_to (TesseraLowest *lowest, uint32_t begin, uint32_t end, uint64_t height_bytes)
{
  if (begin >= end)
    return;
  split_at (lowest, begin);
  split_at (lowest, end);
  for (uint32_t at = begin; at < end;)
    {
      uint32_t next = lowest->end[at];
      if (height_of (lowest, at) < height_bytes)
        set_height (lowest, at, height_bytes);
      join_with_previous (lowest, at);
      at = next;
    }
  join_with_previous (lowest, end);
}

/* To its lower neighbour. */
static void
lift (TesseraLowest *lowest, uint32_t begin)
{
  uint32_t end = lowest->end[begin];
  uint64_t left = begin > 0 ? height_of (lowest, lowest->previous[begin]) : NO_HEIGHT;
  uint64_t right =
      end < lowest->problem->n_sections ? height_of (lowest, end) : NO_HEIGHT;
  set_height (lowest, begin, MIN (left, right));
  join_with_previous (lowest, end);
  join_with_previous (lowest, begin);
}

/* ---- those that wait ---- */

static void
fill_boxes (TesseraLowest *lowest)
{
  const TesseraPackProblem *problem = lowest->problem;
  Box *boxes = lowest->boxes;
  for (uint32_t i = 0; i < lowest->n_leaves; i++)
    boxes[lowest->n_leaves + i] =
        i < problem->n_items ? (Box){ tessera_pack_first_section (&problem->items[i]),
                                      tessera_pack_first_section (&problem->items[i]),
                                      tessera_pack_last_section (&problem->items[i]),
                                      tessera_pack_last_section (&problem->items[i]) }
                             : (Box){ UINT32_MAX, 0, UINT32_MAX, 0 };
  for (uint32_t node = lowest->n_leaves - 1; node >= ROOT; node--)
    {
      const Box *a = &boxes[node * 2], *b = &boxes[node * 2 + 1];
      boxes[node] =
          (Box){ MIN (a->first_begin, b->first_begin), MAX (a->last_begin, b->last_begin),
                 MIN (a->first_end, b->first_end), MAX (a->last_end, b->last_end) };
    }
}

/* Once the leaves are set. */
static void
fill_best (TesseraLowest *lowest)
{
  for (uint32_t node = lowest->n_leaves - 1; node >= ROOT; node--)
    lowest->best[node] = MIN (lowest->best[node * 2], lowest->best[node * 2 + 1]);
}

static void
take_out (TesseraLowest *lowest, uint32_t item)
{
  uint32_t node = lowest->n_leaves + item;
  lowest->best[node] = NO_RANK;
  for (node /= 2; node >= ROOT; node /= 2)
    {
      uint32_t best = MIN (lowest->best[node * 2], lowest->best[node * 2 + 1]);
      if (best == lowest->best[node])
        break;
      lowest->best[node] = best;
    }
}

/* The best rank among items that live inside [begin, end), where it is better than the
 * @known. As deep as the tree: 32 levels at most. */
static uint32_t
best_below (const TesseraLowest *lowest,
            uint32_t node,
            uint32_t begin,
            uint32_t end,
            uint32_t known)
{
  const Box *box = &lowest->boxes[node];
  if (lowest->best[node] >= known || box->last_begin < begin || box->first_end > end)
    return known;
  if (box->first_begin >= begin && box->last_end <= end)
    return lowest->best[node];
  if (node >= lowest->n_leaves)
    return known;
  uint32_t first = node * 2;
  if (lowest->best[first + 1] < lowest->best[first])
    first++;
  known = best_below (lowest, first, begin, end, known);
  return best_below (lowest, first ^ 1, begin, end, known);
}

/* ---- the rule ---- */

/* The lowest gap between what is blocked: the rule knows no other. */
static const TesseraGap *
bottom_of (const TesseraPackProblem *problem)
{
  return &g_array_index (problem->room, TesseraGap, 0);
}

static bool
is_for (const TesseraPackProblem *problem)
{
  size_t n_first = 0;
  if (problem->has_zones)
    return false;
  if (bottom_of (problem)->end < tessera_pack_least_height (problem))
    return false;
  for (uint32_t i = 0; i < problem->n_items; i++)
    n_first += tessera_pack_is_first (problem, i);
  return n_first <= MIN (problem->n_items / MOST_FIRST_PART, MOST_FIRST);
}

TesseraLowest *
tessera_lowest_new (const TesseraPackProblem *problem)
{
  if (!is_for (problem))
    return NULL;
  TesseraLowest *lowest = g_new (TesseraLowest, 1);
  const uint32_t n_windows_leaves = leaves_for (problem->n_sections);
  const uint32_t n_leaves = leaves_for (problem->n_items);
  *lowest = (TesseraLowest){
    .problem = problem,
    .n_windows_leaves = n_windows_leaves,
    .heights = g_new (uint64_t, (size_t) n_windows_leaves * 2),
    .end = g_new (uint32_t, problem->n_sections),
    .previous = g_new (uint32_t, problem->n_sections),
    .n_leaves = n_leaves,
    .boxes = g_new (Box, (size_t) n_leaves * 2),
    .best = g_new (uint32_t, (size_t) n_leaves * 2),
  };
  fill_boxes (lowest);
  return lowest;
}

void
tessera_lowest_free (TesseraLowest *lowest)
{
  if (lowest == NULL)
    return;
  g_free (lowest->heights);
  g_free (lowest->end);
  g_free (lowest->previous);
  g_free (lowest->boxes);
  g_free (lowest->best);
  g_free (lowest);
}

/* Those that come first lie where they do, and what is blocked at the bottom. The others
 * wait. Returns: how many. */
static size_t
start (TesseraLowest *lowest, const uint32_t *order, const uint64_t *offsets)
{
  const TesseraPackProblem *problem = lowest->problem;
  uint32_t *ranks = &lowest->best[lowest->n_leaves];
  size_t n_waiting = 0;
  flatten (lowest);
  raise_to (lowest, 0, problem->n_sections, bottom_of (problem)->begin);
  memset (ranks, 0xff, lowest->n_leaves * sizeof *ranks);
  for (uint32_t rank = 0; rank < problem->n_items; rank++)
    {
      const uint32_t item = order[rank];
      const TesseraPackLives *lives = &problem->items[item].lives;
      if (!tessera_pack_is_first (problem, item))
        {
          ranks[item] = rank;
          n_waiting++;
          continue;
        }
      const uint64_t top = offsets[item] + problem->items[item].size_bytes;
      raise_to (lowest, lives->begin, lives->end, top);
      raise_to (lowest, lives->begin2, lives->end2, top);
    }
  fill_best (lowest);
  return n_waiting;
}

/* The rank that comes next, with windows lifted on the way as needed, and its floor. */
static uint32_t
choose (TesseraLowest *lowest, uint64_t *out_floor_bytes)
{
  for (;;)
    {
      const uint32_t begin = find_lowest (lowest, out_floor_bytes);
      const uint32_t rank = best_below (lowest, ROOT, begin, lowest->end[begin], NO_RANK);
      if (rank != NO_RANK)
        return rank;
      lift (lowest, begin);
    }
}

bool
tessera_lowest_place (TesseraLowest *lowest,
                      const uint32_t *order,
                      uint64_t below_bytes,
                      uint64_t *offsets,
                      uint64_t *out_height_bytes)
{
  const TesseraPackProblem *problem = lowest->problem;
  const uint64_t ceiling_bytes = bottom_of (problem)->end;
  uint64_t height_bytes = 0;
  for (size_t n_waiting = start (lowest, order, offsets); n_waiting > 0; n_waiting--)
    {
      uint64_t floor_bytes;
      if (n_waiting % TESSERA_LOOK_EVERY == 0 && height_bytes >= below_bytes)
        return false;
      const uint32_t item = order[choose (lowest, &floor_bytes)];
      const uint64_t top = floor_bytes + problem->items[item].size_bytes;
      const TesseraPackLives *lives = &problem->items[item].lives;
      take_out (lowest, item);
      raise_to (lowest, lives->begin, lives->end, top);
      offsets[item] = floor_bytes;
      height_bytes = MAX (height_bytes, top);
      if (height_bytes > ceiling_bytes)
        return false;
    }
  *out_height_bytes = height_bytes;
  return true;
}
