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
 * next step's are there) would take two places, each as large as in the longest step, and
 * nobody's while steps are shorter. Where that is much it gets no place: an unplanned
 * request of each step, served beside the pool at the size that it has.
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
  uint32_t *gone;       /* [n_slots] see gone_before(); TESSERA_NONE: of others as well */
  uint32_t *n_places;   /* [n_slots] that it takes where it is fixed */
  uint64_t *most_bytes; /* [n_laws] */
  uint64_t *bytes;      /* [n_laws] at some observed parameters */
  uint64_t *ending;     /* [n_slots + 1] 0 */
} Crossing;

/* The kind's step that comes next after its @k-th; TESSERA_NONE. */
static uint32_t
step_after (const TesseraKind *kind, uint32_t k)
{
  uint32_t next = TESSERA_NONE;

  for (uint32_t i = 0; i < kind->n_steps; i++)
    if (kind->steps[i] > kind->steps[k] &&
        (next == TESSERA_NONE || kind->steps[i] < kind->steps[next]))
      next = i;
  return next;
}

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

      if (block == TESSERA_NONE || (next = step_after (kind, k)) == TESSERA_NONE)
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

/* The largest load of the swept at the parameters. */
static uint64_t
load_at (Crossing *crossing, const TesseraParameters *at, uint32_t cut)
{
  const TesseraLengths *out = crossing->build->out;
  uint64_t load = 0, most = 0;

  if (!tessera_sweep_sizes (out, at, crossing->bytes))
    return 0;
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint64_t bytes = crossing->bytes[out->slots[i].law];

      load -= crossing->ending[i];
      crossing->ending[i] = 0;
      if (!is_swept (crossing, i, cut))
        continue;
      load += bytes;
      crossing->ending[out->slots[i].died] += bytes;
      most = load > most ? load : most;
    }
  crossing->ending[out->n_slots] = 0;
  return most;
}

/* What the observed steps would take in all, at the least. */
static uint64_t
weigh (Crossing *crossing, uint32_t cut)
{
  const TesseraLengths *out = crossing->build->out;
  uint64_t fixed = 0, sum = 0;

  for (uint32_t i = 0; i < out->n_slots; i++)
    if (out->slots[i].place != TESSERA_PLACE_NONE && !is_swept (crossing, i, cut))
      fixed += crossing->most_bytes[out->slots[i].law] * crossing->n_places[i];
  for (uint32_t k = 0; k < out->n_observed; k++)
    sum += fixed + load_at (crossing, &out->observed[k], cut);
  return sum;
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

/* Those that would take two large places. */
static void
leave_out (Crossing *crossing)
{
  const TesseraLengthsBuild *build = crossing->build;
  TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);

  for (uint32_t i = out->n_early; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED && slot->crosses &&
          !tessera_lengths_is_held (build->edits, build->edits->n_start + i) &&
          out->laws[slot->law].kind != TESSERA_SIZE_CONSTANT &&
          crossing->most_bytes[slot->law] > load / LARGE_SHARE &&
          crossing->n_places[i] > 1)
        slot->place = TESSERA_PLACE_NONE;
    }
}

TesseraStatus
tessera_lengths_crossing (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  size_t n = (size_t) out->n_slots + 1;
  g_autofree uint32_t *gone = g_new (uint32_t, n), *n_places = g_new (uint32_t, n);
  g_autofree uint64_t *most_bytes = tessera_lengths_sizes (out, &out->most);
  g_autofree uint64_t *bytes = g_new (uint64_t, (size_t) out->n_laws + 1);
  g_autofree uint64_t *ending = g_new0 (uint64_t, n);
  Crossing crossing = { build, gone, n_places, most_bytes, bytes, ending };
  uint32_t cut;

  if (!most_bytes)
    return TESSERA_INVALID;
  look_at_slots (&crossing);
  cut = find_cut (&crossing);
  for (uint32_t i = 0; i < out->n_slots; i++)
    if (out->slots[i].place != TESSERA_PLACE_NONE && cut > 0)
      out->slots[i].place =
          is_swept (&crossing, i, cut) ? TESSERA_PLACE_SWEPT : TESSERA_PLACE_FIXED;
  leave_out (&crossing);
  return TESSERA_OK;
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
      set_limits (build, &parts, i);
}

/* ---- Offsets ---- */

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} PinGap;

/* What is free below the highest pin. */
typedef struct
{
  GArray *gaps;       /* PinGap, ascending */
  uint64_t top_bytes; /* all above is free */
} PinGaps;

typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint32_t edit;
  bool stays; /* else it is gone when the first step begins */
} Pinned;

static int
by_begin (const void *a, const void *b)
{
  const Pinned *x = a, *y = b;

  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

static void
add_pinned (const TesseraLengthsEdits *edits,
            uint32_t place,
            uint64_t bytes,
            bool stays,
            GArray *all)
{
  const Pinned pinned = { edits->pins[place], edits->pins[place] + bytes,
                          edits->by[place], stays };

  if (edits->pins[place] != TESSERA_NOT_PINNED)
    g_array_append_val (all, pinned);
}

/* Where pins lie, the lowest first. */
static GArray *
list_pinned (const TesseraLengthsBuild *build, const uint64_t *block_bytes)
{
  const TesseraLengths *of = build->out;
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Pinned));

  for (uint32_t i = 0; i < of->n_start; i++)
    if (!of->start[i].is_left)
      add_pinned (build->edits, i, of->start[i].block_bytes, of->start[i].is_held, all);
  for (uint32_t i = 0; i < of->n_slots; i++)
    if (of->slots[i].place == TESSERA_PLACE_FIXED)
      add_pinned (build->edits, of->n_start + i, block_bytes[of->slots[i].law], true,
                  all);
  g_array_sort (all, by_begin);
  return all;
}

/* @block_bytes: [n_laws] at the most. TESSERA_REFUSED: two pins share an address. Free
 * @gaps in any case. */
static TesseraStatus
find_gaps (PinGaps *gaps,
           const TesseraLengthsBuild *build,
           const uint64_t *block_bytes,
           TesseraError *error)
{
  g_autoptr (GArray) all = list_pinned (build, block_bytes);
  uint64_t staying_bytes = 0;
  TesseraStatus status = TESSERA_OK;

  *gaps = (PinGaps){ g_array_new (FALSE, FALSE, sizeof (PinGap)), 0 };
  for (uint32_t i = 0; i < all->len && status == TESSERA_OK; i++)
    {
      const Pinned *pinned = &g_array_index (all, Pinned, i);
      const PinGap gap = { gaps->top_bytes, pinned->begin_bytes };

      if (pinned->stays && pinned->begin_bytes < staying_bytes)
        status = tessera_lengths_edits_refuse (
            build->edits, pinned->edit, error,
            "pins to addresses where other pins need the largest size of theirs");
      if (gap.end_bytes > gap.begin_bytes)
        g_array_append_val (gaps->gaps, gap);
      gaps->top_bytes = MAX (gaps->top_bytes, pinned->end_bytes);
      if (pinned->stays)
        staying_bytes = MAX (staying_bytes, pinned->end_bytes);
    }
  return status;
}

/* The lowest free place of so many bytes, which is free no more. */
static uint64_t
take_gap (PinGaps *gaps, uint64_t bytes)
{
  for (uint32_t i = 0; i < gaps->gaps->len; i++)
    {
      PinGap *gap = &g_array_index (gaps->gaps, PinGap, i);

      if (gap->end_bytes - gap->begin_bytes >= bytes)
        {
          gap->begin_bytes += bytes;
          return gap->begin_bytes - bytes;
        }
    }
  gaps->top_bytes += bytes;
  return gaps->top_bytes - bytes;
}

static void
read_start (TesseraLengthsBuild *build)
{
  const TesseraBlocks *blocks = build->blocks;
  const TesseraLengthsEdits *edits = build->edits;
  TesseraLengths *out = build->out;
  uint32_t begin = build->structure->steps[0].begin_index;

  out->n_start = tessera_first_born (blocks, begin);
  out->start = g_new0 (TesseraStartSlot, out->n_start + 1);
  for (uint32_t i = 0; i < out->n_start; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      uint32_t died = tessera_first_born (blocks, block->died_index);

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

/* In the order of coming: in their step or part others may lie there until then. */
static void
place_staying (TesseraLengths *out,
               bool is_over_cuts,
               const uint64_t *block_bytes,
               PinGaps *gaps)
{
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED && tessera_lengths_slot_stays (slot) &&
          slot->is_over_cuts == is_over_cuts)
        slot->offset_bytes = slot->spare_bytes = take_gap (gaps, block_bytes[slot->law]);
    }
}

