/*
 * See explain.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/explain.h"

#include <stdlib.h>

#include "db/array.h"

/* Who stands on whom is told this far down; a wall of small blocks has no end. */
#define MAX_CHAIN 64

typedef struct
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
} Where;

typedef struct
{
  uint64_t block_bytes;
  uint32_t block;
} Neighbour;

typedef struct
{
  Neighbour *neighbours;
  size_t n, cap;
} List;

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

static TesseraStatus
append (List *list, const Where *where, uint32_t block)
{
  if (!TESSERA_RESERVE (list->neighbours, list->cap, list->n + 1))
    return TESSERA_NO_MEMORY;
  list->neighbours[list->n++] = (Neighbour){ where->layout->block_bytes[block], block };
  return TESSERA_OK;
}

/* Largest first, then in their order. */
static int
by_size (const void *a, const void *b)
{
  const Neighbour *left = a, *right = b;

  if (left->block_bytes != right->block_bytes)
    return left->block_bytes > right->block_bytes ? -1 : 1;
  return left->block < right->block ? -1 : left->block > right->block;
}

/* Those that end where @block begins (@is_below), or begin where it ends: by size. */
static TesseraStatus
find_neighbours (const Where *where,
                 uint32_t block,
                 bool is_below,
                 uint32_t **out_found,
                 size_t *out_n_found)
{
  const TesseraLayout *layout = where->layout;
  TesseraStatus status = TESSERA_OK;
  List list = { 0 };

  for (uint32_t i = 0; i < layout->n_blocks && status == TESSERA_OK; i++)
    if (i != block && lies (where, i) && meet (where, i, block) &&
        (is_below ? end_of (where, i) == layout->addr[block]
                  : layout->addr[i] == end_of (where, block)))
      status = append (&list, where, i);
  *out_n_found = 0;
  *out_found = status == TESSERA_OK ? malloc ((list.n + 1) * sizeof **out_found) : NULL;
  if (*out_found)
    {
      if (list.n > 0)
        qsort (list.neighbours, list.n, sizeof *list.neighbours, by_size);
      for (size_t i = 0; i < list.n; i++)
        (*out_found)[i] = list.neighbours[i].block;
      *out_n_found = list.n;
    }
  free (list.neighbours);
  return *out_found ? TESSERA_OK : TESSERA_NO_MEMORY;
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

static int
by_begin (const void *a, const void *b)
{
  const Range *left = a, *right = b;

  return (left->begin > right->begin) - (left->begin < right->begin);
}

/* The lowest gap from the base on that is free over the whole life of @block. */
static TesseraStatus
find_lower (const Where *where, uint32_t block, TesseraPlaceReason *reason)
{
  const TesseraLayout *layout = where->layout;
  Range *taken = malloc ((layout->n_blocks + 1) * sizeof *taken);
  uint64_t top = reason->base_addr;
  size_t n = 0;

  if (!taken)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < layout->n_blocks; i++)
    if (i != block && lies (where, i) && meet (where, i, block) &&
        end_of (where, i) > reason->base_addr && layout->addr[i] < reason->addr)
      taken[n++] = (Range){ layout->addr[i], end_of (where, i) };
  qsort (taken, n, sizeof *taken, by_begin);
  reason->lower_addr = reason->addr;
  for (size_t i = 0; i < n; i++)
    {
      if (taken[i].begin >= top && taken[i].begin - top >= reason->block_bytes)
        break;
      if (taken[i].end > top)
        top = taken[i].end;
    }
  /* What is left up to the block is free together with its own range. */
  if (top < reason->addr)
    reason->lower_addr = top;
  free (taken);
  return TESSERA_OK;
}

/* Step by step to the ground, by the largest each time. */
static TesseraStatus
find_chain (const Where *where, TesseraPlaceReason *reason)
{
  TesseraStatus status = TESSERA_OK;
  uint32_t *below = NULL;
  size_t n_below = 0;

  reason->chain = malloc (MAX_CHAIN * sizeof *reason->chain);
  if (!reason->chain)
    return TESSERA_NO_MEMORY;
  if (reason->n_below > 0)
    reason->chain[reason->n_chain++] = reason->below[0];
  while (reason->n_chain > 0 && reason->n_chain < MAX_CHAIN)
    {
      status = find_neighbours (where, reason->chain[reason->n_chain - 1], true, &below,
                                &n_below);
      if (status == TESSERA_OK && n_below > 0)
        reason->chain[reason->n_chain++] = below[0];
      free (below);
      if (status != TESSERA_OK || n_below == 0)
        break;
    }
  return status;
}

TesseraStatus
tessera_explain_place (const TesseraBlocks *blocks,
                       const TesseraLayout *layout,
                       uint32_t block,
                       TesseraPlaceReason *out_reason)
{
  const Where where = { blocks, layout };
  TesseraStatus status;

  *out_reason = (TesseraPlaceReason){ 0 };
  if (block >= layout->n_blocks || !lies (&where, block))
    return TESSERA_INVALID;
  out_reason->addr = layout->addr[block];
  out_reason->block_bytes = layout->block_bytes[block];
  out_reason->base_addr = find_base (&where, block);
  status =
      find_neighbours (&where, block, true, &out_reason->below, &out_reason->n_below);
  if (status == TESSERA_OK)
    status =
        find_neighbours (&where, block, false, &out_reason->above, &out_reason->n_above);
  if (status == TESSERA_OK)
    status = find_lower (&where, block, out_reason);
  if (status == TESSERA_OK)
    status = find_chain (&where, out_reason);
  if (status != TESSERA_OK)
    tessera_place_reason_clear (out_reason);
  return status;
}

void
tessera_place_reason_clear (TesseraPlaceReason *reason)
{
  free (reason->below);
  free (reason->above);
  free (reason->chain);
  *reason = (TesseraPlaceReason){ 0 };
}
