/*
 * Tests of where a run is in its plan: sections, kinds of step, phases, and finding it
 * again; and of its place in a planned sequence, in which signatures are letters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"
#include "allocator/follow/matching.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

#define SEED 20260611

static void
test_sections (void)
{
  /* slots: start ab, step cdef, end gh */
  static const char plan[] = "AB|CDEF!GH";

  small_plan_check (plan, "ABCDEFGH", "abcdefgh");
  small_plan_check (plan, "ABCDEFCDEFCDEFGH", "abcdefcdefcdefgh");
  small_plan_check (plan, "AB|CDEF|CDEFGH", "abcdefcdefgh");
  small_plan_check (plan, "AB|CDE|CDEF|CDEF", "abcdecdefcdef");
  /* a request nobody planned, and one of another size, change nothing */
  small_plan_check (plan, "ABCZDEFCDEF", "abc-defcdef");
}

/* The first step of a small program is the start's: it begins like the others, with a mark
 * that is not far from the start's end. */
static void
test_first_step (void)
{
  /* slots: start abcde, of which the first step makes cde; step fgh */
  static const char plan[] = "ABCDE|CDF";

  small_plan_check (plan, "AB|CDE|CDF|CDF", "abcdefghfgh");
  /* Its last request is left out, or the first of the next step. */
  small_plan_check (plan, "AB|CD|CDF|CDF", "abcdfghfgh");
  small_plan_check (plan, "AB|CDE|DF|CDF", "abcdeghfgh");
}

/* Of rows that are alike the first one ahead, else the first that may still come. */
static void
test_alike (void)
{
  /* rows of the start end at 7, 16 and 25, that of the step at 34 */
  g_autofree TesseraPlan *made =
      small_plan_make ("ABCDEFGHZABCDEFGHZABCDEFGHZ|ABCDEFGHZ");
  static const struct
  {
    uint32_t cursor, first, expected;
  } cases[] = { { 0, 0, 7 },  { 7, 0, 7 },    { 8, 0, 16 },  { 26, 0, 34 },
                { 35, 0, 7 }, { 35, 27, 34 }, { 35, 8, 16 }, { 35, 35, TESSERA_NONE } };
  TesseraSlots slots;

  OK (tessera_slots_init (&slots, made));
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpuint (tessera_slots_find_gram (&slots, slots.signatures, cases[i].cursor,
                                               cases[i].first),
                      ==, cases[i].expected);
  g_assert_cmpuint (tessera_slots_find_gram (&slots, slots.signatures + 4, 0, 0), ==, 11);
  tessera_slots_clear (&slots);
}

/* Two kinds of step that begin alike, and one that does not: the first request that only
 * one of them has tells which it is. */
static void
test_kinds (void)
{
  /* slots: start ab, kinds cdef, ghij and klm, end n */
  static const char plan[] = "AB|CDEF|CDGH|XYC!Z";

  small_plan_check (plan, "AB|CDEF|CDEF", "abcdefcdef");
  small_plan_check (plan, "AB|CDEF|CDGH|CDEF|CDEF", "abcdefcdijcdefcdef");
  /* What comes most often is thought of first. */
  small_plan_check (plan, "AB|CDGH|CDGH|CDGH|CDEF", "abcdijghijghijghef");
  /* No mark where the evaluation begins. */
  small_plan_check (plan, "AB|CDEFXYC|CDGH|CDEFXYC|CDEF", "abcdefklmcdijcdefklmcdef");
  /* No marks at all. */
  small_plan_check (plan, "ABCDEFCDGHXYCCDEFCDEF", "abcdefcdijklmcdefcdef");
  /* A request that nobody planned tells nothing. */
  small_plan_check (plan, "AB|CDEF|CWDGH|XYC", "abcdefc-dijklm");
  /* One that is left out: the step is none of them, and goes on as the likely one. */
  small_plan_check (plan, "AB|CDEF|CDEF|CEF|CDGH", "abcdefcdefcefcdij");
}

/* The evaluation behind the last step, where the next one seemed to begin. */
static void
test_end (void)
{
  static const char plan[] = "AB|(CDEF!)GH";

  small_plan_check (plan, "AB|(CDEF|(CDEF|)GH", "abcdefcdefgh");
  /* It came more often. */
  small_plan_check (plan, "AB|(CDEF|)GH|(CDEF|)GH", "abcdefghcdefgh");
}

/* Follows @plan up to slot @jump, then from 500 on, then from 0: far more than is looked
 * ahead for. Returns: the requests until the run was found again. */
