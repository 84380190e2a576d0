/*
 * Trees over the sections and items of a packing problem. See trees.h.
 *
 * They are bottom-up: leaf s is node n_leaves + s, its parent is half of that. What is
 * done to a whole node stays at that node; a question adds up what it meets on the way to
 * the root, so nothing is ever pushed down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/trees.h"

#include <string.h>

static uint32_t
leaves_for (size_t n)
{
  uint32_t n_leaves = 1;
  while (n_leaves < n)
    n_leaves *= 2;
  return n_leaves;
}

/* ---- the skyline ---- */

void
tessera_skyline_init (TesseraSkyline *skyline, uint32_t n_sections)
{
  skyline->n_leaves = leaves_for (n_sections);
  skyline->highest = g_new0 (uint64_t, (size_t) skyline->n_leaves * 2);
  skyline->raised_to = g_new0 (uint64_t, (size_t) skyline->n_leaves * 2);
}

void
tessera_skyline_clear (TesseraSkyline *skyline)
{
  g_free (skyline->highest);
  g_free (skyline->raised_to);
}

void
tessera_skyline_flatten (TesseraSkyline *skyline)
{
  size_t n_bytes = (size_t) skyline->n_leaves * 2 * sizeof *skyline->highest;
  memset (skyline->highest, 0, n_bytes);
  memset (skyline->raised_to, 0, n_bytes);
}

static void
raise_node (TesseraSkyline *skyline, size_t node, uint64_t height)
{
  if (skyline->highest[node] < height)
    skyline->highest[node] = height;
  if (skyline->raised_to[node] < height)
    skyline->raised_to[node] = height;
}

static void
raise_above (TesseraSkyline *skyline, size_t leaf, uint64_t height)
{
  for (size_t node = leaf >> 1; node >= 1; node >>= 1)
    if (skyline->highest[node] < height)
      skyline->highest[node] = height;
}

void
tessera_skyline_raise (TesseraSkyline *skyline,
                       uint32_t begin,
                       uint32_t end,
                       uint64_t height)
{
  if (begin >= end)
    return;
  size_t first = (size_t) skyline->n_leaves + begin;
  size_t last = (size_t) skyline->n_leaves + end - 1;
  for (size_t l = first, r = last + 1; l < r; l >>= 1, r >>= 1)
    {
      if (l & 1)
        raise_node (skyline, l++, height);
      if (r & 1)
        raise_node (skyline, --r, height);
    }
  raise_above (skyline, first, height);
  raise_above (skyline, last, height);
}

uint64_t
tessera_skyline_highest (const TesseraSkyline *skyline, uint32_t begin, uint32_t end)
{
  if (begin >= end)
    return 0;
  uint64_t height = 0;
  size_t first = (size_t) skyline->n_leaves + begin;
  size_t last = (size_t) skyline->n_leaves + end - 1;
  for (size_t l = first, r = last + 1; l < r; l >>= 1, r >>= 1)
    {
      if ((l & 1) && skyline->highest[l] > height)
        height = skyline->highest[l];
      l += l & 1;
      if ((r & 1) && skyline->highest[r - 1] > height)
        height = skyline->highest[r - 1];
    }
  for (size_t l = first, r = last; l >= 1; l >>= 1, r >>= 1)
    {
      if (skyline->raised_to[l] > height)
        height = skyline->raised_to[l];
      if (skyline->raised_to[r] > height)
        height = skyline->raised_to[r];
    }
  return height;
}

uint64_t
tessera_skyline_highest_of (const TesseraSkyline *skyline, const TesseraPackLives *lives)
{
  uint64_t first = tessera_skyline_highest (skyline, lives->begin, lives->end);
  uint64_t second = tessera_skyline_highest (skyline, lives->begin2, lives->end2);
  return MAX (first, second);
}

/* ---- the reach ---- */

void
tessera_reach_init (TesseraReach *reach, const TesseraPackProblem *problem)
{
  *reach = (TesseraReach){ .problem = problem };
  tessera_skyline_init (&reach->skyline, problem->n_sections);
}

void
tessera_reach_clear (TesseraReach *reach)
{
  tessera_skyline_clear (&reach->skyline);
}

void
tessera_reach_flatten (TesseraReach *reach)
{
  reach->tops = (TesseraReachTops){ .zone = 0 };
  tessera_skyline_flatten (&reach->skyline);
}

