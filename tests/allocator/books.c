/*
 * The books: see books.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/books.h"

#include "allocator/caching.h"

#define FIRST_ADDR ((uint64_t) 1 << 40)
#define MOST_PAGES 65536 /* of addresses: then reserving fails */

static size_t
page_of (uint64_t addr)
{
  return (size_t) ((addr - FIRST_ADDR) / BOOKS_PAGE_BYTES);
}

/* Whether memory is there. */
static bool *
page_at (const Books *books, size_t page)
{
  g_assert_cmpuint (page, <, books->pages->len);
  return &g_array_index (books->pages, bool, page);
}

static uint64_t
round_up (uint64_t n_bytes, uint64_t step)
{
  return (n_bytes + step - 1) / step * step;
}

/* Addresses without memory. @mapped_bytes: of the pages that will be mapped there; 0:
 * none. Returns: 0: there are no more. */
static uint64_t
take_addresses (Books *books, uint64_t n_bytes, uint64_t mapped_bytes)
{
  size_t first = books->pages->len;
  size_t n = (size_t) (round_up (n_bytes, BOOKS_PAGE_BYTES) / BOOKS_PAGE_BYTES);

  if (n > MOST_PAGES - first)
    return 0;
  g_array_set_size (books->pages, (guint) (first + n)); /* cleared */
  g_array_set_size (books->reservations, (guint) (first + n));
  for (size_t i = first; i < first + n; i++)
    g_array_index (books->reservations, uint64_t, i) = mapped_bytes;
  return FIRST_ADDR + first * BOOKS_PAGE_BYTES;
}

static TesseraStatus
fails (Books *books)
{
  if (books->n_to_fail == 0)
    return TESSERA_OK;
  if (books->fails_after > 0)
    {
      books->fails_after--;
      return TESSERA_OK;
    }
  books->n_to_fail--;
  books->n_failed++;
  return books->fails_with;
}

static TesseraStatus
add_memory (Books *books, uint64_t addr, uint64_t n_bytes)
{
  TesseraStatus status = fails (books);
  uint64_t whole_bytes = round_up (n_bytes, BOOKS_PAGE_BYTES);

  if (status == TESSERA_OK && n_bytes > books->device_bytes - books->used_bytes)
    status = TESSERA_OUT_OF_DEVICE;
  if (status != TESSERA_OK)
    return status;
  for (size_t i = page_of (addr); i < page_of (addr + whole_bytes); i++)
    if (*page_at (books, i))
      {
        g_assert_true (books->has_lost);
        books->n_failed++;
        return TESSERA_IO;
      }
  for (size_t i = page_of (addr); i < page_of (addr + whole_bytes); i++)
    *page_at (books, i) = true;
  books->used_bytes += n_bytes;
  books->peak_used_bytes = MAX (books->peak_used_bytes, books->used_bytes);
  return TESSERA_OK;
}

static void
take_memory (Books *books, uint64_t addr, uint64_t n_bytes)
{
  uint64_t whole_bytes = round_up (n_bytes, BOOKS_PAGE_BYTES);

  for (size_t i = page_of (addr); i < page_of (addr + whole_bytes); i++)
    {
      g_assert_true (*page_at (books, i));
      *page_at (books, i) = false;
    }
  g_assert_true (witness_unmap (books->witness, addr, whole_bytes));
  books->used_bytes -= n_bytes;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  Books *books = (Books *) device;
  uint64_t addr = take_addresses (books, size_bytes, 0);
  TesseraStatus status =
      addr != 0 ? add_memory (books, addr, size_bytes) : TESSERA_OUT_OF_DEVICE;

  *out_addr = status == TESSERA_OK ? addr : 0;
  return status;
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  take_memory ((Books *) device, addr, size_bytes);
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  Books *books = (Books *) device;
  uint64_t size_bytes = tessera_reservation_size (books->device_bytes, page_bytes);
  TesseraStatus status = fails (books);

  *out_addr = *out_size_bytes = 0;
  g_assert_cmpuint (page_bytes % BOOKS_PAGE_BYTES, ==, 0);
  if (status != TESSERA_OK)
    return status;
  *out_addr = take_addresses (books, size_bytes, page_bytes);
  *out_size_bytes = *out_addr != 0 ? size_bytes : 0;
  books->n_reserved += *out_addr != 0;
  return *out_addr != 0 ? TESSERA_OK : TESSERA_OUT_OF_DEVICE;
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  Books *books = (Books *) device;

  books->n_reserved--;
  for (size_t i = page_of (addr); i < page_of (addr + size_bytes); i++)
    {
      g_assert_true (!*page_at (books, i) || books->has_lost);
      g_array_index (books->reservations, uint64_t, i) = 0;
    }
}

