/*
 * What edits of groups do to a plan: classes, merging, splitting; and the groups and
 * edits that a plan then has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"
#include "edits/test-scene.h"

#include <string.h>

#include "planner/groups.h"
#include "planner/test-traces.h"

static void
test_class (TestScene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = test_select_blocks (scene, FIRST);
  TesseraPlan *made;

  test_add (scene, TESSERA_EDIT_CLASS, FIRST, 0)->lifetime_class =
      TESSERA_CLASS_PERSISTENT;
  made = test_plan (scene);
  for (gsize i = 0; i < made->n_slots; i++)
    if (selected[made->slots[i].block])
      {
        const TesseraGroup *group = &made->groups[made->slots[i].group];

        g_assert_cmpuint (made->slots[i].lifetime_class, ==, TESSERA_CLASS_PERSISTENT);
        g_assert_cmpuint (group->kind, ==, TESSERA_GROUP_PERSISTENT);
        g_assert_true (g_str_has_prefix (group->name, "persistent, from"));
      }
  tessera_plan_free (made);
}

static const TesseraGroup *
find_group (const TesseraPlan *made, const char *name)
{
  for (gsize i = 0; i < made->n_groups; i++)
    if (strcmp (made->groups[i].name, name) == 0)
      return &made->groups[i];
  return NULL;
}

static gsize
count_grouped (const TesseraPlan *made)
{
  gsize n = 0;

  for (gsize i = 0; i < made->n_groups; i++)
    {
      g_assert_cmpuint (made->groups[i].n_blocks, >, 0);
      n += made->groups[i].n_blocks;
    }
  return n;
}

/* No block is lost; a group without blocks is gone. */
static void
test_groups (TestScene *scene, gconstpointer data)
{
  TesseraPlan *made = test_plan (scene);
  gsize n_blocks = count_grouped (made), n_groups = made->n_groups;
  uint64_t before = made->slot_digest;

  tessera_plan_free (made);
  test_add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  made = test_plan (scene);
  g_assert_cmpuint (find_group (made, "mine")->n_blocks, ==, 20);
  g_assert_cmpuint (find_group (made, "mine")->kind, ==, TESSERA_GROUP_HAND);
  g_assert_cmpuint (find_group (made, "mine")->height_bytes, ==,
                    5 * 8192 + 1024 * (0 + 1 + 2 + 3 + 4));
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  g_assert_cmpuint (made->slot_digest, ==, before); /* freely packed: no difference */
  tessera_plan_free (made);

  test_add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  made = test_plan (scene);
  g_assert_null (find_group (made, "mine"));
  g_assert_cmpuint (find_group (made, "mine, 8192 bytes")->n_blocks, ==, 4);
  g_assert_cmpuint (find_group (made, "mine, 12288 bytes")->n_blocks, ==, 4);
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  tessera_plan_free (made);

  test_add_group (scene, TESSERA_EDIT_MOVE, PARAMETERS, "mine, 8192 bytes");
  made = test_plan (scene);
  g_assert_cmpuint (find_group (made, "mine, 8192 bytes")->n_blocks, ==, 4 + 5);
  tessera_plan_free (made);

  test_add_group (scene, TESSERA_EDIT_MERGE, "group=mine*", "all mine");
  made = test_plan (scene);
  g_assert_cmpuint (find_group (made, "all mine")->n_blocks, ==, 20 + 5);
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  tessera_plan_free (made);

  test_add (scene, TESSERA_EDIT_SPLIT, "group=\"all mine\"", 0)->by = TESSERA_SPLIT_STEP;
  made = test_plan (scene);
  g_assert_cmpuint (find_group (made, "all mine, step 2")->n_blocks, ==, 5);
  g_assert_cmpuint (find_group (made, "all mine, no step")->n_blocks, ==, 5);
  tessera_plan_free (made);

  tessera_history_go (scene->history, 0);
  made = test_plan (scene);
  g_assert_cmpuint (made->n_groups, ==, n_groups);
  tessera_plan_free (made);
}