static guint
count_lost (const TesseraPlan *plan, guint jump)
{
  guint n_lost = 0;

  g_autoptr (Followed) follower = followed_new (plan);
  for (guint k = 0; k < jump + 300; k++)
    {
      guint i = k < jump ? k : k < jump + 200 ? k - jump + 500 : k - jump - 200;
      uint64_t offset;
      uint32_t slot = TESSERA_NONE;

      if (followed_malloc (follower, plan->slots[i].size_bytes, 0, 0, &offset, &slot))
        g_assert_true (followed_free_at (follower, offset));
      n_lost += slot != i;
      if (k == jump - 1 || k == jump + 199 || k == jump + 299)
        g_assert_cmpuint (slot, ==, i);
    }
  return n_lost;
}

static void
test_lost (void)
{
  const guint n = 1000;
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) text = g_string_new ("|");
  guint n_soon = 0;

  for (guint i = 0; i < n; i++)
    g_string_append_c (text, (char) g_rand_int_range (rand, 'A', 'G'));
  g_autofree TesseraPlan *plan = small_plan_make (text->str);
  for (guint jump = 100; jump < 116; jump++)
    {
      guint n_lost = count_lost (plan, jump);

      g_test_message ("requests until found again, twice: %u", n_lost);
      g_assert_cmpuint (n_lost, <, 80);
      n_soon += n_lost <= 2 * TESSERA_GRAM_REQUESTS;
    }
  /* Where nothing else looks like it: with the first that tell one place from others. */
  g_assert_cmpuint (n_soon, >=, 6);
}

static void
test_phase (void)
{
  static const char plan[] = "|(ABAB)ABABCCCC";

  /* Three requests of the first phase are missing. By themselves A and B are ambiguous.
   */
  small_plan_check (plan, "|(ABAB)ABABCCCC", "abcdefghijkl");
  small_plan_check (plan, "|(A)ABABCCCC", "aefghijkl");
}

static guint
count_in_place (Followed *follower, const TesseraPlan *plan, guint first, guint n)
{
  guint n_in_place = 0;

  for (guint i = first; i < first + n; i++)
    {
      uint64_t offset;
      uint32_t slot;

      if (!followed_malloc (follower, plan->slots[i].size_bytes, 0, 0, &offset, &slot))
        continue;
      n_in_place += slot == i && offset == plan->slots[i].offset_bytes;
      g_assert_true (followed_free_at (follower, offset));
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
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n_start + 3 * n_step; i++)
    {
      if (i == n_start + 2 * n_step)
        g_string_append_c (text, '|');
      if (i >= n_start && (i - n_start) % n_step == 0)
        g_string_append_c (text, '(');
      if (i >= n_start && (i - n_start) % n_step == n_forward)
        g_string_append_c (text, '.');
      g_string_append_c (text, (char) g_rand_int_range (rand, 'A', 'Z'));
    }
  g_autofree TesseraPlan *plan = small_plan_make (text->str);
  g_autoptr (Followed) follower = followed_new (plan);
  count_in_place (follower, plan, 0, n_start);
  for (guint step = 0; step < 5; step++)
    {
      guint forward = n_start + MIN (step, 2) * n_step, tail = forward + n_forward;

      tessera_follower_step (follower->follower);
      if (step > 0)
        count_in_place (follower, plan, tail, n_tail / 2);
      tessera_follower_phase (follower->follower, "forward");
      g_assert_cmpuint (count_in_place (follower, plan, forward, n_forward), ==,
                        n_forward);
      tessera_follower_phase (follower->follower, NULL);
      /* entered again without requests: that moves nothing */
      tessera_follower_phase (follower->follower, "forward");
      tessera_follower_phase (follower->follower, NULL);
      g_assert_cmpuint (count_in_place (follower, plan, tail, n_tail), ==, n_tail);
    }
}

/* An evaluation that asks for what the start asked for does not bring the start back. */
static void
test_start_is_past (void)
{
  const guint n_start = 150, n_step = 60;
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < n_start + n_step; i++)
    g_string_append_c (text, (char) g_rand_int_range (rand, 'A', 'Z'));
  g_string_insert_c (text, n_start, '|');
  g_autofree TesseraPlan *plan = small_plan_make (text->str);
  g_autoptr (Followed) follower = followed_new (plan);
  g_assert_cmpuint (count_in_place (follower, plan, 0, n_start), ==, n_start);
  tessera_follower_step (follower->follower);
  g_assert_cmpuint (count_in_place (follower, plan, n_start, n_step), ==, n_step);
  tessera_follower_step (follower->follower);
  count_in_place (follower, plan, 0, n_start / 2);
  tessera_follower_step (follower->follower);
  g_assert_cmpuint (count_in_place (follower, plan, n_start, n_step), ==, n_step);
}

