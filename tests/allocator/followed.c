/*
 * A plan that is followed in a pool of its own: see followed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"

#include <glib.h>

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  Followed *followed = user;

  return tessera_occupancy_take (followed->map, offset_bytes, &followed->request,
                                 out_end_bytes) == TESSERA_OCCUPANCY_GRANTED;
}

Followed *
followed_new (const TesseraPlan *plan)
{
  static const TesseraOccupancyLaws apart = { .live = true, .pending = true };
  Followed *followed = g_new0 (Followed, 1);

  followed->align_bytes = MAX (plan->alignment_bytes, 1);
  g_assert_cmpint (tessera_follower_new (plan, &followed->follower), ==, TESSERA_OK);
  g_assert_cmpint (
      tessera_occupancy_new (tessera_plan_pool_bytes (plan), &apart, &followed->map), ==,
      TESSERA_OK);
  tessera_follower_set_hook (followed->follower,
                             &(TesseraFollowerHook){ take, followed });
  return followed;
}

void
followed_free (Followed *followed)
{
  tessera_follower_free (followed->follower);
  tessera_occupancy_free (followed->map);
  g_free (followed);
}

bool
followed_malloc (Followed *followed,
                 uint64_t size_bytes,
                 uint32_t stream,
                 uint32_t pool,
                 uint64_t *out_offset_bytes,
                 uint32_t *out_slot)
{
  uint64_t step = followed->align_bytes;

  followed->request = (TesseraOccupancyRequest){
    .size_bytes = size_bytes,
    .block_bytes = MAX ((size_bytes + step - 1) / step, 1) * step,
    .stream = stream,
    .pool = pool,
  };
  g_assert_cmpint (tessera_occupancy_see_request (followed->map, &followed->request), ==,
                   TESSERA_OK);
  return tessera_follower_malloc (followed->follower, size_bytes, stream, pool,
                                  out_offset_bytes, out_slot);
}

bool
followed_free_at (Followed *followed, uint64_t offset_bytes)
{
  if (tessera_occupancy_free_requested (followed->map, offset_bytes) != TESSERA_OK)
    return false;
  g_assert_cmpint (tessera_occupancy_free_completed (followed->map, offset_bytes), ==,
                   TESSERA_OK);
  tessera_follower_free_at (followed->follower, offset_bytes);
  return true;
}
