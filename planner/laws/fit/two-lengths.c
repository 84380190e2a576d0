/*
 * The two lengths of a step: see two-lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/two-lengths.h"

#include <string.h>

__extension__ typedef unsigned __int128 Wide;

enum
{
  MAX_SIDES = 8,  /* directions that may be a source or a target, times batch */
  MIN_VALUES = 4, /* of each length, and of one over the other */
  N_PRODUCTS = 11 /* terms that vary */
};

typedef struct
{
  TesseraDirection batch, length, second;
  bool has_batch;
  uint64_t n_slots; /* in the direction of a term */
  uint64_t sum;     /* of all numbers */
} Trial;

typedef struct
{
  const TesseraDirection *known;
  size_t n_known;
  uint32_t n_steps;
  Trial best[TESSERA_TWO_LENGTHS];
  size_t n_best;
} Search;

/* How often batch, length and second length are factors of each term. */
static const uint8_t powers[N_PRODUCTS][3] = {
  { 0, 1, 0 }, { 0, 0, 1 }, { 0, 2, 0 }, { 0, 1, 1 }, { 0, 0, 2 }, { 1, 0, 0 },
  { 1, 1, 0 }, { 1, 0, 1 }, { 1, 2, 0 }, { 1, 1, 1 }, { 1, 0, 2 },
};

/* Returns: false: too large. */
static bool
multiply (const Trial *trial,
          const uint8_t of[3],
          uint32_t n_steps,
          TesseraDirection *out)
{
  const TesseraDirection *factors[] = { &trial->batch, &trial->length, &trial->second };

  *out = (TesseraDirection){ .n_slots = 0 };
  for (uint32_t k = 0; k < n_steps; k++)
    {
      out->values[k] = 1;
      for (int f = 0; f < 3; f++)
        for (uint8_t i = 0; i < of[f]; i++)
          if (__builtin_mul_overflow (out->values[k], factors[f]->values[k],
                                      &out->values[k]))
            return false;
    }
  return tessera_direction_reduce (out, n_steps);
}

/* Slots in the direction of any term. */
static uint64_t
count_slots (const Search *search, const Trial *trial)
{
  TesseraDirection terms[N_PRODUCTS];
  size_t n = 0;
  uint64_t n_slots = 0;

  for (size_t i = 0; i < N_PRODUCTS; i++)
    if (trial->has_batch || powers[i][0] == 0)
      n += multiply (trial, powers[i], search->n_steps, &terms[n]);
  for (size_t i = 0; i < search->n_known; i++)
    for (size_t k = 0; k < n; k++)
      if (tessera_direction_is_equal (&search->known[i], &terms[k], search->n_steps))
        {
          n_slots += search->known[i].n_slots;
          break;
        }
  return n_slots;
}

/* The same lengths and batch, whichever is the first length. */
static bool
is_same (const Trial *a, const Trial *b, uint32_t n_steps)
{
  bool is_straight = tessera_direction_is_equal (&a->length, &b->length, n_steps) &&
                     tessera_direction_is_equal (&a->second, &b->second, n_steps);
  bool is_crossed = tessera_direction_is_equal (&a->length, &b->second, n_steps) &&
                    tessera_direction_is_equal (&a->second, &b->length, n_steps);

  return a->has_batch == b->has_batch && (is_straight || is_crossed) &&
         (!a->has_batch || tessera_direction_is_equal (&a->batch, &b->batch, n_steps));
}

static void
add_up (Trial *trial, uint32_t n_steps)
{
  trial->sum = 0;
  for (uint32_t k = 0; k < n_steps; k++)
    trial->sum += trial->length.values[k] + trial->second.values[k] +
                  (trial->has_batch ? trial->batch.values[k] : 1);
}

static bool
is_better (const Trial *trial, const Trial *than)
{
  return trial->n_slots > than->n_slots ||
         (trial->n_slots == than->n_slots && trial->sum < than->sum);
}

/* How many values there are of @a / @b, up to MIN_VALUES. */
static uint32_t
count_quotients (const TesseraDirection *a, const TesseraDirection *b, uint32_t n_steps)
{
  uint32_t n = 0;

  for (uint32_t k = 0; k < n_steps && n < MIN_VALUES; k++)
    {
      uint32_t i = 0;

      while (i < k &&
             (Wide) a->values[i] * b->values[k] != (Wide) a->values[k] * b->values[i])
        i++;
      n += i == k;
    }
  return n;
}

/* Two that vary each by itself. A step that is paired a few requests off makes the same
 * length look like another by twice as much in this step. */
