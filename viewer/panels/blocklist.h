/*
 * The blocks as a list: sorted, filtered, made into objects only where they are seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gio/gio.h>

#include "viewer/document/data.h"

typedef enum
{
  TESSERA_COLUMN_BLOCK, /* by birth */
  TESSERA_COLUMN_SIZE,
  TESSERA_COLUMN_LIFE,
  TESSERA_COLUMN_CLASS,
  TESSERA_COLUMN_PHASES,
  TESSERA_COLUMN_SOURCE,
  TESSERA_COLUMN_GROUP,
  TESSERA_COLUMN_ADDRESS,
  TESSERA_N_COLUMNS
} TesseraColumn;

/* An item: which block. */
#define TESSERA_TYPE_BLOCK_ROW (tessera_block_row_get_type ())
G_DECLARE_FINAL_TYPE (TesseraBlockRow, tessera_block_row, TESSERA, BLOCK_ROW, GObject)
TesseraBlockRow *tessera_block_row_new (uint32_t block);
uint32_t tessera_block_row_get_block (TesseraBlockRow *row);

#define TESSERA_TYPE_BLOCK_LIST (tessera_block_list_get_type ())
G_DECLARE_FINAL_TYPE (TesseraBlockList, tessera_block_list, TESSERA, BLOCK_LIST, GObject)
TesseraBlockList *tessera_block_list_new (void);

void tessera_block_list_set_data (TesseraBlockList *self, TesseraData *data);
void
tessera_block_list_sort (TesseraBlockList *self, TesseraColumn column, gboolean down);
/* @text: in class, phases, group or any line of the stack, without regard to case; "":
 * all. Sizes are inclusive. */
void tessera_block_list_filter (TesseraBlockList *self,
                                const char *text,
                                uint64_t least_bytes,
                                uint64_t most_bytes);
/* The block of a row that there is. */
uint32_t tessera_block_list_get (TesseraBlockList *self, guint position);
/* Where a block is in the list, or G_MAXUINT. */
guint tessera_block_list_find (TesseraBlockList *self, uint32_t block);

/* "64", "1.5 KiB", "2m", "1 GiB": what people type. FALSE: not a size. */
gboolean tessera_parse_bytes (const char *text, uint64_t *out_bytes);
