/*
 * The search for kinds of step: what the files that find them share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/fold/retained.h"
#include "planner/fold/units.h"

/* Units that ask for the same. */
typedef struct
{
  uint64_t digest;
  uint32_t n_requests;
  uint32_t begin, end; /* events of the first of them */
  uint32_t unit;       /* the first of them */
  uint32_t n_alike;    /* units */
  uint32_t n_units;    /* with those of its guests */
  uint32_t host;       /* among hosts, or TESSERA_NONE: has a kind of its own */
  uint32_t kind;       /* or TESSERA_NONE: rare */
  bool is_common;
} TesseraKindHost;

/*
 * tessera_embed:
 * @out_places: (array) (nullable): for each of the guest's requests, how many of the
 *   host's come before the one that it is; ascending
 *
 * Whether one unit's requests are among another's, in order. First as one stretch that is
 * left out; else by the longest common sequence where few are left out.
 */
bool tessera_embed (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraKindHost *host,
                    const TesseraKindHost *guest,
                    uint32_t *out_places);

/* The requests in [@begin, @end) as tokens: equal where they ask for the same. */
void tessera_embed_tokens (const TesseraTrace *trace,
                           uint32_t begin,
                           uint32_t end,
                           uint64_t *out_tokens);

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
  uint32_t least_kinds;
  TesseraKindHost *hosts;
  uint32_t n_hosts;
  uint64_t apart[TESSERA_NARROWINGS]; /* digests of units that are nobody's guests */
  uint32_t n_apart;
  TesseraHabits habits; /* what units may keep; none: nothing */
  bool has_leaks;       /* something larger is, or would be where none may */
} TesseraKindSearch;

/* All that steps [@from, @to] and what lies between them do; the window is all of it. */
void tessera_kind_window_init (TesseraKindSearch *search,
                               const TesseraStructure *structure,
                               uint32_t from,
                               uint32_t to);
/* Narrows the window to units of kinds that fold; an empty one: none do. */
void tessera_kind_window_narrow (TesseraKindSearch *search);
