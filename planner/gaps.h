/*
 * The free ranges of an address space, as an allocator keeps them. Ranges that touch are
 * one, so there are few: dozens, where thousands of blocks are alive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* [begin, end); the last one has no end: UINT64_MAX. */
typedef struct
{
  uint64_t begin, end;
} TesseraGap;

/* Returns: one gap, of everything. Gaps are in ascending order; g_array_unref() frees. */
GArray *tessera_gaps_new (void);
/* [@begin, @end) is free no more, of which parts may have been taken before. */
void tessera_gaps_take (GArray *gaps, uint64_t begin, uint64_t end);
/* [@begin, @end), all of which is taken, is free again. */
void tessera_gaps_give (GArray *gaps, uint64_t begin, uint64_t end);
/* Returns: where the lowest gap of at least @size_bytes begins; @is_best: of the smallest
 * such gaps the lowest. */
uint64_t tessera_gaps_find (const GArray *gaps, uint64_t size_bytes, bool is_best);
/* Returns: the address below which @n bytes are free, and which is free. */
uint64_t tessera_gaps_nth (const GArray *gaps, uint64_t n);
/* Returns: where the gap begins that holds all of [@begin, @end); UINT64_MAX: none does. */
uint64_t tessera_gaps_around (const GArray *gaps, uint64_t begin, uint64_t end);
