/*
 * An attempt that finished. See finished.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/finished.h"

#include <stdlib.h>

TesseraStatus
tessera_finished_init (TesseraFinished *finished, size_t n_items)
{
  finished->height_bytes = UINT64_MAX;
  finished->offsets = malloc (n_items * sizeof *finished->offsets);
  return finished->offsets != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_finished_clear (TesseraFinished *finished)
{
  free (finished->offsets);
}

bool
tessera_finished_is_better (const TesseraFinished *a, const TesseraFinished *b)
{
  return a->height_bytes < b->height_bytes ||
         (a->height_bytes == b->height_bytes && a->number < b->number);
}

void
tessera_finished_swap (TesseraFinished *a, TesseraFinished *b)
{
  TesseraFinished kept = *a;
  *a = *b;
  *b = kept;
}