/* Of the last page only the beginning may be named, and is made. */
static uint64_t
whole_pages (const Books *books, uint64_t addr, uint64_t size_bytes)
{
  uint64_t page_bytes = g_array_index (books->reservations, uint64_t, page_of (addr));

  g_assert_cmpuint (page_bytes, >, 0);
  g_assert_cmpuint ((addr - FIRST_ADDR) % BOOKS_PAGE_BYTES, ==, 0);
  return round_up (size_bytes, BOOKS_PAGE_BYTES);
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  Books *books = (Books *) device;

  return add_memory (books, addr, whole_pages (books, addr, size_bytes));
}

static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  Books *books = (Books *) device;

  if (books->n_lost_to_come == 0)
    {
      take_memory (books, addr, whole_pages (books, addr, size_bytes));
      return;
    }
  books->n_lost_to_come--;
  books->has_lost = TRUE;
}

static void
synchronize (TesseraDevice *device)
{
  Books *books = (Books *) device;

  books->synchronize (books->user);
}

static uint64_t
free_bytes (TesseraDevice *device)
{
  const Books *books = (const Books *) device;

  return books->device_bytes - books->used_bytes;
}

/* Each look at the clock finds it 100 us later, so that time runs out for lending, too. */
static uint64_t
now_ns (TesseraDevice *device)
{
  return ((Books *) device)->now_ns += 100000;
}

void
books_init (Books *books, uint64_t device_bytes)
{
  *books = (Books){
    .device = { allocate, release, reserve, unreserve, map, unmap, synchronize,
                free_bytes, now_ns },
    .device_bytes = device_bytes,
    .witness = witness_new (NULL),
    .pages = g_array_new (FALSE, TRUE, sizeof (bool)),
    .reservations = g_array_new (FALSE, TRUE, sizeof (uint64_t)),
    .blocks = g_array_new (FALSE, FALSE, sizeof (BooksBlock)),
  };
}

void
books_clear (Books *books)
{
  witness_close (books->witness);
  g_array_unref (books->pages);
  g_array_unref (books->reservations);
  g_array_unref (books->blocks);
}

void
books_request (Books *books, uint64_t size_bytes, uint32_t stream, uint32_t pool)
{
  books->request = (WitnessRequest){ size_bytes, stream, pool };
  witness_request (books->witness, books->request);
}

void
books_stream (Books *books)
{
  witness_record_stream (books->witness, 0, UINT64_MAX);
}

BooksVerdict
books_ask (const Books *books, uint64_t addr, uint64_t block_bytes)
{
  if (addr < FIRST_ADDR)
    return BOOKS_NOWHERE;
  for (size_t i = page_of (addr); i <= page_of (addr + block_bytes - 1); i++)
    if (i >= books->pages->len || !*page_at (books, i))
      return BOOKS_NOWHERE;
  WitnessFindings found = witness_ask (books->witness, books->request, addr, block_bytes);

  return found.n_misaligned > 0                          ? BOOKS_NOWHERE
         : found.n_overlaps > 0                          ? BOOKS_TAKEN
         : found.n_other_stream + found.n_other_kind > 0 ? BOOKS_UNORDERED
                                                         : BOOKS_GRANT;
}

guint
books_grant (Books *books, uint64_t addr, uint64_t block_bytes)
{
  const BooksBlock granted = { .addr = addr, .size_bytes = books->request.size_bytes };

  g_assert_cmpuint (block_bytes, >=, granted.size_bytes);
  g_assert_cmpint (books_ask (books, addr, block_bytes), ==, BOOKS_GRANT);
  witness_hand_out (books->witness, books->request, addr, block_bytes);
  g_array_append_val (books->blocks, granted);
  return books->blocks->len - 1;
}

BooksBlock *
books_block (const Books *books, guint block)
{
  return &g_array_index (books->blocks, BooksBlock, block);
}

void
books_done (Books *books, guint block)
{
  books_block (books, block)->state = BOOKS_DONE;
  witness_give_back (books->witness, books_block (books, block)->addr);
}
