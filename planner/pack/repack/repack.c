/*
 * Packing anew around the peak. See repack.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/repack.h"

#include <string.h>

/* The first target is so far of the way down to the bound. */
#define FIRST_PART 4
/* Targets nearer to the height than this part of the bound are not worth it. */
#define SMALLEST_PART (1u << 19)

/* Takes out what sticks out, and puts it back below the target. */
static bool
reach (TesseraEjection *ejection, const uint64_t *offsets, uint64_t target_bytes)
{
  memcpy (ejection->offsets, offsets, ejection->problem->n_items * sizeof *offsets);
  tessera_ejection_begin (ejection);
  tessera_ejection_take_out_above (ejection, target_bytes);
  return tessera_ejection_reach (ejection, target_bytes);
}

void
tessera_repack_lower (TesseraEjection *ejection,
                      uint64_t *offsets,
                      uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  uint64_t bound_bytes = problem->bound_bytes;
  uint64_t step_bytes = (*height_bytes - bound_bytes) / FIRST_PART + 1;
  while (*height_bytes > bound_bytes && step_bytes > bound_bytes / SMALLEST_PART &&
         ejection->looks < ejection->options->looks && !ejection->is_cancelled)
    {
      uint64_t left_bytes = *height_bytes - bound_bytes;
      if (reach (ejection, offsets,
                 *height_bytes - (step_bytes < left_bytes ? step_bytes : left_bytes)))
        {
          memcpy (offsets, ejection->offsets, problem->n_items * sizeof *offsets);
          *height_bytes = tessera_pack_height (problem, offsets);
        }
      else
        step_bytes /= 2;
    }
}

TesseraStatus
tessera_repack (const TesseraTimes *times,
                const TesseraRepackOptions *options,
                uint64_t *offsets,
                uint64_t *height_bytes)
{
  TesseraEjection ejection = { 0 };
  if (options->looks == 0 || *height_bytes <= times->problem->bound_bytes)
    return TESSERA_OK;
  TesseraStatus status = tessera_ejection_init (&ejection, times, options);
  if (status == TESSERA_OK)
    tessera_repack_lower (&ejection, offsets, height_bytes);
  if (ejection.is_cancelled)
    status = TESSERA_CANCELLED;
  tessera_ejection_clear (&ejection);
  return status;
}
