/*
 * Memory that passes from block to block under a plan across streams.
 *
 * Blocks are put on the address space in the order of their births; whoever held the bytes
 * last comes before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"

static int
compare_addresses (gconstpointer a, gconstpointer b)
{
  return ((uintptr_t) a > (uintptr_t) b) - ((uintptr_t) a < (uintptr_t) b);
}

typedef struct
{
  TesseraLayout *layout;
  const TesseraBlock *blocks;
  GTree *holders; /* by address, from which on up to the next key a block held the bytes
                     last, or TESSERA_NONE nobody did */
} Walk;

/* How near @before is, of all that held bytes of @block before it; 0: there is none. */
static uint64_t
nearness (const Walk *walk, uint32_t block, uint32_t before)
{
  if (before == TESSERA_NONE)
    return 0;
  const bool is_other = walk->blocks[before].stream != walk->blocks[block].stream;
  return ((uint64_t) is_other << 32 | walk->layout->died_index[before]) + 1;
}

static void
link_blocks (Walk *walk, uint32_t before, uint32_t after)
{
  TesseraLink *links = walk->layout->links;
  const uint16_t stream = walk->blocks[before].stream;
  const uint32_t first = links[before].after;

  if (nearness (walk, after, before) > nearness (walk, after, links[after].before))
    links[after].before = before;
  if (first == TESSERA_NONE ||
      (walk->blocks[first].stream == stream && walk->blocks[after].stream != stream))
    links[before].after = after;
}

/* From @addr on the holder is another; who holds what is behind it stays. */
static void
cut_at (Walk *walk, uint64_t addr)
{
  GTreeNode *above = g_tree_upper_bound (walk->holders, (gpointer) addr),
            *node = above != NULL ? g_tree_node_previous (above)
                                  : g_tree_node_last (walk->holders);

  g_tree_insert (walk->holders, (gpointer) addr, g_tree_node_value (node));
}

static void
take_range (Walk *walk, uint32_t block)
{
  const uint64_t begin = walk->layout->addr[block],
                 end = begin + walk->layout->block_bytes[block];
  GTreeNode *node;

  cut_at (walk, begin);
  cut_at (walk, end);
  while ((node = g_tree_lower_bound (walk->holders, (gpointer) begin)) != NULL &&
         (uintptr_t) g_tree_node_key (node) < end)
    {
      uint32_t holder = GPOINTER_TO_UINT (g_tree_node_value (node));

      if (holder != TESSERA_NONE)
        link_blocks (walk, holder, block);
      g_tree_remove (walk->holders, g_tree_node_key (node));
    }
  g_tree_insert (walk->holders, (gpointer) begin, GUINT_TO_POINTER (block));
}

bool
tessera_layout_is_handover (const TesseraLayout *layout,
                            const TesseraBlocks *blocks,
                            uint32_t block,
                            uint16_t *out_from)
{
  const TesseraLink *link = layout->links != NULL ? &layout->links[block] : NULL;
  const uint16_t to = blocks->blocks[block].stream;

  if (link == NULL)
    return false;
  *out_from = link->before != TESSERA_NONE ? blocks->blocks[link->before].stream : to;
  return *out_from != to || link->n_waits > 0;
}

static int
compare_waits (const void *a, const void *b)
{
  const TesseraHandoverCount *x = a, *y = b;

  return (x->n_waits < y->n_waits) - (x->n_waits > y->n_waits);
}

static void
count_handovers (TesseraLayout *layout, const TesseraBlocks *blocks)
{
  TesseraHandovers *handovers = &layout->handovers;
  GArray *counts = g_array_new (FALSE, FALSE, sizeof (TesseraHandoverCount));
  uint16_t from;

  for (uint32_t b = 0; b < layout->n_blocks; b++)
    {
      const uint16_t to = blocks->blocks[b].stream;

      if (blocks->blocks[b].step != handovers->step ||
          !tessera_layout_is_handover (layout, blocks, b, &from))
        continue;
      const TesseraHandoverCount fresh = { .from = from, .to = to };
      const TesseraHandoverCount *pairs = (const void *) counts->data;
      guint row = 0;
      while (row < counts->len && (pairs[row].from != from || pairs[row].to != to))
        row++;
      if (row == counts->len)
        g_array_append_val (counts, fresh);
      TesseraHandoverCount *count = &g_array_index (counts, TesseraHandoverCount, row);
      count->n_handovers++;
      count->n_waits += layout->links[b].n_waits;
      handovers->n_waits += layout->links[b].n_waits;
    }
  g_array_sort (counts, compare_waits);
  handovers->n_counts = counts->len;
  handovers->counts = (TesseraHandoverCount *) g_array_free (counts, FALSE);
}

void
tessera_layout_link (TesseraLayout *layout, const TesseraBlocks *blocks, size_t n_steps)
{
  Walk walk = { layout, blocks->blocks, g_tree_new (compare_addresses) };

  g_tree_insert (walk.holders, NULL, GUINT_TO_POINTER (TESSERA_NONE));
  for (uint32_t b = 0; b < layout->n_blocks; b++)
    layout->links[b].before = layout->links[b].after = TESSERA_NONE;
  for (uint32_t b = 0; b < layout->n_blocks; b++)
    if (layout->addr[b] != TESSERA_NOWHERE)
      take_range (&walk, b);
  g_tree_destroy (walk.holders);
  layout->handovers.step = n_steps > 0 ? (uint32_t) (n_steps / 2) : TESSERA_NONE;
  count_handovers (layout, blocks);
}
