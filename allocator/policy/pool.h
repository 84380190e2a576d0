/*
 * The memory of a plan's pool: pages of the device, side by side in one reservation.
 *
 * The addresses are taken at once, memory with the first block that is to lie in a page;
 * it stays while the plan is followed. So a run holds what it used of the pool, and what
 * it uses again costs no call of the driver. The pool of a plan for one run *promises*
 * the rest: the device must have it for the plan to be followed at all, and what the plan
 * does not serve has to leave it, else that would eat the memory of a plan that fits. A
 * promise is broken only for a request that would fail. The pool of a plan for every
 * length promises nothing: steps use as much of it as they need.
 *
 * A run that differs from its plan needs memory beside the pool just when some of the
 * pool lies idle: paid twice. What both hold together is let grow up to the whole pool
 * that was promised, and from then on only where no page of the pool is idle, nor any
 * beside it: idle pages go back to the device first, and come back when somebody asks for
 * them. So however badly a plan suits, a run holds what its blocks take, in pages, and
 * not that and a pool. While the plan monitor (allocator/policy/monitor.h) doubts the
 * plan there is no such allowance: a run that needs half of the pool holds half of it. A
 * run that suits never waits for what it would fill in the same step.
 *
 * Giving back waits for the device, so it happens where the most that was ever held would
 * rise, and nowhere else. The highest pages go, which hold what lives for a moment at the
 * peak: that takes no more calls of the driver than to look which ones the plan needs
 * latest. What comes back nobody used yet.
 *
 * The driver may take one part in 64 of a run's time for all this, waits apart, since a
 * page of up to 20 MiB takes 30 us to give back and 40 to bring, one of 200 twice as long
 * (docs/gpu/results/h100-barriers.json): a run whose steps are short does without, and
 * the most that was held rises. For a request that would fail pages go all the same.
 *
 * Where others fill the device, each request for a page without memory would ask the
 * driver in vain, and flush the cache beside the pool, which waits for the device. So the
 * second refusal in a row stands: as much or more is not asked for again before pages of the pool went,
 * some requests were made, or a step begins. Meanwhile such requests miss; one that would
 * fail asks, whatever was refused. Nor do pages go for as much as the device refused beside
 * the pool, in that step: others have what was given back for it.
 *
 * A plan that is declined leaves weights in the pool: other pages go back one by one.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/occupancy.h"
#include "allocator/policy/monitor.h"

/* Of a pool that is promised: as many as are mapped in a moment, 20 ms. */
#define TESSERA_MOST_PAGES ((uint64_t) 256)

/* All but the bytes borrowed; to be set before tessera_pool_open(). */
typedef struct
{
  TesseraDevice *device;
  TesseraObserver observer;
  TesseraCaching *beside; /* serves what the plan does not */
  const TesseraMonitor *monitor;
  uint64_t limit_bytes;      /* for the pool and what lies beside it; 0: none */
  uint64_t large_page_bytes; /* of what lies beside the pool */
} TesseraPoolUsers;

typedef struct
{
  TesseraPoolUsers users;
  TesseraOccupancy *map; /* closed where there is no memory */
  uint64_t addr;
  uint64_t n_bytes; /* of addresses; 0: there is no pool, or no more */
  uint64_t reservation_bytes;
  uint64_t page_bytes;
  uint64_t height_bytes;                      /* that is promised, or ever had memory */
  uint64_t held_bytes;                        /* that have it */
  uint64_t promised_bytes;                    /* that never had it, and are to get it */
  uint64_t promised[TESSERA_MOST_PAGES / 64]; /* these pages, one bit each */

  uint64_t most_bytes; /* that the pool and what lies beside it held together so far */
  uint64_t opened_ns;  /* by the device's clock */
  uint64_t spent_ns;   /* since then, by pages that went and come again; or forfeited */
  bool was_promised;   /* the pool of a plan for one run */
  bool is_off;         /* nothing may be given back now */
  bool is_over;        /* the plan is not followed any more */

  uint64_t beside_refused_bytes; /* at least, in this step; 0: none */
  uint64_t refused_bytes;        /* to the pool, and not worth asking for; 0: none */
  uint32_t n_since;              /* requests of the run */
  bool was_refused;              /* the last page that was asked for */
} TesseraPool;

static inline void
tessera_raise_to (uint64_t *peak_bytes, uint64_t bytes)
{
  if (bytes > *peak_bytes)
    *peak_bytes = bytes;
}

/* Of a pool of so many bytes. */
uint64_t tessera_pool_page_bytes (uint64_t n_bytes, bool is_promised);

/* Addresses for a pool of @n_bytes, with memory promised to all of it; or, not
 * @is_promised, in pages for as many, but the pool may outgrow that. On failure nothing
 * is held, and @error says why: TESSERA_OUT_OF_DEVICE where the device has less left than
 * is promised, or the limit forbids it. @pool: users are set. */
TESSERA_MUST_USE TesseraStatus tessera_pool_open (TesseraPool *pool,
                                                  uint64_t n_bytes,
                                                  bool is_promised,
                                                  TesseraError *error);
/* Memory that is still held stays with the device. */
void tessera_pool_clear (TesseraPool *pool);
/* The addresses go back as well, while nothing has memory yet. */
void tessera_pool_close (TesseraPool *pool);

/* A request of the run. */
void tessera_pool_count_request (TesseraPool *pool);
/* After each request: what is held now may be held again. What was only asked for may
 * not. */
void tessera_pool_see_held (TesseraPool *pool);
/* A step begins: what was refused may be there again. */
void tessera_pool_step (TesseraPool *pool);

/* Sees to it that the range has memory, unless somebody uses a part of it. Returns:
 * whether it has, and a part of it had none. */
bool
tessera_pool_bring_back (TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes);
/* Memory for all that is still promised, if the device has it. */
void tessera_pool_fulfil (TesseraPool *pool);
/* The device is to be asked again, whatever it refused to the pool. */
void tessera_pool_forget_refusal (TesseraPool *pool);

/* So many bytes are about to be reserved beside the pool: idle pages go where that keeps
 * the most that is held from rising. */
void tessera_pool_make_room (TesseraPool *pool, uint64_t n_bytes);
/* The device did not have them. */
void tessera_pool_see_refused (TesseraPool *pool, uint64_t n_bytes);
/* What could be given back now, promises too. */
uint64_t tessera_pool_count_idle (const TesseraPool *pool);
/* Gives back so many bytes of idle pages; less where fewer are idle. Returns: bytes given
 * back, or that are promised no more. */
uint64_t tessera_pool_give_back (TesseraPool *pool, uint64_t n_bytes);

/* The plan is not followed any more: all that is idle may go. What is cached beside the
 * pool stays, as without a plan. */
void tessera_pool_end (TesseraPool *pool);
/* Gives back every page that nobody needs, and the addresses once no memory is left.
 * Returns: bytes given back. */
uint64_t tessera_pool_trim (TesseraPool *pool);
