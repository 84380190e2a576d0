/*
 * What loses its place under a cap.
 *
 * Blocks lose their slots until the load is nowhere above what is left for it: at the
 * first moment at which it is, of those alive the one with the least bytes x lifetime.
 * What edits hold (pins, apart, together) keeps its slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t size_bytes;
  double weight; /* 0; becomes bytes x lifetime of all its lives */
  bool stays;    /* held by an edit, or a spare's */
  bool is_gone;  /* is told */
} TesseraCapItem;

/* One life of an item, [begin, end) in positions. Zones that share no address have shares
 * of the cap of their own. */
typedef struct
{
  uint64_t zone;
  uint32_t begin, end, item;
} TesseraCapLife;

/* Marks items so that the load of what stays is at most @most_bytes, as far as it goes.
 * Sorts @lives.  */
void tessera_cap_choose (TesseraCapItem *items,
                         TesseraCapLife *lives,
                         size_t n_lives,
                         uint64_t most_bytes);
