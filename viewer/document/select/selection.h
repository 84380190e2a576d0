/*
 * A set of blocks: what is selected.
 *
 * Never empty: no selection is NULL. Shared between threads by reference counting, never
 * changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdint.h>

typedef struct
{
  uint32_t *blocks; /* ascending, each once */
  size_t n_blocks;  /* > 0 */
  uint8_t *is_in;   /* [n_all]: 0 or 1 */
  size_t n_all;     /* blocks that there are */
} TesseraSelection;

/* How what is found joins what is selected. */
typedef enum
{
  TESSERA_SELECT_ONLY, /* takes its place */
  TESSERA_SELECT_MORE, /* is added to it */
  TESSERA_SELECT_LESS  /* is taken out of it */
} TesseraSelectHow;

/* @is_in: (array length=n_all) (transfer full). NULL: there is none in it. */
TesseraSelection *tessera_selection_new (size_t n_all, uint8_t *is_in);
/* Blocks in any order, also several times; those beyond @n_all are left out. */
TesseraSelection *
tessera_selection_of_blocks (size_t n_all, const uint32_t *blocks, size_t n_blocks);
/* Either may be NULL. (transfer full) */
TesseraSelection *tessera_selection_join (TesseraSelection *selection,
                                          TesseraSelection *found,
                                          TesseraSelectHow how);
gboolean tessera_selection_has (const TesseraSelection *selection, uint32_t block);
gboolean tessera_selection_equals (const TesseraSelection *a, const TesseraSelection *b);
TesseraSelection *tessera_selection_ref (TesseraSelection *selection); /* NULL is fine */
void tessera_selection_unref (TesseraSelection *selection);            /* NULL is fine */