/* One request of the run, like a slot of the plan: what is kept has to get its place. */
static void
ask_like (Followed *follower, const TesseraSlot *slot)
{
  uint64_t offset_bytes;
  bool is_hit = followed_malloc (follower, slot->size_bytes, 0, 0, &offset_bytes, NULL);

  if (slot->lifetime_class == TESSERA_CLASS_PERSISTENT)
    g_assert_true (is_hit && offset_bytes == slot->offset_bytes);
  else if (is_hit)
    g_assert_true (followed_free_at (follower, offset_bytes));
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
  g_autoptr (GString) text = g_string_new ("Z");

  for (guint section = 0; section < 2; section++)
    {
      g_string_append (text, section == 0 ? "(" : "|(");
      for (guint i = 0; i < N_FORWARD; i++)
        g_string_append_c (text, (char) ('U' + section + i % 4));
      g_string_append_c (text, ')');
      for (guint i = 0; section == 0 && i < 2 * N_SIZES; i++)
        g_string_append_c (text, (char) ('A' + i / 2));
      for (guint i = 0; i < N_SIZES; i++)
        g_string_append_c (text, (char) ('A' + i));
    }
  g_autofree TesseraPlan *plan = small_plan_make (text->str);
  for (guint i = FIRST_KEPT; i < FIRST_KEPT + 2 * N_SIZES; i++)
    plan->slots[i].lifetime_class = TESSERA_CLASS_PERSISTENT;
  g_autoptr (Followed) follower = followed_new (plan);
  ask_like (follower, &plan->slots[0]);
  for (guint step = 0; step < 6; step++)
    {
      guint forward = step == 0 ? 1 : N_START;
      guint backward = step == 1 ? FIRST_KEPT : N_START + N_FORWARD;

      tessera_follower_step (follower->follower);
      if (step == 1) /* that of the step before, in which nothing was asked for */
        tessera_follower_phase (follower->follower, "backward");
      tessera_follower_phase (follower->follower, "forward");
      for (guint i = forward; i < forward + N_FORWARD; i++)
        ask_like (follower, &plan->slots[i]);
      if (step == 0)
        continue;
      tessera_follower_phase (follower->follower, "backward");
      for (guint i = backward; i < (step == 1 ? N_START : N_ALL); i++)
        ask_like (follower, &plan->slots[i]);
    }
  /* Of the second step's forward part, until its place is found. */
  g_assert_cmpuint (follower->stats.misses, <=, N_FORWARD);
}

enum
{
  N_FORWARD = 20,
  N_UPDATE = 60,
  N_TAIL = 40
};

/* A step of which the second part is an optimizer's, or sums that nobody calls a phase; what
 * the end asks for is like the begin. */
static TesseraPlan *
make_step (bool is_optimizer)
{
  static const char *const names[] = { "forward", "optimizer" };
  g_autoptr (GString) text = g_string_new ("Z|(");

  for (guint i = 0; i < N_FORWARD; i++)
    g_string_append_c (text, (char) ('B' + i % 9));
  g_string_append_c (text, is_optimizer ? ')' : '.');
  for (guint i = 0; i < N_UPDATE; i++)
    g_string_append_c (text, is_optimizer ? (char) ('K' + i * i % 13) : 'A');
  g_string_append_c (text, '.');
  for (guint i = 0; i < N_TAIL; i++)
    g_string_append_c (text, (char) ('B' + i % 9));
  TesseraPlan *made = small_plan_make (text->str);
  made->strings = (char **) names;
  return made;
}

/* Between two steps the weights are copied, for good, one after the other. They have the sizes
 * of what the optimizer makes, or one size as sums have: their places stay free for it. */
static void
test_copy (void)
{
  for (guint is_optimizer = 0; is_optimizer < 2; is_optimizer++)
    {
      g_autofree TesseraPlan *plan = make_step (is_optimizer != 0);
      g_autoptr (Followed) follower = followed_new (plan);
      uint64_t offset_bytes;

      count_in_place (follower, plan, 0, 1);
      for (guint step = 0; step < 6; step++)
        {
          tessera_follower_step (follower->follower);
          tessera_follower_phase (follower->follower, "forward");
          g_assert_cmpuint (count_in_place (follower, plan, 1, N_FORWARD), ==, N_FORWARD);
          tessera_follower_phase (follower->follower,
                                  is_optimizer != 0 ? "optimizer" : NULL);
          g_assert_cmpuint (count_in_place (follower, plan, 1 + N_FORWARD, N_UPDATE), >=,
                            N_UPDATE - 1);
          tessera_follower_phase (follower->follower, NULL);
          for (guint i = 0; step == 2 && i < N_UPDATE; i++)
            (void) followed_malloc (follower, plan->slots[1 + N_FORWARD + i].size_bytes,
                                    0, 0, &offset_bytes, NULL);
        }
    }
}

