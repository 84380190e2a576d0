/*
 * What lives from one step into the next.
 *
 * What a kind's section asks for are its *requests*. A request whose block outlives a
 * step is *carried*: it holds its place in the steps that follow, of whatever kind, up to
 * where blocks of it were seen to end there. Requests of several kinds that do the same
 * job (the gradient of one weight) share a place: of each kind the n-th carried one of a
 * stream, pool and size, if everywhere the others are seen to be gone when it is born.
 * Such a *carry* has at most one request of each kind. What was never seen to enter a
 * kind of step is held over the whole of it; where the carry is born there again, up to
 * its birth. Of a single kind the trace shows all that a step can find: what no later
 * step was seen to find is not carried.
 *
 * Where blocks outlive the birth of their successors, all carried requests of the stream,
 * pool and size are one rotation (db/plan.h): a carry for each of its places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/fold/units.h"

typedef struct
{
  uint64_t block_bytes;
  uint32_t block; /* of the unit that stands for the kind */
  uint32_t kind;
  uint32_t born;                    /* positions */
  uint32_t died;                    /* inside its section */
  uint32_t after;                   /* carried beyond the window: its end there; else 0 */
  uint32_t carry;                   /* or TESSERA_NONE: ends inside its step */
  uint32_t ends[TESSERA_MAX_KINDS]; /* carried: by kind, the latest end seen in it; its
                                       section's end: went on; 0: not seen */
  uint32_t slot;                    /* or TESSERA_NONE: has none yet, or is left out */
  uint16_t stream, pool;
  bool is_carried;
  uint8_t alternates; /* TesseraAlternate: in which layout; steps of that find none */
  bool is_left_out;   /* edits leave it without a place */
} TesseraKindRequest;

typedef struct
{
  uint64_t block_bytes;
  uint32_t requests[TESSERA_MAX_KINDS]; /* by kind, or TESSERA_NONE */
  uint32_t ends[TESSERA_MAX_KINDS]; /* by kind: held up to there when the step begins */
  uint32_t after;                   /* end beyond the window; else 0 */
  uint32_t start; /* block of the start whose rest it stands for, or TESSERA_NONE */
  uint16_t stream, pool;
  uint8_t alternates; /* as its requests */
  bool is_turn;       /* a place of a rotation: reserved in all steps */
  uint32_t rotation;  /* ... its first place: with a request of each kind that has any */
  uint32_t like;      /* a request of the rotation */
  uint64_t offset_bytes;
} TesseraCarry;

typedef struct
{
  const TesseraUnits *units;
  const uint64_t
      *holders; /* (nullable) [n_blocks] of blocks that slots are made of: 0, or
                         a number that is equal where edits hold the same of them */
  TesseraKindRequest *requests; /* kind by kind, in order */
  uint32_t first_request[TESSERA_MAX_KINDS + 1];
  uint32_t n_requests;
  TesseraCarry *carries;
  uint32_t n_carries;
  size_t cap_carries;
  uint32_t *of_start; /* [n_blocks] of the start: the carry that stands for the rest of
                         it, or TESSERA_NONE */
  uint32_t *of_slot;  /* [n_slots of the plan] the carry where it lies, or TESSERA_NONE */
  size_t cap_of_slot;
} TesseraCarries;

/* @left_out: [n_blocks] not 0: the request of this block has no place. @holders may be
 * NULL; it and @units must outlive @carries. */
void tessera_carries_init (TesseraCarries *carries,
                           const TesseraUnits *units,
                           const uint32_t *left_out,
                           const uint64_t *holders);
void tessera_carries_clear (TesseraCarries *carries);

/* Orders positions, uint32_t, ascending. */
int tessera_compare_positions (const void *a, const void *b);

/* Whether steps of the kind make anything that alternates. */
bool tessera_carries_change_turn (const TesseraUnits *units, uint32_t kind);

/* Orders requests by shape: size, stream, pool, and whether they alternate. */
int tessera_carries_compare (const TesseraKindRequest *x, const TesseraKindRequest *y);

/* Their requests alone, with the ends that were seen: 0 where none was. */
void tessera_carries_list (TesseraCarries *carries,
                           const TesseraUnits *units,
                           const uint32_t *left_out);

/* Finds, for blocks of the start that end in the first unit of the window, carries that
 * stand for the rest: each for one block at most, of those that live longest first. One
 * that edits hold asks for a carry that they hold alike. Fills of_start, and start of the
 * carries. */
void tessera_carries_match_starts (TesseraCarries *carries, const uint32_t *left_out);

/* Gives each kind two layouts in turn, where blocks that make as many bytes as
 * @least_bytes outlive the birth of their successors (alternate.c). @left_out: as above.
 * Returns: whether it did. */
bool tessera_carries_alternate (TesseraUnits *units,
                                const uint32_t *left_out,
                                uint64_t least_bytes);
