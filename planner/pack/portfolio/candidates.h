/*
 * The table of orders and placements that a portfolio tries.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/attempt.h"

/* Likely winners first. Number 0 .. tessera_n_candidates () - 1. */
const TesseraCandidate *tessera_candidate_nth (uint32_t number);
uint32_t tessera_n_candidates (void);
