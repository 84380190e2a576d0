/*
 * A set of small numbers that knows the next and the previous one. See marks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/marks.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_marks_init (TesseraMarks *marks, uint64_t n_numbers)
{
  uint64_t n_words[TESSERA_MARKS_LEVELS], n_all = 0;
  marks->n_levels = 0;
  uint64_t n_left = n_numbers;
  do
    {
      n_left = n_left / 64 + 1;
      n_words[marks->n_levels++] = n_left;
      n_all += n_left;
    }
  while (n_left > 1 && marks->n_levels < TESSERA_MARKS_LEVELS);
  marks->memory = calloc (n_all, sizeof *marks->memory);
  if (marks->memory == NULL)
    return TESSERA_NO_MEMORY;
  uint64_t *next = marks->memory;
  for (int level = 0; level < marks->n_levels; level++)
    {
      marks->words[level] = next;
      next += n_words[level];
    }
  return TESSERA_OK;
}

void
tessera_marks_clear (TesseraMarks *marks)
{
  free (marks->memory);
  memset (marks, 0, sizeof *marks);
}

void
tessera_marks_add (TesseraMarks *marks, uint64_t number)
{
  for (int level = 0; level < marks->n_levels; level++, number /= 64)
    marks->words[level][number / 64] |= UINT64_C (1) << (number % 64);
}

void
tessera_marks_remove (TesseraMarks *marks, uint64_t number)
{
  for (int level = 0; level < marks->n_levels; level++, number /= 64)
    {
      uint64_t *word = &marks->words[level][number / 64];
      *word &= ~(UINT64_C (1) << (number % 64));
      if (*word != 0)
        break;
    }
}

/* Up until a word has a mark on the right side, then down to its nearest. */
uint64_t
tessera_marks_above (const TesseraMarks *marks, uint64_t number)
{
  for (int level = 0; level < marks->n_levels; level++, number /= 64)
    {
      uint64_t higher = marks->words[level][number / 64] &
                        (number % 64 == 63 ? 0 : UINT64_MAX << (number % 64 + 1));
      if (higher == 0)
        continue;
      number = number / 64 * 64 + (uint64_t) __builtin_ctzll (higher);
      while (level-- > 0)
        number = number * 64 + (uint64_t) __builtin_ctzll (marks->words[level][number]);
      return number;
    }
  return TESSERA_NO_MARK;
}

uint64_t
tessera_marks_below (const TesseraMarks *marks, uint64_t number)
{
  for (int level = 0; level < marks->n_levels; level++, number /= 64)
    {
      uint64_t lower =
          marks->words[level][number / 64] & ((UINT64_C (1) << (number % 64)) - 1);
      if (lower == 0)
        continue;
      number = number / 64 * 64 + 63 - (uint64_t) __builtin_clzll (lower);
      while (level-- > 0)
        number =
            number * 64 + 63 - (uint64_t) __builtin_clzll (marks->words[level][number]);
      return number;
    }
  return TESSERA_NO_MARK;
}
