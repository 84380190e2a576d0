/*
 * Tests of other places for requests whose own place is not free: what is chosen by hand,
 * and on plans at random against a search that looks at every place and every slot.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/reuse.h"

#include <glib.h>

#define MIB ((uint64_t) 1 << 20)
#define SEED 20261121

enum
{
  N_EVENTS = 1000 /* of the step */
};

/* A slot by hand: sizes and offsets in MiB. Of those that wrap @died is where the next
 * step lets go of it. */
typedef struct
{
  uint32_t size, offset, born, died;
  bool wraps;
} Made;

typedef struct
{
  TesseraPlan plan;
  TesseraSection section;
  TesseraSlots slots;
  TesseraTaken *taken;
  TesseraReuse reuse;
} Pool;

static void
clear_pool (Pool *pool)
{
  tessera_reuse_clear (&pool->reuse);
  tessera_taken_free (pool->taken);
  tessera_slots_clear (&pool->slots);
  g_free (pool->plan.slots);
}

static TesseraSlot
slot_of (const Made *made)
{
  return (TesseraSlot){ .size_bytes = made->size * MIB,
                        .block_bytes = made->size * MIB,
                        .offset_bytes = made->offset * MIB,
                        .born = made->born,
                        .died = made->wraps ? N_EVENTS : made->died,
                        .died_next = made->wraps ? made->died : 0,
                        .wraps = made->wraps,
                        .phase = TESSERA_NONE };
}

/* One step that repeats: the slots of @made in order of birth, and at each event at which
 * none is born a small request for a moment, at the end of the pool. */
static void
make_pool (Pool *pool, const Made *made, size_t n_made, uint32_t height)
{
  size_t k = 0;

  *pool = (Pool){ 0 };
  pool->plan = (TesseraPlan){ .alignment_bytes = 512,
                              .slots = g_new0 (TesseraSlot, N_EVENTS),
                              .n_slots = N_EVENTS,
                              .sections = &pool->section,
                              .n_sections = 1,
                              .n_positions = N_EVENTS,
                              .height_bytes = height * MIB + 512 };
  pool->section = (TesseraSection){ .end = N_EVENTS,
                                    .n_slots = N_EVENTS,
                                    .kind = TESSERA_SECTION_REPEATS };
  for (uint32_t i = 0; i < N_EVENTS; i++)
    {
      if (k < n_made && made[k].born == i)
        pool->plan.slots[i] = slot_of (&made[k++]);
      else
        pool->plan.slots[i] = (TesseraSlot){ .size_bytes = 512,
                                             .block_bytes = 512,
                                             .offset_bytes = height * MIB,
                                             .born = i,
                                             .died = i + 1,
                                             .phase = TESSERA_NONE };
    }
  g_assert_cmpuint (k, ==, n_made);
  g_assert_cmpint (tessera_slots_init (&pool->slots, &pool->plan), ==, TESSERA_OK);
  g_assert_cmpint (
      tessera_taken_new (pool->slots.offsets, pool->slots.n_offsets, &pool->taken), ==,
      TESSERA_OK);
  g_assert_cmpint (tessera_reuse_init (&pool->reuse, &pool->slots), ==, TESSERA_OK);
}

/* Something lies at the place of @slot. */
static void
block (Pool *pool, uint32_t slot)
{
  const TesseraFollowerHook hook = { 0 };
  uint64_t end_bytes;

  g_assert_true (tessera_taken_take (
      pool->taken, &hook, pool->slots.ranks[slot], pool->slots.end_ranks[slot],
      pool->plan.slots[slot].block_bytes, slot, &end_bytes));
}

/* Returns: the place that @slot gets instead of its own, in MiB; -1: none. */
static int
take_instead (Pool *pool, uint32_t slot)
{
  const TesseraFollowerHook hook = { 0 };
  uint64_t offset_bytes;

  if (!tessera_reuse_take (&pool->reuse, pool->taken, &hook, slot, 0, &offset_bytes))
    return -1;
  g_assert_cmpuint (offset_bytes % MIB, ==, 0);
  return (int) (offset_bytes / MIB);
}

#define MAKE_POOL(pool, height, ...)                                                     \
  make_pool ((pool), (const Made[]){ __VA_ARGS__ },                                      \
             sizeof ((const Made[]){ __VA_ARGS__ }) / sizeof (Made), (height))

