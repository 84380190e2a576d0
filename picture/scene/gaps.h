/*
 * Free stretches of an endless height: the lowest that is large enough, in O(log n).
 *
 * A search tree by place that is a heap by a priority mixed from a counter, so that it is
 * some 2 log2 n deep, and equal histories give equal trees. Every node knows the largest
 * gap below it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t begin, end;
  uint64_t largest; /* bytes, of the node's own and all below */
  uint64_t priority;
  uint32_t child[2]; /* lower, higher; 0: none */
} TesseraRowGap;

typedef struct
{
  TesseraRowGap *gaps; /* [0] stands for none; [1] is the first there was */
  uint32_t n_gaps, root;
} TesseraRowGaps;

/* One gap from 0 on. @n_gives: how often something will be given back at most. */
TESSERA_MUST_USE TesseraStatus tessera_row_gaps_init (TesseraRowGaps *gaps,
                                                      size_t n_gives);
void tessera_row_gaps_clear (TesseraRowGaps *gaps); /* frees; a zeroed one is fine */
/* The beginning of the lowest gap of at least @size_bytes, which becomes smaller. Where
 * there is none (sizes near 2^64 that no memory has): 0, and nothing is taken. */
uint64_t tessera_row_gaps_take (TesseraRowGaps *gaps, uint64_t size_bytes);
/* [begin, end) was taken, is not empty, and joins what is free beside it. */
void tessera_row_gaps_give (TesseraRowGaps *gaps, uint64_t begin, uint64_t end);
