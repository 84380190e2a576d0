/*
 * A plan for steps of every length: what requests a step makes, how their sizes follow
 * from its length and batch, and in which order they lie.
 *
 * Time counts slots: a slot is alive over [its own index, died). What is alive between
 * two steps, or is asked for before the length is known, has a fixed place at the bottom
 * of the pool; its size there is what it takes at @most. All other slots are *swept*: an
 * order holds them from the lowest to the highest, and for each those that it rests on.
 * Offsets for a length are one walk through the order: a slot begins where the highest of
 * those below it ends. What one step makes and keeps (the optimizer's state) has a fixed
 * place as well, but in that step others may lie there until it comes: then each swept
 * slot has a floor of its own. Two slots that are alive in one moment are connected by a
 * chain of such pairs, so they never overlap, whatever the sizes.
 *
 * Where steps have two lengths (an encoder and a decoder), orders have no ranges: a step
 * takes the lowest, and laws say what is asked for at all.
 *
 * Where each micro-batch of a step has a length of its own, all this is of parts of steps
 * (db/cutter.h), and what one of them makes for the others of its step (the gradients)
 * has the highest of the fixed places: in the part that makes it these are others' until
 * it comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/cutter.h"
#include "db/size-law.h"
#include "db/trace.h"

typedef enum
{
  TESSERA_PLACE_SWEPT,
  TESSERA_PLACE_FIXED,
  TESSERA_PLACE_NONE /* not planned: another stream or pool, steps keep it, an edit says
                        so */
} TesseraPlaceKind;

/* Of the step that makes what one step makes (is_once), and of all others; of parts: of
 * the one that makes what is there over cuts. */
typedef enum
{
  TESSERA_SEEN_ANYWHERE,
  TESSERA_SEEN_FIRST, /* only there */
  TESSERA_SEEN_LATER  /* only in the others */
} TesseraSeen;

typedef struct
{
  uint32_t law;   /* index into laws */
  uint32_t died;  /* slot before whose request it has ended; n_slots: the step's end */
  uint32_t phase; /* innermost: index into strings, or TESSERA_NONE */
  uint16_t stream, pool; /* by first use */
  uint8_t place;         /* TesseraPlaceKind */
  uint8_t is_once;       /* one step makes it, and keeps it: the optimizer's state */
  uint8_t crosses;       /* lives into the next step. Fixed: its other place is at
                            @spare_bytes, the same where one is enough; swept: there it is
                            gone before the first of the swept is asked for; no place:
                            steps keep it for good, or an edit leaves it to others, and
                            it is asked for all the same */
  uint64_t offset_bytes; /* fixed only; else 0 */
  uint64_t spare_bytes;
  uint8_t seen;         /* TesseraSeen: in which steps it was asked for */
  uint64_t from_tokens; /* batch x length from which on, ... */
  uint64_t to_tokens; /* ... and up to which it is asked for, where that is so; else 0 */
  uint8_t is_over_cuts; /* where steps have parts: one part makes it, others of its step
                           find it there, and it is gone before it comes again */
} TesseraLengthsSlot;

/* What is asked for before the first step, in order. */
typedef struct
{
  uint64_t size_bytes, block_bytes;
  uint64_t offset_bytes;
  uint32_t died; /* slot of the start before whose request it has ended; n_start: none */
  uint32_t phase;
  uint16_t stream, pool;
  uint8_t is_held; /* alive when the first step begins: there for good */
  uint8_t is_left; /* an edit leaves it to others: no place */
} TesseraStartSlot;

typedef struct
{
  uint64_t from_tokens; /* batch x length from which on this order is used; with two
                           lengths 0: the lowest of all is */
  uint8_t is_first; /* for the step that makes what one step makes; behind the others */
  uint32_t n_low;   /* so many of the lowest share no address with the others, whenever
                       they live: small ones, where several streams may be at work */
  uint32_t *slots;  /* [n_swept] slots, the lowest first */
  uint32_t *first_edge; /* [n_swept + 1] */
  uint32_t *below; /* [n_edges] place in this order of a slot that the one at hand rests
                      on: before it */
  uint32_t n_edges;
  uint32_t *laws; /* [n_swept] of the slots, to walk through memory in order */
} TesseraOrder;

typedef struct
{
  TesseraParameters *observed; /* one for each step of the kind */
  uint32_t n_observed;
  uint32_t n_steps; /* of the trace: the others are of another kind */
  TesseraParameters most;
  bool has_batch; /* else all batches are 1 */
  TesseraSizeLaw *laws;
  uint32_t n_laws;
  TesseraLengthsSlot *slots;
  uint32_t n_slots;
  TesseraStartSlot *start;
  uint32_t n_start;
  uint32_t n_swept;
  TesseraOrder *orders; /* ascending from_tokens, from 0; then those for first steps */
  uint32_t n_orders;
  uint64_t fixed_bytes; /* the swept begin here */
  uint64_t start_bytes; /* the start reaches up to here, before the first step only */
  uint32_t alignment_bytes;
  uint32_t n_early; /* slots that are asked for before the length is known */
  char *cut_phase;  /* its begin cuts a step into parts, which all this is of then: bare
                       name, or NULL */
  char **strings;   /* names of phases */
  uint32_t n_strings;
} TesseraLengths;

/* Whether its block may be there already when a step or part begins. */
static inline bool
tessera_lengths_slot_stays (const TesseraLengthsSlot *slot)
{
  return slot->is_once || slot->is_over_cuts;
}

/* Whether it is known to come without having a place, since steps keep it for good or an
 * edit leaves it to others: a placeless request (db/plan.h) of
 * each step's plan. */
static inline bool
tessera_lengths_slot_is_kept (const TesseraLengthsSlot *slot)
{
  return slot->place == TESSERA_PLACE_NONE && slot->crosses;
}

/* Whether its place is others' until its block comes, in the step or part that makes it.
 */
static inline bool
tessera_lengths_slot_lends (const TesseraLengths *lengths, const TesseraLengthsSlot *slot)
{
  return lengths->cut_phase ? slot->is_over_cuts : slot->is_once;
}

/* Whether in a part that makes what is there over cuts large ones alone lie in the places
 * that are lent, and these are large: so with several streams as well. */
static inline bool
tessera_lengths_lends_apart (const TesseraLengths *lengths)
{
  const TesseraOrder *last =
      lengths->n_orders > 0 ? &lengths->orders[lengths->n_orders - 1] : NULL;

  return lengths->cut_phase && last && last->is_first && last->n_low > 0;
}

TESSERA_MUST_USE TesseraStatus tessera_lengths_new (TesseraLengths **out_lengths);
void tessera_lengths_free (TesseraLengths *lengths); /* NULL is fine */
/* Room for @n_swept slots and @n_edges; the laws are the caller's to fill in. */
TESSERA_MUST_USE TesseraStatus tessera_order_init (TesseraOrder *order,
                                                   uint32_t n_swept,
                                                   uint32_t n_edges);
void tessera_order_clear (TesseraOrder *order);

/*
 * tessera_lengths_is_sound:
 * @reason: what is wrong, one phrase
 *
 * For what comes from a file: whether all numbers name what exists, fixed places lie
 * below fixed_bytes and are as large as their laws say at @most, and each order holds all
 * swept slots. That nothing overlaps is for the checker to say.
 */
bool tessera_lengths_is_sound (const TesseraLengths *lengths,
                               char *reason,
                               size_t reason_bytes);
