/*
 * One zone's packing problem, brought to its shortest form. See private.h.
 *
 * Idea: sort births and deaths by time, deaths first; walk; a birth that follows a death
 * opens a section. Cost O(n log n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include <string.h>

/* A birth or a death of one life: the key is its time * 2 + (1 for a birth), so that
 * deaths come first; the value is item * 2 + 0, 1: its lives. */
typedef TesseraKeyed Edge;

/* What the walk finds in a section. */
typedef struct
{
  uint64_t load_bytes;
  uint64_t n_alive;
} Load;

/* @edges: room for four an item. Returns: how many there are, two a life. */
static size_t
list_edges (const TesseraItem *items,
            const uint32_t *members,
            size_t n_members,
            Edge *edges)
{
  size_t n_edges = 0;
  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraItem *item = &items[members[i]];
      const uint32_t times[2][2] = { { item->begin, item->end },
                                     { item->begin2, item->end2 } };
      for (uint32_t k = 0; k < 2; k++)
        if (times[k][0] < times[k][1])
          {
            uint32_t life = (uint32_t) i * 2 + k;
            edges[n_edges++] = (Edge){ (uint64_t) times[k][0] * 2 + 1, life };
            edges[n_edges++] = (Edge){ (uint64_t) times[k][1] * 2, life };
          }
    }
  tessera_sort (edges, n_edges);
  return n_edges;
}

static Edge *
new_edges (const TesseraItem *items, const uint32_t *members, size_t n_members)
{
  size_t n_edges = 0;
  for (size_t i = 0; i < n_members; i++)
    n_edges += items[members[i]].begin2 < items[members[i]].end2 ? 4 : 2;
  return g_new (Edge, n_edges + 1);
}

/* Where the section of an edge goes. */
static uint32_t *
side_of_edge (TesseraPackItem *item, const Edge *edge)
{
  TesseraPackLives *lives = &item->lives;
  if (edge->key & 1)
    return edge->value & 1 ? &lives->begin2 : &lives->begin;
  return edge->value & 1 ? &lives->end2 : &lives->end;
}

/* Sets the sections of every life and the load of every section. */
static void
walk_edges (TesseraPackProblem *problem, const Edge *edges, size_t n_edges, Load *loads)
{
  uint32_t section = 0;
  bool has_died = false;
  uint64_t load_bytes = 0, n_alive = 0;
  for (size_t i = 0; i < n_edges; i++)
    {
      TesseraPackItem *item = &problem->items[edges[i].value / 2];
      bool is_birth = edges[i].key & 1;
      section += is_birth && has_died ? 1 : 0;
      has_died = !is_birth;
      *side_of_edge (item, &edges[i]) = is_birth ? section : section + 1;
      load_bytes += is_birth ? item->size_bytes : -item->size_bytes;
      n_alive += is_birth ? 1 : UINT64_MAX;
      if (!is_birth)
        continue;
      /* Within a section all births come first: the last birth leaves its load. */
      loads[section] = (Load){ load_bytes, n_alive };
      if (load_bytes > problem->bound_bytes)
        problem->bound_bytes = load_bytes;
    }
  problem->n_sections = section + 1;
}

/* A tree over sections: leaf s is node n_leaves + s, its parent is half of that, and a node
 * has the highest value of its sections. */
typedef struct
{
  Load *highest; /* [2 * n_leaves] */
  size_t n_leaves;
} Tree;

static Load
higher_of (Load a, Load b)
{
  return (Load){ MAX (a.load_bytes, b.load_bytes), MAX (a.n_alive, b.n_alive) };
}

/* @tree: its leaves are set. */
static void
sum_up (Tree *tree)
{
  for (size_t node = tree->n_leaves - 1; node >= 1; node--)
    tree->highest[node] =
        higher_of (tree->highest[node * 2], tree->highest[node * 2 + 1]);
}

/* The highest of the sections [begin, end), which may be none. */
static Load
highest_of (const Tree *tree, uint32_t begin, uint32_t end)
{
  Load highest = { 0 };
  size_t low = tree->n_leaves + begin, high = tree->n_leaves + end;
  for (; begin < end && low < high; low /= 2, high /= 2)
    {
      if (low & 1)
        highest = higher_of (highest, tree->highest[low++]);
      if (high & 1)
        highest = higher_of (highest, tree->highest[--high]);
    }
  return highest;
}

