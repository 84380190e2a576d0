/*
 * The skyline as windows. See windows.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/windows.h"

#include <stdlib.h>
#include <string.h>

#define NO_WINDOW UINT32_MAX
#define NO_HEIGHT UINT64_MAX

TesseraStatus
tessera_windows_init (TesseraWindows *windows, uint32_t n_sections)
{
  uint32_t n_leaves = 1;
  while (n_leaves < n_sections)
    n_leaves *= 2;
  windows->n_sections = n_sections;
  windows->n_leaves = n_leaves;
  windows->lowest = calloc ((size_t) n_leaves * 2, sizeof *windows->lowest);
  windows->end = calloc (n_sections, sizeof *windows->end);
  windows->previous = calloc (n_sections, sizeof *windows->previous);
  if (windows->lowest != NULL && windows->end != NULL && windows->previous != NULL)
    return TESSERA_OK;
  tessera_windows_clear (windows);
  return TESSERA_NO_MEMORY;
}

void
tessera_windows_clear (TesseraWindows *windows)
{
  free (windows->lowest);
  free (windows->end);
  free (windows->previous);
  memset (windows, 0, sizeof *windows);
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

uint64_t
tessera_windows_at (const TesseraWindows *windows, uint32_t section, uint32_t *out_end)
{
  uint32_t begin = window_of (windows, section);
  *out_end = windows->end[begin];
  return height_of (windows, begin);
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

uint64_t
tessera_windows_beside (const TesseraWindows *windows, uint32_t begin)
{
  uint32_t end = windows->end[begin];
  uint64_t left = begin > 0 ? height_of (windows, windows->previous[begin]) : NO_HEIGHT;
  uint64_t right = end < windows->n_sections ? height_of (windows, end) : NO_HEIGHT;
  return left < right ? left : right;
}

bool
tessera_windows_lift (TesseraWindows *windows, uint32_t begin)
{
  uint32_t end = windows->end[begin];
  uint64_t height_bytes = tessera_windows_beside (windows, begin);
  if (height_bytes == NO_HEIGHT)
    return false;
  set_height (windows, begin, height_bytes);
  join_with_previous (windows, end);
  join_with_previous (windows, begin);
  return true;
}
