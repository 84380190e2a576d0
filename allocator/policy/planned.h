/*
 * The policy that follows a plan, and its parts; for the files of allocator/policy only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/lengths.h"
#include "allocator/follow/occupancy.h"
#include "allocator/policy.h"
#include "allocator/table.h"
#include "db/plan.h"

/* ---- Whether the plan suits the run ---- */

/* The plan monitor: whether a plan was made for the run that follows it, by what misses.
 *
 * What misses is reserved beside the pool, so bytes count, not requests: a stretch of the
 * run misfits where more than a tenth of the bytes asked for missed. Stretches are what
 * lies between the marks of a program, and are joined until they ask for enough to
 * matter. One alone tells nothing: it may be an evaluation, or a first step that
 * compiles. A plan misfits where two in a row do and none ever fitted, or eight in a row
 * where some did; what lies before the first step counts only where hardly anything hit,
 * as in another model. The stretch that decides needn't come to its end where most of a
 * good part of it missed. Without marks stretches are as many requests as the plan's step
 * has; then an evaluation can't be told from the steps, and a plan that fitted once fits
 * for good. What the plan leaves to others (unplanned requests) does not count. */

typedef struct
{
  TesseraHitCount now;      /* the stretch under way */
  TesseraHitCount misfit;   /* those in a row that misfit */
  uint64_t window_requests; /* how long the stretch is at most */
  uint64_t step_requests;   /* of the plan */
  uint64_t enough_bytes;    /* to matter beside the plan's pool */
  uint64_t early_bytes; /* asked for in this stretch: it is looked at before its end */
  bool is_exact;        /* the plan is for the same batches alone */
  uint32_t n_misfits;   /* in a row */
  bool was_fit;         /* some stretch ever */
  bool has_marks;
} TesseraMonitor;

void tessera_monitor_init (TesseraMonitor *monitor, const TesseraPlan *plan);
/* Of a plan that is followed by length, with a pool of @height_bytes at the most. */
void tessera_monitor_init_lengths (TesseraMonitor *monitor,
                                   const TesseraLengths *lengths,
                                   uint64_t height_bytes);

/* The program told a mark: a step begins, or none. Returns: whether the plan misfits. */
TESSERA_MUST_USE bool tessera_monitor_mark (TesseraMonitor *monitor);

/* Whether it looks as if the plan might misfit, long before that is decided: by the
 * stretch under way, or the one before. */
TESSERA_MUST_USE bool tessera_monitor_doubts (const TesseraMonitor *monitor);

/* The part of tessera_monitor_request() that is seldom due. */
bool tessera_monitor_look (TesseraMonitor *monitor);

/* One request, served by the plan or not. Returns: whether the plan misfits. */
static inline bool
tessera_monitor_request (TesseraMonitor *monitor, uint64_t size_bytes, bool is_hit)
{
  monitor->now.n_requests++;
  monitor->now.asked_bytes += size_bytes;
  if (!is_hit)
    {
      monitor->now.n_misses++;
      monitor->now.missed_bytes += size_bytes;
    }
  if (monitor->now.asked_bytes < monitor->early_bytes &&
      monitor->now.n_requests < monitor->window_requests)
    return false;
  return tessera_monitor_look (monitor);
}

/* ---- Memory that passes between streams ---- */

/* Memory that passes between streams, behind barriers.
 *
 * A stream that is to get what others freed waits for them, on the device. The earlier the
 * moment that it waits for, the less it is held up: not what was enqueued after the free.
 * So where a hand-over needed a barrier the request that came right after the free is
 * remembered, and from the next step on all that streams were given is marked there.
 *
 * A barrier waits for work that was enqueued before, so it cannot hang a program whose
 * streams could as well work one after the other. Some programs are not like that
 * (receives that are posted early, kernels that spin for others). So all hand-overs of the
 * first two steps are tried, and later on each that is new: the host looks for a while
 * whether the work ends, and lets the stream wait only if it does. Three that do not end
 * in 2 s, or many moments in a row that can't be marked, and memory passes no more: the
 * plan is of no use then. While the host looks, the device's lock is held, so a thread
 * that has to allocate before it launches what is waited for makes a trial fail.
 *
 * Not thread-safe. */

typedef struct TesseraHandover TesseraHandover;

/* Whether plans may pass memory between streams on the device. */
static inline bool
tessera_handover_is_possible (const TesseraDevice *device)
{
  return device->order != NULL;
}

/* Map and device outlive it. */
TESSERA_MUST_USE TesseraStatus tessera_handover_new (const TesseraPlan *plan,
                                                     TesseraDevice *device,
                                                     TesseraOccupancy *map,
                                                     TesseraHandover **out_handover);
void tessera_handover_free (TesseraHandover *handover); /* NULL is fine */

/* Lets the request's stream wait for whoever used the range last, if it does not yet.
 * Returns: whether it may have the range, once the blocks whose ends are pending there
 * ended (tessera_occupancy_pass()). */
bool tessera_handover_order (TesseraHandover *handover,
                             uint64_t offset_bytes,
                             const TesseraOccupancyRequest *request);
