/*
 * Places that blocks of one size leave to each other. See left.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/left.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

static size_t
place_of (uint64_t size_bytes, size_t n_places)
{
  uint64_t mixed = size_bytes * UINT64_C (0x9e3779b97f4a7c15);
  return (size_t) (mixed >> 20) & (n_places - 1);
}

/* Numbers sizes as they come. @table: (array length=n_places): an item of each size. */
static void
number_sizes (TesseraSizes *sizes,
              const TesseraPackProblem *problem,
              uint32_t *table,
              size_t n_places)
{
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      uint64_t size_bytes = problem->items[i].size_bytes;
      size_t at = place_of (size_bytes, n_places);
      while (table[at] != NOBODY && problem->items[table[at]].size_bytes != size_bytes)
        at = (at + 1) & (n_places - 1);
      if (table[at] == NOBODY)
        {
          table[at] = i;
          sizes->of_item[i] = sizes->n_sizes++;
        }
      else
        sizes->of_item[i] = sizes->of_item[table[at]];
    }
}

TesseraStatus
tessera_sizes_init (TesseraSizes *sizes, const TesseraPackProblem *problem)
{
  size_t n_places = 16;
  while (n_places < problem->n_items * 2)
    n_places *= 2;
  uint32_t *table = malloc (n_places * sizeof *table);
  *sizes = (TesseraSizes){ .of_item =
                               malloc ((problem->n_items + 1) * sizeof *sizes->of_item) };
  if (table == NULL || sizes->of_item == NULL)
    {
      free (table);
      tessera_sizes_clear (sizes);
      return TESSERA_NO_MEMORY;
    }
  memset (table, 0xff, n_places * sizeof *table);
  number_sizes (sizes, problem, table, n_places);
  free (table);
  return TESSERA_OK;
}

void
tessera_sizes_clear (TesseraSizes *sizes)
{
  free (sizes->of_item);
  *sizes = (TesseraSizes){ 0 };
}

TesseraStatus
tessera_left_init (TesseraLeft *left, const TesseraSizes *sizes, size_t n_items)
{
  *left = (TesseraLeft){
    .sizes = sizes,
    .last = malloc ((sizes->n_sizes + 1) * sizeof *left->last),
    .before = malloc ((n_items + 1) * sizeof *left->before),
  };
  if (left->last != NULL && left->before != NULL)
    return TESSERA_OK;
  tessera_left_clear (left);
  return TESSERA_NO_MEMORY;
}

void
tessera_left_clear (TesseraLeft *left)
{
  free (left->last);
  free (left->before);
  *left = (TesseraLeft){ 0 };
}

void
tessera_left_reset (TesseraLeft *left)
{
  memset (left->last, 0xff, left->sizes->n_sizes * sizeof *left->last);
}

void
tessera_left_push (TesseraLeft *left, uint32_t item)
{
  uint32_t *last = &left->last[left->sizes->of_item[item]];
  left->before[item] = *last;
  *last = item;
}

uint32_t
tessera_left_pop (TesseraLeft *left, uint32_t item)
{
  uint32_t *last = &left->last[left->sizes->of_item[item]];
  uint32_t found = *last;
  if (found != TESSERA_NO_ITEM)
    *last = left->before[found];
  return found;
}
