/*
 * What streams wait for: see barriers.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/barriers.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

void
tessera_barriers_clear (TesseraBarriers *barriers)
{
  free (barriers->behind);
  *barriers = (TesseraBarriers){ 0 };
}

static void
forget (TesseraBarriers *barriers, size_t at)
{
  barriers->n_last--;
  memmove (&barriers->last[at], &barriers->last[at + 1],
           (barriers->n_last - at) * sizeof barriers->last[0]);
}

bool
tessera_barriers_hear (TesseraBarriers *barriers, TesseraLastFree *out_free)
{
  pthread_t self = pthread_self ();

  for (size_t i = 0; i < barriers->n_last; i++)
    if (pthread_equal (barriers->last[i].thread, self))
      {
        *out_free = barriers->last[i];
        forget (barriers, i);
        return true;
      }
  return false;
}

bool
tessera_barriers_hear_all (TesseraBarriers *barriers, TesseraLastFree *out_free)
{
  if (barriers->n_last == 0)
    return false;
  *out_free = barriers->last[--barriers->n_last];
  return true;
}

void
tessera_barriers_free (TesseraBarriers *barriers, const TesseraLastFree *freed)
{
  if (barriers->n_last == TESSERA_MOST_FREEING)
    forget (barriers, 0);
  barriers->last[barriers->n_last] = *freed;
  barriers->last[barriers->n_last++].thread = pthread_self ();
}

void
tessera_barriers_set (TesseraBarriers *barriers, uint32_t stream, uint64_t moment)
{
  if (!TESSERA_RESERVE (barriers->behind, barriers->cap_behind, (size_t) stream + 1))
    return;
  while (barriers->n_behind <= stream)
    barriers->behind[barriers->n_behind++] = 0;
  barriers->behind[stream] = moment;
}
