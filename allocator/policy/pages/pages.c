/*
 * The memory of a plan's pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pages/pages.h"

#include <inttypes.h>

/* What drivers have. */
#define GRAIN_BYTES ((uint64_t) 2 << 20)

static uint64_t
round_up (uint64_t bytes, uint64_t step_bytes)
{
  return (bytes / step_bytes + (bytes % step_bytes != 0)) * step_bytes;
}

static TesseraStatus
refuse (TesseraStatus status, uint64_t n_bytes, TesseraError *error)
{
  return tessera_fail (error, status,
                       "the device does not give the plan's pool of %" PRIu64 " bytes",
                       n_bytes);
}

uint64_t
tessera_pages_page_bytes (uint64_t n_bytes)
{
  return round_up (n_bytes / TESSERA_MOST_PAGES + 1, GRAIN_BYTES);
}

static void
init (TesseraPages *pages,
      uint64_t n_bytes,
      TesseraDevice *device,
      const TesseraObserver *observer)
{
  *pages = (TesseraPages){
    .device = device,
    .page_bytes = tessera_pages_page_bytes (n_bytes),
  };
  if (observer != NULL)
    pages->observer = *observer;
}

/* The pool's end counts as the end of a page. */
static uint64_t
bytes_of_page (const TesseraPages *pages, uint64_t page)
{
  uint64_t rest_bytes = pages->n_bytes - page * pages->page_bytes;

  return rest_bytes < pages->page_bytes ? rest_bytes : pages->page_bytes;
}

static void
promise_all (TesseraPages *pages)
{
  for (uint64_t page = 0; page < tessera_pages_count (pages); page++)
    pages->promised[page / 64] |= (uint64_t) 1 << page % 64;
  pages->promised_bytes = pages->n_bytes;
}

bool
tessera_pages_is_promised (const TesseraPages *pages, uint64_t page)
{
  return page < TESSERA_MOST_PAGES && (pages->promised[page / 64] >> page % 64 & 1) != 0;
}

void
tessera_pages_break_promise (TesseraPages *pages, uint64_t first, uint64_t end)
{
  for (uint64_t page = first; page < end && pages->promised_bytes > 0; page++)
    if (tessera_pages_is_promised (pages, page))
      {
        pages->promised[page / 64] &= ~((uint64_t) 1 << page % 64);
        pages->promised_bytes -= bytes_of_page (pages, page);
      }
}

TesseraStatus
tessera_pages_promise (TesseraPages *pages,
                       TesseraGuard *guard,
                       uint64_t n_bytes,
                       uint64_t limit_bytes,
                       TesseraDevice *device,
                       const TesseraObserver *observer,
                       TesseraError *error)
{
  TesseraStatus status;

  init (pages, n_bytes, device, observer);
  if (n_bytes == 0)
    return TESSERA_OK;
  if (limit_bytes != 0 && n_bytes > limit_bytes)
    return tessera_fail (error, TESSERA_OUT_OF_DEVICE,
                         "the plan's pool of %" PRIu64
                         " bytes is larger than the %" PRIu64
                         " bytes that this process may use",
                         n_bytes, limit_bytes);
  if (n_bytes > device->free_bytes (device))
    return refuse (TESSERA_OUT_OF_DEVICE, n_bytes, error);
  status = device->reserve (device, 0, pages->page_bytes, &pages->addr,
                            &pages->reservation_bytes);
  if (status != TESSERA_OK)
    return refuse (status, n_bytes, error);
  status = pages->reservation_bytes < n_bytes ? TESSERA_OUT_OF_DEVICE
                                              : tessera_guard_close (guard, 0, n_bytes);
  if (status != TESSERA_OK)
    {
      device->unreserve (device, pages->addr, pages->reservation_bytes);
      return refuse (status, n_bytes, error);
    }
  pages->n_bytes = pages->height_bytes = n_bytes;
  promise_all (pages);
  return TESSERA_OK;
}

TesseraStatus
tessera_pages_reserve (TesseraPages *pages,
                       uint64_t n_bytes,
                       TesseraDevice *device,
                       const TesseraObserver *observer,
                       TesseraError *error)
{
  init (pages, n_bytes, device, observer);
  if (device->reserve (device, 0, pages->page_bytes, &pages->addr,
                       &pages->reservation_bytes) != TESSERA_OK)
    return refuse (TESSERA_OUT_OF_DEVICE, n_bytes, error);
  pages->n_bytes =
      pages->reservation_bytes - pages->reservation_bytes % pages->page_bytes;
  return TESSERA_OK;
}

bool
tessera_pages_grow (TesseraPages *pages, uint64_t n_bytes, uint64_t limit_bytes)
{
  uint64_t held_bytes = pages->held_bytes, wanted_bytes;

  if (n_bytes <= held_bytes)
    return true;
  if (n_bytes > pages->n_bytes)
    return false;
  wanted_bytes = round_up (n_bytes, pages->page_bytes);
  if ((limit_bytes != 0 && wanted_bytes > limit_bytes) ||
      pages->device->map (pages->device, pages->addr + held_bytes,
                          wanted_bytes - held_bytes, 0) != TESSERA_OK)
    return false;
  pages->height_bytes = pages->held_bytes = wanted_bytes;
  if (pages->observer.segment_map != NULL)
    pages->observer.segment_map (pages->observer.user, pages->addr + held_bytes,
                                 wanted_bytes - held_bytes, 0, 0, false);
  return true;
}

static void
give_back (TesseraPages *pages, uint64_t begin_bytes, uint64_t end_bytes)
{
  uint64_t addr = pages->addr + begin_bytes;

  pages->held_bytes -= end_bytes - begin_bytes;
  if (pages->observer.segment_unmap != NULL)
    pages->observer.segment_unmap (pages->observer.user, addr, end_bytes - begin_bytes);
  pages->device->unmap (pages->device, addr, end_bytes - begin_bytes);
}

