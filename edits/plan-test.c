/*
 * What edits of places do to a plan: pins, together, apart, dynamic, cap. Edits that
 * conflict, random histories undone and redone, strategies, other traces, and the
 * checker's laws of edits broken one by one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"

#include <string.h>

#include "edits/test-scene.h"
#include "planner/check.h"
#include "planner/test-traces.h"

static void
test_pin (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, FIRST);
  uint64_t before = test_digest (scene);
  gsize n = 0;

  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  g_autoptr (TesseraPlan) made = test_plan (scene);
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
  test_add (scene, TESSERA_EDIT_PIN, FIRST " step=0", MIB);
  uint64_t wanted = test_digest (scene);
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
  g_autoptr (TesseraPlan) made = test_plan (scene);
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
      guint64 base = 0;
      gboolean is_first = TRUE;

      if (round > 0)
        test_add (scene, TESSERA_EDIT_PIN, FIRST, round * MIB);
      g_autoptr (TesseraPlan) made = test_plan (scene);
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
  g_autoptr (TesseraPlan) before = NULL, made = NULL, mutual = NULL;
  g_auto (TestScene) scene = test_scene_new (test_trace_random (5, 300, 1));

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
  g_autofree guint8 *missed = NULL;

  for (guint64 i = 1; i <= 4; i++)
    test_alloc (trace, i << 20, 1024);
  g_auto (TestScene) scene = test_scene_new (trace);
  test_add (&scene, TESSERA_EDIT_DYNAMIC, "blocks=1", 0);
  g_autoptr (TesseraPlan) made = test_plan (&scene);
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
  g_auto (TestScene) scene = test_scene_new (test_trace_random (7, 400, 2));

  TesseraPlan *made = test_plan (&scene);
  uint64_t height = made->height_bytes;
  size_t n_all = made->n_slots;
  double weight = weigh (made);
  tessera_plan_free (made);
  for (guint tenths = 10; tenths > 0; tenths--)
    {
      tessera_history_go (scene.history, 0);
      test_add (&scene, TESSERA_EDIT_CAP, "", height * tenths / 10);
      g_autoptr (TesseraPlan) capped = test_plan (&scene);
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
      g_auto (TestScene) scene = test_scene_new (test_trace_random (seed, 400, 2));

      g_autoptr (TesseraPlan) made = test_plan (&scene);
      for (guint percent = 95; percent >= 60; percent -= 5)
        {
          uint64_t cap_bytes = made->height_bytes * percent / 100;

          tessera_history_go (scene.history, 0);
          test_add (&scene, TESSERA_EDIT_CAP, "", cap_bytes);
          g_autoptr (TesseraPlan) capped = test_plan (&scene);
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

  test_alloc (trace, 1 << 20, 4096); /* lives on */
  test_alloc (trace, 2 << 20, 1024); /* light: short and small */
  test_free (trace, 2 << 20, 1024);
  test_alloc (trace, 3 << 20, 8192);
  test_free (trace, 3 << 20, 8192);
  g_auto (TestScene) scene = test_scene_new (trace);
  test_add (&scene, TESSERA_EDIT_CAP, "", 4608);
  g_autoptr (TesseraPlan) made = test_plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 1);
  g_assert_cmpuint (made->slots[0].block_bytes, ==, 4096);
}

static void
assert_conflict (TestScene *scene, guint first, guint second, const char *pattern)
{
  TesseraPlan *made;

  g_assert_cmpint (test_try_plan (scene, &made), ==, TESSERA_REFUSED);
  g_assert_null (made);
  g_assert_cmpuint (MIN (scene->conflict.first, scene->conflict.second), ==, first);
  g_assert_cmpuint (MAX (scene->conflict.first, scene->conflict.second), ==, second);
  if (!g_pattern_match_simple (pattern, scene->error.text))
    g_error ("expected %s, found %s", pattern, scene->error.text);
  for (guint i = 0; i < 2; i++) /* both are named */
    g_assert_nonnull (
        strstr (scene->error.text,
                tessera_history_get (scene->history, NULL)[i ? second : first].name));
  tessera_history_go (scene->history, 0);
}

