/*
 * A plan for steps of every length: see planner/lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/private.h"

/* ---- What a step of a given length takes ---- */

/* Whether the block of the step before is there still when the slot's own comes: of a
 * size that is always the same, or in a place that is others' meanwhile. */
static bool
takes_turns (const TesseraLengths *lengths, const TesseraLengthsSlot *slot)
{
  return tessera_lengths_slot_turns (slot) ||
         (slot->place == TESSERA_PLACE_FIXED && slot->crosses &&
          slot->spare_bytes != slot->offset_bytes &&
          lengths->laws[slot->law].kind == TESSERA_SIZE_CONSTANT);
}

uint64_t
tessera_lengths_load (const TesseraLengths *lengths,
                      const uint64_t *block_bytes,
                      bool has_fixed)
{
  g_autofree uint64_t *ending = g_new0 (uint64_t, (size_t) lengths->n_slots + 1);
  uint64_t load = 0, most = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (takes_turns (lengths, &lengths->slots[i]))
      {
        load += block_bytes[lengths->slots[i].law];
        ending[MAX (lengths->slots[i].gone, i + 1)] += block_bytes[lengths->slots[i].law];
      }
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      load -= ending[i];
      if (slot->place == TESSERA_PLACE_NONE || tessera_lengths_slot_stays (slot) ||
          (!has_fixed && slot->place == TESSERA_PLACE_FIXED &&
           !tessera_lengths_slot_turns (slot)))
        continue;
      load += block_bytes[slot->law];
      ending[slot->died] += block_bytes[slot->law];
      most = MAX (most, load);
    }
  return most;
}

static uint64_t
there_for_good (const TesseraLengths *lengths, const uint64_t *block_bytes)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < lengths->n_start; i++)
    if (lengths->start[i].is_held && !lengths->start[i].is_left)
      sum += lengths->start[i].block_bytes;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (tessera_lengths_slot_stays (&lengths->slots[i]))
      sum += block_bytes[lengths->slots[i].law];
  return sum;
}

/* What the fixed places lack beyond what the plan is for. */
static uint64_t
lacking (const TesseraLengths *lengths,
         const uint64_t *block_bytes,
         const uint64_t *most_bytes)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED &&
          block_bytes[slot->law] > most_bytes[slot->law])
        sum += (block_bytes[slot->law] - most_bytes[slot->law]) *
               (slot->spare_bytes != slot->offset_bytes ? 2 : 1);
    }
  return sum;
}

uint64_t *
tessera_lengths_sizes (const TesseraLengths *lengths, const TesseraParameters *at)
{
  g_autofree uint64_t *sizes = g_new (uint64_t, (size_t) lengths->n_laws + 1);

  return tessera_sweep_sizes (lengths, at, sizes) ? g_steal_pointer (&sizes) : NULL;
}

bool
tessera_lengths_measure (const TesseraLengths *lengths,
                         const TesseraParameters *parameters,
                         TesseraLengthsNeed *out_need)
{
  g_autofree uint64_t *sizes = tessera_lengths_sizes (lengths, parameters);
  g_autofree uint64_t *most = tessera_lengths_sizes (lengths, &lengths->most);
  g_autofree uint64_t *tops = g_new (uint64_t, (size_t) lengths->n_swept + 1);
  const TesseraOrder *order;

  *out_need = (TesseraLengthsNeed){ 0 };
  if (!sizes || !most)
    return false;
  for (int in_spare = 0; in_spare < 2; in_spare++)
    {
      uint64_t height = tessera_sweep_by (lengths, parameters, false, in_spare, sizes,
                                          NULL, tops, &order);

      if (order)
        out_need->height_bytes = MAX (out_need->height_bytes, height);
    }
  out_need->height_bytes += lacking (lengths, sizes, most);
  out_need->bound_bytes =
      there_for_good (lengths, sizes) + tessera_lengths_load (lengths, sizes, true);
  return true;
}

TesseraParameters
tessera_lengths_fullest (const TesseraLengths *lengths, TesseraLengthsNeed *out_need)
{
  TesseraParameters fullest = { 0 };
  TesseraLengthsNeed need;

  *out_need = (TesseraLengthsNeed){ 0 };
  for (uint32_t i = 0; i < lengths->n_observed; i++)
    if (tessera_lengths_measure (lengths, &lengths->observed[i], &need) &&
        need.height_bytes > out_need->height_bytes)
      {
        *out_need = need;
        fullest = lengths->observed[i];
      }
  return fullest;
}

/* ---- Plans that take more than there ever is are not made ---- */

enum
{
  COSTLY_SHARE = 4 /* above the trace's own load by more, expandable rules serve better */
};

