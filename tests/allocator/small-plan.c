/*
 * A plan by hand: see small-plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/small-plan.h"

#include <string.h>

#include "tests/allocator/followed.h"

void
small_plan_clear (TesseraPlan *plan)
{
  g_free (plan->slots);
  g_free (plan->sections);
}

TesseraPlan
small_plan_make (const char *sizes,
                 const char *phases,
                 const guint *section_ends,
                 guint n_sections)
{
  static char *names[] = { "forward", "backward" };
  TesseraPlan plan = { .alignment_bytes = 512, .strings = names, .n_strings = 2 };
  uint32_t section = 0;

  plan.n_slots = strlen (sizes);
  plan.slots = g_new0 (TesseraSlot, plan.n_slots);
  plan.n_sections = n_sections;
  plan.sections = g_new0 (TesseraSection, n_sections);
  for (uint32_t i = 0; i < plan.n_slots; i++)
    {
      TesseraSlot *slot = &plan.slots[i];

      if (i == section_ends[section])
        plan.sections[++section].first_slot = i;
      plan.sections[section].n_slots++;
      slot->size_bytes = slot->block_bytes = (uint64_t) (sizes[i] - 'A' + 1) * 512;
      slot->offset_bytes = plan.height_bytes;
      slot->born = i;
      slot->died = i + 1;
      slot->section = section;
      slot->phase = phases[i] == 'f' ? 0 : phases[i] == 'b' ? 1 : TESSERA_NONE;
      plan.height_bytes += slot->block_bytes;
    }
  if (n_sections > 1)
    plan.sections[1].kind = TESSERA_SECTION_REPEATS;
  return plan;
}

/* Which slots served the requests of @letters. */
static char *
follow_text (const TesseraPlan *plan, const char *letters)
{
  Followed *follower;
  GString *out = g_string_new (NULL);

  follower = followed_new (plan);
  for (const char *p = letters; *p != '\0'; p++)
    {
      uint64_t offset;
      uint32_t slot;

      if (*p == '|')
        tessera_follower_step (follower->follower);
      else if (*p == 'f' || *p == 'b')
        tessera_follower_phase (follower->follower, *p == 'f' ? "forward" : "backward");
      else if (followed_malloc (follower, (uint64_t) (*p - 'A' + 1) * 512 - 7, 0, 0,
                                &offset, &slot))
        {
          g_string_append_c (out, (char) ('a' + slot));
          g_assert_cmpuint (offset, ==, plan->slots[slot].offset_bytes);
          g_assert_true (followed_free_at (follower, offset));
        }
      else
        g_string_append_c (out, '-');
    }
  followed_free (follower);
  return g_string_free (out, FALSE);
}

void
small_plan_check_follow (const TesseraPlan *plan,
                         const char *letters,
                         const char *expected)
{
  g_autofree char *found = follow_text (plan, letters);

  g_assert_cmpstr (found, ==, expected);
}
