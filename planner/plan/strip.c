/*
 * A strip cut out of a layout. See cap.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/cap.h"

#include "db/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a preview: what is nearer to the bound than this part of the height stays as it is,
 * as in all previews. */
#define ROUGH_PART 4096

/* What has a place: an item, with its lives. */
typedef struct
{
  uint64_t offset_bytes;
  uint32_t begin, end, begin2, end2;
  bool stays; /* held by an edit, or of a rotation with spares */
} Place;

struct TesseraStrip
{
  Place *places;
  uint32_t *place_of_block, *place_of_spare; /* [n_blocks] or TESSERA_NONE */
  uint32_t *left_out;                        /* [n_blocks] before the cap */
  uint32_t *lost;                            /* blocks */
  size_t n_places, n_lost;
  uint64_t begin_bytes, n_bytes; /* of the strip */
  double weight;                 /* bytes x lifetime of what is lost */
  char *strategy;
  bool was_at_bound;
};

static uint64_t
size_of (const TesseraPlanBuild *build, size_t item)
{
  return build->items[item].size_bytes;
}

void
tessera_strip_free (TesseraStrip *strip)
{
  if (!strip)
    return;
  free (strip->places);
  free (strip->place_of_block);
  free (strip->place_of_spare);
  free (strip->left_out);
  free (strip->lost);
  free (strip->strategy);
  free (strip);
}

static bool
is_at_bound (const TesseraPlan *plan)
{
  return plan->height_bytes - plan->bound_bytes <= plan->height_bytes / ROUGH_PART;
}

static TesseraStrip *
strip_new (const TesseraPlanBuild *build)
{
  size_t n_blocks = build->blocks->n_blocks;
  TesseraStrip *strip = g_new0 (TesseraStrip, 1);

  strip->n_places = build->n_items;
  strip->places = g_new0 (Place, build->n_items + 1);
  strip->place_of_block = tessera_new_nones (n_blocks);
  strip->place_of_spare = tessera_new_nones (n_blocks);
  strip->left_out = g_memdup2 (build->left_out, n_blocks * sizeof *build->left_out);
  strip->lost = g_new (uint32_t, build->plan->n_slots + 1);
  strip->strategy = g_strdup (build->plan->strategy);
  strip->was_at_bound = is_at_bound (build->plan);
  return strip;
}

static bool
has_any_spare (const TesseraPlanBuild *build)
{
  for (size_t i = 0; i < build->plan->n_sections; i++)
    if (build->n_spares[i] > 0)
      return true;
  return false;
}

/* A rotation that loses a block may do with other spares, so where there are any it
   stays. */
static void
note_places (const TesseraPlanBuild *build, TesseraStrip *strip)
{
  bool has_spares = has_any_spare (build);

  for (size_t i = 0; i < build->n_items; i++)
    {
      const TesseraItem *item = &build->items[i];

      strip->places[i] = (Place){
        .begin = item->begin, .end = item->end, .begin2 = item->begin2, .end2 = item->end2
      };
    }
  for (size_t i = 0; i < build->plan->n_slots; i++)
    {
      const TesseraSlot *slot = &build->plan->slots[i];
      uint32_t item = build->item_of_slot[i];
      Place *place = &strip->places[item];
      bool is_spare = tessera_build_is_spare (build, i);

      place->offset_bytes = slot->offset_bytes;
      place->stays |= is_spare ||
                      (has_spares && slot->wraps && slot->died_next >= slot->born) ||
                      (build->holds.is_held && build->holds.is_held[i]);
      (is_spare ? strip->place_of_spare : strip->place_of_block)[slot->block] = item;
    }
}

/* --- where ------------------------------------------------------------------------- */

static double
weight_of (const Place *place, uint64_t size_bytes)
{
  return (double) size_bytes *
         ((double) (place->end - place->begin) + (double) (place->end2 - place->begin2));
}

/* Items in the order in which a strip that rises meets them, or leaves them behind. */
typedef struct
{
  TesseraKeyed *met, *left;
  uint64_t n_bytes;     /* of the strip */
  uint64_t least_bytes; /* where it may begin: nothing that edits hold lies above it */
} Rise;

static void
rise_init (const TesseraPlanBuild *build, const TesseraStrip *strip, Rise *rise)
{
  size_t n = strip->n_places;

  rise->met = g_new (TesseraKeyed, n + 1);
  rise->left = g_new (TesseraKeyed, n + 1);
  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t at = strip->places[i].offset_bytes, top = at + size_of (build, i);

      rise->met[i] =
          (TesseraKeyed){ at + 1 > rise->n_bytes ? at + 1 - rise->n_bytes : 0, i };
      rise->left[i] = (TesseraKeyed){ top, i };
    }
  for (size_t i = 0; build->holds.is_held && i < build->plan->n_slots; i++)
    {
      const TesseraSlot *slot = &build->plan->slots[i];

      if (build->holds.is_held[i])
        rise->least_bytes =
            MAX (rise->least_bytes, slot->offset_bytes + slot->block_bytes);
    }
  tessera_demand_memory (tessera_sort_keyed (rise->met, n));
  tessera_demand_memory (tessera_sort_keyed (rise->left, n));
}

