/* See regrouped.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/regrouped.h"

#include <stdlib.h>

#include "planner/groups.h"

TesseraStatus
cli_regroup (const CliStudy *study, CliRegrouped *out_regrouped, TesseraError *error)
{
  *out_regrouped = (CliRegrouped){ .blocks = *study->blocks };
  out_regrouped->blocks.blocks = NULL;
  TesseraStatus status = tessera_edits_regroup (
      study->trace, study->blocks, study->structure,
      tessera_history_get (study->history, NULL),
      tessera_history_get_n_standing (study->history), error, NULL,
      &out_regrouped->blocks.blocks, &out_regrouped->groups, &out_regrouped->n_groups);
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "%s: not enough memory to group its blocks",
                  study->path);
  return status;
}

void
cli_regrouped_clear (CliRegrouped *regrouped)
{
  tessera_groups_free (regrouped->groups, regrouped->n_groups);
  free (regrouped->blocks.blocks);
  *regrouped = (CliRegrouped){ 0 };
}
