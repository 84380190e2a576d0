/*
 * What is to be told of one moment of a layout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/moment.h"

size_t
tessera_largest_blocks (const TesseraBlocks *blocks,
                        uint32_t event_index,
                        size_t n,
                        uint32_t *out_blocks)
{
  size_t n_found = 0;

  for (size_t i = 0; n > 0 && i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      size_t at;

      if (block->born_index > event_index || block->died_index <= event_index)
        continue;
      if (n_found == n &&
          block->size_bytes <= blocks->blocks[out_blocks[n - 1]].size_bytes)
        continue;
      at = n_found < n ? n_found++ : n - 1;
      for (; at > 0 && blocks->blocks[out_blocks[at - 1]].size_bytes < block->size_bytes;
           at--)
        out_blocks[at] = out_blocks[at - 1];
      out_blocks[at] = (uint32_t) i;
    }
  return n_found;
}

TesseraStatus
tessera_moment_at (const TesseraData *data,
                   const TesseraLayout *layout,
                   uint32_t event_index,
                   TesseraMoment *out_moment)
{
  out_moment->n_largest = tessera_largest_blocks (data->blocks, event_index,
                                                  TESSERA_N_LARGEST, out_moment->largest);
  return tessera_parts_at (data->trace, data->blocks, layout, event_index,
                           &out_moment->parts);
}
