/*
 * Tests of following a plan, on plans small enough to say which slot serves what.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow.h"
#include "allocator/follow/slots.h"

#include <glib.h>
#include <string.h>

#define SEED 20260611

static void
clear_plan (TesseraPlan *plan)
{
  g_free (plan->slots);
  g_free (plan->sections);
}

/* A plan by hand: each slot has its own range; sections and phases as given. */
static TesseraPlan
make_small_plan (const char *sizes,
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

/* Makes the requests of @letters (freed at once) and says which slots served them. '|' is
 * a step mark, 'f' and 'b' are phases. */
static char *
follow_text (const TesseraPlan *plan, const char *letters)
{
  TesseraFollower *follower;
  GString *out = g_string_new (NULL);

  g_assert_cmpint (tessera_follower_new (plan, &follower), ==, TESSERA_OK);
  for (const char *p = letters; *p != '\0'; p++)
    {
      uint64_t offset;
      uint32_t slot;

      if (*p == '|')
        tessera_follower_step (follower);
      else if (*p == 'f' || *p == 'b')
        tessera_follower_phase (follower, *p == 'f' ? "forward" : "backward");
      else if (tessera_follower_malloc (follower, (uint64_t) (*p - 'A' + 1) * 512 - 7, 0,
                                        0, &offset, &slot))
        {
          g_string_append_c (out, (char) ('a' + slot));
          g_assert_cmpuint (offset, ==, plan->slots[slot].offset_bytes);
          g_assert_true (tessera_follower_free_at (follower, offset));
        }
      else
        g_string_append_c (out, '-');
    }
  tessera_follower_free (follower);
  return g_string_free (out, FALSE);
}

static void
check_follow (const TesseraPlan *plan, const char *letters, const char *expected)
{
  g_autofree char *found = follow_text (plan, letters);

  g_assert_cmpstr (found, ==, expected);
}

static void
test_sections (void)
{
  static const guint ends[] = { 2, 6, 8 };
  /* slots: start ab, step cdef, end gh */
  TesseraPlan plan = make_small_plan ("ABCDEFGH", "        ", ends, 3);

  check_follow (&plan, "ABCDEFGH", "abcdefgh");
  check_follow (&plan, "ABCDEFCDEFCDEFGH", "abcdefcdefcdefgh");
  check_follow (&plan, "AB|CDEF|CDEFGH", "abcdefcdefgh");
  check_follow (&plan, "AB|CDE|CDEF|CDEF", "abcdecdefcdef");
  /* a request nobody planned, and one of another size, change nothing */
  check_follow (&plan, "ABCZDEFCDEF", "abc-defcdef");
  clear_plan (&plan);
}

/* Of rows that are alike the nearest, whichever way; in the phase and section it is to be
 * of. */
static void
test_nearest (void)
{
  static const guint ends[] = { 27, 36 };
  /* rows of the start end at 7, 16 and 25, that of the step at 34 */
  TesseraPlan plan = make_small_plan ("ABCDEFGHZABCDEFGHZABCDEFGHZABCDEFGHZ",
                                      "fffffffffbbbbbbbbbfffffffffbbbbbbbbb", ends, 2);
  static const struct
  {
    uint32_t cursor;
    TesseraGramRange range;
    uint32_t expected;
  } cases[] = {
    { 0, { 0, 36, TESSERA_NONE }, 7 },
    { 11, { 0, 36, TESSERA_NONE }, 7 },
    { 12, { 0, 36, TESSERA_NONE }, 16 },
    { 20, { 0, 36, TESSERA_NONE }, 16 },
    { 36, { 0, 36, TESSERA_NONE }, 34 },
    { 36, { 0, 27, TESSERA_NONE }, 25 },
    { 0, { 27, 36, TESSERA_NONE }, 34 },
    { 0, { 0, 27, 1 }, 16 },
    { 36, { 0, 27, 1 }, 16 },
    { 16, { 0, 27, 0 }, 7 }, /* as far as 25, and before it */
    { 0, { 26, 34, TESSERA_NONE }, TESSERA_NONE },
  };
  TesseraSlots slots;

  g_assert_cmpint (tessera_slots_init (&slots, &plan), ==, TESSERA_OK);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (tessera_slots_find_gram_near (&slots, slots.signatures,
                                                    cases[i].cursor, &cases[i].range),
                      ==, cases[i].expected);
  g_assert_cmpuint (
      tessera_slots_find_gram_near (&slots, slots.signatures + 4, 0, &cases[0].range), ==,
      11);
  tessera_slots_clear (&slots);
  clear_plan (&plan);
}

/* Two kinds of step that begin alike, and one that does not: the first request that only
 * one of them has tells which it is. */
static void
test_kinds (void)
{
  static const guint ends[] = { 2, 6, 10, 13, 14 };
  /* slots: start ab, kinds cdef, ghij and klm, end n */
  TesseraPlan plan = make_small_plan ("ABCDEFCDGHXYCZ", "              ", ends, 5);

  plan.sections[2].kind = plan.sections[3].kind = TESSERA_SECTION_REPEATS;
  check_follow (&plan, "AB|CDEF|CDEF", "abcdefcdef");
  check_follow (&plan, "AB|CDEF|CDGH|CDEF|CDEF", "abcdefcdijcdefcdef");
  /* What comes most often is thought of first. */
  check_follow (&plan, "AB|CDGH|CDGH|CDGH|CDEF", "abcdijghijghijghef");
  /* No mark where the evaluation begins. */
  check_follow (&plan, "AB|CDEFXYC|CDGH|CDEFXYC|CDEF", "abcdefklmcdijcdefklmcdef");
  /* No marks at all. */
  check_follow (&plan, "ABCDEFCDGHXYCCDEFCDEF", "abcdefcdijklmcdefcdef");
  /* A request that nobody planned tells nothing. */
  check_follow (&plan, "AB|CDEF|CWDGH|XYC", "abcdefc-dijklm");
  /* One that is left out: the step is none of them, and goes on as the likely one. */
  check_follow (&plan, "AB|CDEF|CDEF|CEF|CDGH", "abcdefcdefcefcdij");
  clear_plan (&plan);
}

/* Follows @plan up to slot @jump, then from 500 on, then from 0: far more than is looked
 * ahead for. Returns: the requests until the run was found again. */
static guint
count_lost (const TesseraPlan *plan, guint jump)
{
  TesseraFollower *follower;
  guint n_lost = 0;

  g_assert_cmpint (tessera_follower_new (plan, &follower), ==, TESSERA_OK);
  for (guint k = 0; k < jump + 300; k++)
    {
      guint i = k < jump ? k : k < jump + 200 ? k - jump + 500 : k - jump - 200;
      uint64_t offset;
      uint32_t slot = TESSERA_NONE;

      if (tessera_follower_malloc (follower, plan->slots[i].size_bytes, 0, 0, &offset,
                                   &slot))
        g_assert_true (tessera_follower_free_at (follower, offset));
      n_lost += slot != i;
      if (k == jump - 1 || k == jump + 199 || k == jump + 299)
        g_assert_cmpuint (slot, ==, i);
    }
  tessera_follower_free (follower);
  return n_lost;
}

static void
test_lost (void)
{
  const guint n = 1000;
  const guint ends[] = { 0, n };
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autoptr (GString) phases = g_string_new (NULL);
  guint n_soon = 0;
  TesseraPlan plan;

  for (guint i = 0; i < n; i++)
    {
      g_string_append_c (sizes, (char) g_rand_int_range (rand, 'A', 'G'));
      g_string_append_c (phases, ' ');
    }
  plan = make_small_plan (sizes->str, phases->str, ends, 2);
  for (guint jump = 100; jump < 116; jump++)
    {
      guint n_lost = count_lost (&plan, jump);

      g_test_message ("requests until found again, twice: %u", n_lost);
      g_assert_cmpuint (n_lost, <, 80);
      n_soon += n_lost <= 2 * TESSERA_GRAM_REQUESTS;
    }
  /* Where nothing else looks like it: with the first that tell one place from others. */
  g_assert_cmpuint (n_soon, >=, 6);
  clear_plan (&plan);
}

static void
test_phase (void)
{
  static const guint ends[] = { 0, 12 };
  TesseraPlan plan = make_small_plan ("ABABABABCCCC", "ffffbbbbbbbb", ends, 2);

  /* Three requests of the first phase are missing. By themselves A and B are ambiguous.
   */
  check_follow (&plan, "|fABABbABABCCCC", "abcdefghijkl");
  check_follow (&plan, "|fAbABABCCCC", "aefghijkl");
  clear_plan (&plan);
}

static guint
count_in_place (TesseraFollower *follower, const TesseraPlan *plan, guint first, guint n)
{
  guint n_in_place = 0;

  for (guint i = first; i < first + n; i++)
    {
      uint64_t offset;
      uint32_t slot;

      if (!tessera_follower_malloc (follower, plan->slots[i].size_bytes, 0, 0, &offset,
                                    &slot))
        continue;
      n_in_place += slot == i;
      g_assert_true (tessera_follower_free_at (follower, offset));
    }
  return n_in_place;
}

/* Logging between steps asks for what a later part of a step asks for, and for more than
 * is looked ahead: the phase that begins then says where the run is. */
static void
test_far_phase (void)
{
  const guint n_start = 2, n_forward = 100, n_tail = 60, n_step = n_forward + n_tail;
  /* the start holds the first two steps */
  const guint ends[] = { n_start + 2 * n_step, n_start + 3 * n_step };
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autofree char *phases = g_strnfill (ends[1], ' ');
  TesseraPlan plan;
  TesseraFollower *follower;

  for (guint i = 0; i < ends[1]; i++)
    {
      g_string_append_c (sizes, (char) g_rand_int_range (rand, 'A', 'Z'));
      if (i >= n_start && (i - n_start) % n_step < n_forward)
        phases[i] = 'f';
    }
  plan = make_small_plan (sizes->str, phases, ends, 2);
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  count_in_place (follower, &plan, 0, n_start);
  for (guint step = 0; step < 5; step++)
    {
      guint forward = n_start + MIN (step, 2) * n_step, tail = forward + n_forward;

      tessera_follower_step (follower);
      if (step > 0)
        count_in_place (follower, &plan, tail, n_tail / 2);
      tessera_follower_phase (follower, "forward");
      g_assert_cmpuint (count_in_place (follower, &plan, forward, n_forward), ==,
                        n_forward);
      tessera_follower_phase (follower, NULL);
      /* entered again without requests: that moves nothing */
      tessera_follower_phase (follower, "forward");
      tessera_follower_phase (follower, NULL);
      g_assert_cmpuint (count_in_place (follower, &plan, tail, n_tail), ==, n_tail);
    }
  tessera_follower_free (follower);
  clear_plan (&plan);
}

/* An evaluation that asks for what the start asked for does not bring the start back. */
static void
test_start_is_past (void)
{
  const guint n_start = 150, n_step = 60;
  const guint ends[] = { n_start, n_start + n_step };
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autofree char *phases = g_strnfill (n_start + n_step, ' ');
  TesseraPlan plan;
  TesseraFollower *follower;

  for (guint i = 0; i < n_start + n_step; i++)
    g_string_append_c (sizes, (char) g_rand_int_range (rand, 'A', 'Z'));
  plan = make_small_plan (sizes->str, phases, ends, 2);
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  g_assert_cmpuint (count_in_place (follower, &plan, 0, n_start), ==, n_start);
  tessera_follower_step (follower);
  g_assert_cmpuint (count_in_place (follower, &plan, n_start, n_step), ==, n_step);
  tessera_follower_step (follower);
  count_in_place (follower, &plan, 0, n_start / 2);
  tessera_follower_step (follower);
  g_assert_cmpuint (count_in_place (follower, &plan, n_start, n_step), ==, n_step);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

static void
test_streams_and_pools (void)
{
  static const guint ends[] = { 0, 3 };
  TesseraPlan plan = make_small_plan ("AAA", "   ", ends, 2);
  TesseraFollower *follower;
  TesseraFollowerStats stats;
  uint64_t offset;
  uint32_t slot;

  plan.slots[1].stream = 1;
  plan.slots[2].pool = 1;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  g_assert_false (tessera_follower_malloc (follower, 512, 2, 0, &offset, &slot));
  g_assert_false (tessera_follower_malloc (follower, 513, 0, 0, &offset, &slot));
  g_assert_true (tessera_follower_malloc (follower, 1, 0, 0, &offset, &slot));
  g_assert_cmpuint (slot, ==, 0);
  g_assert_true (tessera_follower_malloc (follower, 512, 1, 0, &offset, &slot));
  g_assert_cmpuint (slot, ==, 1);
  g_assert_true (tessera_follower_malloc (follower, 512, 0, 1, &offset, &slot));
  g_assert_cmpuint (slot, ==, 2);
  g_assert_false (tessera_follower_free_at (follower, 7));
  tessera_follower_get_stats (follower, &stats);
  g_assert_cmpuint (stats.hits, ==, 3);
  g_assert_cmpuint (stats.hit_bytes, ==, 1025);
  g_assert_cmpuint (stats.misses_unknown, ==, 2);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

static void
test_still_taken (void)
{
  static const guint ends[] = { 0, 1 };
  TesseraPlan plan = make_small_plan ("A", " ", ends, 2);
  TesseraFollower *follower;
  TesseraFollowerStats stats;
  uint64_t offset;

  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  g_assert_true (tessera_follower_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_step (follower);
  g_assert_false (tessera_follower_malloc (follower, 512, 0, 0, &offset, NULL));
  g_assert_true (tessera_follower_free_at (follower, 0));
  g_assert_false (tessera_follower_free_at (follower, 0));
  tessera_follower_step (follower);
  g_assert_true (tessera_follower_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_get_stats (follower, &stats);
  g_assert_cmpuint (stats.misses_occupied, ==, 1);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

/* Where a block outlives the birth of its successor the slot and its spare take turns. */
static void
test_spare (void)
{
  static const guint ends[] = { 0, 3 };
  TesseraPlan plan = make_small_plan ("ABA", "   ", ends, 2);
  TesseraFollower *follower;
  uint64_t old = 0;
  uint32_t slots[4];

  plan.slots[2].ordinal = TESSERA_NONE;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  for (int step = 0; step < 4; step++)
    {
      uint64_t fresh;
      uint64_t other;

      tessera_follower_step (follower);
      g_assert_true (tessera_follower_malloc (follower, 512, 0, 0, &fresh, &slots[step]));
      if (step > 0)
        g_assert_true (tessera_follower_free_at (follower, old));
      g_assert_true (tessera_follower_malloc (follower, 1024, 0, 0, &other, NULL));
      g_assert_true (tessera_follower_free_at (follower, other));
      old = fresh;
    }
  g_assert_cmpuint (slots[0], ==, 0);
  g_assert_cmpuint (slots[1], ==, 2);
  g_assert_cmpuint (slots[2], ==, 0);
  g_assert_cmpuint (slots[3], ==, 2);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

/* Three slots and a spare take turns: new blocks come before the old ones go, step after
 * step. What is free of theirs for a while is not lent to others. */
static void
test_rota (void)
{
  static const guint ends[] = { 0, 5 };
  TesseraPlan plan = make_small_plan ("CCCBC", "     ", ends, 2);
  TesseraFollower *follower;
  TesseraFollowerStats stats;
  uint64_t held[3];
  uint64_t other;

  for (uint32_t i = 0; i < 5; i++)
    if (i != 3)
      {
        plan.slots[i].wraps = 1;
        plan.slots[i].died = 5;
        plan.slots[i].died_next = MIN (i + 1, 4);
      }
  plan.slots[4].ordinal = TESSERA_NONE;
  plan.sections[1].end = plan.n_positions = 5;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  for (int step = 0; step < 10; step++)
    {
      tessera_follower_step (follower);
      for (uint32_t i = 0; i < 3; i++)
        {
          uint64_t fresh;

          g_assert_true (tessera_follower_malloc (follower, 1536, 0, 0, &fresh, NULL));
          if (step > 0)
            g_assert_true (tessera_follower_free_at (follower, held[i]));
          held[i] = fresh;
        }
      /* Not given back: from the second time on its place is taken. */
      g_assert_cmpint (tessera_follower_malloc (follower, 1024, 0, 0, &other, NULL), ==,
                       step == 0);
    }
  tessera_follower_get_stats (follower, &stats);
  g_assert_cmpuint (stats.misses_occupied, ==, 9);
  g_assert_cmpuint (stats.misses, ==, 9);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

/* The block of the step before is still in A's place. Whether B's place, free for this
 * moment, serves A's next request instead. */
static void
check_elsewhere (uint16_t stream_of_b, uint32_t a_died, bool expected)
{
  static const guint ends[] = { 0, 2 };
  TesseraPlan plan = make_small_plan ("AB", "  ", ends, 2);
  TesseraFollower *follower;
  TesseraFollowerStats stats;
  uint64_t offset = 0;

  plan.n_streams = 2;
  plan.sections[1].end = plan.n_positions = 2;
  plan.slots[0].died = a_died;
  plan.slots[1].stream = stream_of_b;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  g_assert_true (tessera_follower_malloc (follower, 512, 0, 0, &offset, NULL));
  tessera_follower_step (follower);
  g_assert_cmpint (tessera_follower_malloc (follower, 512, 0, 0, &offset, NULL), ==,
                   expected);
  tessera_follower_get_stats (follower, &stats);
  g_assert_cmpuint (stats.hits_elsewhere, ==, expected);
  g_assert_cmpuint (stats.misses_occupied, ==, !expected);
  if (expected)
    {
      g_assert_cmpuint (offset, ==, plan.slots[1].offset_bytes);
      g_assert_true (tessera_follower_free_at (follower, offset));
    }
  tessera_follower_free (follower);
  clear_plan (&plan);
}

static void
test_elsewhere (void)
{
  check_elsewhere (0, 1, true);
  check_elsewhere (1, 1, false); /* another stream's */
  check_elsewhere (0, 2, false); /* B needs it while A lives */
}

static void
check_refused (TesseraPlan *plan)
{
  TesseraFollower *follower;

  g_assert_cmpint (tessera_follower_new (plan, &follower), ==, TESSERA_INVALID);
  g_assert_null (follower);
}

static void
test_hostile_plans (void)
{
  static const guint ends[] = { 1, 3 };
  TesseraPlan plan = make_small_plan ("ABC", "   ", ends, 2);
  TesseraFollower *follower;

  plan.slots[1].offset_bytes = UINT64_MAX - 100;
  check_refused (&plan);
  plan.slots[1].offset_bytes = 512;
  plan.slots[1].block_bytes = UINT64_MAX;
  check_refused (&plan);
  plan.slots[1].block_bytes = 0;
  check_refused (&plan);
  plan.slots[1].block_bytes = 512;
  plan.sections[1].n_slots = UINT32_MAX;
  check_refused (&plan);
  plan.sections[1].n_slots = 1;
  check_refused (&plan);
  plan.sections[1].n_slots = 2;
  plan.alignment_bytes = 0;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  tessera_follower_free (follower);
  plan.n_slots = plan.n_sections = 0;
  check_follow (&plan, "|fAB|", "--");
  clear_plan (&plan);
}

/* One request of the run, like a slot of the plan: what is kept has to get its place. */
static void
ask_like (TesseraFollower *follower, const TesseraSlot *slot)
{
  uint64_t offset_bytes;
  bool is_hit =
      tessera_follower_malloc (follower, slot->size_bytes, 0, 0, &offset_bytes, NULL);

  if (slot->lifetime_class == TESSERA_CLASS_PERSISTENT)
    g_assert_true (is_hit && offset_bytes == slot->offset_bytes);
  else if (is_hit)
    g_assert_true (tessera_follower_free_at (follower, offset_bytes));
}

/* The first step is skipped before its "backward" part, that makes forty things to keep:
 * the next step makes these, in the places that the start has for them. */
static void
test_owed (void)
{
  enum
  {
    N_FORWARD = 12,
    N_SIZES = 20,
    FIRST_KEPT = 1 + N_FORWARD,
    N_START = FIRST_KEPT + 3 * N_SIZES,
    N_ALL = N_START + N_FORWARD + N_SIZES
  };
  const guint ends[] = { N_START, N_ALL };
  g_autoptr (GString) sizes = g_string_new ("Z");
  g_autoptr (GString) phases = g_string_new (" ");
  TesseraFollowerStats stats;
  TesseraFollower *follower;
  TesseraPlan plan;

  for (guint section = 0; section < 2; section++)
    {
      for (guint i = 0; i < N_FORWARD; i++)
        g_string_append_c (sizes, (char) ('U' + section + i % 4));
      for (guint i = 0; section == 0 && i < 2 * N_SIZES; i++)
        g_string_append_c (sizes, (char) ('A' + i / 2));
      for (guint i = 0; i < N_SIZES; i++)
        g_string_append_c (sizes, (char) ('A' + i));
      while (phases->len < sizes->len)
        g_string_append_c (phases, sizes->str[phases->len] >= 'U' ? 'f' : 'b');
    }
  phases->str[0] = ' ';
  plan = make_small_plan (sizes->str, phases->str, ends, 2);
  for (guint i = FIRST_KEPT; i < FIRST_KEPT + 2 * N_SIZES; i++)
    plan.slots[i].lifetime_class = TESSERA_CLASS_PERSISTENT;
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  ask_like (follower, &plan.slots[0]);
  for (guint step = 0; step < 6; step++)
    {
      guint forward = step == 0 ? 1 : N_START;
      guint backward = step == 1 ? FIRST_KEPT : N_START + N_FORWARD;

      tessera_follower_step (follower);
      if (step == 1) /* that of the step before, in which nothing was asked for */
        tessera_follower_phase (follower, "backward");
      tessera_follower_phase (follower, "forward");
      for (guint i = forward; i < forward + N_FORWARD; i++)
        ask_like (follower, &plan.slots[i]);
      if (step == 0)
        continue;
      tessera_follower_phase (follower, "backward");
      for (guint i = backward; i < (step == 1 ? N_START : N_ALL); i++)
        ask_like (follower, &plan.slots[i]);
    }
  tessera_follower_get_stats (follower, &stats);
  /* Of the second step's forward part, until its place is found. */
  g_assert_cmpuint (stats.misses, <=, N_FORWARD);
  tessera_follower_free (follower);
  clear_plan (&plan);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/follow/nearest", test_nearest);
  g_test_add_func ("/allocator/follow/sections", test_sections);
  g_test_add_func ("/allocator/follow/kinds", test_kinds);
  g_test_add_func ("/allocator/follow/lost", test_lost);
  g_test_add_func ("/allocator/follow/phase", test_phase);
  g_test_add_func ("/allocator/follow/far-phase", test_far_phase);
  g_test_add_func ("/allocator/follow/start-is-past", test_start_is_past);
  g_test_add_func ("/allocator/follow/streams-and-pools", test_streams_and_pools);
  g_test_add_func ("/allocator/follow/still-taken", test_still_taken);
  g_test_add_func ("/allocator/follow/spare", test_spare);
  g_test_add_func ("/allocator/follow/rota", test_rota);
  g_test_add_func ("/allocator/follow/elsewhere", test_elsewhere);
  g_test_add_func ("/allocator/follow/owed", test_owed);
  g_test_add_func ("/allocator/follow/hostile-plans", test_hostile_plans);
  return g_test_run ();
}
