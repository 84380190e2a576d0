/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/slab.h"

#include <string.h>
#include <sys/mman.h>

#define MAX_OBJECTS                                                                      \
  (UINT32_C (1) << 22) /* addresses only: memory comes when it is used */

static bool
map (NullSlab *slab)
{
  void *objects =
      mmap ((void *) slab->wanted_addr, MAX_OBJECTS * slab->object_bytes,
            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (objects == MAP_FAILED)
    return false;
  slab->objects = objects;
  return true;
}

static NullSlabHead *
object_at (const NullSlab *slab, size_t index)
{
  return (NullSlabHead *) (slab->objects + index * slab->object_bytes);
}

void *
null_slab_take (NullSlab *slab)
{
  if (slab->objects == NULL && !map (slab))
    return NULL;
  NullSlabHead *object;
  if (slab->first_vacant > 0)
    {
      object = object_at (slab, slab->first_vacant - 1);
      slab->first_vacant = object->next_vacant;
    }
  else if (slab->n_objects < MAX_OBJECTS)
    object = object_at (slab, slab->n_objects++);
  else
    return NULL;
  memset (object, 0, slab->object_bytes);
  object->is_used = true;
  return object;
}

bool
null_slab_has (const NullSlab *slab, const void *handle)
{
  uintptr_t offset = (uintptr_t) handle - (uintptr_t) slab->objects;
  return offset < slab->n_objects * slab->object_bytes &&
         offset % slab->object_bytes == 0 && ((const NullSlabHead *) handle)->is_used;
}

void
null_slab_give (NullSlab *slab, void *object)
{
  NullSlabHead *head = object;
  head->is_used = false;
  head->next_vacant = slab->first_vacant;
  slab->first_vacant =
      (uint32_t) (((uintptr_t) object - (uintptr_t) slab->objects) / slab->object_bytes) +
      1;
}

void *
null_slab_get (const NullSlab *slab, size_t index)
{
  NullSlabHead *object = index < slab->n_objects ? object_at (slab, index) : NULL;
  return object != NULL && object->is_used ? object : NULL;
}
