/*
 * Packing anew around the peak.
 *
 * What sticks out above a target is taken out and put back below it, the heaviest first:
 * where what is in its way weighs least, which then goes and waits in its turn. What has
 * had to go before weighs more each time, so that nobody turns in circles for long. When
 * nobody waits any more the target becomes the height, and a lower one is tried; when
 * that takes too long, one half as far away.
 *
 * Example: a block of 2 at offset 4 ends; one of 1 has come to lie on it, at 6, and one
 * of 3 on that, at 7: height 10, of a load of 8. The one of 3 is taken out and put at 4,
 * where only the small one is in its way; that waits, and goes to 7.
 *
 * The idea is that of ejection chains (Glover 1996; guided ejection search, Nagata and
 * Bräysy 2009).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/repack/ejection.h"

/*
 * tessera_repack:
 * @times: of a problem without zones
 * @offsets: (array): by item; none two overlap. Never worse on return
 * @height_bytes: of @offsets
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED; @offsets and @height_bytes
 * hold the best in any case. A pure function of its arguments but for a cancel.
 */
TESSERA_MUST_USE TesseraStatus tessera_repack (const TesseraTimes *times,
                                               const TesseraRepackOptions *options,
                                               uint64_t *offsets,
                                               uint64_t *height_bytes);

/* The same for a layout in work that others go on with: until the looks are spent. */
void tessera_repack_lower (TesseraEjection *ejection,
                           uint64_t *offsets,
                           uint64_t *height_bytes);
