/*
 * Why is reserved above allocated: one sentence, one number, and parts that sum to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"
#include "simulator/layout.h"

/*
 * Memory that each step keeps more of, until no device is large enough: a leak.
 *
 * A block is kept when it is alive at the end of the last step although a whole other
 * step began after it was asked for. What one step keeps is no leak (the state that an
 * optimizer makes, a cache that fills); a leak is what step after step keeps as much of
 * again. With fewer than eight steps only blocks of one stack (where some have none: of
 * one size and stream) are compared, so that the optimizer's state of the first step is not
 * taken for a habit; with more, all that the later half of the steps keeps.
 */

/* Steps of a long training run: what takes more of them to fill a device is no verdict.
 */
#define TESSERA_LEAK_STEPS 100000

typedef struct
{
  uint64_t step_bytes; /* a step keeps so much more; 0: no leak was seen */
  uint64_t kept_bytes; /* by all steps that were seen */
  uint32_t n_steps;    /* that were seen */
  uint32_t stack;      /* of most of it, or TESSERA_NONE */
  char line[128];      /* of that stack, "train.py:6 main", or "" where nobody knows */
} TesseraLeak;

/* @blocks: with their steps, see tessera_structure_new(). O(n log n) in what is kept. */
TesseraLeak tessera_leak_find (const TesseraTrace *trace,
                               const TesseraBlocks *blocks,
                               const TesseraStructure *structure);

/* "Keeps 64.00 MiB more each step (train.py:6 main): dies at about step 43 of this
 * device.", g_free(). NULL: the leak does not matter. */
char *tessera_leak_describe (const TesseraLeak *leak,
                             uint64_t needed_bytes,
                             uint64_t device_bytes);

/* Reserved memory at one moment, each byte under the first label that holds. They sum to
 * reserved_bytes, to the byte. */
typedef struct
{
  uint32_t event_index;
  uint64_t reserved_bytes;
  uint64_t live_bytes;         /* asked for */
  uint64_t rounding_bytes;     /* block minus asked for */
  uint64_t pending_bytes;      /* freed, its event not done */
  uint64_t new_segment_bytes;  /* as recorded: free, taken by this very event for that
                                  moment's request (the next alloc or oom at or after it) */
  uint64_t other_stream_bytes; /* free, but of another stream or pool than the request */
  uint64_t other_size_bytes;   /* free, of the request's stream and pool, but in segments
                                  for small requests where it is large, or the reverse */
  uint64_t hard_bytes;         /* free between live blocks of its segment */
  uint64_t soft_bytes;         /* free at the edge of a segment in use */
  uint64_t cache_bytes;        /* a whole free segment */
  uint64_t largest_hole_bytes; /* usable by that moment's request's stream and pool */
  uint64_t largest_hole_addr;
  uint64_t request_bytes;        /* that moment's request, rounded; 0: none */
  uint64_t free_at_driver_bytes; /* TESSERA_NOWHERE: not known */
  uint64_t
      outside_bytes; /* device memory that is not PyTorch's; TESSERA_NOWHERE: not known */
  /* Of other_size_bytes: by the last three labels. */
  uint64_t other_size_hard_bytes, other_size_soft_bytes, other_size_cache_bytes;
} TesseraParts;

/* Whether a block counts as live at an event: it has its place there, so it did not fail,
 * and is not freed. The bytes of all that are live are live_bytes. */
bool tessera_is_live (const TesseraBlocks *blocks,
                      const TesseraLayout *layout,
                      size_t block,
                      uint32_t event_index);

/* The moment that a verdict is about: the last failure, else peak_reserved_index. */
uint32_t tessera_verdict_moment (const TesseraLayout *layout);

TesseraParts tessera_parts_at (const TesseraTrace *trace,
                               const TesseraBlocks *blocks,
                               const TesseraLayout *layout,
                               uint32_t event_index);

/* The device's memory where the trace tells it (*@out_is_device), else what a failure in @layout
 * reveals: reserved, and still free at the driver; 0: nobody knows. */
uint64_t tessera_room_bytes (const TesseraTrace *trace,
                             const TesseraLayout *layout,
                             bool *out_is_device);

#define TESSERA_N_PARTS 9

