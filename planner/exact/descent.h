/*
 * One walk down the tree of decisions, by one rule, as far as its share of work goes.
 *
 * A node picks a valley and in it the item that comes first in the order, and asks
 * whether it lies at its floor (state.h): first yes, then no. When items that wait fall
 * into parts that share no section, each part is searched by itself: a part that fails
 * takes back the decision that made it, whatever was decided in other parts since. Rules
 * and orders change how soon the end comes, not the answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact/memo.h"

typedef enum
{
  TESSERA_VALLEY_TROUBLE,  /* where states were refused most often */
  TESSERA_VALLEY_LEFTMOST, /* earliest in time */
  TESSERA_VALLEY_TIGHT,    /* where the least room is left */
  TESSERA_VALLEY_LOWEST,   /* lowest floor */
  TESSERA_N_VALLEY_RULES
} TesseraValleyRule;

typedef struct
{
  uint32_t begin, end; /* sections */
  uint32_t parent;     /* frame to go back to, or NONE */
  uint32_t next;       /* part, or NONE */
} TesseraOpenPart;

typedef struct
{
  TesseraStateKey key;
  size_t n_trail;
  uint32_t item;
  uint32_t part;    /* the part that it is in, as it was opened */
  uint32_t n_parts; /* parts that were open */
  uint8_t n_asked;  /* questions: at its floor? and if not? */
} TesseraFrame;

typedef struct
{
  TesseraExactState *state;
  TesseraMemo *memo;     /* (nullable) */
  const uint32_t *ranks; /* [n_items]: lower comes first */
  const TesseraProgress *progress;
  TesseraFrame *frames;
  TesseraOpenPart *parts;
  uint32_t n_frames, frames_capacity;
  uint32_t n_parts, parts_capacity;
  uint64_t n_decisions; /* over all walks */
  uint64_t work_budget; /* of all walks: no more after this */
  uint64_t next_report;
} TesseraDescent;

TESSERA_MUST_USE TesseraStatus tessera_descent_init (TesseraDescent *descent);
void tessera_descent_clear (TesseraDescent *descent);

/*
 * tessera_descent_walk:
 * @share: decisions that it may take
 *
 * With TESSERA_EXACT_FITS the state holds the layout; else it is back where it started.
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus tessera_descent_walk (TesseraDescent *descent,
                                                     TesseraValleyRule rule,
                                                     uint64_t share,
                                                     TesseraExactAnswer *out_answer);
