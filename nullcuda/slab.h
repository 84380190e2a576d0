/*
 * Objects behind handles: never given back to the heap, so that a stale or invented
 * handle is recognised instead of followed. Guarded by the owner's lock.
 *
 * All of a slab lies in one mapping, at the same address in every run where that is free:
 * streams appear in snapshots, which shall be equal from run to run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
