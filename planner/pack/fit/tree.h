/*
 * Two trees over the sections of a packing problem, O(log n) each call.
 *
 * The skyline keeps the height of what has been placed, section by section; a placement
 * raises a range to a value above everything in it. The room keeps, section by section,
 * how high the next item may lie so that all that is still to come fits under a given
 * capacity; a placement adds its size over its life.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint32_t n_leaves;   /* a power of two */
  uint64_t *highest;   /* [2 * n_leaves]: of the node's sections */
  uint64_t *raised_to; /* [2 * n_leaves]: the whole node, not repeated below */
} TesseraSkyline;

TESSERA_MUST_USE TesseraStatus tessera_skyline_init (TesseraSkyline *skyline,
                                                     uint32_t n_sections);
void tessera_skyline_clear (TesseraSkyline *skyline); /* frees; a zeroed one is fine */
void tessera_skyline_flatten (TesseraSkyline *skyline);
/* Sets [begin, end) to max (what is there, @height). */
void tessera_skyline_raise (TesseraSkyline *skyline,
                            uint32_t begin,
                            uint32_t end,
                            uint64_t height);
/* The highest of [begin, end), 0 for an empty range. */
uint64_t
tessera_skyline_highest (const TesseraSkyline *skyline, uint32_t begin, uint32_t end);

typedef struct
{
  uint32_t n_leaves; /* a power of two, two more than sections at least */
  int64_t *lowest;   /* [2 * n_leaves]: of the node's sections, own addition included */
  int64_t *added;    /* [2 * n_leaves]: to the whole node, not repeated below */
} TesseraRoom;

TESSERA_MUST_USE TesseraStatus tessera_room_init (TesseraRoom *room, uint32_t n_sections);
void tessera_room_clear (TesseraRoom *room); /* frees; a zeroed one is fine */
/* Every section gets @bytes. */
void tessera_room_reset (TesseraRoom *room, int64_t bytes);
void tessera_room_add (TesseraRoom *room, uint32_t begin, uint32_t end, int64_t bytes);
/* Raises or lowers all sections at once. */
void tessera_room_add_all (TesseraRoom *room, int64_t bytes);
/* The lowest of [begin, end), INT64_MAX for an empty range. */
int64_t tessera_room_lowest (const TesseraRoom *room, uint32_t begin, uint32_t end);
/* A section of [begin, end), which must not be empty, that holds the lowest. */
uint32_t tessera_room_where (const TesseraRoom *room, uint32_t begin, uint32_t end);
