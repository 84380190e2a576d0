/*
 * Opening a plan, and the reasons for which it is declined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process/plan-file.h"

#include <string.h>

#include "db/size-text.h"
#include "db/store.h"
#include "planner/check.h"
#include "runtime/process/notice.h"
#include "runtime/process.h"

/* Two cards of one kind do not report the same memory to the byte. */
#define DEVICE_TOLERANCE 16 /* one part in so many */

#define INSTEAD "expandable rules serve instead"

/* What the plan's trace did not tell is not held against it. */
static bool
is_for_this_run (const TesseraOptions *options, const TesseraPlan *plan, const char *path)
{
  if (plan->world != 0 && (plan->world != options->world || plan->rank != options->rank))
    tessera_notice ("The plan %s is not followed, " INSTEAD
                    ": it was made for rank %u of "
                    "%u, and this is rank %u of %u.",
                    path, plan->rank, plan->world, options->rank, options->world);
  else if (plan->torch != NULL && *options->torch != '\0' &&
           strcmp (plan->torch, options->torch) != 0)
    tessera_notice ("The plan %s is not followed, " INSTEAD ": it was made under PyTorch "
                    "%s, and this is %s.",
                    path, plan->torch, options->torch);
  else
    return true;
  return false;
}

TesseraPlan *
tessera_plan_file_open (const TesseraOptions *options, const char *path)
{
  TesseraPlan *plan = NULL;
  TesseraError error = { 0 };
  TesseraLaw law;

  if (tessera_plan_load (path, &error, &plan) != TESSERA_OK)
    tessera_notice ("%s; " INSTEAD ".", error.text);
  else if (tessera_check_plan (plan, NULL, &law, &error) != TESSERA_OK ||
           (plan->lengths != NULL &&
            tessera_check_lengths (plan->lengths, &law, &error) != TESSERA_OK))
    tessera_notice ("The plan %s is refused by the checker, " INSTEAD ": %s.", path,
                    error.text);
  else if (is_for_this_run (options, plan, path))
    return plan;
  tessera_plan_free (plan);
  return NULL;
}

bool
tessera_plan_file_suits (const TesseraPlan *plan, int ordinal, uint64_t device_bytes)
{
  if (!tessera_torch_tells_streams ())
    {
      tessera_notice ("The plan is not followed on device %d, " INSTEAD ": PyTorch does "
                      "not tell which streams use a block (no record_stream hook).",
                      ordinal);
      return false;
    }
  if (plan->device_bytes != 0 && device_bytes != 0 &&
      (plan->device_bytes > device_bytes + device_bytes / DEVICE_TOLERANCE ||
       device_bytes > plan->device_bytes + plan->device_bytes / DEVICE_TOLERANCE))
    {
      tessera_notice (
          "The plan is not followed on device %d, " INSTEAD ": it was made for "
          "a device of %s, and this one has %s.",
          ordinal, TESSERA_SIZE (plan->device_bytes), TESSERA_SIZE (device_bytes));
      return false;
    }
  return true;
}
