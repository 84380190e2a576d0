/*
 * Cores of items, and what is taken out before. See private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/private.h"

#include <stdlib.h>
#include <string.h>

#include "planner/gaps.h"
#include "planner/memory.h"

/* Entries of the two lists of pairs (members of sections, neighbours), each: 32 MiB. */
#define MAX_PAIRS (UINT32_C (1) << 23)

/* A birth or a death of one life: the key is its time * 2 + (1 for a birth), so that
 * deaths come first; the value is item * 2 + 1 for the earlier life. */
typedef TesseraKeyed Edge;

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

uint32_t
tessera_core_cut (TesseraCoreItem *items, uint32_t n_items)
{
  Edge *edges = g_new (Edge, (size_t) n_items * 4);
  const size_t n_edges = collect_edges (items, n_items, edges);
  uint32_t section = 0;
  bool has_died = false;
  tessera_sort (edges, n_edges);
  for (size_t e = 0; e < n_edges; e++)
    {
      TesseraCoreItem *item = &items[edges[e].value / 2];
      bool is_birth = edges[e].key & 1, is_early = edges[e].value & 1;
      section += is_birth && has_died ? 1 : 0;
      has_died = !is_birth;
      if (is_birth)
        *(is_early ? &item->begin2 : &item->begin) = section;
      else
        *(is_early ? &item->end2 : &item->end) = section + 1;
    }
  g_free (edges);
  qsort (items, n_items, sizeof *items, compare_items);
  return section + 1;
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

static bool
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
        return false;
      core->members = g_new (uint32_t, core->members_begin[core->n_sections] + 1u);
    }
  move_back (core->members_begin, core->n_sections);
  return true;
}

static bool
list_neighbours (TesseraCore *core)
{
  GArray *near = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  for (uint32_t i = 0; i < core->n_items && near->len <= MAX_PAIRS; i++)
    {
      core->near_begin[i] = near->len;
      for (uint32_t j = 0; j < core->n_items; j++)
        if (i != j && tessera_core_items_meet (&core->items[i], &core->items[j]))
          g_array_append_val (near, j);
    }
  const bool is_small = near->len <= MAX_PAIRS;
  core->near_begin[core->n_items] = near->len;
  core->near = (uint32_t *) g_array_free (near, FALSE);
  return is_small;
}

TesseraCore *
tessera_core_new (const TesseraCoreItem *items,
                  uint32_t n_items,
                  uint32_t n_sections,
                  uint64_t capacity)
{
  TesseraCore *core = g_new0 (TesseraCore, 1);
  core->n_items = n_items;
  core->n_sections = n_sections;
  core->capacity = capacity;
  core->items = g_new (TesseraCoreItem, n_items);
  core->members_begin = g_new0 (uint32_t, n_sections + 1u);
  core->near_begin = g_new0 (uint32_t, n_items + 1u);
  core->load = g_new0 (uint64_t, n_sections);
  memcpy (core->items, items, n_items * sizeof *items);
  if (list_members (core) && list_neighbours (core))
    return core;
  tessera_core_free (core);
  return NULL;
}

void
tessera_core_free (TesseraCore *core)
{
  if (core == NULL)
    return;
  g_free (core->items);
  g_free (core->members_begin);
  g_free (core->members);
  g_free (core->near_begin);
  g_free (core->near);
  g_free (core->load);
  g_free (core);
}

/* ---- what is easy ---- */

void
tessera_reduction_init (TesseraReduction *reduction,
                        const TesseraItem *items,
                        uint32_t n_items,
                        uint64_t unit_bytes)
{
  const size_t n = n_items;
  *reduction = (TesseraReduction){
    .items = g_new (TesseraCoreItem, n),
    .whole = g_new (TesseraCoreItem, n),
    .n_items = n_items,
    .places = g_new (uint64_t, n),
    .parts = g_new (TesseraReducedPart, n * 2),
    .cores = g_new (TesseraReducedPart, n),
    .easy = g_new (TesseraReducedPart, n),
    .sums = g_new (uint64_t, (n * 4 + 1) * 4),
  };
  for (uint32_t i = 0; i < n_items; i++)
    {
      reduction->places[i] = UINT64_MAX;
      reduction->items[i] = reduction->whole[i] = (TesseraCoreItem){
        .size = items[i].size_bytes / unit_bytes,
        .begin = items[i].begin,
        .end = items[i].end,
        .begin2 = items[i].begin2,
        .end2 = items[i].end2,
        .source = i,
      };
    }
}

void
tessera_reduction_clear (TesseraReduction *reduction)
{
  g_free (reduction->items);
  g_free (reduction->whole);
  g_free (reduction->places);
  g_free (reduction->parts);
  g_free (reduction->cores);
  g_free (reduction->easy);
  g_free (reduction->sums);
}

/* Per border of sections: births before it and deaths up to it, counted and summed. */
typedef struct
{
  uint64_t *born, *born_size, *died, *died_size;
} Counts;

static void
count_life (const Counts *counts, uint32_t begin, uint32_t end, uint64_t size)
{
  if (begin >= end)
    return;
  counts->born[begin + 1]++;
  counts->born_size[begin + 1] += size;
  counts->died[end]++;
  counts->died_size[end] += size;
}

static Counts
count_lives (const TesseraReduction *reduction, const TesseraReducedPart *part)
{
  size_t n = (size_t) part->n_sections + 1;
  Counts counts = { reduction->sums, reduction->sums + n, reduction->sums + 2 * n,
                    reduction->sums + 3 * n };
  memset (reduction->sums, 0, 4 * n * sizeof *reduction->sums);
  for (uint32_t i = 0; i < part->n_items; i++)
    {
      const TesseraCoreItem *item = &reduction->items[part->first + i];
      count_life (&counts, item->begin, item->end, item->size);
      count_life (&counts, item->begin2, item->end2, item->size);
    }
  for (size_t k = 0; k < 4; k++)
    for (size_t s = 1; s < n; s++)
      reduction->sums[k * n + s] += reduction->sums[k * n + s - 1];
  return counts;
}

