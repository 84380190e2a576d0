/*
 * Idle pages of a followed plan's pool: see lending.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pages/lending.h"

#include <stdlib.h>

#define LITTLE_BYTES ((uint64_t) 20 << 20)

enum
{
  MORE_SHARE = 32,    /* of the pool goes with what has to, if it is needed late */
  WAIT_REQUESTS = 64, /* that earn it */
  FLUSH_WAITS = 4,    /* as much as so many: what was cached is mapped anew */
  FLUSHED_SHARE = 64, /* ... so it is done for so much of what is held */
  LITTLE_WAITS = 16,  /* ... or for LITTLE_BYTES, at this price */
  KEPT_WAITS = 256,   /* earned, and not yet used */
  /* A wait within WAIT_REQUESTS of the one before hurries, up to a quarter of the pool a
     wait; none for so many times that forgets it. */
  MOST_HURRY = 5,
  HURRY_SHARE = 4 << MOST_HURRY,
  CALM_WAITS = 8
};

/* In order of need, of equals the lower page first. */
static uint64_t
key_of (uint32_t need, uint32_t page)
{
  return (uint64_t) need << 32 | (UINT32_MAX - page);
}

static uint32_t
page_of (uint64_t key)
{
  return UINT32_MAX - (uint32_t) key;
}

TesseraStatus
tessera_lending_init (TesseraLending *lending, const TesseraForecast *forecast)
{
  const TesseraPages *pages = lending->pages;

  lending->forecast = *forecast;
  lending->n_pages = (uint32_t) tessera_pages_count (pages);
  lending->needs = malloc (((size_t) lending->n_pages + 1) * sizeof *lending->needs);
  lending->idle = malloc (((size_t) lending->n_pages + 1) * sizeof *lending->idle);
  if (lending->needs != NULL && lending->idle != NULL)
    return TESSERA_OK;
  tessera_lending_clear (lending);
  return TESSERA_NO_MEMORY;
}

void
tessera_lending_clear (TesseraLending *lending)
{
  free (lending->needs);
  free (lending->idle);
  *lending = (TesseraLending){ 0 };
}

static uint64_t
held (const TesseraLending *lending)
{
  return lending->pages->held_bytes +
         tessera_caching_stats (lending->beside)->reserved_bytes;
}

static int
latest_first (const void *a, const void *b)
{
  const uint64_t *x = a;
  const uint64_t *y = b;

  return (*x < *y) - (*x > *y);
}

static int
lowest_first (const void *a, const void *b)
{
  uint32_t x = page_of (*(const uint64_t *) a);
  uint32_t y = page_of (*(const uint64_t *) b);

  return (x > y) - (x < y);
}

/* Pages that have no memory yet. Returns: how many are listed. */
static uint32_t
list_promised (TesseraLending *lending, uint32_t n_idle)
{
  for (uint32_t page = 0; lending->pages->promised_bytes > 0 && page < lending->n_pages;
       page++)
    if (tessera_pages_is_promised (lending->pages, page))
      lending->idle[n_idle++] = key_of (lending->needs[page], page);
  return n_idle;
}

/* Idle pages, but for those that reach into the range: the one needed latest first.
 * Returns: how many. */
static uint32_t
list_idle (TesseraLending *lending,
           uint64_t begin_bytes,
           uint64_t end_bytes,
           bool with_promised)
{
  const TesseraPages *pages = lending->pages;
  uint64_t page_bytes = pages->page_bytes;
  uint64_t first_bytes, last_bytes = 0;
  uint32_t n_idle = 0;

  lending->forecast.forecast (lending->forecast.user, page_bytes, lending->n_pages,
                              lending->needs);
  while (tessera_pages_next_unneeded (pages, lending->guard, last_bytes, &first_bytes,
                                      &last_bytes))
    for (uint64_t at = first_bytes; at < last_bytes; at += page_bytes)
      {
        uint32_t page = (uint32_t) (at / page_bytes);

        if (at + page_bytes <= begin_bytes || at >= end_bytes)
          lending->idle[n_idle++] = key_of (lending->needs[page], page);
      }
  if (with_promised)
    n_idle = list_promised (lending, n_idle);
  if (n_idle > 0)
    qsort (lending->idle, n_idle, sizeof *lending->idle, latest_first);
  return n_idle;
}

/* Pages in ascending order. A promise costs nothing to break. */
static void
lend (TesseraLending *lending, const uint64_t *keys, uint32_t n)
{
  TesseraPages *pages = lending->pages;

  for (uint32_t i = 0, end; i < n; i = end)
    {
      uint32_t page = page_of (keys[i]);
      bool is_promised = tessera_pages_is_promised (pages, page);

      for (end = i + 1;
           end < n && page_of (keys[end]) == page + (end - i) &&
           tessera_pages_is_promised (pages, page_of (keys[end])) == is_promised;)
        end++;
      if (is_promised)
        tessera_pages_break_promise (pages, page, page + (uint64_t) (end - i));
      else if (!tessera_pages_lend (pages, lending->guard, page * pages->page_bytes,
                                    (page + (uint64_t) (end - i)) * pages->page_bytes))
        return;
    }
}

