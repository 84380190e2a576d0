/*
 * Which ranges of a plan's pool are taken at this moment.
 *
 * Ranges can only begin at the offsets that the plan uses, so the taken ones are a set of
 * bits over the sorted offsets, with a summary bit for each 64 below it, and so on up to
 * one word. Finding the taken range before an address walks at most one word per level up
 * and down: four words for 16 million offsets, no balancing, no memory after the start.
 *
 * Not thread-safe by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"

typedef struct TesseraTaken TesseraTaken;

/* @offsets: (array length=n_offsets): ascending, each once; copied */
TESSERA_MUST_USE TesseraStatus tessera_taken_new (const uint64_t *offsets,
                                                  uint32_t n_offsets,
                                                  TesseraTaken **out_taken);
void tessera_taken_free (TesseraTaken *taken); /* NULL is fine */

/* The position of the first offset that is not below @offset_bytes (n_offsets: none). */
uint32_t tessera_taken_rank (const TesseraTaken *taken, uint64_t offset_bytes);

/* Takes [offset of @rank, + size_bytes) for @holder if no byte of it is taken, where
 * @end_rank is the rank of its end, and @hook takes it too. Returns: whether it did; if
 * not, *out_end_bytes is where to look again. */
bool tessera_taken_take (TesseraTaken *taken,
                         const TesseraFollowerHook *hook,
                         uint32_t rank,
                         uint32_t end_rank,
                         uint64_t size_bytes,
                         uint32_t holder,
                         uint64_t *out_end_bytes);

/* Is anything of [@offset_bytes, its end) taken, where @end_rank is the rank of its end?
 * Then *out_end_bytes is where the last such range ends. */
bool tessera_taken_is_blocked (const TesseraTaken *taken,
                               uint64_t offset_bytes,
                               uint32_t end_rank,
                               uint64_t *out_end_bytes);

/* Gives back what begins at @offset_bytes. Returns: whether anything did; its holder in
 * *out_holder. */
bool tessera_taken_give_back (TesseraTaken *taken,
                              uint64_t offset_bytes,
                              uint32_t *out_holder);
