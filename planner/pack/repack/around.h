/*
 * Who is alive together with whom.
 *
 * Every so many births it is noted who is alive, as many births apart as are ever alive
 * at once: that takes no more room than the lives themselves, and a question looks at one
 * such list and at the births since then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/sweep/times.h"

typedef struct
{
  const TesseraTimes *times;
  uint32_t spacing; /* births between two lists */
  uint32_t n_lists;
  uint32_t *alive; /* lives, list after list: of births before spacing * its number */
  uint32_t *ends;  /* [n_lists] where in alive each ends */
} TesseraAround;

TESSERA_MUST_USE TesseraStatus tessera_around_init (TesseraAround *around,
                                                    const TesseraTimes *times);
void tessera_around_clear (TesseraAround *around); /* frees; a zeroed one is fine */

/*
 * tessera_around_list:
 * @lives: (array length=max_lives): all that share a section with [begin, end), in no
 *   particular order
 * @looks: raised by how many lives were looked at
 *
 * Returns: how many there are, or SIZE_MAX where they are more than @max_lives.
 */
size_t tessera_around_list (const TesseraAround *around,
                            uint32_t begin,
                            uint32_t end,
                            size_t max_lives,
                            uint32_t *lives,
                            uint64_t *looks);
