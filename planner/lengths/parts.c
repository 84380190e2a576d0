/*
 * Parts of steps: where each micro-batch of a step has a length of its own, steps are cut
 * where the phase in which their work begins comes again, and models are of the parts.
 *
 * Example: forward, backward, forward, backward, optimizer is cut before the second
 * forward: two parts, one forward and backward each, and the optimizer with the second.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <string.h>

enum
{
  MAX_NAMES = 8,         /* of phases that are tried, in the order in which they come */
  PARAMETRIC_SHARE = 16, /* one in so many of the live bytes may vary at a cut */
  DIFFERENT_SHARE = 256  /* ... of the bytes asked for has to, between parts of a step */
};

/* The bare name of the phase at the event; NULL: none. */
static const char *
name_at (const TesseraTrace *trace, const TesseraStructure *structure, uint32_t event)
{
  uint32_t phase = structure->phase_of_event[event];

  if (phase == TESSERA_NONE)
    return NULL;
  return tessera_bare_phase (tessera_phase_name (trace, &structure->phases[phase]));
}

/* Cuts of the step, each the first event of a part but the first; at most @most are
 * stored. Returns: how many there are. */
static size_t
cut_step (const TesseraTrace *trace,
          const TesseraStructure *structure,
          const TesseraStep *step,
          const char *name,
          TesseraStep *out_parts,
          size_t most)
{
  TesseraCutter cutter = { .phase = name };
  uint32_t phase = TESSERA_NONE;
  size_t n = 0;

  for (uint32_t e = step->begin_index; e < step->end_index; e++)
    {
      if (structure->phase_of_event[e] == phase)
        continue;
      phase = structure->phase_of_event[e];
      if (!tessera_cutter_see (&cutter, name_at (trace, structure, e)))
        continue;
      if (n < most)
        out_parts[n] = (TesseraStep){ .begin_index = e, .number = step->number };
      n++;
    }
  return n;
}

/* The first phase that comes again in some step, after others. Returns: NULL: none. */
static const char *
find_name (const TesseraTrace *trace, const TesseraStructure *structure, size_t *out_n)
{
  const TesseraStep *last = &structure->steps[structure->n_steps - 1];
  const char *tried[MAX_NAMES];
  size_t n_tried = 0;

  for (uint32_t e = last->begin_index; e < last->end_index && n_tried < MAX_NAMES; e++)
    {
      const char *name = name_at (trace, structure, e);
      size_t i = 0;

      while (name && i < n_tried && strcmp (tried[i], name) != 0)
        i++;
      if (!name || i < n_tried)
        continue;
      tried[n_tried++] = name;
      *out_n = 0;
      for (size_t k = 0; k < structure->n_steps; k++)
        *out_n += cut_step (trace, structure, &structure->steps[k], name, NULL, 0);
      if (*out_n > 0)
        return name;
    }
  return NULL;
}

/* What is asked for between a step's end and the next one's begin (an evaluation) is of
 * no part of the step: its sizes follow other batches. */
static void
add_between (TesseraStepParts *parts,
             const TesseraTrace *trace,
             const TesseraStructure *whole,
             size_t step)
{
  TesseraStructure *out = &parts->structure;
  uint32_t e = whole->steps[step].end_index;
  uint32_t end = step + 1 < whole->n_steps ? whole->steps[step + 1].begin_index
                                           : (uint32_t) trace->n_events;

  while (e < end && trace->events[e].action != TESSERA_ALLOC)
    e++;
  if (e >= end)
    return;
  parts->step_of[out->n_steps] = (uint32_t) whole->n_steps;
  out->steps[out->n_steps++] = (TesseraStep){
    .begin_index = whole->steps[step].end_index,
    .end_index = end,
    .number = whole->steps[step].number,
  };
}

/* Each step as its parts, one behind the other. */
static void
make_parts (TesseraStepParts *parts,
            const TesseraTrace *trace,
            const TesseraStructure *whole,
            size_t n_cuts)
{
  TesseraStructure *out = &parts->structure;
  size_t n_all = 2 * whole->n_steps + n_cuts;

  out->steps = g_new0 (TesseraStep, n_all + 1);
  parts->step_of = g_new0 (uint32_t, n_all + 1);
  for (size_t k = 0; k < whole->n_steps; k++)
    {
      const TesseraStep *step = &whole->steps[k];
      size_t first = out->n_steps;

      out->steps[out->n_steps++] = *step;
      out->n_steps += cut_step (trace, whole, step, parts->phase,
                                &out->steps[out->n_steps], n_all - out->n_steps);
      for (size_t i = first; i < out->n_steps; i++)
        {
          parts->step_of[i] = (uint32_t) k;
          out->steps[i].end_index =
              i + 1 < out->n_steps ? out->steps[i + 1].begin_index : step->end_index;
        }
      add_between (parts, trace, whole, k);
    }
}

