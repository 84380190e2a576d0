/*
 * Plans for steps of every length: sizes as formulas, whether such a plan is what it says,
 * and where a step is cut into parts. See lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/lengths.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDING 128 /* powers of two up to it */

__extension__ typedef __int128 Wide;

uint64_t
tessera_parameters_tokens (const TesseraParameters *parameters)
{
  uint64_t tokens;

  return __builtin_mul_overflow (parameters->batch, parameters->length, &tokens)
             ? UINT64_MAX
             : tokens;
}

static uint64_t
round_up (uint64_t number, uint64_t to)
{
  return (number + to - 1) / to * to;
}

bool
tessera_size_terms (const TesseraParameters *parameters,
                    uint32_t rounding,
                    int64_t out_terms[TESSERA_N_TERMS])
{
  const uint64_t most = (uint64_t) TESSERA_MAX_TERM;
  uint64_t batch = parameters->batch, length = parameters->length, rounded;

  if (batch > most || length > most || rounding == 0)
    return false;
  rounded = round_up (length, rounding);
  if (rounded > most || (batch > 0 && rounded > most / batch))
    return false;
  out_terms[TESSERA_TERM_ONE] = 1;
  out_terms[TESSERA_TERM_BATCH] = (int64_t) batch;
  out_terms[TESSERA_TERM_LENGTH] = (int64_t) rounded;
  out_terms[TESSERA_TERM_TOKENS] = (int64_t) (batch * rounded);
  if (batch * rounded > 0 && length > most / (batch * rounded))
    return false;
  out_terms[TESSERA_TERM_SQUARE] = (int64_t) (batch * rounded * length);
  return true;
}

/* The sum, not yet divided. */
static bool
add_up (const TesseraSizeLaw *law, const TesseraParameters *parameters, Wide *out_sum)
{
  int64_t terms[TESSERA_N_TERMS];

  *out_sum = 0;
  if (!tessera_size_terms (parameters, law->rounding, terms))
    return false;
  for (size_t i = 0; i < TESSERA_N_TERMS; i++)
    *out_sum += (Wide) law->numerators[i] * terms[i];
  return true;
}

bool
tessera_size_law_evaluate (const TesseraSizeLaw *law,
                           const TesseraParameters *parameters,
                           uint64_t *out_bytes)
{
  Wide sum;

  if (!add_up (law, parameters, &sum) || sum < 0)
    return false;
  sum = (sum + law->denominator - 1) / law->denominator;
  if (law->cap_bytes > 0 && sum > (Wide) law->cap_bytes)
    sum = (Wide) law->cap_bytes;
  if (sum > (Wide) TESSERA_MAX_TERM)
    return false;
  *out_bytes = (uint64_t) sum;
  return true;
}

bool
tessera_size_law_is_below (const TesseraSizeLaw *law,
                           const TesseraParameters *parameters,
                           uint64_t size_bytes)
{
  uint64_t bytes;
  Wide sum;

  if (tessera_size_law_evaluate (law, parameters, &bytes))
    return bytes < size_bytes;
  return add_up (law, parameters, &sum) && sum < 0;
}

bool
tessera_size_law_is_valid (const TesseraSizeLaw *law)
{
  for (size_t i = 0; i < TESSERA_N_TERMS; i++)
    if (law->numerators[i] < -TESSERA_MAX_TERM || law->numerators[i] > TESSERA_MAX_TERM)
      return false;
  return law->denominator >= 1 && law->denominator <= TESSERA_MAX_TERM &&
         law->cap_bytes <= (uint64_t) TESSERA_MAX_TERM && law->rounding >= 1 &&
         law->rounding <= MOST_ROUNDING && (law->rounding & (law->rounding - 1)) == 0 &&
         law->kind < TESSERA_N_SIZE_KINDS;
}

