/*
 * The tree of groups without any display: sums against counting one by one, order, what is
 * open; and queries.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/private.h"

#include "viewer/model/document.h"
#include "viewer/test-session.h"

#include <glib/gstdio.h>
#include <string.h>

#define N_MANY 30000

/* Blocks of one phase and size after each other, and a large one of another phase. */
static void
write_many_blocks (const char *path)
{
  g_autoptr (GString) text =
      g_string_new ("seq,time_us,action,id,size_bytes,stream,iteration,phase,module\n"
                    "0,0,alloc,1,8388608,0,0,forward,a\n");
  int seq = 1;

  for (int i = 0; i < N_MANY; i++, seq += 2)
    g_string_append_printf (text,
                            "%d,%d,alloc,%d,%d,0,0,forward,a\n"
                            "%d,%d,free,%d,%d,0,0,forward,a\n",
                            seq, seq, i + 2, 4096, seq + 1, seq + 1, i + 2, 4096);
  /* A second step, or the small ones would be taken for steps. */
  g_string_append_printf (text, "%d,%d,free,1,8388608,0,1,backward,a\n", seq, seq);
  g_assert_true (g_file_set_contents (path, text->str, (gssize) text->len, NULL));
}

static void
set_up (TestSession *f, gconstpointer which)
{
  g_autofree char *sample = g_str_equal (which, "sample") ? test_sample_path () : NULL;

  test_session_set_up_empty (f, NULL);
  f->document->plan_automatically = FALSE;
  if (sample != NULL)
    {
      g_unlink (f->path);
      test_copy_file (sample, f->path);
    }
  else if (g_str_equal (which, "many"))
    write_many_blocks (f->path);
  test_open (f->document, f->path);
  tessera_document_set_query (f->document, "");
  test_session_settle (f);
  g_assert_nonnull (f->document->grouping);
}

/* The slow way: every block against every place. */
static void
test_sums (TestSession *f, gconstpointer unused)
{
  const TesseraGrouping *grouping = f->document->grouping;
  const TesseraData *data = f->document->data;
  uint64_t n_blocks = 0, peak_bytes = 0;

  for (uint32_t place = 0; place < grouping->n_places; place++)
    {
      const TesseraGroupRow *row = &grouping->rows[place];
      uint64_t n = 0, bytes = 0, peak = 0;

      for (uint32_t i = 0; i < data->blocks->n_blocks; i++)
        {
          const TesseraBlock *b = &data->blocks->blocks[i];

          if (tessera_place_of (data, i) != place)
            continue;
          g_assert_cmpuint (grouping->blocks[grouping->begin[place] + n], ==, i);
          n++;
          bytes += b->size_bytes;
          if (b->born_index <= data->bound_index && b->died_index > data->bound_index)
            peak += b->block_bytes;
        }
      g_assert_cmpuint (row->n_blocks, ==, n);
      g_assert_cmpuint (row->size_bytes, ==, bytes);
      g_assert_cmpuint (row->peak_bytes, ==, peak);
      g_assert_cmpuint (row->height_bytes, >=, peak);
      g_assert_true (row->is_whole);
      g_assert_cmpfloat (row->filled, <=, 1 + 1e-9);
      if (place < data->n_groups)
        {
          g_assert_cmpuint (n, ==, data->groups[place].n_blocks);
          g_assert_cmpuint (row->height_bytes, ==, data->groups[place].height_bytes);
        }
      n_blocks += n;
      peak_bytes += peak;
    }
  g_assert_cmpuint (n_blocks, ==, data->blocks->n_blocks);
  g_assert_cmpuint (peak_bytes, ==, data->bound_bytes);
  for (int class = 0; class < TESSERA_N_CLASSES; class ++)
    n_blocks -= grouping->classes[class].n_blocks;
  g_assert_cmpuint (n_blocks, ==, 0);
}

