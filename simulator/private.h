/*
 * What the files of simulator/ share: building a layout event by event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "allocator/device.h"
#include "simulator/layout.h"
#include "simulator/simulate.h"

/* Entries of what the driver gave, and got back. */
static inline bool
tessera_is_taken (uint8_t action)
{
  return action == TESSERA_SEGMENT_ALLOC || action == TESSERA_SEGMENT_MAP;
}

static inline bool
tessera_is_given_back (uint8_t action)
{
  return action == TESSERA_SEGMENT_FREE || action == TESSERA_SEGMENT_UNMAP;
}

/* The order of numbers, and of structs that begin with one, such as an address. */
int tessera_by_first_number (const void *a, const void *b);

/*
 * build.c: who lies where, what is reserved, the curves. The recorded layout and the
 * simulated ones differ in who decides; what follows from a decision is worked out there.
 */

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  TesseraLayout *layout;
  bool without_curves;
  uint8_t *states; /* [n_blocks] TesseraBlockState; FREE: not placed, or gone */
  uint32_t now;    /* event that is worked on */
  uint64_t live_bytes, allocated_bytes, active_bytes, reserved_bytes;
  bool has_pool;          /* a plan's, which is reserved before anything lives */
  uint64_t fullest_bytes; /* allocated at peak_reserved_index */
  uint64_t before_bytes;  /* reserved after the event before */
  uint64_t grown_bytes;   /* the most that an event raised reserved to, first there */
  uint32_t grown_index;
  GArray *spans; /* of TesseraSpan: all there were */
  GArray *open;  /* of uint32_t: those that have not ended, ascending addr */
  GArray *ooms;  /* of TesseraOom */
} TesseraBuild;

void tessera_build_init (TesseraBuild *build,
                         const TesseraTrace *trace,
                         const TesseraBlocks *blocks,
                         TesseraLayoutKind kind,
                         bool without_curves);
void tessera_build_clear (TesseraBuild *build); /* the layout too, if still here */

void tessera_build_place (TesseraBuild *build,
                          uint32_t block,
                          uint64_t addr,
                          uint64_t block_bytes);
/* Blocks that were not placed, or are gone, are left alone. */
void tessera_build_free_requested (TesseraBuild *build, uint32_t block);
void tessera_build_free_completed (TesseraBuild *build, uint32_t block);
/* A request that was not served; its rounded size. */
void tessera_build_oom (TesseraBuild *build,
                        const TesseraBlock *block,
                        uint64_t size_bytes,
                        uint64_t free_at_driver_bytes);

/* @span's life is filled in here. */
void tessera_build_add_span (TesseraBuild *build, TesseraSpan span);
/* A span of what the driver had given before the first event. */
TesseraSpan tessera_span_of (const TesseraSegment *segment);
/* Memory goes back; cuts spans that are larger. */
void tessera_build_cut (TesseraBuild *build, uint64_t addr, uint64_t size_bytes);

/* The state before the first event stands: peaks begin with it. */
void tessera_build_start (TesseraBuild *build);
/* Nothing more happens in event @build->now. */
void tessera_build_end_event (TesseraBuild *build);
/* Hands the layout over. */
TesseraLayout *tessera_build_finish (TesseraBuild *build);

/* handovers.c: fills the rest of layout->links, of which n_waits are there, once all blocks
 * have their places; counts hand-overs. */
void
tessera_layout_link (TesseraLayout *layout, const TesseraBlocks *blocks, size_t n_steps);

/* Was freed before the first event and waits for its completion. */
bool tessera_is_pending_at_start (const TesseraTrace *trace,
                                  const TesseraBlocks *blocks,
                                  uint32_t block);
/* Index of the block of the start that lies at @addr, or TESSERA_NONE. */
uint32_t tessera_start_block_at (const TesseraBlocks *blocks, uint64_t addr);

/* recorded.c: everything where the file says it lay. TESSERA_REFUSED for a trace without
 * addresses or segments: a CSV says neither. */
TESSERA_MUST_USE TesseraStatus
tessera_lay_recorded (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraSimulateOptions *options,
                      TesseraError *error,
                      TesseraLayout **out_layout);

/*
 * recorded.c: the calls of empty_cache() that the recording shows: array of uint32_t
 * events, ascending.
 *
 * A snapshot has no entry for them; they show as memory given back to the driver. What was
 * given back between two calls of the program came from one of them. If nothing was taken
 * from the driver before the next request, or no request follows, nobody was short of
 * memory: empty_cache(). If a request took memory afterwards, it either flushed because
 * the device refused it (the policy's own doing, nothing to repeat), or came after an
 * empty_cache() that left it nothing. The device can't have refused what it is known to
 * have. The policy that keeps nothing gives back at each free: its recordings show none.
 */
GArray *tessera_find_flushes (const TesseraTrace *trace);
