/*
 * The tree of groups and the list of blocks without any display: sums against counting one by
 * one, order and filters against slow, obvious ones, what is open; and queries.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"
#include "viewer/model/document.h"
#include "viewer/panels/private.h"
#include "viewer/test-help.h"
#include "viewer/test-session.h"

#include <glib/gstdio.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraGroupTree, tessera_group_tree_free)

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
    n_blocks -= grouping->rows[grouping->n_places + (size_t) class].n_blocks;
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
        g_autoptr (TesseraGroupTree) tree = tessera_group_tree_new (
            f->document->grouping, NULL, (TesseraTreeColumn) column, down);
        guint row = tessera_group_tree_open_to (tree, TESSERA_NODE_GROUP, place);

        tessera_group_tree_set_open (tree, (TesseraNode){ TESSERA_NODE_GROUP, place },
                                     TRUE);
        for (uint64_t i = 0; i < f->document->grouping->rows[place].n_blocks; i++)
          {
            TesseraNode node = g_array_index (tree->rows, TesseraNode, ++row);

            g_assert_cmpint (node.kind, ==, TESSERA_NODE_BLOCK);
            uint64_t value =
                value_of_block (data, node.index, (TesseraTreeColumn) column);
            uint64_t before =
                last == TESSERA_NONE
                    ? value
                    : value_of_block (data, last, (TesseraTreeColumn) column);
            g_assert_true (down ? value <= before : value >= before);
            if (last != TESSERA_NONE && value == before)
              g_assert_cmpuint (last, <, node.index);
            last = node.index;
          }
        g_assert_cmpuint (last, !=, TESSERA_NONE);
      }
}

/* A block is found however large its group is, and another order opens the same. */
static void
test_many (TestSession *f, gconstpointer unused)
{
  g_autoptr (TesseraGroupTree) tree =
      tessera_group_tree_new (f->document->grouping, NULL, TESSERA_TREE_NAME, FALSE);
  TesseraNode group = { TESSERA_NODE_GROUP, tessera_place_of (f->document->data, 5) };
  guint n_closed = tree->rows->len, row;

  row = tessera_group_tree_open_to (tree, TESSERA_NODE_BLOCK, N_MANY - 5);
  g_assert_cmpuint (tree->rows->len, ==, n_closed + N_MANY);
  g_assert_cmpuint (g_array_index (tree->rows, TesseraNode, row).index, ==, N_MANY - 5);
  g_assert_true (tessera_group_tree_is_open (tree, group));
  g_autoptr (TesseraGroupTree) other =
      tessera_group_tree_new (f->document->grouping, tree, TESSERA_TREE_BYTES, TRUE);
  g_assert_cmpuint (other->rows->len, ==, n_closed + N_MANY);
  g_assert_true (tessera_group_tree_set_open (tree, group, FALSE));
  g_assert_false (tessera_group_tree_set_open (tree, group, FALSE));
  g_assert_cmpuint (tree->rows->len, ==, n_closed);
  /* A closed class has no rows below it, and what is looked for opens it. */
  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    tessera_group_tree_set_open (
        tree,
        (TesseraNode){ TESSERA_NODE_CLASS, (uint32_t) tree->grouping->n_places + class },
        FALSE);
  g_assert_cmpuint (tree->rows->len, <, n_closed);
  row = tessera_group_tree_open_to (tree, TESSERA_NODE_GROUP, group.index);
  g_assert_cmpuint (g_array_index (tree->rows, TesseraNode, row).index, ==, group.index);
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
  tessera_document_select_query (f->document, "module=c");
  test_session_settle (f);
  g_assert_cmpuint (f->document->selected, ==, 2);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 1);
  g_assert_null (f->document->query_error);
  tessera_document_select_query (f->document, "module");
  g_assert_nonnull (f->document->query_error);
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

/* --- the list of blocks ---------------------------------------------------------------- */

static TesseraData *
open_data (void)
{
  g_autofree char *path = test_sample_path ();
  g_autofree char *made = path == NULL ? test_three_blocks_path () : NULL;
  TesseraError error = { 0 };
  TesseraData *data = NULL;

  OK (tessera_data_read (path != NULL ? path : made, TESSERA_NONE, NULL, &error, &data));
  tessera_data_analyse (data);
  if (made != NULL)
    g_unlink (made);
  return data;
}

static int
sign (uint64_t a, uint64_t b)
{
  return (a > b) - (a < b);
}

static void
test_sort (void)
{
  TesseraData *data = open_data ();
  TesseraBlockFilter filter = { .column = TESSERA_COLUMN_SIZE, .most_bytes = UINT64_MAX };

  for (filter.down = 0; filter.down < 2; filter.down++)
    {
      g_autoptr (GArray) list = tessera_block_list_new (data, &filter);

      g_assert_cmpuint (list->len, ==, data->blocks->n_blocks);
      for (guint i = 1; i < list->len; i++)
        {
          uint32_t a = g_array_index (list, uint32_t, i - 1);
          uint32_t b = g_array_index (list, uint32_t, i);
          int order = sign (data->blocks->blocks[a].size_bytes,
                            data->blocks->blocks[b].size_bytes);

          g_assert_cmpint (filter.down ? -order : order, <=, 0);
          /* Equals stay in order of birth, whichever way. */
          if (order == 0)
            g_assert_cmpuint (a, <, b);
        }
    }
  filter.down = FALSE;
  for (int column = 0; column < TESSERA_N_COLUMNS; column++)
    {
      g_autofree uint8_t *seen = g_new0 (uint8_t, data->blocks->n_blocks);

      filter.column = (TesseraColumn) column;
      g_autoptr (GArray) list = tessera_block_list_new (data, &filter);
      g_assert_cmpuint (list->len, ==, data->blocks->n_blocks);
      for (guint i = 0; i < list->len; i++)
        seen[g_array_index (list, uint32_t, i)]++;
      for (guint i = 0; i < list->len; i++)
        g_assert_cmpuint (seen[i], ==, 1);
    }
  tessera_data_unref (data);
}

