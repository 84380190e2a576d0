/*
 * A plan for steps of several kinds over one pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/carries.h"
#include "planner/plan/build.h"

/* Whether the trace has kinds of step that fold more of its steps than its one run of
 * equal ones, and nothing is asked for that only plans of one kind can have (edits,
 * groups as rectangles, streams that share addresses). Then @units has at least one kind,
 * else none. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_find (const TesseraPlanBuild *build,
                                                   TesseraUnits *units);

/* Fills build->plan: sections, slots, crossings, names, offsets, height, bound. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_plan (TesseraPlanBuild *build,
                                                   const TesseraUnits *units);

/* A slot for each block and spot that is planned, without offsets; the carries of
 * @carries that stand for blocks of the start know it afterwards. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_slots (TesseraPlanBuild *build,
                                                    TesseraCarries *carries);

/* Offsets of slots and carries. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_pack (TesseraPlanBuild *build,
                                                   TesseraCarries *carries);

/* A slot's spot, or NULL: of the start, the end, or a spare. */
const TesseraSpot *tessera_kinds_spot (const TesseraPlanBuild *build,
                                       const TesseraCarries *carries,
                                       uint32_t slot);
