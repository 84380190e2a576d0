/*
 * Tests of what the map says of pages: which of them nobody needs, what is closed, and
 * where a place is, against an array with an entry for each grain of the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "allocator/follow/occupancy.h"
#include "tests/ok.h"
#include "tests/allocator/auto.h"

enum
{
  GRAINS = 61, /* the last page is none */
  GRAINS_OF_PAGE = 4,
  N_POOLS = 3
};

#define SEED 20261122
#define GRAIN_BYTES ((uint64_t) 512)
#define HEIGHT_BYTES (GRAINS * GRAIN_BYTES)
#define POOL_ADDR ((uint64_t) 1 << 40)
#define PAGE_BYTES (GRAINS_OF_PAGE * GRAIN_BYTES)

/* The common pool, a private one, and the last that there may be. */
static const uint32_t pools[N_POOLS] = { 0, 7, UINT16_MAX };

typedef struct
{
  guint block; /* that lies there, 0: none */
  bool is_pending, is_closed, is_used;
  guint pool; /* of the last user, index into pools */
} Grain;

typedef struct
{
  TesseraOccupancy *map;
  GRand *rand;
  Grain grains[GRAINS];
  bool is_released[N_POOLS];
  guint n_blocks;
  guint n_found, n_returned; /* places, ranges of pages */
} Books;

static guint
pick (Books *books, guint below)
{
  return (guint) g_rand_int_range (books->rand, 0, (gint32) below);
}

static bool
is_needed (const Books *books, guint at)
{
  const Grain *grain = &books->grains[at];

  return grain->block != 0 || grain->is_closed ||
         (grain->is_used && grain->pool != 0 && !books->is_released[grain->pool]);
}

/* The lowest run of @n grains between @from and @end that may all be had. Returns: GRAINS
 * where there is none. */
static guint
find_place (
    const Books *books, guint from, guint end, guint n, guint pool, bool with_closed)
{
  guint run = 0;

  for (guint at = from; at < end; at++)
    {
      const Grain *grain = &books->grains[at];
      bool may_have = grain->is_closed
                          ? with_closed
                          : grain->block == 0 && (!grain->is_used || grain->pool == pool);

      run = may_have ? run + 1 : 0;
      if (run == n)
        return at + 1 - n;
    }
  return GRAINS;
}

static void
ask (Books *books)
{
  guint n = 1 + pick (books, 9), pool = pick (books, N_POOLS), at;
  const TesseraOccupancyRequest request = { .size_bytes = n * GRAIN_BYTES,
                                            .block_bytes = n * GRAIN_BYTES,
                                            .pool = pools[pool] };
  uint64_t offset_bytes, end_bytes;

  OK (tessera_occupancy_see_request (books->map, &request));
  books->is_released[pool] = false;
  for (int k = 0; k < 4; k++)
    {
      bool with_closed = k % 2 != 0;
      guint from = k < 2 ? 0 : pick (books, GRAINS);
      guint end = k < 2 ? GRAINS : from + pick (books, GRAINS - from + 1);
      const TesseraOccupancySearch search = { from * GRAIN_BYTES, end * GRAIN_BYTES,
                                              UINT32_MAX, with_closed };

      at = find_place (books, from, end, n, pool, with_closed);
      g_assert_cmpint (
          tessera_occupancy_find (books->map, &request, &search, &offset_bytes), ==,
          at < GRAINS);
      if (at < GRAINS)
        g_assert_cmpuint (offset_bytes, ==, at * GRAIN_BYTES);
    }
  at = find_place (books, 0, GRAINS, n, pool, false);
  if (at == GRAINS)
    return;
  g_assert_cmpint (
      tessera_occupancy_take (books->map, at * GRAIN_BYTES, &request, &end_bytes), ==,
      TESSERA_OCCUPANCY_GRANTED);
  books->n_found++;
  books->n_blocks++;
  for (guint i = at; i < at + n; i++)
    books->grains[i] = (Grain){ .block = books->n_blocks, .is_used = true, .pool = pool };
}

static void
give_back (Books *books)
{
  guint at = pick (books, GRAINS), block = books->grains[at].block;
  bool is_pending = books->grains[at].is_pending;

  while (block != 0 && at > 0 && books->grains[at - 1].block == block)
    at--;
  if (block == 0)
    return;
  OK (is_pending ? tessera_occupancy_free_completed (books->map, at * GRAIN_BYTES)
                 : tessera_occupancy_free_requested (books->map, at * GRAIN_BYTES));
  for (; at < GRAINS && books->grains[at].block == block; at++)
    {
      books->grains[at].is_pending = !is_pending;
      books->grains[at].block = is_pending ? 0 : block;
    }
}

