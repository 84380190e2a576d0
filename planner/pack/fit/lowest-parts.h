/*
 * What the files of the rule of the lowest reachable offset share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/lowest.h"

/* Where the item would come to lie now. */
uint64_t tessera_lowest_floor (const TesseraLowest *lowest, const TesseraPackItem *item);
/* How high it may lie under the capacity. */
int64_t tessera_lowest_room_for (const TesseraLowest *lowest,
                                 const TesseraPackItem *item);
/* Its floor is not that of one window. */
bool tessera_lowest_takes_its_turn (const TesseraLowest *lowest, uint32_t item_index);
/* The item, which was chosen, is no longer waiting. */
void tessera_lowest_take (TesseraLowest *lowest, uint32_t rank);
/* The item waits until something is placed in the section that is short of room. */
void
tessera_lowest_park (TesseraLowest *lowest, uint32_t rank, const TesseraPackItem *item);
/* Something was placed in sections [begin, end). */
void tessera_lowest_unpark (TesseraLowest *lowest, uint32_t begin, uint32_t end);
/* The item waits until the fixed range is passed. */
void tessera_lowest_put_off (TesseraLowest *lowest, uint32_t rank, size_t range);
/* The fixed range was passed in sections [begin, end). */
void
tessera_lowest_recall (TesseraLowest *lowest, size_t range, uint32_t begin, uint32_t end);

/* The rank that comes next, with windows lifted on the way as needed; TESSERA_NO_RANK:
 * whoever is left is parked. */
uint32_t tessera_lowest_choose (TesseraLowest *lowest);
/* Everybody waits: the capacity is raised by the least that lets one go on. */
void tessera_lowest_raise (TesseraLowest *lowest);
