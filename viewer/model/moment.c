/*
 * What is to be told of one moment of a layout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

/* The same to a reader: of one size, from one place, of one kind. */
static bool
is_alike (const TesseraBlock *a, const TesseraBlock *b)
{
  return a->size_bytes == b->size_bytes && a->stack == b->stack &&
         a->born_phase == b->born_phase && a->died_phase == b->died_phase &&
         a->lifetime_class == b->lifetime_class;
}

/* Returns: whether @block is one more of a row that is there. */
static bool
count_alike (const TesseraBlocks *blocks,
             const TesseraBlock *block,
             TesseraAlike *rows,
             size_t n_rows)
{
  for (size_t i = n_rows; i > 0; i--)
    {
      const TesseraBlock *first = &blocks->blocks[rows[i - 1].block];

      if (first->size_bytes > block->size_bytes)
        return false;
      if (is_alike (first, block))
        {
          rows[i - 1].n_blocks++;
          return true;
        }
    }
  return false;
}

size_t
tessera_largest_blocks (const TesseraBlocks *blocks,
                        const TesseraLayout *layout,
                        uint32_t event_index,
                        size_t n,
                        TesseraAlike *out_rows)
{
  size_t n_found = 0;

  for (size_t i = 0; n > 0 && i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      size_t at;

      if (!tessera_is_live (blocks, layout, i, event_index) ||
          count_alike (blocks, block, out_rows, n_found))
        continue;
      if (n_found == n &&
          block->size_bytes <= blocks->blocks[out_rows[n - 1].block].size_bytes)
        continue;
      at = n_found < n ? n_found++ : n - 1;
      for (; at > 0 &&
             blocks->blocks[out_rows[at - 1].block].size_bytes < block->size_bytes;
           at--)
        out_rows[at] = out_rows[at - 1];
      out_rows[at] = (TesseraAlike){ (uint32_t) i, 1 };
    }
  return n_found;
}

TesseraStatus
tessera_moment_at (const TesseraData *data,
                   const TesseraLayout *layout,
                   const TesseraPaint *paint,
                   uint32_t event_index,
                   TesseraMoment *out_moment)
{
  out_moment->n_largest = tessera_largest_blocks (data->blocks, layout, event_index,
                                                  TESSERA_N_LARGEST, out_moment->largest);
  out_moment->colouring = paint->colouring;
  tessera_colouring_live_at (paint->colouring, data->blocks, layout, event_index,
                             out_moment->live_bytes);
  return tessera_parts_at (data->trace, data->blocks, layout, event_index,
                           &out_moment->parts);
}
