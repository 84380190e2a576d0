/*
 * How large the regions above all slots are to be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"
#include "planner/dynamic/guests.h"

/* Serves the dynamic requests of the trace from the rooms of the plan and gives it
 * regions for those that find none: for small blocks.
 * TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_find_regions (TesseraPlan *plan,
                                                     const TesseraBlocks *blocks,
                                                     TesseraGuests *guests);
