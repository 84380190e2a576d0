/*
 * Of steps with two lengths: which requests not every step makes, and what that depends
 * on.
 *
 * A slot that some steps have none of may be asked for from some number of tokens on, of
 * one of the lengths (the embedding's gradient is sorted from 3,073 on), or up to some;
 * or only where a length has to be rounded. What holds in all steps is taken for the
 * rule; between what asked for it and what did not nobody knows, and it is left out.
 *
 * Such a slot gets a law of its own, so that the sweep knows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "planner/laws/fit/two-lengths.h"
#include "planner/laws/kind/split.h"
#include "planner/lengths/build.h"

enum
{
  NEARBY = 32 /* slots: who is asked for together depends on the same */
};

typedef struct
{
  TesseraLengthsBuild *build;
  uint32_t last_slot[TESSERA_FIT_STEPS]; /* that the step has */
} Looking;

static bool
has (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k)
{
  return tessera_kind_block (build->kind, slot, k) != TESSERA_NONE;
}

/* Whether the step says anything of the slot: that it makes what one step makes, or ended
 * before, is another reason to lack it. */
static bool
does_tell (const Looking *looking, uint32_t slot, uint32_t k)
{
  const TesseraLengthsBuild *build = looking->build;

  return looking->last_slot[k] > slot &&
         (has (build, slot, k) || build->kind->steps[k] > 0);
}

static uint64_t
length_of (const TesseraLengthsBuild *build, uint32_t k, bool is_second)
{
  const TesseraParameters *at = &build->out->observed[k];

  return is_second ? at->second : at->length;
}

/* From, or up to, which number of tokens it is asked for. */
static bool
find_limits (const Looking *looking, uint32_t slot, bool is_second, TesseraSizeLaw *law)
{
  const TesseraLengthsBuild *build = looking->build;
  uint64_t least_in = UINT64_MAX, most_in = 0, least_out = UINT64_MAX, most_out = 0;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint64_t tokens = build->out->observed[k].batch * length_of (build, k, is_second);
      bool is_in = has (build, slot, k);
      uint64_t *least = is_in ? &least_in : &least_out;
      uint64_t *most = is_in ? &most_in : &most_out;

      if (!does_tell (looking, slot, k))
        continue;
      *least = tokens < *least ? tokens : *least;
      *most = tokens > *most ? tokens : *most;
    }
  law->when_second = is_second;
  if (most_out > 0 && most_out < least_in)
    law->from_tokens = least_in;
  else if (most_out > 0 && least_out > most_in)
    law->to_tokens = most_in;
  return tessera_size_law_is_conditional (law);
}

/* A copy that only rounding makes, or what lives longer without. */
static bool
find_multiple (const TesseraLengthsBuild *build, uint32_t slot, TesseraSizeLaw *law)
{
  const TesseraKindSlot *of = &build->kind->slots[slot];

  law->when_multiple = of->when_multiple;
  law->when_other = of->when_other;
  law->when_second = of->when_second;
  if (of->when_multiple == 0 && tessera_kind_is_copy (build->kind, build->laws, slot))
    {
      law->when_multiple = law->rounding;
      law->when_other = true;
      law->when_second = law->rounds == TESSERA_ROUNDS_SECOND;
    }
  return law->when_multiple > 0;
}

static bool
is_asked_alike (const TesseraLengthsBuild *build, uint32_t a, uint32_t b)
{
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    if (has (build, a, k) != has (build, b, k))
      return false;
  return true;
}

/* Which length it follows: by its own law, else by those of others nearby that the same
 * steps ask for. Returns: false: nobody tells. */
static bool
find_length (const TesseraLengthsBuild *build, uint32_t slot, bool *out_is_second)
{
  const TesseraLengths *out = build->out;
  uint32_t begin = slot > NEARBY ? slot - NEARBY : 0;

  if (tessera_law_tells_one (&out->laws[out->slots[slot].law], out_is_second))
    return true;
  for (uint32_t i = begin; i < out->n_slots && i <= slot + NEARBY; i++)
    if (is_asked_alike (build, i, slot) &&
        tessera_law_tells_one (&out->laws[out->slots[i].law], out_is_second))
      return true;
  return false;
}

static bool
find_condition (const Looking *looking, uint32_t slot, TesseraSizeLaw *law)
{
  bool is_second;

  if (find_multiple (looking->build, slot, law))
    return true;
  if (find_length (looking->build, slot, &is_second))
    return find_limits (looking, slot, is_second, law);
  return find_limits (looking, slot, false, law) ||
         find_limits (looking, slot, true, law);
}

TesseraStatus
tessera_lengths_conditions (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  Looking looking = { .build = build };
  TesseraSizeLaw *laws =
      realloc (out->laws, ((size_t) out->n_laws + out->n_slots + 1) * sizeof *laws);

  if (!laws)
    return TESSERA_NO_MEMORY;
  out->laws = laws;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    looking.last_slot[k] = tessera_kind_last_slot (build->kind, k);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraSizeLaw law = laws[out->slots[i].law];

      if (out->slots[i].place != TESSERA_PLACE_SWEPT ||
          (out->slots[i].seen == TESSERA_SEEN_FIRST &&
           build->kind->slots[i].when_multiple == 0) ||
          !find_condition (&looking, i, &law))
        continue;
      laws[out->n_laws] = law;
      out->slots[i].law = out->n_laws++;
      out->slots[i].seen = TESSERA_SEEN_ANYWHERE;
    }
  return TESSERA_OK;
}
