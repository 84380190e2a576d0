/*
 * Whether a plan for every length is what it says: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/lengths.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
  MAX_ORDERS = 64
};

typedef struct
{
  const TesseraLengths *of;
  char *reason;
  size_t reason_bytes;
} Looking;

static bool
say (const Looking *looking, const char *what, uint32_t index)
{
  snprintf (looking->reason, looking->reason_bytes, "%s %u is out of range", what, index);
  return false;
}

/* [@offset_bytes, + @block_bytes) in whole steps below @end_bytes. */
static bool
fits (const TesseraLengths *of,
      uint64_t offset_bytes,
      uint64_t block_bytes,
      uint64_t end_bytes)
{
  return offset_bytes % of->alignment_bytes == 0 && block_bytes <= end_bytes &&
         offset_bytes <= end_bytes - block_bytes;
}

static bool
is_slot_sound (const TesseraLengths *of, uint32_t index)
{
  const TesseraLengthsSlot *slot = &of->slots[index];
  uint64_t bytes, step = of->alignment_bytes;

  if (slot->died <= index || slot->died > of->n_slots || slot->law >= of->n_laws ||
      slot->place > TESSERA_PLACE_NONE || slot->seen > TESSERA_SEEN_LATER ||
      (slot->phase != TESSERA_NONE && slot->phase >= of->n_strings))
    return false;
  if (slot->is_over_cuts && (slot->place != TESSERA_PLACE_FIXED || slot->is_once ||
                             slot->crosses || !of->cut_phase))
    return false;
  if (slot->place != TESSERA_PLACE_FIXED)
    return index >= of->n_early || slot->place == TESSERA_PLACE_NONE;
  if (!tessera_size_law_evaluate (&of->laws[slot->law], &of->most, &bytes) ||
      tessera_size_law_is_conditional (&of->laws[slot->law]))
    return false;
  bytes = bytes == 0 ? step : (bytes + step - 1) / step * step;
  return fits (of, slot->offset_bytes, bytes, of->fixed_bytes) &&
         (!slot->crosses || fits (of, slot->spare_bytes, bytes, of->fixed_bytes));
}

static bool
is_start_sound (const TesseraLengths *of, uint32_t index)
{
  const TesseraStartSlot *slot = &of->start[index];

  return slot->died > index && slot->died <= of->n_start && slot->block_bytes > 0 &&
         slot->block_bytes % of->alignment_bytes == 0 &&
         slot->size_bytes <= slot->block_bytes &&
         (slot->phase == TESSERA_NONE || slot->phase < of->n_strings) &&
         (slot->is_left
              ? slot->offset_bytes == 0
              : fits (of, slot->offset_bytes, slot->block_bytes, of->start_bytes));
}

/* All swept slots, each once. @is_seen: [n_slots], false. */
static bool
is_order_sound (const TesseraLengths *of, const TesseraOrder *order, bool *is_seen)
{
  if (order->n_low > of->n_swept)
    return false;
  for (uint32_t i = 0; i < of->n_swept; i++)
    {
      uint32_t slot = order->slots[i];

      if (slot >= of->n_slots || of->slots[slot].place != TESSERA_PLACE_SWEPT ||
          is_seen[slot] || order->laws[i] != of->slots[slot].law ||
          order->first_edge[i] > order->first_edge[i + 1])
        return false;
      is_seen[slot] = true;
      for (uint32_t e = order->first_edge[i]; e < order->first_edge[i + 1]; e++)
        if (e >= order->n_edges || order->below[e] >= i)
          return false;
    }
  return true;
}

/* From 0, ascending; those of first steps behind the others, by themselves. With two
 * lengths each is for all of them. */
static bool
follows (const TesseraLengths *of, uint32_t k)
{
  const TesseraOrder *order = &of->orders[k];

  if (k == 0)
    return !order->is_first && order->from_tokens == 0;
  if (order->is_first != order[-1].is_first)
    return order->is_first && order->from_tokens == 0;
  if (of->most.second > 0)
    return order->from_tokens == 0;
  return order->from_tokens > order[-1].from_tokens;
}

static bool
are_orders_sound (const Looking *looking)
{
  const TesseraLengths *of = looking->of;
  bool is_sound = true;

  if (of->n_orders == 0 || of->n_orders > MAX_ORDERS)
    return say (looking, "order", 0);
  for (uint32_t k = 0; k < of->n_orders && is_sound; k++)
    {
      bool *is_seen = calloc ((size_t) of->n_slots + 1, sizeof *is_seen);

      is_sound =
          is_seen && follows (of, k) && is_order_sound (of, &of->orders[k], is_seen);
      free (is_seen);
      if (!is_sound)
        return say (looking, "order", k);
    }
  return true;
}

bool
tessera_lengths_is_sound (const TesseraLengths *lengths,
                          char *reason,
                          size_t reason_bytes)
{
  const Looking looking = { lengths, reason, reason_bytes };
  uint32_t n_swept = 0;

  if (lengths->alignment_bytes == 0 || lengths->n_early > lengths->n_slots ||
      lengths->most.batch == 0 || lengths->most.length == 0)
    return say (&looking, "row", 0);
  for (uint32_t i = 0; i < lengths->n_laws; i++)
    if (!tessera_size_law_is_valid (&lengths->laws[i]))
      return say (&looking, "law", i);
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      if (!is_slot_sound (lengths, i))
        return say (&looking, "slot", i);
      n_swept += lengths->slots[i].place == TESSERA_PLACE_SWEPT;
    }
  for (uint32_t i = 0; i < lengths->n_start; i++)
    if (!is_start_sound (lengths, i))
      return say (&looking, "slot of the start", i);
  return n_swept == lengths->n_swept ? are_orders_sound (&looking)
                                     : say (&looking, "order", 0);
}
