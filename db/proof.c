/*
 * What is proven about a plan's height. See proof.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/proof.h"

#include "db/size-text.h"

#include <stdio.h>

/* A gap is never rounded down to nothing. */
#define LEAST_PERCENT 0.01

uint64_t
tessera_plan_proven_bound (const TesseraPlan *plan)
{
  return plan->proven_bound_bytes > plan->bound_bytes ? plan->proven_bound_bytes
                                                      : plan->bound_bytes;
}

uint64_t
tessera_plan_shown_bound (const TesseraPlan *plan,
                          uint64_t load_bound_bytes,
                          uint64_t pytorch_bytes)
{
  uint64_t proven_bytes =
      plan != NULL && plan->n_edits == 0 ? tessera_plan_proven_bound (plan) : 0;
  bool is_of_layouts = pytorch_bytes == 0 || proven_bytes <= pytorch_bytes;

  return proven_bytes > load_bound_bytes && is_of_layouts ? proven_bytes
                                                          : load_bound_bytes;
}

bool
tessera_plan_is_optimal (const TesseraPlan *plan)
{
  return plan->height_bytes <= tessera_plan_proven_bound (plan);
}

double
tessera_plan_gap (const TesseraPlan *plan)
{
  uint64_t bound_bytes = tessera_plan_proven_bound (plan);
  return tessera_plan_is_optimal (plan) || bound_bytes == 0
             ? 0
             : (double) (plan->height_bytes - bound_bytes) / (double) bound_bytes;
}

/* No layout of what the edits leave is lower; what they force or leave out is a cost. */
static void
describe_edits (const TesseraPlan *plan, char *text, size_t n_text)
{
  char bytes[32];

  if (plan->n_edits == 0)
    return;
  if (plan->height_bytes > plan->bound_bytes)
    snprintf (text, n_text, ", %s above the load bound",
              tessera_format_bytes (plan->height_bytes - plan->bound_bytes, bytes,
                                    sizeof bytes));
  else if (plan->n_placeless > 0)
    snprintf (text, n_text, ", %zu requests left out", plan->n_placeless);
}

void
tessera_plan_describe_proof (const TesseraPlan *plan, char *text, size_t n_text)
{
  double percent = 100 * tessera_plan_gap (plan);
  char cut[64] = "", edits[64] = "";
  const char *with;

  describe_edits (plan, edits, sizeof edits);
  with = edits[0] != '\0' ? " with its edits" : "";
  if (plan->cut_short == TESSERA_CUT_BY_TIME)
    snprintf (cut, sizeof cut, "; cut short after %.3g s", plan->time_limit_s);
  else if (plan->cut_short == TESSERA_CUT_BY_PERSON)
    snprintf (cut, sizeof cut, "; cut short by hand");
  if (tessera_plan_is_optimal (plan))
    snprintf (text, n_text, "optimal%s (proven)%s%s", with, edits, cut);
  else
    snprintf (text, n_text, "within %.2f %% of the proven bound%s%s%s",
              percent > LEAST_PERCENT ? percent : LEAST_PERCENT, with, edits, cut);
}
