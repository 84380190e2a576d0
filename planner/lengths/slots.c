/*
 * The slots of a plan for every length: which get their offsets by a sweep, which have a fixed
 * place, and which have none.
 *
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
#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/private.h"

/* ---- What steps keep ---- */

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

/* Steps, or parts of them, whose block of the slot is there over the whole of the next
 * step; *@out_is_habit: it is more than one step's. */
static uint32_t
count_kept (const TesseraLengthsBuild *build, uint32_t slot, bool *out_is_habit)
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

static bool
is_habit (const TesseraLengthsBuild *build, uint32_t slot)
{
  bool is_several;

  return count_kept (build, slot, &is_several) > 0 && is_several;
}

/* The slot, and those near it that might be taken for it. */
static void
leave_habit (TesseraLengthsBuild *build, uint32_t slot, uint64_t *rest, bool *is_left)
{
  TesseraLengths *out = build->out;

  for (uint32_t i = slot > NEARBY ? slot - NEARBY : 0;
       i < out->n_slots && i <= slot + NEARBY; i++)
    {
      TesseraLengthsSlot *of = &out->slots[i];
      uint64_t bytes;

      if (of->place == TESSERA_PLACE_NONE || !looks_like (build, i, slot) ||
          !tessera_size_law_evaluate (&out->laws[of->law], &out->most, &bytes) ||
          bytes > *rest)
        continue;
      *rest -= bytes;
      is_left[i] = true;
      of->place = TESSERA_PLACE_NONE;
      of->is_once = of->crosses = false;
    }
}

/* What several steps keep, with what looks like it, has no place where that is little.
 * Needs places. */
static void
leave_habits (TesseraLengthsBuild *build, bool *is_left)
{
  uint64_t rest = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL) /
                  LITTLE_SHARE;

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    if (is_habit (build, i))
      leave_habit (build, i, &rest, is_left);
}

/* Stream and pool. */
static uint32_t
owner_of (const TesseraKindSlot *slot)
{
  return (uint32_t) slot->stream << 16 | slot->pool;
}

/* What steps keep, of the stream and pool that are planned: who follows knows that it
 * comes, or would take it for one of its equals, which has a place. */
static void
annotate_kept (TesseraLengthsBuild *build, const bool *is_left, uint32_t owner)
{
  TesseraLengthsSlot *slots = build->out->slots;

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    if (is_left[i] && slots[i].place == TESSERA_PLACE_NONE &&
        owner_of (&build->kind->slots[i]) == owner)
      slots[i].crosses = true;
}

/* ---- Slots ---- */

enum
{
  EARLY_SHARE = 20 /* of the largest load may be asked for before the length is known */
};

uint32_t
tessera_lengths_next (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k)
{
  const TesseraKind *kind = build->kind;
  uint32_t next = TESSERA_NONE;

  for (uint32_t i = 0; i < kind->n_steps; i++)
    if (kind->steps[i] > kind->steps[k] &&
        (next == TESSERA_NONE || kind->steps[i] < kind->steps[next]) &&
        (slot == TESSERA_NONE || tessera_kind_block (kind, slot, i) != TESSERA_NONE))
      next = i;
  return next;
}

/* Not all steps of the kind ask for the same: until the next one that does. Where there
 * never is one nobody can tell: then it does. */
bool
tessera_lengths_outlives (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraBlock *blocks = build->blocks->blocks;
  bool is_known = build->parts->phase != NULL;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (build->kind, slot, k);
      uint32_t next =
          block == TESSERA_NONE ? TESSERA_NONE : tessera_lengths_next (build, slot, k);

      if (next == TESSERA_NONE)
        continue;
      if (blocks[block].died_index >=
          blocks[tessera_kind_block (build->kind, slot, next)].born_index)
        return true;
      is_known = true;
    }
  return !is_known;
}

/* The stream and pool of most slots: the others are not planned. */
static uint32_t
main_owner (const TesseraKind *kind)
{
  uint32_t best = 0, balance = 0;

  /* Boyer and Moore's majority vote; without a majority any will do. */
  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      uint32_t owner = owner_of (&kind->slots[i]);

      if (balance == 0)
        best = owner;
      balance += owner == best ? 1 : -1;
    }
  return best;
}

static void
place_slot (const TesseraLengthsBuild *build,
            uint32_t index,
            uint32_t owner,
            bool *out_is_left)
{
  const TesseraKindSlot *of = &build->kind->slots[index];
  TesseraLengthsSlot *slot = &build->out->slots[index];
  bool is_habit;
  uint32_t n_persisting = count_kept (build, index, &is_habit);

  slot->place = TESSERA_PLACE_SWEPT;
  *out_is_left = false;
  if (owner_of (of) != owner)
    slot->place = TESSERA_PLACE_NONE;
  else if (n_persisting > 0 && !(build->parts->phase && is_habit) &&
           2 * of->n_seen < build->kind->n_steps)
    {
      slot->place = TESSERA_PLACE_FIXED;
      slot->is_once = true;
    }
  else if (n_persisting > 0) /* steps keep it: there is no end to that */
    {
      slot->place = TESSERA_PLACE_NONE;
      *out_is_left = true;
    }
  else if (of->n_cross > 0)
    {
      slot->place = TESSERA_PLACE_FIXED;
      slot->crosses = true;
    }
}

/* The step of the kind that makes most of what one step makes; TESSERA_NONE: none does.
 */
