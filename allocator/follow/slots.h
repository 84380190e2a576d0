/*
 * What a follower looks up in a plan: the requests that it expects, in order, with the
 * signature of each; the requests after which a run may be when it lost its way; the
 * rotations of slots and the offsets of all.
 *
 * Requests are those of slots and the unplanned ones, merged; spares are no request's.
 * Only a slot has a place: of an unplanned request nothing but its signature and phase is
 * known here.
 *
 * Made once from a plan and not changed afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* As many requests in a row as tell one place of a run from another. */
enum
{
  TESSERA_GRAM_REQUESTS = 8
};

/* TESSERA_GRAM_REQUESTS requests in a row, by a hash of their signatures. */
typedef struct
{
  uint64_t hash;
  uint32_t last;
} TesseraGram;

/* Requests of the same stream, pool and size have the same signature. */
typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t signature; /* TESSERA_NONE: an empty place of the table */
} TesseraSignature;

typedef struct
{
  const TesseraPlan *plan;
  uint32_t n_requests;
  uint32_t *first_requests; /* [n_sections + 1] of each section; n_requests */
  uint32_t *signatures;     /* [n_requests] 0, 1, 2 ... by first use */
  uint32_t *phases;         /* [n_requests] */
  uint32_t *next_slots;  /* [n_requests + 1] the request's slot; of an unplanned one that
                            of the next which has one, as for the request after it */
  bool *have_slots;      /* [n_requests] all but the unplanned ones */
  uint64_t most_bytes;   /* of the largest request, rounded */
  uint64_t step_bytes;   /* that all sizes are multiples of; 0: not all are */
  uint32_t *next_places; /* [n_slots] the slot to take when this one is taken, and so on
                            until all of them were tried and this one comes again */
  uint32_t *n_asked; /* [n_sections] slots that are requested: all but the spares, which
                          stand behind them */
  uint64_t *offsets; /* ascending, each once */
  uint32_t n_offsets;
  TesseraSignature *table; /* open addressing, a power of two */
  uint32_t table_mask;
  TesseraGram *grams; /* by hash, then slot */
  uint32_t n_grams;
} TesseraSlots;

/* TESSERA_INVALID: a slot outside its pool or section, sections that are not the slots in
 * order, unplanned requests out of order, nothing that @plan could be followed by. @plan
 * must outlive @slots. */
TESSERA_MUST_USE TesseraStatus tessera_slots_init (TesseraSlots *slots,
                                                   const TesseraPlan *plan);
void tessera_slots_clear (TesseraSlots *slots);

/* A size as the plan counts it: whole steps of its alignment, at least one; what is
 * beyond all counting becomes 0. */
uint64_t tessera_slots_round (const TesseraSlots *slots, uint64_t size_bytes);

/* The signature of a request, or TESSERA_NONE: the plan has no such slot. */
uint32_t tessera_slots_find_signature (const TesseraSlots *slots,
                                       uint64_t size_bytes,
                                       uint32_t stream,
                                       uint32_t pool);

/* How many requests the section has. */
static inline uint32_t
tessera_slots_n_requests (const TesseraSlots *slots, uint32_t section)
{
  return slots->first_requests[section + 1] - slots->first_requests[section];
}

/* The slot of a request, or TESSERA_NONE: it is unplanned. */
static inline uint32_t
tessera_slots_of_request (const TesseraSlots *slots, uint32_t request)
{
  return slots->have_slots[request] ? slots->next_slots[request] : TESSERA_NONE;
}

/*
 * tessera_slots_find_gram:
 * @signatures: (array fixed-size=TESSERA_GRAM_REQUESTS): the latest, oldest first
 * @cursor: the request at which the run was thought to be
 * @first: requests before it are past
 *
 * Returns: the last of these requests: the first one at or after @cursor where the plan
 *   asks for the same in a row, else the first one at or after @first, else TESSERA_NONE.
 */
uint32_t tessera_slots_find_gram (const TesseraSlots *slots,
                                  const uint32_t *signatures,
                                  uint32_t cursor,
                                  uint32_t first);
