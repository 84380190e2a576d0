/*
 * Choosing blocks, and groups of blocks as edits make them; without any display.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"
#include "viewer/model/document.h"
#include "viewer/test-session.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* Exactly those whose bit is set. */
static void
assert_selected (TestSession *f, guint bits)
{
  size_t n = 0;

  for (uint32_t block = 0; block < 3; block++)
    {
      gboolean is_in = tessera_selection_has (f->document->selection, block);

      g_assert_cmpint (is_in, ==, bits >> block & 1);
      n += is_in;
    }
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, n);
  if (n == 0)
    g_assert_cmpuint (f->document->selected, ==, TESSERA_NONE);
  else
    g_assert_true (tessera_selection_has (f->document->selection, f->document->selected));
}

static void
test_one (TestSession *f, gconstpointer unused)
{
  assert_selected (f, 0);
  tessera_document_select (f->document, 1);
  assert_selected (f, 2);
  g_assert_cmpuint (f->document->selected, ==, 1);
  tessera_document_select (f->document, 99);
  assert_selected (f, 0);
  tessera_document_select (f->document, 2);
  tessera_document_select (f->document, TESSERA_NONE);
  assert_selected (f, 0);
}

/* As a click with Control does. */
static void
turn (TestSession *f, uint32_t block)
{
  tessera_document_select_blocks (f->document, &block, 1, TESSERA_SELECT_TURN, block);
}

static void
test_toggle (TestSession *f, gconstpointer unused)
{
  turn (f, 2);
  turn (f, 0);
  assert_selected (f, 5);
  g_assert_cmpuint (f->document->selected, ==, 0);
  turn (f, 0);
  assert_selected (f, 4);
  g_assert_cmpuint (f->document->selected, ==, 2);
  turn (f, 2);
  assert_selected (f, 0);
}

/* Nothing is told where nothing changed. */
static void
test_same_is_silent (TestSession *f, gconstpointer unused)
{
  const uint32_t blocks[] = { 2, 0, 2 };

  tessera_document_select_blocks (f->document, blocks, 3, TESSERA_SELECT_ONLY, 2);
  assert_selected (f, 5);
  g_assert_cmpuint (f->document->selected, ==, 2);
  test_session_settle (f);
  f->changed = 0;
  tessera_document_select_blocks (f->document, blocks, 2, TESSERA_SELECT_ONLY, 2);
  tessera_document_select_blocks (f->document, blocks, 1, TESSERA_SELECT_MORE, 2);
  g_assert_cmpuint (f->changed, ==, 0);
  tessera_document_select_blocks (f->document, blocks, 1, TESSERA_SELECT_LESS,
                                  TESSERA_NONE);
  g_assert_cmpuint (f->changed & TESSERA_CHANGED_SELECTION, !=, 0);
  assert_selected (f, 1);
}

static void
test_next_too (TestSession *f, gconstpointer unused)
{
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_MORE);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_MORE);
  assert_selected (f, 3);
  g_assert_cmpuint (f->document->selected, ==, 1);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_ONLY);
  assert_selected (f, 4);
}

static void
test_alive (TestSession *f, gconstpointer unused)
{
  static const guint at[] = { 1, 3, 3, 3, 1, 5, 5, 4, 4 };

  for (uint32_t event = 0; event < G_N_ELEMENTS (at); event++)
    {
      tessera_document_select_alive (f->document, event, TESSERA_SELECT_ONLY);
      test_session_settle (f);
      assert_selected (f, at[event]);
    }
  tessera_document_select_alive (f->document, 0, TESSERA_SELECT_MORE);
  test_session_settle (f);
  assert_selected (f, 5);
  tessera_document_select_alive (f->document, 8, TESSERA_SELECT_LESS);
  test_session_settle (f);
  assert_selected (f, 1);
}

