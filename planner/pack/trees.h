/*
 * What the packer looks up in a problem's sections and items, each in O(log n) or so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

/* ---- the skyline: the height of what has been placed, section by section; a placement
 * raises a range to a value above everything in it */

typedef struct
{
  uint32_t n_leaves;   /* a power of two */
  uint64_t *highest;   /* [2 * n_leaves]: of the node's sections */
  uint64_t *raised_to; /* [2 * n_leaves]: the whole node, not repeated below */
} TesseraSkyline;

void tessera_skyline_init (TesseraSkyline *skyline, uint32_t n_sections);
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
/* Of both lives. */
uint64_t tessera_skyline_highest_of (const TesseraSkyline *skyline,
                                     const TesseraPackLives *lives);

/* ---- the reach: how low an item can go above all that lies lower, whatever keeps them
 * apart: the skyline, the top of each set, and those of the two highest zones */

typedef struct
{
  uint64_t in[64], apart[64]; /* of the items in a set, of those apart from it */
  uint64_t zones[2];          /* of the highest zone; of all others */
  uint32_t zone;              /* which is the highest */
} TesseraReachTops;

typedef struct
{
  const TesseraPackProblem *problem;
  TesseraReachTops tops; /* where the problem has limits */
  TesseraSkyline skyline;
} TesseraReach;

void tessera_reach_init (TesseraReach *reach, const TesseraPackProblem *problem);
void tessera_reach_clear (TesseraReach *reach);
void tessera_reach_flatten (TesseraReach *reach);
uint64_t tessera_reach_floor (const TesseraReach *reach, uint32_t item);
/* The item was placed; it ends at @top. */
void tessera_reach_raise (TesseraReach *reach, uint32_t item, uint64_t top);

/* ---- windows: the skyline as longest runs of sections of equal height. A window in which
 * nothing fits any more is lifted to its lower neighbour and becomes one with it: whoever
 * comes next there reaches into the neighbour anyway. So a window may stand higher than
 * what has been placed, never lower. */

typedef struct
{
  uint32_t n_sections;
  uint32_t n_leaves;  /* a power of two */
  uint64_t *lowest;   /* [2 * n_leaves]: of the windows that begin below; UINT64_MAX:
                         none does. Leaf s: height of the window that begins at s */
  uint32_t *end;      /* [n_sections] of the window that begins here */
  uint32_t *previous; /* [n_sections] begin of the window before the one that begins here,
                         or UINT32_MAX */
} TesseraWindows;

void tessera_windows_init (TesseraWindows *windows, uint32_t n_sections);
void tessera_windows_clear (TesseraWindows *windows); /* frees; a zeroed one is fine */
/* One window of height 0. */
void tessera_windows_flatten (TesseraWindows *windows);
/* The first of the lowest windows: where it begins; its height and end. */
uint32_t tessera_windows_lowest (const TesseraWindows *windows,
                                 uint64_t *out_height_bytes,
                                 uint32_t *out_end);
/* Raises the sections of [begin, end) that stand lower to @height_bytes. */
void tessera_windows_raise (TesseraWindows *windows,
                            uint32_t begin,
                            uint32_t end,
                            uint64_t height_bytes);
/* Returns: false when there is no other window to lift it to. */
bool tessera_windows_lift (TesseraWindows *windows, uint32_t begin);

/* ---- boxes: neighbours in the array of items are neighbours in time (problem.h), so each
 * node of a binary tree over them knows the box of its items' begins and ends, and a
 * question about a range of sections skips or takes whole nodes */

typedef struct
{
  uint32_t first_begin, last_begin;
  uint32_t first_end, last_end;
} TesseraBox;

typedef struct
{
  const TesseraPackProblem *problem;
  uint32_t n_leaves; /* a power of two */
  TesseraBox *boxes; /* [2 * n_leaves]: from first to last section of items */
} TesseraBoxes;

void tessera_boxes_init (TesseraBoxes *boxes, const TesseraPackProblem *problem);
void tessera_boxes_clear (TesseraBoxes *boxes); /* frees; a zeroed one is fine */

/*
 * tessera_boxes_list:
 * @items: (array length=max_items): all that are alive with item @of, but itself
 * @looks: raised by how many nodes were looked at
 *
 * Returns: how many there are, or SIZE_MAX where they are more than @max_items.
 */
size_t tessera_boxes_list (const TesseraBoxes *boxes,
                           uint32_t of,
                           size_t max_items,
                           uint32_t *items,
                           uint64_t *looks);

/* ---- the finder: which waiting item of the best rank lives inside a range of sections? */

#define TESSERA_NO_RANK UINT32_MAX

typedef struct
{
  TesseraBoxes boxes;
  uint32_t *best; /* [2 * n_leaves]: lowest rank below, or TESSERA_NO_RANK */
} TesseraFinder;

void tessera_finder_init (TesseraFinder *finder, const TesseraPackProblem *problem);
void tessera_finder_clear (TesseraFinder *finder); /* frees; a zeroed one is fine */
/* Sets the ranks of all items at once. */
void tessera_finder_fill (TesseraFinder *finder, const uint32_t *ranks);
/* @rank: TESSERA_NO_RANK: it does not wait any more. */
void tessera_finder_set (TesseraFinder *finder, uint32_t item, uint32_t rank);
/* The best rank among items that live inside [begin, end), or TESSERA_NO_RANK. */
uint32_t tessera_finder_best (const TesseraFinder *finder, uint32_t begin, uint32_t end);
