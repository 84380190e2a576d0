/*
 * What has a fixed place in a plan for every length, and where.
 *
 * What lives into the next step, and is gone there before others come.
 *
 * A loop that zeroes its gradients before its forward pass instead of after the
 * optimizer's step carries them into the next step, for a few requests. Fixed places for
 * them would be nobody's while activations are at their peak. Instead these few requests
 * get fixed places, where that is less, and the gradients are swept like what ends with
 * its step: when the first swept slot of the next step is asked for they are gone.
 *
 * What outlives its successor's birth (`outputs = model(...)` holds the logits until the
 * next step's are there) takes two places in turns, each as large as in the longest step.
 * Where that is much they are the highest of the fixed ones, and others' while no block of
 * it lies there: each of the two has orders of its own, from packings around it. Where
 * that can't be it gets no place: an unplanned request of each step, served beside the
 * pool at the size that it has.
 *
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
#include "allocator/caching.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/private.h"

/* ---- Lives into the next step ---- */

enum
{
  MOST_CUTS = 16,  /* that are tried, the earliest */
  LARGE_SHARE = 50 /* of the largest load: more is much */
};

typedef struct
{
  const TesseraLengthsBuild *build;
  uint32_t *gone;     /* [n_slots] see gone_before(); TESSERA_NONE: of others as well */
  uint32_t *n_places; /* [n_slots] that it takes where it is fixed */
  uint64_t *ending;   /* [n_slots + 1] 0 */
} Crossing;

/* The first slot that the kind's @k-th step asks for at or behind the event; n_slots. */
static uint32_t
first_slot_from (const TesseraLengthsBuild *build, uint32_t k, uint32_t event)
{
  uint32_t i = 0;

  for (; i < build->kind->n_slots; i++)
    {
      uint32_t block = tessera_kind_block (build->kind, i, k);

      if (block != TESSERA_NONE && build->blocks->blocks[block].born_index >= event)
        break;
    }
  return i;
}

/* The slot before whose request the block of the step before has ended, the latest of any
 * step; TESSERA_NONE: nobody saw. */
static uint32_t
gone_before (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraKind *kind = build->kind;
  uint32_t latest = TESSERA_NONE;

  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (kind, slot, k), next, gone;

      if (block == TESSERA_NONE ||
          (next = tessera_lengths_next (build, TESSERA_NONE, k)) == TESSERA_NONE)
        continue;
      gone = first_slot_from (build, next, build->blocks->blocks[block].died_index);
      latest = latest == TESSERA_NONE || gone > latest ? gone : latest;
    }
  return latest;
}

/* Whether the slot would be swept where those before @cut are not; 0: as it is. */
static bool
is_swept (const Crossing *crossing, uint32_t slot, uint32_t cut)
{
  return slot >= cut && (crossing->build->out->slots[slot].place == TESSERA_PLACE_SWEPT ||
                         (cut > 0 && crossing->gone[slot] <= cut));
}

/* What a step takes at the most that the plan is for, at the least: what is fixed, and the
 * largest load of the swept. */
static uint64_t
weigh (Crossing *crossing, uint32_t cut)
{
  const TesseraLengths *out = crossing->build->out;
  uint64_t fixed = 0, load = 0, most = 0;

  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint64_t bytes = crossing->build->most_bytes[out->slots[i].law];

      load -= crossing->ending[i];
      crossing->ending[i] = 0;
      if (is_swept (crossing, i, cut))
        {
          load += bytes;
          crossing->ending[out->slots[i].died] += bytes;
          most = load > most ? load : most;
        }
      else if (out->slots[i].place != TESSERA_PLACE_NONE)
        fixed += bytes * crossing->n_places[i];
    }
  crossing->ending[out->n_slots] = 0;
  return fixed + most;
}

/* The cut with which least is taken; 0: none is better than no cut. */
static uint32_t
find_cut (Crossing *crossing)
{
  const TesseraLengths *out = crossing->build->out;
  uint32_t best = 0, last = out->n_early;
  uint64_t least = weigh (crossing, 0);

  for (uint32_t n = 0; n < MOST_CUTS && last < out->n_slots; n++)
    {
      uint32_t cut = TESSERA_NONE;
      uint64_t sum;

      for (uint32_t i = 0; i < out->n_slots; i++)
        if (crossing->gone[i] < cut && (crossing->gone[i] > last || n == 0))
          cut = crossing->gone[i];
      if (cut == TESSERA_NONE)
        break;
      last = cut;
      cut = cut > out->n_early ? cut : out->n_early;
      sum = weigh (crossing, cut);
      if (sum < least)
        {
          least = sum;
          best = cut;
        }
    }
  return best;
}