/* Load and contention of every item: the highest of its sections. */
static void
measure_items (TesseraPackProblem *problem, const Load *loads)
{
  const size_t n = problem->n_sections;
  Tree tree = { .highest = g_new (Load, 2 * n), .n_leaves = n };
  memcpy (&tree.highest[n], loads, n * sizeof *loads);
  sum_up (&tree);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackLives *lives = &problem->items[i].lives;
      const Load highest = higher_of (highest_of (&tree, lives->begin, lives->end),
                                      highest_of (&tree, lives->begin2, lives->end2));
      problem->items[i].load_bytes = highest.load_bytes;
      problem->items[i].contention = (uint32_t) highest.n_alive;
    }
  g_free (tree.highest);
}

static bool
lives_always (const TesseraPackProblem *problem, const TesseraPackItem *item)
{
  const TesseraPackLives *lives = &item->lives;
  if (lives->end - lives->begin == problem->n_sections)
    return true;
  return lives->begin2 == 0 && lives->end2 >= lives->begin &&
         lives->end == problem->n_sections;
}

static bool
settles (const TesseraPackProblem *problem,
         const TesseraItem *items,
         const TesseraPackItem *item)
{
  return lives_always (problem, item) && items[item->source].body == 0;
}

/* Stacks those that live always, preferred ones lowest, and takes them out. A pin leaves
 * nobody the bottom for sure. */
static void
settle_those_that_live_always (TesseraPackProblem *problem,
                               const TesseraItem *items,
                               uint64_t *offsets)
{
  for (size_t i = 0; i < problem->n_items; i++)
    if (items[problem->items[i].source].is_pinned)
      return;
  for (int preferred = 1; preferred >= 0; preferred--)
    for (size_t i = 0; i < problem->n_items; i++)
      {
        const TesseraPackItem *item = &problem->items[i];
        if (item->prefer_low != preferred || !settles (problem, items, item))
          continue;
        offsets[item->source] = problem->base_bytes;
        problem->base_bytes += item->size_bytes;
      }
  size_t n_left = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (!settles (problem, items, &problem->items[i]))
      problem->items[n_left++] = problem->items[i];
  problem->n_items = n_left;
  problem->bound_bytes -= problem->base_bytes;
}

static void
fill_items (TesseraPackProblem *problem,
            const TesseraItem *items,
            const uint32_t *members)
{
  const TesseraPackLives none = { .begin2 = UINT32_MAX }; /* end2 == 0: meets nobody */
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraItem *item = &items[members[i]];
      uint64_t life = (uint64_t) item->end - item->begin;
      if (item->begin2 < item->end2)
        {
          life += (uint64_t) item->end2 - item->begin2;
          problem->has_second = true;
        }
      problem->items[i] = (TesseraPackItem){
        .lives = none,
        .size_bytes = item->size_bytes,
        .life_events = life,
        .end_event = item->end,
        .source = members[i],
        .prefer_low = item->prefer_low != 0,
      };
    }
}

/* By begin, then end, so that what is near in time is near in the array; ties as the
 * caller had them. */
static void
sort_in_time (TesseraPackProblem *problem)
{
  TesseraPackItem *sorted = g_new (TesseraPackItem, problem->n_items + 1);
  TesseraKeyed *entries = g_new (TesseraKeyed, problem->n_items + 1);
  for (uint32_t i = 0; i < problem->n_items; i++)
    entries[i] = (TesseraKeyed){ problem->items[i].source, i };
  tessera_sort (entries, problem->n_items);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackLives *lives = &problem->items[entries[i].value].lives;
      entries[i].key = (uint64_t) lives->begin << 32 | lives->end;
    }
  tessera_sort (entries, problem->n_items);
  for (size_t i = 0; i < problem->n_items; i++)
    sorted[i] = problem->items[entries[i].value];
  g_free (problem->items);
  g_free (entries);
  problem->items = sorted;
}

