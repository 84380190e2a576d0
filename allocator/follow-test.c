/*
 * Tests of following a plan: the whole of it, what the run leaves out or adds, and that
 * no range is ever handed out twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow.h"

#include <glib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)
#define SEED 20260611

/* One event of a made-up training step: a request, or the end of an earlier one. */
typedef struct
{
  uint64_t size_bytes;
  uint32_t stream;
  uint32_t request; /* of a free: which request of the step it ends */
  bool is_free;
} Op;

typedef struct
{
  GArray *ops; /* Op; requests are numbered in order */
  guint n_requests;
} Step;

static uint32_t
add_request (Step *step, uint64_t size_bytes)
{
  Op op = { .size_bytes = size_bytes, .request = step->n_requests };

  g_array_append_val (step->ops, op);
  return step->n_requests++;
}

static void
add_free (Step *step, uint32_t request)
{
  Op op = { .request = request, .is_free = true };

  g_array_append_val (step->ops, op);
}

/* Forward and backward through equal layers, with what the layers keep, what they only
 * need for a moment, and gradients that die when the optimizer has run. */
static Step
make_step (guint n_layers)
{
  static const uint64_t kept[] = { 6 * MIB, 18 * MIB, 512, 24 * MIB, 6 * MIB, 6 * MIB };
  Step step = { .ops = g_array_new (FALSE, FALSE, sizeof (Op)) };
  g_autoptr (GArray) saved = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  g_autoptr (GArray) gradients = g_array_new (FALSE, FALSE, sizeof (uint32_t));

  for (guint l = 0; l < n_layers; l++)
    for (guint k = 0; k < G_N_ELEMENTS (kept); k++)
      {
        uint32_t moment = add_request (&step, (k + 1) * 3 * MIB + 512 * (k % 2));
        uint32_t r = add_request (&step, kept[k]);

        g_array_append_val (saved, r);
        add_free (&step, moment);
      }
  for (guint l = n_layers; l-- > 0;)
    for (guint k = G_N_ELEMENTS (kept); k-- > 0;)
      {
        uint32_t a = add_request (&step, (k + 2) * 2 * MIB);
        uint32_t g = add_request (&step, kept[k] / 2 + 1000);
        uint32_t b = add_request (&step, kept[k]);

        add_free (&step, a);
        add_free (&step, g_array_index (saved, uint32_t, l * G_N_ELEMENTS (kept) + k));
        g_array_append_val (gradients, g);
        add_free (&step, b);
      }
  for (guint i = 0; i < gradients->len; i++)
    {
      uint32_t t = add_request (&step, 5 * MIB);

      add_free (&step, g_array_index (gradients, uint32_t, i));
      add_free (&step, t);
    }
  return step;
}

/* A tight plan of one repeating step, by first fit: what the run changes then really gets
 * in the way of what was planned. */
static TesseraPlan
make_plan (const Step *step)
{
  TesseraPlan plan = { .alignment_bytes = 512, .n_positions = step->ops->len };
  guint n = 0;

  plan.slots = g_new0 (TesseraSlot, step->n_requests);
  plan.n_slots = step->n_requests;
  plan.sections = g_new0 (TesseraSection, 1);
  plan.n_sections = 1;
  plan.sections[0] = (TesseraSection){ .end = step->ops->len,
                                       .n_slots = step->n_requests,
                                       .kind = TESSERA_SECTION_REPEATS };
  for (guint i = 0; i < step->ops->len; i++)
    {
      const Op *op = &g_array_index (step->ops, Op, i);
      TesseraSlot *slot = &plan.slots[op->request];

      if (op->is_free)
        slot->died = i;
      else
        *slot = (TesseraSlot){ .size_bytes = op->size_bytes,
                               .block_bytes = (op->size_bytes + 511) / 512 * 512,
                               .born = i,
                               .died = step->ops->len,
                               .phase = TESSERA_NONE };
    }
  for (n = 0; n < plan.n_slots; n++)
    {
      TesseraSlot *slot = &plan.slots[n];

      for (guint k = 0; k < n;)
        {
          const TesseraSlot *other = &plan.slots[k++];

          if (other->died > slot->born &&
              other->offset_bytes < slot->offset_bytes + slot->block_bytes &&
              slot->offset_bytes < other->offset_bytes + other->block_bytes)
            {
              slot->offset_bytes = other->offset_bytes + other->block_bytes;
              k = 0;
            }
        }
      plan.height_bytes = MAX (plan.height_bytes, slot->offset_bytes + slot->block_bytes);
    }
  return plan;
}

