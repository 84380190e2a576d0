/*
 * Where in a planned sequence of requests a run is, although the run leaves some out and
 * makes others that nobody planned.
 *
 * It is an edit distance, one row at a time: a cell says how many planned requests were
 * skipped plus how many unplanned ones came, if the run now stands at that place. A new
 * request moves the row on, the cheapest cell is the place. So one missing or extra
 * request costs one, and never shifts those that follow: after it the old diagonal is the
 * cheapest again. Example, planned A B C A B C, the run makes A C B C A B C: the first C
 * is taken for the planned one (one skipped), B then shows that it was extra.
 *
 * An unplanned request costs nothing where such are known to come (a step may make some
 * whose sizes follow no law), so that planned ones are told from those of equal size.
 *
 * As long as each request is the one expected, the row is the distance from the cursor
 * and need not be kept: one comparison a request. Otherwise 65 cells are worked out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

enum
{
  TESSERA_ALIGN_REACH = 32, /* places looked at before and after the cursor */
  TESSERA_ALIGN_CELLS = 2 * TESSERA_ALIGN_REACH + 1
};

/* The signatures ahead: of the section the run is in, then of the one expected next. */
typedef struct
{
  const uint32_t *now;
  const uint32_t *next;
  uint32_t n_now;
  uint32_t n_next;
  const uint64_t *extras_now;  /* [n_now] before each place requests of up to so many */
  const uint64_t *extras_next; /* bytes come that nobody planned; NULL: nowhere */
} TesseraRoute;

typedef struct
{
  uint32_t signature;
  uint64_t block_bytes; /* UINT64_MAX: it is none of the extras that are known of */
} TesseraAlignRequest;

typedef struct
{
  int64_t cursor;                     /* planned requests behind us, on this route */
  int64_t base;                       /* place of cost[0] */
  uint32_t streak;                    /* requests in a row that were the expected one */
  bool is_sure;                       /* the row is the distance from the cursor */
  uint32_t cost[TESSERA_ALIGN_CELLS]; /* above the cheapest cell's; when not sure */
} TesseraAlign;

void tessera_align_reset (TesseraAlign *align, int64_t cursor);

/* The run may as well stand at @place: the next requests decide. Places out of reach are
 * left aside. */
void tessera_align_hint (TesseraAlign *align, int64_t place);

/* The route now begins @n_places later than it did. */
void tessera_align_move (TesseraAlign *align, int64_t n_places);

typedef enum
{
  TESSERA_ALIGN_UNPLANNED,
  TESSERA_ALIGN_EXTRA, /* ... and known to come there */
  TESSERA_ALIGN_PLANNED
} TesseraAlignAnswer;

/* A request came. Returns: what it is, if planned which in *out_place. */
TesseraAlignAnswer tessera_align_request (TesseraAlign *align,
                                          const TesseraRoute *route,
                                          const TesseraAlignRequest *request,
                                          int64_t *out_place);