static void
look_at_slots (Crossing *crossing)
{
  const TesseraLengths *out = crossing->build->out;

  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      bool crosses = out->slots[i].crosses;

      crossing->gone[i] = crosses ? gone_before (crossing->build, i) : TESSERA_NONE;
      crossing->n_places[i] =
          1u + (crosses && tessera_lengths_outlives (crossing->build, i));
    }
}

/* Whether others may lie in the two places of the slot meanwhile: where all are of one
 * stream, whose small and large ones then share addresses, and no edit says who lies where.
 * Where both blocks are there at the peak the places cost more than the blocks do. */
static bool
may_turn (const Crossing *crossing, uint32_t slot)
{
  const TesseraLengthsBuild *build = crossing->build;
  TesseraLengths *out = build->out;
  uint64_t load = tessera_lengths_load (out, build->most_bytes, true), with_both;

  if (build->trace->n_streams > 1 || build->options->n_edits > 0 ||
      crossing->gone[slot] >= out->n_slots)
    return false;
  out->slots[slot].gone = crossing->gone[slot];
  with_both = tessera_lengths_load (out, build->most_bytes, true);
  out->slots[slot].gone = 0;
  return with_both <= load + load / LARGE_SHARE;
}

/* Those that would take two large places, which are others' meanwhile, or else none. */
static void
share_places (const Crossing *crossing)
{
  const TesseraLengthsBuild *build = crossing->build;
  TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);
  uint32_t n_turns = 0;

  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || !slot->crosses ||
          tessera_lengths_is_held (build->edits, build->edits->n_start + i) ||
          out->laws[slot->law].kind == TESSERA_SIZE_CONSTANT ||
          build->most_bytes[slot->law] <= load / LARGE_SHARE || crossing->n_places[i] < 2)
        continue;
      if (n_turns < TESSERA_MOST_TURNS && may_turn (crossing, i))
        {
          slot->gone = crossing->gone[i];
          n_turns++;
        }
      else
        slot->place = TESSERA_PLACE_NONE;
    }
}

void
tessera_lengths_crossing (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  size_t n = (size_t) out->n_slots + 1;
  g_autofree uint32_t *gone = g_new (uint32_t, n), *n_places = g_new (uint32_t, n);
  g_autofree uint64_t *ending = g_new0 (uint64_t, n);
  Crossing crossing = { build, gone, n_places, ending };
  uint32_t cut;

  look_at_slots (&crossing);
  cut = find_cut (&crossing);
  for (uint32_t i = 0; i < out->n_slots; i++)
    if (out->slots[i].place != TESSERA_PLACE_NONE && cut > 0)
      out->slots[i].place =
          is_swept (&crossing, i, cut) ? TESSERA_PLACE_SWEPT : TESSERA_PLACE_FIXED;
  share_places (&crossing);
}

/* ---- Made by one part of a step for the others ---- */

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

  return tessera_size_law_evaluate (&build->out->laws[slot->law], &build->out->most,
                                    &bytes) &&
         (bytes > TESSERA_SMALL_BYTES || !tessera_plan_splits_sizes (build->trace));
}

