/*
 * Where lengths of life fall apart.
 *
 * A training run keeps some blocks for thousands of requests and others for ten, and
 * hardly any between. The short ones are many and weigh next to nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

typedef struct
{
  /* Lives up to here are short. Below 1/8 of all area (size x life): the widest stretch
   * of lengths, as a ratio, in which no life ends. */
  uint64_t break_events;
  uint64_t share_events; /* those up to here are no more than 1/64 of all area */
} TesseraLifeCuts;

TesseraLifeCuts tessera_life_cuts (const TesseraPackProblem *problem);