/* What a rectangle meets is what lies there: asked of each block in turn. */
static void
test_rectangle (TestSession *f, gconstpointer unused)
{
  const TesseraScene *scene = f->document->sheets[TESSERA_SIDE_RIGHT]->scene;

  for (uint32_t block = 0; block < 3; block++)
    {
      TesseraView rect;

      g_assert_true (tessera_scene_block_rect (scene, block, &rect));
      rect.t0 = rect.t1 = (rect.t0 + rect.t1) / 2;
      rect.y0 = rect.y1 = (rect.y0 + rect.y1) / 2;
      tessera_document_select_in (f->document, TESSERA_SIDE_RIGHT, &rect,
                                  TESSERA_SELECT_ONLY);
      test_session_settle (f);
      assert_selected (f, 1u << block);
    }
  tessera_document_select_in (f->document, TESSERA_SIDE_LEFT, &f->document->view,
                              TESSERA_SELECT_ONLY);
  test_session_settle (f);
  assert_selected (f, 7);
}

static void
test_group (TestSession *f, gconstpointer unused)
{
  const TesseraBlock *blocks = f->document->data->blocks->blocks;

  for (uint32_t block = 0; block < 3; block++)
    {
      guint bits = 0;

      for (uint32_t i = 0; i < 3; i++)
        if (blocks[i].group == blocks[block].group &&
            (blocks[i].group != TESSERA_NONE ||
             blocks[i].lifetime_class == blocks[block].lifetime_class))
          bits |= 1u << i;
      tessera_document_select_group_of (f->document, block);
      test_session_settle (f);
      assert_selected (f, bits);
    }
}

/* A choice made meanwhile is not overrun by a search that was still running. */
static void
test_latest_wins (TestSession *f, gconstpointer unused)
{
  for (int pass = 0; pass < 100; pass++)
    {
      tessera_document_select_query (f->document, "size<64MiB");
      tessera_document_select (f->document, (uint32_t) pass % 3);
      test_session_settle (f);
      assert_selected (f, 1u << pass % 3);
    }
}

static void
test_facts (TestSession *f, gconstpointer unused)
{
  static const char *const expected[TESSERA_N_COMMON] = {
    "3.00 MiB, 100.0 % of it",
    "3.00 MiB at most, from event 1",
    "1 persistent, 2 scoped",
    "2 × forward → backward\n1 × backward, lives on",
    "2 × 2.00 MiB\n1 × 1.00 MiB",
    "2 × forward -> backward, step 0\n1 × persistent, from backward",
    "0",
    "3 to 7 events",
    "1",
  };
  const TesseraSelectionFacts *facts = &f->document->facts;

  test_session_do (f, tessera_document_select_all);
  g_assert_true (facts->selection == f->document->selection);
  g_assert_cmpuint (facts->size_bytes, ==, 5 << 20);
  for (int i = 0; i < TESSERA_N_COMMON; i++)
    g_assert_cmpstr (facts->texts[i], ==, expected[i]);
  /* B and C are never alive together. */
  turn (f, 0);
  test_session_settle (f);
  g_assert_true (facts->selection == f->document->selection);
  g_assert_cmpuint (facts->size_bytes, ==, 4 << 20);
  g_assert_true (
      g_str_has_prefix (facts->texts[TESSERA_COMMON_AT_ONCE], "2.00 MiB at most"));
  tessera_document_select (f->document, 0);
  g_assert_null (facts->selection);
}

/* A file of blocks that live and die in every way. */
static char *
phases_path (void)
{
  static const char table[] = "seq,time_us,action,id,size_bytes,stream,iteration,phase\n"
                              "0,0,alloc,9,1048576,0,0,\n"
                              "1,1,alloc,8,1048576,0,0,\n"
                              "2,2,free,8,1048576,0,0,\n"
                              "3,3,alloc,7,1048576,0,0,\n"
                              "4,4,alloc,1,1048576,0,0,forward\n"
                              "5,5,alloc,2,1048576,0,0,forward\n"
                              "6,6,alloc,3,1048576,0,0,forward\n"
                              "7,7,alloc,4,1048576,0,0,forward\n"
                              "8,8,free,1,1048576,0,0,forward\n"
                              "9,9,free,7,1048576,0,0,backward\n"
                              "10,10,free,2,1048576,0,0,backward\n"
                              "11,11,mark,0,0,0,0,backward\n"
                              "12,12,free,3,1048576,0,0,\n"
                              "13,13,mark,0,0,0,0,\n";
  char *path = NULL;
  int fd = g_file_open_tmp ("phases-XXXXXX.csv", &path, NULL);

  g_assert_cmpint (write (fd, table, sizeof table - 1), ==, sizeof table - 1);
  close (fd);
  return path;
}

