/*
 * A plan for steps of every length: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "planner/lengths/pins.h"

TesseraStatus
tessera_lengths_phase (TesseraLengthsBuild *build, uint32_t phase, uint32_t *out_string)
{
  TesseraLengths *out = build->out;
  const char *name;
  char **more;

  *out_string = TESSERA_NONE;
  if (phase == TESSERA_NONE)
    return TESSERA_OK;
  name = tessera_phase_name (build->trace, &build->structure->phases[phase]);
  for (uint32_t i = out->n_strings; i > 0; i--)
    if (strcmp (out->strings[i - 1], name) == 0)
      {
        *out_string = i - 1;
        return TESSERA_OK;
      }
  more = realloc (out->strings, (out->n_strings + 1) * sizeof *more);
  if (!more)
    return TESSERA_NO_MEMORY;
  out->strings = more;
  more[out->n_strings] = strdup (name);
  if (!more[out->n_strings])
    return TESSERA_NO_MEMORY;
  *out_string = out->n_strings++;
  return TESSERA_OK;
}

/* What the plan is for: as asked, else the largest batch and the longest length seen. */
static TesseraStatus
set_parameters (TesseraLengthsBuild *build)
{
  const TesseraFitSteps *steps = &build->laws->steps;
  TesseraLengths *out = build->out;

  out->observed = malloc ((steps->n_steps + 1) * sizeof *out->observed);
  if (!out->observed)
    return TESSERA_NO_MEMORY;
  out->n_observed = steps->n_steps;
  out->n_steps = (uint32_t) build->structure->n_steps;
  out->has_batch = steps->has_batch;
  out->alignment_bytes =
      build->trace->alignment_bytes ? build->trace->alignment_bytes : 1;
  out->most = build->options->most;
  if (build->parts->phase && !(out->cut_phase = strdup (build->parts->phase)))
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < steps->n_steps; i++)
    {
      out->observed[i] = steps->parameters[i];
      if (build->options->most.batch == 0 && out->most.batch < out->observed[i].batch)
        out->most.batch = out->observed[i].batch;
      if (build->options->most.length == 0 && out->most.length < out->observed[i].length)
        out->most.length = out->observed[i].length;
    }
  if (!out->has_batch)
    out->most.batch = 1;
  return TESSERA_OK;
}

/* Sizes tell a length up to a factor. One that is said is no shorter than what was seen;
 * else they count something else. */
static TesseraStatus
refuse_longer (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraParameters *most = &build->options->most;

  for (uint32_t i = 0; i < build->out->n_observed; i++)
    {
      const TesseraParameters *seen = &build->out->observed[i];
      const struct
      {
        const char *what;
        uint64_t seen, most;
      } of[] = { { "length", seen->length, most->length },
                 { "batch", seen->batch, most->batch } };

      for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (of[k].most > 0 && of[k].seen > of[k].most)
          return tessera_fail (error, TESSERA_REFUSED,
                               "the sizes of a step count a %s of %" PRIu64
                               ", beyond the %" PRIu64
                               " that is asked for as the most: no plan for every length",
                               of[k].what, of[k].seen, of[k].most);
    }
  return TESSERA_OK;
}

/* Slots, places and orders, as what edits leave to others is now. */
static TesseraStatus
lay_out (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraStatus status = tessera_lengths_slots (build, error);

  if (status == TESSERA_OK)
    status = tessera_lengths_start (build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_orders (build);
  return status;
}

static TesseraStatus
begin (TesseraLengthsBuild *build)
{
  TesseraStatus status;

  tessera_lengths_free (build->out);
  build->out = NULL;
  status = tessera_lengths_new (&build->out);
  return status == TESSERA_OK ? set_parameters (build) : status;
}

/* Again and again with less, until the pool is no higher than an edit caps it. */
static TesseraStatus
lay_out_under_cap (TesseraLengthsBuild *build,
                   TesseraLengthsEdits *edits,
                   TesseraError *error)
{
  uint64_t most_bytes = edits->cap_bytes;
  TesseraStatus status = lay_out (build, error);

  while (status == TESSERA_OK && edits->cap_bytes != UINT64_MAX)
    {
      TesseraError found = { 0 };
      bool fits;

      status = tessera_lengths_edits_cap (edits, build, &most_bytes, &fits, error);
      if (status != TESSERA_OK || fits)
        break;
      status = begin (build);
      if (status == TESSERA_OK)
        status = lay_out (build, &found);
      if (status == TESSERA_REFUSED) /* too little is left to be laid out */
        status = tessera_lengths_edits_refuse_cap (edits, error);
    }
  return status;
}

static TesseraStatus
check (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraEditedPlaces *slots = &build->edits->slots, *start = &build->edits->start;
  TesseraLaw law;
  TesseraStatus status = tessera_check_lengths (build->out, &law, error);

  if (status == TESSERA_OK && build->edits->are_any)
    status =
        tessera_check_lengths_pins (build->out, slots->pins, start->pins, &law, error);
  for (uint32_t i = 0; i < build->edits->n_aparts && status == TESSERA_OK; i++)
    {
      const TesseraLengthsApart apart = {
        .slots = slots->sides,
        .start = start->sides,
        .one = (uint64_t) 1 << 2 * i,
        .other = (uint64_t) (build->edits->are_mutual >> i & 1 ? 1 : 2) << 2 * i,
      };

      status = tessera_check_lengths_apart (build->out, &apart, &law, error);
    }
  return status;
}

TesseraStatus
tessera_lengths_plan (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      const TesseraLaws *laws,
                      const TesseraLengthsOptions *options,
                      TesseraError *error,
                      TesseraLengths **out_lengths)
{
  TesseraLengthsBuild build = { .trace = trace,
                                .blocks = blocks,
                                .structure = structure,
                                .options = options,
                                .parts = &laws->parts };
  TesseraLengthsEdits edits = { 0 };
  TesseraStatus status;

  *out_lengths = NULL;
  build.kind = tessera_laws_main (laws, &build.laws);
  if (!build.kind)
    return TESSERA_OK;
  if (laws->parts.phase)
    build.structure = &laws->parts.structure;
  build.edits = &edits;
  status = begin (&build);
  if (status == TESSERA_OK)
    status = refuse_longer (&build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_edits_init (
        &edits, &build, structure,
        tessera_first_born (blocks, build.structure->steps[0].begin_index), error);
  if (status == TESSERA_OK)
    status = lay_out_under_cap (&build, &edits, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_refuse_dear (&build, error);
  if (status == TESSERA_OK)
    status = check (&build, error);
  tessera_lengths_edits_clear (&edits);
  if (status == TESSERA_OK)
    *out_lengths = build.out;
  else
    tessera_lengths_free (build.out);
  return status;
}
