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
 * lifetime. */
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edits/cap/any", test_cap);
  g_test_add_func ("/edits/cap/takes-little", test_cap_takes_little);
  g_test_add_func ("/edits/cap/keeps-the-heavy", test_cap_keeps_the_heavy);
  return g_test_run ();
}
