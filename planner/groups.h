/*
 * Groups of blocks planned together, as STAlloc (EuroSys '26) defines them: HomoPhase
 * (same phase of birth and death), HomoSize (same size), HomoLayer (dynamic, same
 * modules).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/structure.h"

/* Sets group of every block and returns the groups with local height and time-memory
 * product. Ownership of *out_groups (and each name) passes to the caller. */
void tessera_group_blocks (const TesseraTrace *trace,
                           TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           TesseraGroup **out_groups,
                           size_t *out_n_groups);
/* Number, class (0: several), height and product of groups whose blocks are what the
 * blocks' group fields say; of one without blocks the number 0. Names stay as they are. */
void tessera_groups_measure (const TesseraBlocks *blocks,
                             TesseraGroup *groups,
                             size_t n_groups);
void tessera_groups_free (TesseraGroup *groups, size_t n_groups);

typedef struct
{
  uint64_t size_bytes;
  uint64_t begin, end;
  uint64_t offset_bytes;
  uint32_t source; /* the caller's: what it stands for */
} TesseraDecision;

/* A group's local layout: each of @decisions, which are in order of begin, in the lowest
 * gap that holds it. Simple, in one sweep, and what a person would draw; the plan's own
 * packing is better. Returns: the highest end. */
uint64_t tessera_lay_lowest (TesseraDecision *decisions, size_t n_decisions);
