/*
 * Plans for every length out of bytes: see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "allocator/follow/lengths/sweep.h"
#include "tests/fuzz/follow/plan.h"
#include "tests/ok.h"

enum
{
  MOST_LAWS = 8,
  MOST_SLOTS = 40,
  MOST_START = 8,
  MOST_ORDERS = 3,
  STEP = 512
};

static TesseraSizeLaw
make_law (Bytes *bytes)
{
  TesseraSizeLaw law = { .denominator = 1, .rounding = 1 };
  uint32_t what = bytes_take (bytes);

  law.kind = TESSERA_SIZE_CONSTANT;
  law.numerators[TESSERA_TERM_ONE] = (int64_t) fuzz_size (bytes);
  if (what < 80)
    return law;
  law.kind = TESSERA_SIZE_AFFINE;
  law.numerators[TESSERA_TERM_ONE] %= 4096;
  law.numerators[TESSERA_TERM_TOKENS] = 4 + bytes_take (bytes) * 256;
  if (what >= 200)
    law.rounding = 8;
  if (what >= 230)
    law.numerators[TESSERA_TERM_SQUARE] = 1 + bytes_take (bytes);
  if (what >= 245)
    law.cap_bytes = fuzz_size (bytes);
  if (law.rounding != 1 || law.cap_bytes != 0)
    law.kind = TESSERA_SIZE_ROUNDED;
  return law;
}

static void
add_slots (TesseraLengths *lengths, const uint64_t *most_bytes, Bytes *bytes)
{
  lengths->n_early = bytes_below (bytes, 5);
  lengths->n_slots = lengths->n_early + bytes_below (bytes, MOST_SLOTS);
  lengths->slots = calloc (lengths->n_slots + 1, sizeof *lengths->slots);
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &lengths->slots[i];
      uint32_t what = bytes_take (bytes);

      slot->law = bytes_below (bytes, lengths->n_laws);
      slot->died = i + 1 + bytes_below (bytes, lengths->n_slots - i);
      slot->phase = what % 4 == 3 ? TESSERA_NONE : what % 4;
      slot->stream = what >= 250;
      slot->place =
          i < lengths->n_early || what >= 200 ? TESSERA_PLACE_FIXED : TESSERA_PLACE_SWEPT;
      slot->seen = (uint8_t) (what % 16 == 0 ? what / 16 % 3 : 0);
      lengths->n_swept += slot->place == TESSERA_PLACE_SWEPT;
      if (slot->place != TESSERA_PLACE_FIXED)
        continue;
      slot->is_once = i >= lengths->n_early && what % 3 == 0;
      slot->crosses = what % 3 == 1;
      slot->offset_bytes = slot->spare_bytes = lengths->fixed_bytes;
      lengths->fixed_bytes += most_bytes[slot->law];
      if (!slot->crosses || what % 2 == 0)
        continue;
      slot->spare_bytes = lengths->fixed_bytes;
      lengths->fixed_bytes += most_bytes[slot->law];
    }
}

static void
add_start (TesseraLengths *lengths, Bytes *bytes)
{
  lengths->n_start = bytes_below (bytes, MOST_START);
  lengths->start = calloc (lengths->n_start + 1, sizeof *lengths->start);
  lengths->start_bytes = lengths->fixed_bytes;
  for (uint32_t i = 0; i < lengths->n_start; i++)
    {
      TesseraStartSlot *slot = &lengths->start[i];
      uint32_t what = bytes_take (bytes);

      slot->size_bytes = fuzz_size (bytes);
      slot->block_bytes = (slot->size_bytes + STEP - 1) / STEP * STEP;
      slot->died = i + 1 + bytes_below (bytes, lengths->n_start - i);
      slot->phase = TESSERA_NONE;
      slot->is_held = what >= 128;
      slot->offset_bytes = slot->is_held ? lengths->fixed_bytes : what * 1024;
      if (slot->is_held)
        lengths->fixed_bytes += slot->block_bytes;
      lengths->start_bytes =
          MAX (lengths->start_bytes, slot->offset_bytes + slot->block_bytes);
    }
}

/* Slots in order of their requests, turned by some places; who meets rests on another,
 * unless the bytes will it otherwise. */