static void
clear_plan (TesseraPlan *plan)
{
  g_free (plan->slots);
  g_free (plan->sections);
}

/* A run of a plan, with a list of all that it was given as the honest witness. */
typedef struct
{
  TesseraFollower *follower;
  GArray *live; /* pairs of uint64_t: begin, end */
} Run;

static bool
run_malloc (Run *run, uint64_t size_bytes, uint32_t stream, uint64_t *out_offset)
{
  uint64_t range[2];
  uint32_t slot;

  if (!tessera_follower_malloc (run->follower, size_bytes, stream, 0, &range[0], &slot))
    return false;
  range[1] = range[0] + size_bytes;
  for (guint i = 0; i < run->live->len; i++)
    {
      const uint64_t *other = &g_array_index (run->live, uint64_t, 2 * i);

      g_assert_true (other[1] <= range[0] || range[1] <= other[0]);
    }
  g_array_append_vals (run->live, range, 1);
  *out_offset = range[0];
  return true;
}

static void
run_free (Run *run, uint64_t offset)
{
  g_assert_true (tessera_follower_free_at (run->follower, offset));
  for (guint i = 0; i < run->live->len; i++)
    if (g_array_index (run->live, uint64_t, 2 * i) == offset)
      {
        g_array_remove_index_fast (run->live, i);
        return;
      }
  g_assert_not_reached ();
}

static Run
run_begin (const TesseraPlan *plan)
{
  Run run = { .live = g_array_new (FALSE, FALSE, 2 * sizeof (uint64_t)) };

  g_assert_cmpint (tessera_follower_new (plan, &run.follower), ==, TESSERA_OK);
  return run;
}

static void
run_end (Run *run)
{
  tessera_follower_free (run->follower);
  g_array_unref (run->live);
}

typedef struct
{
  double dropped;  /* share of the requests left out, with their frees */
  double inserted; /* requests added, per planned one; freed a little later */
  double swapped;  /* requests that change places with the next event */
  bool marks;
} Change;

typedef struct
{
  guint kept, hits;
} Score;

/* Runs @n_steps of @step, changed at random, and counts how many of the requests that
 * have a slot got one. */
static Score
run_changed (
    const Step *step, const TesseraPlan *plan, guint n_steps, Change change, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree uint64_t *where = g_new (uint64_t, step->n_requests);
  g_autoptr (GArray) extra = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  Run run = run_begin (plan);
  Score score = { 0 };

  for (guint s = 0; s < n_steps; s++)
    {
      if (change.marks)
        tessera_follower_step (run.follower);
      for (guint i = 0; i < step->ops->len; i++)
        {
          const Op *op = &g_array_index (step->ops, Op, i);
          uint64_t offset;

          if (op->is_free)
            {
              if (where[op->request] != UINT64_MAX)
                run_free (&run, where[op->request]);
              continue;
            }
          where[op->request] = UINT64_MAX;
          if (extra->len > 0 && g_rand_double (rand) < 0.05)
            {
              run_free (&run, g_array_index (extra, uint64_t, 0));
              g_array_remove_index (extra, 0);
            }
          if (g_rand_double (rand) < change.inserted)
            {
              guint like = (guint) g_rand_int_range (rand, 0, (gint32) step->n_requests);

              if (run_malloc (&run, plan->slots[like].size_bytes, 0, &offset))
                g_array_append_val (extra, offset);
            }
          if (g_rand_double (rand) < change.dropped)
            continue;
          score.kept++;
          if (run_malloc (&run, op->size_bytes, op->stream, &offset))
            {
              where[op->request] = offset;
              score.hits++;
            }
        }
    }
  run_end (&run);
  return score;
}

