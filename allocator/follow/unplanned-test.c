/*
 * Tests of following a plan with requests that it leaves to others: just these miss,
 * however many of the same size are near.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"
#include "allocator/follow/matching.h"

#include <glib.h>
#include <string.h>

#define SEED 20260611

enum
{
  MAX_REQUESTS = 1024
};

/* A plan by hand: a letter is a request, its size the letter's number; a small one is
 * unplanned, a capital has a slot of its own range. '*' behind them is a spare like 'A'.
 */
typedef struct
{
  TesseraPlan plan;
  TesseraSection sections[8];
  TesseraSlot slots[MAX_REQUESTS];
  TesseraUnplanned unplanned[MAX_REQUESTS];
} Made;

static char *const names[] = { "forward", "backward" };

static uint64_t
bytes_of (char letter)
{
  return (uint64_t) (g_ascii_toupper (letter) - 'A' + 1) * 512;
}

static void
add_slot (Made *made, uint32_t section, char letter, uint32_t phase)
{
  TesseraPlan *plan = &made->plan;
  uint64_t block_bytes = letter == '*' ? 512 : bytes_of (letter);

  made->slots[plan->n_slots++] =
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
add_unplanned (Made *made, uint32_t section, char letter, uint32_t phase)
{
  TesseraPlan *plan = &made->plan;

  made->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = bytes_of (letter),
                          .block_bytes = bytes_of (letter),
                          .before = (uint32_t) plan->n_slots,
                          .born = plan->n_positions,
                          .section = section,
                          .phase = phase };
}

/* @text: '|' ends a section, '(' and ')' begin phases; only the second section and those
 * behind it repeat. */
static Made *
make (const char *text)
{
  Made *made = g_new0 (Made, 1);
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

      if (*p == '|')
        {
          section[1] = (TesseraSection){ .begin = plan->n_positions,
                                         .end = plan->n_positions,
                                         .first_slot = (uint32_t) plan->n_slots,
                                         .kind = TESSERA_SECTION_REPEATS };
          plan->n_sections++;
          continue;
        }
      if (*p == '(' || *p == ')')
        {
          phase = *p == ')';
          continue;
        }
      if (g_ascii_islower (*p))
        add_unplanned (made, (uint32_t) plan->n_sections - 1, *p, phase);
      else
        add_slot (made, (uint32_t) plan->n_sections - 1, *p, phase);
      section->end = ++plan->n_positions;
      section->n_slots = (uint32_t) plan->n_slots - section->first_slot;
    }
  return made;
}

/* Makes the requests of @letters, freed at once. Returns: which slots served them, '.'
 * for a miss that was planned, '-' for another. */
static char *
follow_text (const TesseraPlan *plan, const char *letters)
{
  Followed *follower;
  TesseraFollowerStats stats;
  GString *out = g_string_new (NULL);
  guint n_planned = 0, n_misses = 0;

  follower = followed_new (plan);
  for (const char *p = letters; *p != '\0'; p++)
    {
      uint64_t offset;
      uint32_t slot;

      if (*p == '|')
        tessera_follower_step (follower->follower);
      else if (*p == '(' || *p == ')')
        tessera_follower_phase (follower->follower, names[*p == ')']);
      else if (followed_malloc (follower, bytes_of (*p), 0, 0, &offset, &slot))
        {
          g_string_append_c (out, (char) ('a' + slot % 26));
          g_assert_cmpuint (offset, ==, plan->slots[slot].offset_bytes);
          g_assert_false (tessera_follower_was_unplanned (follower->follower));
          g_assert_true (followed_free_at (follower, offset));
        }
      else
        {
          n_misses++;
          n_planned += tessera_follower_was_unplanned (follower->follower);
          g_string_append_c (
              out, tessera_follower_was_unplanned (follower->follower) ? '.' : '-');
        }
    }
  tessera_follower_get_stats (follower->follower, &stats);
  g_assert_cmpuint (stats.misses, ==, n_misses);
  g_assert_cmpuint (stats.misses_planned, ==, n_planned);
  g_assert_cmpuint (stats.misses, ==,
                    stats.misses_planned + stats.misses_unknown + stats.misses_occupied);
  followed_free (follower);
  return g_string_free (out, FALSE);
}

static void
check (const char *made_of, const char *letters, const char *expected)
{
  g_autofree Made *made = make (made_of);
  g_autofree char *found = follow_text (&made->plan, letters);

  g_assert_cmpstr (found, ==, expected);
}

