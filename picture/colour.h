/*
 * Which colour a block has, and what it is called in the legend.
 *
 * Colours are stable (the same key has the same colour in every view and run), muted, and
 * told apart by colour-blind people (Paul Tol's qualitative schemes). Red and green are
 * kept for verdicts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/whose.h"
#include "db/plan.h"
#include "simulator/layout.h"

typedef enum
{
  TESSERA_COLOUR_CATEGORY,
  TESSERA_COLOUR_CLASS,
  TESSERA_COLOUR_GROUP,
  TESSERA_COLOUR_SIZE,
  TESSERA_COLOUR_STREAM,
  TESSERA_COLOUR_PHASE,
  TESSERA_COLOUR_MODULE,
  TESSERA_COLOUR_AGE,
  TESSERA_N_COLOUR_KEYS
} TesseraColourKey;

typedef struct
{
  char name[96];
  uint32_t rgb;
  uint64_t n_blocks;
  uint64_t live_bytes; /* of this key where most is live in the trace */
} TesseraLegendEntry;

#define TESSERA_MAX_LEGEND_ENTRIES 24u /* "other" included */

typedef struct
{
  TesseraColourKey key;
  uint32_t *block_rgb;   /* [n_blocks] */
  uint16_t *block_entry; /* [n_blocks] index into entries */
  TesseraLegendEntry *entries;
  size_t n_entries;
} TesseraColouring;

/* @blocks: of @whose, perhaps with other classes and groups; @groups may be NULL when @n_groups
 * is 0. Where @whose has no categories each is unknown; phases and modules are called as
 * tessera_owner_of() calls them, and ask for all else that it has. At most
 * TESSERA_MAX_LEGEND_ENTRIES, the last of them "other (N)" where there were more. */
TesseraColouring *tessera_colouring_new (const TesseraWhose *whose,
                                         const TesseraBlocks *blocks,
                                         const TesseraGroup *groups,
                                         size_t n_groups,
                                         TesseraColourKey key,
                                         bool dark);
/* What is live of each entry at an event of a layout: their sum is live_bytes of its parts. */
void tessera_colouring_live_at (const TesseraColouring *colouring,
                                const TesseraBlocks *blocks,
                                const TesseraLayout *layout,
                                uint32_t event_index,
                                uint64_t out_bytes[TESSERA_MAX_LEGEND_ENTRIES]);
void tessera_colouring_free (TesseraColouring *colouring);
/* The colour that a name has unless a larger entry of its legend took it: for lanes of
 * phases. */
uint32_t tessera_colour_of_name (const char *name, bool dark);
uint32_t tessera_colour_of_category (TesseraCategory category, bool dark);
/* What a trace is coloured by where nobody chose: category where it has stacks or names of
 * tensors to tell them by, else class. */
TesseraColourKey tessera_usual_colour_key (const TesseraTrace *trace);
const char *tessera_colour_key_name (TesseraColourKey key); /* "category", "class" ... */