static double
value_of (const TesseraGroupRow *row, TesseraTreeColumn column)
{
  return column == TESSERA_TREE_PEAK     ? (double) row->peak_bytes
         : column == TESSERA_TREE_BYTES  ? (double) row->size_bytes
         : column == TESSERA_TREE_FILLED ? row->filled
                                         : (double) row->height_bytes;
}

/* All groups of a class come in order, each once. */
static void
test_order (TestSession *f, gconstpointer unused)
{
  const TesseraGrouping *grouping = f->document->grouping;

  for (int column = TESSERA_TREE_HEIGHT; column <= TESSERA_TREE_FILLED; column++)
    for (int down = 0; down < 2; down++)
      {
        TesseraGroupTree *tree = tessera_group_tree_new (
            f->document->grouping, NULL, (TesseraTreeColumn) column, down);
        guint n_seen = 0;
        double last = 0;
        TesseraNodeKind last_kind = TESSERA_NODE_CLASS;

        for (guint i = 0; i < tree->rows->len; i++)
          {
            TesseraNode node = g_array_index (tree->rows, TesseraNode, i);

            if (node.kind == TESSERA_NODE_GROUP)
              {
                double value =
                    value_of (&grouping->rows[node.index], (TesseraTreeColumn) column);

                if (last_kind == TESSERA_NODE_GROUP)
                  g_assert_true (down ? value <= last : value >= last);
                last = value;
                n_seen++;
              }
            last_kind = node.kind;
          }
        tessera_group_tree_free (tree);
        for (size_t i = 0; i < grouping->n_places; i++)
          n_seen -= grouping->rows[i].n_blocks > 0;
        g_assert_cmpuint (n_seen, ==, 0);
      }
}

static uint64_t
value_of_block (const TesseraData *data, uint32_t block, TesseraTreeColumn column)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  return column == TESSERA_TREE_NAME     ? block
         : column == TESSERA_TREE_HEIGHT ? b->block_bytes
         : column == TESSERA_TREE_BYTES  ? b->size_bytes
         : column == TESSERA_TREE_FILLED ? b->died_index - b->born_index
         : b->born_index <= data->bound_index && b->died_index > data->bound_index
             ? b->block_bytes
             : 0;
}

/* The blocks of a group come in order, equals by birth. */
static void
test_order_of_blocks (TestSession *f, gconstpointer unused)
{
  const TesseraData *data = f->document->data;

  for (int column = 0; column < TESSERA_N_TREE_COLUMNS; column++)
    for (int down = 0; down < 2; down++)
      {
        uint32_t place = tessera_place_of (data, 5), last = TESSERA_NONE;
        TesseraGroupTree *tree = tessera_group_tree_new (
            f->document->grouping, NULL, (TesseraTreeColumn) column, down);
        guint row = tessera_group_tree_open_to (tree, TESSERA_NODE_GROUP, place);

        tessera_group_tree_set_open (tree, (TesseraNode){ TESSERA_NODE_GROUP, place },
                                     TRUE);
        for (uint64_t i = 0; i < f->document->grouping->rows[place].n_blocks; i++)
          {
            TesseraNode node = g_array_index (tree->rows, TesseraNode, ++row);
            uint64_t value, before;

            g_assert_cmpint (node.kind, ==, TESSERA_NODE_BLOCK);
            value = value_of_block (data, node.index, (TesseraTreeColumn) column);
            before = last == TESSERA_NONE
                         ? value
                         : value_of_block (data, last, (TesseraTreeColumn) column);
            g_assert_true (down ? value <= before : value >= before);
            if (last != TESSERA_NONE && value == before)
              g_assert_cmpuint (last, <, node.index);
            last = node.index;
          }
        g_assert_cmpuint (last, !=, TESSERA_NONE);
        tessera_group_tree_free (tree);
      }
}

