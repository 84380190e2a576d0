/*
 * What sets that are kept apart in themselves take at least.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

/* Returns: a height that no layout of @problem's items is below, for no two items of such
 * a set share an address, however far apart they live; 0 where there is no such set. */
uint64_t tessera_pack_apart_bound (const TesseraPackProblem *problem);
