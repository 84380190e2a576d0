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
 * Where each micro-batch of a step has a length of its own, all this is of parts of steps
 * (TesseraCutter), and what one of them makes for the others of its step (the gradients)
 * has the highest of the fixed places: in the part that makes it these are others' until
 * it comes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/trace.h"

/* The size of a block as a formula of what varies between steps.
 *
 * Steps of one kind make the same requests for batches of another length, or of another
 * number of sequences as well. What is asked for is then a sum of terms: a constant, the
 * batch, the length, both multiplied (tokens), and batch times length squared. Kernels
 * round: the length may count rounded up to a multiple of 8, 16, 32, 64 or 128, and
 * workspaces stop growing at a cap. Where the batch doesn't vary it counts as 1. */

enum
{
  TESSERA_TERM_ONE,
  TESSERA_TERM_BATCH,
  TESSERA_TERM_LENGTH, /* rounded */
  TESSERA_TERM_TOKENS, /* batch x length rounded */
  TESSERA_TERM_SQUARE, /* batch x length x length rounded */
  TESSERA_N_TERMS
};

/* Terms beyond this are refused: the sums then never wrap. */
#define TESSERA_MAX_TERM (INT64_C (1) << 50)

typedef struct
{
  uint64_t batch;
  uint64_t length;
} TesseraParameters;

typedef enum
{
  TESSERA_SIZE_CONSTANT,
  TESSERA_SIZE_AFFINE,
  TESSERA_SIZE_QUADRATIC, /* the length by itself */
  TESSERA_SIZE_ROUNDED,   /* affine or quadratic in the rounded length, or with a cap */
  TESSERA_SIZE_BOUNDED,   /* no law: the largest size that was seen */
  TESSERA_N_SIZE_KINDS
} TesseraSizeKind;

/* min (sum of numerators x terms / denominator, rounded up; cap). */
typedef struct
{
  int64_t numerators[TESSERA_N_TERMS]; /* |numerator| <= TESSERA_MAX_TERM */
  int64_t denominator;                 /* 1 .. TESSERA_MAX_TERM */
  uint64_t cap_bytes;                  /* 0: none */
  uint32_t rounding;                   /* of the length: 1, 2 ... 64 or 128 */
  uint8_t kind;                        /* TesseraSizeKind */
} TesseraSizeLaw;

/* Batch times length; UINT64_MAX where that is too much. */
uint64_t tessera_parameters_tokens (const TesseraParameters *parameters);

/* The terms at @parameters. Returns: false: one is beyond TESSERA_MAX_TERM. */
bool tessera_size_terms (const TesseraParameters *parameters,
                         uint32_t rounding,
                         int64_t out_terms[TESSERA_N_TERMS]);

/* Bytes at @parameters. Returns: false where the law gives none: beyond what can be
 * computed, or less than nothing. */
bool tessera_size_law_evaluate (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t *out_bytes);

/* Whether it gives less than @size_bytes: so does one that gives less than nothing. What
 * is beyond what can be computed is more. */
bool tessera_size_law_is_below (const TesseraSizeLaw *law,
                                const TesseraParameters *parameters,
                                uint64_t size_bytes);

/* Whether the fields are in the ranges above: for laws that come from a file. */
bool tessera_size_law_is_valid (const TesseraSizeLaw *law);

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
  /* Where it is fixed and crosses: slot of the next step before whose request it has ended.
   * Others lie in its two places while no block of it does (in_spare). 0: nobody else. */
  uint32_t gone;
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
  uint64_t from_tokens; /* batch x length from which on this order is used */
  uint8_t is_first; /* for the step that makes what one step makes; behind the others */
  uint8_t in_spare; /* for steps whose slots that take turns lie in their spare places;
                       behind those for the steps between */
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
  uint64_t fixed_bytes; /* the swept begin here, or where places begin that slots take in
                           turns: tessera_lengths_base() */
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

/* Whether the blocks of two steps take turns in two places, which are others' meanwhile. */
static inline bool
tessera_lengths_slot_turns (const TesseraLengthsSlot *slot)
{
  return slot->gone > 0;
}

enum
{
  TESSERA_MOST_TURNS = 8 /* slots that take turns */
};

/* What places that are nobody else's take: the swept lie above. */
uint64_t tessera_lengths_base (const TesseraLengths *lengths);

/* Whether it is known to come without having a place, since steps keep it for good or an
 * edit leaves it to others: an unplanned request (db/plan.h) of
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
 * @reason: what is wrong, one phrase; "": the host has no memory to look
 *
 * For what comes from a file: whether all numbers name what exists, fixed places lie
 * below fixed_bytes and are as large as their laws say at @most, and each order holds all
 * swept slots. That nothing overlaps is for the checker to say.
 */
bool tessera_lengths_is_sound (const TesseraLengths *lengths,
                               char *reason,
                               size_t reason_bytes);

/* Where a step is cut into parts: planner and follower go by the same phases. */

/* Without the number that the second and later micro-batches of a step have in it, and other
 * calls: "micro-batch 2 forward" and "call 3 of forward" are "forward". Points into @name. */
const char *tessera_bare_phase (const char *name);

/* Of the step under way; all but the name 0 where it begins. */
typedef struct
{
  const char
      *phase;     /* bare name of the phase whose begin is a cut; NULL: there is none */
  bool had_other; /* another one came since the part began */
} TesseraCutter;

/* The phase is now @name, bare (NULL: none). Returns: whether a part begins here. */
bool tessera_cutter_see (TesseraCutter *cutter, const char *name);
