/*
 * What units keep for good: see units.h and planner/fold.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "planner/kinds/units.h"

/* What the unit keeps until @until. */
static void
mark (const TesseraUnits *units, const TesseraUnit *unit, uint32_t until)
{
  const TesseraBlocks *blocks = units->blocks;
  uint8_t *is_kept = units->kinds[unit->kind].is_kept;

  for (uint32_t e = unit->begin; e < unit->end; e++)
    if (units->trace->events[e].action == TESSERA_ALLOC &&
        blocks->blocks[blocks->block_of_event[e]].died_index >= until)
      is_kept[units->place_of[e - units->begin]] = 1;
}

static void
sum_up (const TesseraUnits *units, TesseraStepKind *kind)
{
  const TesseraBlocks *blocks = units->blocks;

  for (uint32_t r = 0; r < kind->n_requests; r++)
    if (kind->is_kept[r])
      {
        kind->n_kept++;
        kind->kept_bytes +=
            blocks->blocks[blocks->block_of_event[kind->requests[r]]].block_bytes;
      }
}

TesseraStatus
tessera_units_find_kept (TesseraUnits *units)
{
  uint32_t later[TESSERA_MAX_KINDS]; /* the next unit of each kind */

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      units->kinds[k].is_kept = calloc ((size_t) units->kinds[k].n_requests + 1, 1);
      if (!units->kinds[k].is_kept)
        return TESSERA_NO_MEMORY;
    }
  memset (later, 0xff, sizeof later);
  for (uint32_t u = units->n_units; u-- > 0;)
    {
      const TesseraUnit *unit = &units->units[u];

      if (unit->kind == TESSERA_NONE)
        continue;
      if (later[unit->kind] != TESSERA_NONE)
        mark (units, unit, units->units[later[unit->kind]].end);
      later[unit->kind] = u;
    }
  for (uint32_t k = 0; k < units->n_kinds; k++)
    sum_up (units, &units->kinds[k]);
  return TESSERA_OK;
}