static void
test_conflicts (TestScene *scene, gconstpointer data)
{
  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  test_add (scene, TESSERA_EDIT_CAP, "", 64 * MIB);
  test_add (scene, TESSERA_EDIT_PIN, FIRST " step=2", 2 * MIB);
  assert_conflict (scene, 0, 2, "*same place to different offsets*");

  test_add (scene, TESSERA_EDIT_PIN, "size=9216", MIB + 512);
  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  assert_conflict (scene, 0, 1, "*may not share an address would share one");

  test_add (scene, TESSERA_EDIT_PIN, ACTIVATIONS, MIB); /* all at one offset */
  assert_conflict (scene, 0, 0, "*may not share an address would share one");

  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB + 3);
  assert_conflict (scene, 0, 0, "*multiples of the alignment*");

  test_add (scene, TESSERA_EDIT_PIN, FIRST, UINT64_C (1) << 62);
  assert_conflict (scene, 0, 0, "*no pool is so large*");

  test_add (scene, TESSERA_EDIT_CAP, "", MIB);
  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  assert_conflict (scene, 0, 1, "*lies above the cap*");

  test_add (scene, TESSERA_EDIT_TOGETHER, ACTIVATIONS, 0);
  test_add (scene, TESSERA_EDIT_CAP, "", 8192);
  assert_conflict (scene, 0, 1, "*more than the pool may*");

  test_add_group (scene, TESSERA_EDIT_MOVE, FIRST, "nobody's");
  assert_conflict (scene, 0, 0, "*no group called \"nobody's\"*");

  test_add_apart (scene, ACTIVATIONS, FIRST);
  assert_conflict (scene, 0, 0, "*on both sides*");

  for (guint i = 0; i < 65; i++)
    test_add_apart (scene, FIRST, NULL);
  assert_conflict (scene, 64, 64, "*64 sets*");
}

/* Two that live one after the other may lie at one place, unless they are kept apart. */
static void
test_conflict_of_pins_kept_apart (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 20, 1024);
  test_free (trace, 1 << 20, 1024);
  test_alloc (trace, 2 << 20, 2048);
  test_free (trace, 2 << 20, 2048);
  g_auto (TestScene) scene = test_scene_new (trace);
  test_add (&scene, TESSERA_EDIT_PIN, "size=1024", 512);
  test_add (&scene, TESSERA_EDIT_PIN, "size=2048", 512);
  tessera_plan_free (test_plan (&scene));
  test_add_apart (&scene, "size=1024", "size=2048");
  assert_conflict (&scene, 0, 2, "*to be kept apart*");
}

/* Edits made for one trace, applied to a longer one of the same program. */
static void
test_other_trace (TestScene *scene, gconstpointer data)
{
  g_autofree char *text = NULL;
  gsize n = 0;

  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  test_add (scene, TESSERA_EDIT_DYNAMIC, "size=10240 phase=forward ordinal=0", 0);
  tessera_plan_free (test_plan (scene));
  text = tessera_history_to_json (scene->history);
  g_auto (TestScene) other = test_scene_new (test_trace_loop (7, 6, true));
  tessera_history_free (other.history);
  other.history = tessera_history_from_json (text, -1, "it", NULL);
  g_autoptr (TesseraPlan) made = test_plan (&other);
  for (gsize i = 0; i < made->n_slots; i++)
    if (made->slots[i].size_bytes == 8192)
      {
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, MIB);
        n++;
      }
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (test_count_slots (&other, made, "size=10240"), ==, 0);
  g_assert_cmpuint (test_follow (&other, made), ==, 7);
}

/* Random edits until one is refused, which is dropped; undone and redone in part as they
 * come. Undone completely they give the first plan, redone the last. */
static void
play_history (TestScene *scene, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  uint64_t first = test_digest (scene), last = first;
  guint n_edits = (guint) g_rand_int_range (random, 1, 8);

  for (guint i = 0; i < n_edits; i++)
    {
      TesseraEdit edit = test_edit_random (random, scene->blocks);
      g_autoptr (TesseraPlan) made = NULL;

      tessera_history_add (scene->history, &edit);
      TesseraStatus status = test_try_plan (scene, &made);
      if (status == TESSERA_REFUSED)
        {
          g_assert_cmpuint (scene->conflict.first, <,
                            tessera_history_get_n_standing (scene->history));
          g_assert_cmpuint (scene->conflict.second, <,
                            tessera_history_get_n_standing (scene->history));
          tessera_history_undo (scene->history);
        }
      else
        {
          OK (status);
          last = made->slot_digest;
        }
    }
  size_t n_standing = tessera_history_get_n_standing (scene->history);
  while (tessera_history_undo (scene->history))
    ;
  g_assert_cmpuint (test_digest (scene), ==, first);
  tessera_history_go (scene->history, n_standing);
  g_assert_cmpuint (test_digest (scene), ==, last);
}

static void
test_random_histories (void)
{
  guint32 n = g_getenv ("TESSERA_TEST_LONG") != NULL ? 1000 : 100;

  for (guint32 seed = 0; seed < n; seed++)
    {
      g_auto (TestScene) scene = test_scene_new (
          seed % 2 ? test_trace_loop (3, 4, true)
                   : test_trace_random (seed, 60, (guint16) (1 + seed % 3)));

      scene.options.strategy = (TesseraStrategy) (seed % 2);
      play_history (&scene, seed);
    }
}