/* However many requests come while it lives. */
static void
test_long (void)
{
  Pool pool;

  MAKE_POOL (&pool, 4, { 2, 0, 10, 800, false }, { 2, 2, 850, 900, false });
  block (&pool, 10);
  g_assert_cmpint (take_instead (&pool, 10), ==, 2);
  clear_pool (&pool);

  /* ... unless one of them needs the place. */
  MAKE_POOL (&pool, 4, { 2, 0, 10, 800, false }, { 1, 2, 799, 900, false });
  block (&pool, 10);
  g_assert_cmpint (take_instead (&pool, 10), ==, -1);
  clear_pool (&pool);
}

/* What was to live for a moment may live on: not where the next step begins. */
static void
test_latest (void)
{
  Pool pool;

  MAKE_POOL (&pool, 8, { 2, 2, 10, 20, false }, { 2, 6, 20, 30, false },
             { 2, 4, 500, 510, false }, { 2, 0, 900, 905, false });
  block (&pool, 900);
  g_assert_cmpint (take_instead (&pool, 900), ==, 4);
  /* The next best is taken by the next. */
  g_assert_cmpint (take_instead (&pool, 900), ==, 6);
  g_assert_cmpint (take_instead (&pool, 900), ==, 2);
  g_assert_cmpint (take_instead (&pool, 900), ==, -1);
  clear_pool (&pool);

  /* Small ones stay together. */
  MAKE_POOL (&pool, 4, { 1, 1, 10, 20, false }, { 1, 3, 20, 30, false },
             { 1, 2, 500, 510, false }, { 1, 0, 900, 905, false });
  block (&pool, 900);
  g_assert_cmpint (take_instead (&pool, 900), ==, 1);
  clear_pool (&pool);
}

/* A block that lives into the next step needs its place there as well. */
static void
test_wraps (void)
{
  Pool pool;

  MAKE_POOL (&pool, 6, { 1, 2, 50, 60, false }, { 2, 4, 150, 160, false },
             { 2, 0, 700, 100, true });
  block (&pool, 700);
  g_assert_cmpint (take_instead (&pool, 700), ==, 4);
  g_assert_cmpint (take_instead (&pool, 700), ==, -1);
  clear_pool (&pool);
}

/* Slots of one size swap: the second finds the first one's place free again. */
static void
test_swap (void)
{
  Pool pool;
  uint32_t holder;

  MAKE_POOL (&pool, 6, { 2, 0, 10, 900, false }, { 2, 2, 300, 890, false },
             { 2, 4, 400, 890, false });
  block (&pool, 10);
  /* The one that is needed latest. */
  g_assert_cmpint (take_instead (&pool, 10), ==, 4);
  g_assert_true (tessera_taken_give_back (pool.taken, 0, &holder));
  block (&pool, 300);
  g_assert_cmpint (take_instead (&pool, 400), ==, 0);
  clear_pool (&pool);

  /* Those of other sizes do not: a large one could go without for several small, or a
     small one cost a large one. */
  for (uint32_t size = 1; size <= 3; size += 2)
    {
      MAKE_POOL (&pool, 2 + size, { 2, 0, 10, 900, false }, { size, 2, 300, 890, false });
      block (&pool, 10);
      g_assert_cmpint (take_instead (&pool, 10), ==, -1);
      clear_pool (&pool);
    }
  /* Nor where one of another size comes after it. */
  MAKE_POOL (&pool, 4, { 2, 0, 10, 900, false }, { 2, 2, 300, 400, false },
             { 1, 2, 500, 600, false });
  block (&pool, 10);
  g_assert_cmpint (take_instead (&pool, 10), ==, -1);
  clear_pool (&pool);
}

/* Refuses the places below a limit, as a hook may. */
static bool
refuse_below (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  const uint64_t *limit_bytes = user;

  *out_end_bytes = *limit_bytes;
  return offset_bytes >= *limit_bytes;
}

