/*
 * Tests of what the guard says of pages: which of them nobody needs, what is closed, and
 * where a place is, against an array with an entry for each grain of the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "allocator/policy/guard/guard.h"

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
  TesseraGuard *guard;
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

/* The lowest run of @n grains that may all be had. Returns: GRAINS where there is none.
 */
static guint
find_place (const Books *books, guint n, guint pool, bool with_closed)
{
  guint run = 0;

  for (guint at = 0; at < GRAINS; at++)
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
  const TesseraGuardRequest request = { .size_bytes = n * GRAIN_BYTES,
                                        .block_bytes = n * GRAIN_BYTES,
                                        .pool = pools[pool] };
  uint64_t offset_bytes, end_bytes;

  g_assert_cmpint (tessera_guard_see_request (books->guard, &request), ==, TESSERA_OK);
  books->is_released[pool] = false;
  for (int with_closed = 0; with_closed < 2; with_closed++)
    {
      at = find_place (books, n, pool, with_closed);
      g_assert_cmpint (tessera_guard_find (books->guard, &request, with_closed,
                                           UINT32_MAX, &offset_bytes),
                       ==, at < GRAINS);
      if (at < GRAINS)
        g_assert_cmpuint (offset_bytes, ==, at * GRAIN_BYTES);
    }
  at = find_place (books, n, pool, false);
  if (at == GRAINS)
    return;
  g_assert_cmpint (
      tessera_guard_take (books->guard, at * GRAIN_BYTES, &request, &end_bytes), ==,
      TESSERA_GUARD_GRANTED);
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
  g_assert_cmpint (is_pending
                       ? tessera_guard_free_completed (books->guard, at * GRAIN_BYTES)
                       : tessera_guard_free_requested (books->guard, at * GRAIN_BYTES),
                   ==, TESSERA_OK);
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
            ? tessera_guard_next_unneeded (books->guard, from, PAGE_BYTES, &begin, &end)
            : tessera_guard_next_closed (books->guard, from, &begin, &end)))
    return;
  g_assert_cmpint (closes ? tessera_guard_close (books->guard, begin, end)
                          : tessera_guard_open (books->guard, begin, end),
                   ==, TESSERA_OK);
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
  guint first = from, begin_grain, end_grain, needed = GRAINS;
  uint64_t begin, end;
  bool has = find_unneeded (books, from, &begin_grain, &end_grain);

  g_assert_cmpint (tessera_guard_next_unneeded (books->guard, from * GRAIN_BYTES,
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
      tessera_guard_next_closed (books->guard, from * GRAIN_BYTES, &begin, &end), ==,
      first < GRAINS);
  if (first < GRAINS)
    {
      g_assert_cmpuint (begin, ==, first * GRAIN_BYTES);
      g_assert_cmpuint (end, >, begin);
      for (uint64_t at = first; at < end / GRAIN_BYTES; at++)
        g_assert_true (books->grains[at].is_closed);
    }
  while (needed > 0 && !is_needed (books, needed - 1))
    needed--;
  g_assert_cmpuint (tessera_guard_needed (books->guard), ==, needed * GRAIN_BYTES);
}

/* From grain to grain: what is told of a piece is what the books say of all its grains.
 */
typedef struct
{
  const Books *books;
  guint next; /* grain that is not told of yet */
} Told;