uint64_t
tessera_pages_shrink (TesseraPages *pages, uint64_t n_bytes)
{
  uint64_t held_bytes = pages->held_bytes;
  uint64_t kept_bytes = round_up (n_bytes, pages->page_bytes);

  if (kept_bytes >= held_bytes)
    return 0;
  give_back (pages, kept_bytes, held_bytes);
  pages->height_bytes = kept_bytes;
  return held_bytes - kept_bytes;
}

void
tessera_pages_close (TesseraPages *pages)
{
  tessera_pages_shrink (pages, 0);
  pages->device->unreserve (pages->device, pages->addr, pages->reservation_bytes);
  pages->n_bytes = 0;
}

bool
tessera_pages_next_unneeded (const TesseraPages *pages,
                             const TesseraGuard *guard,
                             uint64_t from_bytes,
                             uint64_t *out_begin_bytes,
                             uint64_t *out_end_bytes)
{
  if (!tessera_guard_next_unneeded (guard, from_bytes, pages->page_bytes, out_begin_bytes,
                                    out_end_bytes) ||
      *out_begin_bytes >= pages->height_bytes)
    return false;
  if (*out_end_bytes > pages->height_bytes)
    *out_end_bytes = pages->height_bytes;
  return true;
}

uint64_t
tessera_pages_trim (TesseraPages *pages, TesseraGuard *guard)
{
  uint64_t held_bytes = pages->held_bytes;
  uint64_t begin_bytes;
  uint64_t end_bytes = 0;

  if (pages->n_bytes == 0)
    return 0;
  while (
      tessera_pages_next_unneeded (pages, guard, end_bytes, &begin_bytes, &end_bytes) &&
      tessera_guard_close (guard, begin_bytes, end_bytes) == TESSERA_OK)
    give_back (pages, begin_bytes, end_bytes);
  if (pages->held_bytes == 0)
    {
      pages->device->unreserve (pages->device, pages->addr, pages->reservation_bytes);
      pages->n_bytes = 0;
    }
  return held_bytes - pages->held_bytes;
}

uint64_t
tessera_pages_unneeded (const TesseraPages *pages, const TesseraGuard *guard)
{
  uint64_t unneeded_bytes = 0;
  uint64_t begin_bytes;
  uint64_t end_bytes = 0;

  while (pages->held_bytes > 0 &&
         tessera_pages_next_unneeded (pages, guard, end_bytes, &begin_bytes, &end_bytes))
    unneeded_bytes += end_bytes - begin_bytes;
  return unneeded_bytes;
}

uint64_t
tessera_pages_count (const TesseraPages *pages)
{
  return round_up (pages->n_bytes, pages->page_bytes) / pages->page_bytes;
}

bool
tessera_pages_lend (TesseraPages *pages,
                    TesseraGuard *guard,
                    uint64_t begin_bytes,
                    uint64_t end_bytes)
{
  if (end_bytes > pages->n_bytes)
    end_bytes = pages->n_bytes;
  if (tessera_guard_close (guard, begin_bytes, end_bytes) != TESSERA_OK)
    return false;
  give_back (pages, begin_bytes, end_bytes);
  return true;
}

/* The next closed pages that reach into the range. */
static bool
next_closed (const TesseraPages *pages,
             const TesseraGuard *guard,
             uint64_t *from_bytes,
             uint64_t end_bytes,
             uint64_t *out_begin_bytes,
             uint64_t *out_end_bytes)
{
  uint64_t page_bytes = pages->page_bytes;
  uint64_t last_bytes = round_up (end_bytes, page_bytes);

  if (!tessera_guard_next_closed (guard, *from_bytes, out_begin_bytes, out_end_bytes) ||
      *out_begin_bytes >= end_bytes)
    return false;
  *out_begin_bytes = *out_begin_bytes / page_bytes * page_bytes;
  if (*out_end_bytes > last_bytes)
    *out_end_bytes = last_bytes;
  *from_bytes = *out_end_bytes;
  return true;
}

uint64_t
tessera_pages_missing (const TesseraPages *pages,
                       const TesseraGuard *guard,
                       uint64_t begin_bytes,
                       uint64_t end_bytes)
{
  uint64_t missing_bytes = 0;
  uint64_t first_bytes, last_bytes;

  while (next_closed (pages, guard, &begin_bytes, end_bytes, &first_bytes, &last_bytes))
    missing_bytes += last_bytes - first_bytes;
  return missing_bytes;
}

bool
tessera_pages_bring_back (TesseraPages *pages,
                          TesseraGuard *guard,
                          uint64_t begin_bytes,
                          uint64_t end_bytes)
{
  uint64_t first_bytes, last_bytes;

  while (next_closed (pages, guard, &begin_bytes, end_bytes, &first_bytes, &last_bytes))
    {
      uint64_t addr = pages->addr + first_bytes;
      uint64_t n_bytes = last_bytes - first_bytes;

      if (pages->device->map (pages->device, addr, n_bytes, 0) != TESSERA_OK)
        return false;
      if (tessera_guard_open (guard, first_bytes, last_bytes) != TESSERA_OK)
        {
          pages->device->unmap (pages->device, addr, n_bytes);
          return false;
        }
      pages->held_bytes += n_bytes;
      tessera_pages_break_promise (pages, first_bytes / pages->page_bytes,
                                   round_up (last_bytes, pages->page_bytes) /
                                       pages->page_bytes);
      if (pages->observer.segment_map != NULL)
        pages->observer.segment_map (pages->observer.user, addr, n_bytes, 0, 0, false);
    }
  return true;
}
