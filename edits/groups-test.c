/*
 * What edits of groups do to a plan: classes, merging, splitting; the groups and edits that
 * a plan then has; and what an edit lists by hand, found in another trace.
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

  test_add (scene, TESSERA_EDIT_CLASS, FIRST, 0)->lifetime_class =
      TESSERA_CLASS_PERSISTENT;
  g_autoptr (TesseraPlan) made = test_plan (scene);
  for (gsize i = 0; i < made->n_slots; i++)
    if (selected[made->slots[i].block])
      {
        const TesseraGroup *group = &made->groups[made->slots[i].group];

        g_assert_cmpuint (made->slots[i].lifetime_class, ==, TESSERA_CLASS_PERSISTENT);
        g_assert_cmpuint (group->kind, ==, TESSERA_GROUP_PERSISTENT);
        g_assert_true (g_str_has_prefix (group->name, "persistent, from"));
      }
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

/* No block is lost; a group without blocks is gone. Freely packed, groups make no
 * difference. */
static void
test_groups (TestScene *scene, gconstpointer data)
{
  static const struct
  {
    TesseraEditKind kind;
    const char *what, *group;
    TesseraSplitBy by;
    struct
    {
      const char *name;
      gsize n_blocks; /* 0: it is not there */
    } found[3];
  } turns[] = {
    { TESSERA_EDIT_GROUP, ACTIVATIONS, "mine", 0, { { "mine", 20 } } },
    { TESSERA_EDIT_SPLIT,
      "group=mine",
      NULL,
      TESSERA_SPLIT_SIZE,
      { { "mine", 0 }, { "mine, 8192 bytes", 4 }, { "mine, 12288 bytes", 4 } } },
    { TESSERA_EDIT_MOVE,
      PARAMETERS,
      "mine, 8192 bytes",
      0,
      { { "mine, 8192 bytes", 4 + 5 } } },
    { TESSERA_EDIT_MERGE, "group=mine*", "all mine", 0, { { "all mine", 20 + 5 } } },
    { TESSERA_EDIT_SPLIT,
      "group=\"all mine\"",
      NULL,
      TESSERA_SPLIT_STEP,
      { { "all mine, step 2", 5 }, { "all mine, no step", 5 } } },
  };
  g_autoptr (TesseraPlan) before = test_plan (scene), undone = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (turns); i++)
    {
      TesseraEdit *edit = test_add (scene, turns[i].kind, turns[i].what, 0);

      edit->group = g_strdup (turns[i].group);
      edit->by = turns[i].by;
      g_autoptr (TesseraPlan) made = test_plan (scene);
      for (gsize k = 0; k < 3 && turns[i].found[k].name != NULL; k++)
        {
          const TesseraGroup *group = find_group (made, turns[i].found[k].name);

          g_assert_cmpuint (group != NULL ? group->n_blocks : 0, ==,
                            turns[i].found[k].n_blocks);
        }
      if (i == 0)
        {
          g_assert_cmpuint (find_group (made, "mine")->kind, ==, TESSERA_GROUP_HAND);
          g_assert_cmpuint (find_group (made, "mine")->height_bytes, ==,
                            5 * 8192 + 1024 * (0 + 1 + 2 + 3 + 4));
        }
      g_assert_cmpuint (count_grouped (made), ==, count_grouped (before));
      g_assert_cmpuint (made->slot_digest, ==, before->slot_digest);
    }
  tessera_history_go (scene->history, 0);
  undone = test_plan (scene);
  g_assert_cmpuint (undone->n_groups, ==, before->n_groups);
}

