/*
 * A plan for steps of every length: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths.h"

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
      if (build->options->most.second == 0 && out->most.second < out->observed[i].second)
        out->most.second = out->observed[i].second;
    }
  if (!out->has_batch)
    out->most.batch = 1;
  return TESSERA_OK;
}

enum
{
  DEAR_SHARE = 4 /* above the trace's own load by more, expandable rules serve better */
};

/* What can't move with the length (blocks that live into the next step in sizes that
 * vary, requests that each step makes otherwise) may take more than there ever is. */
static TesseraStatus
refuse_dear (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);
  uint32_t pin = tessera_lengths_pins_highest (build);

  for (uint32_t i = 0; i < out->n_observed; i++)
    {
      TesseraLengthsNeed need;
      TesseraStatus status = tessera_lengths_measure (out, &out->observed[i], &need);

      if (status == TESSERA_NO_MEMORY)
        return status;
      if (status == TESSERA_OK && need.height_bytes > load + load / DEAR_SHARE &&
          pin != TESSERA_NONE)
        return tessera_fail (
            error, TESSERA_REFUSED,
            "the edit \"%s\" pins so high that a step would take %.0f %% "
            "of the most that is ever alive, since what moves with the "
            "length lies above: no plan for every length is made with "
            "it",
            build->options->edits[pin].name,
            100.0 * (double) need.height_bytes / (double) load);
      if (status == TESSERA_OK && need.height_bytes > load + load / DEAR_SHARE)
        return tessera_fail (error, TESSERA_REFUSED,
                             "sizes vary by a law, but what can't move with the length "
                             "is too much: a step would take %.0f %% of the most that is "
                             "ever alive: no plan for every length",
                             100.0 * (double) need.height_bytes / (double) load);
    }
  return TESSERA_OK;
}

/* Edits of groups and classes say nothing of places; what is pinned gets a fixed one. All
 * others are about the places that this trace's sizes have, which an order of blocks
 * can't promise at every length, or leave out what a run would then count against the
 * plan. */
static TesseraStatus
refuse_edits (const TesseraLengthsOptions *options, TesseraError *error)
{
  for (size_t i = 0; i < options->n_edits; i++)
    {
      const TesseraEdit *edit = &options->edits[i];

      if (edit->is_undone)
        continue;
      if (edit->kind == TESSERA_EDIT_DYNAMIC)
        return tessera_fail (error, TESSERA_REFUSED,
                             "the edit \"%s\" leaves requests out: no plan for every "
                             "length is made with it",
                             edit->name);
      if (edit->kind == TESSERA_EDIT_TOGETHER || edit->kind == TESSERA_EDIT_APART ||
          edit->kind == TESSERA_EDIT_CAP)
        return tessera_fail (error, TESSERA_REFUSED,
                             "the edit \"%s\" is about places that this trace's sizes "
                             "have: no plan for every length is made with it",
                             edit->name);
    }
  return TESSERA_OK;
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
  TesseraLengthsPins pins = { 0 };
  TesseraLaw law;
  TesseraStatus status;

  *out_lengths = NULL;
  build.kind = tessera_laws_main (laws, &build.laws);
  if (!build.kind)
    return TESSERA_OK;
  if (laws->parts.phase)
    build.structure = &laws->parts.structure;
  status = refuse_edits (options, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_new (&build.out);
  if (status == TESSERA_OK)
    status = set_parameters (&build);
  if (status == TESSERA_OK)
    status = tessera_lengths_pins_init (
        &pins, &build, structure,
        tessera_first_born (blocks, build.structure->steps[0].begin_index), error);
  build.pins = &pins;
  if (status == TESSERA_OK)
    status = tessera_lengths_slots (&build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_start (&build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_orders (&build, error);
  if (status == TESSERA_OK)
    status = refuse_dear (&build, error);
  if (status == TESSERA_OK)
    status = tessera_check_lengths (build.out, &law, error);
  if (status == TESSERA_OK && pins.of_slot)
    status =
        tessera_check_lengths_pins (build.out, pins.of_slot, pins.of_start, &law, error);
  tessera_lengths_pins_clear (&pins);
  if (status == TESSERA_OK)
    *out_lengths = build.out;
  else
    tessera_lengths_free (build.out);
  return status;
}
