/*
 * The length and batch of a step: see guess.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/guess.h"

#include <string.h>

/* Times the largest that the plan is for: so far that a step beyond it is known as such,
 * and no farther, since any size is that of some length. */
#define BEYOND 4

static uint64_t
beyond (uint64_t length)
{
  return length <= (uint64_t) TESSERA_MAX_TERM / BEYOND ? length * BEYOND : length;
}

void
tessera_guess_init (TesseraGuess *guess, const TesseraLengths *lengths)
{
  uint64_t most = lengths->has_batch ? lengths->most.batch : 1;

  if (lengths->has_batch && most <= TESSERA_GUESS_BATCHES / BEYOND)
    most *= BEYOND;
  if (most > TESSERA_GUESS_BATCHES)
    most = TESSERA_GUESS_BATCHES;
  guess->lengths = lengths;
  guess->longest = beyond (lengths->most.length);
  guess->second_longest = beyond (lengths->most.second);
  guess->n_left = (uint32_t) most;
  for (uint32_t i = 0; i < guess->n_left; i++)
    guess->left[i] = (TesseraGuessed){ i + 1, 1, guess->longest, lengths->most.second > 0,
                                       guess->second_longest };
}

/* Whether the size tells something, and more of it a longer sequence. */
static bool
does_rise (const TesseraSizeLaw *law)
{
  bool varies = false;

  if (law->kind == TESSERA_SIZE_BOUNDED || law->cap_bytes > 0)
    return false;
  for (int i = TESSERA_TERM_BATCH; i < TESSERA_N_TERMS; i++)
    {
      if (law->numerators[i] < 0)
        return false;
      varies = varies || law->numerators[i] > 0;
    }
  return varies;
}

/* The shortest length with which the law gives @size_bytes at least; longest + 1: none.
 */
static uint64_t
shortest (const TesseraGuess *guess,
          const TesseraSizeLaw *law,
          uint64_t batch,
          uint64_t second,
          uint64_t size_bytes)
{
  uint64_t low = 1, high = guess->longest + 1;

  while (low < high)
    {
      const TesseraParameters middle = { batch, low + (high - low) / 2, second };

      if (tessera_size_law_is_below (law, &middle, size_bytes))
        low = middle.length + 1;
      else
        high = middle.length;
    }
  return low;
}

/* The same of the second length. */
static uint64_t
second_shortest (const TesseraGuess *guess,
                 const TesseraSizeLaw *law,
                 uint64_t batch,
                 uint64_t length,
                 uint64_t size_bytes)
{
  uint64_t low = 1, high = guess->second_longest + 1;

  while (low < high)
    {
      const TesseraParameters middle = { batch, length, low + (high - low) / 2 };

      if (tessera_size_law_is_below (law, &middle, size_bytes))
        low = middle.second + 1;
      else
        high = middle.second;
    }
  return low;
}

/* Takes from the ranges what can't give @size_bytes. Returns: whether any is left. */
static bool
narrow (const TesseraGuess *guess,
        const TesseraSizeLaw *law,
        uint64_t size_bytes,
        TesseraGuessed *now)
{
  uint64_t least = shortest (guess, law, now->batch, now->second_most, size_bytes);
  uint64_t most =
      shortest (guess, law, now->batch, now->second_least, size_bytes + 1) - 1;

  now->least = least > now->least ? least : now->least;
  now->most = most < now->most ? most : now->most;
  if (now->least > now->most || guess->second_longest == 0)
    return now->least <= now->most;
  least = second_shortest (guess, law, now->batch, now->most, size_bytes);
  most = second_shortest (guess, law, now->batch, now->least, size_bytes + 1) - 1;
  now->second_least = least > now->second_least ? least : now->second_least;
  now->second_most = most < now->second_most ? most : now->second_most;
  return now->second_least <= now->second_most;
}

bool
tessera_guess_see (TesseraGuess *guess, uint32_t slot, uint64_t size_bytes)
{
  const TesseraSizeLaw *law = &guess->lengths->laws[guess->lengths->slots[slot].law];
  TesseraGuessed left[TESSERA_GUESS_BATCHES];
  uint32_t n_left = 0;

  if (law->kind == TESSERA_SIZE_CONSTANT)
    return (uint64_t) law->numerators[TESSERA_TERM_ONE] == size_bytes;
  if (!does_rise (law))
    return true;
  for (uint32_t i = 0; i < guess->n_left; i++)
    {
      TesseraGuessed now = guess->left[i];

      if (narrow (guess, law, size_bytes, &now))
        left[n_left++] = now;
    }
  if (n_left == 0)
    return false;
  memcpy (guess->left, left, n_left * sizeof *left);
  guess->n_left = n_left;
  return true;
}

uint32_t
tessera_guess_leading (const TesseraLengths *lengths,
                       uint32_t out_slots[TESSERA_GUESS_LEADING])
{
  uint32_t n = 0;

  for (uint32_t i = 0; lengths->most.second > 0 && i < lengths->n_slots &&
                       lengths->slots[i].phase == TESSERA_NONE;
       i++)
    if (lengths->slots[i].place != TESSERA_PLACE_NONE ||
        tessera_lengths_slot_is_kept (&lengths->slots[i]))
      {
        if (n == TESSERA_GUESS_LEADING)
          return 0;
        out_slots[n++] = i;
      }
  return n;
}

uint32_t
tessera_guess_see_batch (TesseraGuess *guess, const uint64_t *sizes, uint32_t n)
{
  uint32_t slots[TESSERA_GUESS_LEADING];
  uint32_t n_leading = tessera_guess_leading (guess->lengths, slots);
  const TesseraGuess before = *guess;

  if (n_leading == 0 || n < n_leading)
    return 0;
  for (uint32_t i = 0; i < n_leading; i++)
    if (!tessera_guess_see (guess, slots[i], sizes[n - n_leading + i]))
      {
        *guess = before;
        return 0;
      }
  return slots[n_leading - 1] + 1;
}

bool
tessera_guess_is_known (const TesseraGuess *guess, TesseraParameters *out_parameters)
{
  const TesseraGuessed *only = &guess->left[0];

  if (guess->n_left != 1 || only->least != only->most ||
      only->second_least != only->second_most)
    return false;
  *out_parameters = (TesseraParameters){ only->batch, only->least, only->second_least };
  return true;
}