static uint64_t
claimed (const TesseraPages *pages)
{
  return pages->held_bytes + pages->promised_bytes;
}

/* The sooner one wait follows another, the more pages go with each. */
static uint64_t
hurried_pages (const TesseraLending *lending)
{
  return lending->hurry > 0
             ? ((uint64_t) lending->n_pages << lending->hurry) / HURRY_SHARE
             : 0;
}

/* Gives back as many bytes, if there are, and more that are needed late. Returns: bytes
 * given back. */
static uint64_t
give_back_idle (TesseraLending *lending,
                uint64_t n_bytes,
                uint64_t begin_bytes,
                uint64_t end_bytes,
                bool with_promised)
{
  uint64_t claimed_bytes = claimed (lending->pages);
  uint64_t page_bytes = lending->pages->page_bytes;
  uint64_t least = n_bytes / page_bytes + (n_bytes % page_bytes != 0);
  uint64_t most = least + lending->n_pages / MORE_SHARE;
  uint64_t hurried = least + hurried_pages (lending);
  uint32_t n_idle = list_idle (lending, begin_bytes, end_bytes, with_promised);
  uint32_t n = 0;

  while (n < n_idle &&
         (n < hurried || (n < most && lending->idle[n] >> 32 >= lending->far_requests)))
    n++;
  if (n > 0)
    qsort (lending->idle, n, sizeof *lending->idle, lowest_first);
  lend (lending, lending->idle, n);
  return claimed_bytes - claimed (lending->pages);
}

/* ... or all, once nobody needs them any more. */
static uint64_t
give_back (TesseraLending *lending,
           uint64_t n_bytes,
           uint64_t begin_bytes,
           uint64_t end_bytes,
           bool with_promised)
{
  return lending->is_over
             ? tessera_pages_trim (lending->pages, lending->guard)
             : give_back_idle (lending, n_bytes, begin_bytes, end_bytes, with_promised);
}

/* Whether the run has earned so many waits. */
static bool
can_wait (TesseraLending *lending, uint64_t n_waits)
{
  if (lending->n_spent < lending->n_requests)
    lending->n_spent = lending->n_requests;
  return !lending->is_off && lending->n_spent + n_waits * WAIT_REQUESTS <=
                                 lending->n_requests + KEPT_WAITS * WAIT_REQUESTS;
}

static void
count_waits (TesseraLending *lending, uint64_t n_waits)
{
  if (n_waits == 0)
    return;
  if (lending->n_requests - lending->last_wait > CALM_WAITS * WAIT_REQUESTS)
    lending->hurry = 0;
  else if (lending->n_requests - lending->last_wait < WAIT_REQUESTS &&
           lending->hurry < MOST_HURRY)
    lending->hurry++;
  lending->last_wait = lending->n_requests;
  lending->n_spent += n_waits * WAIT_REQUESTS;
}

/* What lies beside the pool and nobody uses, unless that is less than @least_bytes.
 * Returns: bytes given back. */
static uint64_t
flush (TesseraLending *lending, uint64_t least_bytes)
{
  const TesseraCachingStats *stats = tessera_caching_stats (lending->beside);
  uint64_t before_bytes = stats->reserved_bytes;

  if (lending->is_off || before_bytes - stats->active_bytes < least_bytes)
    return 0;
  tessera_caching_empty_cache (lending->beside);
  return before_bytes - stats->reserved_bytes;
}

/* Less beside the pool is not worth the price. */
static uint64_t
much_of (const TesseraLending *lending)
{
  uint64_t much_bytes = held (lending) / FLUSHED_SHARE;

  return much_bytes > lending->large_page_bytes ? much_bytes : lending->large_page_bytes;
}

/* Of the cache beside the pool: much of what is held, at a price; or a little, for which
 * half of the waits are never spent. */
static void
flush_worth (TesseraLending *lending)
{
  uint64_t much_bytes = much_of (lending);
  uint64_t returned_bytes = 0;

  if (can_wait (lending, FLUSH_WAITS))
    returned_bytes = flush (lending, much_bytes);
  count_waits (lending, returned_bytes > 0 ? FLUSH_WAITS : 0);
  if (returned_bytes > 0 || much_bytes <= LITTLE_BYTES ||
      !can_wait (lending, KEPT_WAITS / 2 + LITTLE_WAITS))
    return;
  returned_bytes = flush (lending, LITTLE_BYTES);
  count_waits (lending, returned_bytes > 0 ? LITTLE_WAITS : 0);
}

