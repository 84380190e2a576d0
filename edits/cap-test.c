/*
 * What a cap leaves out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"
#include "edits/test-scene.h"
#include "planner/test-traces.h"

/* Loses the slots of all blocks but those that weigh most: just the lost miss. */
static void
check_capped (TestScene *scene, const TesseraPlan *capped, size_t n_slots)
{
  g_autofree guint8 *missed = test_find_missed (scene, capped);
  gsize n_missed = 0;

  g_assert_cmpuint (capped->n_slots + capped->n_unplanned, ==, n_slots);
  for (gsize i = 0; i < scene->blocks->n_blocks; i++)
    n_missed += missed[i];
  g_assert_cmpuint (n_missed, ==, capped->n_unplanned);
  for (gsize i = 0; i < capped->n_unplanned; i++)
    g_assert_true (missed[capped->unplanned[i].block]);
}

/* Bytes x lifetime of all slots. */
static double
weigh (const TesseraPlan *plan)
{
  double weight = 0;

  for (gsize i = 0; i < plan->n_slots; i++)
    weight += (double) plan->slots[i].block_bytes *
              (double) (plan->slots[i].died - plan->slots[i].born);
  return weight;
}

/* Under any cap there is a plan, and the lower it is the less is kept, by bytes x
 * lifetime: the number of slots may be more where a strip goes. */
static void
test_cap (void)
{
  TestScene scene;
  TesseraPlan *made;
  uint64_t height;
  size_t n_all;
  double weight;

  test_scene_open (&scene, test_trace_random (7, 400, 2));
  made = test_plan (&scene);
  height = made->height_bytes;
  n_all = made->n_slots;
  weight = weigh (made);
  tessera_plan_free (made);
  for (guint tenths = 10; tenths > 0; tenths--)
    {
      TesseraPlan *capped;

      tessera_history_go (scene.history, 0);
      test_add (&scene, TESSERA_EDIT_CAP, "", height * tenths / 10);
      capped = test_plan (&scene);
      g_assert_cmpuint (capped->height_bytes, <=, height * tenths / 10);
      g_test_message ("%u tenths: %zu slots, %.0f", tenths, capped->n_slots,
                      weigh (capped));
      g_assert_cmpfloat (weigh (capped), <=, weight);
      g_assert_true (tenths == 10 || weigh (capped) < weight);
      weight = weigh (capped);
      check_capped (&scene, capped, n_all);
      tessera_plan_free (capped);
    }
  tessera_history_go (scene.history, 0);
  test_add (&scene, TESSERA_EDIT_CAP, "", 0);
  made = test_plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 0);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

/* Not much more goes than has to, however many rounds it takes: each layout of these ends
 * a little above what its load was cut to. */
static void
test_cap_takes_little (void)
{
  double sum = 0;
  guint n = 0;

  for (uint32_t seed = 1; seed <= 12; seed++)
    {
      TestScene scene;
      TesseraPlan *made;

      test_scene_open (&scene, test_trace_random (seed, 400, 2));
      made = test_plan (&scene);
      for (guint percent = 95; percent >= 60; percent -= 5)
        {
          uint64_t cap_bytes = made->height_bytes * percent / 100;
          TesseraPlan *capped;

          tessera_history_go (scene.history, 0);
          test_add (&scene, TESSERA_EDIT_CAP, "", cap_bytes);
          capped = test_plan (&scene);
          sum += (double) capped->height_bytes / (double) cap_bytes;
          n++;
          tessera_plan_free (capped);
        }
      tessera_plan_free (made);
      test_scene_end (&scene, NULL);
    }
  g_test_message ("%.4f of the cap", sum / n);
  g_assert_cmpfloat (sum / n, >, 0.99);
}

static void
test_cap_keeps_the_heavy (void)
{
  TesseraTrace *trace = test_trace_new ();
  TestScene scene;
  TesseraPlan *made;

  test_alloc (trace, 1 << 20, 4096); /* lives on */
  test_alloc (trace, 2 << 20, 1024); /* light: short and small */
  test_free (trace, 2 << 20, 1024);
  test_alloc (trace, 3 << 20, 8192);
  test_free (trace, 3 << 20, 8192);
  test_scene_open (&scene, trace);
  test_add (&scene, TESSERA_EDIT_CAP, "", 4608);
  made = test_plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 1);
  g_assert_cmpuint (made->slots[0].block_bytes, ==, 4096);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

#define N_PEAKS 4

