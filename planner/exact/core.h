/*
 * A core: items whose places have to be searched for, with what the search looks up.
 *
 * Time is cut into sections as in pack/problem.h: two items share a moment exactly when
 * they share a section. Heights are in units, the greatest common divisor of all sizes.
 * Read-only once made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact.h"

#define TESSERA_CORE_NONE UINT32_MAX

typedef struct
{
  uint64_t size;         /* units */
  uint32_t begin, end;   /* sections [begin, end) */
  uint32_t begin2, end2; /* the earlier life; begin2 == end2: none */
  uint32_t source;       /* index into the caller's items */
} TesseraCoreItem;

typedef struct
{
  TesseraCoreItem *items; /* ascending first section */
  uint32_t n_items;
  uint32_t n_sections;
  uint64_t capacity;       /* units */
  uint32_t *first_item;    /* [n_sections + 1]: of the items whose first section it is */
  uint32_t *members_begin; /* [n_sections + 1] into members */
  uint32_t *members;       /* items alive in a section */
  uint32_t *near_begin;    /* [n_items + 1] into near */
  uint32_t *near;          /* items that share a section with an item */
  uint32_t *twin;          /* [n_items]: the next of the same lives and size, or NONE */
  uint64_t *load;          /* [n_sections]: units */
} TesseraCore;

static inline uint32_t
tessera_core_first_section (const TesseraCoreItem *item)
{
  return item->begin2 < item->end2 ? item->begin2 : item->begin;
}

static inline bool
tessera_core_same_lives (const TesseraCoreItem *a, const TesseraCoreItem *b)
{
  return a->begin == b->begin && a->end == b->end && a->begin2 == b->begin2 &&
         a->end2 == b->end2;
}

static inline bool
tessera_core_items_meet (const TesseraCoreItem *a, const TesseraCoreItem *b)
{
  return (a->begin < b->end && b->begin < a->end) ||
         (a->begin2 < b->end && b->begin < a->end2) ||
         (a->begin < b->end2 && b->begin2 < a->end) ||
         (a->begin2 < b->end2 && b->begin2 < a->end2);
}

/*
 * tessera_core_cut:
 * @items: (array length=n_items): lives in the caller's time, brought to sections
 *
 * Sorts the items by first section.
 *
 * Returns: false when memory is short.
 */
TESSERA_MUST_USE bool
tessera_core_cut (TesseraCoreItem *items, uint32_t n_items, uint32_t *out_n_sections);

/*
 * tessera_core_new:
 * @items: (array length=n_items): brought to sections, in order; copied
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_REFUSED where the core is too large
 * to be looked at.
 */
TESSERA_MUST_USE TesseraStatus tessera_core_new (const TesseraCoreItem *items,
                                                 uint32_t n_items,
                                                 uint32_t n_sections,
                                                 uint64_t capacity,
                                                 TesseraCore **out_core);
void tessera_core_free (TesseraCore *core); /* NULL is fine */
