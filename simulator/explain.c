/* See verdict.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/verdict.h"

#include "simulator/private.h"

/* Who stands on whom is told this far down; a wall of small blocks has no end. */
#define MAX_CHAIN 64

typedef struct
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
} Where;

/* Addresses. */
typedef struct
{
  uint64_t begin, end;
} Range;

static bool
lies (const Where *where, uint32_t block)
{
  return where->layout->addr[block] != TESSERA_NOWHERE;
}

static uint64_t
end_of (const Where *where, uint32_t block)
{
  return where->layout->addr[block] + where->layout->block_bytes[block];
}

/* Whether two blocks take memory at one moment. */
static bool
meet (const Where *where, uint32_t a, uint32_t b)
{
  return where->blocks->blocks[a].born_index < where->layout->died_index[b] &&
         where->blocks->blocks[b].born_index < where->layout->died_index[a];
}

/* Largest first, then in their order. */
static int
by_size (const void *a, const void *b, void *user)
{
  const uint64_t *block_bytes = user;
  const uint32_t left = *(const uint32_t *) a, right = *(const uint32_t *) b;

  if (block_bytes[left] != block_bytes[right])
    return block_bytes[left] > block_bytes[right] ? -1 : 1;
  return left < right ? -1 : left > right;
}

/* Those that end where @block begins (@is_below), or begin where it ends: by size. */
static uint32_t *
find_neighbours (const Where *where, uint32_t block, bool is_below, size_t *out_n)
{
  const TesseraLayout *layout = where->layout;
  GArray *found = g_array_new (FALSE, FALSE, sizeof (uint32_t));

  for (uint32_t i = 0; i < layout->n_blocks; i++)
    if (i != block && lies (where, i) && meet (where, i, block) &&
        (is_below ? end_of (where, i) == layout->addr[block]
                  : layout->addr[i] == end_of (where, block)))
      g_array_append_val (found, i);
  g_array_sort_with_data (found, by_size, layout->block_bytes);
  *out_n = found->len;
  return (uint32_t *) g_array_free (found, FALSE);
}

/* Where the memory begins that holds @block when it is born: pages side by side are one,
 * and a plan's pool is, whichever of its pages have memory. */
static uint64_t
find_base (const Where *where, uint32_t block)
{
  const TesseraLayout *layout = where->layout;
  const uint32_t at = where->blocks->blocks[block].born_index;
  uint64_t base = layout->addr[block] + 1;
  bool moved = true;

  while (moved)
    {
      moved = false;
      for (size_t i = 0; i < layout->n_spans; i++)
        {
          const TesseraSpan *span = &layout->spans[i];

          if (span->born_index > at || span->died_index <= at || span->addr >= base ||
              span->addr + span->size_bytes < base)
            continue;
          if (span->is_plan_pool && layout->pool_addr != 0)
            return layout->pool_addr;
          moved = span->is_expandable;
          base = span->addr;
          break;
        }
    }
  return base > layout->addr[block] ? layout->addr[block] : base;
}

/* The lowest gap from the base on that is free over the whole life of @block. */
static uint64_t
find_lower (const Where *where, uint32_t block, const TesseraPlaceReason *reason)
{
  const TesseraLayout *layout = where->layout;
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (Range));
  uint64_t top = reason->base_addr;

  for (uint32_t i = 0; i < layout->n_blocks; i++)
    if (i != block && lies (where, i) && meet (where, i, block) &&
        end_of (where, i) > reason->base_addr && layout->addr[i] < reason->addr)
      {
        const Range range = { layout->addr[i], end_of (where, i) };
        g_array_append_val (taken, range);
      }
  g_array_sort (taken, tessera_by_first_number);
  for (guint i = 0; i < taken->len; i++)
    {
      const Range *range = &g_array_index (taken, Range, i);

      if (range->begin >= top && range->begin - top >= reason->block_bytes)
        break;
      top = MAX (top, range->end);
    }
  /* What is left up to the block is free together with its own range. */
  return MIN (top, reason->addr);
}

/* Step by step to the ground, by the largest each time. */
static void
find_chain (const Where *where, TesseraPlaceReason *reason)
{
  reason->chain = g_new (uint32_t, MAX_CHAIN);
  if (reason->n_below > 0)
    reason->chain[reason->n_chain++] = reason->below[0];
  while (reason->n_chain > 0 && reason->n_chain < MAX_CHAIN)
    {
      size_t n_below;
      g_autofree uint32_t *below =
          find_neighbours (where, reason->chain[reason->n_chain - 1], true, &n_below);

      if (n_below == 0)
        break;
      reason->chain[reason->n_chain++] = below[0];
    }
}

bool
tessera_explain_place (const TesseraBlocks *blocks,
                       const TesseraLayout *layout,
                       uint32_t block,
                       TesseraPlaceReason *out_reason)
{
  const Where where = { blocks, layout };
  TesseraPlaceReason reason = { 0 };

  *out_reason = reason;
  if (block >= layout->n_blocks || !lies (&where, block))
    return false;
  reason.addr = layout->addr[block];
  reason.block_bytes = layout->block_bytes[block];
  reason.base_addr = find_base (&where, block);
  reason.below = find_neighbours (&where, block, true, &reason.n_below);
  reason.above = find_neighbours (&where, block, false, &reason.n_above);
  reason.lower_addr = find_lower (&where, block, &reason);
  find_chain (&where, &reason);
  *out_reason = reason;
  return true;
}

void
tessera_place_reason_clear (TesseraPlaceReason *reason)
{
  g_free (reason->below);
  g_free (reason->above);
  g_free (reason->chain);
  *reason = (TesseraPlaceReason){ 0 };
}
