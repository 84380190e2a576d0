/*
 * Steps, phases and lifetime classes: see structure.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <stdlib.h>

TesseraStatus
tessera_structure_new (const TesseraTrace *trace,
                       TesseraBlocks *blocks,
                       TesseraStructure **out_structure)
{
  TesseraStructure *structure = calloc (1, sizeof *structure);
  TesseraStatus status;

  *out_structure = NULL;
  if (!structure)
    return TESSERA_NO_MEMORY;
  status = tessera_find_steps (trace, structure);
  if (status == TESSERA_OK)
    status = tessera_find_phases (trace, structure);
  if (status == TESSERA_OK)
    status = tessera_classify (trace, blocks, structure);
  if (status != TESSERA_OK)
    {
      tessera_structure_free (structure);
      return status;
    }
  *out_structure = structure;
  return TESSERA_OK;
}

void
tessera_structure_free (TesseraStructure *structure)
{
  if (!structure)
    return;
  free (structure->steps);
  free (structure->phases);
  free (structure->phase_of_event);
  free (structure);
}

const char *
tessera_phase_name (const TesseraTrace *trace, const TesseraPhase *phase)
{
  return phase->label ? phase->label : tessera_trace_string (trace, phase->name);
}
