/*
 * The pages of a plan's pool: when they come and when they go. Why so, planned.h says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <inttypes.h>
#include <stdlib.h>

#define GRAIN_BYTES ((uint64_t) 2 << 20) /* what drivers have */
/* May be spent at once beside the share; so much that was not used is kept. */
#define START_NS ((uint64_t) 50000000)
#define KEPT_NS ((uint64_t) 500000000)

enum
{
  FINE_PAGES = 4096,  /* of a pool that promises nothing */
  FLUSHED_SHARE = 64, /* of what is held is worth a flush of the cache beside the pool */
  TIME_SHARE = 64,    /* of the run's time may be spent on all that */
  PATIENT_REQUESTS = 64 /* for which a refusal stands */
};

static uint64_t
round_up (uint64_t bytes, uint64_t step_bytes)
{
  return (bytes / step_bytes + (bytes % step_bytes != 0)) * step_bytes;
}

uint64_t
tessera_pool_page_bytes (uint64_t n_bytes, bool is_promised)
{
  return round_up (n_bytes / (is_promised ? TESSERA_MOST_PAGES : FINE_PAGES) + 1,
                   GRAIN_BYTES);
}

static uint64_t
now (const TesseraPool *pool)
{
  TesseraDevice *device = pool->policy->device;

  return device->now_ns != NULL ? device->now_ns (device) : 0;
}

/* ---- Promises ---- */

/* The pool's end counts as the end of a page. */
static uint64_t
bytes_of_page (const TesseraPool *pool, uint64_t page)
{
  uint64_t rest_bytes = pool->n_bytes - page * pool->page_bytes;

  return rest_bytes < pool->page_bytes ? rest_bytes : pool->page_bytes;
}

static bool
is_promised (const TesseraPool *pool, uint64_t page)
{
  return page < TESSERA_MOST_PAGES && (pool->promised[page / 64] >> page % 64 & 1) != 0;
}

static void
promise_all (TesseraPool *pool)
{
  for (uint64_t page = 0; page * pool->page_bytes < pool->n_bytes; page++)
    pool->promised[page / 64] |= (uint64_t) 1 << page % 64;
  pool->promised_bytes = pool->height_bytes = pool->n_bytes;
  pool->was_promised = true;
}

/* Nobody keeps memory for these pages any more, so far as it was promised. */
static void
break_promise (TesseraPool *pool, uint64_t first, uint64_t end)
{
  for (uint64_t page = first; page < end && pool->promised_bytes > 0; page++)
    if (is_promised (pool, page))
      {
        pool->promised[page / 64] &= ~((uint64_t) 1 << page % 64);
        pool->promised_bytes -= bytes_of_page (pool, page);
      }
}

/* ---- Making it ---- */

static TesseraStatus
refuse (TesseraStatus status, uint64_t n_bytes, TesseraError *error)
{
  return tessera_fail (error, status,
                       "the device does not give the plan's pool of %" PRIu64 " bytes",
                       n_bytes);
}

static TesseraStatus
reserve (TesseraPool *pool, uint64_t n_bytes, bool is_promised)
{
  TesseraDevice *device = pool->policy->device;
  TesseraStatus status = device->reserve (device, 0, pool->page_bytes, &pool->addr,
                                          &pool->reservation_bytes);

  if (status != TESSERA_OK)
    return status;
  pool->n_bytes =
      is_promised ? n_bytes
                  : pool->reservation_bytes - pool->reservation_bytes % pool->page_bytes;
  /* A step for which the addresses do not suffice is larger than the device. */
  status = is_promised && pool->reservation_bytes < n_bytes ? TESSERA_OUT_OF_DEVICE
                                                            : TESSERA_OK;
  if (status == TESSERA_OK)
    status = tessera_occupancy_new (pool->n_bytes, &tessera_occupancy_laws, &pool->map);
  if (status == TESSERA_OK)
    status = tessera_occupancy_set_closed (pool->map, 0, pool->n_bytes, true);
  if (status != TESSERA_OK)
    tessera_pool_close (pool);
  return status;
}

