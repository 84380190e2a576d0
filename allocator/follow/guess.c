/*
 * The length and batch of a step: see guess.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/guess.h"

#include <string.h>

/* Times the largest that the plan is for: so far that a step beyond it is known as such,
 * and no farther, since any size is that of some length. */
#define BEYOND 4

void
tessera_guess_init (TesseraGuess *guess, const TesseraLengths *lengths)
{
  uint64_t most = lengths->has_batch ? lengths->most.batch : 1;
  uint64_t longest = lengths->most.length <= (uint64_t) TESSERA_MAX_TERM / BEYOND
                         ? lengths->most.length * BEYOND
                         : lengths->most.length;

  if (lengths->has_batch && most <= TESSERA_GUESS_BATCHES / BEYOND)
    most *= BEYOND;
  if (most > TESSERA_GUESS_BATCHES)
    most = TESSERA_GUESS_BATCHES;
  guess->lengths = lengths;
  guess->longest = longest;
  guess->n_left = (uint32_t) most;
  for (uint32_t i = 0; i < guess->n_left; i++)
    guess->left[i] = (TesseraGuessed){ i + 1, 1, longest };
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
      uint64_t least = shortest (guess, law, now.batch, size_bytes);
      uint64_t most = shortest (guess, law, now.batch, size_bytes + 1) - 1;

      now.least = least > now.least ? least : now.least;
      now.most = most < now.most ? most : now.most;
      if (now.least <= now.most)
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
  if (guess->n_left != 1 || guess->left[0].least != guess->left[0].most)
    return false;
  *out_parameters = (TesseraParameters){ guess->left[0].batch, guess->left[0].least };
  return true;
}