/* One part in the words and with the number that every view tells. */
typedef struct
{
  const char *key;     /* "other_size_bytes" */
  const char *name;    /* "other sizes" */
  const char *meaning; /* "Free, but ..." */
  uint64_t bytes;
  bool is_rare; /* a picture leaves it out where it is 0 */
} TesseraPart;

/* In the order in which a byte is judged. */
void tessera_parts_list (const TesseraTrace *trace,
                         const TesseraParts *parts,
                         TesseraPart out_parts[TESSERA_N_PARTS]);
/* Those that are reserved and hold nothing: neither live nor pending. */
uint64_t tessera_parts_free_bytes (const TesseraParts *parts);

typedef enum
{
  TESSERA_CAUSE_NONE,          /* little is wasted */
  TESSERA_CAUSE_FRAGMENTATION, /* holes between live blocks or at edges */
  TESSERA_CAUSE_STREAMS,       /* free memory held by other streams or pools */
  TESSERA_CAUSE_OTHER_SIZE, /* free memory that only serves small, or large, requests */
  TESSERA_CAUSE_PENDING,    /* freed memory waits for events */
  TESSERA_CAUSE_CACHE,      /* whole free segments: given back before anything fails */
  TESSERA_CAUSE_SIZE,       /* it simply does not fit: not fragmentation */
  TESSERA_CAUSE_LEAK,       /* each step keeps more */
  TESSERA_CAUSE_LIMIT       /* the device had room: something else refused it */
} TesseraCause;

/* What the policies would need; 0 where not computed (yet). */
typedef struct
{
  uint64_t native_bytes, expandable_bytes, plan_bytes, bound_bytes;
  uint64_t across_bytes; /* of a plan across streams, where the other keeps them apart */
  TesseraLeak leak;
} TesseraNeeds;

/* The smaller device of native's and expandable segments'; 0: not known yet. */
uint64_t tessera_needs_pytorch (const TesseraNeeds *needs);

typedef struct
{
  TesseraCause cause;
  bool died;          /* the trace holds a failed request */
  TesseraParts parts; /* at the (last) failure, else at the first maximum of reserved */
  char headline[256]; /* "Died of fragmentation, not of size." */
  char sentence[768]; /* "7.83 GiB asked with 14.05 GiB free: ..." */
} TesseraVerdict;

/* @needs: (nullable) */
void tessera_verdict (const TesseraTrace *trace,
                      const TesseraLayout *layout,
                      const TesseraParts *parts,
                      const TesseraNeeds *needs,
                      TesseraVerdict *out_verdict);

/* The sentence that says that the recording was cut off; NULL: it was not. */
const char *tessera_describe_cut (const TesseraTrace *trace);

/* The sentence, without its full stop, that warns of a plan of @height_bytes which takes more
 * than the run reserved as it was, in @layout; g_free(). NULL: it does not. A run that failed
 * requests reserved less than it needed: no plan is worse than that. */
char *tessera_describe_worse (uint64_t height_bytes, const TesseraLayout *layout);

/*
 * Why a block lies where it lies in a layout: what it rests on, what rests on it, whether
 * there was a lower place.
 */
/* Blocks are neighbours when they share a moment and one ends where the other begins. */
typedef struct
{
  uint64_t addr, block_bytes;
  uint64_t base_addr;  /* where the memory begins that holds it: segment or pool */
  uint64_t lower_addr; /* the lowest address from there on at which nothing else lies in
                          its whole life and it would fit; addr: there is none below */
  uint32_t *below;     /* what it rests on, largest first */
  size_t n_below;
  uint32_t *above; /* what rests on it, largest first */
  size_t n_above;
  uint32_t
      *chain; /* from the largest it rests on downward, each on the largest of its own */
  size_t n_chain;
} TesseraPlaceReason;

/* Linear in blocks, for each block of the chain once more. The caller clears *out_reason.
 * Returns: whether the block was ever placed (its request did not fail) */
bool tessera_explain_place (const TesseraBlocks *blocks,
                            const TesseraLayout *layout,
                            uint32_t block,
                            TesseraPlaceReason *out_reason);
void tessera_place_reason_clear (TesseraPlaceReason *reason);
