/*
 * What the items of a plan come to without what edits hold them to. See unheld.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/unheld.h"

#include <stdlib.h>
#include <string.h>

/* The two packings more take 5 to 17 processor seconds where no rule reaches the bound,
 * of 100,000 items as of a million (tests/planner/generate.h, four pins); more was not
 * measured. */
#define MAX_ITEMS 1048576

static bool
is_held (const TesseraItem *item)
{
  return item->is_pinned || item->in != 0 || item->apart != 0 || item->body != 0;
}

static bool
is_worth_it (const TesseraItem *items, size_t n_items, const TesseraPacking *packing)
{
  if (packing->is_cut_short || packing->height_bytes == packing->proven_bound_bytes ||
      n_items > MAX_ITEMS)
    return false;
  for (size_t i = 0; i < n_items; i++)
    if (is_held (&items[i]))
      return true;
  return false;
}

/* Where the items lie if nobody is held. Of its heights nobody hears: they are of what the
 * edits rule out. */
static TesseraStatus
pack_unheld (const TesseraItem *items,
             size_t n_items,
             const TesseraPackOptions *options,
             uint64_t *offsets)
{
  TesseraItem *unheld = malloc (n_items * sizeof *unheld);
  TesseraPackOptions silent = *options;
  TesseraPacking packing;
  TesseraStatus status;

  if (!unheld)
    return TESSERA_NO_MEMORY;
  silent.listener = NULL;
  memcpy (unheld, items, n_items * sizeof *unheld);
  for (size_t i = 0; i < n_items; i++)
    {
      unheld[i].is_pinned = 0;
      unheld[i].pinned_bytes = 0;
      unheld[i].in = unheld[i].apart = 0;
      unheld[i].body = 0;
      unheld[i].body_offset_bytes = 0;
    }
  status = tessera_pack (unheld, n_items, &silent, offsets, &packing);
  free (unheld);
  return status;
}

TesseraStatus
tessera_unheld_improve (const TesseraItem *items,
                        size_t n_items,
                        const TesseraPackOptions *options,
                        uint64_t *offsets,
                        TesseraPacking *packing)
{
  TesseraPackOptions repair = *options;
  TesseraPacking repaired = { .is_cut_short = false };
  uint64_t *former, *others;
  TesseraStatus status;

  if (!is_worth_it (items, n_items, packing))
    return TESSERA_OK;
  former = malloc (2 * n_items * sizeof *former);
  if (!former)
    return TESSERA_NO_MEMORY;
  others = former + n_items;
  status = pack_unheld (items, n_items, options, former);
  repair.former = former;
  if (status == TESSERA_OK)
    status = tessera_pack (items, n_items, &repair, others, &repaired);
  if (status == TESSERA_OK && repaired.height_bytes < packing->height_bytes)
    {
      memcpy (offsets, others, n_items * sizeof *offsets);
      packing->height_bytes = repaired.height_bytes;
      packing->strategy = "as without edits, repaired";
      packing->is_optimal = packing->height_bytes == packing->proven_bound_bytes;
    }
  if (status == TESSERA_OK)
    packing->is_cut_short = repaired.is_cut_short;
  free (former);
  return status;
}