/* Whether a strip may begin there, and loses less than the best. */
static bool
is_better (const TesseraPlanBuild *build,
           const TesseraStrip *strip,
           const Rise *rise,
           uint64_t at_bytes,
           size_t n_staying,
           double weight)
{
  return n_staying == 0 && at_bytes >= rise->least_bytes &&
         at_bytes % build->plan->alignment_bytes == 0 &&
         (strip->n_bytes == 0 || weight < strip->weight);
}

/* Tries each strip that begins where an item ends, and those at the very bottom and top.
 */
static void
choose (const TesseraPlanBuild *build, TesseraStrip *strip, const Rise *rise)
{
  uint64_t most_bytes = build->plan->height_bytes - rise->n_bytes, at_bytes = 0;
  size_t n = strip->n_places, n_met = 0, n_left = 0, n_staying = 0;
  double weight = 0;

  for (;;)
    {
      for (; n_met < n && rise->met[n_met].key <= at_bytes; n_met++)
        {
          uint32_t item = rise->met[n_met].value;

          weight += weight_of (&strip->places[item], size_of (build, item));
          n_staying += strip->places[item].stays;
        }
      for (; n_left < n && rise->left[n_left].key <= at_bytes; n_left++)
        {
          uint32_t item = rise->left[n_left].value;

          weight -= weight_of (&strip->places[item], size_of (build, item));
          n_staying -= strip->places[item].stays;
        }
      if (is_better (build, strip, rise, at_bytes, n_staying, weight))
        {
          strip->begin_bytes = at_bytes;
          strip->n_bytes = rise->n_bytes;
          strip->weight = weight;
        }
      if (at_bytes == most_bytes)
        return;
      at_bytes = n_left < n && rise->left[n_left].key < most_bytes
                     ? rise->left[n_left].key
                     : most_bytes;
    }
}

static bool
is_lost (const TesseraStrip *strip, uint64_t at_bytes, uint64_t size_bytes)
{
  return at_bytes < strip->begin_bytes + strip->n_bytes &&
         at_bytes + size_bytes > strip->begin_bytes;
}

static void
list_lost (const TesseraPlanBuild *build, TesseraStrip *strip)
{
  for (size_t i = 0; i < build->plan->n_slots; i++)
    {
      const TesseraSlot *slot = &build->plan->slots[i];

      if (is_lost (strip, slot->offset_bytes, slot->block_bytes))
        strip->lost[strip->n_lost++] = slot->block;
    }
}

/* What is kept together has distances as it was laid out by itself, which are told when
 * items are packed. */
static bool
has_bodies (const TesseraPlanBuild *build)
{
  for (size_t i = 0; i < build->holds.n_holds; i++)
    if (build->holds.holds[i].kind == TESSERA_EDIT_TOGETHER)
      return true;
  return false;
}

