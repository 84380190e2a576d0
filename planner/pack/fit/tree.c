/*
 * Two trees over the sections of a packing problem. See tree.h.
 *
 * Both are bottom-up: leaf s is node n_leaves + s, its parent is half of that. What is
 * done to a whole node stays at that node; a question adds up what it meets on the way to
 * the root, so nothing is ever pushed down.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/tree.h"

#include <stdlib.h>
#include <string.h>

static uint32_t
leaves_for (uint32_t n)
{
  uint32_t n_leaves = 1;
  while (n_leaves < n)
    n_leaves *= 2;
  return n_leaves;
}

TesseraStatus
tessera_skyline_init (TesseraSkyline *skyline, uint32_t n_sections)
{
  uint32_t n_leaves = leaves_for (n_sections);
  skyline->n_leaves = n_leaves;
  skyline->highest = calloc ((size_t) n_leaves * 2, sizeof *skyline->highest);
  skyline->raised_to = calloc ((size_t) n_leaves * 2, sizeof *skyline->raised_to);
  if (skyline->highest != NULL && skyline->raised_to != NULL)
    return TESSERA_OK;
  tessera_skyline_clear (skyline);
  return TESSERA_NO_MEMORY;
}

void
tessera_skyline_clear (TesseraSkyline *skyline)
{
  free (skyline->highest);
  free (skyline->raised_to);
  memset (skyline, 0, sizeof *skyline);
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

TesseraStatus
tessera_room_init (TesseraRoom *room, uint32_t n_sections)
{
  /* One leaf before and one behind the sections: the bounds of every range are open. */
  uint32_t n_leaves = leaves_for (n_sections + 2);
  room->n_leaves = n_leaves;
  room->lowest = calloc ((size_t) n_leaves * 2, sizeof *room->lowest);
  room->added = calloc ((size_t) n_leaves * 2, sizeof *room->added);
  if (room->lowest != NULL && room->added != NULL)
    return TESSERA_OK;
  tessera_room_clear (room);
  return TESSERA_NO_MEMORY;
}

void
tessera_room_clear (TesseraRoom *room)
{
  free (room->lowest);
  free (room->added);
  memset (room, 0, sizeof *room);
}

void
tessera_room_reset (TesseraRoom *room, int64_t bytes)
{
  size_t n_nodes = (size_t) room->n_leaves * 2;
  memset (room->added, 0, n_nodes * sizeof *room->added);
  for (size_t i = 0; i < n_nodes; i++)
    room->lowest[i] = bytes;
}

static void
add_to_node (TesseraRoom *room, size_t node, int64_t bytes)
{
  room->lowest[node] += bytes;
  room->added[node] += bytes;
}

static void
renew_node (TesseraRoom *room, size_t node)
{
  int64_t left = room->lowest[node * 2], right = room->lowest[node * 2 + 1];
  room->lowest[node] = (left < right ? left : right) + room->added[node];
}

void
tessera_room_add (TesseraRoom *room, uint32_t begin, uint32_t end, int64_t bytes)
{
  if (begin >= end)
    return;
  size_t l = (size_t) room->n_leaves + begin;
  size_t r = (size_t) room->n_leaves + end + 1;
  for (; (l ^ r) != 1; l >>= 1, r >>= 1)
    {
      if (!(l & 1))
        add_to_node (room, l ^ 1, bytes);
      if (r & 1)
        add_to_node (room, r ^ 1, bytes);
      renew_node (room, l >> 1);
      renew_node (room, r >> 1);
    }
  for (size_t node = l >> 1; node >= 1; node >>= 1)
    renew_node (room, node);
}

void
tessera_room_add_all (TesseraRoom *room, int64_t bytes)
{
  add_to_node (room, 1, bytes);
}

/* INT64_MAX stands for "nothing yet" and stays that. */
static int64_t
plus (int64_t lowest, int64_t added)
{
  return lowest == INT64_MAX ? lowest : lowest + added;
}

int64_t
tessera_room_lowest (const TesseraRoom *room, uint32_t begin, uint32_t end)
{
  if (begin >= end)
    return INT64_MAX;
  int64_t left = INT64_MAX, right = INT64_MAX;
  size_t l = (size_t) room->n_leaves + begin;
  size_t r = (size_t) room->n_leaves + end + 1;
  for (; (l ^ r) != 1; l >>= 1, r >>= 1)
    {
      if (!(l & 1) && room->lowest[l ^ 1] < left)
        left = room->lowest[l ^ 1];
      if ((r & 1) && room->lowest[r ^ 1] < right)
        right = room->lowest[r ^ 1];
      left = plus (left, room->added[l >> 1]);
      right = plus (right, room->added[r >> 1]);
    }
  int64_t lowest = left < right ? left : right;
  for (size_t node = l >> 1; node >= 1; node >>= 1)
    lowest += room->added[node];
  return lowest;
}

/* One of the nodes that make up the range holds the lowest; from there it is a walk down
 * to the side whose value is the node's own less what was added to the whole node. */
uint32_t
tessera_room_where (const TesseraRoom *room, uint32_t begin, uint32_t end)
{
  size_t left_node = 0, right_node = 0;
  int64_t left = INT64_MAX, right = INT64_MAX;
  size_t l = (size_t) room->n_leaves + begin;
  size_t r = (size_t) room->n_leaves + end + 1;
  for (; (l ^ r) != 1; l >>= 1, r >>= 1)
    {
      if (!(l & 1) && room->lowest[l ^ 1] < left)
        left = room->lowest[left_node = l ^ 1];
      if ((r & 1) && room->lowest[r ^ 1] < right)
        right = room->lowest[right_node = r ^ 1];
      left = plus (left, room->added[l >> 1]);
      right = plus (right, room->added[r >> 1]);
    }
  size_t node = left <= right ? left_node : right_node;
  while (node < room->n_leaves)
    {
      int64_t wanted = room->lowest[node] - room->added[node];
      node = node * 2 + (room->lowest[node * 2] == wanted ? 0 : 1);
    }
  return (uint32_t) (node - room->n_leaves - 1);
}