TesseraStatus
tessera_pool_open (TesseraPool *pool,
                   uint64_t n_bytes,
                   bool is_promised,
                   TesseraError *error)
{
  uint64_t limit_bytes = pool->policy->limit_bytes;
  TesseraStatus status;

  pool->page_bytes = tessera_pool_page_bytes (n_bytes, is_promised);
  pool->opened_ns = now (pool);
  if (is_promised && limit_bytes != 0 && n_bytes > limit_bytes)
    return tessera_fail (error, TESSERA_OUT_OF_DEVICE,
                         "the plan's pool of %" PRIu64
                         " bytes is larger than the %" PRIu64
                         " bytes that this process may use",
                         n_bytes, limit_bytes);
  if (is_promised && n_bytes > pool->policy->device->free_bytes (pool->policy->device))
    return refuse (TESSERA_OUT_OF_DEVICE, n_bytes, error);
  if (is_promised && n_bytes == 0)
    status = tessera_occupancy_new (0, &tessera_occupancy_laws, &pool->map);
  else
    status = reserve (pool, n_bytes, is_promised);
  if (status != TESSERA_OK)
    return refuse (status, n_bytes, error);
  if (is_promised)
    promise_all (pool);
  return TESSERA_OK;
}

void
tessera_pool_clear (TesseraPool *pool)
{
  tessera_occupancy_free (pool->map);
  pool->map = NULL;
}

static void
unreserve (TesseraPool *pool)
{
  if (pool->n_bytes > 0)
    pool->policy->device->unreserve (pool->policy->device, pool->addr,
                                     pool->reservation_bytes);
  pool->n_bytes = 0;
}

void
tessera_pool_close (TesseraPool *pool)
{
  unreserve (pool);
  tessera_pool_clear (pool);
}

/* ---- Pages that go ---- */

static void
note_memory (TesseraPool *pool, uint64_t addr, uint64_t n_bytes, bool has_come)
{
  const TesseraObserver *observer = &pool->policy->observer;
  const TesseraSegment memory = {
    .addr = addr, .size_bytes = n_bytes, .stack = TESSERA_NONE, .is_expandable = true
  };
  void (*tell) (void *user, const TesseraSegment *memory) =
      has_come ? observer->memory_came : observer->memory_went;

  pool->held_bytes += has_come ? n_bytes : -n_bytes;
  if (tell != NULL)
    tell (observer->user, &memory);
}

/* The range is closed at the map. Waits for the device. */
static void
unmap (TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t addr = pool->addr + begin_bytes;

  tessera_pool_forget_refusal (pool);
  note_memory (pool, addr, end_bytes - begin_bytes, false);
  pool->policy->device->unmap (pool->policy->device, addr, end_bytes - begin_bytes);
}

uint64_t
tessera_pool_trim (TesseraPool *pool)
{
  uint64_t held_bytes = pool->held_bytes;
  uint64_t begin_bytes;
  uint64_t end_bytes = 0;

  if (pool->n_bytes == 0)
    return 0;
  while (tessera_occupancy_next_unneeded (pool->map, end_bytes, pool->page_bytes,
                                          &begin_bytes, &end_bytes) &&
         tessera_occupancy_set_closed (pool->map, begin_bytes, end_bytes, true) ==
             TESSERA_OK)
    unmap (pool, begin_bytes, end_bytes);
  if (pool->held_bytes == 0)
    unreserve (pool);
  return held_bytes - pool->held_bytes;
}

uint64_t
tessera_pool_count_idle (const TesseraPool *pool)
{
  uint64_t idle_bytes = pool->promised_bytes;
  uint64_t begin_bytes;
  uint64_t end_bytes = 0;

  while (pool->held_bytes > 0 &&
         tessera_occupancy_next_unneeded (pool->map, end_bytes, pool->page_bytes,
                                          &begin_bytes, &end_bytes))
    idle_bytes += end_bytes - begin_bytes;
  return idle_bytes;
}