static void
see_piece (void *user, const TesseraBlockInfo *info)
{
  Told *told = user;
  const Grain *grains = told->books->grains;
  guint at = (guint) ((info->addr - POOL_ADDR) / GRAIN_BYTES);
  guint n = (guint) (info->block_bytes / GRAIN_BYTES);

  for (; told->next < at; told->next++)
    g_assert_true (grains[told->next].is_closed);
  g_assert_cmpuint (at, ==, told->next);
  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (at + n, <=, GRAINS);
  g_assert_cmpuint (info->segment_addr, ==, POOL_ADDR);
  g_assert_cmpuint (info->size_bytes, ==, grains[at].block ? n * GRAIN_BYTES : 0);
  for (; told->next < at + n; told->next++)
    {
      const Grain *grain = &grains[told->next];

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
check_each (const Books *books)
{
  Told told = { .books = books };

  tessera_guard_each (books->guard, POOL_ADDR, see_piece, &told);
  for (; told.next < GRAINS; told.next++)
    g_assert_true (books->grains[told.next].is_closed);
}

static void
test_random (void)
{
  Books books = { .rand = g_rand_new_with_seed (SEED) };
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_guard_new (HEIGHT_BYTES, &tessera_guard_laws, &books.guard),
                   ==, TESSERA_OK);
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
          tessera_guard_release_pool (books.guard, pools[pool]);
          books.is_released[pool] = true;
          break;
        default:
          give_back (&books);
        }
      check_pages (&books, pick (&books, GRAINS + 1));
      check_each (&books);
      g_assert_cmpint (tessera_guard_check (books.guard, &error), ==, TESSERA_OK);
    }
  g_test_message ("%u places found, %u ranges of pages returned", books.n_found,
                  books.n_returned);
  g_assert_cmpuint (books.n_found, >, 1000);
  g_assert_cmpuint (books.n_returned, >, 300);
  tessera_guard_free (books.guard);
  g_rand_free (books.rand);
}

/* How much is looked at can be bounded. */
static void
test_bounded (void)
{
  const TesseraGuardRequest request = { .size_bytes = GRAIN_BYTES,
                                        .block_bytes = GRAIN_BYTES };
  TesseraGuard *guard;
  uint64_t offset_bytes, end_bytes;

  g_assert_cmpint (tessera_guard_new (8 * GRAIN_BYTES, &tessera_guard_laws, &guard), ==,
                   TESSERA_OK);
  for (uint64_t at = 0; at < 3; at++)
    {
      g_assert_cmpint (tessera_guard_see_request (guard, &request), ==, TESSERA_OK);
      g_assert_cmpint (tessera_guard_take (guard, at * GRAIN_BYTES, &request, &end_bytes),
                       ==, TESSERA_GUARD_GRANTED);
    }
  g_assert_false (tessera_guard_find (guard, &request, false, 3, &offset_bytes));
  g_assert_true (tessera_guard_find (guard, &request, false, 4, &offset_bytes));
  g_assert_cmpuint (offset_bytes, ==, 3 * GRAIN_BYTES);
  tessera_guard_free (guard);
}

/* A pool that has no height yet has nothing to tell. */
static void
test_empty (void)
{
  TesseraError error = { 0 };
  TesseraGuard *guard;
  uint64_t begin, end;

  g_assert_cmpint (tessera_guard_new (0, &tessera_guard_laws, &guard), ==, TESSERA_OK);
  g_assert_cmpuint (tessera_guard_needed (guard), ==, 0);
  g_assert_false (tessera_guard_next_unneeded (guard, 0, PAGE_BYTES, &begin, &end));
  g_assert_false (tessera_guard_next_closed (guard, 0, &begin, &end));
  g_assert_true (tessera_guard_is_free (guard, 0, PAGE_BYTES));
  g_assert_cmpint (tessera_guard_check (guard, &error), ==, TESSERA_OK);
  tessera_guard_free (guard);
}

/* Whatever the number of the only stream, it is one. */
static void
test_one_stream (void)
{
  const TesseraGuardRequest first = { .size_bytes = GRAIN_BYTES,
                                      .block_bytes = GRAIN_BYTES,
                                      .stream = 3 };
  TesseraGuardRequest second = first;
  TesseraGuard *guard;

  second.stream = 0;
  g_assert_cmpint (tessera_guard_new (HEIGHT_BYTES, &tessera_guard_laws, &guard), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_guard_see_request (guard, &first), ==, TESSERA_OK);
  g_assert_false (tessera_guard_has_several (guard));
  g_assert_cmpint (tessera_guard_see_request (guard, &second), ==, TESSERA_OK);
  g_assert_true (tessera_guard_has_several (guard));
  tessera_guard_free (guard);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/guard/pages/random", test_random);
  g_test_add_func ("/guard/pages/bounded", test_bounded);
  g_test_add_func ("/guard/pages/empty", test_empty);
  g_test_add_func ("/guard/pages/one-stream", test_one_stream);
  return g_test_run ();
}
