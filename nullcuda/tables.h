/*
 * What the null CUDA keeps: ranges of addresses, and objects behind handles. Not locked: the
 * owner's lock guards each of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges of addresses that do not overlap, sorted: what lies where.
 *
 * An array with binary search: a job holds some thousands of ranges, and looks up far
 * more often than it inserts. */

typedef struct
{
  uint64_t addr, n_bytes;
  uint64_t value; /* the owner's */
  void *data;     /* the owner's */
} NullRange;

typedef struct
{
  NullRange *items;
  size_t n, capacity;
} NullRanges;

/* Index of the first range that ends after @addr; n where there is none. */
size_t null_ranges_at (const NullRanges *ranges, uint64_t addr);
/* The range that holds all of [addr, addr + n_bytes), or NULL. Valid until a change. */
NullRange *null_ranges_find (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes);
/* Whether any byte of it is taken. */
bool null_ranges_overlap (const NullRanges *ranges, uint64_t addr, uint64_t n_bytes);
/* False: no memory. The range must be free. */
bool null_ranges_insert (NullRanges *ranges, NullRange range);
void null_ranges_remove (NullRanges *ranges, size_t index);
/* The lowest free address of @n_bytes at a multiple of @alignment within [from, to), or
 * 0. */
uint64_t null_ranges_gap (const NullRanges *ranges,
                          uint64_t from,
                          uint64_t to,
                          uint64_t n_bytes,
                          uint64_t alignment);

/* Objects behind handles: never given back to the heap, so that a stale or invented
 * handle is recognised instead of followed.
 *
 * All of a slab lies in one mapping, at the same address in every run where that is free:
 * streams appear in snapshots, which shall be equal from run to run. */

/* Objects begin so. */
typedef struct
{
  bool is_used;
  uint32_t next_vacant; /* number of the object, plus one; 0: none */
} NullSlabHead;

typedef struct
{
  uint64_t wanted_addr; /* set by the owner, as the size is */
  size_t object_bytes;
  char *objects;
  size_t n_objects;      /* numbers that were ever in use */
  uint32_t first_vacant; /* as next_vacant */
} NullSlab;

/* A zeroed object, in use; NULL: no memory. */
void *null_slab_take (NullSlab *slab);
/* Whether @handle is an object of this slab that is in use. */
bool null_slab_has (const NullSlab *slab, const void *handle);
void null_slab_give (NullSlab *slab, void *object);
/* The object of that number, or NULL where it is not in use. */
void *null_slab_get (const NullSlab *slab, size_t index);