/* Idle pages at or behind *from_bytes, but for those that reach into the range. Returns:
 * whether there are any; *from_bytes is their end then. */
static bool
next_idle (const TesseraPool *pool,
           uint64_t begin_bytes,
           uint64_t end_bytes,
           uint64_t *from_bytes,
           uint64_t *out_begin_bytes)
{
  uint64_t first_bytes = begin_bytes - begin_bytes % pool->page_bytes;
  uint64_t last_bytes = round_up (end_bytes, pool->page_bytes);
  uint64_t at_bytes = *from_bytes;

  while (tessera_occupancy_next_unneeded (pool->map, at_bytes, pool->page_bytes,
                                          out_begin_bytes, from_bytes))
    {
      if (*from_bytes <= first_bytes || *out_begin_bytes >= last_bytes)
        return true;
      if (*out_begin_bytes < first_bytes)
        {
          *from_bytes = first_bytes;
          return true;
        }
      at_bytes = last_bytes;
    }
  return false;
}

/* As many bytes of idle pages, if there are: the highest, which plans need least often.
 * Returns: bytes given back. */
static uint64_t
give_back (TesseraPool *pool, uint64_t n_bytes, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t held_bytes = pool->held_bytes;
  uint64_t idle_bytes = 0, kept_bytes, at_bytes = 0, first_bytes;

  while (next_idle (pool, begin_bytes, end_bytes, &at_bytes, &first_bytes))
    idle_bytes += at_bytes - first_bytes;
  kept_bytes = idle_bytes > n_bytes ? idle_bytes - n_bytes : 0;
  kept_bytes -= kept_bytes % pool->page_bytes;
  at_bytes = 0;
  while (next_idle (pool, begin_bytes, end_bytes, &at_bytes, &first_bytes))
    if (at_bytes - first_bytes <= kept_bytes)
      kept_bytes -= at_bytes - first_bytes;
    else
      {
        first_bytes += kept_bytes;
        kept_bytes = 0;
        if (tessera_occupancy_set_closed (pool->map, first_bytes, at_bytes, true) !=
            TESSERA_OK)
          break;
        unmap (pool, first_bytes, at_bytes);
      }
  return held_bytes - pool->held_bytes;
}

uint64_t
tessera_pool_give_back (TesseraPool *pool, uint64_t n_bytes)
{
  uint64_t promised_bytes = pool->promised_bytes, broken_bytes;

  if (pool->is_off)
    return 0;
  /* A promise costs nothing to break. */
  for (uint64_t page = TESSERA_MOST_PAGES;
       page > 0 && promised_bytes - pool->promised_bytes < n_bytes; page--)
    break_promise (pool, page - 1, page);
  broken_bytes = promised_bytes - pool->promised_bytes;
  return broken_bytes < n_bytes
             ? broken_bytes + give_back (pool, n_bytes - broken_bytes, 0, 0)
             : broken_bytes;
}

/* ---- When they go ---- */

static uint64_t
held (const TesseraPool *pool)
{
  return pool->held_bytes + tessera_caching_stats (pool->policy->caching)->reserved_bytes;
}

static bool
can_spend (TesseraPool *pool)
{
  uint64_t earned_ns = (now (pool) - pool->opened_ns) / TIME_SHARE;

  if (earned_ns > KEPT_NS)
    tessera_raise_to (&pool->spent_ns, earned_ns - KEPT_NS);
  return !pool->is_off && pool->spent_ns <= earned_ns + START_NS;
}

/* What went is mapped again, in as much time. */
static void
spend (TesseraPool *pool, uint64_t began_ns)
{
  pool->spent_ns += 2 * (now (pool) - began_ns);
}

/* What lies beside the pool and nobody uses, unless that is less than @least_bytes.
 * Returns: bytes given back. */
