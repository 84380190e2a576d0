/*
 * One zone's packing problem, brought to its shortest form. See problem.h.
 *
 * Idea: sort births and deaths by time, deaths first; walk; a birth that follows a death
 * opens a section. Cost O(n log n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/problem.h"

#include "db/sort.h"
#include "planner/pack/fit/tree.h"

#include <stdlib.h>

/* A birth or a death of one life: the key is its time * 2 + (1 for a birth), so that
 * deaths come first; the value is item * 2 + 0, 1: its lives. */
typedef TesseraKeyed Edge;

/* What the walk finds in a section. */
typedef struct
{
  uint64_t load_bytes;
  uint64_t n_alive;
} Load;

/* Fills @edges, two a life; NULL: only counts them. */
static size_t
collect_edges (const TesseraPackProblem *problem, const TesseraItem *items, Edge *edges)
{
  size_t n_edges = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraItem *item = &items[problem->items[i].source];
      const uint32_t times[2][2] = { { item->begin, item->end },
                                     { item->begin2, item->end2 } };
      for (uint32_t k = 0; k < 2; k++)
        {
          if (times[k][0] >= times[k][1])
            continue;
          uint32_t life = (uint32_t) i * 2 + k;
          if (edges != NULL)
            {
              edges[n_edges] = (Edge){ (uint64_t) times[k][0] * 2 + 1, life };
              edges[n_edges + 1] = (Edge){ (uint64_t) times[k][1] * 2, life };
            }
          n_edges += 2;
        }
    }
  return n_edges;
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

static uint64_t
highest_in_life (const TesseraSkyline *skyline, const TesseraPackItem *item)
{
  uint64_t first = tessera_skyline_highest (skyline, item->lives.begin, item->lives.end);
  uint64_t second =
      tessera_skyline_highest (skyline, item->lives.begin2, item->lives.end2);
  return first > second ? first : second;
}

