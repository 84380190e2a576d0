/*
 * The books: see books.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/books.h"

#include "allocator/caching.h"

#define FIRST_ADDR ((uint64_t) 1 << 40)
#define GRAIN_BYTES ((uint64_t) 512)
#define GRAINS_A_PAGE (BOOKS_PAGE_BYTES / GRAIN_BYTES)
#define MOST_PAGES 65536 /* of addresses: then reserving fails */
#define SMALL_BYTES ((uint64_t) 1 << 20)

static size_t
page_of (uint64_t addr)
{
  return (size_t) ((addr - FIRST_ADDR) / BOOKS_PAGE_BYTES);
}

static guint **
page_at (const Books *books, size_t page)
{
  g_assert_cmpuint (page, <, books->pages->len);
  return &g_array_index (books->pages, guint *, page);
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
    if (*page_at (books, i) != NULL)
      {
        g_assert_true (books->has_lost);
        books->n_failed++;
        return TESSERA_IO;
      }
  for (size_t i = page_of (addr); i < page_of (addr + whole_bytes); i++)
    *page_at (books, i) = g_new0 (guint, GRAINS_A_PAGE);
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
      guint **page = page_at (books, i);

      g_assert_nonnull (*page);
      for (size_t g = 0; g < GRAINS_A_PAGE; g++)
        if ((*page)[g] != 0)
          g_assert_cmpint (books_block (books, (*page)[g] - 1)->state, ==, BOOKS_DONE);
      g_clear_pointer (page, g_free);
    }
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
      g_assert_true (*page_at (books, i) == NULL || books->has_lost);
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
    .pages = g_array_new (FALSE, TRUE, sizeof (guint *)),
    .reservations = g_array_new (FALSE, TRUE, sizeof (uint64_t)),
    .blocks = g_array_new (FALSE, FALSE, sizeof (BooksBlock)),
    .requests = g_array_new (FALSE, FALSE, sizeof (BooksBlock)),
  };
}

void
books_clear (Books *books)
{
  for (guint i = 0; i < books->pages->len; i++)
    g_free (g_array_index (books->pages, guint *, i));
  g_array_unref (books->pages);
  g_array_unref (books->reservations);
  g_array_unref (books->blocks);
  g_array_unref (books->requests);
}

void
books_request (Books *books, uint64_t size_bytes, uint32_t stream, uint32_t pool)
{
  const BooksBlock request = { .size_bytes = size_bytes, .stream = stream, .pool = pool };

  if (books->requests->len > 0)
    books->has_several |= g_array_index (books->requests, BooksBlock, 0).stream != stream;
  g_array_append_val (books->requests, request);
}

void
books_stream (Books *books)
{
  books->has_several = TRUE;
}

static uint64_t
torch_bytes (const BooksBlock *block)
{
  return round_up (block->size_bytes, GRAIN_BYTES);
}

static gboolean
is_small (const BooksBlock *block)
{
  return block->size_bytes <= SMALL_BYTES;
}

/* Is a stream that asks for @request behind all uses of @last? */
static gboolean
is_ordered (const Books *books, const BooksBlock *last, const BooksBlock *request)
{
  if (last->stream != request->stream || last->pool != request->pool)
    return FALSE;
  if (!books->has_several || is_small (last) == is_small (request))
    return TRUE;
  for (guint i = last->done_at; i < books->requests->len; i++)
    {
      const BooksBlock *since = &g_array_index (books->requests, BooksBlock, i);

      if (since->stream == last->stream && since->pool == last->pool &&
          is_small (since) == is_small (last) &&
          torch_bytes (since) <= torch_bytes (last))
        return TRUE;
    }
  return FALSE;
}

/* Who had the bytes last, block + 1; NULL: no memory is there. */
static guint *
grain_at (const Books *books, uint64_t addr)
{
  size_t page = page_of (addr);

  if (addr < FIRST_ADDR || page >= books->pages->len || *page_at (books, page) == NULL)
    return NULL;
  return &(*page_at (books, page))[(addr - FIRST_ADDR) % BOOKS_PAGE_BYTES / GRAIN_BYTES];
}

BooksVerdict
books_ask (const Books *books, uint64_t addr, uint64_t block_bytes)
{
  const BooksBlock *request =
      &g_array_index (books->requests, BooksBlock, books->requests->len - 1);
  BooksVerdict verdict = BOOKS_GRANT;
  guint seen = 0;

  for (uint64_t at = addr; at < addr + block_bytes; at += GRAIN_BYTES)
    {
      const guint *last = grain_at (books, at);

      if (last == NULL)
        return BOOKS_NOWHERE;
      if (*last == 0 || *last == seen)
        continue;
      seen = *last;
      if (books_block (books, seen - 1)->state != BOOKS_DONE)
        return BOOKS_TAKEN;
      if (!is_ordered (books, books_block (books, seen - 1), request))
        verdict = BOOKS_UNORDERED;
    }
  return verdict;
}

guint
books_grant (Books *books, uint64_t addr, uint64_t block_bytes)
{
  guint block = books->blocks->len;
  BooksBlock granted =
      g_array_index (books->requests, BooksBlock, books->requests->len - 1);

  granted.addr = addr;
  granted.block_bytes = block_bytes;
  g_assert_cmpuint (addr % GRAIN_BYTES, ==, 0);
  g_assert_cmpuint (block_bytes, >=, granted.size_bytes);
  g_assert_cmpint (books_ask (books, addr, block_bytes), ==, BOOKS_GRANT);
  for (uint64_t at = addr; at < addr + block_bytes; at += GRAIN_BYTES)
    *grain_at (books, at) = block + 1;
  g_array_append_val (books->blocks, granted);
  return block;
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
  books_block (books, block)->done_at = books->requests->len;
}