static uint64_t
highest_of (const uint64_t tops[64], uint64_t sets)
{
  uint64_t highest = 0;
  for (; sets != 0; sets &= sets - 1)
    highest = MAX (highest, tops[__builtin_ctzll (sets)]);
  return highest;
}

static void
raise_sets (uint64_t tops[64], uint64_t sets, uint64_t top)
{
  for (; sets != 0; sets &= sets - 1)
    tops[__builtin_ctzll (sets)] = MAX (tops[__builtin_ctzll (sets)], top);
}

/* The top of what may not share an address with the item, whenever it lives. */
static uint64_t
limit_floor (const TesseraReachTops *tops, const TesseraPackLimit *limit)
{
  uint64_t in = highest_of (tops->apart, limit->in);
  uint64_t apart = highest_of (tops->in, limit->apart);
  uint64_t zone = tops->zones[limit->zone == tops->zone ? 1 : 0];
  return MAX (MAX (in, apart), zone);
}

static void
raise_limits (TesseraReachTops *tops, const TesseraPackLimit *limit, uint64_t top)
{
  raise_sets (tops->in, limit->in, top);
  raise_sets (tops->apart, limit->apart, top);
  uint64_t *zone = &tops->zones[limit->zone == tops->zone ? 0 : 1];
  *zone = MAX (*zone, top);
  if (tops->zones[1] <= tops->zones[0])
    return;
  tops->zone = limit->zone;
  tops->zones[1] = tops->zones[0];
  tops->zones[0] = top;
}

uint64_t
tessera_reach_floor (const TesseraReach *reach, uint32_t item)
{
  const TesseraPackProblem *problem = reach->problem;
  uint64_t life =
      tessera_skyline_highest_of (&reach->skyline, &problem->items[item].lives);
  uint64_t limit =
      problem->limits != NULL ? limit_floor (&reach->tops, &problem->limits[item]) : 0;
  return MAX (life, limit);
}

void
tessera_reach_raise (TesseraReach *reach, uint32_t item, uint64_t top)
{
  const TesseraPackLives *lives = &reach->problem->items[item].lives;
  if (reach->problem->limits != NULL)
    raise_limits (&reach->tops, &reach->problem->limits[item], top);
  tessera_skyline_raise (&reach->skyline, lives->begin, lives->end, top);
  tessera_skyline_raise (&reach->skyline, lives->begin2, lives->end2, top);
}

/* ---- windows ---- */

#define NO_WINDOW UINT32_MAX
#define NO_HEIGHT UINT64_MAX

void
tessera_windows_init (TesseraWindows *windows, uint32_t n_sections)
{
  windows->n_sections = n_sections;
  windows->n_leaves = leaves_for (n_sections);
  windows->lowest = g_new0 (uint64_t, (size_t) windows->n_leaves * 2);
  windows->end = g_new0 (uint32_t, n_sections);
  windows->previous = g_new0 (uint32_t, n_sections);
}

void
tessera_windows_clear (TesseraWindows *windows)
{
  g_free (windows->lowest);
  g_free (windows->end);
  g_free (windows->previous);
}

static uint64_t
height_of (const TesseraWindows *windows, uint32_t begin)
{
  return windows->lowest[windows->n_leaves + begin];
}

static void
set_height (TesseraWindows *windows, uint32_t begin, uint64_t height_bytes)
{
  uint64_t *lowest = windows->lowest;
  uint32_t node = windows->n_leaves + begin;
  lowest[node] = height_bytes;
  for (node /= 2; node >= 1; node /= 2)
    {
      uint64_t left = lowest[node * 2], right = lowest[node * 2 + 1];
      uint64_t low = left < right ? left : right;
      if (low == lowest[node])
        break;
      lowest[node] = low;
    }
}

void
tessera_windows_flatten (TesseraWindows *windows)
{
  memset (windows->lowest, 0xff,
          (size_t) windows->n_leaves * 2 * sizeof *windows->lowest);
  windows->end[0] = windows->n_sections;
  windows->previous[0] = NO_WINDOW;
  set_height (windows, 0, 0);
}