static void
test_splits (TestScene *scene, gconstpointer data)
{
  static const char *const names[] = { [TESSERA_SPLIT_PHASE] = "all, forward",
                                       [TESSERA_SPLIT_MODULE] = "all, no module",
                                       [TESSERA_SPLIT_AT] = "all, before event 20" };

  for (TesseraSplitBy by = TESSERA_SPLIT_PHASE; by <= TESSERA_SPLIT_AT; by++)
    {
      tessera_history_go (scene->history, 0);
      test_add_group (scene, TESSERA_EDIT_MERGE, "", "all");
      test_add (scene, TESSERA_EDIT_SPLIT, FIRST, 20)->by = by;
      g_autoptr (TesseraPlan) made = test_plan (scene);
      g_assert_null (find_group (made, "all"));
      if (names[by] != NULL)
        g_assert_nonnull (find_group (made, names[by]));
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
  g_autoptr (TesseraPlan) made = test_plan (scene);
  TesseraBlock *blocks;
  TesseraGroup *groups;
  gsize n_groups;

  OK (regroup (scene, &blocks, &groups, &n_groups));
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
  guint n = 0;

  test_add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  test_add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  TesseraEdit *pin = test_add (scene, TESSERA_EDIT_PIN, "", 2 * MIB);
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
  g_autoptr (TesseraPlan) made = NULL;
  gsize n_edits;

  add_edits_to_settle (scene);
  uint64_t wanted = test_digest (scene);
  OK (settle (scene, &edits, &n_edits));
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
  OK (tessera_plan_trace (scene->trace, scene->blocks, scene->structure, &scene->options,
                          &scene->error, &made));
  g_assert_cmpuint (made->slot_digest, ==, wanted);
  free_edits (edits, n_edits);
}

/* ---- What is listed by hand, found again in another trace of the program ---- */

static TesseraStatus
find (TestScene *scene, TesseraHistory *history)
{
  scene->error = (TesseraError){ 0 };
  return tessera_history_find_blocks (history, "it", scene->trace, scene->blocks,
                                      scene->structure, &scene->error);
}

static void
name (TestScene *scene, TesseraEdit *edit)
{
  tessera_edits_name_blocks (scene->trace, scene->blocks, scene->structure, edit, 1);
}

/* A named pin of the blocks that @query selects, each at 512 times its turn. */
static TesseraHistory *
list_of (TestScene *scene, const char *query)
{
  g_autofree guint8 *selected = test_select_blocks (scene, query);
  TesseraHistory *history = tessera_history_new ();
  TesseraEdit edit = { .kind = TESSERA_EDIT_PIN, .name = g_strdup (query) };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  tessera_selected_list (selected, scene->blocks->n_blocks, &edit.what.blocks,
                         &edit.what.n_blocks);
  g_assert_cmpuint (edit.what.n_blocks, >, 0);
  edit.shape = g_new0 (guint64, edit.what.n_blocks + 1);
  for (gsize i = 0; i < edit.what.n_blocks; i++)
    edit.shape[i] = 512 * i;
  name (scene, &edit);
  tessera_history_add (history, &edit);
  return history;
}

static const TesseraEdit *
only_edit (const TesseraHistory *history)
{
  size_t n;
  const TesseraEdit *edits = tessera_history_get (history, &n);

  g_assert_cmpuint (n, ==, 1);
  return edits;
}

static const char *
phase_of (const TestScene *scene, const TesseraBlock *block)
{
  return block->born_phase == TESSERA_NONE
             ? "none"
             : tessera_phase_name (scene->trace,
                                   &scene->structure->phases[block->born_phase]);
}

/* Two layers more come before most blocks: another index, and the same block. */
static void
test_elsewhere (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "size>=1");
  g_autoptr (TesseraHistory) moved = tessera_history_copy (list);
  const TesseraEdit *before = only_edit (list), *after = only_edit (moved);
  g_autofree guint32 *ordinals = g_new (guint32, home->blocks->n_blocks + 1);
  g_autofree guint32 *ordinals_away = NULL;
  gsize n_shifted = 0;
  g_auto (TestScene) away = test_scene_new (test_trace_loop (4, 7, true));

  ordinals_away = g_new (guint32, away.blocks->n_blocks + 1);
  tessera_block_ordinals (home->trace, home->blocks, home->structure, ordinals);
  tessera_block_ordinals (away.trace, away.blocks, away.structure, ordinals_away);
  OK (find (&away, moved));
  g_assert_cmpuint (after->what.n_blocks, ==, before->what.n_blocks);
  for (gsize i = 0; i < after->what.n_blocks; i++)
    {
      guint32 was = (guint32) (after->shape[i] / 512);
      const TesseraBlock *old = &home->blocks->blocks[before->what.blocks[was]];
      const TesseraBlock *new = &away.blocks->blocks[after->what.blocks[i]];

      g_assert_true (i == 0 || after->what.blocks[i] > after->what.blocks[i - 1]);
      n_shifted += after->what.blocks[i] != before->what.blocks[was];
      g_assert_cmpuint (new->size_bytes, ==, old->size_bytes);
      g_assert_cmpuint (new->step, ==, old->step);
      g_assert_cmpstr (phase_of (&away, new), ==, phase_of (home, old));
      g_assert_cmpuint (ordinals_away[after->what.blocks[i]], ==,
                        ordinals[before->what.blocks[was]]);
    }
  g_assert_cmpuint (n_shifted, >, after->what.n_blocks / 2);
  /* It is at home there now, and finds its way back. */
  OK (find (&away, moved));
  OK (find (home, moved));
  test_edits_assert_equal (before, after);
}

static void
test_at_home (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "phase=forward");
  g_autoptr (TesseraHistory) same = tessera_history_copy (list);
  const TesseraBlockNames *names = only_edit (same)->what.names;

  OK (find (home, same));
  test_edits_assert_equal (only_edit (list), only_edit (same));
  g_assert_true (only_edit (same)->what.names == names);
}

/* The last of four steps, in a recording of two: the second does the same. */
static void
test_fewer_steps (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "step=3 phase=forward");
  gsize n_blocks = only_edit (list)->what.n_blocks;
  g_auto (TestScene) away = test_scene_new (test_trace_loop (2, 5, true));

  OK (find (&away, list));
  g_assert_cmpuint (only_edit (list)->what.n_blocks, ==, n_blocks);
  for (gsize i = 0; i < n_blocks; i++)
    g_assert_cmpuint (away.blocks->blocks[only_edit (list)->what.blocks[i]].step, ==, 1);
}

