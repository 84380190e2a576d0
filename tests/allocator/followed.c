/*
 * A plan that is followed in a pool of its own, and plans by hand: see followed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"

#include <string.h>

#include "tests/ok.h"

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
  OK (tessera_follower_new (plan, &followed->follower));
  OK (tessera_occupancy_new (tessera_plan_pool_bytes (plan), &apart, &followed->map));
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
  OK (tessera_occupancy_see_request (followed->map, &followed->request));
  followed->last = tessera_follower_malloc (followed->follower, size_bytes, stream, pool,
                                            out_offset_bytes, out_slot);
  tessera_follower_count (&followed->stats, followed->last, size_bytes);
  return tessera_followed_is_hit (followed->last);
}

bool
followed_free_at (Followed *followed, uint64_t offset_bytes)
{
  if (tessera_occupancy_free_requested (followed->map, offset_bytes) != TESSERA_OK)
    return false;
  OK (tessera_occupancy_free_completed (followed->map, offset_bytes));
  return true;
}

/* ---- Plans by hand ---- */

static char *const names[] = { "forward", "backward" };

uint64_t
small_plan_bytes (char letter)
{
  return (uint64_t) (g_ascii_toupper (letter) - 'A' + 1) * 512;
}

typedef struct
{
  TesseraPlan plan; /* must be first */
  TesseraSection sections[8];
  TesseraSlot slots[SMALL_PLAN_REQUESTS];
  TesseraUnplanned unplanned[SMALL_PLAN_REQUESTS];
} SmallPlan;

static void
add_slot (TesseraPlan *plan, uint32_t section, char letter, uint32_t phase)
{
  uint64_t block_bytes = letter == '*' ? 512 : small_plan_bytes (letter);

  plan->slots[plan->n_slots++] =
      (TesseraSlot){ .size_bytes = block_bytes,
                     .block_bytes = block_bytes,
                     .offset_bytes = plan->height_bytes,
                     .born = plan->n_positions,
                     .died = plan->n_positions + 1,
                     .section = section,
                     .phase = phase,
                     .ordinal = letter == '*' ? TESSERA_NONE : 0 };
  plan->height_bytes += block_bytes;
}

static void
add_unplanned (TesseraPlan *plan, uint32_t section, char letter, uint32_t phase)
{
  plan->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = small_plan_bytes (letter),
                          .block_bytes = small_plan_bytes (letter),
                          .before = (uint32_t) plan->n_slots,
                          .born = plan->n_positions,
                          .section = section,
                          .phase = phase };
}

TesseraPlan *
small_plan_make (const char *text)
{
  SmallPlan *made = g_new0 (SmallPlan, 1);
  TesseraPlan *plan = &made->plan;
  uint32_t phase = TESSERA_NONE;

  *plan = (TesseraPlan){ .alignment_bytes = 512,
                         .strings = (char **) names,
                         .n_strings = 2,
                         .n_streams = 1,
                         .slots = made->slots,
                         .unplanned = made->unplanned,
                         .sections = made->sections,
                         .n_sections = 1 };
  for (const char *p = text; *p != '\0'; p++)
    {
      TesseraSection *section = &made->sections[plan->n_sections - 1];

      if (*p == '|' || *p == '!')
        {
          section[1] = (TesseraSection){ .begin = plan->n_positions,
                                         .end = plan->n_positions,
                                         .first_slot = (uint32_t) plan->n_slots,
                                         .kind = *p == '|' ? TESSERA_SECTION_REPEATS
                                                           : TESSERA_SECTION_ONCE };
          plan->n_sections++;
          continue;
        }
      if (strchr ("().", *p) != NULL)
        {
          phase = *p == '.' ? TESSERA_NONE : *p == ')';
          continue;
        }
      if (g_ascii_islower (*p))
        add_unplanned (plan, (uint32_t) plan->n_sections - 1, *p, phase);
      else
        add_slot (plan, (uint32_t) plan->n_sections - 1, *p, phase);
      section->end = ++plan->n_positions;
      section->n_slots = (uint32_t) plan->n_slots - section->first_slot;
    }
  return plan;
}

char *
small_plan_follow (const TesseraPlan *plan, const char *letters)
{
  GString *out = g_string_new (NULL);
  guint n_planned = 0, n_misses = 0;

  g_autoptr (Followed) follower = followed_new (plan);
  for (const char *p = letters; *p != '\0'; p++)
    {
      uint64_t offset;
      uint32_t slot;

      if (*p == '|')
        tessera_follower_step (follower->follower);
      else if (*p == '(' || *p == ')')
        tessera_follower_phase (follower->follower, names[*p == ')']);
      else if (followed_malloc (follower, small_plan_bytes (*p) - 7, 0, 0, &offset,
                                &slot))
        {
          g_string_append_c (out, (char) ('a' + slot % 26));
          g_assert_cmpuint (offset, ==, plan->slots[slot].offset_bytes);
          g_assert_true (followed_free_at (follower, offset));
        }
      else
        {
          n_misses++;
          n_planned += follower->last == TESSERA_MISS_PLANNED;
          g_string_append_c (out, follower->last == TESSERA_MISS_PLANNED ? '.' : '-');
        }
    }
  g_assert_cmpuint (follower->stats.misses, ==, n_misses);
  g_assert_cmpuint (follower->stats.misses_planned, ==, n_planned);
  g_assert_cmpuint (follower->stats.misses, ==,
                    follower->stats.misses_planned + follower->stats.misses_unknown +
                        follower->stats.misses_occupied);
  return g_string_free (out, FALSE);
}

void
small_plan_check (const char *text, const char *letters, const char *expected)
{
  g_autofree TesseraPlan *plan = small_plan_make (text);
  g_autofree char *found = small_plan_follow (plan, letters);

  g_assert_cmpstr (found, ==, expected);
}