uint32_t
tessera_windows_lowest (const TesseraWindows *windows,
                        uint64_t *out_height_bytes,
                        uint32_t *out_end)
{
  uint32_t node = 1;
  while (node < windows->n_leaves)
    node = node * 2 + (windows->lowest[node * 2] == windows->lowest[node] ? 0 : 1);
  uint32_t begin = node - windows->n_leaves;
  *out_height_bytes = windows->lowest[node];
  *out_end = windows->end[begin];
  return begin;
}

/* The window that holds @section: the nearest begin at or below it. */
static uint32_t
window_of (const TesseraWindows *windows, uint32_t section)
{
  const uint64_t *lowest = windows->lowest;
  uint32_t node = windows->n_leaves + section;
  if (lowest[node] == NO_HEIGHT)
    {
      /* Section 0 is always a begin, so the way up ends at a left neighbour. */
      while (!(node & 1) || lowest[node - 1] == NO_HEIGHT)
        node /= 2;
      node--;
      while (node < windows->n_leaves)
        node = node * 2 + (lowest[node * 2 + 1] != NO_HEIGHT ? 1 : 0);
    }
  return node - windows->n_leaves;
}

/* Makes a window begin at @section. */
static void
split_at (TesseraWindows *windows, uint32_t section)
{
  if (section >= windows->n_sections)
    return;
  uint32_t begin = window_of (windows, section);
  if (begin == section)
    return;
  uint32_t end = windows->end[begin];
  windows->end[section] = end;
  windows->previous[section] = begin;
  windows->end[begin] = section;
  if (end < windows->n_sections)
    windows->previous[end] = section;
  set_height (windows, section, height_of (windows, begin));
}

/* Joins the window with the one before when both are of one height. */
static void
join_with_previous (TesseraWindows *windows, uint32_t begin)
{
  if (begin == 0 || begin >= windows->n_sections)
    return;
  uint32_t previous = windows->previous[begin];
  if (height_of (windows, previous) != height_of (windows, begin))
    return;
  uint32_t end = windows->end[begin];
  windows->end[previous] = end;
  if (end < windows->n_sections)
    windows->previous[end] = previous;
  set_height (windows, begin, NO_HEIGHT);
}

void
tessera_windows_raise (TesseraWindows *windows,
                       uint32_t begin,
                       uint32_t end,
                       uint64_t height_bytes)
{
  if (begin >= end)
    return;
  split_at (windows, begin);
  split_at (windows, end);
  for (uint32_t at = begin; at < end;)
    {
      uint32_t next = windows->end[at];
      if (height_of (windows, at) < height_bytes)
        set_height (windows, at, height_bytes);
      join_with_previous (windows, at);
      at = next;
    }
  join_with_previous (windows, end);
}

bool
tessera_windows_lift (TesseraWindows *windows, uint32_t begin)
{
  uint32_t end = windows->end[begin];
  uint64_t left = begin > 0 ? height_of (windows, windows->previous[begin]) : NO_HEIGHT;
  uint64_t right = end < windows->n_sections ? height_of (windows, end) : NO_HEIGHT;
  if (left == NO_HEIGHT && right == NO_HEIGHT)
    return false;
  set_height (windows, begin, MIN (left, right));
  join_with_previous (windows, end);
  join_with_previous (windows, begin);
  return true;
}

/* ---- boxes ---- */

#define ROOT 1

static TesseraBox
join (const TesseraBox *a, const TesseraBox *b)
{
  return (TesseraBox){ MIN (a->first_begin, b->first_begin),
                       MAX (a->last_begin, b->last_begin),
                       MIN (a->first_end, b->first_end), MAX (a->last_end, b->last_end) };
}

void
tessera_boxes_init (TesseraBoxes *boxes, const TesseraPackProblem *problem)
{
  const uint32_t n_leaves = leaves_for (problem->n_items);
  boxes->problem = problem;
  boxes->n_leaves = n_leaves;
  boxes->boxes = g_new (TesseraBox, (size_t) n_leaves * 2);
  for (uint32_t i = 0; i < n_leaves; i++)
    {
      TesseraBox *box = &boxes->boxes[n_leaves + i];
      *box = (TesseraBox){ UINT32_MAX, 0, UINT32_MAX, 0 };
      if (i >= problem->n_items)
        continue;
      box->first_begin = box->last_begin =
          tessera_pack_first_section (&problem->items[i]);
      box->first_end = box->last_end = tessera_pack_last_section (&problem->items[i]);
    }
  for (uint32_t node = n_leaves - 1; node >= ROOT; node--)
    boxes->boxes[node] = join (&boxes->boxes[node * 2], &boxes->boxes[node * 2 + 1]);
}

