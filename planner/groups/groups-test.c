/*
 * Groups: names and measures of whole groupings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups.h"

#include "planner/test-traces.h"

static const TesseraGroup *
find_group (const TesseraGroup *groups, size_t n_groups, const char *name)
{
  for (size_t i = 0; i < n_groups; i++)
    if (g_strcmp0 (groups[i].name, name) == 0)
      return &groups[i];
  g_error ("no group is called '%s'", name);
}

static void
test_names (void)
{
  TesseraTrace *trace = test_trace_loop (4, 20, true);
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraGroup *groups;
  const TesseraGroup *group;
  size_t n_groups, n_members = 0;

  blocks = tessera_blocks_new (trace);
  structure = tessera_structure_new (trace, blocks);
  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  group = find_group (groups, n_groups, "persistent, from the start");
  g_assert_cmpuint (group->n_blocks, ==, 20);
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_PERSISTENT);
  g_assert_cmpuint (group->height_bytes, ==, 20 * 4096 + 190 * 512);
  group = find_group (groups, n_groups, "forward -> backward, step 2");
  g_assert_cmpuint (group->n_blocks, ==, 20);
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_HOMO_PHASE);
  g_assert_cmpint (group->lifetime_class, ==, TESSERA_CLASS_SCOPED);
  g_assert_cmpuint (group->height_bytes, ==, 20 * 8192 + 190 * 1024);
  g_assert_cmpfloat (group->time_memory_product, >, 0);
  g_assert_cmpfloat (group->time_memory_product, <=, 1);
  for (size_t i = 0; i < n_groups; i++)
    n_members += groups[i].n_blocks;
  g_assert_cmpuint (n_members, ==, blocks->n_blocks);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    g_assert_cmpuint (blocks->blocks[i].group, <, n_groups);
  tessera_groups_free (groups, n_groups);
  tessera_structure_free (structure);
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
}

/* Many large blocks of one size are a group of their own, with the fewest layers. */
static void
test_homo_size (void)
{
  TesseraTrace *trace = test_trace_new ();
  const uint64_t size = 16 << 20;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraGroup *groups;
  const TesseraGroup *group;
  size_t n_groups;

  for (uint64_t i = 0; i < 32; i++)
    {
      test_alloc (trace, (i + 1) << 30, size);
      test_alloc (trace, (i + 100) << 30, 4096 + 512 * i);
      if (i > 0)
        test_free (trace, i << 30, size);
    }
  test_free (trace, UINT64_C (32) << 30, size);
  for (uint64_t i = 0; i < 32; i++)
    test_free (trace, (i + 100) << 30, 4096 + 512 * i);
  blocks = tessera_blocks_new (trace);
  structure = tessera_structure_new (trace, blocks);
  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  g_assert_cmpuint (n_groups, ==, 2);
  group = find_group (groups, n_groups, "32 x 16.00 MiB, no phase");
  g_assert_cmpint (group->kind, ==, TESSERA_GROUP_HOMO_SIZE);
  g_assert_cmpuint (group->height_bytes, ==, 2 * size);
  tessera_groups_free (groups, n_groups);
  tessera_structure_free (structure);
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
}

/* One moment, of which a block lives for no event at all. */
static void
test_no_events (void)
{
  TesseraTrace *trace = test_trace_new ();
  const TesseraHeldBlock pending = { .addr = 1 << 30,
                                     .size_bytes = 4096,
                                     .block_bytes = 4096,
                                     .stack = TESSERA_NONE,
                                     .state = TESSERA_BLOCK_PENDING };
  const TesseraSegment segment = { .addr = 1 << 30,
                                   .size_bytes = 2 << 20,
                                   .stack = TESSERA_NONE };
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraGroup *groups;
  size_t n_groups;

  g_assert_cmpint (tessera_trace_add_segment (&trace->start, &segment), ==, TESSERA_OK);
  g_assert_cmpint (tessera_trace_add_block (&trace->start, &pending), ==, TESSERA_OK);
  blocks = tessera_blocks_new (trace);
  structure = tessera_structure_new (trace, blocks);
  tessera_group_blocks (trace, blocks, structure, &groups, &n_groups);
  g_assert_cmpuint (n_groups, ==, 1);
  g_assert_cmpuint (groups[0].n_blocks, ==, 1);
  g_assert_cmpuint (groups[0].height_bytes, ==, 0);
  tessera_groups_free (groups, n_groups);
  tessera_structure_free (structure);
  tessera_blocks_free (blocks);
  tessera_trace_free (trace);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/groups/names", test_names);
  g_test_add_func ("/planner/groups/homo-size", test_homo_size);
  g_test_add_func ("/planner/groups/no-events", test_no_events);
  return g_test_run ();
}
