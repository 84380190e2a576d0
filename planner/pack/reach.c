/*
 * How low an item can go. See reach.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/reach.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_reach_init (TesseraReach *reach, const TesseraPackProblem *problem)
{
  reach->n_owners = problem->n_owners;
  reach->own = calloc (reach->n_owners, sizeof *reach->own);
  reach->others = calloc (reach->n_owners, sizeof *reach->others);
  if (reach->own == NULL || reach->others == NULL)
    goto fail;
  for (uint32_t i = 0; i < reach->n_owners; i++)
    if (tessera_skyline_init (&reach->own[i], problem->n_sections) != TESSERA_OK ||
        (reach->n_owners > 1 &&
         tessera_skyline_init (&reach->others[i], problem->n_sections) != TESSERA_OK))
      goto fail;
  return TESSERA_OK;
fail:
  tessera_reach_clear (reach);
  return TESSERA_NO_MEMORY;
}

void
tessera_reach_clear (TesseraReach *reach)
{
  for (uint32_t i = 0; i < reach->n_owners; i++)
    {
      if (reach->own != NULL)
        tessera_skyline_clear (&reach->own[i]);
      if (reach->others != NULL)
        tessera_skyline_clear (&reach->others[i]);
    }
  free (reach->own);
  free (reach->others);
  memset (reach, 0, sizeof *reach);
}

void
tessera_reach_flatten (TesseraReach *reach)
{
  for (uint32_t i = 0; i < reach->n_owners; i++)
    {
      tessera_skyline_flatten (&reach->own[i]);
      if (reach->n_owners > 1)
        tessera_skyline_flatten (&reach->others[i]);
    }
}

static uint64_t
highest_over (const TesseraSkyline *skyline, const TesseraPackLives *lives)
{
  uint64_t first = tessera_skyline_highest (skyline, lives->begin, lives->end);
  uint64_t second = tessera_skyline_highest (skyline, lives->begin2, lives->end2);
  return first > second ? first : second;
}

static void
raise_over (TesseraSkyline *skyline, const TesseraPackLives *lives, uint64_t top)
{
  tessera_skyline_raise (skyline, lives->begin, lives->end, top);
  tessera_skyline_raise (skyline, lives->begin2, lives->end2, top);
}

uint64_t
tessera_reach_floor (const TesseraReach *reach, const TesseraPackItem *item)
{
  uint64_t own = highest_over (&reach->own[item->owner], &item->lives);
  if (reach->n_owners == 1)
    return own;
  uint64_t others = highest_over (&reach->others[item->owner], &item->wide);
  return own > others ? own : others;
}

void
tessera_reach_raise (TesseraReach *reach, const TesseraPackItem *item, uint64_t top)
{
  raise_over (&reach->own[item->owner], &item->lives, top);
  for (uint32_t i = 0; reach->n_owners > 1 && i < reach->n_owners; i++)
    if (i != item->owner)
      raise_over (&reach->others[i], &item->wide, top);
}
