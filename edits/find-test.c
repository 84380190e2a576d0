/*
 * What an edit lists by hand, found again in another trace of the same program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"
#include "edits/test-scene.h"

#include <string.h>

#include "edits/edits.h"
#include "planner/test-traces.h"

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
  TestScene away;

  test_scene_open (&away, test_trace_loop (4, 7, true));
  ordinals_away = g_new (guint32, away.blocks->n_blocks + 1);
  tessera_block_ordinals (home->trace, home->blocks, home->structure, ordinals);
  tessera_block_ordinals (away.trace, away.blocks, away.structure, ordinals_away);
  g_assert_cmpint (find (&away, moved), ==, TESSERA_OK);
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
  g_assert_cmpint (find (&away, moved), ==, TESSERA_OK);
  g_assert_cmpint (find (home, moved), ==, TESSERA_OK);
  test_edits_assert_equal (before, after);
  test_scene_end (&away, NULL);
}

static void
test_at_home (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "phase=forward");
  g_autoptr (TesseraHistory) same = tessera_history_copy (list);
  const TesseraBlockNames *names = only_edit (same)->what.names;

  g_assert_cmpint (find (home, same), ==, TESSERA_OK);
  test_edits_assert_equal (only_edit (list), only_edit (same));
  g_assert_true (only_edit (same)->what.names == names);
}

/* The last of four steps, in a recording of two: the second does the same. */
static void
test_fewer_steps (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "step=3 phase=forward");
  gsize n_blocks = only_edit (list)->what.n_blocks;
  TestScene away;

  test_scene_open (&away, test_trace_loop (2, 5, true));
  g_assert_cmpint (find (&away, list), ==, TESSERA_OK);
  g_assert_cmpuint (only_edit (list)->what.n_blocks, ==, n_blocks);
  for (gsize i = 0; i < n_blocks; i++)
    g_assert_cmpuint (away.blocks->blocks[only_edit (list)->what.blocks[i]].step, ==, 1);
  test_scene_end (&away, NULL);
}

/* All four steps, in a recording of two: each block is listed once. */
static void
test_each_once (TestScene *home, gconstpointer unused)
{
  g_autoptr (TesseraHistory) list = list_of (home, "size=8192 phase=forward");
  gsize n_blocks = only_edit (list)->what.n_blocks;
  TestScene away;

  test_scene_open (&away, test_trace_loop (2, 5, true));
  g_assert_cmpint (find (&away, list), ==, TESSERA_OK);
  g_assert_cmpuint (only_edit (list)->what.n_blocks, ==, n_blocks / 2);
  test_scene_end (&away, NULL);
}

static void
test_missing (TestScene *home, gconstpointer unused)
{
  TestScene larger;
  g_autoptr (TesseraHistory) list = NULL;

  test_scene_open (&larger, test_trace_loop (4, 7, true));
  list = list_of (&larger, "phase=forward");
  g_assert_cmpint (find (home, list), ==, TESSERA_REFUSED);
  g_assert_true (g_str_has_prefix (home->error.text, "it: the edit \"phase=forward\" "
                                                     "lists blocks that this trace does "
                                                     "not have, such as the one of "));
  g_assert_nonnull (strstr (home->error.text, "in phase forward"));
  test_scene_end (&larger, NULL);
}

/* What nobody named means these indices, as ever. */
static void
test_without_names (TestScene *home, gconstpointer unused)
{
  TestScene larger;

  test_add (home, TESSERA_EDIT_DYNAMIC, "blocks=3,7", 0);
  test_scene_open (&larger, test_trace_loop (4, 7, true));
  g_assert_cmpint (find (&larger, home->history), ==, TESSERA_OK);
  g_assert_cmpuint (only_edit (home->history)->what.blocks[1], ==, 7);
  g_assert_null (only_edit (home->history)->what.names);
  test_scene_end (&larger, NULL);
}

static void
test_both_sides (TestScene *home, gconstpointer unused)
{
  TestScene larger;
  TesseraEdit *edit;

  test_add_apart (home, "blocks=9,10", "blocks=11,12");
  edit = (TesseraEdit *) only_edit (home->history);
  name (home, edit);
  g_assert_nonnull (edit->what.names);
  g_assert_nonnull (edit->with.names);
  test_scene_open (&larger, test_trace_loop (4, 7, true));
  g_assert_cmpint (find (&larger, home->history), ==, TESSERA_OK);
  for (gsize i = 0; i < 2; i++)
    {
      g_assert_cmpuint (home->blocks->blocks[9 + i].size_bytes, ==,
                        larger.blocks->blocks[edit->what.blocks[i]].size_bytes);
      g_assert_cmpuint (home->blocks->blocks[11 + i].size_bytes, ==,
                        larger.blocks->blocks[edit->with.blocks[i]].size_bytes);
    }
  test_scene_end (&larger, NULL);
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
  TesseraPlan *made;
  TestScene scene;
  uint32_t odd;

  g_assert_cmpint (tessera_trace_intern (trace, name, strlen (name), &odd), ==,
                   TESSERA_OK);
  for (gsize i = 0; i < trace->n_ranges; i++)
    if (trace->ranges[i].kind == TESSERA_RANGE_PHASE)
      trace->ranges[i].name = odd;
  test_scene_open (&scene, trace);
  list = list_of (&scene, "size>=8192");
  tessera_query_rule_for (scene.trace, scene.blocks, scene.structure, NULL, 0, chosen,
                          G_N_ELEMENTS (chosen), &rule);
  g_assert_null (rule.phase);
  tessera_selector_clear (&rule);
  text = tessera_history_to_json (list);
  read = tessera_history_from_json (text, -1, "it", &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_null (only_edit (read)->what.names);
  made = test_plan (&scene);
  for (gsize i = 0; i < made->n_groups; i++)
    {
      g_assert_true (g_utf8_validate (made->groups[i].name, -1, NULL));
      g_assert_null (strchr (made->groups[i].name, '\n'));
    }
  tessera_plan_free (made);
  test_scene_end (&scene, NULL);
}

#define ADD(path, test)                                                                  \
  g_test_add (path, TestScene, NULL, test_scene_begin, test, test_scene_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("/find/elsewhere", test_elsewhere);
  ADD ("/find/at-home", test_at_home);
  ADD ("/find/fewer-steps", test_fewer_steps);
  ADD ("/find/each-once", test_each_once);
  ADD ("/find/missing", test_missing);
  ADD ("/find/without-names", test_without_names);
  ADD ("/find/both-sides", test_both_sides);
  ADD ("/find/json", test_json);
  g_test_add_data_func ("/find/odd/lines", "for\nward", test_odd_phases);
  g_test_add_data_func ("/find/odd/no-text", "for\xff\xed\xa0\x80ward", test_odd_phases);
  return g_test_run ();
}
