/*
 * A handful of items: every order.
 *
 * Some order of any lowest layout, by offset, gives one as low when each item is put on
 * top of all before it that it meets. Orders that are as high as the best so far are
 * given up. For problems that the exact search (exact.h) does not know: with several
 * owners.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

#define TESSERA_PACK_FEW 8

/* Whether the problem is one of a few items that nothing holds. */
bool tessera_pack_is_few (const TesseraPackProblem *problem);
/* Lowers what is there to the lowest there is: then the bound is raised to it. */
void tessera_pack_few (TesseraPackProblem *problem,
                       uint64_t *places,
                       uint64_t *height_bytes,
                       const char **strategy);
