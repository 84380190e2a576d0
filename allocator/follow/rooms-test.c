/*
 * Tests of where dynamic requests go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/rooms.h"

#include <glib.h>

#define KIB ((uint64_t) 1 << 10)

enum
{
  N_BLOCKS = 8
};

typedef struct
{
  TesseraRooms rooms;
  uint64_t give_back; /* this block while the next request is being granted; or NONE */
  bool refuses;
} Run;

#define NOTHING UINT64_MAX

/* What a device does that waits: ends of blocks come while a request is served. */
static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  Run *run = user;

  for (uint64_t at = 0; run->give_back != NOTHING && at <= run->give_back; at += KIB)
    tessera_rooms_give_back (&run->rooms, at);
  run->give_back = NOTHING;
  *out_end_bytes = 0; /* it does not say where else */
  return !run->refuses;
}

static void
assert_in_order (const TesseraRooms *rooms)
{
  for (size_t i = 1; i < rooms->n_blocks; i++)
    g_assert_cmpuint (rooms->blocks[i - 1].end_bytes, <=, rooms->blocks[i].begin_bytes);
}

/* Whatever ends meanwhile, the block that is taken is filed in its place; what is refused
 * is not taken, be it at the bottom of the pool. */
static void
test_ends_meanwhile (void)
{
  TesseraSection section = { .end = 2, .kind = TESSERA_SECTION_REPEATS };
  TesseraRoom room = { .end_bytes = N_BLOCKS * KIB, .is_small = 1 };
  const TesseraPlan plan = { .sections = &section,
                             .n_sections = 1,
                             .rooms = &room,
                             .n_rooms = 1,
                             .height_bytes = N_BLOCKS * KIB,
                             .alignment_bytes = 512 };
  const TesseraDynamicRequest request = { .block_bytes = KIB };
  TesseraTaken *taken;

  g_assert_cmpint (tessera_taken_new (NULL, 0, &taken), ==, TESSERA_OK);
  for (uint64_t n_before = 0; n_before < N_BLOCKS; n_before++)
    for (uint64_t n_end = 0; n_end <= n_before; n_end++)
      {
        Run run = { .give_back = NOTHING, .refuses = true };
        const TesseraFollowerHook hook = { take, &run };
        uint64_t offset_bytes;

        g_assert_cmpint (tessera_rooms_init (&run.rooms, &plan), ==, TESSERA_OK);
        g_assert_false (
            tessera_rooms_take (&run.rooms, taken, &hook, &request, &offset_bytes));
        run.refuses = false;
        for (uint64_t i = 0; i < n_before; i++)
          g_assert_true (
              tessera_rooms_take (&run.rooms, taken, &hook, &request, &offset_bytes));
        run.give_back = n_end > 0 ? (n_end - 1) * KIB : NOTHING;
        g_assert_true (
            tessera_rooms_take (&run.rooms, taken, &hook, &request, &offset_bytes));
        g_assert_cmpuint (offset_bytes, ==, n_before * KIB);
        g_assert_cmpuint (run.rooms.n_blocks, ==, n_before + 1 - n_end);
        assert_in_order (&run.rooms);
        g_assert_true (tessera_rooms_give_back (&run.rooms, offset_bytes));
        tessera_rooms_clear (&run.rooms);
      }
  tessera_taken_free (taken);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/rooms/ends-meanwhile", test_ends_meanwhile);
  return g_test_run ();
}