/* Groups made by hand are units under the strategy that looks at them. */
static void
test_strategies (void)
{
  g_autoptr (TesseraPlan) bare = NULL, grouped = NULL, merged = NULL;
  g_auto (TestScene) scene = test_scene_new (test_trace_random (20, 400, 1));

  bare = test_plan (&scene);
  scene.options.strategy = TESSERA_STRATEGY_STALLOC;
  grouped = test_plan (&scene);
  test_add_group (&scene, TESSERA_EDIT_MERGE, "", "all");
  merged = test_plan (&scene);
  g_assert_true (g_str_has_prefix (bare->strategy, "free: "));
  g_assert_true (g_str_has_prefix (grouped->strategy, "stalloc: "));
  g_assert_cmpuint (grouped->height_bytes, >, bare->height_bytes);
  g_assert_cmpuint (merged->height_bytes, !=, grouped->height_bytes);
}

/* Of traces that no rule brings to the bound at once: with the full plan as a hint a
 * preview is never higher, without some are. */
static void
test_preview_of_former (void)
{
  guint n_higher = 0;

  for (guint32 seed = 20; seed < 60; seed++)
    {
      g_autoptr (TesseraPlan) full = NULL, preview = NULL, hinted = NULL;
      g_auto (TestScene) scene = test_scene_new (test_trace_random (seed, 800, 1));

      scene.options.work_budget = 0;
      full = test_plan (&scene);
      scene.options.is_preview = true;
      preview = test_plan (&scene);
      scene.options.former = full;
      hinted = test_plan (&scene);
      n_higher += preview->height_bytes > full->height_bytes;
      g_assert_cmpuint (hinted->height_bytes, <=, full->height_bytes);
      g_assert_cmpuint (hinted->height_bytes, <=, preview->height_bytes);
    }
  g_test_message ("%u of 40 are higher without", n_higher);
  g_assert_cmpuint (n_higher, >, 0);
}

static void
leave_out_smallest (TestScene *scene, const TesseraPlan *plan)
{
  TesseraEdit *edit = test_add (scene, TESSERA_EDIT_DYNAMIC, "", 0);
  const TesseraSlot *smallest = &plan->slots[0];

  for (size_t i = 1; i < plan->n_slots; i++)
    if (plan->slots[i].block_bytes < smallest->block_bytes)
      smallest = &plan->slots[i];
  edit->what.blocks = g_new (uint32_t, 1);
  edit->what.blocks[0] = smallest->block;
  edit->what.n_blocks = 1;
}

static uint64_t
offset_in (const TesseraPlan *plan, uint32_t block)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block == block)
      return plan->slots[i].offset_bytes;
  return UINT64_MAX;
}

/* A small block goes that makes no difference to the load: nobody else moves, since a
 * full plan would hardly be lower. */
static void
test_preview_left_out (void)
{
  guint n_looked_at = 0;

  for (guint32 seed = 20; seed < 28; seed++)
    {
      g_autoptr (TesseraPlan) full = NULL, preview = NULL;
      g_auto (TestScene) scene = test_scene_new (test_trace_random (seed, 400, 1));

      full = test_plan (&scene);
      leave_out_smallest (&scene, full);
      scene.options.is_preview = true;
      scene.options.former = full;
      preview = test_plan (&scene);
      g_assert_cmpuint (preview->n_slots, ==, full->n_slots - 1);
      if (preview->bound_bytes == full->bound_bytes)
        {
          n_looked_at++;
          for (size_t i = 0; i < preview->n_slots; i++)
            g_assert_cmpuint (preview->slots[i].offset_bytes, ==,
                              offset_in (full, preview->slots[i].block));
        }
    }
  g_assert_cmpuint (n_looked_at, >, 4);
}

/* Blocks pinned anywhere: a preview is legal (it was checked), has what is pinned where
 * it is to be, and is at most so much higher than the full plan, which no preview
 * changes. */
