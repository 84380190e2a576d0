/* See accept.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/accept.h"

#include "planner/check.h"

TesseraStatus
cli_accept_plan (const char *path,
                 const TesseraPlan *plan,
                 const TesseraTrace *trace,
                 TesseraError *error)
{
  TesseraError found = { 0 };
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraStatus status = tessera_check_plan (plan, trace, &law, &found);

  if (status == TESSERA_OK && plan->lengths != NULL)
    status = tessera_check_lengths (plan->lengths, &law, &found);
  if (status == TESSERA_OK)
    return TESSERA_OK;
  if (law == TESSERA_LAW_NONE)
    return tessera_fail (error, status, "%s: %s", path, found.text);
  return tessera_fail (error, status, "%s: breaks the law of %s: %s", path,
                       tessera_law_name (law), found.text);
}