/* Pages that nobody needs go back, or some that went come back, used by nobody. */
static void
close_or_open (Books *books)
{
  uint64_t begin, end;
  uint64_t from = pick (books, GRAINS) * GRAIN_BYTES;
  bool closes = g_rand_boolean (books->rand);

  if (!(closes
            ? tessera_occupancy_next_unneeded (books->map, from, PAGE_BYTES, &begin, &end)
            : tessera_occupancy_next_closed (books->map, from, &begin, &end)))
    return;
  OK (tessera_occupancy_set_closed (books->map, begin, end, closes));
  books->n_returned += closes;
  for (uint64_t at = begin / GRAIN_BYTES; at < end / GRAIN_BYTES; at++)
    books->grains[at] = (Grain){ .is_closed = closes };
}

/* The first run of needless grains from @from on that has whole pages. */
static bool
find_unneeded (const Books *books, guint from, guint *out_begin, guint *out_end)
{
  for (guint at = from, end; at < GRAINS; at = end + 1)
    {
      for (end = at; end < GRAINS && !is_needed (books, end);)
        end++;
      *out_begin = (at + GRAINS_OF_PAGE - 1) / GRAINS_OF_PAGE * GRAINS_OF_PAGE;
      *out_end = end < GRAINS ? end / GRAINS_OF_PAGE * GRAINS_OF_PAGE : end;
      if (*out_begin < *out_end)
        return true;
    }
  return false;
}

static void
check_pages (const Books *books, guint from)
{
  guint first = from, begin_grain, end_grain;
  uint64_t begin, end;
  bool has = find_unneeded (books, from, &begin_grain, &end_grain);

  g_assert_cmpint (tessera_occupancy_next_unneeded (books->map, from * GRAIN_BYTES,
                                                    PAGE_BYTES, &begin, &end),
                   ==, has);
  if (has)
    {
      g_assert_cmpuint (begin, ==, begin_grain * GRAIN_BYTES);
      g_assert_cmpuint (end, ==, end_grain * GRAIN_BYTES);
    }
  while (first < GRAINS && !books->grains[first].is_closed)
    first++;
  g_assert_cmpint (
      tessera_occupancy_next_closed (books->map, from * GRAIN_BYTES, &begin, &end), ==,
      first < GRAINS);
  if (first < GRAINS)
    {
      g_assert_cmpuint (begin, ==, first * GRAIN_BYTES);
      g_assert_cmpuint (end, >, begin);
      for (uint64_t at = first; at < end / GRAIN_BYTES; at++)
        g_assert_true (books->grains[at].is_closed);
    }
  first = from;
  while (first < GRAINS && books->grains[first].block == 0)
    first++;
  if (first > from)
    g_assert_true (
        tessera_occupancy_is_free (books->map, from * GRAIN_BYTES, first * GRAIN_BYTES));
  g_assert_cmpint (tessera_occupancy_is_free (books->map, from * GRAIN_BYTES,
                                              (first + 1) * GRAIN_BYTES),
                   ==, first == GRAINS);
}

/* From grain to grain: what is told of a piece is what the books say of all its grains.
 */
typedef struct
{
  const Books *books;
  guint next; /* grain that is not told of yet */
} Reported;

static void
see_piece (void *user, const TesseraBlockInfo *info)
{
  Reported *reported = user;
  const Grain *grains = reported->books->grains;
  guint at = (guint) ((info->addr - POOL_ADDR) / GRAIN_BYTES);
  guint n = (guint) (info->block_bytes / GRAIN_BYTES);

  for (; reported->next < at; reported->next++)
    g_assert_true (grains[reported->next].is_closed);
  g_assert_cmpuint (at, ==, reported->next);
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (at + n, <=, GRAINS);
  g_assert_cmpuint (info->segment_addr, ==, POOL_ADDR);
  g_assert_cmpuint (info->size_bytes, ==, grains[at].block ? n * GRAIN_BYTES : 0);
  for (; reported->next < at + n; reported->next++)
    {
      const Grain *grain = &grains[reported->next];

      g_assert_false (grain->is_closed);
      g_assert_cmpuint (grain->block, ==, grains[at].block);
      g_assert_cmpint (info->state, ==,
                       grain->block == 0   ? TESSERA_BLOCK_FREE
                       : grain->is_pending ? TESSERA_BLOCK_PENDING
                                           : TESSERA_BLOCK_LIVE);
      if (grain->block != 0)
        g_assert_cmpuint (info->pool, ==, pools[grain->pool]);
    }
}

