/*
 * A plan for steps of several kinds over one pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/carries.h"
#include "planner/plan/build.h"

/* What a plan of several kinds of step is made from. All zero: nothing. */
typedef struct
{
  TesseraUnits units;
  TesseraCarries carries; /* of the layout in hand */
  uint64_t *holders;      /* of the carries */
  bool is_planned;        /* whether kinds alternate is decided */
} TesseraKindsBuild;

void tessera_kinds_build_clear (TesseraKindsBuild *kinds);

/* The kinds of step of the trace, where they fold more of its steps than its one run of
 * equal ones, and nothing is asked for that only plans of one kind can have (streams that
 * share addresses, chosen steps); else it has none. */
TesseraKindsBuild tessera_kinds_find (const TesseraPlanBuild *build);

/* One kind of step in two layouts, where steps keep what the next has made as well by
 * then; else it has none. */
TesseraKindsBuild tessera_kinds_find_turns (const TesseraPlanBuild *build);

/* Whether two layouts are enough lower than one. */
bool tessera_kinds_are_worth (uint64_t bytes, uint64_t single_bytes);

/* Whether kinds of step of the plan have two layouts. */
bool tessera_plan_alternates (const TesseraPlan *plan);

/* Fills build->plan: sections, slots, crossings, names, holds, offsets, height, bound.
 * @kinds must stay where it is. TESSERA_REFUSED where edits conflict. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_plan (TesseraPlanBuild *build,
                                                   TesseraKindsBuild *kinds);

/* The same, of what build->left_out leaves. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_lay_out (TesseraPlanBuild *build,
                                                      TesseraKindsBuild *kinds);

/* Makes that plan again with fewer slots until it is no higher than edits want. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_under_cap (TesseraPlanBuild *build,
                                                        TesseraKindsBuild *kinds);

/* A slot for each block and request that is planned, without offsets, and the unplanned
 * requests; the carries of @carries that stand for blocks of the start know it
 * afterwards. */
void tessera_kinds_slots (TesseraPlanBuild *build, TesseraCarries *carries);

/* Offsets of slots and carries. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_pack (TesseraPlanBuild *build,
                                                   TesseraCarries *carries);

/* Edits: what they leave out, into build->left_out; numbers of who is held by what
 * (carries.h), for the caller to free; and their holds on slots, once there are any. */
void tessera_kinds_leave_out (TesseraPlanBuild *build, const TesseraUnits *units);
/* One more that stands for others, and its twin. @why: 1 + the edit. */
void tessera_kinds_mark_left_out (TesseraPlanBuild *build,
                                  const TesseraUnits *units,
                                  uint32_t block,
                                  uint32_t why);
uint64_t *tessera_kinds_find_holders (const TesseraPlanBuild *build,
                                      const TesseraUnits *units);
TESSERA_MUST_USE TesseraStatus tessera_kinds_find_holds (TesseraPlanBuild *build,
                                                         const TesseraCarries *carries);
