/*
 * Requests that several kinds of step have in common get the same places, where they are
 * free: who follows the plan need not know at once of which kind a step is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "planner/kinds/embed.h"
#include "planner/kinds/pack.h"
#include "planner/diff.h"

#define MAX_DIFFERENT 2048

/* The tokens of a kind's requests; NULL: no memory. */
static uint64_t *
tokens_of (const TesseraUnits *units, uint32_t kind)
{
  const TesseraUnit *unit = &units->units[units->kinds[kind].unit];
  uint64_t *tokens = malloc ((unit->n_requests + 1) * sizeof *tokens);

  if (tokens)
    tessera_embed_tokens (units->trace, unit->begin, unit->end, tokens);
  return tokens;
}

/* For each request of the kind at hand the like of it in @other, or TESSERA_NONE; of all,
 * or only of those that both begin with. */
static TesseraStatus
compare_with (const TesseraKindsPacking *packing,
              uint32_t other,
              bool begins_only,
              uint32_t *likes,
              uint32_t *out_n_common)
{
  const TesseraUnits *units = packing->carries->units;
  uint32_t n = units->kinds[packing->kind].n_requests;
  uint32_t n_other = units->kinds[other].n_requests;
  uint64_t *a = tokens_of (units, packing->kind), *b = tokens_of (units, other);
  TesseraStatus status = a && b ? TESSERA_OK : TESSERA_NO_MEMORY;
  uint32_t k = 0;

  *out_n_common = 0;
  for (uint32_t r = 0; r < n; r++)
    likes[r] = TESSERA_NONE;
  if (status == TESSERA_OK && !begins_only)
    *out_n_common = tessera_diff (a, n, b, n_other, MAX_DIFFERENT, likes);
  /* Too different: what both begin with. */
  while (status == TESSERA_OK && *out_n_common == k && k < n && k < n_other &&
         a[k] == b[k])
    {
      likes[k] = k;
      *out_n_common = ++k;
    }
  free (a);
  free (b);
  return status;
}

/* Kept apart whenever they live. */
static bool
are_apart (const TesseraItem *a, const TesseraItem *b)
{
  return (a->in & b->apart) != 0 || (b->in & a->apart) != 0;
}

static bool
meet (const TesseraItem *a, const TesseraItem *b)
{
  return a->pinned_bytes < b->pinned_bytes + b->size_bytes &&
         b->pinned_bytes < a->pinned_bytes + a->size_bytes &&
         (are_apart (a, b) || (a->begin < b->end && b->begin < a->end) ||
          (a->begin < b->end2 && b->begin2 < a->end));
}

/* Of those pinned, whoever may be alive from now on. */
typedef struct
{
  const TesseraItem *items;
  uint32_t *list;
  size_t n;
} Pinned;

static bool
is_free (Pinned *pinned, const TesseraItem *item)
{
  bool is_free = true;
  size_t n = 0;

  for (size_t i = 0; i < pinned->n; i++)
    {
      const TesseraItem *other = &pinned->items[pinned->list[i]];

      if (other->end <= item->begin && (other->in | other->apart) == 0)
        continue;
      pinned->list[n++] = pinned->list[i];
      is_free = is_free && !meet (item, other);
    }
  pinned->n = n;
  return is_free;
}

static size_t
pin_likes (TesseraKindsPacking *packing,
           uint32_t other,
           const uint32_t *likes,
           Pinned *pinned)
{
  const TesseraPlan *plan = packing->build->plan;
  const TesseraUnits *units = packing->carries->units;
  const TesseraSpot *spots =
      &packing->carries->spots[packing->carries->first_spot[packing->kind]];
  const TesseraSpot *other_spots =
      &packing->carries->spots[packing->carries->first_spot[other]];
  size_t n_pinned = 0;

  for (uint32_t i = 0; i < packing->n_items; i++)
    if (packing->items[i].is_pinned)
      pinned->list[pinned->n++] = i;
  for (uint32_t r = 0; r < units->kinds[packing->kind].n_requests; r++)
    {
      uint32_t slot = spots[r].slot, index, like;
      TesseraItem *item;

      if (likes[r] == TESSERA_NONE || slot == TESSERA_NONE)
        continue;
      index = packing->item_of_slot[slot];
      like = other_spots[likes[r]].slot;
      item = &packing->items[index];
      if (item->is_pinned || like == TESSERA_NONE)
        continue;
      item->pinned_bytes = plan->slots[like].offset_bytes;
      if (!is_free (pinned, item))
        continue;
      item->is_pinned = true;
      pinned->list[pinned->n++] = index;
      n_pinned++;
    }
  return n_pinned;
}

TesseraStatus
tessera_kinds_pin (TesseraKindsPacking *packing, bool begins_only, size_t *out_n_pinned)
{
  const TesseraUnits *units = packing->carries->units;
  uint32_t n = units->kinds[packing->kind].n_requests;
  uint32_t *likes = malloc ((n + 1) * sizeof *likes);
  uint32_t *best = malloc ((n + 1) * sizeof *best);
  Pinned pinned = { .items = packing->items,
                    .list = malloc ((packing->n_items + 1) * sizeof *pinned.list) };
  uint32_t n_best = 0, best_kind = TESSERA_NONE;
  TesseraStatus status = likes && best && pinned.list ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_n_pinned = 0;
  for (uint32_t k = 0; status == TESSERA_OK && k < units->n_kinds; k++)
    {
      uint32_t n_common;

      if (!packing->is_placed[k])
        continue;
      status = compare_with (packing, k, begins_only, likes, &n_common);
      if (status == TESSERA_OK && n_common > n_best)
        {
          uint32_t *kept = best;

          best = likes;
          likes = kept;
          n_best = n_common;
          best_kind = k;
        }
    }
  if (status == TESSERA_OK && best_kind != TESSERA_NONE)
    *out_n_pinned = pin_likes (packing, best_kind, best, &pinned);
  free (likes);
  free (best);
  free (pinned.list);
  return status;
}