/* What both may hold together without a thought of what is idle. */
static uint64_t
allowance (const TesseraLending *lending)
{
  uint64_t pool_bytes = lending->pages->n_bytes;

  return lending->most_bytes < pool_bytes && !tessera_judge_doubts (lending->judge)
             ? pool_bytes
             : lending->most_bytes;
}

/* So much more is about to be held; what lies in that range of the pool is not idle. */
static void
rise (TesseraLending *lending, uint64_t n_bytes, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t most_bytes = allowance (lending);
  uint64_t wanted_bytes = held (lending) + n_bytes;
  uint64_t returned_bytes;

  if (wanted_bytes > most_bytes && can_wait (lending, 1))
    {
      returned_bytes =
          give_back (lending, wanted_bytes - most_bytes, begin_bytes, end_bytes, false);
      count_waits (lending, returned_bytes > 0);
      wanted_bytes -= returned_bytes;
    }
  if (wanted_bytes > most_bytes)
    flush_worth (lending);
}

void
tessera_lending_see_held (TesseraLending *lending)
{
  uint64_t active_bytes = tessera_caching_stats (lending->beside)->active_bytes;

  if (active_bytes > lending->used_bytes)
    lending->used_bytes = active_bytes;
  if (held (lending) <= lending->most_bytes)
    return;
  lending->most_bytes = held (lending);
  lending->has_risen = true;
}

void
tessera_lending_step (TesseraLending *lending)
{
  uint64_t reserved_bytes = tessera_caching_stats (lending->beside)->reserved_bytes;

  if (lending->has_risen && lending->used_bytes + much_of (lending) <= reserved_bytes)
    {
      flush_worth (lending);
      lending->has_risen = false;
    }
  lending->used_bytes = 0;
}

uint64_t
tessera_lending_give_back (TesseraLending *lending, uint64_t n_bytes)
{
  return lending->is_off ? 0 : give_back (lending, n_bytes, 0, 0, true);
}

void
tessera_lending_end (TesseraLending *lending)
{
  tessera_lending_see_held (lending);
  lending->is_over = true;
}

void
tessera_lending_make_room (TesseraLending *lending, uint64_t n_bytes)
{
  if (n_bytes > 0 && (lending->refused_bytes == 0 || n_bytes < lending->refused_bytes))
    rise (lending, n_bytes, 0, 0);
}

void
tessera_lending_see_refused (TesseraLending *lending, uint64_t n_bytes)
{
  if (lending->refused_bytes == 0 || n_bytes < lending->refused_bytes)
    lending->refused_bytes = n_bytes;
}

/* Memory for the range, as far as the device has it and it is allowed. */
static bool
fetch (TesseraLending *lending, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPages *pages = lending->pages;
  uint64_t missing_bytes =
      tessera_pages_missing (pages, lending->guard, begin_bytes, end_bytes);

  return (lending->limit_bytes == 0 ||
          held (lending) + missing_bytes <= lending->limit_bytes) &&
         tessera_pages_bring_back (pages, lending->guard, begin_bytes, end_bytes);
}

void
tessera_lending_fulfil (TesseraLending *lending)
{
  const TesseraPages *pages = lending->pages;
  uint64_t page_bytes = pages->page_bytes;

  for (uint64_t first = 0, end; first < lending->n_pages; first = end + 1)
    {
      for (end = first; tessera_pages_is_promised (pages, end);)
        end++;
      if (end > first && !fetch (lending, first * page_bytes, end * page_bytes))
        break;
    }
  tessera_lending_see_held (lending);
}

bool
tessera_lending_bring_back (TesseraLending *lending,
                            uint64_t begin_bytes,
                            uint64_t end_bytes)
{
  const TesseraPages *pages = lending->pages;
  uint64_t missing_bytes;

  if (pages->held_bytes == pages->n_bytes ||
      !tessera_guard_is_free (lending->guard, begin_bytes, end_bytes))
    return false;
  missing_bytes = tessera_pages_missing (pages, lending->guard, begin_bytes, end_bytes);
  if (missing_bytes == 0)
    return false;
  rise (lending, missing_bytes, begin_bytes, end_bytes);
  if (tessera_refusal_stands (lending->refusal, missing_bytes, held (lending)))
    return false;
  if (fetch (lending, begin_bytes, end_bytes) ||
      (flush (lending, 1) > 0 && fetch (lending, begin_bytes, end_bytes)))
    {
      tessera_lending_see_held (lending);
      tessera_refusal_end (lending->refusal);
      return true;
    }
  missing_bytes = tessera_pages_missing (pages, lending->guard, begin_bytes, end_bytes);
  tessera_refusal_note (lending->refusal, missing_bytes, held (lending));
  return false;
}
