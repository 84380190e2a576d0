/*
 * Whether one unit's requests are among another's, in order: see embed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/embed.h"

#include <stdlib.h>

#include "planner/diff.h"

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

/* Requests as they are compared. */
typedef struct
{
  uint64_t *tokens;
  bool *crosses; /* its block outlives the unit */
  uint32_t n;
} Requests;

static void
requests_clear (Requests *requests)
{
  free (requests->tokens);
  free (requests->crosses);
}

static TesseraStatus
requests_init (Requests *requests,
               const TesseraTrace *trace,
               const TesseraBlocks *blocks,
               const TesseraKindHost *of)
{
  uint32_t n = 0;

  *requests = (Requests){ .tokens = malloc ((of->n_requests + 1) * sizeof (uint64_t)),
                          .crosses = malloc ((of->n_requests + 1) * sizeof (bool)),
                          .n = of->n_requests };
  if (!requests->tokens || !requests->crosses)
    return TESSERA_NO_MEMORY;
  tessera_embed_tokens (trace, of->begin, of->end, requests->tokens);
  for (uint32_t e = of->begin; e < of->end; e++)
    if (tessera_unit_asks (&trace->events[e]))
      requests->crosses[n++] =
          blocks->blocks[blocks->block_of_event[e]].died_index >= of->end;
  return TESSERA_OK;
}

/* One stretch is left out. Where it may be at several places, say of two micro-batches
 * out of four, most of what outlives the unit is to do so in both. */
static bool
leaves_out_a_stretch (const Requests *host, const Requests *guest, uint32_t *out_places)
{
  uint32_t n_left_out = host->n - guest->n, n_end = 0, n_begin = 0, best;
  int64_t gain = 0, most = 0; /* against the first cut that can be */

  while (n_end < guest->n &&
         host->tokens[host->n - 1 - n_end] == guest->tokens[guest->n - 1 - n_end])
    n_end++;
  while (n_begin < guest->n && host->tokens[n_begin] == guest->tokens[n_begin])
    n_begin++;
  if ((uint64_t) n_begin + n_end < guest->n)
    return false;
  best = guest->n - n_end;
  for (uint32_t cut = best; cut < n_begin; cut++)
    {
      gain += (guest->crosses[cut] == host->crosses[cut]) -
              (guest->crosses[cut] == host->crosses[cut + n_left_out]);
      if (gain > most)
        {
          most = gain;
          best = cut + 1;
        }
    }
  for (uint32_t i = 0; i < guest->n; i++)
    out_places[i] = i < best ? i : n_left_out + i;
  return true;
}

static bool
leaves_out_some (const Requests *host, const Requests *guest, uint32_t *out_places)
{
  return host->n - guest->n <= MAX_LEFT_OUT &&
         tessera_diff (guest->tokens, guest->n, host->tokens, host->n, host->n - guest->n,
                       out_places) == guest->n;
}

TesseraStatus
tessera_embed (const TesseraTrace *trace,
               const TesseraBlocks *blocks,
               const TesseraKindHost *host,
               const TesseraKindHost *guest,
               uint32_t *out_places,
               bool *out_fits)
{
  Requests of_host = { 0 }, of_guest = { 0 };
  uint32_t *places = out_places;
  TesseraStatus status;

  *out_fits = false;
  if (guest->n_requests > host->n_requests)
    return TESSERA_OK;
  if (!places)
    places = malloc ((guest->n_requests + 1) * sizeof *places);
  status = places ? requests_init (&of_host, trace, blocks, host) : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    status = requests_init (&of_guest, trace, blocks, guest);
  if (status == TESSERA_OK)
    *out_fits = leaves_out_a_stretch (&of_host, &of_guest, places);
  if (status == TESSERA_OK && !*out_fits)
    *out_fits = leaves_out_some (&of_host, &of_guest, places);
  requests_clear (&of_host);
  requests_clear (&of_guest);
  if (places != out_places)
    free (places);
  return status;
}