static void
test_filter_sizes (void)
{
  TesseraData *data = open_data ();
  const TesseraBlockFilter filter = { .column = TESSERA_COLUMN_SIZE,
                                      .least_bytes = 1 << 20,
                                      .most_bytes = 64 << 20 };
  g_autoptr (GArray) list = tessera_block_list_new (data, &filter);
  guint n_expected = 0;

  for (size_t i = 0; i < data->blocks->n_blocks; i++)
    n_expected += data->blocks->blocks[i].size_bytes >= filter.least_bytes &&
                  data->blocks->blocks[i].size_bytes <= filter.most_bytes;
  g_assert_cmpuint (list->len, ==, n_expected);
  for (guint i = 0; i < n_expected; i++)
    {
      uint32_t block = g_array_index (list, uint32_t, i);

      g_assert_cmpuint (data->blocks->blocks[block].size_bytes, >=, filter.least_bytes);
      g_assert_cmpuint (data->blocks->blocks[block].size_bytes, <=, filter.most_bytes);
      g_assert_cmpuint (tessera_block_list_find (list, block), ==, i);
    }
  tessera_data_unref (data);
}

static guint
count_with_text (TesseraData *data, const char *text)
{
  const TesseraBlockFilter filter = { .text = text, .most_bytes = UINT64_MAX };
  g_autoptr (GArray) list = tessera_block_list_new (data, &filter);
  guint n = list->len;

  if (n == 0)
    g_assert_cmpuint (tessera_block_list_find (list, 0), ==, G_MAXUINT);
  return n;
}

static void
test_filter_text (void)
{
  TesseraData *data = open_data ();
  guint n = count_with_text (data, "BackWard");

  g_assert_cmpuint (n, >, 0);
  g_assert_cmpuint (n, <=, data->blocks->n_blocks);
  g_assert_cmpuint (count_with_text (data, "no such words anywhere"), ==, 0);
  g_assert_cmpuint (count_with_text (data, ""), ==, data->blocks->n_blocks);
  g_assert_cmpuint (count_with_text (data, NULL), ==, data->blocks->n_blocks);
  tessera_data_unref (data);
}

static gboolean
is_alike (const TesseraBlock *a, const TesseraBlock *b)
{
  return a->size_bytes == b->size_bytes && a->stack == b->stack &&
         a->born_phase == b->born_phase && a->died_phase == b->died_phase &&
         a->lifetime_class == b->lifetime_class;
}

/* Takes all that are alive and like @best. Returns: how many. */
static guint
take_alike (const TesseraBlocks *blocks,
            const TesseraLayout *layout,
            uint32_t moment,
            uint32_t best,
            uint8_t *taken)
{
  guint n = 0;

  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    if (tessera_is_live (blocks, layout, i, moment) &&
        is_alike (&blocks->blocks[i], &blocks->blocks[best]))
      {
        g_assert_cmpuint (taken[i], ==, 0);
        taken[i] = 1;
        n++;
      }
  return n;
}

/* The slow way: the largest of those alive and what is like it, again and again. */
static void
check_largest (const TesseraBlocks *blocks, const TesseraLayout *layout, uint32_t moment)
{
  TesseraAlike largest[10];
  size_t n =
      tessera_largest_blocks (blocks, layout, moment, G_N_ELEMENTS (largest), largest);
  g_autofree uint8_t *taken = g_new0 (uint8_t, blocks->n_blocks);

  g_assert_cmpuint (n, >, 0);
  for (size_t rank = 0; rank < n; rank++)
    {
      uint32_t best = TESSERA_NONE;

      for (uint32_t i = 0; i < blocks->n_blocks; i++)
        if (!taken[i] && tessera_is_live (blocks, layout, i, moment) &&
            (best == TESSERA_NONE ||
             blocks->blocks[i].size_bytes > blocks->blocks[best].size_bytes))
          best = i;
      g_assert_cmpuint (largest[rank].block, ==, best);
      g_assert_cmpuint (blocks->blocks[best].flags & TESSERA_FAILED, ==, 0);
      g_assert_cmpuint (largest[rank].n_blocks, ==,
                        take_alike (blocks, layout, moment, best, taken));
    }
}

/* Also where a request failed, which is not alive then. */
static void
test_largest (void)
{
  TesseraData *data = open_data ();
  const TesseraLayout *layout;

  OK (tessera_data_get_layout (data, data->own_kind, NULL, NULL, &layout));
  check_largest (data->blocks, layout, data->blocks->n_events / 2);
  for (size_t i = 0; i < layout->n_ooms; i++)
    check_largest (data->blocks, layout, layout->ooms[i].event_index);
  tessera_data_unref (data);
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
  g_test_add_func ("/blocklist/sort", test_sort);
  g_test_add_func ("/blocklist/filter sizes", test_filter_sizes);
  g_test_add_func ("/blocklist/filter text", test_filter_text);
  g_test_add_func ("/blocklist/largest", test_largest);
  return g_test_run ();
}
