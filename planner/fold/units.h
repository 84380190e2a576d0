/*
 * Kinds of step in a trace whose steps are not all alike: steps that evaluate, log, save,
 * or accumulate another number of micro-batches.
 *
 * The trace is cut into *units*: its steps, and what lies between two of them where
 * something is asked for there. Units that ask for the same things in the same order are
 * of one kind; so is one that only leaves out a stretch of another's requests, or a few
 * here and there (the step after an evaluation began before it, two micro-batches instead
 * of four): it has a place for each of its requests in the other. A kind needs two units
 * at least; what is rarer is of none.
 *
 * What a unit keeps over a whole later one of its own kind, little as it is, gets no
 * place in any (planner/fold.h), where that folds more steps.
 *
 * The *window* is the part that a plan folds: from the first unit of a kind after which
 * no unit keeps what it allocates over a whole later unit of its own kind, to the last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/structure.h"

#define TESSERA_MAX_KINDS 8 /* further ones are taken for rare */

typedef struct
{
  uint32_t begin, end; /* events */
  uint32_t kind;       /* or TESSERA_NONE: rare */
  uint64_t digest;     /* of its requests */
  uint32_t n_requests;
  bool is_step; /* else what lies between two */
} TesseraUnit;

typedef struct
{
  uint32_t unit; /* that stands for all: the first one with all of the kind's requests */
  uint32_t n_units;
  uint32_t n_requests;
  uint32_t begin, end; /* positions of its section */
  uint32_t *requests;  /* [n_requests] their events in the unit that stands for all */
  uint8_t *is_kept;    /* [n_requests] 1: kept for good; NULL: none is */
  uint8_t *alternates; /* [n_requests] 1: it alternates; NULL: none does */
  uint32_t n_kept;
  uint64_t kept_bytes; /* of these: what a unit keeps at most */
} TesseraStepKind;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  TesseraUnit *units; /* of the window, in order */
  uint32_t n_units;
  TesseraStepKind
      kinds[TESSERA_MAX_KINDS]; /* in the order of the units that stand for them */
  uint32_t n_kinds;
  uint32_t n_alternating; /* so many first kinds come in two layouts in turn, the second
                             one behind them in the same order: half of n_kinds; or 0 */
  uint32_t begin, end;    /* of the window: events */
  uint32_t limit;         /* events from here on are left out */
  uint32_t first_end;     /* position behind the last kind */
  uint32_t n_positions;
  uint32_t *place_of;  /* [end - begin] requests of its kind before the event */
  uint8_t *is_dynamic; /* (nullable) [n_blocks] 1: no unit has a place for it */
} TesseraUnits;

/* Steps [@from, @to] of the structure; events from @limit on are left out. Where fewer
 * than @least_kinds (1 or 2) come often enough, n_kinds is 0. */
void tessera_units_init (TesseraUnits *units,
                         const TesseraTrace *trace,
                         const TesseraBlocks *blocks,
                         const TesseraStructure *structure,
                         uint32_t from,
                         uint32_t to,
                         uint32_t limit,
                         uint32_t least_kinds);
void tessera_units_clear (TesseraUnits *units);

/* Of its events: how many ask for something, and a digest of what. */
void tessera_unit_measure (const TesseraTrace *trace, TesseraUnit *unit);

/* The requests in [@begin, @end) as tokens: equal where they ask for the same. */
void tessera_unit_tokens (const TesseraTrace *trace,
                          uint32_t begin,
                          uint32_t end,
                          uint64_t *out_tokens);

/* Begins, ends and requests of the kinds, by the units that stand for them. */
void tessera_units_lay_out (TesseraUnits *units);

/* The kind of the unit, @flips: if the other of two layouts had come first. */
static inline uint32_t
tessera_units_kind (const TesseraUnits *units, uint32_t unit, bool flips)
{
  uint32_t kind = units->units[unit].kind;

  if (!flips || kind == TESSERA_NONE)
    return kind;
  return kind < units->n_alternating ? kind + units->n_alternating
                                     : kind - units->n_alternating;
}

/* Marks the requests of each kind that some unit keeps over a whole later one of its
 * kind. */
void tessera_units_find_kept (TesseraUnits *units);

/* Writes "; each step keeps up to 512 bytes beyond the next one, in 1 request without a
 * place": to go behind a sentence. */
void
tessera_kept_say (uint32_t n_kept, uint64_t step_bytes, char *out_text, size_t n_text);

/* The unit of the window that the event lies in. */
uint32_t tessera_units_at (const TesseraUnits *units, uint32_t event);

/* The block whose slot stands for @block: of a unit the like of it in the one that stands
 * for its kind, else itself; TESSERA_NONE: there is none, or it is dynamic. */
uint32_t tessera_units_stands_for (const TesseraUnits *units, uint32_t block);

/* Of a kind with two layouts: what the other layout's unit has like @block, which stands
 * for itself; else TESSERA_NONE. */
uint32_t tessera_units_twin (const TesseraUnits *units, uint32_t block);

/* The position before which so many requests of the kind come: that of the next one, or
 * the section's end. */
static inline uint32_t
tessera_units_position (const TesseraUnits *units, uint32_t kind, uint32_t place)
{
  const TesseraStepKind *of = &units->kinds[kind];

  return place < of->n_requests
             ? of->requests[place] - units->units[of->unit].begin + of->begin
             : of->end;
}

/* The position of an event outside the window. */
static inline uint32_t
tessera_units_outside (const TesseraUnits *units, uint32_t event)
{
  if (event < units->begin)
    return event;
  return event < units->limit ? event - units->end + units->first_end
                              : units->n_positions;
}

static inline bool
tessera_unit_asks (const TesseraEvent *event)
{
  return event->action == TESSERA_ALLOC || event->action == TESSERA_OOM;
}

/* Whether the event asks for something that has a place in its kind. */
static inline bool
tessera_units_plan (const TesseraUnits *units, uint32_t event)
{
  return tessera_unit_asks (&units->trace->events[event]) &&
         !(units->is_dynamic && units->is_dynamic[units->blocks->block_of_event[event]]);
}

/* Equal where two events ask for the same. */
static inline uint64_t
tessera_unit_token (const TesseraEvent *event)
{
  return (event->size_bytes << 20 ^ event->size_bytes >> 44) ^
         ((uint64_t) event->stream << 4 | (uint64_t) event->pool << 12 |
          (event->action == TESSERA_OOM));
}