/* Whichever of several equals it is. */
static void
test_among_equals (void)
{
  check ("|AAAA", "|AAAA|AAAA", "abcdabcd");
  check ("|aAAA", "|AAAA|AAAA", ".abc.abc");
  check ("|AaAA", "|AAAA|AAAA", "a.bca.bc");
  check ("|AAAa", "|AAAA|AAAA", "abc.abc.");
  check ("|aaAa", "|AAAA|AAAA|AAAA", "..a...a...a.");
  /* without marks, too */
  check ("|AaAA", "AAAAAAAAAAAA", "a.bca.bca.bc");
  /* before the steps, and where nothing has a slot */
  check ("aA|A", "AA|A|A", ".abb");
  check ("|aaa", "|AAA|AAA", "......");
  check ("aa|A", "AA|A|A", "..aa");
  /* larger than the whole pool */
  check ("|Az", "|AZ|AZ", "a.a.");
  /* the last request of a step, with a spare behind it */
  check ("|ABa*", "|ABA|ABA", "ab.ab.");
  check ("|Ba*|C", "|BA|BA", "a.a.");
  /* and before a kind of step that has spares alone */
  check ("|Ba|*|C", "|BA|BA", "a.a.");
  check ("|Ba|*b|C", "|BA|BA", "a.a.");
}

/* What the run leaves out or adds costs itself, and moves nothing. */
static void
test_changed_a_little (void)
{
  check ("|AaABCD", "|AAABCD|AABCD|AAABCD", "a.bcdea.cdea.bcde");
  check ("|BaAaC", "|BAAAC|BAZAAC|BAAAC", "a.b.ca.-b.ca.b.c");
  check ("|AbCbDbE", "|ABCBDBE|ABZCBDBE|ACBDBE", "a.b.c.da.-b.c.dab.c.d");
}

/* The phase says where the run is also where it begins with an unplanned request. */
static void
test_phases (void)
{
  check ("|(ABABABA)aBCCCC", "|(ABABABA)ABCCCC|(A)ABCCCC", "abcdefg.hijkla.hijkl");
}

/* Two kinds of step: which it is an unplanned request tells. */
static void
test_kinds (void)
{
  check ("|ABCD|ABeD", "|ABCD|ABED|ABCD|ABED", "abcdab.gabcdab.g");
  check ("|aBCD|aBED", "|ABCD|ABED|ABED", ".abc.aef.aef");
}

static void
check_refused (const TesseraPlan *plan)
{
  TesseraFollower *follower;

  g_assert_cmpint (tessera_follower_new (plan, &follower), ==, TESSERA_INVALID);
  g_assert_null (follower);
}

static void
test_hostile (void)
{
  g_autofree Made *made = make ("A|AaBa|C");
  TesseraUnplanned *unplanned = made->unplanned;

  unplanned[1].before = unplanned[0].before - 1;
  check_refused (&made->plan);
  unplanned[1].before = UINT32_MAX;
  g_free (follow_text (&made->plan, "A|AAB|AABA|Z"));
  unplanned[1].section = 3;
  check_refused (&made->plan);
  unplanned[1].section = 0;
  check_refused (&made->plan);
  unplanned[1].section = 1;
  unplanned[0].block_bytes = 0;
  check_refused (&made->plan);
  unplanned[0].block_bytes = UINT64_MAX;
  g_free (follow_text (&made->plan, "A|AAB|AABA|Z"));
  made->plan.n_unplanned = TESSERA_NONE;
  check_refused (&made->plan);
}

/* Random sizes out of few, so that everything has many equals. */
static char *
draw_text (GRand *rand, guint n, guint n_sizes, double unplanned)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    {
      char letter = (char) ('G' + g_rand_int_range (rand, 0, (gint32) n_sizes));

      if (i == n / 4)
        g_string_append_c (text, '|');
      g_string_append_c (text, g_rand_double (rand) < unplanned
                                   ? (char) g_ascii_tolower (letter)
                                   : letter);
    }
  return g_string_free (text, FALSE);
}

/* A run of the plan's steps, in which some requests are left out and others are added. */
static char *
draw_run (GRand *rand, const char *made_of, double change)
{
  const char *step = strchr (made_of, '|') + 1;
  GString *run = g_string_new_len (made_of, step - made_of - 1);
  gboolean has_marks = g_rand_boolean (rand);

  for (guint s = 0; s < 4; s++)
    {
      if (has_marks)
        g_string_append_c (run, '|');
      for (const char *p = step; *p != '\0'; p++)
        {
          if (g_rand_double (rand) < change)
            g_string_append_c (run,
                               step[g_rand_int_range (rand, 0, (gint32) strlen (step))]);
          if (g_rand_double (rand) >= change)
            g_string_append_c (run, *p);
        }
    }
  return g_string_free (run, FALSE);
}

