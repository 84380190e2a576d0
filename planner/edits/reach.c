/*
 * What edits of places can be about: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edit.h"

#include "planner/kinds/plan.h"

static void
count (const TesseraPlanBuild *build,
       const TesseraUnits *units,
       const uint8_t *selected,
       TesseraEditReach *reach)
{
  const TesseraRun *run = &build->run;
  bool has_kinds = units->n_kinds > 0; /* then no request has a room */

  for (uint32_t i = 0; i < build->blocks->n_blocks; i++)
    if (selected[i] && !has_kinds && run->is_dynamic && run->is_dynamic[i])
      reach->n_dynamic++;
    else if (selected[i] && (has_kinds ? tessera_units_stands_for (units, i)
                                       : tessera_run_stands_for (run, i)) != TESSERA_NONE)
      reach->n_placed++;
}

TesseraStatus
tessera_edit_reach (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const uint8_t *selected,
                    TesseraEditReach *out_reach)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraPlanBuild build = {
    .trace = trace, .blocks = blocks, .structure = structure, .options = &options
  };
  TesseraKindsBuild kinds = { 0 };
  TesseraStatus status =
      tessera_run_init (trace, blocks, structure, -1, -1, NULL, &build.run);

  *out_reach = (TesseraEditReach){ 0 };
  if (status == TESSERA_OK)
    status = tessera_kinds_find (&build, &kinds);
  if (status == TESSERA_OK)
    count (&build, &kinds.units, selected, out_reach);
  tessera_kinds_build_clear (&kinds);
  tessera_run_clear (&build.run);
  return status;
}
