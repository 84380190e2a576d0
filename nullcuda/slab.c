/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_PER_CHUNK 1024

static bool
grow (NullSlab *slab)
{
  size_t capacity = slab->capacity + OBJECTS_PER_CHUNK;
  char **chunks = realloc (slab->chunks, (slab->n_chunks + 1) * sizeof *chunks);
  if (chunks == NULL)
    return false;
  slab->chunks = chunks;
  size_t *vacant = realloc (slab->vacant, capacity * sizeof *vacant);
  if (vacant == NULL)
    return false;
  slab->vacant = vacant;
  char *chunk = calloc (OBJECTS_PER_CHUNK, slab->object_bytes);
  if (chunk == NULL)
    return false;
  slab->chunks[slab->n_chunks++] = chunk;
  slab->capacity = capacity;
  return true;
}

static char *
object_at (const NullSlab *slab, size_t index)
{
  return slab->chunks[index / OBJECTS_PER_CHUNK] +
         index % OBJECTS_PER_CHUNK * slab->object_bytes;
}

static size_t
index_of (const NullSlab *slab, const void *handle)
{
  for (size_t i = 0; i < slab->n_chunks; i++)
    {
      size_t offset = (size_t) ((uintptr_t) handle - (uintptr_t) slab->chunks[i]);
      if (offset < OBJECTS_PER_CHUNK * slab->object_bytes &&
          offset % slab->object_bytes == 0)
        return i * OBJECTS_PER_CHUNK + offset / slab->object_bytes;
    }
  return SIZE_MAX;
}

void *
null_slab_take (NullSlab *slab)
{
  if (slab->n_vacant == 0 && slab->n_objects == slab->capacity && !grow (slab))
    return NULL;
  size_t index = slab->n_vacant > 0 ? slab->vacant[--slab->n_vacant] : slab->n_objects++;
  char *object = object_at (slab, index);
  memset (object, 0, slab->object_bytes);
  *(bool *) object = true;
  return object;
}

bool
null_slab_has (const NullSlab *slab, const void *handle)
{
  size_t index = index_of (slab, handle);
  return index < slab->n_objects && *(const bool *) handle;
}

void
null_slab_give (NullSlab *slab, void *object)
{
  *(bool *) object = false;
  slab->vacant[slab->n_vacant++] = index_of (slab, object);
}

void *
null_slab_get (const NullSlab *slab, size_t index)
{
  char *object = index < slab->n_objects ? object_at (slab, index) : NULL;
  return object != NULL && *(bool *) object ? object : NULL;
}
