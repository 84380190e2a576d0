/*
 * The placed items of one attempt in the order of their addresses, and the gaps between
 * them as one more item would find them.
 *
 * Idea: entries sorted by offset in chunks of some dozen; each chunk knows the sections
 * that its entries touch at all, so that a question skips chunks that cannot matter. A
 * question walks upwards over the entries alive together with the item and stops at the
 * first gap. Cost: the entries met on the way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#define TESSERA_SHELF_CHUNK 64
#define TESSERA_SHELF_BLOCKED UINT32_MAX

typedef struct
{
  uint64_t offset, top; /* [offset, top) */
  uint32_t begin, end;  /* first life */
  uint32_t item;        /* or TESSERA_SHELF_BLOCKED, which everybody meets */
} TesseraShelfEntry;

/* What a question looks at first lies close together, the entries elsewhere. */
typedef struct
{
  uint64_t lowest;     /* offset of its first entry */
  uint64_t in, apart;  /* sets that some entry is in, is apart from */
  uint32_t begin, end; /* every entry's lives lie within */
  uint32_t n_entries;
  uint32_t place; /* its entries: [place * TESSERA_SHELF_CHUNK] and on */
} TesseraShelfChunk;

typedef struct
{
  const TesseraPackProblem *problem;
  bool is_by_life;           /* who meets whom is told by first lives alone */
  TesseraShelfChunk *chunks; /* ascending */
  TesseraShelfEntry *entries;
  uint32_t n_chunks, n_places; /* a place is used once */
} TesseraShelf;

/* @n_items: the most that are put onto it. */
TESSERA_MUST_USE TesseraStatus tessera_shelf_init (TesseraShelf *shelf,
                                                   const TesseraPackProblem *problem,
                                                   size_t n_items);
void tessera_shelf_clear (TesseraShelf *shelf); /* frees; a zeroed one is fine */
void tessera_shelf_empty (TesseraShelf *shelf);
/* The lowest offset at which the item fits. */
uint64_t tessera_shelf_first_fit (const TesseraShelf *shelf, const TesseraPackItem *item);
/* The lowest offset from @from_bytes on at which the item fits. */
uint64_t tessera_shelf_fit_from (const TesseraShelf *shelf,
                                 const TesseraPackItem *item,
                                 uint64_t from_bytes);
/* Puts what problem->blocked holds onto an empty shelf. */
void tessera_shelf_block (TesseraShelf *shelf);
void tessera_shelf_put (TesseraShelf *shelf, uint32_t item, uint64_t offset);
/* All items that are still to come live from @section on: those that don't may go. */
void tessera_shelf_forget (TesseraShelf *shelf, uint32_t section);