static bool
are_two (const Trial *trial, uint32_t n_steps)
{
  TesseraDirection one;

  for (uint32_t k = 0; k < n_steps; k++)
    one.values[k] = 1;
  return count_quotients (&trial->length, &one, n_steps) == MIN_VALUES &&
         count_quotients (&trial->second, &one, n_steps) == MIN_VALUES &&
         count_quotients (&trial->length, &trial->second, n_steps) == MIN_VALUES;
}

static void
keep (Search *search, Trial *trial)
{
  size_t at = search->n_best;

  if (!are_two (trial, search->n_steps))
    return;
  for (size_t i = 0; i < search->n_best; i++)
    if (is_same (&search->best[i], trial, search->n_steps))
      return;
  trial->n_slots = count_slots (search, trial);
  add_up (trial, search->n_steps);
  while (at > 0 && is_better (trial, &search->best[at - 1]))
    at--;
  if (at == TESSERA_TWO_LENGTHS)
    return;
  search->n_best += search->n_best < TESSERA_TWO_LENGTHS;
  memmove (&search->best[at + 1], &search->best[at],
           (search->n_best - at - 1) * sizeof search->best[0]);
  search->best[at] = *trial;
}

/* @source and @target are the lengths times @batch. */
static void
try_batch (Search *search,
           const TesseraDirection *source,
           const TesseraDirection *target,
           const TesseraDirection *batch)
{
  uint32_t n = search->n_steps;
  Trial trial = { .batch = *batch, .has_batch = true };

  if (tessera_direction_divide (source, batch, n, &trial.length) &&
      tessera_direction_divide (target, batch, n, &trial.second) &&
      !tessera_direction_is_equal (batch, &trial.length, n) &&
      !tessera_direction_is_equal (batch, &trial.second, n) &&
      tessera_direction_is_product (source, batch, &trial.length, n) &&
      tessera_direction_is_product (target, batch, &trial.second, n))
    keep (search, &trial);
}

static void
try_pair (Search *search,
          const TesseraDirection *source,
          const TesseraDirection *target,
          const TesseraDirection *others,
          size_t n_others)
{
  Trial alone = { .length = *source, .second = *target };

  keep (search, &alone);
  for (size_t i = 0; i < n_others; i++)
    {
      TesseraDirection batch;

      try_batch (search, source, target, &others[i]);
      if (tessera_direction_divide (source, &others[i], search->n_steps, &batch))
        try_batch (search, source, target, &batch);
      if (tessera_direction_divide (target, &others[i], search->n_steps, &batch))
        try_batch (search, source, target, &batch);
    }
}

static void
set_steps (const Trial *trial, uint32_t n_steps, TesseraFitSteps *out_steps)
{
  *out_steps = (TesseraFitSteps){ .n_steps = n_steps,
                                  .has_batch = trial->has_batch,
                                  .has_second = true };
  for (uint32_t k = 0; k < n_steps; k++)
    out_steps->parameters[k] = (TesseraParameters){
      .batch = trial->has_batch ? trial->batch.values[k] : 1,
      .length = trial->length.values[k],
      .second = trial->second.values[k],
    };
}

size_t
tessera_two_lengths_find (const TesseraDirection *known,
                          size_t n_known,
                          const TesseraDirection *others,
                          size_t n_others,
                          uint32_t n_steps,
                          TesseraFitSteps out[TESSERA_TWO_LENGTHS])
{
  Search search = { .known = known, .n_known = n_known, .n_steps = n_steps };
  size_t n_sides = n_known < MAX_SIDES ? n_known : MAX_SIDES;

  for (size_t i = 0; i < n_sides; i++)
    for (size_t k = i + 1; k < n_sides; k++)
      try_pair (&search, &known[i], &known[k], others, n_others);
  for (size_t i = 0; i < search.n_best; i++)
    set_steps (&search.best[i], n_steps, &out[i]);
  return search.n_best;
}

bool
tessera_law_tells_one (const TesseraSizeLaw *law, bool *out_is_second)
{
  static const uint8_t firsts[] = { TESSERA_TERM_LENGTH, TESSERA_TERM_TOKENS,
                                    TESSERA_TERM_SQUARE, TESSERA_TERM_BARE_SQUARE };
  static const uint8_t seconds[] = { TESSERA_TERM_SECOND, TESSERA_TERM_SECOND_TOKENS,
                                     TESSERA_TERM_SECOND_SQUARE,
                                     TESSERA_TERM_BARE_SECOND_SQUARE };
  bool is_first = false, is_second = false;

  if (law->numerators[TESSERA_TERM_CROSS] != 0 ||
      law->numerators[TESSERA_TERM_BARE_CROSS] != 0)
    return false;
  for (size_t i = 0; i < sizeof firsts; i++)
    {
      is_first |= law->numerators[firsts[i]] != 0;
      is_second |= law->numerators[seconds[i]] != 0;
    }
  *out_is_second = is_second;
  return is_first != is_second;
}
