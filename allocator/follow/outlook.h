/*
 * When each part of a plan's pool is needed next, as seen from one request: which place
 * to take when the planned one is not free.
 *
 * The pool is cut into stretches at the offsets that the plan uses. A stretch gets the
 * number of the first request to come that needs it, counted from 1; 0 if it is not to be
 * had now, TESSERA_NEVER if nobody needs it. A place is as good as the least number in
 * it, and the best place is the one needed latest, which is Belady's rule for pages ("A
 * study of replacement algorithms for a virtual-storage computer", IBM Systems Journal
 * 5(2), 1966): there the block has the longest time to be gone by itself.
 *
 * Needs are told in their order, so that each stretch is written once; a union-find over
 * those still unwritten skips the others. The least number of each place is that of a
 * window which slides over the stretches, kept in a queue of rising numbers. Both are
 * linear in stretches and needs, but for the union-find's log*.
 *
 * Not thread-safe by itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_NEVER UINT32_MAX

typedef struct
{
  const uint64_t *offsets; /* ascending, each once: where stretches and places begin */
  uint32_t n_offsets;
  uint64_t height_bytes;
  uint32_t *needs;     /* [n_offsets] */
  uint32_t *unwritten; /* [n_offsets + 1] of this stretch or one behind it: towards the
                          first that has no number yet; one's own: this is it */
  uint32_t *queue;     /* [n_offsets] of a search */
} TesseraOutlook;

/* @offsets must outlive @outlook. */
TESSERA_MUST_USE TesseraStatus tessera_outlook_init (TesseraOutlook *outlook,
                                                     const uint64_t *offsets,
                                                     uint32_t n_offsets,
                                                     uint64_t height_bytes);
void tessera_outlook_clear (TesseraOutlook *outlook);

/* Forgets all needs. */
void tessera_outlook_begin (TesseraOutlook *outlook);
/* The stretches from @first_rank up to before @end_rank are needed at @when, if not
 * earlier: @when never falls from call to call. */
void tessera_outlook_need (TesseraOutlook *outlook,
                           uint32_t first_rank,
                           uint32_t end_rank,
                           uint32_t when);
/* After all needs were told: what lies between the offset of @rank and @end_bytes is not
 * to be had. */
void tessera_outlook_bar (TesseraOutlook *outlook, uint32_t rank, uint64_t end_bytes);

/* The place that is needed latest, the lowest of equals. Returns: when, 0: there is none;
 * its rank in *out_rank. */
uint32_t
tessera_outlook_find (TesseraOutlook *outlook, uint64_t size_bytes, uint32_t *out_rank);