/* The slot was served, by the request that the map saw last. */
void tessera_handover_serve (TesseraHandover *handover, uint32_t slot, uint32_t stream);
/* A step begins. */
void tessera_handover_step (TesseraHandover *handover);

uint64_t tessera_handover_count (const TesseraHandover *handover); /* barriers so far */
/* Memory passes no more. */
bool tessera_handover_has_ended (const TesseraHandover *handover);

/* ---- The memory of the pool ---- */

/* The memory of a plan's pool: pages of the device, side by side in one reservation.
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
 * that was promised, or by length to the highest step so far, and from then on only where
 * no page of the pool is idle, nor any beside it: idle pages go back to the device first,
 * and come back when somebody asks for them. So however badly a plan suits, a run holds
 * what its blocks take, in pages, and not that and a pool. While the plan monitor (above)
 * doubts the plan there is no such allowance: a run that needs half of the pool holds half
 * of it. A run that suits never waits for what it would fill in the same step.
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
 * Not thread-safe. */

/* Of a pool that is promised: as many as are mapped in a moment, 20 ms. */
#define TESSERA_MOST_PAGES ((uint64_t) 256)

typedef struct
{
  TesseraPolicy
      *policy; /* set before tessera_pool_open(); its device, limit, allocator */
  TesseraOccupancy *map; /* closed where there is no memory */
  uint64_t addr;
  uint64_t n_bytes; /* of addresses; 0: there is no pool, or no more */
  uint64_t reservation_bytes;
  uint64_t page_bytes;
  uint64_t height_bytes;                      /* that is promised, or ever had memory */
  uint64_t held_bytes;                        /* that have it */
  uint64_t promised_bytes;                    /* that never had it, and are to get it */
  uint64_t promised[TESSERA_MOST_PAGES / 64]; /* these pages, one bit each */

  uint64_t planned_bytes; /* of the highest step so far, where nothing is promised */
  uint64_t most_bytes;    /* that the pool and what lies beside it held together so far */
  uint64_t used_bytes;    /* beside the pool, at most, in this step */
  uint64_t opened_ns;     /* by the device's clock */
  uint64_t spent_ns; /* since then, by pages that went and come again; or forfeited */
  bool was_promised; /* the pool of a plan for one run */
  bool has_risen;    /* most_bytes, since a step gave something back */
  bool is_off;       /* nothing may be given back now */
  bool is_over;      /* the plan is not followed any more */

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
 * is promised, or the limit forbids it. */
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
/* A step begins: what was refused may be there again. What was cached beside the pool and
 * not used through the whole of the last step goes back, if it is worth the time, once for
 * each time that the most rose: an evaluation that comes once leaves nothing there. */
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

/* ---- The policy ---- */

struct TesseraPolicy
{
  TesseraPolicyKind kind;
  /* PyTorch's rules: native, expandable and direct are no more than that, a plan leaves to
   * them what it has no place for. */
  TesseraCaching *caching;

  /* Of a plan; all zeros without one. */
  TesseraDevice *device;
  uint64_t large_page_bytes; /* of what lies beside the pool */
  const TesseraPlan *plan;
  TesseraFollower *follower; /* NULL: the plan was declined */
  TesseraLengthsFollower
      *by_length;                /* in its place, where the plan is for every length */
  TesseraFollowerStats followed; /* up to when it was declined */
  TesseraPool pool;
  TesseraHandover *handover; /* NULL: streams are kept apart */
  TesseraMonitor monitor;
  TesseraDecline decline;
  TesseraObserver observer;
  TesseraPolicyStats peaks; /* its peaks count */
  uint64_t align_bytes;     /* in whole steps of which the matching counts */
  uint64_t limit_bytes;     /* for the pool and what lies beside it; 0: none */
  uint64_t seen_held_bytes, seen_promised_bytes; /* by what lies beside the pool */
  uint64_t step_bytes;                           /* by length: of the step under way */
  uint32_t n_sought;                             /* ... requests in it, so far */
  uint32_t main_stream;                          /* ... of what is planned */
  uint64_t asked_bytes;                          /* in the step under way, so far ... */
  uint64_t strange_bytes;                        /* ... of these such as missed */
  uint32_t n_strange;                            /* ... in so many requests */
  uint32_t n_familiar;                           /* steps, and what came before them */
  bool never_declines;
  bool is_routed;                  /* nothing may be given back */
  bool has_freed;                  /* blocks of the pool since it was trimmed */
  TesseraOccupancyRequest request; /* that is being served */
  bool is_unplanned;               /* ... which the plan leaves to others */
  bool is_unordered;               /* ... and some range was refused to it for that */
  uint64_t misses_unordered;
  uint64_t n_barriers; /* up to when it was declined */
  uint64_t n_rescued;
  uint64_t n_relieved; /* failures beside the pool that were none in the end */
};

/* The hook of the follower (@user: the policy): takes the range for the request that is
 * being served. */
bool tessera_planned_take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes);
/* What lies beside the pool has what that leaves of a limit, of which 0 would be none;
 * and of the device what is not promised. */
void tessera_planned_limit_beside (TesseraPolicy *policy);
