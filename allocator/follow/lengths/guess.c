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
  guess->n_left = (uint32_t) most;
  for (uint32_t i = 0; i < guess->n_left; i++)
    guess->left[i] = (TesseraGuessed){ i + 1, 1, guess->longest };
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
          uint64_t size_bytes)
{
  uint64_t low = 1, high = guess->longest + 1;

  while (low < high)
    {
      const TesseraParameters middle = { batch, low + (high - low) / 2 };

      if (tessera_size_law_is_below (law, &middle, size_bytes))
        low = middle.length + 1;
      else
        high = middle.length;
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
  uint64_t least = shortest (guess, law, now->batch, size_bytes);
  uint64_t most = shortest (guess, law, now->batch, size_bytes + 1) - 1;

  now->least = least > now->least ? least : now->least;
  now->most = most < now->most ? most : now->most;
  return now->least <= now->most;
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

bool
tessera_guess_is_known (const TesseraGuess *guess, TesseraParameters *out_parameters)
{
  const TesseraGuessed *only = &guess->left[0];

  if (guess->n_left != 1 || only->least != only->most)
    return false;
  *out_parameters = (TesseraParameters){ only->batch, only->least };
  return true;
}
