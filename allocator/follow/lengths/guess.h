/*
 * The length and batch of a step, from the sizes of its first requests.
 *
 * Each batch that is possible has a range of lengths that give the sizes seen so far. A
 * size whose law rises with the length narrows the ranges or rules a batch out. When one
 * batch with one length is left, the parameters are known. Example: 8 B L = 98,720 leaves
 * B = 1 with L = 12340, B = 2 with 6170, B = 4 with 3085; 8 L = 24,680 then leaves one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"

enum
{
  TESSERA_GUESS_BATCHES = 256 /* more are not told apart */
};

typedef struct
{
  uint64_t batch;
  uint64_t least, most; /* lengths */
} TesseraGuessed;

typedef struct
{
  const TesseraLengths *lengths;
  uint64_t longest; /* that is thought of */
  TesseraGuessed left[TESSERA_GUESS_BATCHES];
  uint32_t n_left;
} TesseraGuess;

/* All is possible. */
void tessera_guess_init (TesseraGuess *guess, const TesseraLengths *lengths);

/* A request of the slot was for so many bytes. Returns: false: then nothing would be
 * left; it is as it was. */
bool tessera_guess_see (TesseraGuess *guess, uint32_t slot, uint64_t size_bytes);

bool tessera_guess_is_known (const TesseraGuess *guess,
                             TesseraParameters *out_parameters);
