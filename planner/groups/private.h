/*
 * What the files of groups.h share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/sort.h"
#include "planner/groups.h"

/* What makes blocks a group: kind, class and two names or phases. */
typedef struct
{
  uint8_t kind; /* TesseraGroupKind */
  uint8_t lifetime_class;
  uint32_t step;       /* index, or TESSERA_NONE */
  uint32_t from;       /* phase, or of a HomoLayer group string: of birth ... */
  uint32_t to;         /* ... and of death; TESSERA_NONE: none */
  uint64_t size_bytes; /* of a HomoSize group, else 0 */
  bool are_modules;    /* from and to are strings of the trace, not phases */
} TesseraGroupKey;

/* Fills height, bytes_x_events, product and number of a group. The values of @members are
 * its blocks in order of birth; @room is for as many. */
void tessera_group_measure (const TesseraBlocks *blocks,
                            const TesseraKeyed *members,
                            size_t n_members,
                            TesseraDecision *room,
                            TesseraGroup *group);

/* Allocated. */
char *tessera_group_name (const TesseraTrace *trace,
                          const TesseraStructure *structure,
                          const uint32_t *phase_ordinals,
                          const TesseraGroupKey *key,
                          size_t n_members);
/* [n_phases] 1, 2 ...: which of the phases of its name in its step; 0: the only one. */
uint32_t *tessera_phase_ordinals (const TesseraTrace *trace,
                                  const TesseraStructure *structure);
