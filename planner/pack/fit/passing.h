/*
 * Fixed ranges and the rule of the lowest reachable offset.
 *
 * A range is *passed* in a section when the section's window stands above it: whatever
 * comes there from now on lies higher, and what was free below the range is lost. Until
 * then its bytes are still to come, as those of an item that waits are. A window is
 * lifted past a range when nothing that waits fits below, and its lower neighbour stands
 * above the range's begin, so that the lift would gain nobody anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/fixed.h"
#include "planner/pack/fit/tree.h"
#include "planner/pack/windows.h"

/* What the ranges leave of the room under @capacity_bytes; fixed items count with all
 * items, so blocked ranges alone are taken from it. */
void tessera_passing_start (const TesseraFixed *fixed,
                            uint64_t capacity_bytes,
                            TesseraRoom *room);
/* Lifts sections [begin, end), which stand no higher than its begin, past the range. */
void tessera_passing_lift (const TesseraFixedRange *range,
                           uint32_t begin,
                           uint32_t end,
                           uint64_t capacity_bytes,
                           TesseraWindows *windows,
                           TesseraRoom *room);
/* Adds the bytes of all ranges to the room where windows stand above them; not
 * @is_passed: takes them back. */
void tessera_passing_count (const TesseraFixed *fixed,
                            uint64_t capacity_bytes,
                            const TesseraWindows *windows,
                            bool is_passed,
                            TesseraRoom *room);
/* The capacity was raised: more of the blocked ranges lies below it. Nothing may count as
 * passed meanwhile. */
void tessera_passing_raise (const TesseraFixed *fixed,
                            uint64_t old_capacity_bytes,
                            uint64_t capacity_bytes,
                            TesseraRoom *room);
