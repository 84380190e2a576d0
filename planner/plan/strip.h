/*
 * A strip cut out of a layout: a plan under a cap without packing anything.
 *
 * A range of addresses as high as the layout is too high is taken out: who lies in it, if
 * only in part, loses its slot, and all above it comes down by as much. What is left
 * shares no address that it did not share before, whatever law it was laid out by. Among
 * all such ranges there is often one that few blocks lie in.
 *
 * Example: height 10, cap 8, so the strip is 2 high. A lies at 0..6, B at 6..7, C at
 * 7..10, at another time D at 6..9. A strip at 6 loses B, C and D; one at 8 C and D only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

typedef struct TesseraStrip TesseraStrip;

/*
 * tessera_strip_find:
 * @out_strip: (transfer full) (nullable): of the layout of @build the strip that loses
 *   least bytes x lifetime; NULL where there is none: what is pinned, or takes turns, lies
 *   in the way, or something is kept together
 *
 * Remembers all it needs: the layout may be made anew then.
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_strip_find (const TesseraPlanBuild *build,
                                                   uint64_t cap_bytes,
                                                   TesseraStrip **out_strip);
/* (nullable) */
void tessera_strip_free (TesseraStrip *strip);

/* Bytes x lifetime of what is lost. */
double tessera_strip_weight (const TesseraStrip *strip);

/*
 * tessera_strip_take:
 * @out_is_taken: false where what is left has other slots than before; then what is left
 *   out is as it was, and has to be laid out anew
 *
 * Lays out what the strip leaves, lower than that where packing it anew is. Slots that
 * were left out since it was found come back.
 *
 * Returns: TESSERA_OK, or what laying out fails with
 */
TESSERA_MUST_USE TesseraStatus tessera_strip_take (TesseraPlanBuild *build,
                                                   const TesseraStrip *strip,
                                                   bool *out_is_taken);