/* ---- The place in a sequence ---- */

/* Which planned request each letter of @run was taken for, as a text: "-" for none, else
 * the place's last digit. */
static char *
align_text (const char *planned, const char *next, const char *run)
{
  guint32 now[128], after[128];
  TesseraRoute route = { .now = now, .next = after };
  TesseraAlign align;
  GString *out = g_string_new (NULL);

  for (const char *p = planned; *p != '\0'; p++)
    now[route.n_now++] = (guint32) *p;
  for (const char *p = next; *p != '\0'; p++)
    after[route.n_next++] = (guint32) *p;
  tessera_align_reset (&align, 0);
  for (const char *p = run; *p != '\0'; p++)
    {
      int64_t place;

      if (tessera_align_request (&align, &route,
                                 &(TesseraAlignRequest){ (guint32) *p, UINT64_MAX },
                                 &place) == TESSERA_ALIGN_PLANNED)
        g_string_append_c (out, (char) ('0' + place % 10));
      else
        g_string_append_c (out, '-');
    }
  return g_string_free (out, FALSE);
}

static void
check (const char *planned, const char *next, const char *run, const char *expected)
{
  g_autofree char *found = align_text (planned, next, run);

  g_assert_cmpstr (found, ==, expected);
}

static void
test_as_planned (void)
{
  check ("ABCABC", "", "ABCABC", "012345");
  check ("ABC", "XYZ", "ABCXYZ", "012345");
}

static void
test_left_out (void)
{
  check ("ABCDEF", "", "ABDEF", "01345");
  check ("ABCDEF", "", "CDEF", "-345"); /* two at once: the first is not believed */
  check ("ABC", "XYZ", "ABXYZ", "01345");
}

static void
test_extra (void)
{
  check ("ABCDEF", "", "ABFCDEF", "01-2345");
  check ("ABCDEF", "", "ABQCDEF", "01-2345");
  /* C was taken for the planned one; its true one comes and has the same place */
  check ("ABCABC", "", "ACBCABC", "0212345");
}

static void
test_swapped (void)
{
  check ("ABCDEFGH", "", "ABDCEFGH", "01324567");
}

/* A random run of a long plan: an edit costs its own request and no other. */
static void
test_one_edit (void)
{
  const guint n = 1000;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autofree guint32 *planned = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    planned[i] = (guint32) g_rand_int_range (rand, 0, 12);
  for (guint at = 100; at < 900; at++)
    {
      TesseraRoute route = { .now = planned, .n_now = n };
      TesseraAlign align;
      guint n_wrong = 0;

      tessera_align_reset (&align, 0);
      for (guint i = 0; i < n; i++)
        {
          int64_t place;

          if (i == at)
            continue;
          if (tessera_align_request (&align, &route,
                                     &(TesseraAlignRequest){ planned[i], UINT64_MAX },
                                     &place) != TESSERA_ALIGN_PLANNED ||
              place != i)
            n_wrong++;
        }
      /* Equal neighbours of the one left out may change places with it. */
      g_assert_cmpuint (n_wrong, <=, 4);
      g_assert_cmpint (align.cursor, ==, n);
      g_assert_true (align.is_sure);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/follow/course/alike", test_alike);
  g_test_add_func ("/allocator/follow/course/sections", test_sections);
  g_test_add_func ("/follow-course/first-step", test_first_step);
  g_test_add_func ("/allocator/follow/course/kinds", test_kinds);
  g_test_add_func ("/allocator/follow/course/end", test_end);
  g_test_add_func ("/allocator/follow/course/lost", test_lost);
  g_test_add_func ("/allocator/follow/course/phase", test_phase);
  g_test_add_func ("/allocator/follow/course/far-phase", test_far_phase);
  g_test_add_func ("/allocator/follow/course/copy", test_copy);
  g_test_add_func ("/allocator/follow/course/start-is-past", test_start_is_past);
  g_test_add_func ("/allocator/follow/course/owed", test_owed);
  g_test_add_func ("/allocator/align/as-planned", test_as_planned);
  g_test_add_func ("/allocator/align/left-out", test_left_out);
  g_test_add_func ("/allocator/align/extra", test_extra);
  g_test_add_func ("/allocator/align/swapped", test_swapped);
  g_test_add_func ("/allocator/align/one-edit", test_one_edit);
  return g_test_run ();
}
