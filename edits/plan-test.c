/*
 * What edits of places do to a plan: pins, together, apart, dynamic, cap.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"
#include "edits/test-scene.h"

#include <string.h>

#include "planner/test-traces.h"

static void
test_pin (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, FIRST);
  uint64_t before = test_digest (scene);
  g_autoptr (TesseraPlan) made = NULL;
  gsize n = 0;

  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  made = test_plan (scene);
  g_assert_cmpuint (made->slot_digest, !=, before);
  for (gsize i = 0; i < made->n_slots; i++)
    if (selected[made->slots[i].block])
      {
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, MIB);
        n++;
      }
  g_assert_cmpuint (n, >=, 1);
  g_assert_cmpuint (made->height_bytes, ==, MIB + 8192);
  g_assert_true (tessera_history_undo (scene->history));
  g_assert_cmpuint (test_digest (scene), ==, before);
}

/* A block of any step means the slot that all of them have. */
static void
test_pin_in_any_step (TestScene *scene, gconstpointer data)
{
  uint64_t wanted;

  test_add (scene, TESSERA_EDIT_PIN, FIRST " step=0", MIB);
  wanted = test_digest (scene);
  for (guint step = 1; step < 4; step++)
    {
      g_autofree char *query = g_strdup_printf (FIRST " step=%u", step);

      tessera_history_go (scene->history, 0);
      test_add (scene, TESSERA_EDIT_PIN, query, MIB);
      g_assert_cmpuint (test_digest (scene), ==, wanted);
    }
}

static void
test_pin_with_shape (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, ACTIVATIONS " step=0");
  TesseraEdit *edit = test_add (scene, TESSERA_EDIT_PIN, "", 2 * MIB);
  g_autoptr (TesseraPlan) made = NULL;
  gsize n = 0;

  edit->what.blocks = g_new0 (guint32, scene->blocks->n_blocks);
  edit->shape = g_new0 (guint64, scene->blocks->n_blocks);
  for (guint32 i = 0; i < scene->blocks->n_blocks; i++)
    if (selected[i])
      {
        edit->shape[n] = n * 64 * 1024;
        edit->what.blocks[n++] = i;
      }
  edit->what.n_blocks = n;
  g_assert_cmpuint (n, ==, 5);
  made = test_plan (scene);
  for (gsize k = 0; k < n; k++)
    for (gsize i = 0; i < made->n_slots; i++)
      if (made->slots[i].block == edit->what.blocks[k])
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, 2 * MIB + k * 64 * 1024);
}

/* Wherever one of them is pinned, the others come along. */
static void
test_together (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, ACTIVATIONS " step=0");
  g_autofree guint64 *distances = NULL;

  test_add (scene, TESSERA_EDIT_TOGETHER, ACTIVATIONS, 0);
  for (guint round = 0; round < 3; round++)
    {
      g_autoptr (TesseraPlan) made = NULL;
      guint64 base = 0;
      gboolean is_first = TRUE;

      if (round > 0)
        test_add (scene, TESSERA_EDIT_PIN, FIRST, round * MIB);
      made = test_plan (scene);
      if (distances == NULL)
        distances = g_new0 (guint64, made->n_slots);
      for (gsize i = 0; i < made->n_slots; i++)
        if (selected[made->slots[i].block])
          {
            if (is_first)
              base = made->slots[i].offset_bytes;
            is_first = FALSE;
            if (round == 0)
              distances[i] = made->slots[i].offset_bytes - base;
            g_assert_cmpuint (made->slots[i].offset_bytes - base, ==, distances[i]);
          }
      if (round > 0)
        tessera_history_undo (scene->history);
    }
}

/* Random blocks share addresses a lot; what is apart shares none, says the checker of what
 * was made (test_laws). */
static void
test_apart (void)
{
  g_auto (TestScene) scene = { 0 };
  g_autoptr (TesseraPlan) before = NULL, made = NULL, mutual = NULL;

  test_scene_open (&scene, test_trace_random (5, 300, 1));
  before = test_plan (&scene);
  test_add_apart (&scene, "size<8KiB", "size>=8KiB");
  made = test_plan (&scene);
  g_assert_cmpuint (made->height_bytes, >, before->height_bytes);
  tessera_history_go (scene.history, 0);
  test_add_apart (&scene, "size>=8KiB", NULL);
  mutual = test_plan (&scene);
  g_assert_cmpuint (mutual->height_bytes, >, before->height_bytes);
}

/* Those left out get no slot, the others keep their ordinals; who follows misses these.
 */
