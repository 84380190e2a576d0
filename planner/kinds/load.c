/*
 * What the units of a window have alive: see units.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/units.h"

/* Whether a unit of [@begin, @end) asks for all that @unit asks for. */
static bool
is_stood_for (const TesseraUnits *units,
              const TesseraUnit *unit,
              uint32_t begin,
              uint32_t end)
{
  for (uint32_t i = 0; i < units->n_units; i++)
    if (units->units[i].begin >= begin && units->units[i].end <= end &&
        units->units[i].kind == unit->kind &&
        units->units[i].n_requests >= unit->n_requests)
      return true;
  return false;
}

/* Of what it asks for itself, at the moment when most of that is alive. */
static uint64_t
own_load (const TesseraUnits *units, const TesseraUnit *unit)
{
  uint64_t load = 0, most = 0;

  for (uint32_t e = unit->begin; e < unit->end; e++)
    {
      uint32_t index = units->blocks->block_of_event[e];
      const TesseraBlock *block =
          index != TESSERA_NONE ? &units->blocks->blocks[index] : NULL;

      if (block && block->born_index == e)
        load += block->block_bytes;
      else if (block && block->born_index >= unit->begin && block->died_index == e)
        load -= block->block_bytes;
      most = load > most ? load : most;
    }
  return most;
}

uint64_t
tessera_units_load_beside (const TesseraUnits *units, uint32_t begin, uint32_t end)
{
  uint64_t most = 0;

  for (uint32_t i = 0; i < units->n_units; i++)
    {
      const TesseraUnit *unit = &units->units[i];
      uint64_t load;

      if (unit->kind == TESSERA_NONE || is_stood_for (units, unit, begin, end))
        continue;
      load = own_load (units, unit);
      most = load > most ? load : most;
    }
  return most;
}
