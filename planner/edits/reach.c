/*
 * What edits of places can be about: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edit.h"

#include "planner/run.h"

TesseraStatus
tessera_edit_reach (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const uint8_t *selected,
                    TesseraEditReach *out_reach)
{
  TesseraRun run;
  TesseraStatus status = tessera_run_init (trace, blocks, structure, -1, -1, NULL, &run);

  *out_reach = (TesseraEditReach){ 0 };
  if (status != TESSERA_OK)
    return status;
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    if (selected[i] && run.is_dynamic && run.is_dynamic[i])
      out_reach->n_dynamic++;
    else if (selected[i] && tessera_run_stands_for (&run, i) != TESSERA_NONE)
      out_reach->n_placed++;
  tessera_run_clear (&run);
  return TESSERA_OK;
}
