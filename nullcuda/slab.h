/*
 * Objects behind handles: never given back to the heap, so that a stale or invented
 * handle is recognised instead of followed. Guarded by the owner's lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct
{
  size_t object_bytes; /* set by the owner; the object begins with a bool: it is in use */
  char **chunks;
  size_t n_chunks;
  size_t *vacant; /* numbers of objects that may be used again, latest last */
  size_t n_vacant, n_objects, capacity;
} NullSlab;

/* A zeroed object, in use; NULL: no memory. */
void *null_slab_take (NullSlab *slab);
/* Whether @handle is an object of this slab that is in use. */
bool null_slab_has (const NullSlab *slab, const void *handle);
void null_slab_give (NullSlab *slab, void *object);
/* The object of that number, or NULL where it is not in use. */
void *null_slab_get (const NullSlab *slab, size_t index);