/* Load and contention of every item: the highest of its sections. */
static TesseraStatus
measure_items (TesseraPackProblem *problem, const Load *loads)
{
  TesseraSkyline skyline;
  TesseraStatus status = tessera_skyline_init (&skyline, problem->n_sections);
  if (status != TESSERA_OK)
    return status;
  for (uint32_t s = 0; s < problem->n_sections; s++)
    tessera_skyline_raise (&skyline, s, s + 1, loads[s].load_bytes);
  for (size_t i = 0; i < problem->n_items; i++)
    problem->items[i].load_bytes = highest_in_life (&skyline, &problem->items[i]);
  tessera_skyline_flatten (&skyline);
  for (uint32_t s = 0; s < problem->n_sections; s++)
    tessera_skyline_raise (&skyline, s, s + 1, loads[s].n_alive);
  for (size_t i = 0; i < problem->n_items; i++)
    problem->items[i].contention =
        (uint32_t) highest_in_life (&skyline, &problem->items[i]);
  tessera_skyline_clear (&skyline);
  return TESSERA_OK;
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

/* A pin leaves nobody the bottom for sure. */
static bool
can_settle (const TesseraPackProblem *problem, const TesseraPackLimit *limits)
{
  for (size_t i = 0; limits != NULL && i < problem->n_items; i++)
    if (limits[problem->items[i].source].pinned_bytes != TESSERA_PACK_NOT_PINNED)
      return false;
  return true;
}

static bool
settles (const TesseraPackProblem *problem,
         const TesseraPackLimit *limits,
         const TesseraPackItem *item)
{
  return lives_always (problem, item) &&
         (limits == NULL || limits[item->source].body == TESSERA_PACK_NO_BODY);
}

/* Stacks those that live always, preferred ones lowest, and takes them out. */
static void
settle_those_that_live_always (TesseraPackProblem *problem,
                               const TesseraPackLimit *limits,
                               uint64_t *offsets)
{
  for (int preferred = 1; preferred >= 0; preferred--)
    for (size_t i = 0; i < problem->n_items; i++)
      {
        const TesseraPackItem *item = &problem->items[i];
        if (item->prefer_low != preferred || !settles (problem, limits, item))
          continue;
        offsets[item->source] = problem->base_bytes;
        problem->base_bytes += item->size_bytes;
      }
  size_t n_left = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (!settles (problem, limits, &problem->items[i]))
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

/* Every other bit of the result is one of @x. */
static uint64_t
spread_bits (uint64_t x)
{
  static const struct
  {
    int shift;
    uint64_t mask;
  } steps[] = {
    { 16, UINT64_C (0x0000ffff0000ffff) }, { 8, UINT64_C (0x00ff00ff00ff00ff) },
    { 4, UINT64_C (0x0f0f0f0f0f0f0f0f) },  { 2, UINT64_C (0x3333333333333333) },
    { 1, UINT64_C (0x5555555555555555) },
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    x = (x | x << steps[i].shift) & steps[i].mask;
  return x;
}

/* Moves each item to where its entry stands; entries are used up. */
static void
permute (TesseraPackItem *items, TesseraKeyed *from, size_t n_items)
{
  for (uint32_t begin = 0; begin < n_items; begin++)
    {
      TesseraPackItem first = items[begin];
      uint32_t at = begin, next = from[begin].value;
      if (next == begin)
        continue;
      for (; next != begin; at = next, next = from[at].value)
        {
          items[at] = items[next];
          from[at].value = at;
        }
      items[at] = first;
      from[at].value = at;
    }
}

/* Along a curve that fills the plane of (begin, end), so that what is near in time is
 * near in the array; ties as the caller had them. */
static TesseraStatus
sort_in_time (TesseraPackProblem *problem)
{
  TesseraStatus status = TESSERA_OK;
  TesseraKeyed *entries = malloc ((problem->n_items + 1) * sizeof *entries);
  if (entries == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < problem->n_items; i++)
    entries[i] = (TesseraKeyed){ problem->items[i].source, i };
  for (size_t i = 1; i < problem->n_items; i++)
    if (entries[i].key < entries[i - 1].key)
      {
        status = tessera_sort_keyed (entries, problem->n_items);
        break;
      }
  for (size_t i = 0; i < problem->n_items; i++)
    {
      TesseraPackItem *item = &problem->items[entries[i].value];
      item->curve = spread_bits (item->lives.begin) << 1 | spread_bits (item->lives.end);
      entries[i].key = item->curve;
    }
  if (status == TESSERA_OK)
    status = tessera_sort_keyed (entries, problem->n_items);
  if (status == TESSERA_OK)
    permute (problem->items, entries, problem->n_items);
  free (entries);
  return status;
}

typedef struct
{
  uint32_t body, item;
} BodyItem;

static int
compare_body_items (const void *a, const void *b)
{
  const BodyItem *x = a, *y = b;
  if (x->body != y->body)
    return x->body < y->body ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Lists the bodies of this problem and numbers them anew. */
static TesseraStatus
list_bodies (TesseraPackProblem *problem)
{
  BodyItem *found = malloc ((problem->n_items + 1) * sizeof *found);
  size_t n_found = 0;
  if (found == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < problem->n_items; i++)
    if (problem->limits[i].body != TESSERA_PACK_NO_BODY)
      found[n_found++] = (BodyItem){ problem->limits[i].body, (uint32_t) i };
  qsort (found, n_found, sizeof *found, compare_body_items);
  problem->body_items = malloc ((n_found + 1) * sizeof *problem->body_items);
  problem->body_ends = malloc ((n_found + 1) * sizeof *problem->body_ends);
  if (problem->body_items != NULL && problem->body_ends != NULL)
    for (size_t i = 0; i < n_found; i++)
      {
        problem->body_items[i] = found[i].item;
        problem->limits[found[i].item].body = problem->n_bodies;
        problem->body_ends[problem->n_bodies] = (uint32_t) i + 1;
        if (i + 1 == n_found || found[i + 1].body != found[i].body)
          problem->n_bodies++;
      }
  free (found);
  return problem->body_items != NULL && problem->body_ends != NULL ? TESSERA_OK
                                                                   : TESSERA_NO_MEMORY;
}

static TesseraStatus
take_limits (TesseraPackProblem *problem, const TesseraPackLimit *limits)
{
  if (limits == NULL)
    return TESSERA_OK;
  problem->limits = malloc ((problem->n_items + 1) * sizeof *problem->limits);
  if (problem->limits == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      problem->limits[i] = limits[problem->items[i].source];
      problem->has_zones =
          problem->has_zones || problem->limits[i].zone != problem->limits[0].zone;
      problem->has_sets =
          problem->has_sets || (problem->limits[i].in | problem->limits[i].apart) != 0;
    }
  return list_bodies (problem);
}

TesseraStatus
tessera_pack_problem_new (const TesseraItem *items,
                          const TesseraPackLimit *limits,
                          const uint32_t *members,
                          size_t n_members,
                          uint64_t *offsets,
                          TesseraPackProblem **out_problem)
{
  TesseraStatus status = TESSERA_NO_MEMORY;
  *out_problem = NULL;
  Edge *edges = NULL;
  Load *loads = NULL;
  TesseraPackProblem *problem = calloc (1, sizeof *problem);
  if (problem == NULL)
    goto out;
  problem->items = calloc (n_members, sizeof *problem->items);
  if (problem->items == NULL)
    goto out;
  problem->n_items = n_members;
  fill_items (problem, items, members);
  size_t n_edges = collect_edges (problem, items, NULL);
  edges = malloc (n_edges * sizeof *edges);
  loads = malloc (n_edges / 2 * sizeof *loads); /* a section begins with a birth */
  if (edges == NULL || loads == NULL)
    goto out;
  collect_edges (problem, items, edges);
  status = tessera_sort_keyed (edges, n_edges);
  if (status != TESSERA_OK)
    goto out;
  walk_edges (problem, edges, n_edges, loads);
  free (edges);
  edges = NULL;
  status = measure_items (problem, loads);
  if (status != TESSERA_OK)
    goto out;
  if (offsets != NULL && can_settle (problem, limits))
    settle_those_that_live_always (problem, limits, offsets);
  status = sort_in_time (problem);
  if (status == TESSERA_OK)
    status = take_limits (problem, limits);
  if (status != TESSERA_OK)
    goto out;
  *out_problem = problem;
  problem = NULL;
out:
  tessera_pack_problem_free (problem);
  free (edges);
  free (loads);
  return status;
}

void
tessera_pack_problem_free (TesseraPackProblem *problem)
{
  if (problem == NULL)
    return;
  free (problem->items);
  free (problem->limits);
  free (problem->body_items);
  free (problem->body_ends);
  free (problem->blocked);
  free (problem->hints);
  free (problem);
}

TesseraStatus
tessera_pack_load (const TesseraItem *items,
                   const uint32_t *members,
                   size_t n_members,
                   uint64_t *out_load_bytes)
{
  uint64_t load_bytes = 0, highest = 0;
  size_t n_edges = 0;
  for (size_t i = 0; i < n_members; i++)
    n_edges += items[members[i]].begin2 == items[members[i]].end2 ? 2 : 4;
  Edge *edges = malloc ((n_edges + 1) * sizeof *edges);
  n_edges = 0;
  *out_load_bytes = 0;
  if (edges == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraItem *item = &items[members[i]];
      edges[n_edges++] = (Edge){ (uint64_t) item->begin * 2 + 1, members[i] };
      edges[n_edges++] = (Edge){ (uint64_t) item->end * 2, members[i] };
      if (item->begin2 == item->end2)
        continue;
      edges[n_edges++] = (Edge){ (uint64_t) item->begin2 * 2 + 1, members[i] };
      edges[n_edges++] = (Edge){ (uint64_t) item->end2 * 2, members[i] };
    }
  TesseraStatus status = tessera_sort_keyed (edges, n_edges);
  for (size_t i = 0; i < n_edges && status == TESSERA_OK; i++)
    {
      uint64_t size_bytes = items[edges[i].value].size_bytes;
      load_bytes += edges[i].key & 1 ? size_bytes : -size_bytes;
      highest = load_bytes > highest ? load_bytes : highest;
    }
  free (edges);
  *out_load_bytes = highest;
  return status;
}
