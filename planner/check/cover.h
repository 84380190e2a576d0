/*
 * Which addresses are held, and by how many at once: the checker's books where several
 * slots may lawfully hold a place, one instead of the other. A tree over the addresses at
 * which slots begin and end; each node says how often all of it is held and how many
 * bytes below it are. O(log n) each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

typedef struct
{
  uint64_t *bounds; /* ascending, each once */
  size_t n_bounds;
  uint32_t *counts; /* [nodes] how often a node is held as a whole */
  uint64_t *bytes;  /* [nodes] held below it */
} TesseraCover;

/* For ranges of the slots of @plan. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_cover_init (TesseraCover *cover,
                                                   const TesseraPlan *plan);
void tessera_cover_clear (TesseraCover *cover);  /* frees; a zeroed one is fine */
void tessera_cover_forget (TesseraCover *cover); /* nothing is held */

/* Only what was added may be removed. */
void tessera_cover_add (TesseraCover *cover, const TesseraSlot *slot);
void tessera_cover_remove (TesseraCover *cover, const TesseraSlot *slot);
bool tessera_cover_is_free (const TesseraCover *cover, const TesseraSlot *slot);
/* All that is held, each address once. */
uint64_t tessera_cover_bytes (const TesseraCover *cover);