static void
fill_order (const TesseraLengths *lengths, TesseraOrder *order, Bytes *bytes)
{
  uint32_t n = lengths->n_swept, turn = bytes_below (bytes, n + 1), at = 0, n_edges = 0;
  bool is_wild = bytes_take (bytes) >= 230;

  OK (tessera_order_init (order, n, n * n));
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place == TESSERA_PLACE_SWEPT)
      order->slots[(at++ + turn) % n] = i;
  for (uint32_t i = 0; i < n; i++)
    {
      order->laws[i] = lengths->slots[order->slots[i]].law;
      order->first_edge[i] = n_edges;
      for (uint32_t k = 0; k < i; k++)
        if (order->slots[i] < lengths->slots[order->slots[k]].died &&
            order->slots[k] < lengths->slots[order->slots[i]].died &&
            (!is_wild || bytes_take (bytes) < 128))
          order->below[n_edges++] = k;
    }
  order->first_edge[n] = order->n_edges = n_edges;
  order->n_low = bytes_below (bytes, n + 1);
}

static void
add_orders (TesseraLengths *lengths, Bytes *bytes)
{
  lengths->n_orders = 1 + bytes_below (bytes, MOST_ORDERS);
  lengths->orders = calloc (lengths->n_orders, sizeof *lengths->orders);
  for (uint32_t k = 0; k < lengths->n_orders; k++)
    {
      fill_order (lengths, &lengths->orders[k], bytes);
      lengths->orders[k].from_tokens = k == 1 ? 40 : 0;
      lengths->orders[k].is_first = k == 2;
    }
}

/* Every other of what one step makes is what a part of a step makes for the others. */
static void
cut_steps (TesseraLengths *lengths, const char *phase)
{
  lengths->cut_phase = strdup (phase);
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &lengths->slots[i];

      if (slot->place == TESSERA_PLACE_SWEPT && i % 7 == 3)
        slot->from_tokens = 20;
      if (!slot->is_once || i % 2 == 0)
        continue;
      slot->is_once = false;
      slot->is_over_cuts = true;
    }
}

TesseraLengths *
fuzz_lengths_new (Bytes *bytes)
{
  static const char *const names[] = { "forward", "backward", "optimizer" };
  uint64_t most_bytes[MOST_LAWS];
  char reason[128];
  TesseraLengths *lengths;

  OK (tessera_lengths_new (&lengths));
  lengths->alignment_bytes = STEP;
  lengths->has_batch = bytes_below (bytes, 2);
  lengths->most = (TesseraParameters){ 1, 1 + bytes_below (bytes, 64) };
  if (lengths->has_batch)
    lengths->most.batch += bytes_below (bytes, 3);
  lengths->n_laws = 1 + bytes_below (bytes, MOST_LAWS);
  lengths->laws = calloc (MOST_LAWS, sizeof *lengths->laws);
  for (uint32_t i = 0; i < lengths->n_laws; i++)
    lengths->laws[i] = make_law (bytes);
  lengths->strings = calloc (G_N_ELEMENTS (names), sizeof *lengths->strings);
  for (; lengths->n_strings < G_N_ELEMENTS (names); lengths->n_strings++)
    lengths->strings[lengths->n_strings] = strdup (names[lengths->n_strings]);
  g_assert_true (tessera_sweep_sizes (lengths, &lengths->most, most_bytes));
  add_slots (lengths, most_bytes, bytes);
  add_start (lengths, bytes);
  add_orders (lengths, bytes);
  if (bytes_take (bytes) % 3 == 2)
    cut_steps (lengths, names[0]);
  if (tessera_lengths_is_sound (lengths, reason, sizeof reason))
    return lengths;
  g_error ("%s", reason);
}