static uint64_t
flush (TesseraPool *pool, uint64_t least_bytes)
{
  const TesseraCachingStats *stats = tessera_caching_stats (pool->policy->caching);
  uint64_t before_bytes = stats->reserved_bytes;

  if (pool->is_off || before_bytes - stats->active_bytes < least_bytes)
    return 0;
  tessera_caching_empty_cache (pool->policy->caching);
  return before_bytes - stats->reserved_bytes;
}

/* Less beside the pool is not worth the price. */
static uint64_t
much_of (const TesseraPool *pool)
{
  uint64_t much_bytes = held (pool) / FLUSHED_SHARE;

  return much_bytes > pool->policy->large_page_bytes ? much_bytes
                                                     : pool->policy->large_page_bytes;
}

/* Of the cache beside the pool: what is worth it. */
static void
flush_worth (TesseraPool *pool)
{
  uint64_t began_ns = now (pool);

  if (can_spend (pool) && flush (pool, much_of (pool)) > 0)
    spend (pool, began_ns);
}

/* What both may hold together without a thought of what is idle. */
static uint64_t
allowance (const TesseraPool *pool)
{
  uint64_t planned_bytes = pool->was_promised ? pool->n_bytes : pool->planned_bytes;

  return pool->most_bytes < planned_bytes &&
                 !tessera_monitor_doubts (&pool->policy->monitor)
             ? planned_bytes
             : pool->most_bytes;
}

/* So much more is about to be held; what lies in that range of the pool is not idle. What
 * is left of a declined plan's pool goes once, whatever that takes, and no more than
 * that: from there on the run is as without a plan. */
static void
rise (TesseraPool *pool, uint64_t n_bytes, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t most_bytes = allowance (pool);
  uint64_t wanted_bytes = held (pool) + n_bytes;
  uint64_t began_ns = now (pool);

  if (wanted_bytes > most_bytes && pool->is_over && !pool->is_off)
    tessera_pool_trim (pool);
  else if (wanted_bytes > most_bytes && can_spend (pool))
    {
      wanted_bytes -= give_back (pool, wanted_bytes - most_bytes, begin_bytes, end_bytes);
      spend (pool, began_ns);
    }
  if (wanted_bytes > most_bytes && !pool->is_over)
    flush_worth (pool);
}

void
tessera_pool_make_room (TesseraPool *pool, uint64_t n_bytes)
{
  if (n_bytes > 0 &&
      (pool->beside_refused_bytes == 0 || n_bytes < pool->beside_refused_bytes))
    rise (pool, n_bytes, 0, 0);
}

void
tessera_pool_see_refused (TesseraPool *pool, uint64_t n_bytes)
{
  if (pool->beside_refused_bytes == 0 || n_bytes < pool->beside_refused_bytes)
    pool->beside_refused_bytes = n_bytes;
}

void
tessera_pool_step (TesseraPool *pool)
{
  uint64_t reserved_bytes = tessera_caching_stats (pool->policy->caching)->reserved_bytes;

  pool->beside_refused_bytes = 0;
  tessera_pool_forget_refusal (pool);
  if (!pool->is_over && pool->has_risen &&
      pool->used_bytes + much_of (pool) <= reserved_bytes && can_spend (pool))
    {
      flush_worth (pool);
      pool->has_risen = false;
    }
  pool->used_bytes = 0;
}

void
tessera_pool_see_held (TesseraPool *pool)
{
  tessera_raise_to (&pool->used_bytes,
                    tessera_caching_stats (pool->policy->caching)->active_bytes);
  pool->has_risen = pool->has_risen || held (pool) > pool->most_bytes;
  tessera_raise_to (&pool->most_bytes, held (pool));
}

void
tessera_pool_end (TesseraPool *pool)
{
  tessera_pool_see_held (pool);
  pool->is_over = true;
  break_promise (pool, 0, TESSERA_MOST_PAGES);
}

/* ---- Pages that come ---- */

