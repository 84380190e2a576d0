/*
 * A trace opened, laid out as recorded and planned: what tests of pictures start from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/planner.h"
#include "simulator/simulate.h"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraLayout *left, *right;
  TesseraPlan *plan;
} Stage;

/* Fails the running test when anything does. */
Stage *stage_new (const char *path);
void stage_free (Stage *stage);
