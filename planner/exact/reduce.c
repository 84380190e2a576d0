/*
 * What is easy, taken out of a problem. See reduce.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/reduce.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_reduction_init (TesseraReduction *reduction,
                        const TesseraExactItem *items,
                        uint32_t n_items,
                        uint64_t unit_bytes)
{
  size_t n = n_items;
  memset (reduction, 0, sizeof *reduction);
  reduction->items = calloc (n, sizeof *reduction->items);
  reduction->places = calloc (n, sizeof *reduction->places);
  reduction->parts = calloc (n * 2, sizeof *reduction->parts);
  reduction->cores = calloc (n, sizeof *reduction->cores);
  reduction->easy = calloc (n, sizeof *reduction->easy);
  reduction->sums = calloc ((n * 4 + 1) * 4, sizeof *reduction->sums);
  if (reduction->items == NULL || reduction->places == NULL || reduction->parts == NULL ||
      reduction->cores == NULL || reduction->easy == NULL || reduction->sums == NULL)
    {
      tessera_reduction_clear (reduction);
      return TESSERA_NO_MEMORY;
    }
  reduction->n_items = n_items;
  reduction->unit_bytes = unit_bytes;
  for (uint32_t i = 0; i < n_items; i++)
    {
      reduction->places[i] = UINT64_MAX;
      reduction->items[i] = (TesseraCoreItem){
        .size = items[i].size_bytes / unit_bytes,
        .begin = items[i].begin,
        .end = items[i].end,
        .begin2 = items[i].begin2,
        .end2 = items[i].end2,
        .source = i,
      };
    }
  return TESSERA_OK;
}

void
tessera_reduction_clear (TesseraReduction *reduction)
{
  free (reduction->items);
  free (reduction->places);
  free (reduction->parts);
  free (reduction->cores);
  free (reduction->easy);
  free (reduction->sums);
  memset (reduction, 0, sizeof *reduction);
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

TesseraStatus
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
      if (!tessera_core_cut (&reduction->items[part.first], part.n_items,
                             &part.n_sections))
        return TESSERA_NO_MEMORY;
      Counts counts = count_lives (reduction, &part);
      if (is_overloaded (&counts, &part))
        {
          reduction->is_impossible = true;
          return TESSERA_OK;
        }
      if (!is_whole && take_out (reduction, &part, &counts))
        {
          if (part.n_items > 0)
            reduction->parts[reduction->n_parts++] = part;
        }
      else if (is_whole || !take_apart (reduction, &part))
        reduction->cores[reduction->n_cores++] = part;
    }
  return TESSERA_OK;
}

typedef struct
{
  uint64_t begin, end;
} Taken;

static int
compare_taken (const void *a, const void *b)
{
  const Taken *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool
lives_meet (const TesseraExactItem *a, const TesseraExactItem *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

/* The lowest place in its range that those placed so far leave. */
static uint64_t
lowest_place (const TesseraReduction *reduction,
              const TesseraExactItem *items,
              const TesseraReducedPart *easy,
              Taken *taken)
{
  const TesseraExactItem *item = &items[easy->first];
  uint64_t at = easy->base, size = item->size_bytes / reduction->unit_bytes;
  uint32_t n_taken = 0;
  for (uint32_t i = 0; i < reduction->n_items; i++)
    if (reduction->places[i] != UINT64_MAX && lives_meet (item, &items[i]))
      taken[n_taken++] = (Taken){
        reduction->places[i],
        reduction->places[i] + items[i].size_bytes / reduction->unit_bytes,
      };
  qsort (taken, n_taken, sizeof *taken, compare_taken);
  for (uint32_t k = 0; k < n_taken && taken[k].begin < at + size; k++)
    at = taken[k].end > at ? taken[k].end : at;
  return at;
}

TesseraStatus
tessera_reduction_finish (TesseraReduction *reduction, const TesseraExactItem *items)
{
  Taken *taken = calloc (reduction->n_items, sizeof *taken);
  if (taken == NULL)
    return TESSERA_NO_MEMORY;
  while (reduction->n_easy > 0)
    {
      const TesseraReducedPart *easy = &reduction->easy[--reduction->n_easy];
      reduction->work += reduction->n_items;
      reduction->places[easy->first] = lowest_place (reduction, items, easy, taken);
    }
  free (taken);
  return TESSERA_OK;
}
