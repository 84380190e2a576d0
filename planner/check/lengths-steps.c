/*
 * The steps at which plans for every length are checked, each as a plan of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/lengths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocator/follow/lengths/instance.h"

enum
{
  N_SAMPLED = 16 /* parameters that are checked besides the observed */
};

/* The step that makes what one step makes; the same with that kept free; the others. */
static const TesseraInstanceOptions ways[] = { { .shares_once = true, .is_first = true },
                                               { .is_first = true },
                                               { 0 } };
enum
{
  N_WAYS = sizeof ways / sizeof *ways
};

TesseraStatus
tessera_check_refuse_at (const TesseraParameters *at,
                         const TesseraError *found,
                         TesseraError *error)
{
  return tessera_fail (error, TESSERA_REFUSED,
                       "at batch %" PRIu64 " and length %" PRIu64 ": %s", at->batch,
                       at->length, found->text);
}

/* The @k-th of N_SAMPLED + 1 numbers from 1 to @most. */
static uint64_t
sample_to (uint64_t most, uint64_t k)
{
  return 1 + (most - 1) / N_SAMPLED * k + (most - 1) % N_SAMPLED * k / N_SAMPLED;
}

/* The parameters that are checked besides the observed: the @k-th of N_SAMPLED + 1. */
static TesseraParameters
sample (const TesseraLengths *lengths, uint64_t k)
{
  const TesseraParameters *most = &lengths->most;

  return (TesseraParameters){
    .batch = k == N_SAMPLED ? most->batch : 1 + k % most->batch,
    .length = sample_to (most->length, k),
  };
}

typedef struct
{
  const TesseraLengths *lengths;
  TesseraCheckStep check;
  void *user;
} Visit;

/* Where a law gives no size nothing is planned. */
static TesseraStatus
visit_way (const Visit *visit,
           const TesseraParameters *parameters,
           const TesseraInstanceOptions *way)
{
  TesseraPlan *plan;
  TesseraStatus status =
      tessera_instance_of_step (visit->lengths, parameters, way, &plan);

  if (status == TESSERA_INVALID)
    return TESSERA_OK;
  if (status == TESSERA_OK)
    {
      status = visit->check (plan, parameters, way, visit->user);
      tessera_plan_free (plan);
    }
  return status;
}

/* A part that makes what is there over cuts, with the state there; then one that finds
 * both. */
static TesseraStatus
visit_parts (const Visit *visit, const TesseraParameters *parameters)
{
  const TesseraLengths *lengths = visit->lengths;
  bool *is_there = calloc ((size_t) lengths->n_slots + 1, sizeof *is_there);
  TesseraStatus status = is_there ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (int all = 0; all < 2 && status == TESSERA_OK; all++)
    {
      const TesseraInstanceOptions way = { .is_there = is_there,
                                           .shares_once = !all,
                                           .is_first = !all };

      for (uint32_t i = 0; i < lengths->n_slots; i++)
        is_there[i] =
            lengths->slots[i].is_once || (all && lengths->slots[i].is_over_cuts);
      status = visit_way (visit, parameters, &way);
    }
  free (is_there);
  return status;
}

/* Behind a step whose blocks lie where those of this one would else: where slots take turns. */
static TesseraStatus
visit_spare (const Visit *visit, const TesseraParameters *parameters)
{
  const TesseraLengths *lengths = visit->lengths;
  bool *is_spare = calloc ((size_t) lengths->n_slots + 1, sizeof *is_spare);
  const TesseraInstanceOptions way = { .is_spare = is_spare };
  TesseraStatus status = is_spare ? TESSERA_OK : TESSERA_NO_MEMORY;
  bool has_turns = false;

  for (uint32_t i = 0; i < lengths->n_slots && is_spare; i++)
    {
      is_spare[i] = lengths->slots[i].gone > 0;
      has_turns |= is_spare[i];
    }
  if (has_turns)
    status = visit_way (visit, parameters, &way);
  free (is_spare);
  return status;
}

static TesseraStatus
visit_ways (const Visit *visit, const TesseraParameters *parameters)
{
  TesseraStatus status = visit_spare (visit, parameters);

  for (size_t i = 0; i < N_WAYS && status == TESSERA_OK; i++)
    status = visit_way (visit, parameters, &ways[i]);
  if (status == TESSERA_OK && visit->lengths->cut_phase)
    status = visit_parts (visit, parameters);
  return status;
}

TesseraStatus
tessera_check_each_step (const TesseraLengths *lengths,
                         TesseraCheckStep check,
                         void *user)
{
  const Visit visit = { lengths, check, user };
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = 0; i < lengths->n_observed && status == TESSERA_OK; i++)
    status = visit_ways (&visit, &lengths->observed[i]);
  for (uint64_t k = 0; k <= N_SAMPLED && status == TESSERA_OK; k++)
    {
      const TesseraParameters sampled = sample (lengths, k);

      status = visit_ways (&visit, &sampled);
    }
  return status;
}