/* No two that are told apart read alike: one that lives on is none that ends where it
 * began. */
static void
test_phases (TestSession *f, gconstpointer unused)
{
  static const char *const expected[] = { "no phase, lives on",  "no phase",
                                          "no phase → backward", "forward",
                                          "forward → backward",  "forward → no phase",
                                          "forward, lives on" };
  g_autofree char *path = phases_path ();
  const TesseraSelectionFacts *facts = &f->document->facts;

  test_open (f->document, path);
  test_session_do (f, tessera_document_select_all);
  g_assert_cmpuint (f->document->data->blocks->n_blocks, ==, G_N_ELEMENTS (expected));
  g_assert_true (g_str_has_suffix (facts->texts[TESSERA_COMMON_PHASES], "\n3 more"));
  for (uint32_t block = 1; block < G_N_ELEMENTS (expected); block++)
    {
      const uint32_t two[] = { block - 1, block };
      g_auto (GStrv) lines = NULL;

      tessera_document_select_blocks (f->document, two, 2, TESSERA_SELECT_ONLY, block);
      test_session_settle (f);
      lines = g_strsplit (facts->texts[TESSERA_COMMON_PHASES], "\n", -1);
      g_assert_cmpuint (g_strv_length (lines), ==, 2);
      for (int i = 0; i < 2; i++)
        {
          g_autofree char *line = g_strdup_printf ("1 × %s", expected[two[i]]);

          g_assert_true (g_strv_contains ((const char *const *) lines, line));
        }
    }
  g_unlink (path);
}

/* Several are lit, one is not; colours and filters leave that alone. */
static void
test_lit (TestSession *f, gconstpointer unused)
{
  tessera_document_select (f->document, 0);
  g_assert_null (f->document->paint->ink.block_lit);
  turn (f, 2);
  g_assert_nonnull (f->document->paint->ink.block_lit);
  g_assert_cmpuint (f->document->paint->ink.block_lit[0], ==, 1);
  g_assert_cmpuint (f->document->paint->ink.block_lit[1], ==, 0);
  tessera_document_filter (f->document, 0, TRUE);
  g_assert_nonnull (f->document->paint->shown);
  tessera_document_set_dark (f->document, TRUE);
  test_session_settle (f);
  g_assert_true (f->document->paint->dark);
  g_assert_cmpuint (f->document->paint->ink.block_lit[2], ==, 1);
  tessera_document_filter (f->document, 0, TRUE);
  tessera_document_show_all (f->document);
  g_assert_null (f->document->paint->shown);
  g_assert_nonnull (f->document->paint->ink.block_lit);
  tessera_document_select (f->document, TESSERA_NONE);
  g_assert_null (f->document->paint->ink.block_lit);
}

/* What an edit is about, of blocks kept apart both sides; a cap is about none. */
static void
test_edit (TestSession *f, gconstpointer unused)
{
  TesseraEdit apart = tessera_edit_of (TESSERA_EDIT_APART);
  TesseraEdit cap = tessera_edit_of (TESSERA_EDIT_CAP);
  g_autofree char *kept = g_strconcat (f->path, ".edits.json", NULL);
  char *error = NULL;

  g_assert_true (tessera_query_parse ("size<2MiB", &apart.what, &error));
  apart.has_with = tessera_query_parse ("phase=backward", &apart.with, &error);
  cap.at = 64 << 20;
  tessera_document_add_edit (f->document, &apart);
  tessera_document_add_edit (f->document, &cap);
  test_session_settle (f);
  tessera_document_select_edit (f->document, 0);
  test_session_settle (f);
  assert_selected (f, 5);
  tessera_document_select (f->document, 1);
  tessera_document_select_edit (f->document, 1);
  tessera_document_select_edit (f->document, 2);
  test_session_settle (f);
  assert_selected (f, 2);
  g_unlink (kept);
}