static uint32_t
find (TesseraCourse *course, const TesseraSlots *slots, char letter)
{
  const TesseraAlignRequest request = {
    tessera_slots_find_signature (slots, bytes_of (letter), 0, 0), UINT64_MAX
  };

  if (letter == '|')
    tessera_course_step (course);
  return letter == '|' ? TESSERA_NONE : tessera_course_find (course, &request);
}

/* Where a run is does not depend on who has a place: the same requests are found as in
 * the plan in which all have one. */
static guint
compare_courses (const char *made_of, const char *run)
{
  g_autofree char *all_of = g_ascii_strup (made_of, -1);
  g_autofree Made *some = make (made_of), *all = make (all_of);
  TesseraSlots slots[2];
  TesseraCourse courses[2];
  guint n_unplanned = 0;

  g_assert_cmpint (tessera_slots_init (&slots[0], &some->plan), ==, TESSERA_OK);
  g_assert_cmpint (tessera_slots_init (&slots[1], &all->plan), ==, TESSERA_OK);
  for (int i = 0; i < 2; i++)
    g_assert_cmpint (tessera_course_init (&courses[i], &slots[i]), ==, TESSERA_OK);
  for (const char *p = run; *p != '\0'; p++)
    {
      uint32_t found = find (&courses[0], &slots[0], *p);

      g_assert_cmpuint (found, ==, find (&courses[1], &slots[1], *p));
      if (found == TESSERA_NONE)
        continue;
      /* all->slots are the requests in order */
      if (tessera_slots_of_request (&slots[0], found) == TESSERA_NONE)
        n_unplanned++;
      else
        g_assert_cmpuint (some->slots[tessera_slots_of_request (&slots[0], found)].born,
                          ==, all->slots[found].born);
    }
  for (int i = 0; i < 2; i++)
    {
      tessera_course_clear (&courses[i]);
      tessera_slots_clear (&slots[i]);
    }
  return n_unplanned;
}

static void
test_course (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  guint n_unplanned = 0;

  for (guint n = 0; n < 300; n++)
    {
      g_autofree char *made_of =
          draw_text (rand, 8 + (guint) g_rand_int_range (rand, 0, 300),
                     1 + (guint) g_rand_int_range (rand, 0, 12), g_rand_double (rand));
      g_autofree char *run = draw_run (rand, made_of, n % 3 * 0.02);

      n_unplanned += compare_courses (made_of, run);
    }
  g_assert_cmpuint (n_unplanned, >, 10000);
}

/* The run that was planned: what has a slot is in it, what has none misses, step after
 * step. */
static void
test_as_planned (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED + 1);

  for (guint n = 0; n < 100; n++)
    {
      g_autofree char *made_of =
          draw_text (rand, 8 + (guint) g_rand_int_range (rand, 0, 300),
                     1 + (guint) g_rand_int_range (rand, 0, 12), g_rand_double (rand));
      g_autofree char *run = draw_run (rand, made_of, 0);
      g_autofree Made *made = make (made_of);
      g_autofree char *found = follow_text (&made->plan, run);
      g_autoptr (GString) expected = g_string_new (NULL);

      for (guint i = 0, slot = 0; made_of[i] != '\0'; i++)
        if (made_of[i] != '|')
          g_string_append_c (
              expected, g_ascii_islower (made_of[i]) ? '.' : (char) ('a' + slot++ % 26));
      for (guint s = 1, n_start = made->sections[0].end; s < 4; s++)
        g_string_append_len (expected, expected->str + n_start,
                             made->plan.n_positions - n_start);
      g_assert_cmpstr (found, ==, expected->str);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/unplanned/among-equals", test_among_equals);
  g_test_add_func ("/allocator/unplanned/changed-a-little", test_changed_a_little);
  g_test_add_func ("/allocator/unplanned/phases", test_phases);
  g_test_add_func ("/allocator/unplanned/kinds", test_kinds);
  g_test_add_func ("/allocator/unplanned/hostile", test_hostile);
  g_test_add_func ("/allocator/unplanned/course", test_course);
  g_test_add_func ("/allocator/unplanned/as-planned", test_as_planned);
  return g_test_run ();
}
