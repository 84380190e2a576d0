/*
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
 * nobody's while steps are shorter. Where that is much it gets no place: a placeless
 * request of each step, served beside the pool at the size that it has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/edits.h"

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

/* Whether an edit says where it lies. */
static bool
is_held (const TesseraLengthsBuild *build, uint32_t slot)
{
  const TesseraLengthsEdits *edits = build->edits;

  return edits && edits->are_any &&
         (edits->slots.pins[slot] != TESSERA_NOT_PINNED || edits->slots.fixes[slot]);
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

      if (slot->place == TESSERA_PLACE_FIXED && slot->crosses && !is_held (build, i) &&
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
  size_t n = (size_t) out->n_slots + 1, n_laws = (size_t) out->n_laws + 1;
  Crossing crossing = { .build = build,
                        .gone = malloc (n * sizeof (uint32_t)),
                        .n_places = malloc (n * sizeof (uint32_t)),
                        .most_bytes = malloc (n_laws * sizeof (uint64_t)),
                        .bytes = malloc (n_laws * sizeof (uint64_t)),
                        .ending = calloc (n, sizeof (uint64_t)) };
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (crossing.gone && crossing.n_places && crossing.most_bytes && crossing.bytes &&
      crossing.ending)
    status = tessera_sweep_sizes (out, &out->most, crossing.most_bytes) ? TESSERA_OK
                                                                        : TESSERA_INVALID;
  if (status == TESSERA_OK)
    {
      uint32_t cut;

      look_at_slots (&crossing);
      cut = find_cut (&crossing);
      for (uint32_t i = 0; i < out->n_slots; i++)
        if (out->slots[i].place != TESSERA_PLACE_NONE && cut > 0)
          out->slots[i].place =
              is_swept (&crossing, i, cut) ? TESSERA_PLACE_SWEPT : TESSERA_PLACE_FIXED;
      leave_out (&crossing);
    }
  free (crossing.gone);
  free (crossing.n_places);
  free (crossing.most_bytes);
  free (crossing.bytes);
  free (crossing.ending);
  return status;
}
