/*
 * Offline code hands on no status of memory: where none is left the command ends with a
 * sentence, as GLib ends it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <string.h>

#include "db/array.h"
#include "db/sort.h"

/* Of a function that fails for lack of memory alone. */
static inline void
tessera_demand_memory (TesseraStatus status)
{
  if (status != TESSERA_OK)
    g_error ("there is no memory left for a plan");
}

/* See tessera_sort_keyed(). */
static inline void
tessera_sort (TesseraKeyed *keyed, size_t n)
{
  tessera_demand_memory (tessera_sort_keyed (keyed, n));
}

/* TESSERA_GROW (plan->slots, build->cap_slots, plan->n_slots + 1) */
#define TESSERA_GROW(array, cap, n_needed)                                               \
  tessera_demand_memory (TESSERA_RESERVE (array, cap, n_needed) ? TESSERA_OK             \
                                                                : TESSERA_NO_MEMORY)

/* [@n] of TESSERA_NONE, and room for one more. */
static inline uint32_t *
tessera_new_nones (size_t n)
{
  uint32_t *nones = g_new (uint32_t, n + 1);

  memset (nones, 0xff, (n + 1) * sizeof *nones);
  return nones;
}
