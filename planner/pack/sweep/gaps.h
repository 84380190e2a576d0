/*
 * The free ranges of an address space, as an allocator has them.
 *
 * Sorted by address, in chunks of some dozen; of each chunk the lowest address and the
 * largest gap stand in two lists of their own. A question goes over the chunks' largest
 * gaps, eight of which share a line of the cache, and into a chunk only where something
 * is large enough. Ranges that touch are one, so there are few of them: dozens, where
 * thousands of blocks are alive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_GAPS_CHUNK 64

typedef struct
{
  uint64_t begin, end; /* [begin, end) is free */
} TesseraGap;

typedef struct
{
  TesseraGap *gaps;     /* [n_chunks * TESSERA_GAPS_CHUNK] */
  uint32_t *n_in_chunk; /* by chunk */
  uint32_t *spare;      /* chunks that are not in use */
  uint32_t n_spare;
  uint32_t n_chunks;

  /* By rank, in ascending order of addresses. */
  uint32_t *chunks;
  uint64_t *lowest;  /* begin of the first gap */
  uint64_t *largest; /* length of the largest gap */
  uint32_t n_ranks;
} TesseraGaps;

/* @n_taken: the most ranges that are ever taken at once. */
TESSERA_MUST_USE TesseraStatus tessera_gaps_init (TesseraGaps *gaps, size_t n_taken);
void tessera_gaps_clear (TesseraGaps *gaps); /* frees; a zeroed one is fine */
/* All is free. */
void tessera_gaps_reset (TesseraGaps *gaps);
/* [@begin, @end) must be free. */
void tessera_gaps_take (TesseraGaps *gaps, uint64_t begin, uint64_t end);
/* [@begin, @end) must have been taken. */
void tessera_gaps_give (TesseraGaps *gaps, uint64_t begin, uint64_t end);

/* Where a walk over the gaps stands; zeroed: before the first. */
typedef struct
{
  uint32_t rank, at;
} TesseraGapsCursor;

/* The next gap of at least @size_bytes. There is always one: the last has no end. */
const TesseraGap *tessera_gaps_next (const TesseraGaps *gaps,
                                     TesseraGapsCursor *cursor,
                                     uint64_t size_bytes);
/* Tells whether the last gap has been given. */
bool tessera_gaps_is_last (const TesseraGap *gap);
