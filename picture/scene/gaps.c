/*
 * Free stretches of an endless height.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/gaps.h"

#include <stdlib.h>

enum
{
  LOWER,
  HIGHER
};

static void
update (TesseraRowGaps *gaps, uint32_t node)
{
  TesseraRowGap *gap = &gaps->gaps[node];
  gap->largest = gap->end - gap->begin;
  for (int side = LOWER; side <= HIGHER; side++)
    if (gaps->gaps[gap->child[side]].largest > gap->largest)
      gap->largest = gaps->gaps[gap->child[side]].largest;
}

static uint64_t
mixed (uint64_t number)
{
  number = (number ^ number >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  number = (number ^ number >> 27) * UINT64_C (0x94d049bb133111eb);
  return number ^ number >> 31;
}

static uint32_t
new_gap (TesseraRowGaps *gaps, uint64_t begin, uint64_t end)
{
  uint32_t node = ++gaps->n_gaps;
  gaps->gaps[node] = (TesseraRowGap){ begin, end, end - begin, mixed (node), { 0, 0 } };
  return node;
}

TesseraStatus
tessera_row_gaps_init (TesseraRowGaps *gaps, size_t n_gives)
{
  *gaps = (TesseraRowGaps){ NULL, 0, 0 };
  if (n_gives >= UINT32_MAX - 2)
    return TESSERA_INVALID;
  gaps->gaps = calloc (n_gives + 2, sizeof *gaps->gaps);
  if (gaps->gaps == NULL)
    return TESSERA_NO_MEMORY;
  gaps->root = new_gap (gaps, 0, UINT64_MAX);
  return TESSERA_OK;
}

void
tessera_row_gaps_clear (TesseraRowGaps *gaps)
{
  free (gaps->gaps);
  *gaps = (TesseraRowGaps){ NULL, 0, 0 };
}

static uint64_t
take_below (TesseraRowGaps *gaps, uint32_t node, uint64_t size_bytes)
{
  TesseraRowGap *gap = &gaps->gaps[node];
  uint64_t begin = gap->begin;
  if (gaps->gaps[gap->child[LOWER]].largest >= size_bytes && gap->child[LOWER] != 0)
    begin = take_below (gaps, gap->child[LOWER], size_bytes);
  else if (gap->end - gap->begin >= size_bytes)
    gap->begin += size_bytes; /* an empty gap stays, until something joins it */
  else
    begin = take_below (gaps, gap->child[HIGHER], size_bytes);
  update (gaps, node);
  return begin;
}

uint64_t
tessera_row_gaps_take (TesseraRowGaps *gaps, uint64_t size_bytes)
{
  return gaps->gaps[gaps->root].largest >= size_bytes
             ? take_below (gaps, gaps->root, size_bytes)
             : 0;
}

/* Two trees, all of @lower below all of @higher, as one. Returns its root. */
static uint32_t
join (TesseraRowGaps *gaps, uint32_t lower, uint32_t higher)
{
  if (lower == 0 || higher == 0)
    return lower != 0 ? lower : higher;
  bool is_lower = gaps->gaps[lower].priority > gaps->gaps[higher].priority;
  uint32_t root = is_lower ? lower : higher;
  uint32_t *child = &gaps->gaps[root].child[is_lower ? HIGHER : LOWER];
  *child = is_lower ? join (gaps, *child, higher) : join (gaps, lower, *child);
  update (gaps, root);
  return root;
}

/* What begins below @at and what begins at it or above it. */
static void
part (TesseraRowGaps *gaps,
      uint32_t node,
      uint64_t at,
      uint32_t *out_lower,
      uint32_t *out_higher)
{
  if (node == 0)
    {
      *out_lower = *out_higher = 0;
      return;
    }
  TesseraRowGap *gap = &gaps->gaps[node];
  if (gap->begin < at)
    {
      part (gaps, gap->child[HIGHER], at, &gap->child[HIGHER], out_higher);
      *out_lower = node;
    }
  else
    {
      part (gaps, gap->child[LOWER], at, out_lower, &gap->child[LOWER]);
      *out_higher = node;
    }
  update (gaps, node);
}

/* Takes the outermost gap on a @side away from a tree that is not empty. */
static uint32_t
take_outermost (TesseraRowGaps *gaps, uint32_t *root, int side)
{
  TesseraRowGap *gap = &gaps->gaps[*root];
  uint32_t taken = *root;
  if (gap->child[side] == 0)
    {
      *root = gap->child[1 - side];
      return taken;
    }
  taken = take_outermost (gaps, &gap->child[side], side);
  update (gaps, *root);
  return taken;
}

void
tessera_row_gaps_give (TesseraRowGaps *gaps, uint64_t begin, uint64_t end)
{
  uint32_t lower, higher, below = 0, above = 0, middle;
  /* A gap may have become empty at @begin: it is one of those below. */
  part (gaps, gaps->root, begin + 1, &lower, &higher);
  if (lower != 0)
    below = take_outermost (gaps, &lower, HIGHER);
  if (higher != 0)
    above = take_outermost (gaps, &higher, LOWER);
  bool joins_below = below != 0 && gaps->gaps[below].end == begin;
  bool joins_above = above != 0 && gaps->gaps[above].begin == end;
  uint64_t from = joins_below ? gaps->gaps[below].begin : begin;
  uint64_t to = joins_above ? gaps->gaps[above].end : end;
  if (joins_below || joins_above)
    {
      middle = joins_below ? below : above;
      gaps->gaps[middle].begin = from;
      gaps->gaps[middle].end = to;
      if (joins_below)
        below = 0;
      if (joins_above)
        above = 0;
    }
  else
    middle = new_gap (gaps, begin, end);
  uint32_t singles[] = { below, middle, above };
  for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
    if (singles[i] != 0)
      {
        gaps->gaps[singles[i]].child[LOWER] = gaps->gaps[singles[i]].child[HIGHER] = 0;
        update (gaps, singles[i]);
        lower = join (gaps, lower, singles[i]);
      }
  gaps->root = join (gaps, lower, higher);
}
