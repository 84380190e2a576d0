/*
 * What one part of a step makes for the others: gradients, which the first micro-batch
 * makes and the others add to. They are there for the step, or for good where they are
 * zeroed instead of dropped.
 *
 * Their places are the highest of the fixed ones: a part that makes them finds them free
 * and lends them to its swept slots until the gradients come, as a step does with the
 * places of the optimizer's state (db/lengths.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/caching.h"

#include "planner/lengths/orders/lay-out.h"

/* Of each part of the kind. */
typedef struct
{
  uint32_t known_index[TESSERA_FIT_STEPS]; /* event at which its length is known */
  uint32_t last_slot[TESSERA_FIT_STEPS];   /* that it asks for */
  bool makes[TESSERA_FIT_STEPS];           /* what others find there */
  uint32_t n_makers;
} PartsOfKind;

static void
look_at_parts (const TesseraLengthsBuild *build, PartsOfKind *out)
{
  const TesseraKind *kind = build->kind;

  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      out->known_index[k] = 0;
      out->last_slot[k] = 0;
      for (uint32_t i = 0; i < kind->n_slots; i++)
        {
          uint32_t block = tessera_kind_block (kind, i, k);

          if (block == TESSERA_NONE || build->out->slots[i].place == TESSERA_PLACE_NONE)
            continue;
          out->last_slot[k] = i;
          if (i < build->out->n_early)
            out->known_index[k] = build->blocks->blocks[block].born_index;
        }
    }
}

/* Whether some part of the same step found it there, and it was always gone by the time
 * that the next one which makes it knew its length. */
static bool
is_over_cuts (const TesseraLengthsBuild *build, const PartsOfKind *parts, uint32_t slot)
{
  const TesseraKind *kind = build->kind;
  const uint32_t *step_of = build->parts->step_of;
  bool is_found = false;

  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (kind, slot, k), part = kind->steps[k], next;
      uint32_t died_index;

      if (block == TESSERA_NONE)
        continue;
      died_index = build->blocks->blocks[block].died_index;
      next = tessera_lengths_next (build, slot, k);
      if (next != TESSERA_NONE && died_index > parts->known_index[next])
        return false;
      if (part + 1 < build->structure->n_steps && step_of[part + 1] == step_of[part] &&
          died_index >= build->structure->steps[part].end_index)
        is_found = true;
    }
  return is_found;
}

/* Small ones among large ones would be in the way where several streams may work
 * (docs/DESIGN.md, 4): they lend nothing, and are little. */
static bool
may_lend (const TesseraLengthsBuild *build, const TesseraLengthsSlot *slot)
{
  uint64_t bytes;

  if (slot->place != TESSERA_PLACE_FIXED ||
      !tessera_size_law_evaluate (&build->out->laws[slot->law], &build->out->most,
                                  &bytes))
    return false;
  if (bytes <= TESSERA_SMALL_BYTES && tessera_lengths_splits_sizes (build))
    return false;
  return slot->is_once ||
         (slot->crosses && build->out->laws[slot->law].kind == TESSERA_SIZE_CONSTANT);
}

/* Parts that make most of it. */
static void
find_makers (const TesseraLengthsBuild *build, PartsOfKind *parts)
{
  uint32_t n_all = 0;

  parts->n_makers = 0;
  for (uint32_t i = 0; i < build->out->n_slots; i++)
    n_all += build->out->slots[i].is_over_cuts;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t n = 0;

      for (uint32_t i = 0; i < build->out->n_slots; i++)
        n += build->out->slots[i].is_over_cuts &&
             tessera_kind_block (build->kind, i, k) != TESSERA_NONE;
      parts->makes[k] = 2 * n > n_all;
      parts->n_makers += parts->makes[k];
    }
}

/* Who asks for the slot, of parts that went on beyond its place. */
static TesseraSeen
seen_in (const TesseraLengthsBuild *build, const PartsOfKind *parts, uint32_t slot)
{
  bool is_in[2] = { false, false }, is_passed[2] = { false, false };

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    if (tessera_kind_block (build->kind, slot, k) != TESSERA_NONE)
      is_in[parts->makes[k]] = true;
    else if (parts->last_slot[k] > slot)
      is_passed[parts->makes[k]] = true;
  if (!is_in[true] && is_passed[true])
    return TESSERA_SEEN_LATER;
  return !is_in[false] && is_passed[false] ? TESSERA_SEEN_FIRST : TESSERA_SEEN_ANYWHERE;
}

/* From or up to which number of tokens the slot is asked for, by those parts that went on
 * beyond its place and ask for such slots at all. Between what asked for it and what did
 * not nobody knows: what is left out and comes misses, and no more; several that don't
 * come make the follower miss what comes behind them, however large. */
static void
tell_limits (TesseraLengthsBuild *build, const PartsOfKind *parts, uint32_t slot)
{
  TesseraLengthsSlot *of = &build->out->slots[slot];
  uint64_t least_in = UINT64_MAX, most_in = 0, least_out = UINT64_MAX, most_out = 0;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint64_t tokens = tessera_parameters_tokens (&build->out->observed[k]);

      if (of->seen == (parts->makes[k] ? TESSERA_SEEN_LATER : TESSERA_SEEN_FIRST))
        continue;
      if (tessera_kind_block (build->kind, slot, k) != TESSERA_NONE)
        {
          least_in = tokens < least_in ? tokens : least_in;
          most_in = tokens > most_in ? tokens : most_in;
        }
      else if (parts->last_slot[k] > slot)
        {
          least_out = tokens < least_out ? tokens : least_out;
          most_out = tokens > most_out ? tokens : most_out;
        }
    }
  if (most_out > 0 && most_out < least_in)
    of->from_tokens = least_in;
  else if (most_out > 0 && least_out > most_in)
    of->to_tokens = most_in;
}

void
tessera_lengths_over_cuts (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  PartsOfKind parts;

  look_at_parts (build, &parts);
  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (!may_lend (build, slot) || !is_over_cuts (build, &parts, i))
        continue;
      slot->is_over_cuts = true;
      slot->is_once = slot->crosses = false;
    }
  find_makers (build, &parts);
  for (uint32_t i = 0; i < out->n_slots && parts.n_makers > 0; i++)
    out->slots[i].seen = (uint8_t) seen_in (build, &parts, i);
  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      tell_limits (build, &parts, i);
}