static uint32_t
find_first (const TesseraLengthsBuild *build)
{
  uint32_t best = TESSERA_NONE, most = 0;

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t n = 0;

      for (uint32_t i = 0; i < build->out->n_slots; i++)
        n += build->out->slots[i].is_once &&
             tessera_kind_block (build->kind, i, k) != TESSERA_NONE;
      if (n > most)
        {
          most = n;
          best = k;
        }
    }
  return best;
}

/* Who was asked for where. What one step alone asked for that did not make anything is by
 * chance, as its size is: no other step will ask for the same. */
static void
set_seen (TesseraLengthsBuild *build)
{
  const TesseraKind *kind = build->kind;
  uint32_t first = build->parts->phase ? TESSERA_NONE : find_first (build);

  for (uint32_t i = 0; i < build->out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &build->out->slots[i];
      bool in_first =
          first != TESSERA_NONE && tessera_kind_block (kind, i, first) != TESSERA_NONE;

      if (first != TESSERA_NONE && !in_first)
        slot->seen = TESSERA_SEEN_LATER;
      else if (in_first && kind->slots[i].n_seen == 1 && kind->n_steps > 1)
        slot->seen = TESSERA_SEEN_FIRST;
      if (!in_first && kind->slots[i].n_seen == 1 && kind->n_steps > 2 &&
          slot->place == TESSERA_PLACE_SWEPT)
        slot->place = TESSERA_PLACE_NONE;
    }
}

/* After how many slots the parameters of step @k are known; n_slots + 1: never. */
static uint32_t
count_until_known (const TesseraLengthsBuild *build, uint32_t k, TesseraGuess *guess)
{
  const TesseraLengths *out = build->out;
  TesseraParameters known;

  tessera_guess_init (guess, out);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint32_t block = tessera_kind_block (build->kind, i, k);

      if (block == TESSERA_NONE ||
          (out->slots[i].place == TESSERA_PLACE_NONE &&
           !tessera_lengths_slot_is_kept (&out->slots[i])) ||
          out->laws[out->slots[i].law].kind == TESSERA_SIZE_BOUNDED)
        continue;
      if (tessera_guess_see (guess, i, build->blocks->blocks[block].size_bytes) &&
          tessera_guess_is_known (guess, &known))
        return i + 1;
    }
  return out->n_slots + 1;
}

/* Whether what would have a fixed place for no other reason than that the parameters come
 * late is a small part of the pool. */
static bool
is_little_early (const TesseraLengthsBuild *build)
{
  const TesseraLengths *out = build->out;
  g_autofree uint64_t *ending = g_new0 (uint64_t, (size_t) out->n_slots + 1);
  uint64_t early = 0, load = 0, most = 0;

  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint64_t bytes = build->most_bytes[out->slots[i].law];

      load -= ending[i];
      if (out->slots[i].place == TESSERA_PLACE_NONE)
        continue;
      load += bytes;
      ending[out->slots[i].died] += bytes;
      most = MAX (most, load);
      if (i < out->n_early && out->slots[i].place == TESSERA_PLACE_SWEPT)
        early += bytes;
    }
  return early <= most / EARLY_SHARE;
}

/* What is asked for until then can't be swept: it gets a fixed place. */
static TesseraStatus
find_early (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  g_autofree TesseraGuess *guess = g_new (TesseraGuess, 1);

  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    out->n_early = MAX (out->n_early, count_until_known (build, k, guess));
  if (out->n_early <= out->n_slots && !build->most_bytes)
    return TESSERA_INVALID;
  if (out->n_early > out->n_slots || !is_little_early (build))
    return tessera_fail (error, TESSERA_REFUSED,
                         "sizes vary by a law, but a step tells its length and batch too "
                         "late or not at all: no plan for every length");
  for (uint32_t i = 0; i < out->n_early; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      out->slots[i].place = TESSERA_PLACE_FIXED;
  return TESSERA_OK;
}

TesseraStatus
tessera_lengths_slots (TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraKind *kind = build->kind;
  TesseraLengths *out = build->out;
  uint32_t owner = main_owner (kind);
  g_autofree bool *is_left = g_new0 (bool, kind->n_slots + 1); /* since steps keep it */
  TesseraStatus status;

  out->n_laws = kind->laws.n_laws;
  out->laws = g_memdup2 (kind->laws.laws, (out->n_laws + 1) * sizeof *out->laws);
  g_free (build->most_bytes);
  build->most_bytes = tessera_lengths_sizes (out, &out->most);
  out->n_slots = kind->n_slots;
  out->slots = g_new0 (TesseraLengthsSlot, kind->n_slots + 1);
  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      out->slots[i] = (TesseraLengthsSlot){
        .law = kind->laws.law_of_slot[i],
        .died = kind->slots[i].died,
        .phase = tessera_lengths_phase (build, kind->slots[i].phase),
        .stream = kind->slots[i].stream,
        .pool = kind->slots[i].pool,
      };
      place_slot (build, i, owner, &is_left[i]);
    }
  leave_habits (build, is_left);
  set_seen (build);
  tessera_lengths_leave_slots (build);
  status = find_early (build, error);
  if (status != TESSERA_OK)
    return status;
  if (build->parts->phase)
    tessera_lengths_over_cuts (build);
  else
    {
      tessera_lengths_crossing (build);
      tessera_lengths_limit (build);
    }
  status = tessera_lengths_fix_slots (build, error);
  if (status != TESSERA_OK)
    return status;
  annotate_kept (build, is_left, owner);
  for (uint32_t i = 0; i < out->n_slots; i++)
    out->n_swept += out->slots[i].place == TESSERA_PLACE_SWEPT;
  return TESSERA_OK;
}