static void
test_close_forgets (TestSession *f, gconstpointer unused)
{
  test_session_do (f, tessera_document_select_all);
  test_open (f->document, f->path);
  assert_selected (f, 0);
  tessera_document_select_query (f->document, "size<64MiB");
  tessera_document_close (f->document);
  g_assert_null (f->document->selection);
  WAIT (G_OBJECT (f->document)->ref_count == 1, SLOW_MS);
  g_assert_null (f->document->selection);
}

/* --- groups ------------------------------------------------------------------------- */

/* Blocks in the group of that name, as the tree counts them; 0: there is none. What is
 * told is of the groups that there are, and every block is in one place. */
static uint64_t
n_in_group (TestSession *f, const char *name)
{
  const TesseraGrouping *grouping = f->document->grouping;
  uint64_t n = 0, n_all = 0;

  g_assert_nonnull (grouping);
  g_assert_true (grouping->data == f->document->data);
  for (uint32_t place = 0; place < grouping->n_places; place++)
    {
      n_all += grouping->rows[place].n_blocks;
      if (!g_str_equal (tessera_place_name (grouping->data, place), name))
        continue;
      n += grouping->rows[place].n_blocks;
      /* The tree shows it under a class that has blocks. */
      if (n > 0)
        g_assert_cmpuint (
            grouping->rows[grouping->n_places + grouping->rows[place].lifetime_class]
                .n_blocks,
            >=, n);
      if (n > 0)
        g_assert_cmpuint (grouping->rows[place].height_bytes, >=, 1 << 20);
    }
  if (f->document->query == NULL)
    g_assert_cmpuint (n_all, ==, f->document->data->blocks->n_blocks);
  return n;
}

/* An edit of just these blocks. */
static void
regroup (TestSession *f,
         TesseraEditKind kind,
         const char *group,
         const uint32_t *blocks,
         size_t n_blocks)
{
  TesseraEdit made = tessera_edit_of (kind);

  made.group = group != NULL ? strdup (group) : NULL;
  made.by = kind == TESSERA_EDIT_SPLIT ? TESSERA_SPLIT_SIZE : 0;
  made.lifetime_class = kind == TESSERA_EDIT_CLASS ? TESSERA_CLASS_DYNAMIC : 0;
  tessera_document_select_blocks (f->document, blocks, n_blocks, TESSERA_SELECT_ONLY,
                                  blocks[0]);
  test_session_settle (f);
  tessera_document_edit_selection (f->document, &made, FALSE);
  test_session_settle (f);
  g_assert_cmpstr (f->document->error, ==, NULL);
}

/* The places and what is in them, as one text. */
static char *
describe_places (TestSession *f)
{
  const TesseraGrouping *grouping = f->document->grouping;
  GString *text = g_string_new (NULL);

  g_assert_true (grouping->data == f->document->data);
  for (uint32_t place = 0; place < grouping->n_places; place++)
    {
      if (grouping->rows[place].n_blocks == 0)
        continue;
      g_string_append_printf (text,
                              "%s (%s, %s):", tessera_place_name (grouping->data, place),
                              tessera_class_name (grouping->rows[place].lifetime_class),
                              tessera_place_reason (grouping->data, place));
      for (uint32_t i = grouping->begin[place]; i < grouping->begin[place + 1]; i++)
        g_string_append_printf (text, " %u", grouping->blocks[i]);
      g_string_append (text, "\n");
    }
  return g_string_free (text, FALSE);
}

static void
ask_for_groups (TestSession *f)
{
  tessera_document_set_query (f->document, "");
  test_session_settle (f);
}

/* Groups are made, merged, split and moved to, and a class is set: each is to be seen at
 * once; undone step by step each former picture is there again, redone and opened anew
 * each later one. */