void
tessera_boxes_clear (TesseraBoxes *boxes)
{
  g_free (boxes->boxes);
}

typedef struct
{
  const TesseraBoxes *boxes;
  uint32_t of;
  uint32_t begin, end;
  size_t n, max;
  uint32_t *items;
  uint64_t looks;
} Listing;

/* As deep as the tree: 32 levels at most. Returns: false where there are too many. */
static bool
list_below (Listing *listing, uint32_t node)
{
  const TesseraBoxes *boxes = listing->boxes;
  const TesseraBox *box = &boxes->boxes[node];
  listing->looks++;
  if (box->first_begin >= listing->end || box->last_end <= listing->begin)
    return true;
  if (node < boxes->n_leaves)
    return list_below (listing, node * 2) && list_below (listing, node * 2 + 1);
  const uint32_t item = node - boxes->n_leaves;
  const TesseraPackItem *items = boxes->problem->items;
  if (item == listing->of ||
      (boxes->problem->has_second &&
       !tessera_pack_lives_meet (&items[item].lives, &items[listing->of].lives)))
    return true;
  if (listing->n == listing->max)
    return false;
  listing->items[listing->n++] = item;
  return true;
}

size_t
tessera_boxes_list (const TesseraBoxes *boxes,
                    uint32_t of,
                    size_t max_items,
                    uint32_t *items,
                    uint64_t *looks)
{
  const TesseraPackItem *item = &boxes->problem->items[of];
  Listing listing = { .boxes = boxes,
                      .of = of,
                      .begin = tessera_pack_first_section (item),
                      .end = tessera_pack_last_section (item),
                      .max = max_items,
                      .items = items };
  const bool is_complete = list_below (&listing, ROOT);
  *looks += listing.looks;
  return is_complete ? listing.n : SIZE_MAX;
}

/* ---- the finder ---- */

void
tessera_finder_init (TesseraFinder *finder, const TesseraPackProblem *problem)
{
  tessera_boxes_init (&finder->boxes, problem);
  finder->best = g_new (uint32_t, (size_t) finder->boxes.n_leaves * 2);
}

void
tessera_finder_clear (TesseraFinder *finder)
{
  tessera_boxes_clear (&finder->boxes);
  g_free (finder->best);
}

void
tessera_finder_fill (TesseraFinder *finder, const uint32_t *ranks)
{
  const uint32_t n_leaves = finder->boxes.n_leaves;
  const size_t n_items = finder->boxes.problem->n_items;
  memset (&finder->best[n_leaves], 0xff, n_leaves * sizeof *finder->best);
  memcpy (&finder->best[n_leaves], ranks, n_items * sizeof *ranks);
  for (uint32_t node = n_leaves - 1; node >= ROOT; node--)
    finder->best[node] = MIN (finder->best[node * 2], finder->best[node * 2 + 1]);
}

void
tessera_finder_set (TesseraFinder *finder, uint32_t item, uint32_t rank)
{
  uint32_t node = finder->boxes.n_leaves + item;
  finder->best[node] = rank;
  for (node /= 2; node >= ROOT; node /= 2)
    {
      uint32_t best = MIN (finder->best[node * 2], finder->best[node * 2 + 1]);
      if (best == finder->best[node])
        break;
      finder->best[node] = best;
    }
}

/* As deep as the tree: 32 levels at most. */
static uint32_t
best_below (const TesseraFinder *finder,
            uint32_t node,
            uint32_t begin,
            uint32_t end,
            uint32_t known)
{
  const TesseraBox *box = &finder->boxes.boxes[node];
  if (finder->best[node] >= known || box->last_begin < begin || box->first_end > end)
    return known;
  if (box->first_begin >= begin && box->last_end <= end)
    return finder->best[node];
  if (node >= finder->boxes.n_leaves)
    return known;
  uint32_t first = node * 2;
  if (finder->best[first + 1] < finder->best[first])
    first++;
  known = best_below (finder, first, begin, end, known);
  return best_below (finder, first ^ 1, begin, end, known);
}

uint32_t
tessera_finder_best (const TesseraFinder *finder, uint32_t begin, uint32_t end)
{
  return best_below (finder, ROOT, begin, end, TESSERA_NO_RANK);
}
