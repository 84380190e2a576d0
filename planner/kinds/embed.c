/*
 * Whether one unit's requests are among another's, in order: see embed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/embed.h"

#include <stdlib.h>

#include "planner/laws/diff.h"

#define MAX_LEFT_OUT 1024 /* here and there */

void
tessera_embed_tokens (const TesseraTrace *trace,
                      uint32_t begin,
                      uint32_t end,
                      uint64_t *out_tokens)
{
  for (uint32_t e = begin; e < end; e++)
    if (tessera_unit_asks (&trace->events[e]))
      *out_tokens++ = tessera_unit_token (&trace->events[e]);
}

/* One stretch is left out: what ends alike, and before that what begins alike. */
static bool
leaves_out_a_stretch (const uint64_t *host,
                      uint32_t n_host,
                      const uint64_t *guest,
                      uint32_t n_guest,
                      uint32_t *out_places)
{
  uint32_t n_end = 0, n_begin = 0;

  while (n_end < n_guest && host[n_host - 1 - n_end] == guest[n_guest - 1 - n_end])
    n_end++;
  while (n_begin + n_end < n_guest && host[n_begin] == guest[n_begin])
    n_begin++;
  if (n_begin + n_end < n_guest)
    return false;
  for (uint32_t i = 0; i < n_guest; i++)
    out_places[i] = i < n_begin ? i : n_host - n_guest + i;
  return true;
}

static TesseraStatus
leaves_out_some (const uint64_t *host,
                 uint32_t n_host,
                 const uint64_t *guest,
                 uint32_t n_guest,
                 uint32_t *out_places,
                 bool *out_fits)
{
  uint32_t n_common = 0;
  TesseraStatus status = TESSERA_OK;

  if (n_host - n_guest <= MAX_LEFT_OUT)
    status = tessera_diff (guest, n_guest, host, n_host, n_host - n_guest, out_places,
                           &n_common);
  *out_fits = n_common == n_guest;
  return status;
}

TesseraStatus
tessera_embed (const TesseraTrace *trace,
               const TesseraKindHost *host,
               const TesseraKindHost *guest,
               uint32_t *out_places,
               bool *out_fits)
{
  uint32_t n_host = host->n_requests, n_guest = guest->n_requests;
  uint64_t *tokens;
  uint32_t *places = out_places;
  TesseraStatus status = TESSERA_OK;

  *out_fits = false;
  if (n_guest > n_host)
    return TESSERA_OK;
  tokens = malloc (((size_t) n_host + n_guest + 1) * sizeof *tokens);
  if (!places)
    places = malloc ((n_guest + 1) * sizeof *places);
  if (!tokens || !places)
    status = TESSERA_NO_MEMORY;
  else
    {
      tessera_embed_tokens (trace, host->begin, host->end, tokens);
      tessera_embed_tokens (trace, guest->begin, guest->end, tokens + n_host);
      *out_fits = leaves_out_a_stretch (tokens, n_host, tokens + n_host, n_guest, places);
      if (!*out_fits)
        status =
            leaves_out_some (tokens, n_host, tokens + n_host, n_guest, places, out_fits);
    }
  free (tokens);
  if (places != out_places)
    free (places);
  return status;
}