static void
test_preview_of_pins (void)
{
  for (guint32 seed = 1; seed <= 8; seed++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (seed);
      g_auto (TestScene) scene = test_scene_new (test_trace_random (seed, 1500, 1));

      TesseraPlan *full = test_plan (&scene);
      for (guint i = 0; i <= seed % 3; i++)
        {
          const TesseraSlot *slot =
              &full->slots[g_rand_int_range (random, 0, (gint32) full->n_slots)];
          TesseraEdit *edit = test_add (&scene, TESSERA_EDIT_PIN, "", 0);

          edit->what.blocks = g_new (uint32_t, 1);
          edit->what.blocks[0] = slot->block;
          edit->what.n_blocks = 1;
          edit->at = full->height_bytes / 512 / (2 + i) * 512 + i * full->height_bytes;
        }
      tessera_plan_free (full);
      full = test_plan (&scene);
      uint64_t digest = full->slot_digest;
      scene.options.is_preview = true;
      TesseraPlan *preview = test_plan (&scene);
      scene.options.is_preview = false;
      scene.options.former = preview; /* a full plan never looks at it */
      g_assert_cmpuint (preview->n_slots, ==, full->n_slots);
      g_assert_cmpuint (preview->height_bytes, <=,
                        full->height_bytes + full->height_bytes / 100);
      g_assert_cmpuint (test_digest (&scene), ==, digest);
      tessera_plan_free (full);
      tessera_plan_free (preview);
    }
}

static void
assert_breaks (const TesseraPlan *made, TesseraHold *hold, uint64_t cap, TesseraLaw law)
{
  const TesseraHolds holds = { hold, hold != NULL, NULL };
  TesseraError error = { 0 };
  TesseraLaw found;

  g_assert_cmpint (tessera_check_edits (made, &holds, cap, &found, &error), ==,
                   law == TESSERA_LAW_NONE ? TESSERA_OK : TESSERA_REFUSED);
  g_assert_cmpint (found, ==, law);
  g_assert_cmpint (*error.text != '\0', ==, law != TESSERA_LAW_NONE);
}

/* Each law of edits kept, and broken by moving one slot. */
static void
test_laws (void)
{
  TesseraSlot slots[] = { { .block_bytes = 1024, .offset_bytes = 0, .died = 4 },
                          { .block_bytes = 1024, .offset_bytes = 1024, .died = 4 },
                          { .block_bytes = 2048, .offset_bytes = 4096, .died = 4 } };
  TesseraPlan made = { .slots = slots, .n_slots = 3, .height_bytes = 6144 };
  uint32_t two[] = { 0, 1 }, third[] = { 2 }, all[] = { 0, 1, 2 };
  uint64_t offsets[] = { 0, 1024 }, distances[] = { 0, 1024, 3584 };
  TesseraHold hold = {
    .kind = TESSERA_EDIT_PIN, .slots = two, .n_slots = 2, .offsets = offsets
  };

  assert_breaks (&made, NULL, 6144, TESSERA_LAW_NONE);
  assert_breaks (&made, NULL, 6143, TESSERA_LAW_CAP);
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[1].offset_bytes = 1536;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_PIN);
  hold.kind = TESSERA_EDIT_TOGETHER;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_TOGETHER);
  slots[0].offset_bytes = 512;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  hold = (TesseraHold){
    .kind = TESSERA_EDIT_TOGETHER, .slots = all, .n_slots = 3, .offsets = distances
  };
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[2].offset_bytes += 512;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_TOGETHER);
  hold = (TesseraHold){ .kind = TESSERA_EDIT_APART, .slots = two, .n_slots = 2 };
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[0].offset_bytes = 1024;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
  hold.has_with = true; /* among themselves they may */
  hold.with = third;
  hold.n_with = 1;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[2].offset_bytes = 2048;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
  slots[2].offset_bytes = 0;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/edits/" path, TestScene, NULL, test_scene_begin, test, test_scene_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("plan/pin", test_pin);
  ADD ("plan/pin-in-any-step", test_pin_in_any_step);
  ADD ("plan/pin-with-shape", test_pin_with_shape);
  ADD ("plan/together", test_together);
  g_test_add_func ("/edits/plan/apart", test_apart);
  ADD ("plan/dynamic", test_dynamic);
  g_test_add_func ("/edits/plan/dynamic-among-equals", test_dynamic_among_equals);
  g_test_add_func ("/edits/cap/any", test_cap);
  g_test_add_func ("/edits/cap/takes-little", test_cap_takes_little);
  g_test_add_func ("/edits/cap/keeps-the-heavy", test_cap_keeps_the_heavy);
  ADD ("conflicts/conflicts", test_conflicts);
  g_test_add_func ("/edits/conflicts/pins-kept-apart", test_conflict_of_pins_kept_apart);
  ADD ("conflicts/other-trace", test_other_trace);
  g_test_add_func ("/edits/conflicts/random-histories", test_random_histories);
  g_test_add_func ("/edits/conflicts/strategies", test_strategies);
  g_test_add_func ("/edits/conflicts/preview-of-former", test_preview_of_former);
  g_test_add_func ("/edits/conflicts/preview-left-out", test_preview_left_out);
  g_test_add_func ("/edits/conflicts/preview-of-pins", test_preview_of_pins);
  g_test_add_func ("/edits/conflicts/laws", test_laws);
  return g_test_run ();
}
