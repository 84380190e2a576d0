/*
 * What changed between two runs: what is live at a moment of one, beside a moment of another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/whose.h"

typedef struct
{
  char *
      name; /* owned; of a module: numbers in its path are "*", since layers change alike */
  uint64_t before_bytes, after_bytes;
  uint64_t before_blocks, after_blocks;
} TesseraChange;

/* Rows of both, largest change first: TesseraChange, g_array_unref(). What did not change has
 * its row as well. A line that moved inside its function, because the source was changed
 * elsewhere, is the same line. */
GArray *tessera_changes (const TesseraWhose *before,
                         uint32_t before_index,
                         const TesseraWhose *after,
                         uint32_t after_index,
                         TesseraBy by);
