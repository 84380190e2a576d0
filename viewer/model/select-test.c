/*
 * Choosing blocks without any display: sets, searches, what is told of them, what is lit.
 *
 * Three blocks of nine events: A [0, 7) 1 MiB, B [1, 4) 2 MiB, C [5, end) 2 MiB.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "edits/edits.h"
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
      gboolean is_in = tessera_document_is_selected (f->document, block);

      g_assert_cmpint (is_in, ==, bits >> block & 1);
      n += is_in;
    }
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, n);
  if (n == 0)
    g_assert_cmpuint (f->document->selected, ==, TESSERA_NONE);
  else
    g_assert_true (tessera_document_is_selected (f->document, f->document->selected));
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

static void
test_toggle (TestSession *f, gconstpointer unused)
{
  tessera_document_select_toggle (f->document, 2);
  tessera_document_select_toggle (f->document, 0);
  assert_selected (f, 5);
  g_assert_cmpuint (f->document->selected, ==, 0);
  tessera_document_select_toggle (f->document, 0);
  assert_selected (f, 4);
  g_assert_cmpuint (f->document->selected, ==, 2);
  tessera_document_select_toggle (f->document, 2);
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
  tessera_document_select_next_too (f->document, 1);
  tessera_document_select_next_too (f->document, 1);
  assert_selected (f, 3);
  g_assert_cmpuint (f->document->selected, ==, 1);
  tessera_document_select_next (f->document, 1);
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
      tessera_document_select_query (f->document, "size<64MiB", TESSERA_SELECT_ONLY,
                                     NULL);
      tessera_document_select (f->document, (uint32_t) pass % 3);
      test_session_settle (f);
      assert_selected (f, 1u << pass % 3);
    }
}

static void
test_facts (TestSession *f, gconstpointer unused)
{
  const TesseraSelectionFacts *facts = &f->document->facts;

  tessera_document_select_all (f->document);
  test_session_settle (f);
  g_assert_true (facts->selection == f->document->selection);
  g_assert_cmpuint (facts->size_bytes, ==, 5 << 20);
  g_assert_cmpuint (facts->most_bytes, ==, 3 << 20);
  g_assert_cmpuint (facts->most_index, ==, 1);
  g_assert_cmpuint (facts->peak_bytes, ==, f->document->data->bound_bytes);
  g_assert_cmpuint (facts->largest, ==, 1);
  g_assert_cmpuint (facts->least_life, ==, 3);
  g_assert_cmpuint (facts->n_sizes, ==, 2);
  g_assert_cmpuint (facts->sizes[0].value, ==, 2 << 20);
  g_assert_cmpuint (facts->sizes[0].n_blocks, ==, 2);
  g_assert_cmpuint (facts->sizes[1].n_blocks, ==, 1);
  g_assert_cmpuint (facts->sizes[2].n_blocks, ==, 0);
  g_assert_cmpuint (facts->n_streams, ==, 1);
  /* B and C are never alive together. */
  tessera_document_select_toggle (f->document, 0);
  test_session_settle (f);
  g_assert_true (facts->selection == f->document->selection);
  g_assert_cmpuint (facts->size_bytes, ==, 4 << 20);
  g_assert_cmpuint (facts->most_bytes, ==, 2 << 20);
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
  tessera_document_select_all (f->document);
  test_session_settle (f);
  g_assert_cmpuint (f->document->data->blocks->n_blocks, ==, G_N_ELEMENTS (expected));
  g_assert_cmpuint (facts->n_phases, ==, G_N_ELEMENTS (expected));
  for (uint32_t block = 0; block < G_N_ELEMENTS (expected); block++)
    {
      g_autofree char *text =
          tessera_selection_facts_describe_phases (f->document->data, block);

      g_assert_cmpstr (text, ==, expected[block]);
    }
  g_unlink (path);
}

/* Several are lit, one is not; colours and filters leave that alone. */
static void
test_lit (TestSession *f, gconstpointer unused)
{
  tessera_document_select (f->document, 0);
  g_assert_null (f->document->paint->ink.block_lit);
  tessera_document_select_toggle (f->document, 2);
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
  tessera_document_select_all (f->document);
  test_session_settle (f);
  test_open (f->document, f->path);
  assert_selected (f, 0);
  tessera_document_select_query (f->document, "size<64MiB", TESSERA_SELECT_ONLY, NULL);
  tessera_document_close (f->document);
  g_assert_null (f->document->selection);
  WAIT (G_OBJECT (f->document)->ref_count == 1, SLOW_MS);
  g_assert_null (f->document->selection);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/select/" name, TestSession, NULL, test_session_set_up, function,         \
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
  return g_test_run ();
}