static void
test_splits (TestScene *scene, gconstpointer data)
{
  static const char *const names[] = { [TESSERA_SPLIT_PHASE] = "all, forward",
                                       [TESSERA_SPLIT_MODULE] = "all, no module",
                                       [TESSERA_SPLIT_AT] = "all, before event 20" };

  for (TesseraSplitBy by = TESSERA_SPLIT_PHASE; by <= TESSERA_SPLIT_AT; by++)
    {
      TesseraPlan *made;

      tessera_history_go (scene->history, 0);
      test_add_group (scene, TESSERA_EDIT_MERGE, "", "all");
      test_add (scene, TESSERA_EDIT_SPLIT, FIRST, 20)->by = by;
      made = test_plan (scene);
      g_assert_null (find_group (made, "all"));
      if (names[by] != NULL)
        g_assert_nonnull (find_group (made, names[by]));
      tessera_plan_free (made);
    }
}

static TesseraStatus
regroup (TestScene *scene,
         TesseraBlock **out_blocks,
         TesseraGroup **out_groups,
         gsize *out_n_groups)
{
  size_t n;
  const TesseraEdit *edits = tessera_history_get (scene->history, &n);

  scene->error = (TesseraError){ 0 };
  return tessera_edits_regroup (scene->trace, scene->blocks, scene->structure, edits, n,
                                &scene->error, &scene->conflict, out_blocks, out_groups,
                                out_n_groups);
}

/* What the edits make of the groups without a plan is what the plan's groups are, and its
 * slots are in the groups, and of the classes, that their blocks are. */
static void
assert_regrouped_as_planned (TestScene *scene)
{
  TesseraPlan *made = test_plan (scene);
  TesseraBlock *blocks;
  TesseraGroup *groups;
  gsize n_groups;

  g_assert_cmpint (regroup (scene, &blocks, &groups, &n_groups), ==, TESSERA_OK);
  g_assert_cmpuint (scene->conflict.first, ==, TESSERA_NONE);
  g_assert_cmpuint (n_groups, ==, made->n_groups);
  for (gsize i = 0; i < n_groups; i++)
    {
      guint n = 0;

      g_assert_cmpstr (groups[i].name, ==, made->groups[i].name);
      g_assert_cmpuint (groups[i].n_blocks, ==, made->groups[i].n_blocks);
      g_assert_cmpuint (groups[i].kind, ==, made->groups[i].kind);
      g_assert_cmpuint (groups[i].lifetime_class, ==, made->groups[i].lifetime_class);
      g_assert_cmpuint (groups[i].height_bytes, ==, made->groups[i].height_bytes);
      for (gsize k = 0; k < scene->blocks->n_blocks; k++)
        n += blocks[k].group == i;
      g_assert_cmpuint (n, ==, groups[i].n_blocks);
    }
  for (gsize i = 0; i < made->n_slots; i++)
    {
      const TesseraBlock *block = &blocks[made->slots[i].block];

      g_assert_cmpuint (made->slots[i].group, ==, block->group);
      g_assert_cmpuint (made->slots[i].lifetime_class, ==, block->lifetime_class);
    }
  tessera_plan_free (made);
  tessera_groups_free (groups, n_groups);
  free (blocks);
}

/* After each of many edits, and where the caller's blocks are grouped already. */
static void
test_regroup (TestScene *scene, gconstpointer data)
{
  g_autofree TesseraBlock *before =
      g_memdup2 (scene->blocks->blocks, scene->blocks->n_blocks * sizeof *before);

  assert_regrouped_as_planned (scene);
  test_add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  assert_regrouped_as_planned (scene);
  test_add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  test_add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  assert_regrouped_as_planned (scene);
  test_add_group (scene, TESSERA_EDIT_MOVE, PARAMETERS, "mine, 8192 bytes");
  assert_regrouped_as_planned (scene);
  test_add_group (scene, TESSERA_EDIT_MERGE, "group=mine*", "all mine");
  assert_regrouped_as_planned (scene);
  test_add (scene, TESSERA_EDIT_CLASS, FIRST, 0)->lifetime_class =
      TESSERA_CLASS_PERSISTENT;
  assert_regrouped_as_planned (scene);
  g_assert_cmpint (
      memcmp (before, scene->blocks->blocks, scene->blocks->n_blocks * sizeof *before),
      ==, 0);
}