static void
test_own_trace (void)
{
  Step step = make_step (24);
  TesseraPlan plan = make_plan (&step);

  for (int marks = 0; marks < 2; marks++)
    {
      Score score = run_changed (&step, &plan, 5, (Change){ .marks = marks }, SEED);

      g_assert_cmpuint (score.hits, ==, score.kept);
      g_assert_cmpuint (score.hits, ==, 5 * step.n_requests);
    }
  clear_plan (&plan);
  g_array_unref (step.ops);
}

static void
test_changed (void)
{
  static const Change changes[] = {
    { .dropped = 0.01, .marks = true },
    { .inserted = 0.01, .marks = true },
    { .dropped = 0.01, .inserted = 0.01, .marks = true },
    { .dropped = 0.01 },
    { .inserted = 0.01 },
    { .dropped = 0.01, .inserted = 0.01 },
  };
  Step step = make_step (24);
  TesseraPlan plan = make_plan (&step);

  for (guint c = 0; c < G_N_ELEMENTS (changes); c++)
    {
      Score all = { 0 };

      for (guint seed = 0; seed < 10; seed++)
        {
          Score score = run_changed (&step, &plan, 5, changes[c], SEED + seed);

          all.kept += score.kept;
          all.hits += score.hits;
        }
      g_test_message ("seeds %d..%d, dropped %.2f inserted %.2f marks %d: %.3f %% of %u",
                      SEED, SEED + 9, changes[c].dropped, changes[c].inserted,
                      changes[c].marks, 100.0 * all.hits / all.kept, all.kept);
      g_assert_cmpfloat (all.hits, >=, 0.97 * all.kept);
    }
  clear_plan (&plan);
  g_array_unref (step.ops);
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

static void
test_lost (void)
{
  const guint n = 1000;
  const guint ends[] = { 0, n };
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autoptr (GString) phases = g_string_new (NULL);
  TesseraPlan plan;
  TesseraFollower *follower;
  guint n_missed = 0;

  for (guint i = 0; i < n; i++)
    {
      g_string_append_c (sizes, (char) g_rand_int_range (rand, 'A', 'G'));
      g_string_append_c (phases, ' ');
    }
  plan = make_small_plan (sizes->str, phases->str, ends, 2);
  g_assert_cmpint (tessera_follower_new (&plan, &follower), ==, TESSERA_OK);
  /* The run leaves out far more than it is looked ahead for, and goes back again. */
  for (guint k = 0; k < 400; k++)
    {
      guint i = k < 100 ? k : k < 300 ? k + 500 : k - 300;
      uint64_t offset;
      uint32_t slot;

      if (!tessera_follower_malloc (follower, plan.slots[i].size_bytes, 0, 0, &offset,
                                    &slot))
        n_missed++;
      else
        g_assert_true (tessera_follower_free_at (follower, offset));
      if (k == 99 || k == 299 || k == 399)
        g_assert_cmpuint (slot, ==, i);
    }
  g_test_message ("missed until found again, twice: %u", n_missed);
  g_assert_cmpuint (n_missed, <, 40);
  tessera_follower_free (follower);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/follow/own-trace", test_own_trace);
  g_test_add_func ("/allocator/follow/changed", test_changed);
  g_test_add_func ("/allocator/follow/sections", test_sections);
  g_test_add_func ("/allocator/follow/lost", test_lost);
  g_test_add_func ("/allocator/follow/phase", test_phase);
  g_test_add_func ("/allocator/follow/streams-and-pools", test_streams_and_pools);
  g_test_add_func ("/allocator/follow/still-taken", test_still_taken);
  g_test_add_func ("/allocator/follow/spare", test_spare);
  g_test_add_func ("/allocator/follow/hostile-plans", test_hostile_plans);
  return g_test_run ();
}