static void
test_random (void)
{
  Books books = { .rand = g_rand_new_with_seed (SEED) };

  OK (tessera_occupancy_new (HEIGHT_BYTES, &tessera_occupancy_laws, &books.map));
  for (int step = 0; step < 30000; step++)
    {
      guint pool = pick (&books, N_POOLS);

      switch (pick (&books, step / 1000 % 2 == 0 ? 8 : 16))
        {
        case 0:
        case 1:
          ask (&books);
          break;
        case 2:
          close_or_open (&books);
          break;
        case 3:
          tessera_occupancy_release_pool (books.map, pools[pool]);
          books.is_released[pool] = true;
          break;
        default:
          give_back (&books);
        }
      check_pages (&books, pick (&books, GRAINS + 1));
      Reported reported = { .books = &books };
      tessera_occupancy_each (books.map, POOL_ADDR, see_piece, &reported);
      for (; reported.next < GRAINS; reported.next++)
        g_assert_true (books.grains[reported.next].is_closed);
      WORKS (error, tessera_occupancy_check (books.map, &error));
    }
  g_test_message ("%u places found, %u ranges of pages returned", books.n_found,
                  books.n_returned);
  g_assert_cmpuint (books.n_found, >, 1000);
  g_assert_cmpuint (books.n_returned, >, 300);
  tessera_occupancy_free (books.map);
  g_rand_free (books.rand);
}

/* How much is looked at can be bounded. */
static void
test_bounded (void)
{
  const TesseraOccupancyRequest request = { .size_bytes = GRAIN_BYTES,
                                            .block_bytes = GRAIN_BYTES };
  const TesseraOccupancySearch few = { 0, UINT64_MAX, 3, false };
  const TesseraOccupancySearch enough = { 0, UINT64_MAX, 4, false };
  g_autoptr (TesseraOccupancy) map = NULL;
  uint64_t offset_bytes, end_bytes;

  OK (tessera_occupancy_new (8 * GRAIN_BYTES, &tessera_occupancy_laws, &map));
  for (uint64_t at = 0; at < 3; at++)
    {
      OK (tessera_occupancy_see_request (map, &request));
      g_assert_cmpint (
          tessera_occupancy_take (map, at * GRAIN_BYTES, &request, &end_bytes), ==,
          TESSERA_OCCUPANCY_GRANTED);
    }
  g_assert_false (tessera_occupancy_find (map, &request, &few, &offset_bytes));
  g_assert_true (tessera_occupancy_find (map, &request, &enough, &offset_bytes));
  g_assert_cmpuint (offset_bytes, ==, 3 * GRAIN_BYTES);
}

/* A pool that has no height yet has nothing to tell. */
static void
test_empty (void)
{
  g_autoptr (TesseraOccupancy) map = NULL;
  uint64_t begin, end;

  OK (tessera_occupancy_new (0, &tessera_occupancy_laws, &map));
  g_assert_false (tessera_occupancy_next_unneeded (map, 0, PAGE_BYTES, &begin, &end));
  g_assert_false (tessera_occupancy_next_closed (map, 0, &begin, &end));
  g_assert_true (tessera_occupancy_is_free (map, 0, PAGE_BYTES));
  WORKS (error, tessera_occupancy_check (map, &error));
}

/* Whatever the number of the only stream, it is one. */
static void
test_one_stream (void)
{
  const TesseraOccupancyRequest first = { .size_bytes = GRAIN_BYTES,
                                          .block_bytes = GRAIN_BYTES,
                                          .stream = 3 };
  TesseraOccupancyRequest second = first;
  g_autoptr (TesseraOccupancy) map = NULL;

  second.stream = 0;
  OK (tessera_occupancy_new (HEIGHT_BYTES, &tessera_occupancy_laws, &map));
  OK (tessera_occupancy_see_request (map, &first));
  g_assert_false (tessera_occupancy_has_several (map));
  OK (tessera_occupancy_see_request (map, &second));
  g_assert_true (tessera_occupancy_has_several (map));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/occupancy/pages/random", test_random);
  g_test_add_func ("/occupancy/pages/bounded", test_bounded);
  g_test_add_func ("/occupancy/pages/empty", test_empty);
  g_test_add_func ("/occupancy/pages/one-stream", test_one_stream);
  return g_test_run ();
}
