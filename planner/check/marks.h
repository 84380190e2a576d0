/*
 * A set of small numbers that knows the next and the previous one: the checker's ordered
 * structure. Words of 64 marks, above them words that mark words in use, up to one word.
 * Each call touches a few words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_MARKS_LEVELS 6 /* 64 to the 6th: more than any count of lives */
#define TESSERA_NO_MARK UINT64_MAX

typedef struct
{
  uint64_t *words[TESSERA_MARKS_LEVELS]; /* [0]: the marks themselves */
  uint64_t *memory;
  int n_levels;
} TesseraMarks;

/* An empty set of numbers below @n_numbers. */
TESSERA_MUST_USE TesseraStatus tessera_marks_init (TesseraMarks *marks,
                                                   uint64_t n_numbers);
void tessera_marks_clear (TesseraMarks *marks); /* frees; a zeroed one is fine */
void tessera_marks_add (TesseraMarks *marks, uint64_t number);
void tessera_marks_remove (TesseraMarks *marks, uint64_t number);
/* The nearest member above or below @number, which itself does not count. */
uint64_t tessera_marks_above (const TesseraMarks *marks, uint64_t number);
uint64_t tessera_marks_below (const TesseraMarks *marks, uint64_t number);
