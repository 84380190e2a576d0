/*
 * The search for kinds of step: what the files that find them share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/embed.h"
#include "planner/kinds/units.h"
#include "planner/fold.h"

enum
{
  TESSERA_NARROWINGS = 64 /* of the window, until the rest is given up */
};

typedef struct
{
  TesseraUnits *units;
  TesseraUnit *all;
  uint32_t n_all;
  uint32_t first, end; /* of the window among @all */
  TesseraKindHost *hosts;
  uint32_t n_hosts;
  uint64_t apart[TESSERA_NARROWINGS]; /* digests of units that are nobody's guests */
  uint32_t n_apart;
  TesseraHabits habits; /* what units may keep; none: nothing */
  bool has_leaks;       /* something larger is, or would be where none may */
} TesseraKindSearch;

/* All that steps [@from, @to] and what lies between them do; the window is all of it.
 * TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus
tessera_kind_window_init (TesseraKindSearch *search,
                          const TesseraStructure *structure,
                          uint32_t from,
                          uint32_t to);
/* Narrows the window to units of kinds that fold; an empty one: none do. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kind_window_narrow (TesseraKindSearch *search);

/* Hosts and guests among the units of the window, and the kind of each unit. TESSERA_OK
 * or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kind_hosts_find (TesseraKindSearch *search);
/* A guest that what its host keeps goes through, or the other way round, is of another
 * kind after all. Returns: whether it was one. */
bool tessera_kind_hosts_part (TesseraKindSearch *search, const TesseraUnit *unit);