static void
test_dynamic (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, "size=9216"), *missed = NULL;
  g_autoptr (TesseraPlan) before = test_plan (scene), made = NULL;
  gsize n_left = 0;

  g_assert_cmpuint (test_follow (scene, before), ==, 0);
  test_add (scene, TESSERA_EDIT_DYNAMIC, "size=9216", 0);
  made = test_plan (scene);
  g_assert_cmpuint (test_count_slots (scene, before, "size=9216"), ==, 1);
  g_assert_cmpuint (test_count_slots (scene, made, "size=9216"), ==, 0);
  g_assert_cmpuint (made->n_slots, ==, before->n_slots - 1);
  for (gsize i = 0, k = 0; i < made->n_slots; i++, k++)
    {
      while (before->slots[k].block != made->slots[i].block)
        k++;
      g_assert_cmpuint (made->slots[i].ordinal, ==, before->slots[k].ordinal);
      n_left++;
    }
  g_assert_cmpuint (n_left, ==, made->n_slots);
  g_assert_cmpuint (made->n_unplanned, ==, 1);
  g_assert_cmpstr (made->strings[made->unplanned[0].phase], ==, "forward");
  missed = test_find_missed (scene, made); /* one a step */
  g_assert_cmpint (memcmp (missed, selected, scene->blocks->n_blocks), ==, 0);
}

/* Equal requests in one stretch: the second of four has no slot, the others are still the
 * first, third and fourth, and just the second misses. */
static void
test_dynamic_among_equals (void)
{
  TesseraTrace *trace = test_trace_new ();
  g_auto (TestScene) scene = { 0 };
  g_autoptr (TesseraPlan) made = NULL;
  g_autofree guint8 *missed = NULL;

  for (guint64 i = 1; i <= 4; i++)
    test_alloc (trace, i << 20, 1024);
  test_scene_open (&scene, trace);
  test_add (&scene, TESSERA_EDIT_DYNAMIC, "blocks=1", 0);
  made = test_plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 3);
  g_assert_cmpuint (made->slots[0].ordinal, ==, 0);
  g_assert_cmpuint (made->slots[1].ordinal, ==, 2);
  g_assert_cmpuint (made->slots[2].ordinal, ==, 3);
  g_assert_cmpuint (made->n_unplanned, ==, 1);
  g_assert_cmpuint (made->unplanned[0].ordinal, ==, 1);
  g_assert_cmpuint (made->unplanned[0].before, ==, 1);
  missed = test_find_missed (&scene, made);
  g_assert_cmpint (memcmp (missed, (const guint8[]){ 0, 1, 0, 0 }, 4), ==, 0);
}

/* ---- What a cap leaves out ---- */

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
  g_auto (TestScene) scene = { 0 };
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
      g_autoptr (TesseraPlan) capped = NULL;

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
    }
  tessera_history_go (scene.history, 0);
  test_add (&scene, TESSERA_EDIT_CAP, "", 0);
  made = test_plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 0);
  tessera_plan_free (made);
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
      g_auto (TestScene) scene = { 0 };
      g_autoptr (TesseraPlan) made = NULL;

      test_scene_open (&scene, test_trace_random (seed, 400, 2));
      made = test_plan (&scene);
      for (guint percent = 95; percent >= 60; percent -= 5)
        {
          uint64_t cap_bytes = made->height_bytes * percent / 100;
          g_autoptr (TesseraPlan) capped = NULL;

          tessera_history_go (scene.history, 0);
          test_add (&scene, TESSERA_EDIT_CAP, "", cap_bytes);
          capped = test_plan (&scene);
          sum += (double) capped->height_bytes / (double) cap_bytes;
          n++;
        }
    }
  g_test_message ("%.4f of the cap", sum / n);
  g_assert_cmpfloat (sum / n, >, 0.99);
}

static void
test_cap_keeps_the_heavy (void)
{
  TesseraTrace *trace = test_trace_new ();
  g_auto (TestScene) scene = { 0 };
  g_autoptr (TesseraPlan) made = NULL;

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
}

#define ADD(path, test)                                                                  \
  g_test_add ("/edits/plan/" path, TestScene, NULL, test_scene_begin, test,              \
              test_scene_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("pin", test_pin);
  ADD ("pin-in-any-step", test_pin_in_any_step);
  ADD ("pin-with-shape", test_pin_with_shape);
  ADD ("together", test_together);
  g_test_add_func ("/edits/plan/apart", test_apart);
  ADD ("dynamic", test_dynamic);
  g_test_add_func ("/edits/plan/dynamic-among-equals", test_dynamic_among_equals);
  g_test_add_func ("/edits/cap/any", test_cap);
  g_test_add_func ("/edits/cap/takes-little", test_cap_takes_little);
  g_test_add_func ("/edits/cap/keeps-the-heavy", test_cap_keeps_the_heavy);
  return g_test_run ();
}