static void
test_groups (TestSession *f, gconstpointer unused)
{
  static const uint32_t a_b[] = { 0, 1 }, a_c[] = { 0, 2 }, a[] = { 0 };
  char *pictures[6];

  ask_for_groups (f);
  pictures[0] = describe_places (f);
  regroup (f, TESSERA_EDIT_GROUP, "mine", a_b, 2);
  g_assert_cmpuint (n_in_group (f, "mine"), ==, 2);
  g_assert_cmpstr (
      tessera_place_reason (f->document->data, tessera_place_of (f->document->data, 0)),
      ==, "made by hand");
  pictures[1] = describe_places (f);
  regroup (f, TESSERA_EDIT_MERGE, "all", a_c, 2);
  g_assert_cmpuint (n_in_group (f, "all"), ==, 3);
  g_assert_cmpuint (n_in_group (f, "mine"), ==, 0);
  pictures[2] = describe_places (f);
  regroup (f, TESSERA_EDIT_SPLIT, NULL, a, 1);
  g_assert_cmpuint (n_in_group (f, "all, 1048576 bytes"), ==, 1);
  g_assert_cmpuint (n_in_group (f, "all, 2097152 bytes"), ==, 2);
  pictures[3] = describe_places (f);
  regroup (f, TESSERA_EDIT_MOVE, "all, 2097152 bytes", a, 1);
  g_assert_cmpuint (n_in_group (f, "all, 2097152 bytes"), ==, 3);
  pictures[4] = describe_places (f);
  regroup (f, TESSERA_EDIT_CLASS, NULL, a, 1);
  g_assert_cmpint (f->document->data->blocks->blocks[0].lifetime_class, ==,
                   TESSERA_CLASS_DYNAMIC);
  g_assert_cmpuint (n_in_group (f, "all, 2097152 bytes"), ==, 2);
  pictures[5] = describe_places (f);
  for (int round = 0; round < 2; round++)
    for (int i = 4; i >= -5; i--)
      {
        g_autofree char *picture = NULL;

        if (i >= 0)
          tessera_document_undo (f->document);
        else
          tessera_document_redo (f->document);
        if (round == 1)
          {
            test_session_settle (f);
            test_session_reopen (f);
            ask_for_groups (f);
          }
        test_session_settle (f);
        picture = describe_places (f);
        g_assert_cmpstr (picture, ==, pictures[ABS (i)]);
        if (i == 0)
          g_assert_true (f->document->data == tessera_data_origin (f->document->data));
      }
  for (size_t i = 0; i < G_N_ELEMENTS (pictures); i++)
    g_free (pictures[i]);
}

/* Queries and rules go by the groups and classes that edits have made, planning by those
 * of the trace: a class is not set twice. */
static void
test_groups_are_asked_for (TestSession *f, gconstpointer unused)
{
  static const uint32_t b_c[] = { 1, 2 }, b[] = { 1 };
  const TesseraPlan *plan;
  guint n_mine = 0;

  ask_for_groups (f);
  regroup (f, TESSERA_EDIT_GROUP, "mine", b_c, 2);
  tessera_document_select_query (f->document, "group=mine");
  test_session_settle (f);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 2);
  tessera_document_set_query (f->document, "group=mine");
  test_session_settle (f);
  g_assert_cmpuint (n_in_group (f, "mine"), ==, 2);
  g_assert_cmpuint (f->document->grouping->begin[f->document->grouping->n_places], ==, 2);
  regroup (f, TESSERA_EDIT_CLASS, NULL, b, 1);
  g_assert_cmpstr (f->document->query, ==, "group=mine");
  g_assert_cmpuint (f->document->grouping->begin[f->document->grouping->n_places], ==, 1);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 1);
  tessera_document_select_query (f->document, "class=dynamic");
  test_session_settle (f);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 1);
  g_assert_cmpuint (f->document->selected, ==, 1);
  plan = f->document->planned->plan;
  g_assert_true (f->document->planned->data == tessera_data_origin (f->document->data));
  g_assert_cmpuint (plan->n_groups, ==, f->document->data->n_groups);
  for (size_t i = 0; i < plan->n_groups; i++)
    {
      g_assert_cmpstr (plan->groups[i].name, ==, f->document->data->groups[i].name);
      g_assert_cmpuint (plan->groups[i].n_blocks, ==,
                        f->document->data->groups[i].n_blocks);
      n_mine += g_str_equal (plan->groups[i].name, "mine");
    }
  g_assert_cmpuint (n_mine, ==, 1);
}

