/*
 * The list of blocks against slow, obvious sorting and filtering.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"
#include "viewer/test-help.h"

#include <glib/gstdio.h>

static TesseraData *
open_data (void)
{
  g_autofree char *path = test_sample_path ();
  g_autofree char *made = path == NULL ? test_three_blocks_path () : NULL;
  TesseraError error = { 0 };
  TesseraData *data = NULL;

  g_assert_cmpint (
      tessera_data_read (path != NULL ? path : made, TESSERA_NONE, NULL, &error, &data),
      ==, TESSERA_OK);
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
      TesseraBlockList *list = tessera_block_list_new (data, &filter);

      g_assert_cmpuint (list->n_blocks, ==, data->blocks->n_blocks);
      for (guint i = 1; i < list->n_blocks; i++)
        {
          uint32_t a = list->blocks[i - 1], b = list->blocks[i];
          int order = sign (data->blocks->blocks[a].size_bytes,
                            data->blocks->blocks[b].size_bytes);

          g_assert_cmpint (filter.down ? -order : order, <=, 0);
          /* Equals stay in order of birth, whichever way. */
          if (order == 0)
            g_assert_cmpuint (a, <, b);
        }
      tessera_block_list_unref (list);
    }
  filter.down = FALSE;
  for (int column = 0; column < TESSERA_N_COLUMNS; column++)
    {
      g_autofree uint8_t *seen = g_new0 (uint8_t, data->blocks->n_blocks);
      TesseraBlockList *list;

      filter.column = (TesseraColumn) column;
      list = tessera_block_list_new (data, &filter);
      g_assert_cmpuint (list->n_blocks, ==, data->blocks->n_blocks);
      for (guint i = 0; i < list->n_blocks; i++)
        seen[list->blocks[i]]++;
      for (guint i = 0; i < list->n_blocks; i++)
        g_assert_cmpuint (seen[i], ==, 1);
      tessera_block_list_unref (list);
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
  TesseraBlockList *list = tessera_block_list_new (data, &filter);
  guint n_expected = 0;

  for (size_t i = 0; i < data->blocks->n_blocks; i++)
    n_expected += data->blocks->blocks[i].size_bytes >= filter.least_bytes &&
                  data->blocks->blocks[i].size_bytes <= filter.most_bytes;
  g_assert_cmpuint (list->n_blocks, ==, n_expected);
  for (guint i = 0; i < n_expected; i++)
    {
      uint32_t block = list->blocks[i];

      g_assert_cmpuint (data->blocks->blocks[block].size_bytes, >=, filter.least_bytes);
      g_assert_cmpuint (data->blocks->blocks[block].size_bytes, <=, filter.most_bytes);
      g_assert_cmpuint (tessera_block_list_find (list, block), ==, i);
    }
  tessera_block_list_unref (list);
  tessera_data_unref (data);
}

static guint
count_with_text (TesseraData *data, const char *text)
{
  const TesseraBlockFilter filter = { .text = text, .most_bytes = UINT64_MAX };
  TesseraBlockList *list = tessera_block_list_new (data, &filter);
  guint n = list->n_blocks;

  if (n == 0)
    g_assert_cmpuint (tessera_block_list_find (list, 0), ==, G_MAXUINT);
  tessera_block_list_unref (list);
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

  g_assert_cmpint (tessera_data_get_layout (data, data->own_kind, NULL, NULL, &layout),
                   ==, TESSERA_OK);
  check_largest (data->blocks, layout, data->blocks->n_events / 2);
  for (size_t i = 0; i < layout->n_ooms; i++)
    check_largest (data->blocks, layout, layout->ooms[i].event_index);
  tessera_data_unref (data);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/blocklist/sort", test_sort);
  g_test_add_func ("/blocklist/filter sizes", test_filter_sizes);
  g_test_add_func ("/blocklist/filter text", test_filter_text);
  g_test_add_func ("/blocklist/largest", test_largest);
  return g_test_run ();
}