/* The next closed pages that reach into the range. */
static bool
next_closed (const TesseraPool *pool,
             uint64_t *from_bytes,
             uint64_t end_bytes,
             uint64_t *out_begin_bytes,
             uint64_t *out_end_bytes)
{
  uint64_t last_bytes = round_up (end_bytes, pool->page_bytes);

  if (!tessera_occupancy_next_closed (pool->map, *from_bytes, out_begin_bytes,
                                      out_end_bytes) ||
      *out_begin_bytes >= end_bytes)
    return false;
  *out_begin_bytes -= *out_begin_bytes % pool->page_bytes;
  if (*out_end_bytes > last_bytes)
    *out_end_bytes = last_bytes;
  *from_bytes = *out_end_bytes;
  return true;
}

static uint64_t
count_missing (const TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t missing_bytes = 0;
  uint64_t first_bytes, last_bytes;

  while (next_closed (pool, &begin_bytes, end_bytes, &first_bytes, &last_bytes))
    missing_bytes += last_bytes - first_bytes;
  return missing_bytes;
}

/* Returns: false: not for all of the range. */
static bool
map_missing (TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraDevice *device = pool->policy->device;
  uint64_t first_bytes, last_bytes;

  while (next_closed (pool, &begin_bytes, end_bytes, &first_bytes, &last_bytes))
    {
      uint64_t addr = pool->addr + first_bytes;
      uint64_t n_bytes = last_bytes - first_bytes;

      if (device->map (device, addr, n_bytes, 0) != TESSERA_OK)
        return false;
      if (tessera_occupancy_set_closed (pool->map, first_bytes, last_bytes, false) !=
          TESSERA_OK)
        {
          device->unmap (device, addr, n_bytes);
          return false;
        }
      tessera_raise_to (&pool->height_bytes, last_bytes);
      break_promise (pool, first_bytes / pool->page_bytes,
                     round_up (last_bytes, pool->page_bytes) / pool->page_bytes);
      note_memory (pool, addr, n_bytes, true);
    }
  return true;
}

/* Memory for the range, as far as the device has it and it is allowed. */
static bool
fetch (TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t limit_bytes = pool->policy->limit_bytes;

  return (limit_bytes == 0 ||
          held (pool) + count_missing (pool, begin_bytes, end_bytes) <= limit_bytes) &&
         map_missing (pool, begin_bytes, end_bytes);
}

void
tessera_pool_fulfil (TesseraPool *pool)
{
  for (uint64_t first = 0, end; pool->promised_bytes > 0 && first < TESSERA_MOST_PAGES;
       first = end + 1)
    {
      for (end = first; is_promised (pool, end);)
        end++;
      if (end > first && !fetch (pool, first * pool->page_bytes, end * pool->page_bytes))
        break;
    }
  tessera_pool_see_held (pool);
}

void
tessera_pool_forget_refusal (TesseraPool *pool)
{
  pool->refused_bytes = 0;
}

void
tessera_pool_count_request (TesseraPool *pool)
{
  if (pool->refused_bytes != 0 && ++pool->n_since >= PATIENT_REQUESTS)
    pool->refused_bytes = 0;
}

bool
tessera_pool_bring_back (TesseraPool *pool, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t missing_bytes;

  if (pool->held_bytes == pool->n_bytes || end_bytes > pool->n_bytes ||
      !tessera_occupancy_is_free (pool->map, begin_bytes, end_bytes))
    return false;
  missing_bytes = count_missing (pool, begin_bytes, end_bytes);
  if (missing_bytes == 0)
    return false;
  rise (pool, missing_bytes, begin_bytes, end_bytes);
  if (pool->refused_bytes != 0 && missing_bytes >= pool->refused_bytes)
    return false;
  if (fetch (pool, begin_bytes, end_bytes) ||
      (flush (pool, 1) > 0 && fetch (pool, begin_bytes, end_bytes)))
    {
      tessera_pool_see_held (pool);
      pool->was_refused = false;
      return true;
    }
  if (pool->was_refused)
    pool->refused_bytes = count_missing (pool, begin_bytes, end_bytes);
  pool->was_refused = true;
  pool->n_since = 0;
  return false;
}