static void
test_regroup_refused (TestScene *scene, gconstpointer data)
{
  TesseraBlock *blocks;
  TesseraGroup *groups;
  gsize n_groups;

  test_add_group (scene, TESSERA_EDIT_GROUP, FIRST, "mine");
  test_add_group (scene, TESSERA_EDIT_MOVE, FIRST, "nobody's");
  g_assert_cmpint (regroup (scene, &blocks, &groups, &n_groups), ==, TESSERA_REFUSED);
  g_assert_null (blocks);
  g_assert_null (groups);
  g_assert_cmpuint (n_groups, ==, 0);
  g_assert_cmpuint (scene->conflict.first, ==, 1);
  g_assert_nonnull (
      strstr (scene->error.text, tessera_history_get (scene->history, NULL)[1].name));
}

/* Copies of the edits that stand, settled; for free_edits(). */
static TesseraStatus
settle (const TestScene *scene, TesseraEdit **out_edits, gsize *out_n_edits)
{
  const TesseraEdit *edits = tessera_history_get (scene->history, out_n_edits);

  *out_edits = g_new0 (TesseraEdit, *out_n_edits + 1);
  for (gsize i = 0; i < *out_n_edits; i++)
    tessera_edit_copy (&edits[i], &(*out_edits)[i]);
  return tessera_edits_settle (scene->trace, scene->blocks, scene->structure, *out_edits,
                               *out_n_edits);
}

static void
free_edits (TesseraEdit *edits, gsize n_edits)
{
  for (gsize i = 0; i < n_edits; i++)
    tessera_edit_clear (&edits[i]);
  g_free (edits);
}

/* Two of three blocks of a shape, and edits that go by groups which others made. */
static void
add_edits_to_settle (TestScene *scene)
{
  g_autofree guint8 *selected = test_select_blocks (scene, ACTIVATIONS " step=0");
  TesseraEdit *pin;
  guint n = 0;

  test_add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  test_add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  pin = test_add (scene, TESSERA_EDIT_PIN, "", 2 * MIB);
  pin->what.blocks = g_new0 (guint32, 3);
  pin->shape = g_new0 (guint64, 3);
  for (guint32 i = 0; i < scene->blocks->n_blocks && n < 3; i++)
    if (selected[i])
      {
        pin->shape[n] = n * 64 * 1024;
        pin->what.blocks[n++] = i;
      }
  pin->what.n_blocks = n;
  g_assert_cmpuint (n, ==, 3);
  pin->what.least_bytes = scene->blocks->blocks[pin->what.blocks[0]].size_bytes + 1;
  test_add_apart (scene, "group=mine*", PARAMETERS);
  test_add (scene, TESSERA_EDIT_CLASS, "group=mine*", 0)->lifetime_class =
      TESSERA_CLASS_PERSISTENT;
}

/* Settled edits say nothing but which blocks, and make the same plan. */
static void
test_settled (TestScene *scene, gconstpointer data)
{
  TesseraEdit *edits;
  TesseraPlan *made;
  gsize n_edits;
  uint64_t wanted;

  add_edits_to_settle (scene);
  wanted = test_digest (scene);
  g_assert_cmpint (settle (scene, &edits, &n_edits), ==, TESSERA_OK);
  for (gsize i = 0; i < n_edits; i++)
    {
      TesseraSelector rest = edits[i].what;

      g_assert_nonnull (rest.blocks);
      g_assert_cmpuint (rest.n_blocks, >, 0);
      rest.blocks = NULL;
      rest.n_blocks = 0;
      test_selectors_assert_equal (&rest, &(TesseraSelector){ .step = -1,
                                                              .stream = -1,
                                                              .ordinal = TESSERA_NONE,
                                                              .alive_at = TESSERA_NONE });
    }
  g_assert_cmpuint (edits[2].what.n_blocks, ==, 2);
  g_assert_cmpuint (edits[2].shape[0], ==, 64 * 1024);
  scene->options.edits = edits;
  scene->options.n_edits = n_edits;
  g_assert_cmpint (tessera_plan_trace (scene->trace, scene->blocks, scene->structure,
                                       &scene->options, &scene->error, &made),
                   ==, TESSERA_OK);
  g_assert_cmpuint (made->slot_digest, ==, wanted);
  tessera_plan_free (made);
  free_edits (edits, n_edits);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/edits/groups/" path, TestScene, NULL, test_scene_begin, test,            \
              test_scene_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("class", test_class);
  ADD ("groups", test_groups);
  ADD ("splits", test_splits);
  ADD ("regroup", test_regroup);
  ADD ("regroup-refused", test_regroup_refused);
  ADD ("settled", test_settled);
  return g_test_run ();
}