/* Parts that make most of what others find: [n_slots] @is_made. */
static void
find_makers (const TesseraLengthsBuild *build, const bool *is_made, PartsOfKind *parts)
{
  uint32_t n_all = 0;

  parts->n_makers = 0;
  for (uint32_t i = 0; i < build->out->n_slots; i++)
    n_all += is_made[i];
  for (uint32_t k = 0; k < build->kind->n_steps; k++)
    {
      uint32_t n = 0;

      for (uint32_t i = 0; i < build->out->n_slots; i++)
        n += is_made[i] && tessera_kind_block (build->kind, i, k) != TESSERA_NONE;
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
set_limits (TesseraLengthsBuild *build, const PartsOfKind *parts, uint32_t slot)
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
tessera_lengths_limit (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  g_autofree bool *is_once = g_new0 (bool, out->n_slots + 1);
  PartsOfKind steps;

  for (uint32_t i = 0; i < out->n_slots; i++)
    is_once[i] = out->slots[i].is_once;
  look_at_parts (build, &steps);
  find_makers (build, is_once, &steps);
  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      set_limits (build, &steps, i);
}

void
tessera_lengths_over_cuts (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  g_autofree bool *is_made = g_new0 (bool, out->n_slots + 1);
  PartsOfKind parts;

  look_at_parts (build, &parts);
  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      is_made[i] = slot->place == TESSERA_PLACE_FIXED &&
                   (slot->is_once || (slot->crosses && out->laws[slot->law].kind ==
                                                           TESSERA_SIZE_CONSTANT)) &&
                   is_over_cuts (build, &parts, i);
      if (!is_made[i] || !may_lend (build, slot))
        continue;
      slot->is_over_cuts = true;
      slot->is_once = slot->crosses = false;
    }
  find_makers (build, is_made, &parts);
  for (uint32_t i = 0; i < out->n_slots && parts.n_makers > 0; i++)
    out->slots[i].seen = (uint8_t) seen_in (build, &parts, i);
  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      set_limits (build, &parts, i);
}

/* ---- Offsets ---- */

static void
read_start (TesseraLengthsBuild *build)
{
  const TesseraBlocks *blocks = build->blocks;
  const TesseraLengthsEdits *edits = build->edits;
  TesseraLengths *out = build->out;
  uint32_t begin = build->structure->steps[0].begin_index;

  out->n_start = tessera_blocks_first_born (blocks, begin);
  out->start = g_new0 (TesseraStartSlot, out->n_start + 1);
  for (uint32_t i = 0; i < out->n_start; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      uint32_t died = tessera_blocks_first_born (blocks, block->died_index);

      out->start[i] = (TesseraStartSlot){
        .size_bytes = block->size_bytes,
        .block_bytes = block->block_bytes ? block->block_bytes : out->alignment_bytes,
        .died = CLAMP (died, i + 1, out->n_start),
        .phase = tessera_lengths_phase (build, block->born_phase),
        .stream = block->stream,
        .pool = block->pool,
        .is_held = block->died_index > begin || edits->sides[i] != 0,
        .is_left = edits->leaves[i],
      };
    }
}

/* In the order of coming, above all that is fixed: in their step or part others may lie
 * there until then. */
static void
place_staying (TesseraLengthsBuild *build, bool is_over_cuts)
{
  TesseraLengths *out = build->out;

  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || !tessera_lengths_slot_stays (slot) ||
          slot->is_over_cuts != is_over_cuts)
        continue;
      slot->offset_bytes = slot->spare_bytes = out->fixed_bytes;
      out->fixed_bytes += build->most_bytes[slot->law];
    }
}

/* Below all that moves, and where that ends in the longest step: what others leave free is
 * in one piece. */
static void
place_turns (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  uint64_t top_bytes =
      out->fixed_bytes + tessera_lengths_load (out, build->most_bytes, false);

  for (uint32_t i = 0; i < out->n_slots; i++)
    if (tessera_lengths_slot_turns (&out->slots[i]))
      {
        out->slots[i].offset_bytes = out->fixed_bytes;
        out->fixed_bytes += build->most_bytes[out->slots[i].law];
        top_bytes -= build->most_bytes[out->slots[i].law];
      }
  for (uint32_t i = 0; i < out->n_slots; i++)
    if (tessera_lengths_slot_turns (&out->slots[i]))
      {
        out->slots[i].spare_bytes = MAX (top_bytes, out->fixed_bytes);
        out->fixed_bytes =
            out->slots[i].spare_bytes + build->most_bytes[out->slots[i].law];
      }
}

/* Streams and private pools share no address, nor do small and large ones of a stream. */
static uint32_t
zone_of_start (const TesseraLengthsBuild *build, const TesseraStartSlot *slot)
{
  return (uint32_t) slot->stream << 17 | (uint32_t) slot->pool << 1 |
         (tessera_plan_splits_sizes (build->trace) &&
          slot->block_bytes > TESSERA_SMALL_BYTES);
}

/* What is held is there over all steps; @lies: where it has its place already. */
static TesseraItem
item_of_start (const TesseraLengthsBuild *build, uint32_t index, bool lies)
{
  const TesseraStartSlot *slot = &build->out->start[index];
  uint64_t pin = lies && slot->is_held ? slot->offset_bytes : build->edits->pins[index];

  return (TesseraItem){ .size_bytes = slot->block_bytes,
                        .begin = index,
                        .end = slot->is_held ? build->out->n_start + 1 : slot->died,
                        .zone = lies ? zone_of_start (build, slot) : 0,
                        .is_pinned = pin != TESSERA_NOT_PINNED,
                        .pinned_bytes = pin };
}

