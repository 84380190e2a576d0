/*
 * Fits in order of time, class after class.
 *
 * First fit or best fit of items in the order of their births, where some classes of
 * items come before others: all of the first class in order of time, then all of the
 * second around them, and so on. The free ranges at the moment of the sweep are kept as
 * an allocator keeps them (gaps.h), so that nobody walks over the thousands that are
 * alive. What an earlier class will have there later in the life of an item is looked up
 * beside that: the lives that begin inside it. The sweep goes forward, by births, or
 * backward, by deaths.
 *
 * Example: micro-batches overlap; what a forward pass keeps lives for thousands of
 * requests, what it needs in passing for ten. In order of time alone the short ones cut
 * the room of the long ones to pieces. With the long ones first each of these follows
 * another of its own size, and the short ones fill what is left: 1.0214 of the bound
 * becomes 1.0000 (Qwen2.5-14B, two chunks).
 *
 * Cost: an item takes some questions to the free ranges and one look at each life of an
 * earlier class that begins inside its own. An item with two lives, or held to something,
 * comes before all others, placed by the caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/sweep/gaps.h"
#include "planner/pack/sweep/times.h"
#include "planner/pack/watch.h"

typedef struct
{
  const TesseraTimes *times;
  uint32_t *later;    /* [n_lives] lives of those placed in classes before, by begin */
  uint8_t *is_placed; /* [n_items] */
  TesseraGaps gaps;
  TesseraGap *taken; /* what the item in hand has to go around */
  TesseraGap *spare; /* as much room, for sorting */
  uint32_t n_taken;
  uint64_t looks_left; /* at lives of earlier classes; at 0 a class is given up */
  bool is_backward;
} TesseraSweep;

/* Of problems with one owner and one zone. */
TESSERA_MUST_USE TesseraStatus tessera_sweep_init (TesseraSweep *sweep,
                                                   const TesseraTimes *times);
void tessera_sweep_clear (TesseraSweep *sweep); /* frees; a zeroed one is fine */

/* Starts anew: nobody has a place. @looks: what may be spent. */
void tessera_sweep_begin (TesseraSweep *sweep, bool is_backward, uint64_t looks);
/* The item, of one life or two, lies at offsets[item] already. */
void tessera_sweep_note (TesseraSweep *sweep, uint32_t item);

typedef enum
{
  TESSERA_SWEEP_FIRST_FIT, /* lowest gap that takes it */
  TESSERA_SWEEP_BEST_FIT   /* smallest gap that takes it, the lowest of these */
} TesseraSweepFit;

/*
 * tessera_sweep_class:
 * @class: (array length=n): items of one life, in the order of the sweep
 * @offsets: by item; of those that have a place
 * @height_bytes: raised by the highest end
 *
 * Returns: false when the watch said stop, or what may be spent is spent.
 */
TESSERA_MUST_USE bool tessera_sweep_class (TesseraSweep *sweep,
                                           const uint32_t *class,
                                           size_t n,
                                           TesseraSweepFit fit,
                                           const TesseraPackWatch *watch,
                                           uint64_t *offsets,
                                           uint64_t *height_bytes);