/* All four steps, in a recording of two: each block is listed once. */
static void
test_each_once (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "size=8192 phase=forward");
  gsize n_blocks = only_edit (list)->what.n_blocks;
  g_auto (TestScene) away = test_scene_new (test_trace_loop (2, 5, true));

  OK (find (&away, list));
  g_assert_cmpuint (only_edit (list)->what.n_blocks, ==, n_blocks / 2);
}

static void
test_missing (TestScene *home, gconstpointer unused)
{
  g_auto (TestScene) larger = test_scene_new (test_trace_loop (4, 7, true));

  g_autoptr (TesseraHistory) list = list_of (&larger, "phase=forward");
  g_assert_cmpint (find (home, list), ==, TESSERA_REFUSED);
  g_assert_true (g_str_has_prefix (home->error.text, "it: the edit \"phase=forward\" "
                                                     "lists blocks that this trace does "
                                                     "not have, such as the one of "));
  g_assert_nonnull (strstr (home->error.text, "in phase forward"));
}

/* What nobody named means these indices, as ever. */
static void
test_without_names (TestScene *home, gconstpointer unused)
{
  test_add (home, TESSERA_EDIT_DYNAMIC, "blocks=3,7", 0);
  g_auto (TestScene) larger = test_scene_new (test_trace_loop (4, 7, true));
  OK (find (&larger, home->history));
  g_assert_cmpuint (only_edit (home->history)->what.blocks[1], ==, 7);
  g_assert_null (only_edit (home->history)->what.names);
}

static void
test_both_sides (TestScene *home, gconstpointer unused)
{
  test_add_apart (home, "blocks=9,10", "blocks=11,12");
  TesseraEdit *edit = (TesseraEdit *) only_edit (home->history);
  name (home, edit);
  g_assert_nonnull (edit->what.names);
  g_assert_nonnull (edit->with.names);
  g_auto (TestScene) larger = test_scene_new (test_trace_loop (4, 7, true));
  OK (find (&larger, home->history));
  for (gsize i = 0; i < 2; i++)
    {
      g_assert_cmpuint (home->blocks->blocks[9 + i].size_bytes, ==,
                        larger.blocks->blocks[edit->what.blocks[i]].size_bytes);
      g_assert_cmpuint (home->blocks->blocks[11 + i].size_bytes, ==,
                        larger.blocks->blocks[edit->with.blocks[i]].size_bytes);
    }
}

static void
test_json (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "size>=1"), read = NULL;
  g_autofree char *text = tessera_history_to_json (list), *again = NULL;
  TesseraError error = { 0 };

  g_assert_nonnull (strstr (text, "\"names\""));
  read = tessera_history_from_json (text, -1, "it", &error);
  g_assert_nonnull (read);
  again = tessera_history_to_json (read);
  g_assert_cmpstr (again, ==, text);
}

/* Phases called what no edit can be read back with: rules do without them, lists have no
 * names, groups are called something that can be read. */
static void
test_odd_phases (gconstpointer name)
{
  TesseraTrace *trace = test_trace_loop (4, 5, true);
  const guint32 chosen[] = { 12, 13 };
  g_autoptr (TesseraHistory) list = NULL, read = NULL;
  g_autofree char *text = NULL;
  TesseraError error = { 0 };
  TesseraSelector rule;
  uint32_t odd;

  OK (tessera_trace_intern (trace, name, strlen (name), &odd));
  for (gsize i = 0; i < trace->n_ranges; i++)
    if (trace->ranges[i].kind == TESSERA_RANGE_PHASE)
      trace->ranges[i].name = odd;
  g_auto (TestScene) scene = test_scene_new (trace);
  list = list_of (&scene, "size>=8192");
  tessera_query_rule_for (scene.trace, scene.blocks, scene.structure, NULL, 0, chosen,
                          G_N_ELEMENTS (chosen), &rule);
  g_assert_null (rule.phase);
  tessera_selector_clear (&rule);
  text = tessera_history_to_json (list);
  read = tessera_history_from_json (text, -1, "it", &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_null (only_edit (read)->what.names);
  g_autoptr (TesseraPlan) made = test_plan (&scene);
  for (gsize i = 0; i < made->n_groups; i++)
    {
      g_assert_true (g_utf8_validate (made->groups[i].name, -1, NULL));
      g_assert_null (strchr (made->groups[i].name, '\n'));
    }
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
  ADD ("find/elsewhere", test_elsewhere);
  ADD ("find/at-home", test_at_home);
  ADD ("find/fewer-steps", test_fewer_steps);
  ADD ("find/each-once", test_each_once);
  ADD ("find/missing", test_missing);
  ADD ("find/without-names", test_without_names);
  ADD ("find/both-sides", test_both_sides);
  ADD ("find/json", test_json);
  g_test_add_data_func ("/edits/groups/find/odd/lines", "for\nward", test_odd_phases);
  g_test_add_data_func ("/edits/groups/find/odd/no-text", "for\xff\xed\xa0\x80ward",
                        test_odd_phases);
  return g_test_run ();
}
