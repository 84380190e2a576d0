/*
 * A core of items. See core.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/core.h"

#include <stdlib.h>

/* Entries of the two lists of pairs (members of sections, neighbours), each: 32 MiB. */
#define MAX_PAIRS (UINT32_C (1) << 23)

typedef struct
{
  uint64_t key;  /* time * 2 + (1 for a birth): deaths first */
  uint32_t life; /* item * 2 + 1 for the earlier life */
} Edge;

static int
compare_edges (const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->life < y->life ? -1 : x->life > y->life;
}

static int
compare_items (const void *a, const void *b)
{
  const TesseraCoreItem *x = a, *y = b;
  uint32_t first = tessera_core_first_section (x), other = tessera_core_first_section (y);
  if (first != other)
    return first < other ? -1 : 1;
  return x->source < y->source ? -1 : x->source > y->source;
}

static size_t
collect_edges (const TesseraCoreItem *items, uint32_t n_items, Edge *edges)
{
  size_t n_edges = 0;
  for (uint32_t i = 0; i < n_items; i++)
    {
      edges[n_edges++] = (Edge){ (uint64_t) items[i].begin * 2 + 1, i * 2 };
      edges[n_edges++] = (Edge){ (uint64_t) items[i].end * 2, i * 2 };
      if (items[i].begin2 >= items[i].end2)
        continue;
      edges[n_edges++] = (Edge){ (uint64_t) items[i].begin2 * 2 + 1, i * 2 + 1 };
      edges[n_edges++] = (Edge){ (uint64_t) items[i].end2 * 2, i * 2 + 1 };
    }
  return n_edges;
}

bool
tessera_core_cut (TesseraCoreItem *items, uint32_t n_items, uint32_t *out_n_sections)
{
  Edge *edges = calloc ((size_t) n_items * 4, sizeof *edges);
  if (edges == NULL)
    return false;
  size_t n_edges = collect_edges (items, n_items, edges);
  qsort (edges, n_edges, sizeof *edges, compare_edges);
  uint32_t section = 0;
  bool has_died = false;
  for (size_t e = 0; e < n_edges; e++)
    {
      TesseraCoreItem *item = &items[edges[e].life / 2];
      bool is_birth = edges[e].key & 1, is_early = edges[e].life & 1;
      section += is_birth && has_died ? 1 : 0;
      has_died = !is_birth;
      if (is_birth)
        *(is_early ? &item->begin2 : &item->begin) = section;
      else
        *(is_early ? &item->end2 : &item->end) = section + 1;
    }
  *out_n_sections = section + 1;
  free (edges);
  qsort (items, n_items, sizeof *items, compare_items);
  return true;
}

/* Ends of lists are counted first, then summed up: begin[k] is where the k-th starts. */
static bool
sum_up (uint32_t *begin, uint32_t n_lists)
{
  uint64_t sum = 0;
  for (uint32_t k = 0; k <= n_lists; k++)
    {
      uint32_t count = begin[k];
      begin[k] = (uint32_t) sum;
      sum += count;
    }
  return sum <= MAX_PAIRS;
}

static void
add_member (TesseraCore *core, uint32_t item, uint32_t begin, uint32_t end, bool counts)
{
  for (uint32_t s = begin; s < end; s++)
    if (counts)
      core->members_begin[s]++;
    else
      {
        core->members[core->members_begin[s]++] = item;
        core->load[s] += core->items[item].size;
      }
}

/* Where lists were filled by moving their begins: they stand one list too far. */
static void
move_back (uint32_t *begin, uint32_t n_lists)
{
  for (uint32_t k = n_lists; k > 0; k--)
    begin[k] = begin[k - 1];
  begin[0] = 0;
}

static TesseraStatus
list_members (TesseraCore *core)
{
  for (int counts = 1; counts >= 0; counts--)
    {
      for (uint32_t i = 0; i < core->n_items; i++)
        {
          const TesseraCoreItem *item = &core->items[i];
          add_member (core, i, item->begin2, item->end2, counts);
          add_member (core, i, item->begin, item->end, counts);
        }
      if (!counts)
        break;
      if (!sum_up (core->members_begin, core->n_sections))
        return TESSERA_REFUSED;
      core->members =
          calloc (core->members_begin[core->n_sections] + 1u, sizeof *core->members);
      if (core->members == NULL)
        return TESSERA_NO_MEMORY;
    }
  move_back (core->members_begin, core->n_sections);
  return TESSERA_OK;
}

static TesseraStatus
list_neighbours (TesseraCore *core)
{
  uint64_t n_pairs = 0;
  for (uint32_t i = 0; i < core->n_items; i++)
    for (uint32_t j = 0; j < core->n_items; j++)
      n_pairs += i != j && tessera_core_items_meet (&core->items[i], &core->items[j]);
  if (n_pairs > MAX_PAIRS)
    return TESSERA_REFUSED;
  core->near = calloc (n_pairs + 1, sizeof *core->near);
  if (core->near == NULL)
    return TESSERA_NO_MEMORY;
  uint32_t n_near = 0;
  for (uint32_t i = 0; i < core->n_items; i++)
    {
      core->near_begin[i] = n_near;
      core->twin[i] = TESSERA_CORE_NONE;
      for (uint32_t j = 0; j < core->n_items; j++)
        {
          if (i == j || !tessera_core_items_meet (&core->items[i], &core->items[j]))
            continue;
          core->near[n_near++] = j;
          if (j > i && core->twin[i] == TESSERA_CORE_NONE &&
              core->items[i].size == core->items[j].size &&
              tessera_core_same_lives (&core->items[i], &core->items[j]))
            core->twin[i] = j;
        }
    }
  core->near_begin[core->n_items] = n_near;
  return TESSERA_OK;
}

TesseraStatus
tessera_core_new (const TesseraCoreItem *items,
                  uint32_t n_items,
                  uint32_t n_sections,
                  uint64_t capacity,
                  TesseraCore **out_core)
{
  TesseraStatus status = TESSERA_NO_MEMORY;
  *out_core = NULL;
  TesseraCore *core = calloc (1, sizeof *core);
  if (core == NULL)
    return TESSERA_NO_MEMORY;
  core->n_items = n_items;
  core->n_sections = n_sections;
  core->capacity = capacity;
  core->items = calloc (n_items, sizeof *core->items);
  core->first_item = calloc (n_sections + 1u, sizeof *core->first_item);
  core->members_begin = calloc (n_sections + 1u, sizeof *core->members_begin);
  core->near_begin = calloc (n_items + 1u, sizeof *core->near_begin);
  core->twin = calloc (n_items, sizeof *core->twin);
  core->load = calloc (n_sections, sizeof *core->load);
  if (core->items == NULL || core->first_item == NULL || core->members_begin == NULL ||
      core->near_begin == NULL || core->twin == NULL || core->load == NULL)
    goto out;
  for (uint32_t i = 0; i < n_items; i++)
    {
      core->items[i] = items[i];
      core->first_item[tessera_core_first_section (&items[i])]++;
    }
  (void) sum_up (core->first_item, n_sections);
  status = list_members (core);
  if (status == TESSERA_OK)
    status = list_neighbours (core);
  if (status != TESSERA_OK)
    goto out;
  *out_core = core;
  core = NULL;
out:
  tessera_core_free (core);
  return status;
}

void
tessera_core_free (TesseraCore *core)
{
  if (core == NULL)
    return;
  free (core->items);
  free (core->first_item);
  free (core->members_begin);
  free (core->members);
  free (core->near_begin);
  free (core->near);
  free (core->twin);
  free (core->load);
  free (core);
}
