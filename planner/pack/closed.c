/*
 * What closed ranges force. See closed.h.
 *
 * Owner after owner: a walk over the sections adds an item to a tree of loads where
 * others begin to see it, over its own lives, and takes it out where they no longer do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/closed.h"

#include "planner/pack/fit/tree.h"

#include <stdlib.h>

/* An item at the begin or the end of one of its wide lives. */
typedef struct
{
  uint32_t owner;
  uint32_t section;
  uint32_t item;
  bool is_begin;
} Edge;

typedef struct
{
  const TesseraPackProblem *problem;
  Edge *edges; /* [4 * n_items] */
  size_t n_edges;
  uint8_t *n_seen;  /* [n_items] wide lives at the moment */
  TesseraRoom load; /* negative: the lowest is the largest load */
  uint64_t *sums;   /* [n_sections] over the owners so far */
} Walk;

static int
by_owner_and_section (const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  if (x->section != y->section)
    return x->section < y->section ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

static void
list_edges (Walk *walk)
{
  for (uint32_t i = 0; i < walk->problem->n_items; i++)
    {
      const TesseraPackLives *wide = &walk->problem->items[i].wide;
      uint32_t owner = walk->problem->items[i].owner;
      const uint32_t times[2][2] = { { wide->begin, wide->end },
                                     { wide->begin2, wide->end2 } };
      for (int k = 0; k < 2; k++)
        if (times[k][0] < times[k][1])
          {
            walk->edges[walk->n_edges++] = (Edge){ owner, times[k][0], i, true };
            walk->edges[walk->n_edges++] = (Edge){ owner, times[k][1], i, false };
          }
    }
  qsort (walk->edges, walk->n_edges, sizeof *walk->edges, by_owner_and_section);
}

/* A moment that lies in both wide lives counts once. */
static void
see (Walk *walk, const Edge *edge)
{
  const TesseraPackItem *item = &walk->problem->items[edge->item];
  uint8_t before = walk->n_seen[edge->item];
  uint8_t after = (uint8_t) (edge->is_begin ? before + 1 : before - 1);
  int64_t bytes = (int64_t) item->size_bytes;
  walk->n_seen[edge->item] = after;
  if ((before == 0) == (after == 0))
    return;
  tessera_room_add (&walk->load, item->lives.begin, item->lives.end,
                    after > 0 ? -bytes : bytes);
  tessera_room_add (&walk->load, item->lives.begin2, item->lives.end2,
                    after > 0 ? -bytes : bytes);
}

/* All of one owner, whose edges are those up to @end. At an end the item is gone from its
 * section on. */
static void
walk_owner (Walk *walk, size_t begin, size_t end)
{
  uint64_t largest = 0;
  for (uint32_t s = 0; s < walk->problem->n_sections; s++)
    {
      bool has_changed = false;
      for (; begin < end && walk->edges[begin].section <= s; begin++, has_changed = true)
        see (walk, &walk->edges[begin]);
      if (has_changed)
        largest =
            (uint64_t) -tessera_room_lowest (&walk->load, 0, walk->problem->n_sections);
      walk->sums[s] += largest;
    }
  for (; begin < end; begin++)
    see (walk, &walk->edges[begin]);
}

TesseraStatus
tessera_pack_closed (const TesseraPackProblem *problem, uint64_t *out_bytes)
{
  Walk walk = { .problem = problem };
  TesseraStatus status = TESSERA_NO_MEMORY;
  *out_bytes = problem->bound_bytes;
  if (problem->n_owners == 1 || problem->n_items == 0)
    return TESSERA_OK;
  walk.edges = malloc (problem->n_items * 4 * sizeof *walk.edges);
  walk.n_seen = calloc (problem->n_items, 1);
  walk.sums = calloc (problem->n_sections, sizeof *walk.sums);
  if (walk.edges != NULL && walk.n_seen != NULL && walk.sums != NULL)
    status = tessera_room_init (&walk.load, problem->n_sections);
  if (status == TESSERA_OK)
    {
      list_edges (&walk);
      tessera_room_reset (&walk.load, 0);
      for (size_t begin = 0, end = 0; begin < walk.n_edges; begin = end)
        {
          while (end < walk.n_edges && walk.edges[end].owner == walk.edges[begin].owner)
            end++;
          walk_owner (&walk, begin, end);
        }
      for (uint32_t s = 0; s < problem->n_sections; s++)
        if (walk.sums[s] > *out_bytes)
          *out_bytes = walk.sums[s];
    }
  tessera_room_clear (&walk.load);
  free (walk.edges);
  free (walk.n_seen);
  free (walk.sums);
  return status;
}
