/*
 * Tests of other places for requests whose own place is not free: on plans at random
 * against a search that looks at every place and every slot, and for how long a place is
 * lent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"
#include "tests/ok.h"

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
  uint64_t begin, end; /* bytes */
} Range;

typedef struct
{
  TesseraPlan plan;
  TesseraSection section;
  TesseraSlots slots;
  GArray *taken;        /* Range: where something lies */
  uint64_t asked_bytes; /* by the request that is being served */
  TesseraReuse reuse;
} Pool;

static void
clear_pool (Pool *pool)
{
  tessera_reuse_clear (&pool->reuse);
  g_array_unref (pool->taken);
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
  OK (tessera_slots_init (&pool->slots, &pool->plan));
  pool->taken = g_array_new (false, false, sizeof (Range));
  OK (tessera_reuse_init (&pool->reuse, &pool->slots));
}

/* Something lies there. */
static void
add_taken (Pool *pool, uint64_t offset_bytes, uint64_t size_bytes)
{
  const Range range = { offset_bytes, offset_bytes + size_bytes };

  g_array_append_val (pool->taken, range);
}

/* Something lies at the place of @slot. */
static void
block (Pool *pool, uint32_t slot)
{
  add_taken (pool, pool->plan.slots[slot].offset_bytes,
             pool->plan.slots[slot].block_bytes);
}

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  Pool *pool = user;
  bool is_free = true;

  for (guint i = 0; i < pool->taken->len; i++)
    {
      const Range *range = &g_array_index (pool->taken, Range, i);

      if (range->begin < offset_bytes + pool->asked_bytes && offset_bytes < range->end)
        {
          *out_end_bytes = is_free ? range->end : MAX (*out_end_bytes, range->end);
          is_free = false;
        }
    }
  if (is_free)
    add_taken (pool, offset_bytes, pool->asked_bytes);
  return is_free;
}

/* Returns: the place that @slot gets instead of its own, in MiB; -1: none. */
static int
take_instead (Pool *pool, uint32_t slot)
{
  const TesseraFollowerHook hook = { take, pool };
  uint64_t offset_bytes;

  pool->asked_bytes = pool->plan.slots[slot].block_bytes;
  if (!tessera_reuse_take (&pool->reuse, &hook, slot, &offset_bytes))
    return -1;
  g_assert_cmpuint (offset_bytes % MIB, ==, 0);
  return (int) (offset_bytes / MIB);
}

#define MAKE_POOL(pool, height, ...)                                                     \
  make_pool ((pool), (const Made[]){ __VA_ARGS__ },                                      \
             sizeof ((const Made[]){ __VA_ARGS__ }) / sizeof (Made), (height))

/* What lives for many requests, or into the next step, has no other place. */
static void
test_long (void)
{
  Pool pool;

  MAKE_POOL (&pool, 4, { 2, 0, 10, 267, false }, { 2, 2, 850, 900, false });
  block (&pool, 10);
  g_assert_cmpint (take_instead (&pool, 10), ==, 2);
  clear_pool (&pool);
  MAKE_POOL (&pool, 4, { 2, 0, 10, 268, false }, { 2, 2, 850, 900, false });
  block (&pool, 10);
  g_assert_cmpint (take_instead (&pool, 10), ==, -1);
  clear_pool (&pool);
  MAKE_POOL (&pool, 4, { 2, 2, 150, 160, false }, { 2, 0, 990, 5, true });
  block (&pool, 990);
  g_assert_cmpint (take_instead (&pool, 990), ==, -1);
  clear_pool (&pool);
}

enum
{
  N_MADE = 60,
  HEIGHT = 40,
  N_ROUNDS = 200,
  MAX_BLOCKED = 8
};

static bool
meets (const TesseraSlot *slot, uint64_t begin, uint64_t end)
{
  return slot->offset_bytes < end && begin < slot->offset_bytes + slot->block_bytes;
}

/* The place that @wanted is to get, in MiB, by looking at every place and every slot; -1:
 * none. @blocked: slots whose places are taken. */
static int
find_lowest (const Pool *pool, uint32_t wanted, const GArray *blocked)
{
  const TesseraSlot *slots = pool->plan.slots;

  for (uint32_t r = 0; r < pool->slots.n_offsets; r++)
    {
      uint64_t begin = pool->slots.offsets[r];
      uint64_t end = begin + slots[wanted].block_bytes;
      bool is_free = end <= pool->plan.height_bytes;

      for (guint i = 0; i < blocked->len; i++)
        is_free =
            is_free && !meets (&slots[g_array_index (blocked, uint32_t, i)], begin, end);
      for (uint32_t i = wanted + 1; i < slots[wanted].died; i++)
        is_free = is_free && !meets (&slots[i], begin, end);
      if (is_free)
        return (int) (begin / MIB);
    }
  return -1;
}

/* The first one lies everywhere, so that no part of the pool is without an owner. */
static void
make_random (GRand *rand, Made *made)
{
  made[0] = (Made){ .size = HEIGHT, .born = 0, .died = 1 };
  for (uint32_t i = 1; i < N_MADE; i++)
    {
      uint32_t size = (uint32_t) g_rand_int_range (rand, 2, 6);
      uint32_t born = i * (N_EVENTS / N_MADE);
      uint32_t most_died = MIN (born + 256, N_EVENTS);

      made[i] = (Made){
        .size = size,
        .offset = (uint32_t) g_rand_int_range (rand, 0, HEIGHT - (gint32) size + 1),
        .born = born,
        .died = (uint32_t) g_rand_int_range (rand, (gint32) born + 1, (gint32) most_died),
      };
    }
}

static void
block_some (GRand *rand, Pool *pool, const Made *made, GArray *blocked)
{
  const TesseraSlot *slots = pool->plan.slots;

  for (int n = g_rand_int_range (rand, 1, MAX_BLOCKED); n > 0; n--)
    {
      uint32_t slot = made[g_rand_int_range (rand, 1, N_MADE)].born;
      bool is_free = true;

      for (guint i = 0; i < blocked->len; i++)
        is_free = is_free && !meets (&slots[g_array_index (blocked, uint32_t, i)],
                                     slots[slot].offset_bytes,
                                     slots[slot].offset_bytes + slots[slot].block_bytes);
      if (!is_free)
        continue;
      block (pool, slot);
      g_array_append_val (blocked, slot);
    }
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  uint32_t n_found = 0, n_none = 0;

  for (int round = 0; round < N_ROUNDS; round++)
    {
      g_autoptr (GArray) blocked = g_array_new (false, false, sizeof (uint32_t));
      Made made[N_MADE];
      Pool pool;

      make_random (rand, made);
      make_pool (&pool, made, N_MADE, HEIGHT);
      block_some (rand, &pool, made, blocked);
      for (int i = 1; i < N_MADE; i++)
        {
          int expected = find_lowest (&pool, made[i].born, blocked);

          g_assert_cmpint (take_instead (&pool, made[i].born), ==, expected);
          if (expected >= 0) /* given back */
            g_array_set_size (pool.taken, pool.taken->len - 1);
          n_found += expected >= 0;
          n_none += expected < 0;
        }
      clear_pool (&pool);
    }
  g_assert_cmpuint (n_found, >, 500);
  g_assert_cmpuint (n_none, >, 500);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/reuse/long", test_long);
  g_test_add_func ("/allocator/reuse/random", test_random);
  return g_test_run ();
}
