/*
 * The length and batch of a step, from the sizes of its first requests.
 *
 * Each batch that is possible has a range of lengths that give the sizes seen so far. A
 * size whose law rises with the length narrows the ranges or rules a batch out. When one
 * batch with one length is left, the parameters are known. Example: 8 B L = 98,720 leaves
 * B = 1 with L = 12340, B = 2 with 6170, B = 4 with 3085; 8 L = 24,680 then leaves one.
 *
 * Where there are two lengths a batch has a range of each. A size that rises with both
 * narrows either by what the other may be at most and at least.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"

enum
{
  TESSERA_GUESS_BATCHES = 256, /* more are not told apart */
  TESSERA_GUESS_LEADING = 8    /* requests of a step before its first phase */
};

typedef struct
{
  uint64_t batch;
  uint64_t least, most;               /* lengths */
  uint64_t second_least, second_most; /* 0: there is one only */
} TesseraGuessed;

typedef struct
{
  const TesseraLengths *lengths;
  uint64_t longest, second_longest; /* that are thought of */
  TesseraGuessed left[TESSERA_GUESS_BATCHES];
  uint32_t n_left;
} TesseraGuess;

/* All is possible. */
void tessera_guess_init (TesseraGuess *guess, const TesseraLengths *lengths);

/* A request of the slot was for so many bytes. Returns: false: then nothing would be
 * left; it is as it was. */
bool tessera_guess_see (TesseraGuess *guess, uint32_t slot, uint64_t size_bytes);

/*
 * A step begins where the one before has ended, with the batch that it works on; the
 * first one begins behind that. So where there are two lengths, of which the first phase
 * may tell one only, its batch is what was asked for last before it.
 *
 * @out_slots: planned slots before the first that has a phase
 *
 * Returns: how many there are; 0 where there is one length
 */
uint32_t tessera_guess_leading (const TesseraLengths *lengths,
                                uint32_t out_slots[TESSERA_GUESS_LEADING]);

/* So many bytes were asked for last, @n times. Returns: the slot that is next: 0 where
 * they are no batch, and the guess is as it was. */
uint32_t tessera_guess_see_batch (TesseraGuess *guess, const uint64_t *sizes, uint32_t n);

bool tessera_guess_is_known (const TesseraGuess *guess,
                             TesseraParameters *out_parameters);