static bool
is_overloaded (const Counts *counts, const TesseraReducedPart *part)
{
  for (uint32_t s = 0; s < part->n_sections; s++)
    if (counts->born_size[s + 1] - counts->died_size[s] > part->capacity)
      return true;
  return false;
}

/* How many of its places the others of one life can take from an item, at most: one of
 * size o leaves out o + size - 1 of them. False: more than can be counted. */
static bool
count_taken (
    const Counts *counts, uint32_t begin, uint32_t end, uint64_t size, uint64_t *taken)
{
  if (begin >= end)
    return true;
  uint64_t n_others = counts->born[end] - counts->died[begin] - 1;
  uint64_t size_of_others = counts->born_size[end] - counts->died_size[begin] - size;
  uint64_t shadows;
  return !__builtin_mul_overflow (n_others, size - 1, &shadows) &&
         !__builtin_add_overflow (*taken, shadows, taken) &&
         !__builtin_add_overflow (*taken, size_of_others, taken);
}

/* Wherever all others are, a place is left for it. */
static bool
is_easy (const Counts *counts,
         const TesseraReducedPart *part,
         const TesseraCoreItem *item)
{
  uint64_t taken = 0;
  return item->size <= part->capacity &&
         count_taken (counts, item->begin, item->end, item->size, &taken) &&
         count_taken (counts, item->begin2, item->end2, item->size, &taken) &&
         taken <= part->capacity - item->size;
}

/* Returns: whether anything went. What stays is moved together. */
static bool
take_out (TesseraReduction *reduction, TesseraReducedPart *part, const Counts *counts)
{
  TesseraCoreItem *items = &reduction->items[part->first];
  uint32_t n_left = 0, n_before = part->n_items;
  const TesseraReducedPart whole = *part;
  for (uint32_t i = 0; i < n_before; i++)
    {
      const TesseraCoreItem item = items[i];
      uint32_t n_alive = item.end - item.begin + (item.end2 - item.begin2);
      if (n_alive == part->n_sections)
        {
          reduction->places[item.source] = part->base;
          part->base += item.size;
          part->capacity -= item.size;
        }
      else if (is_easy (counts, &whole, &item))
        {
          reduction->easy[reduction->n_easy++] = (TesseraReducedPart){
            .first = item.source, .base = whole.base, .capacity = whole.capacity
          };
        }
      else
        items[n_left++] = item;
    }
  part->n_items = n_left;
  return n_left < n_before;
}

/* Parts that share no section. Returns: whether there was more than one. */
static bool
take_apart (TesseraReduction *reduction, const TesseraReducedPart *part)
{
  const TesseraCoreItem *items = &reduction->items[part->first];
  uint32_t begin = 0, end = 0;
  for (uint32_t i = 0; i <= part->n_items; i++)
    {
      bool is_new = i == part->n_items || tessera_core_first_section (&items[i]) >= end;
      if (i > 0 && is_new)
        {
          if (i - begin == part->n_items)
            return false;
          TesseraReducedPart piece = *part;
          piece.first = part->first + begin;
          piece.n_items = i - begin;
          reduction->parts[reduction->n_parts++] = piece;
          begin = i;
        }
      if (i < part->n_items && items[i].end > end)
        end = items[i].end;
    }
  return true;
}

void
tessera_reduction_run (TesseraReduction *reduction,
                       uint64_t capacity,
                       uint64_t work_budget)
{
  reduction->parts[reduction->n_parts++] =
      (TesseraReducedPart){ .n_items = reduction->n_items, .capacity = capacity };
  while (reduction->n_parts > 0)
    {
      TesseraReducedPart part = reduction->parts[--reduction->n_parts];
      bool is_whole = reduction->work >= work_budget;
      reduction->work += (uint64_t) part.n_items * 16;
      part.n_sections = tessera_core_cut (&reduction->items[part.first], part.n_items);
      Counts counts = count_lives (reduction, &part);
      if (is_overloaded (&counts, &part))
        {
          reduction->is_impossible = true;
          return;
        }
      if (!is_whole && take_out (reduction, &part, &counts))
        {
          if (part.n_items > 0)
            reduction->parts[reduction->n_parts++] = part;
        }
      else if (is_whole || !take_apart (reduction, &part))
        reduction->cores[reduction->n_cores++] = part;
    }
}

/* The lowest place in its range that those placed so far leave. */
static uint64_t
lowest_place (const TesseraReduction *reduction, const TesseraReducedPart *easy)
{
  const TesseraCoreItem *item = &reduction->whole[easy->first];
  g_autoptr (GArray) gaps = tessera_gaps_new ();
  if (easy->base > 0)
    tessera_gaps_take (gaps, 0, easy->base);
  for (uint32_t i = 0; i < reduction->n_items; i++)
    if (reduction->places[i] != UINT64_MAX &&
        tessera_core_items_meet (item, &reduction->whole[i]))
      tessera_gaps_take (gaps, reduction->places[i],
                         reduction->places[i] + reduction->whole[i].size);
  return tessera_gaps_find (gaps, item->size, false);
}

void
tessera_reduction_finish (TesseraReduction *reduction)
{
  while (reduction->n_easy > 0)
    {
      const TesseraReducedPart *easy = &reduction->easy[--reduction->n_easy];
      reduction->work += reduction->n_items;
      reduction->places[easy->first] = lowest_place (reduction, easy);
    }
}