/* Where it is pinned, else the lowest free place. */
static uint64_t
take (PinGaps *gaps, uint64_t pinned_bytes, uint64_t block_bytes)
{
  return pinned_bytes != TESSERA_NOT_PINNED ? pinned_bytes : take_gap (gaps, block_bytes);
}

static TesseraStatus
place_fixed (const TesseraLengthsBuild *build,
             const uint64_t *block_bytes,
             TesseraError *error)
{
  TesseraLengths *out = build->out;
  const TesseraLengthsEdits *edits = build->edits;
  PinGaps gaps;
  TesseraStatus status = find_gaps (&gaps, build, block_bytes, error);

  for (uint32_t i = 0; i < out->n_start; i++)
    if (out->start[i].is_held && !out->start[i].is_left)
      out->start[i].offset_bytes =
          take (&gaps, edits->pins[i], out->start[i].block_bytes);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_stays (slot))
        continue;
      slot->offset_bytes =
          take (&gaps, edits->pins[out->n_start + i], block_bytes[slot->law]);
      slot->spare_bytes = slot->offset_bytes;
      if (slot->crosses && tessera_lengths_outlives (build, i))
        slot->spare_bytes = take_gap (&gaps, block_bytes[slot->law]);
    }
  /* Highest what is others' meanwhile. */
  g_array_set_size (gaps.gaps, 0);
  place_staying (out, false, block_bytes, &gaps);
  place_staying (out, true, block_bytes, &gaps);
  out->fixed_bytes = gaps.top_bytes;
  g_array_free (gaps.gaps, TRUE);
  return status;
}

/* Streams and private pools share no address, nor do small and large ones of a stream. */
static uint32_t
zone_of_start (const TesseraLengthsBuild *build, const TesseraStartSlot *slot)
{
  return (uint32_t) slot->stream << 17 | (uint32_t) slot->pool << 1 |
         (tessera_lengths_splits_sizes (build) &&
          slot->block_bytes > TESSERA_SMALL_BYTES);
}

/* One that has a place. What ends before the first step lies around what stays. */
static TesseraItem
item_of_start (const TesseraLengthsBuild *build, uint32_t index)
{
  const TesseraStartSlot *slot = &build->out->start[index];
  const uint64_t *pins = build->edits->pins;
  TesseraItem item = { .size_bytes = slot->block_bytes,
                       .begin = index,
                       .end = slot->is_held ? build->out->n_start + 1 : slot->died,
                       .zone = zone_of_start (build, slot),
                       .is_pinned = slot->is_held,
                       .pinned_bytes = slot->offset_bytes };

  if (!slot->is_held && pins[index] != TESSERA_NOT_PINNED)
    {
      item.is_pinned = true;
      item.pinned_bytes = pins[index];
    }
  return item;
}

static TesseraStatus
place_start (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  g_autofree TesseraItem *items = g_new (TesseraItem, out->n_start + 1);
  g_autofree uint32_t *slots = g_new (uint32_t, out->n_start + 1);
  g_autofree uint64_t *offsets = g_new (uint64_t, out->n_start + 1);
  TesseraPacking packing = { 0 };
  const TesseraPackOptions defaults = { 0 }, *options = build->options->pack;
  uint32_t n = 0;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = 0; i < out->n_start; i++)
    if (!out->start[i].is_left)
      {
        items[n] = item_of_start (build, i);
        slots[n++] = i;
      }
  if (n > 0)
    status = tessera_pack (items, n, options ? options : &defaults, offsets, &packing);
  if (status == TESSERA_REFUSED)
    {
      const TesseraLengthsEdits *edits = build->edits;
      uint32_t one = slots[packing.conflict[0]], other = slots[packing.conflict[1]];

      return tessera_lengths_edits_refuse (
          edits, edits->by[edits->pins[one] != TESSERA_NOT_PINNED ? one : other], error,
          "pins to addresses where others lie before the first step");
    }
  for (uint32_t i = 0; i < n && status == TESSERA_OK; i++)
    out->start[slots[i]].offset_bytes = offsets[i];
  out->start_bytes = packing.height_bytes;
  return status;
}

TesseraStatus
tessera_lengths_start (TesseraLengthsBuild *build, TesseraError *error)
{
  g_autofree uint64_t *block_bytes =
      tessera_lengths_sizes (build->out, &build->out->most);
  TesseraStatus status;

  if (!block_bytes)
    return TESSERA_INVALID;
  read_start (build);
  status = place_fixed (build, block_bytes, error);
  return status == TESSERA_OK ? place_start (build, error) : status;
}