/* What has one place over all steps, and what is pinned among the blocks of the start; a
 * slot twice where the next step's comes while it is there. @places: of each item, as edits
 * count them. Returns: how many. */
static uint32_t
list_fixed (const TesseraLengthsBuild *build, TesseraItem *items, uint32_t *places)
{
  const TesseraLengths *out = build->out;
  const uint64_t *pins = build->edits->pins;
  uint32_t n = 0;

  for (uint32_t i = 0; i < out->n_start; i++)
    if (!out->start[i].is_left &&
        (out->start[i].is_held || pins[i] != TESSERA_NOT_PINNED))
      {
        places[n] = i;
        items[n++] = item_of_start (build, i, false);
      }
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &out->slots[i];
      uint32_t place = out->n_start + i;

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_stays (slot) ||
          tessera_lengths_slot_turns (slot))
        continue;
      places[n] = place;
      items[n++] = (TesseraItem){ .size_bytes = build->most_bytes[slot->law],
                                  .begin = out->n_start,
                                  .end = out->n_start + 1,
                                  .is_pinned = pins[place] != TESSERA_NOT_PINNED,
                                  .pinned_bytes = pins[place] };
      if (slot->crosses && tessera_lengths_outlives (build, i))
        {
          places[n] = place;
          items[n] = items[n - 1];
          items[n++].is_pinned = false;
        }
    }
  return n;
}

/* Their offsets around the pins. @reason: to pin two of them to the same addresses. */
static TesseraStatus
pack_places (TesseraLengthsBuild *build,
             const TesseraItem *items,
             const uint32_t *places,
             uint32_t n,
             const char *reason,
             uint64_t *out_height,
             TesseraError *error)
{
  TesseraLengths *out = build->out;
  const TesseraLengthsEdits *edits = build->edits;
  const TesseraPackOptions options = { .work_budget = build->options->work_budget };
  g_autofree uint64_t *offsets = g_new (uint64_t, n + 1);
  TesseraPacking packing = { 0 };
  TesseraStatus status = TESSERA_OK;

  if (n > 0)
    status = tessera_pack (items, n, &options, offsets, &packing);
  if (status == TESSERA_REFUSED)
    {
      uint32_t one = places[packing.conflict[0]], other = places[packing.conflict[1]];

      return tessera_lengths_edits_refuse (
          edits, edits->by[edits->pins[one] != TESSERA_NOT_PINNED ? one : other], error,
          reason);
    }
  for (uint32_t k = 0; k < n && status == TESSERA_OK; k++)
    if (places[k] < out->n_start)
      out->start[places[k]].offset_bytes = offsets[k];
    else
      {
        TesseraLengthsSlot *slot = &out->slots[places[k] - out->n_start];

        if (k == 0 || places[k] != places[k - 1])
          slot->offset_bytes = offsets[k];
        slot->spare_bytes = offsets[k];
      }
  *out_height = packing.height_bytes;
  return status;
}

TesseraStatus
tessera_lengths_start (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  g_autofree TesseraItem *items = NULL;
  g_autofree uint32_t *places = NULL;
  uint32_t n;
  TesseraStatus status;

  read_start (build);
  items = g_new (TesseraItem, out->n_start + 2 * (size_t) out->n_slots + 1);
  places = g_new (uint32_t, out->n_start + 2 * (size_t) out->n_slots + 1);
  n = list_fixed (build, items, places);
  status =
      pack_places (build, items, places, n,
                   "pins to addresses where other pins need the largest size of theirs",
                   &out->fixed_bytes, error);
  if (status != TESSERA_OK)
    return status;
  /* What ends before the first step lies around what stays. */
  n = 0;
  for (uint32_t i = 0; i < out->n_start; i++)
    if (!out->start[i].is_left)
      {
        places[n] = i;
        items[n++] = item_of_start (build, i, true);
      }
  place_staying (build, false);
  place_staying (build, true);
  place_turns (build);
  return pack_places (build, items, places, n,
                      "pins to addresses where others lie before the first step",
                      &out->start_bytes, error);
}
