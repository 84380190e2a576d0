/*
 * Which addresses are held, and by how many at once: the checker's books where several
 * slots may lawfully hold a place, one instead of the other. A tree over the addresses at
 * which slots and rooms begin and end; each node says how often all of it is held and how
 * many bytes below it are. O(log n) each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* Ranges are numbered: slot i of the plan has number i, room i has n_slots + i. */
typedef struct
{
  uint64_t *bounds; /* ascending, each once */
  size_t n_bounds;
  uint32_t *first, *end; /* [ranges] the stretches between bounds that each takes */
  size_t n_leaves;       /* a power of two, not less than the stretches */
  uint32_t *counts;      /* [nodes] how often a node is held as a whole */
  uint64_t *bytes;       /* [nodes] held in it */
} TesseraCover;

/* Nothing is held. @has_rooms: else slots alone are numbered. TESSERA_OK or
 * TESSERA_NO_MEMORY, after which it is still to be cleared. */
TESSERA_MUST_USE TesseraStatus tessera_cover_init (TesseraCover *cover,
                                                   const TesseraPlan *plan,
                                                   bool has_rooms);
void tessera_cover_clear (TesseraCover *cover);  /* frees; a zeroed one is fine */
void tessera_cover_forget (TesseraCover *cover); /* nothing is held */

/* Only what was added may be removed. */
void tessera_cover_add (TesseraCover *cover, size_t range);
void tessera_cover_remove (TesseraCover *cover, size_t range);
bool tessera_cover_is_free (const TesseraCover *cover, size_t range);
/* All that is held, each address once. */
uint64_t tessera_cover_bytes (const TesseraCover *cover);
