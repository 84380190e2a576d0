/*
 * What edits of places do to a plan: pins, together, apart, dynamic.
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
  TesseraPlan *made;
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
  tessera_plan_free (made);
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
  TesseraPlan *made;
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
  tessera_plan_free (made);
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
      TesseraPlan *made;
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
      tessera_plan_free (made);
      if (round > 0)
        tessera_history_undo (scene->history);
    }
}

static gboolean
share_an_address (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->offset_bytes < b->offset_bytes + b->block_bytes &&
         b->offset_bytes < a->offset_bytes + a->block_bytes;
}

static void
assert_apart (const TestScene *scene,
              const TesseraPlan *made,
              const char *a,
              const char *b)
{
  g_autofree guint8 *of_a = test_select_blocks (scene, a),
                    *of_b = test_select_blocks (scene, b);

  for (gsize i = 0; i < made->n_slots; i++)
    for (gsize k = 0; k < made->n_slots; k++)
      if (i != k && of_a[made->slots[i].block] && of_b[made->slots[k].block])
        g_assert_false (share_an_address (&made->slots[i], &made->slots[k]));
}

/* Random blocks share addresses a lot; what is apart shares none. */
static void
test_apart (void)
{
  const char *small = "size<8KiB", *large = "size>=8KiB";
  TestScene scene;
  TesseraPlan *made;
  uint64_t height;

  test_scene_open (&scene, test_trace_random (5, 300, 1));
  made = test_plan (&scene);
  height = made->height_bytes;
  tessera_plan_free (made);
  test_add_apart (&scene, small, large);
  made = test_plan (&scene);
  assert_apart (&scene, made, small, large);
  g_assert_cmpuint (made->height_bytes, >, height);
  tessera_plan_free (made);
  tessera_history_go (scene.history, 0);
  test_add_apart (&scene, large, NULL);
  made = test_plan (&scene);
  assert_apart (&scene, made, large, large);
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

/* Those left out get no slot, the others keep their ordinals; who follows misses these.
 */
static void
test_dynamic (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, "size=9216"), *missed = NULL;
  TesseraPlan *before = test_plan (scene), *made;
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
  tessera_plan_free (before);
  tessera_plan_free (made);
}

/* Equal requests in one stretch: the second of four has no slot, the others are still the
 * first, third and fourth, and just the second misses. */
static void
test_dynamic_among_equals (void)
{
  TesseraTrace *trace = test_trace_new ();
  TestScene scene;
  TesseraPlan *made;
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
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
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
  return g_test_run ();
}
