/*
 * What steps keep: blocks that are alive over the whole of the next step.
 *
 * One step's may be the optimizer's state. What several steps keep (losses in a list, a
 * cycle that Python's collector finds some steps later) is a habit, and which step has it
 * nobody can tell: the same request is a slot of those steps that kept its block, and
 * another, near it, of those whose block was gone soon. Had one of the two a place, a
 * block that another run keeps there, of a few bytes, would be in the way of all that is
 * swept over it in the steps that follow: these miss, however large, beside a pool that
 * has room for them. So neither has a place, where that is little, and one of the two is
 * asked for in each step. Nor has what is near and of its size, which would be taken for
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "planner/lengths/build.h"

enum
{
  LITTLE_SHARE = 64, /* of the largest load: so much may be served beside the pool */
  NEARBY = 16        /* slots: between the two ways are those of one or the other */
};

/* Whether the block is alive over the whole of the step after its own. What the last step
 * leaves behind nobody can tell. */
static bool
persists (const TesseraLengthsBuild *build, uint32_t step, const TesseraBlock *block)
{
  const TesseraStructure *structure = build->structure;

  if (build->parts->phase)
    {
      step = build->parts->step_of[step];
      structure = build->parts->whole;
    }
  return step + 1 < structure->n_steps &&
         block->died_index >= structure->steps[step + 1].end_index;
}

uint32_t
tessera_lengths_count_kept (const TesseraLengthsBuild *build,
                            uint32_t slot,
                            bool *out_is_habit)
{
  const uint32_t *step_of = build->parts->phase ? build->parts->step_of : NULL;
  uint32_t n = 0, last = TESSERA_NONE;

  *out_is_habit = false;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (build->kind, slot, k);
      uint32_t step = build->kind->steps[k];

      if (block == TESSERA_NONE || !persists (build, step, &build->blocks->blocks[block]))
        continue;
      step = step_of ? step_of[step] : step;
      *out_is_habit |= last != TESSERA_NONE && last != step;
      last = step;
      n++;
    }
  return n;
}

/* Whether nobody can tell the two by what is asked for. */
static bool
looks_like (const TesseraLengthsBuild *build, uint32_t a, uint32_t b)
{
  const TesseraLengths *out = build->out;
  const TesseraLengthsSlot *x = &out->slots[a], *y = &out->slots[b];

  if (x->stream != y->stream || x->pool != y->pool || x->phase != y->phase)
    return false;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint64_t one, other;

      if (!tessera_size_law_evaluate (&out->laws[x->law], &out->observed[k], &one) ||
          !tessera_size_law_evaluate (&out->laws[y->law], &out->observed[k], &other) ||
          one != other)
        return false;
    }
  return true;
}

/* Whether no step makes both. */
static bool
are_apart (const TesseraLengthsBuild *build, uint32_t a, uint32_t b)
{
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    if (tessera_kind_block (build->kind, a, k) != TESSERA_NONE &&
        tessera_kind_block (build->kind, b, k) != TESSERA_NONE)
      return false;
  return true;
}

/* Whether some steps carry it into the next and others, which ask for it as another slot,
 * are done with it: nobody knows for how long the next run's do. What a part of a step
 * makes for others is no such thing. */
static bool
is_dropped_by_some (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraKindSlot *slots = build->kind->slots;

  if (build->parts->phase || slots[slot].n_cross < 2)
    return false;
  for (uint32_t i = slot > NEARBY ? slot - NEARBY : 0;
       i < build->kind->n_slots && i <= slot + NEARBY; i++)
    if (slots[i].n_cross == 0 && slots[i].n_seen > 1 && looks_like (build, i, slot) &&
        are_apart (build, i, slot))
      return true;
  return false;
}

static bool
is_habit (const TesseraLengthsBuild *build, uint32_t slot)
{
  bool is_several;

  return (tessera_lengths_count_kept (build, slot, &is_several) > 0 && is_several) ||
         is_dropped_by_some (build, slot);
}

/* The slot, and those near it that might be taken for it. */
static void
leave_habit (TesseraLengthsBuild *build, uint32_t slot, uint64_t *left)
{
  TesseraLengths *out = build->out;

  for (uint32_t i = slot > NEARBY ? slot - NEARBY : 0;
       i < out->n_slots && i <= slot + NEARBY; i++)
    {
      TesseraLengthsSlot *of = &out->slots[i];
      uint64_t bytes;

      if (of->place == TESSERA_PLACE_NONE || !looks_like (build, i, slot) ||
          !tessera_size_law_evaluate (&out->laws[of->law], &out->most, &bytes) ||
          bytes > *left)
        continue;
      *left -= bytes;
      of->place = TESSERA_PLACE_NONE;
      of->is_once = of->crosses = false;
    }
}

void
tessera_lengths_leave_habits (TesseraLengthsBuild *build)
{
  uint64_t left = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL) /
                  LITTLE_SHARE;

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    if (is_habit (build, i))
      leave_habit (build, i, &left);
}

/* Without a place for what steps keep, be it by this slot or one that looks like it. */
static bool
is_left (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraLengthsSlot *slots = build->out->slots;
  bool is_several;

  if (slots[slot].place != TESSERA_PLACE_NONE)
    return false;
  if (tessera_lengths_count_kept (build, slot, &is_several) > 0)
    return true;
  for (uint32_t i = slot > NEARBY ? slot - NEARBY : 0;
       i < build->out->n_slots && i <= slot + NEARBY; i++)
    if (slots[i].place == TESSERA_PLACE_NONE && looks_like (build, i, slot) &&
        is_habit (build, i))
      return true;
  return false;
}

/* The first of those near before it that are one request with it, in one step this way,
 * in another that; itself: there is none. */
static uint32_t
find_first_way (const TesseraLengthsBuild *build, const uint32_t *firsts, uint32_t slot)
{
  uint32_t begin = slot > NEARBY ? slot - NEARBY : 0;

  for (uint32_t i = begin; i < slot; i++)
    {
      bool is_one = firsts[i] == i && looks_like (build, i, slot);

      for (uint32_t k = i; k < slot && is_one; k++)
        is_one = firsts[k] != i || are_apart (build, k, slot);
      if (is_one)
        return i;
    }
  return slot;
}

TesseraStatus
tessera_lengths_tell_kept (TesseraLengthsBuild *build, uint32_t stream, uint32_t pool)
{
  TesseraLengthsSlot *slots = build->out->slots;
  uint32_t *firsts = malloc (((size_t) build->out->n_slots + 1) * sizeof *firsts);

  if (!firsts)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < build->out->n_slots; i++)
    {
      TesseraLengthsSlot *first;

      firsts[i] = TESSERA_NONE;
      if (slots[i].stream != stream || slots[i].pool != pool || !is_left (build, i))
        continue;
      firsts[i] = find_first_way (build, firsts, i);
      first = &slots[firsts[i]];
      first->crosses = true;
      if (slots[i].seen != first->seen)
        first->seen = TESSERA_SEEN_ANYWHERE;
    }
  free (firsts);
  return TESSERA_OK;
}