/* What cannot be done leaves the picture as it was, as do edits of other things. */
static void
test_groups_stay (TestSession *f, gconstpointer unused)
{
  static const uint32_t a[] = { 0 };
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_MOVE);
  g_autofree char *before = NULL, *after = NULL;

  ask_for_groups (f);
  regroup (f, TESSERA_EDIT_DYNAMIC, NULL, a, 1);
  g_assert_null (f->document->data->origin);
  regroup (f, TESSERA_EDIT_GROUP, "mine", a, 1);
  before = describe_places (f);
  made.group = strdup ("nobody's");
  tessera_document_edit_selection (f->document, &made, FALSE);
  test_session_settle (f);
  g_assert_nonnull (f->document->error);
  g_clear_pointer (&f->document->error, g_free);
  after = describe_places (f);
  g_assert_cmpstr (after, ==, before);
  g_assert_cmpstr (
      tessera_place_name (f->document->data, tessera_place_of (f->document->data, 0)), ==,
      "mine");
}

/* Colours by class and group are of what the edits made. */
static void
test_colours_follow_groups (TestSession *f, gconstpointer unused)
{
  static const uint32_t a_b_c[] = { 0, 1, 2 };

  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_GROUP);
  test_session_settle (f);
  regroup (f, TESSERA_EDIT_GROUP, "mine", a_b_c, 3);
  g_assert_true (f->document->paint->data == f->document->data);
  g_assert_cmpuint (f->document->paint->colouring->n_entries, ==, 1);
  test_session_do (f, tessera_document_undo);
  g_assert_true (f->document->paint->data == f->document->data);
}

/* Whatever is asked for while the groups change comes to an end with those that there
 * are then. */
static void
test_groups_in_haste (TestSession *f, gconstpointer unused)
{
  static const uint32_t a_b[] = { 0, 1 };
  size_t n_edits;

  ask_for_groups (f);
  regroup (f, TESSERA_EDIT_GROUP, "mine", a_b, 2);
  for (int i = 0; i < 40; i++)
    {
      TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);

      if (i % 2 == 0)
        tessera_document_undo (f->document);
      else
        tessera_document_redo (f->document);
      if (i % 4 == 1)
        tessera_document_set_query (f->document, i % 8 == 1 ? "group=mine" : "");
      if (i % 4 == 2)
        tessera_document_set_colour_key (f->document, i % 8 == 2 ? TESSERA_COLOUR_GROUP
                                                                 : TESSERA_COLOUR_CLASS);
      if (i == 35)
        tessera_document_edit_selection (f->document, &made, TRUE);
      for (int turn = 0; turn < i % 5; turn++)
        g_main_context_iteration (NULL, FALSE);
    }
  test_session_settle (f);
  ask_for_groups (f);
  /* What was made while the group was undone has taken its place. */
  g_assert_cmpuint (tessera_document_n_standing (f->document), >=, 1);
  const TesseraEdit *edits = tessera_history_get (f->document->history, &n_edits);
  g_assert_cmpuint (n_in_group (f, "mine"), ==,
                    edits[0].kind == TESSERA_EDIT_GROUP ? 2 : 0);
  g_assert_true (f->document->paint->data == f->document->data);
  g_assert_true (f->document->facts.selection == f->document->selection);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/sets/" name, TestSession, NULL, test_session_set_up, function,           \
              test_session_tear_down)
  ADD ("one", test_one);
  ADD ("toggle", test_toggle);
  ADD ("same is silent", test_same_is_silent);
  ADD ("next too", test_next_too);
  ADD ("alive", test_alive);
  ADD ("rectangle", test_rectangle);
  ADD ("group", test_group);
  ADD ("latest wins", test_latest_wins);
  ADD ("facts", test_facts);
  ADD ("phases", test_phases);
  ADD ("lit", test_lit);
  ADD ("edit", test_edit);
  ADD ("close forgets", test_close_forgets);
  ADD ("groups", test_groups);
  ADD ("groups are asked for", test_groups_are_asked_for);
  ADD ("groups stay", test_groups_stay);
  ADD ("colours follow groups", test_colours_follow_groups);
  ADD ("groups in haste", test_groups_in_haste);
  return g_test_run ();
}