TesseraStrip *
tessera_strip_find (const TesseraPlanBuild *build, uint64_t cap_bytes)
{
  uint64_t alignment_bytes = build->plan->alignment_bytes,
           n_bytes = build->plan->height_bytes - cap_bytes;
  Rise rise = { .n_bytes =
                    (n_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes };
  TesseraStrip *strip;

  if (rise.n_bytes > build->plan->height_bytes || has_bodies (build))
    return NULL;
  strip = strip_new (build);
  note_places (build, strip);
  rise_init (build, strip, &rise);
  choose (build, strip, &rise);
  free (rise.met);
  free (rise.left);
  if (strip->n_bytes == 0)
    {
      tessera_strip_free (strip);
      return NULL;
    }
  list_lost (build, strip);
  return strip;
}

double
tessera_strip_weight (const TesseraStrip *strip)
{
  return strip->weight;
}

/* --- taking it ---------------------------------------------------------------------- */

static bool
is_within (uint32_t begin, uint32_t end, const Place *place)
{
  return begin >= end || (place->begin <= begin && end <= place->end) ||
         (place->begin2 <= begin && end <= place->end2);
}

/* Which item has which place; each has one of its own. */
typedef struct
{
  uint32_t *place_of_item, *item_of_place;
} Pairing;

static bool
pair (Pairing *pairing, uint32_t item, uint32_t place)
{
  if ((pairing->place_of_item[item] != TESSERA_NONE &&
       pairing->place_of_item[item] != place) ||
      (pairing->item_of_place[place] != TESSERA_NONE &&
       pairing->item_of_place[place] != item))
    return false;
  pairing->place_of_item[item] = place;
  pairing->item_of_place[place] = item;
  return true;
}

/* Whether it is still there, and is for all of the item's lives. */
static bool
is_for (const TesseraStrip *strip, const Place *place, const TesseraItem *item)
{
  return !is_lost (strip, place->offset_bytes, item->size_bytes) &&
         is_within (item->begin, item->end, place) &&
         is_within (item->begin2, item->end2, place);
}

/* Returns: false where a slot is in no place that it had. */
static bool
set_offsets (TesseraPlanBuild *build, const TesseraStrip *strip, Pairing *pairing)
{
  build->plan->height_bytes = 0;
  for (size_t i = 0; i < build->plan->n_slots; i++)
    {
      TesseraSlot *slot = &build->plan->slots[i];
      uint32_t item = build->item_of_slot[i];
      uint32_t place =
          (tessera_build_is_spare (build, i) ? strip->place_of_spare
                                             : strip->place_of_block)[slot->block];

      if (place == TESSERA_NONE || !pair (pairing, item, place) ||
          !is_for (strip, &strip->places[place], &build->items[item]))
        return false;
      slot->offset_bytes = strip->places[place].offset_bytes;
      if (slot->offset_bytes >= strip->begin_bytes + strip->n_bytes)
        slot->offset_bytes -= strip->n_bytes;
      if (slot->offset_bytes + slot->block_bytes > build->plan->height_bytes)
        build->plan->height_bytes = slot->offset_bytes + slot->block_bytes;
    }
  return true;
}

static bool
find_offsets (TesseraPlanBuild *build, const TesseraStrip *strip)
{
  g_autofree uint32_t *place_of_item = tessera_new_nones (build->n_items);
  g_autofree uint32_t *item_of_place = tessera_new_nones (strip->n_places);
  Pairing pairing = { place_of_item, item_of_place };

  return set_offsets (build, strip, &pairing);
}

static void
describe (TesseraPlan *plan, const TesseraStrip *strip)
{
  free (plan->strategy);
  plan->strategy = g_strdup_printf ("%s, without a strip of addresses", strip->strategy);
  if (plan->proven_bound_bytes > plan->height_bytes ||
      plan->proven_bound_bytes < plan->bound_bytes)
    plan->proven_bound_bytes = plan->bound_bytes;
}

/* Whether packing anew what is left is of no use. A preview does it only where it had
 * reached the bound of what the strip was cut from: where not, all that it has was tried
 * in vain. */
static bool
is_low_enough (const TesseraPlanBuild *build, const TesseraStrip *strip)
{
  const TesseraPlan *plan = build->plan;

  if (build->options->is_preview)
    return is_at_bound (plan) || !strip->was_at_bound;
  return plan->height_bytes == plan->bound_bytes;
}

/* What is left may be lower when it is packed anew; if not it stays where it is. */
static TesseraStatus
settle (TesseraPlanBuild *build, const TesseraStrip *strip)
{
  TesseraPlan *plan = build->plan;
  uint64_t height_bytes = plan->height_bytes;
  g_autofree uint64_t *offsets = g_new (uint64_t, plan->n_slots + 1);
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < plan->n_slots; i++)
    offsets[i] = plan->slots[i].offset_bytes;
  plan->proven_bound_bytes = plan->bound_bytes;
  if (!is_low_enough (build, strip))
    status = tessera_build_offsets (build);
  if (status != TESSERA_OK || plan->height_bytes < height_bytes)
    return status;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = offsets[i];
  plan->height_bytes = height_bytes;
  describe (plan, strip);
  return TESSERA_OK;
}

TesseraStatus
tessera_strip_take (TesseraPlanBuild *build,
                    const TesseraStrip *strip,
                    bool *out_is_taken)
{
  size_t n_bytes = build->blocks->n_blocks * sizeof *build->left_out;
  g_autofree uint32_t *chosen = g_memdup2 (build->left_out, n_bytes); /* by load */
  TesseraStatus status;

  memcpy (build->left_out, strip->left_out, n_bytes);
  for (size_t i = 0; i < strip->n_lost; i++)
    build->left_out[strip->lost[i]] = build->constraints.cap_edit + 1;
  status = tessera_build_prepare (build);
  *out_is_taken = status == TESSERA_OK && find_offsets (build, strip);
  if (*out_is_taken)
    status = settle (build, strip);
  else
    memcpy (build->left_out, chosen, n_bytes);
  if (*out_is_taken && status == TESSERA_OK)
    tessera_build_rooms (build);
  return status;
}