void
tessera_step_parts_init (TesseraStepParts *parts,
                         const TesseraTrace *trace,
                         const TesseraStructure *structure)
{
  TesseraStructure *out = &parts->structure;
  size_t n_cuts = 0;

  *parts = (TesseraStepParts){ .whole = structure };
  if (structure->steps_from != TESSERA_STEPS_ANNOTATED || structure->phases_inferred ||
      !structure->phase_of_event || structure->n_steps == 0)
    return;
  parts->phase = find_name (trace, structure, &n_cuts);
  if (!parts->phase)
    return;
  *out = *structure;
  out->n_steps = 0;
  make_parts (parts, trace, structure, n_cuts);
  /* Equal parts look equal by the bare names of their phases. */
  out->phases = g_memdup2 (structure->phases, structure->n_phases * sizeof *out->phases);
  for (size_t i = 0; i < out->n_phases; i++)
    out->phases[i].label =
        tessera_bare_phase (tessera_phase_name (trace, &structure->phases[i]));
}

void
tessera_step_parts_clear (TesseraStepParts *parts)
{
  g_free (parts->step_of);
  if (parts->phase)
    {
      g_free (parts->structure.steps);
      g_free (parts->structure.phases);
    }
  *parts = (TesseraStepParts){ 0 };
}

/* Of the requests that both parts make. A few bytes may be a pair of requests that only
 * lie at the same place: a first window of a recurrent network, say, which has no state
 * yet. */
static bool
differ_in_bytes (const TesseraKind *kind,
                 const TesseraBlocks *blocks,
                 uint32_t a,
                 uint32_t b)
{
  uint64_t all_bytes = 0, different_bytes = 0;

  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      uint32_t block_a = tessera_kind_block (kind, i, a);
      uint32_t block_b = tessera_kind_block (kind, i, b);
      uint64_t a_bytes, b_bytes;

      if (block_a == TESSERA_NONE || block_b == TESSERA_NONE)
        continue;
      a_bytes = blocks->blocks[block_a].size_bytes;
      b_bytes = blocks->blocks[block_b].size_bytes;
      all_bytes += a_bytes > b_bytes ? a_bytes : b_bytes;
      different_bytes += a_bytes > b_bytes ? a_bytes - b_bytes : b_bytes - a_bytes;
    }
  return different_bytes > all_bytes / DIFFERENT_SHARE;
}

/* Else laws of whole steps say as much. */
static bool
do_parts_differ (const TesseraLaws *laws,
                 const TesseraKind *kind,
                 const TesseraBlocks *blocks)
{
  for (uint32_t a = 0; a < kind->n_steps; a++)
    for (uint32_t b = 0; b < a; b++)
      if (laws->parts.step_of[kind->steps[a]] == laws->parts.step_of[kind->steps[b]] &&
          differ_in_bytes (kind, blocks, a, b))
        return true;
  return false;
}

/* Blocks of slots that were seen more than once and not always of one size. */
static void
mark_varying (const TesseraKind *kind, bool *out_varies)
{
  const TesseraKindLaws *of = &kind->laws;

  for (uint32_t i = 0; i < kind->n_slots; i++)
    if (kind->slots[i].n_seen > 1 &&
        of->laws[of->law_of_slot[i]].kind != TESSERA_SIZE_CONSTANT)
      for (uint32_t k = 0; k < kind->n_steps; k++)
        if (tessera_kind_block (kind, i, k) != TESSERA_NONE)
          out_varies[tessera_kind_block (kind, i, k)] = true;
}

static bool
is_clean (const TesseraBlocks *blocks, const bool *varies, uint32_t cut_index)
{
  uint64_t live_bytes = 0, varying_bytes = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      bool is_born = block->born_index < cut_index || block->flags & TESSERA_AT_START;

      if (!is_born || block->died_index <= cut_index)
        continue;
      live_bytes += block->block_bytes;
      varying_bytes += varies[i] ? block->block_bytes : 0;
    }
  return varying_bytes <= live_bytes / PARAMETRIC_SHARE;
}

bool
tessera_cuts_are_clean (const TesseraLaws *laws, const TesseraBlocks *blocks)
{
  const TesseraStructure *parts = &laws->parts.structure;
  const TesseraKind *kind = tessera_laws_main (laws);
  g_autofree bool *varies = g_new0 (bool, blocks->n_blocks + 1);

  if (!kind || !do_parts_differ (laws, kind, blocks))
    return false;
  mark_varying (kind, varies);
  for (size_t i = 1; i < parts->n_steps; i++)
    if (laws->parts.step_of[i] == laws->parts.step_of[i - 1] &&
        !is_clean (blocks, varies, parts->steps[i].begin_index))
      return false;
  return true;
}
