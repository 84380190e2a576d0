/*
 * Blocks by lifetime class and group, with what each is in numbers: what the tree of
 * groups shows. All blocks, or those that a search left.
 *
 * Shared between threads by reference counting, never changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/data.h"

typedef struct
{
  uint64_t n_blocks;
  uint64_t size_bytes;    /* asked for, of all */
  uint64_t peak_bytes;    /* block bytes alive at the trace's peak */
  uint64_t height_bytes;  /* of a whole group: of its local layout; else block bytes alive
                             at once, at the most */
  double filled;          /* time-memory product: share of height x time in use, 0..1 */
  uint8_t lifetime_class; /* 0: its blocks are of several */
  gboolean is_whole;      /* no block of it was left out */
} TesseraGroupRow;

/* A place is a group, or behind all groups the blocks of a class that are in none. */
typedef struct
{
  TesseraData *data;
  size_t n_places;
  TesseraGroupRow *rows;                      /* [n_places] */
  TesseraGroupRow classes[TESSERA_N_CLASSES]; /* of the places of that class */
  uint32_t *begin;                            /* [n_places + 1] into blocks */
  uint32_t *blocks;                           /* by place, then by birth */
} TesseraGrouping;

/* @is_in: (nullable) (array): a byte for each block: those that count. For workers. */
TesseraGrouping *tessera_grouping_new (TesseraData *data, const uint8_t *is_in);
TesseraGrouping *tessera_grouping_ref (TesseraGrouping *grouping);
void tessera_grouping_unref (TesseraGrouping *grouping); /* NULL is fine */
/* Of any block of @data. */
uint32_t tessera_place_of (const TesseraData *data, uint32_t block);
/* Of a place: "forward -> backward, step 1", "in no group". */
const char *tessera_place_name (const TesseraData *data, uint32_t place);
/* Why its blocks are together, in a few words. */
const char *tessera_place_reason (const TesseraData *data, uint32_t place);
