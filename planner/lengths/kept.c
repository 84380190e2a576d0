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
 * asked for in each step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/build.h"

enum
{
  LITTLE_SHARE = 64, /* of the largest load: so much may be served beside the pool */
  NEARBY = 16        /* slots: between the two ways are only those of one or the other */
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

/* Whether the two are one request that steps make one way or the other. */
static bool
is_same_request (const TesseraLengthsBuild *build, uint32_t a, uint32_t b)
{
  const TesseraLengths *out = build->out;
  const TesseraLengthsSlot *x = &out->slots[a], *y = &out->slots[b];

  if (x->stream != y->stream || x->pool != y->pool || x->phase != y->phase)
    return false;
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint64_t one, other;

      if ((tessera_kind_block (build->kind, a, k) != TESSERA_NONE &&
           tessera_kind_block (build->kind, b, k) != TESSERA_NONE) ||
          !tessera_size_law_evaluate (&out->laws[x->law], &out->observed[k], &one) ||
          !tessera_size_law_evaluate (&out->laws[y->law], &out->observed[k], &other) ||
          one != other)
        return false;
    }
  return true;
}

typedef struct
{
  uint32_t slots[2 * NEARBY + 1];
  uint32_t n;
} Ways;

/* Unless it is another request than one of them. */
static void
add_way (const TesseraLengthsBuild *build, uint32_t slot, Ways *ways)
{
  for (uint32_t k = 0; k < ways->n; k++)
    if (!is_same_request (build, slot, ways->slots[k]))
      return;
  ways->slots[ways->n++] = slot;
}

/* The slot, and those near it, each two of which are one request: the nearest first, for
 * there may be several such requests of a step, with ways of their own. */
static void
find_ways (const TesseraLengthsBuild *build, uint32_t slot, Ways *out)
{
  *out = (Ways){ { slot }, 1 };
  for (uint32_t far = 1; far <= NEARBY; far++)
    {
      if (slot >= far)
        add_way (build, slot - far, out);
      if (slot + far < build->out->n_slots)
        add_way (build, slot + far, out);
    }
}

static bool
has_place (const TesseraLengths *out, const Ways *ways)
{
  for (uint32_t i = 0; i < ways->n; i++)
    if (out->slots[ways->slots[i]].place != TESSERA_PLACE_NONE)
      return true;
  return false;
}

void
tessera_lengths_leave_habits (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  uint64_t left = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL) /
                  LITTLE_SHARE;

  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      Ways ways;
      uint64_t bytes;
      bool is_habit;

      if (tessera_lengths_count_kept (build, i, &is_habit) == 0 || !is_habit ||
          !tessera_size_law_evaluate (&out->laws[out->slots[i].law], &out->most, &bytes))
        continue;
      find_ways (build, i, &ways);
      if (!has_place (out, &ways) || bytes > left)
        continue;
      left -= bytes;
      for (uint32_t k = 0; k < ways.n; k++)
        {
          TesseraLengthsSlot *slot = &out->slots[ways.slots[k]];

          slot->place = TESSERA_PLACE_NONE;
          slot->is_once = slot->crosses = false;
        }
    }
}

/* One of those that are one request stands for all that have no place: the first. */
static void
tell_kept_slot (const TesseraLengthsBuild *build, uint32_t index)
{
  TesseraLengthsSlot *slots = build->out->slots;
  uint8_t seen = slots[index].seen;
  uint32_t first = index;
  Ways ways;

  find_ways (build, index, &ways);
  for (uint32_t i = 0; i < ways.n; i++)
    {
      uint32_t way = ways.slots[i];

      if (slots[way].place != TESSERA_PLACE_NONE)
        continue;
      first = way < first ? way : first;
      if (slots[way].seen != seen)
        seen = TESSERA_SEEN_ANYWHERE;
    }
  slots[first].crosses = true;
  slots[first].seen = seen;
}

void
tessera_lengths_tell_kept (TesseraLengthsBuild *build, uint32_t stream, uint32_t pool)
{
  for (uint32_t i = 0; i < build->out->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &build->out->slots[i];
      bool is_habit;

      if (slot->place == TESSERA_PLACE_NONE && slot->stream == stream &&
          slot->pool == pool && tessera_lengths_count_kept (build, i, &is_habit) > 0)
        tell_kept_slot (build, i);
    }
}
