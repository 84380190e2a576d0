/*
 * What is proven about a plan's height. See proof.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/proof.h"

#include <stdio.h>

/* A gap is never rounded down to nothing. */
#define LEAST_PERCENT 0.01

uint64_t
tessera_plan_proven_bound (const TesseraPlan *plan)
{
  return plan->proven_bound_bytes > plan->bound_bytes ? plan->proven_bound_bytes
                                                      : plan->bound_bytes;
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

void
tessera_plan_describe_proof (const TesseraPlan *plan, char *text, size_t n_text)
{
  double percent = 100 * tessera_plan_gap (plan);
  char cut[64] = "";
  if (plan->cut_short == TESSERA_CUT_BY_TIME)
    snprintf (cut, sizeof cut, "; cut short after %.3g s", plan->time_limit_s);
  else if (plan->cut_short == TESSERA_CUT_BY_PERSON)
    snprintf (cut, sizeof cut, "; cut short by hand");
  if (tessera_plan_is_optimal (plan))
    snprintf (text, n_text, "optimal (proven)%s", cut);
  else
    snprintf (text, n_text, "within %.2f %% of the proven bound%s",
              percent > LEAST_PERCENT ? percent : LEAST_PERCENT, cut);
}