/* Lists the bodies of this problem and numbers them anew. */
static void
list_bodies (TesseraPackProblem *problem)
{
  TesseraKeyed *found = g_new (TesseraKeyed, problem->n_items + 1);
  size_t n_found = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (problem->limits[i].body != 0)
      found[n_found++] = (TesseraKeyed){ problem->limits[i].body, i };
  tessera_sort (found, n_found);
  problem->body_items = g_new (uint32_t, n_found + 1);
  problem->body_ends = g_new0 (uint32_t, n_found + 1);
  for (size_t i = 0; i < n_found; i++)
    {
      problem->n_bodies += i == 0 || found[i].key != found[i - 1].key;
      problem->body_items[i] = found[i].value;
      problem->limits[found[i].value].body = problem->n_bodies;
      problem->body_ends[problem->n_bodies] = (uint32_t) i + 1;
    }
  g_free (found);
}

static void
take_limits (TesseraPackProblem *problem, const TesseraItem *items)
{
  bool is_held = false;
  for (size_t i = 0; i < problem->n_items && !is_held; i++)
    is_held = tessera_item_is_held (&items[problem->items[i].source]);
  if (!is_held)
    return;
  problem->limits = g_new (TesseraItem, problem->n_items + 1);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      problem->limits[i] = items[problem->items[i].source];
      problem->has_zones |= problem->limits[i].zone != problem->limits[0].zone;
      problem->has_sets |= (problem->limits[i].in | problem->limits[i].apart) != 0;
    }
  list_bodies (problem);
}

TesseraPackProblem *
tessera_pack_problem_new (const TesseraItem *items,
                          const uint32_t *members,
                          size_t n_members,
                          uint64_t *offsets)
{
  TesseraPackProblem *problem = g_new0 (TesseraPackProblem, 1);
  Edge *edges = new_edges (items, members, n_members);
  problem->items = g_new0 (TesseraPackItem, n_members + 1);
  problem->n_items = n_members;
  problem->room = tessera_gaps_new ();
  fill_items (problem, items, members);
  const size_t n_edges = list_edges (items, members, n_members, edges);
  Load *loads = g_new0 (Load, n_edges / 2 + 1); /* a section begins with a birth */
  walk_edges (problem, edges, n_edges, loads);
  g_free (edges);
  measure_items (problem, loads);
  g_free (loads);
  if (offsets != NULL)
    settle_those_that_live_always (problem, items, offsets);
  sort_in_time (problem);
  take_limits (problem, items);
  return problem;
}

void
tessera_pack_problem_free (TesseraPackProblem *problem)
{
  if (problem == NULL)
    return;
  g_free (problem->items);
  g_free (problem->limits);
  g_free (problem->body_items);
  g_free (problem->body_ends);
  g_array_unref (problem->room);
  g_free (problem->hints);
  g_free (problem);
}

uint64_t
tessera_pack_load (const TesseraItem *items, const uint32_t *members, size_t n_members)
{
  uint64_t load_bytes = 0, highest = 0;
  Edge *edges = new_edges (items, members, n_members);
  const size_t n_edges = list_edges (items, members, n_members, edges);
  for (size_t i = 0; i < n_edges; i++)
    {
      uint64_t size_bytes = items[members[edges[i].value / 2]].size_bytes;
      load_bytes += edges[i].key & 1 ? size_bytes : -size_bytes;
      highest = MAX (highest, load_bytes);
    }
  g_free (edges);
  return highest;
}

bool
tessera_pack_limits_meet (const TesseraItem *a, const TesseraItem *b)
{
  return tessera_items_are_apart (a, b) || a->zone != b->zone;
}

bool
tessera_pack_meet (const TesseraPackProblem *problem, uint32_t i, uint32_t k)
{
  const TesseraItem *limits = problem->limits;
  return tessera_pack_lives_meet (&problem->items[i].lives, &problem->items[k].lives) ||
         (limits != NULL && tessera_pack_limits_meet (&limits[i], &limits[k]));
}

uint64_t
tessera_pack_height (const TesseraPackProblem *problem, const uint64_t *offsets)
{
  uint64_t height_bytes = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (!tessera_pack_is_pinned (problem, i))
      height_bytes = MAX (height_bytes, offsets[i] + problem->items[i].size_bytes);
  return height_bytes;
}
