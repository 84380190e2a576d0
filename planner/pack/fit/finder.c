/*
 * Which waiting item of the best rank lives inside a range? See finder.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/finder.h"

#include <stdlib.h>
#include <string.h>

#define ROOT 1

static uint32_t
lower (uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static uint32_t
higher (uint32_t a, uint32_t b)
{
  return a > b ? a : b;
}

static TesseraFinderBox
join (const TesseraFinderBox *a, const TesseraFinderBox *b)
{
  return (TesseraFinderBox){ lower (a->first_begin, b->first_begin),
                             higher (a->last_begin, b->last_begin),
                             lower (a->first_end, b->first_end),
                             higher (a->last_end, b->last_end) };
}

static void
fill_boxes (TesseraFinder *finder, const TesseraPackProblem *problem)
{
  for (uint32_t i = 0; i < finder->n_leaves; i++)
    finder->boxes[finder->n_leaves + i] =
        (TesseraFinderBox){ UINT32_MAX, 0, UINT32_MAX, 0 };
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      uint32_t begin = item->lives.begin, end = item->lives.end;
      finder->boxes[finder->n_leaves + i] = (TesseraFinderBox){ begin, begin, end, end };
    }
  for (uint32_t node = finder->n_leaves - 1; node >= ROOT; node--)
    finder->boxes[node] = join (&finder->boxes[node * 2], &finder->boxes[node * 2 + 1]);
}

TesseraStatus
tessera_finder_init (TesseraFinder *finder, const TesseraPackProblem *problem)
{
  uint32_t n_leaves = 1;
  while (n_leaves < problem->n_items)
    n_leaves *= 2;
  finder->n_leaves = n_leaves;
  finder->boxes = calloc ((size_t) n_leaves * 2, sizeof *finder->boxes);
  finder->best = calloc ((size_t) n_leaves * 2, sizeof *finder->best);
  if (finder->boxes == NULL || finder->best == NULL)
    {
      tessera_finder_clear (finder);
      return TESSERA_NO_MEMORY;
    }
  fill_boxes (finder, problem);
  return TESSERA_OK;
}

void
tessera_finder_clear (TesseraFinder *finder)
{
  free (finder->boxes);
  free (finder->best);
  memset (finder, 0, sizeof *finder);
}

void
tessera_finder_fill (TesseraFinder *finder, const uint32_t *ranks, size_t n_items)
{
  uint32_t n_leaves = finder->n_leaves;
  memset (&finder->best[n_leaves], 0xff, n_leaves * sizeof *finder->best);
  for (size_t i = 0; i < n_items; i++)
    finder->best[n_leaves + i] = ranks[i];
  for (uint32_t node = n_leaves - 1; node >= ROOT; node--)
    finder->best[node] = lower (finder->best[node * 2], finder->best[node * 2 + 1]);
}

void
tessera_finder_set (TesseraFinder *finder, uint32_t item, uint32_t rank)
{
  uint32_t node = finder->n_leaves + item;
  finder->best[node] = rank;
  for (node /= 2; node >= ROOT; node /= 2)
    {
      uint32_t best = lower (finder->best[node * 2], finder->best[node * 2 + 1]);
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
  const TesseraFinderBox *box = &finder->boxes[node];
  if (finder->best[node] >= known || box->last_begin < begin || box->first_end > end)
    return known;
  if (box->first_begin >= begin && box->last_end <= end)
    return finder->best[node];
  if (node >= finder->n_leaves)
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