/* One small block that is there all the time, and at each of four peaks a large one. */
static TesseraTrace *
trace_of_peaks (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 20, 512);
  for (uint64_t i = 0; i < N_PEAKS; i++)
    {
      test_alloc (trace, (2 + i) << 20, 5120);
      test_free (trace, (2 + i) << 20, 5120);
    }
  return trace;
}

static TesseraPlan *
plan_peaks (TestScene *scene, bool pins_small, bool pins_large)
{
  TesseraPlan *made;

  test_scene_open (scene, trace_of_peaks ());
  made = test_plan (scene);
  g_assert_cmpuint (made->height_bytes, ==, 5632);
  tessera_plan_free (made);
  test_add (scene, TESSERA_EDIT_CAP, "", 5120);
  if (pins_small)
    test_add (scene, TESSERA_EDIT_PIN, "blocks=0", 0);
  if (pins_large)
    test_add (scene, TESSERA_EDIT_PIN, "blocks=3", 0);
  return test_plan (scene);
}

/* The lightest at the peaks are four large blocks; the strip that is too high holds a
 * small one, which weighs less than all of these. */
static void
test_cap_cuts_a_strip (void)
{
  TestScene scene;
  TesseraPlan *made = plan_peaks (&scene, false, false);

  g_assert_cmpuint (made->n_unplanned, ==, 1);
  g_assert_cmpuint (made->unplanned[0].block, ==, 0);
  g_assert_cmpuint (made->n_slots, ==, N_PEAKS);
  g_assert_cmpuint (made->height_bytes, ==, 5120);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

/* What is held is in no strip, nor above one. */
static void
test_cap_cuts_around_what_is_held (void)
{
  TestScene scene;
  TesseraPlan *made = plan_peaks (&scene, true, false);

  g_assert_cmpuint (made->n_unplanned, ==, N_PEAKS);
  g_assert_cmpuint (made->slots[0].block, ==, 0);
  g_assert_cmpuint (made->slots[0].offset_bytes, ==, 0);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);

  made = plan_peaks (&scene, false, true);
  g_assert_cmpuint (made->n_unplanned, ==, 1);
  for (gsize i = 0; i < made->n_slots; i++)
    g_assert_cmpuint (made->slots[i].offset_bytes, ==, 0);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

enum
{
  UNIT = 512,
  N_ALIVE = 28,
  N_IN_TURN = 90
};

/* A block of 1000 units that is there all the time, and 28 of 300 each that are replaced
 * in turn. */
static TesseraTrace *
trace_of_turns (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 20, 1000 * UNIT);
  for (uint64_t i = 0; i < N_IN_TURN; i++)
    {
      if (i >= N_ALIVE)
        test_free (trace, (2 + i - N_ALIVE) << 20, 300 * UNIT);
      test_alloc (trace, (2 + i) << 20, 300 * UNIT);
    }
  return trace;
}

/* Of a preview what a strip leaves stays as it is where that is nearer to the bound than
 * a 4096th: here the block of 1000 goes for a strip that is @n_less lower. */
static void
check_strip_of_preview (uint64_t n_less, uint64_t n_above)
{
  const uint64_t n_bound = N_ALIVE * 300;
  TestScene scene;
  TesseraPlan *made;

  test_scene_open (&scene, trace_of_turns ());
  scene.options.is_preview = true;
  test_add (&scene, TESSERA_EDIT_CAP, "", (n_bound + n_less) * UNIT);
  made = test_plan (&scene);
  g_assert_cmpuint (made->n_unplanned, ==, 1);
  g_assert_cmpuint (made->unplanned[0].block, ==, 0);
  g_assert_cmpuint (made->height_bytes, ==, (n_bound + n_above) * UNIT);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

static void
test_strip_of_preview (void)
{
  check_strip_of_preview (2, 2);
  check_strip_of_preview (3, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edits/cap/any", test_cap);
  g_test_add_func ("/edits/cap/takes-little", test_cap_takes_little);
  g_test_add_func ("/edits/cap/keeps-the-heavy", test_cap_keeps_the_heavy);
  g_test_add_func ("/edits/cap/cuts-a-strip", test_cap_cuts_a_strip);
  g_test_add_func ("/edits/cap/cuts-around-what-is-held",
                   test_cap_cuts_around_what_is_held);
  g_test_add_func ("/edits/cap/strip-of-preview", test_strip_of_preview);
  return g_test_run ();
}