static TesseraStatus
refuse_height (const TesseraLengthsBuild *build, double percent, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint32_t pin = tessera_lengths_pins_highest (build);

  if (pin != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" %s that a step would take %.0f %% "
                         "of the most that is ever alive, since what moves with the "
                         "length lies above: no plan for every length is made with it",
                         edits->edits[pin].name,
                         edits->edits[pin].kind == TESSERA_EDIT_PIN
                             ? "pins so high"
                             : "keeps so much together",
                         percent);
  if (edits->fixing != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" keeps so much apart that a step would take "
                         "%.0f %% of the most that is ever alive: no plan for every "
                         "length is made with it",
                         edits->edits[edits->fixing].name, percent);
  return tessera_fail (error, TESSERA_REFUSED,
                       "sizes vary by a law, but what can't move with the length "
                       "is too much: a step would take %.0f %% of the most that is "
                       "ever alive: no plan for every length",
                       percent);
}

/* What can't move with the length (blocks that live into the next step in sizes that
 * vary, requests that each step makes otherwise) may take more than there ever is, and so
 * may what an edit fixes. */
static TesseraStatus
refuse_costly (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);
  TesseraLengthsNeed need;

  tessera_lengths_fullest (out, &need);
  return need.height_bytes > load + load / COSTLY_SHARE
             ? refuse_height (build, 100.0 * (double) need.height_bytes / (double) load,
                              error)
             : TESSERA_OK;
}

/* ---- The plan ---- */

uint32_t
tessera_lengths_phase (TesseraLengthsBuild *build, uint32_t phase)
{
  TesseraLengths *out = build->out;
  const char *name;

  if (phase == TESSERA_NONE)
    return TESSERA_NONE;
  name = tessera_phase_name (build->trace, &build->structure->phases[phase]);
  for (uint32_t i = out->n_strings; i > 0; i--)
    if (strcmp (out->strings[i - 1], name) == 0)
      return i - 1;
  out->strings = g_renew (char *, out->strings, out->n_strings + 1);
  out->strings[out->n_strings] = g_strdup (name);
  return out->n_strings++;
}

/* What the plan is for: as asked, else the largest batch and the longest length seen. */
static void
set_parameters (TesseraLengthsBuild *build)
{
  const TesseraFitSteps *steps = &build->kind->laws.steps;
  const TesseraParameters *asked = &build->options->most;
  TesseraLengths *out = build->out;

  out->n_observed = steps->n_steps;
  out->observed = g_memdup2 (steps->parameters, sizeof steps->parameters);
  out->n_steps = (uint32_t) build->structure->n_steps;
  out->has_batch = steps->has_batch;
  out->alignment_bytes = MAX (build->trace->alignment_bytes, 1);
  out->cut_phase = g_strdup (build->parts->phase);
  out->most = *asked;
  for (uint32_t i = 0; i < steps->n_steps; i++)
    {
      if (asked->batch == 0)
        out->most.batch = MAX (out->most.batch, out->observed[i].batch);
      if (asked->length == 0)
        out->most.length = MAX (out->most.length, out->observed[i].length);
    }
  if (!out->has_batch)
    out->most.batch = 1;
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

static void
begin (TesseraLengthsBuild *build)
{
  tessera_lengths_free (build->out);
  build->out = g_new0 (TesseraLengths, 1);
  set_parameters (build);
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
      begin (build);
      status = lay_out (build, &found);
      if (status == TESSERA_REFUSED) /* too little is left to be laid out */
        status = tessera_lengths_edits_refuse_cap (edits, error);
    }
  return status;
}

static TesseraStatus
check (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  const uint32_t n_start = edits->n_start;
  TesseraLaw law;
  TesseraStatus status = tessera_check_lengths (build->out, &law, error);

  if (status == TESSERA_OK && build->options->n_edits > 0)
    status = tessera_check_lengths_pins (build->out, edits->pins + n_start, edits->pins,
                                         &law, error);
  for (uint32_t i = 0; i < edits->n_aparts && status == TESSERA_OK; i++)
    {
      const TesseraLengthsApart apart = {
        .slots = edits->sides + n_start,
        .start = edits->sides,
        .one = (uint64_t) 1 << 2 * i,
        .other = (uint64_t) (edits->are_mutual >> i & 1 ? 1 : 2) << 2 * i,
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
  TesseraError found = { 0 };
  TesseraStatus status;

  *out_lengths = NULL;
  build.kind = tessera_laws_main (laws);
  if (!build.kind)
    return TESSERA_OK;
  if (laws->parts.phase)
    build.structure = &laws->parts.structure;
  build.edits = &edits;
  begin (&build);
  status = refuse_longer (&build, error);
  if (status == TESSERA_OK)
    status = tessera_lengths_edits_init (
        &edits, &build, structure,
        tessera_blocks_first_born (blocks, build.structure->steps[0].begin_index), error);
  if (status == TESSERA_OK)
    status = lay_out_under_cap (&build, &edits, error);
  if (status == TESSERA_OK)
    status = refuse_costly (&build, error);
  if (status == TESSERA_OK)
    {
      status = check (&build, &found);
      if (status != TESSERA_OK)
        tessera_fail (error, status,
                      "no plan for every length: what was made did not pass the checker "
                      "(%s)",
                      found.text);
    }
  tessera_lengths_edits_clear (&edits);
  g_free (build.most_bytes);
  if (status == TESSERA_OK)
    *out_lengths = build.out;
  else
    tessera_lengths_free (build.out);
  return status;
}