static void
test_hook (void)
{
  uint64_t limit_bytes = 6 * MIB;
  const TesseraFollowerHook hook = { refuse_below, &limit_bytes };
  uint64_t offset_bytes;
  Pool pool;

  MAKE_POOL (&pool, 8, { 2, 6, 10, 20, false }, { 2, 2, 400, 410, false },
             { 2, 4, 500, 510, false }, { 2, 0, 900, 905, false });
  block (&pool, 900);
  g_assert_true (
      tessera_reuse_take (&pool.reuse, pool.taken, &hook, 900, 0, &offset_bytes));
  g_assert_cmpuint (offset_bytes, ==, 6 * MIB);
  limit_bytes = 100 * MIB;
  g_assert_false (
      tessera_reuse_take (&pool.reuse, pool.taken, &hook, 900, 0, &offset_bytes));
  clear_pool (&pool);
}

/* A run that differs all the time pays for searches with requests. */
static void
test_budget (void)
{
  const TesseraFollowerHook hook = { 0 };
  uint64_t n_requests = 0;
  uint64_t offset_bytes;
  uint32_t holder;
  uint32_t n_found = 0;
  Pool pool;

  MAKE_POOL (&pool, 4, { 2, 0, 10, 800, false }, { 2, 2, 850, 900, false });
  block (&pool, 10);
  while (take_instead (&pool, 10) == 2)
    {
      g_assert_true (tessera_taken_give_back (pool.taken, 2 * MIB, &holder));
      g_assert_cmpuint (++n_found, <, 1 << 20);
    }
  g_assert_cmpuint (n_found, >, 100);
  /* What lives for few requests is found all the same. */
  block (&pool, 850);
  g_assert_true (tessera_taken_give_back (pool.taken, 0, &holder));
  g_assert_cmpint (take_instead (&pool, 850), ==, 0);
  g_assert_true (tessera_taken_give_back (pool.taken, 2 * MIB, &holder));
  /* A search of this plan looks at about a thousand slots. */
  n_found = 0;
  for (n_requests = 1; n_requests <= 1000; n_requests++)
    if (tessera_reuse_take (&pool.reuse, pool.taken, &hook, 10, n_requests,
                            &offset_bytes))
      {
        g_assert_true (tessera_taken_give_back (pool.taken, offset_bytes, &holder));
        n_found++;
      }
  g_assert_cmpuint (n_found, >, 150);
  g_assert_cmpuint (n_found, <, 300);
  clear_pool (&pool);
}

enum
{
  N_MADE = 60,
  HEIGHT = 40,
  N_MAX_TAKEN = 12
};

typedef struct
{
  uint64_t begin, end;
} Range;

static bool
meets (const TesseraSlot *slot, uint64_t begin, uint64_t end)
{
  return slot->offset_bytes < end && begin < slot->offset_bytes + slot->block_bytes;
}

/* When the slots that come after @wanted first need the range: counted in slots. Those
 * that are born while its block lives come first; @n_meanwhile: how many they are. */
static uint32_t
first_need (const TesseraPlan *plan,
            uint32_t wanted,
            uint64_t begin,
            uint64_t end,
            uint32_t *out_n_meanwhile,
            bool *out_only_equals)
{
  const TesseraSlot *slots = plan->slots;
  uint32_t first = TESSERA_NEVER;
  uint32_t n = 0;

  *out_n_meanwhile = 0;
  *out_only_equals = true;
  for (int is_later = 0; is_later < 2; is_later++)
    for (uint32_t k = 1; k < plan->n_slots; k++)
      {
        uint32_t i = (wanted + k) % (uint32_t) plan->n_slots;
        bool is_meanwhile = i > wanted ? slots[i].born < slots[wanted].died
                                       : slots[i].born < slots[wanted].died_next;

        if (is_meanwhile != (is_later == 0))
          continue;
        n++;
        *out_n_meanwhile += is_meanwhile;
        if (!meets (&slots[i], begin, end))
          continue;
        first = MIN (first, n);
        if (is_meanwhile && slots[i].block_bytes != slots[wanted].block_bytes)
          *out_only_equals = false;
      }
  return first;
}

