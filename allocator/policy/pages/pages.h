/*
 * The memory of a plan's pool: pages of the device, mapped side by side.
 *
 * The addresses are taken at once, memory with the first block that is to lie in a page;
 * it stays while the plan is followed. So a run holds what it used of the pool, and what
 * it uses again costs no call of the driver. Until then a page's memory is *promised*:
 * the device must have it for the plan to be followed at all, and whoever else asks the
 * device has to leave it (allocator/policy/pages/beside.h). Else what misses would eat
 * the memory of a plan that fits. A promise is broken only for a request that would fail.
 *
 * A plan that is declined leaves blocks in the pool that may live as long as the run (its
 * weights, say): then the pages that nobody needs are given back one by one, which a
 * segment of one piece could not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy/guard/guard.h"

/* Of a pool that is promised: as many as are mapped in a moment. */
#define TESSERA_MOST_PAGES ((uint64_t) 4096)

typedef struct
{
  TesseraDevice *device; /* borrowed */
  TesseraObserver observer;
  uint64_t addr;
  uint64_t n_bytes; /* of addresses; 0: there is no pool, or no more */
  uint64_t reservation_bytes;
  uint64_t page_bytes;
  uint64_t height_bytes;                      /* that may have memory: the lowest */
  uint64_t held_bytes;                        /* that have it */
  uint64_t promised_bytes;                    /* that never had it, and are to get it */
  uint64_t promised[TESSERA_MOST_PAGES / 64]; /* these pages, one bit each */
} TesseraPages;

/* Of a pool of so many bytes. */
uint64_t tessera_pages_page_bytes (uint64_t n_bytes);

/* Addresses for a pool, with memory promised to all of it; the guard closes it until it
 * comes, with tessera_pages_bring_back(). TESSERA_OUT_OF_DEVICE where the device has less
 * left, or @limit_bytes (0: none) forbids it. On failure nothing is held, and @error says
 * why. */
TESSERA_MUST_USE TesseraStatus tessera_pages_promise (TesseraPages *pages,
                                                      TesseraGuard *guard,
                                                      uint64_t n_bytes,
                                                      uint64_t limit_bytes,
                                                      TesseraDevice *device,
                                                      const TesseraObserver *observer,
                                                      TesseraError *error);
bool tessera_pages_is_promised (const TesseraPages *pages, uint64_t page);
/* Nobody keeps memory for these pages any more, so far as it was promised. */
void tessera_pages_break_promise (TesseraPages *pages, uint64_t first, uint64_t end);
/* Only addresses, of all the device: in pages for @n_bytes, but the pool may outgrow
 * that. Memory comes with tessera_pages_grow(). */
TESSERA_MUST_USE TesseraStatus tessera_pages_reserve (TesseraPages *pages,
                                                      uint64_t n_bytes,
                                                      TesseraDevice *device,
                                                      const TesseraObserver *observer,
                                                      TesseraError *error);
/* Of such a pool: memory up to there, in whole pages, unless it has that. Returns: false:
 * the device has none, or @limit_bytes (0: none) forbids it. */
bool tessera_pages_grow (TesseraPages *pages, uint64_t n_bytes, uint64_t limit_bytes);
/* The addresses go back, with all memory there. Waits for the device. */
void tessera_pages_close (TesseraPages *pages);
/* Keeps the pages up to there. Waits for the device. Returns: bytes given back. */
uint64_t tessera_pages_shrink (TesseraPages *pages, uint64_t n_bytes);
/* Gives back what @guard says nobody needs, and the addresses once no memory is left.
 * What it gives is closed at the guard. Waits for the device. Returns: bytes given back.
 */
uint64_t tessera_pages_trim (TesseraPages *pages, TesseraGuard *guard);
/* What tessera_pages_trim() would give back now. */
uint64_t tessera_pages_unneeded (const TesseraPages *pages, const TesseraGuard *guard);

/* Of a pool that is followed, which tessera_pages_promise() made; its end counts as the
 * end of a page. */
uint64_t tessera_pages_count (const TesseraPages *pages);
/* The lowest stretch of whole pages at or behind @from_bytes that have memory and that
 * nobody needs. Returns: whether there is one. */
bool tessera_pages_next_unneeded (const TesseraPages *pages,
                                  const TesseraGuard *guard,
                                  uint64_t from_bytes,
                                  uint64_t *out_begin_bytes,
                                  uint64_t *out_end_bytes);
/* Gives back such pages, or some of them; closed at the guard. Waits for the device.
 * Returns: false: there is no host memory for it. */
bool tessera_pages_lend (TesseraPages *pages,
                         TesseraGuard *guard,
                         uint64_t begin_bytes,
                         uint64_t end_bytes);
/* How many bytes the pages have that reach into the range and are closed. */
uint64_t tessera_pages_missing (const TesseraPages *pages,
                                const TesseraGuard *guard,
                                uint64_t begin_bytes,
                                uint64_t end_bytes);
/* Memory for these pages; the guard opens them. Returns: false: not for all of them. */
bool tessera_pages_bring_back (TesseraPages *pages,
                               TesseraGuard *guard,
                               uint64_t begin_bytes,
                               uint64_t end_bytes);
