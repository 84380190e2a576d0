/*
 * The blocks as a list: sorted and filtered. Made by a worker, and never changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/data.h"

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

typedef struct
{
  TesseraColumn column; /* to sort by; equals stay in order of birth */
  gboolean down;
  const char *text; /* (nullable): in class, phases, group or any line of the stack,
                       without regard to case; "": all */
  uint64_t least_bytes, most_bytes; /* inclusive */
} TesseraBlockWish;

typedef struct
{
  TesseraData *data;
  uint32_t *blocks;
  guint n_blocks;
} TesseraBlockList;

typedef uint64_t (*TesseraKeyFunc) (gconstpointer user, uint32_t index);

/* By the keys of @indices; equals stay as they are, whichever way. 10 M take a second. */
void tessera_sort_indices (uint32_t *indices,
                           uint32_t n,
                           TesseraKeyFunc key_of,
                           gconstpointer user,
                           gboolean down);

/* (transfer full) Any thread's. */
TesseraBlockList *tessera_block_list_new (TesseraData *data,
                                          const TesseraBlockWish *wish);
void tessera_block_list_unref (TesseraBlockList *list); /* NULL is fine */
/* Where a block is in the list, or G_MAXUINT. */
guint tessera_block_list_find (const TesseraBlockList *list, uint32_t block);
/* Whether edits of groups may make another list of it. */
gboolean tessera_block_wish_depends_on_groups (const TesseraBlockWish *wish);
