/*
 * Whether one unit's requests are among another's, in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/units.h"

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
 * First as one stretch that is left out; else by the longest common sequence where few
 * are left out.
 *
 * Returns: TESSERA_OK, or TESSERA_NO_MEMORY; whether it is so in *out_fits
 */
TESSERA_MUST_USE TesseraStatus tessera_embed (const TesseraTrace *trace,
                                              const TesseraBlocks *blocks,
                                              const TesseraKindHost *host,
                                              const TesseraKindHost *guest,
                                              uint32_t *out_places,
                                              bool *out_fits);

/* The requests in [@begin, @end) as tokens: equal where they ask for the same. */
void tessera_embed_tokens (const TesseraTrace *trace,
                           uint32_t begin,
                           uint32_t end,
                           uint64_t *out_tokens);
