/*
 * A witness of device memory that is handed out and given back, for tests: somebody who
 * knows only what a program asks for and gets.
 *
 * Two things are judged of every range that is handed out. No byte of it may be live. And
 * a byte that was used before must be in order for its new user: CUDA's streams run side
 * by side, and nothing waits for the work of the last user but what the program has made
 * wait. What a program may count on are the habits of PyTorch's own allocator, so a byte
 * is in order when
 *   - the block that used it last was asked for on the same stream, from the same private
 * pool;
 *   - the work that record_stream told of was done: the caller marks each such stream
 * when the block is given back, and the mark must have passed;
 *   - where more than one stream is at work, the block was of the same kind, small (at
 *     most 1 MiB) or large, since PyTorch keeps these apart; or the stream has asked
 * since for something of the block's kind that is no larger: PyTorch could have served
 * that from the block, so a correct program is ready for it.
 * It shares nothing with any allocator.
 *
 * Not thread-safe, but called by the threads of the program: it tells them apart. Without
 * memory it aborts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Witness Witness;

/* How far streams have come. */
typedef struct
{
  /* Returns: a mark behind all that the stream has been given to do. */
  void *(*mark) (void *user, uint64_t stream);
  bool (*has_passed) (void *user, void *mark);
  void (*forget) (void *user, void *mark);
  void *user;
} WitnessClock;

typedef struct
{
  uint64_t size_bytes, stream;
  uint32_t pool; /* private one; 0: none */
} WitnessRequest;

typedef struct
{
  /* Ranges handed out of which a byte ... */
  uint64_t n_overlaps;     /* was live */
  uint64_t n_other_stream; /* was last used on another stream */
  uint64_t n_pending;      /* ... was still in use on a stream that record_stream named */
  uint64_t n_other_kind;   /* ... by a small block or a large one, and nothing since */
  /* Of those judged: all that were used before; where record_stream had named a stream;
     where the kind had changed. */
  uint64_t n_reused, n_marked, n_crossed;
  uint64_t n_passed; /* in order by a barrier alone */
  uint64_t n_misaligned, n_unknown_frees;
  uint64_t live_bytes, peak_live_bytes;
} WitnessFindings;

/* @clock: (nullable): copied; NULL: nobody calls record_stream */
Witness *witness_new (const WitnessClock *clock);
void witness_close (Witness *witness);

/* All of it in the order in which it happens. Every request comes here first, whether or
 * not it is served, then what was handed out for it. */
void witness_request (Witness *witness, WitnessRequest request);
/* What handing out that much at @addr would be found to be: each count is 0 or 1. */
WitnessFindings witness_ask (const Witness *witness,
                             WitnessRequest request,
                             uint64_t addr,
                             uint64_t block_bytes);
void witness_hand_out (Witness *witness,
                       WitnessRequest request,
                       uint64_t addr,
                       uint64_t block_bytes);
/* Work on @stream uses the block at @addr (0: none) as well. */
void witness_record_stream (Witness *witness, uint64_t addr, uint64_t stream);
void witness_give_back (Witness *witness, uint64_t addr);
/* The driver took the memory back, and waited before: what lay there has no account with what
 * will. Returns: whether nothing was live there. */
bool witness_unmap (Witness *witness, uint64_t addr, uint64_t size_bytes);
/* A step or a phase begins or ends. */
void witness_mark (Witness *witness);

/* The event is recorded: behind all that was given to any stream, or (not @is_barrier) behind
 * something else. */
void witness_record (Witness *witness, uint64_t event, bool is_barrier);
/* The stream waits for what the event was recorded behind last. */
void witness_wait (Witness *witness, uint64_t stream, uint64_t event);

const WitnessFindings *witness_findings (const Witness *witness);

/* Room for one more of @item_bytes: @items where there is some, else moved into twice as
 * much. */
void *witness_grown (void *items, size_t n_items, size_t *room, size_t item_bytes);