TesseraStatus
tessera_lengths_new (TesseraLengths **out_lengths)
{
  *out_lengths = calloc (1, sizeof **out_lengths);
  return *out_lengths ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_lengths_free (TesseraLengths *lengths)
{
  if (!lengths)
    return;
  for (uint32_t i = 0; i < lengths->n_orders; i++)
    tessera_order_clear (&lengths->orders[i]);
  for (uint32_t i = 0; i < lengths->n_strings; i++)
    free (lengths->strings[i]);
  free (lengths->strings);
  free (lengths->cut_phase);
  free (lengths->orders);
  free (lengths->observed);
  free (lengths->laws);
  free (lengths->slots);
  free (lengths->start);
  free (lengths);
}

TesseraStatus
tessera_order_init (TesseraOrder *order, uint32_t n_swept, uint32_t n_edges)
{
  *order = (TesseraOrder){ .n_edges = n_edges };
  order->slots = calloc ((size_t) n_swept + 1, sizeof *order->slots);
  order->laws = calloc ((size_t) n_swept + 1, sizeof *order->laws);
  order->first_edge = calloc ((size_t) n_swept + 1, sizeof *order->first_edge);
  order->below = calloc ((size_t) n_edges + 1, sizeof *order->below);
  if (order->slots && order->laws && order->first_edge && order->below)
    return TESSERA_OK;
  tessera_order_clear (order);
  return TESSERA_NO_MEMORY;
}

void
tessera_order_clear (TesseraOrder *order)
{
  free (order->slots);
  free (order->laws);
  free (order->first_edge);
  free (order->below);
  memset (order, 0, sizeof *order);
}

enum
{
  MAX_ORDERS = 64
};

uint64_t
tessera_lengths_base (const TesseraLengths *lengths)
{
  uint64_t base_bytes = lengths->fixed_bytes;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (tessera_lengths_slot_turns (&lengths->slots[i]) &&
        lengths->slots[i].offset_bytes < base_bytes)
      base_bytes = lengths->slots[i].offset_bytes;
  return base_bytes;
}

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
  if (slot->gone > of->n_slots ||
      (slot->gone > 0 && (slot->place != TESSERA_PLACE_FIXED || !slot->crosses ||
                          of->cut_phase || index < of->n_early)))
    return false;
  if (slot->place != TESSERA_PLACE_FIXED)
    return index >= of->n_early || slot->place == TESSERA_PLACE_NONE;
  if (!tessera_size_law_evaluate (&of->laws[slot->law], &of->most, &bytes))
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

/* From 0, ascending; those for spare places behind the others, then those of first steps,
 * each by themselves. */
static bool
follows (const TesseraLengths *of, uint32_t k)
{
  const TesseraOrder *order = &of->orders[k];

  if (order->is_first && order->in_spare)
    return false;
  if (k == 0)
    return !order->is_first && !order->in_spare && order->from_tokens == 0;
  if (order->is_first != order[-1].is_first || order->in_spare != order[-1].in_spare)
    return (order->is_first || !order[-1].is_first) && order->from_tokens == 0;
  return order->from_tokens > order[-1].from_tokens;
}

/* Few slots take turns, and these have orders for both places. */
static bool
are_turns_sound (const TesseraLengths *of)
{
  uint32_t n_turns = 0;
  bool has_orders = false;

  for (uint32_t i = 0; i < of->n_slots; i++)
    n_turns += tessera_lengths_slot_turns (&of->slots[i]);
  for (uint32_t k = 0; k < of->n_orders; k++)
    has_orders |= of->orders[k].in_spare;
  return n_turns <= TESSERA_MOST_TURNS && has_orders == (n_turns > 0);
}

static bool
are_orders_sound (const Looking *looking)
{
  const TesseraLengths *of = looking->of;
  bool *is_seen = calloc ((size_t) of->n_slots + 1, sizeof *is_seen);
  bool is_sound =
      is_seen && of->n_orders > 0 && of->n_orders <= MAX_ORDERS && are_turns_sound (of);

  if (!is_seen)
    looking->reason[0] = '\0';
  else if (!is_sound)
    say (looking, "order", 0);
  for (uint32_t k = 0; k < of->n_orders && is_sound; k++)
    {
      memset (is_seen, 0, of->n_slots * sizeof *is_seen);
      is_sound = (follows (of, k) && is_order_sound (of, &of->orders[k], is_seen)) ||
                 say (looking, "order", k);
    }
  free (is_seen);
  return is_sound;
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

const char *
tessera_bare_phase (const char *name)
{
  static const char micro_batch[] = "micro-batch ", call[] = "call ";
  const bool is_call = strncmp (name, call, sizeof call - 1) == 0;
  const char *rest = name;

  if (is_call)
    rest += sizeof call - 1;
  else if (strncmp (name, micro_batch, sizeof micro_batch - 1) == 0)
    rest += sizeof micro_batch - 1;
  if (rest == name || !isdigit ((unsigned char) *rest))
    return name;
  while (isdigit ((unsigned char) *rest))
    rest++;
  if (is_call && strncmp (rest, " of", 3) == 0)
    rest += 3;
  return rest[0] == ' ' && rest[1] != 0 ? rest + 1 : name;
}

bool
tessera_cutter_see (TesseraCutter *cutter, const char *name)
{
  bool is_it = cutter->phase && name && strcmp (name, cutter->phase) == 0;
  bool is_cut = is_it && cutter->had_other;

  cutter->had_other = !is_it && (cutter->had_other || name != NULL);
  return is_cut;
}