/* The place that @wanted is to get, by trying all. Returns: whether there is one. */
static bool
try_all (const Pool *pool,
         uint32_t wanted,
         const Range *taken,
         uint32_t n_taken,
         uint64_t *out_offset_bytes)
{
  uint64_t block_bytes = pool->plan.slots[wanted].block_bytes;
  uint32_t best = 0;      /* of those nobody needs meanwhile */
  uint32_t best_swap = 0; /* of those that equals need */
  uint64_t swap_offset = 0;

  for (uint32_t r = 0; r < pool->slots.n_offsets; r++)
    {
      uint64_t begin = pool->slots.offsets[r];
      uint64_t end = begin + block_bytes;
      bool is_free = end <= pool->plan.height_bytes;
      bool only_equals;
      uint32_t n_meanwhile, when;

      for (uint32_t t = 0; t < n_taken; t++)
        is_free = is_free && (taken[t].end <= begin || end <= taken[t].begin);
      if (!is_free)
        continue;
      when = first_need (&pool->plan, wanted, begin, end, &n_meanwhile, &only_equals);
      if (when > n_meanwhile && when > best)
        {
          best = when;
          *out_offset_bytes = begin;
        }
      if (when <= n_meanwhile && only_equals && when > best_swap)
        {
          best_swap = when;
          swap_offset = begin;
        }
    }
  if (best == 0)
    *out_offset_bytes = swap_offset;
  return best > 0 || best_swap > 0;
}

static void
make_random (GRand *rand, Made *made)
{
  for (uint32_t i = 0; i < N_MADE; i++)
    {
      uint32_t size = (uint32_t) g_rand_int_range (rand, 2, 6);
      uint32_t born = i * (N_EVENTS / N_MADE) + 1;
      bool wraps = g_rand_int_range (rand, 0, 8) == 0;

      made[i] = (Made){
        .size = size,
        .offset = (uint32_t) g_rand_int_range (rand, 0, HEIGHT - (gint32) size + 1),
        .born = born,
        .died = wraps ? (uint32_t) g_rand_int_range (rand, 1, (gint32) born + 1) - 1
                      : (uint32_t) g_rand_int_range (rand, (gint32) born + 1, N_EVENTS),
        .wraps = wraps,
      };
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  const TesseraFollowerHook hook = { 0 };
  uint32_t n_taken_other = 0, n_none = 0;

  for (int round = 0; round < 150; round++)
    {
      Made made[N_MADE];
      Range taken[N_MAX_TAKEN + 1];
      uint32_t n_taken = 0;
      uint64_t found = 0, expected = 0;
      uint64_t end_bytes;
      uint32_t wanted;
      Pool pool;
      bool is_found;

      make_random (rand, made);
      make_pool (&pool, made, N_MADE, HEIGHT);
      wanted = made[g_rand_int_range (rand, 0, N_MADE)].born;
      block (&pool, wanted);
      taken[n_taken++] = (Range){ pool.plan.slots[wanted].offset_bytes,
                                  pool.plan.slots[wanted].offset_bytes +
                                      pool.plan.slots[wanted].block_bytes };
      for (int i = 0; i < N_MAX_TAKEN; i++)
        {
          uint32_t other = made[g_rand_int_range (rand, 0, N_MADE)].born;
          const TesseraSlot *slot = &pool.plan.slots[other];

          if (tessera_taken_take (pool.taken, &hook, pool.slots.ranks[other],
                                  pool.slots.end_ranks[other], slot->block_bytes, other,
                                  &end_bytes))
            taken[n_taken++] =
                (Range){ slot->offset_bytes, slot->offset_bytes + slot->block_bytes };
        }
      is_found = tessera_reuse_take (&pool.reuse, pool.taken, &hook, wanted, 0, &found);
      g_assert_cmpint (is_found, ==, try_all (&pool, wanted, taken, n_taken, &expected));
      if (is_found)
        g_assert_cmpuint (found, ==, expected);
      n_taken_other += is_found;
      n_none += !is_found;
      clear_pool (&pool);
    }
  g_test_message ("%u of 150 got another place", n_taken_other);
  g_assert_cmpuint (n_taken_other, >, 20);
  g_assert_cmpuint (n_none, >, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/reuse/long", test_long);
  g_test_add_func ("/allocator/reuse/latest", test_latest);
  g_test_add_func ("/allocator/reuse/wraps", test_wraps);
  g_test_add_func ("/allocator/reuse/swap", test_swap);
  g_test_add_func ("/allocator/reuse/hook", test_hook);
  g_test_add_func ("/allocator/reuse/budget", test_budget);
  g_test_add_func ("/allocator/reuse/random", test_random);
  return g_test_run ();
}