/* A block is found however large its group is, and another order opens the same. */
static void
test_many (TestSession *f, gconstpointer unused)
{
  TesseraGroupTree *tree =
      tessera_group_tree_new (f->document->grouping, NULL, TESSERA_TREE_NAME, FALSE);
  TesseraNode group = { TESSERA_NODE_GROUP, tessera_place_of (f->document->data, 5) };
  guint n_closed = tree->rows->len, row;
  TesseraGroupTree *other;

  row = tessera_group_tree_open_to (tree, TESSERA_NODE_BLOCK, N_MANY - 5);
  g_assert_cmpuint (tree->rows->len, ==, n_closed + N_MANY);
  g_assert_cmpuint (g_array_index (tree->rows, TesseraNode, row).index, ==, N_MANY - 5);
  g_assert_true (tessera_group_tree_is_open (tree, group));
  other = tessera_group_tree_new (f->document->grouping, tree, TESSERA_TREE_BYTES, TRUE);
  g_assert_cmpuint (other->rows->len, ==, n_closed + N_MANY);
  g_assert_true (tessera_group_tree_set_open (tree, group, FALSE));
  g_assert_false (tessera_group_tree_set_open (tree, group, FALSE));
  g_assert_cmpuint (tree->rows->len, ==, n_closed);
  /* A closed class has no rows below it, and what is looked for opens it. */
  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    tessera_group_tree_set_open (tree, (TesseraNode){ TESSERA_NODE_CLASS, class }, FALSE);
  g_assert_cmpuint (tree->rows->len, <, n_closed);
  row = tessera_group_tree_open_to (tree, TESSERA_NODE_GROUP, group.index);
  g_assert_cmpuint (g_array_index (tree->rows, TesseraNode, row).index, ==, group.index);
  tessera_group_tree_free (other);
  tessera_group_tree_free (tree);
}

static void
ask (TestSession *f, const char *query)
{
  tessera_document_set_query (f->document, query);
  test_session_settle (f);
}

static uint32_t
n_matches (TestSession *f)
{
  return f->document->grouping->begin[f->document->grouping->n_places];
}

/* The groups keep only what matches; what is not understood changes nothing. */
static void
test_query (TestSession *f, gconstpointer unused)
{
  g_autofree char *error = NULL;

  ask (f, "size=2MiB");
  g_assert_cmpuint (n_matches (f), ==, 2);
  g_assert_cmpstr (f->document->query, ==, "size=2MiB");
  g_assert_null (f->document->query_error);
  ask (f, "size>=much");
  g_assert_nonnull (f->document->query_error);
  g_assert_nonnull (strstr (f->document->query_error, "size"));
  g_assert_cmpuint (n_matches (f), ==, 2);
  ask (f, "  ");
  g_assert_null (f->document->query);
  g_assert_null (f->document->query_error);
  g_assert_cmpuint (n_matches (f), ==, 3);
  g_assert_true (
      tessera_document_select_query (f->document, "module=c", TESSERA_SELECT_ONLY, NULL));
  test_session_settle (f);
  g_assert_cmpuint (f->document->selected, ==, 2);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 1);
  g_assert_false (
      tessera_document_select_query (f->document, "module", TESSERA_SELECT_ONLY, &error));
  g_assert_nonnull (error);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 1);
}

static void
test_similar (TestSession *f, gconstpointer unused)
{
  const TesseraBlock *blocks = f->document->data->blocks->blocks;

  tessera_document_select_similar (f->document, 7);
  test_session_settle (f);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, N_MANY);
  for (uint32_t i = 0; i < N_MANY; i++)
    g_assert_cmpuint (blocks[f->document->selection->blocks[i]].size_bytes, ==, 4096);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, which, function)                                                       \
  g_test_add ("/group-tree/" name, TestSession, which, set_up, function,                 \
              test_session_tear_down)
  ADD ("sums", "sample", test_sums);
  ADD ("sums of few", "three", test_sums);
  ADD ("order", "sample", test_order);
  ADD ("order of blocks", "sample", test_order_of_blocks);
  ADD ("many", "many", test_many);
  ADD ("query", "three", test_query);
  ADD ("similar", "many", test_similar);
  return g_test_run ();
}
