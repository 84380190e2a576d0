/*
 * Which units are of one kind, and the window of units that folds: see private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

#include <stdlib.h>
#include <string.h>

#include "planner/diff.h"

enum
{
  LEAST_UNITS = 2, /* of a kind */
  GUEST_SHARE = 2  /* a guest has one of so many of its host's requests at least */
};

static int
compare_hosts (const void *a, const void *b)
{
  const TesseraKindHost *x = a, *y = b;

  if (x->like->n_requests != y->like->n_requests)
    return x->like->n_requests > y->like->n_requests ? -1 : 1;
  return (x->like > y->like) - (x->like < y->like);
}

static bool
is_like (const TesseraKindHost *host, const TesseraUnit *unit)
{
  return host->like->digest == unit->digest && host->like->n_requests == unit->n_requests;
}

/* One host for each sequence of requests in the window, the longest first. */
static void
list_hosts (TesseraKindSearch *search)
{
  TesseraKindHost *hosts = g_renew (TesseraKindHost, search->hosts, search->n_all + 1u);

  search->hosts = hosts;
  search->n_hosts = 0;
  for (uint32_t i = search->first; i < search->end; i++)
    {
      const TesseraUnit *unit = &search->all[i];
      uint32_t k = 0;

      while (k < search->n_hosts && !is_like (&hosts[k], unit))
        k++;
      if (k == search->n_hosts)
        hosts[search->n_hosts++] =
            (TesseraKindHost){ .like = unit, .host = TESSERA_NONE };
      hosts[k].n_alike++;
      hosts[k].n_units++;
    }
  qsort (hosts, search->n_hosts, sizeof *hosts, compare_hosts);
}

static bool
is_apart (const TesseraKindSearch *search, const TesseraUnit *guest)
{
  for (uint32_t i = 0; i < search->n_apart; i++)
    if (search->apart[i] == guest->digest)
      return true;
  return false;
}

/* Guests go to the shortest host that has all of their requests in order. */
static void
find_guests (TesseraKindSearch *search)
{
  for (uint32_t g = 0; g < search->n_hosts; g++)
    for (uint32_t h = g; h-- > 0 && search->hosts[g].host == TESSERA_NONE;)
      {
        TesseraKindHost *guest = &search->hosts[g], *host = &search->hosts[h];

        if (host->host == TESSERA_NONE && host->n_alike >= LEAST_UNITS &&
            !is_apart (search, guest->like) &&
            guest->like->n_requests >= host->like->n_requests / GUEST_SHARE &&
            tessera_embed (search->units, host->like, guest->like, NULL))
          {
            guest->host = h;
            host->n_units += guest->n_units;
          }
      }
}

static TesseraKindHost *
host_of (const TesseraKindSearch *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      if (is_like (host, unit))
        return host->host == TESSERA_NONE ? host : &search->hosts[host->host];
    }
  return NULL;
}

/* Of too many kinds the one that is least work is taken for rare. */
static void
forget_least (TesseraKindSearch *search)
{
  TesseraKindHost *least = NULL;

  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      if (host->is_common &&
          (least == NULL || (uint64_t) host->n_units * host->like->n_requests <
                                (uint64_t) least->n_units * least->like->n_requests))
        least = host;
    }
  if (least != NULL)
    least->is_common = false;
}

/* Numbers the kinds by the units that stand for them. */
static void
number_kinds (TesseraKindSearch *search)
{
  TesseraUnits *units = search->units;
  uint32_t n_common = 0;

  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      host->is_common = host->host == TESSERA_NONE && host->n_units >= LEAST_UNITS;
      n_common += host->is_common;
    }
  for (; n_common > TESSERA_MAX_KINDS; n_common--)
    forget_least (search);
  units->n_kinds = 0;
  for (uint32_t k = 0; k < search->n_hosts; k++)
    search->hosts[k].kind = TESSERA_NONE;
  for (uint32_t i = search->first; i < search->end; i++)
    {
      TesseraKindHost *host = host_of (search, &search->all[i]);

      if (host->is_common && host->like == &search->all[i])
        {
          units->kinds[units->n_kinds] =
              (TesseraStepKind){ .unit = i, .n_requests = host->like->n_requests };
          host->kind = units->n_kinds++;
        }
    }
  for (uint32_t i = search->first; i < search->end; i++)
    {
      search->all[i].kind = host_of (search, &search->all[i])->kind;
      if (search->all[i].kind != TESSERA_NONE)
        units->kinds[search->all[i].kind].n_units++;
    }
}

/* Hosts and guests among the units of the window, and the kind of each unit. */
static void
find_hosts (TesseraKindSearch *search)
{
  list_hosts (search);
  find_guests (search);
  number_kinds (search);
}

/* A guest that what its host keeps goes through, or the other way round, is of another
 * kind after all. Returns: whether it was one. */
static bool
part_guest (TesseraKindSearch *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    if (search->hosts[k].like->digest == unit->digest &&
        search->hosts[k].host != TESSERA_NONE && search->n_apart < TESSERA_NARROWINGS)
      {
        search->apart[search->n_apart++] = unit->digest;
        return true;
      }
  return false;
}

/*
 * The window.
 */

/* A stretch without requests belongs to what comes before it. */
static void
add (TesseraKindSearch *search, uint32_t begin, uint32_t end, bool is_step)
{
  TesseraUnit *unit = &search->all[search->n_all];

  if (begin >= end)
    return;
  *unit = (TesseraUnit){ .begin = begin, .end = end, .is_step = is_step };
  unit->kind = TESSERA_NONE;
  tessera_unit_measure (search->units->trace, unit);
  if (unit->n_requests > 0 || search->n_all == 0)
    search->n_all++;
  else
    search->all[search->n_all - 1].end = end;
}

void
tessera_kind_window_init (TesseraKindSearch *search,
                          const TesseraStructure *structure,
                          uint32_t from,
                          uint32_t to)
{
  const TesseraStep *steps = structure->steps;

  search->all = g_new (TesseraUnit, 2 * (size_t) (to - from + 1) + 1);
  for (uint32_t k = from; k <= to; k++)
    {
      add (search, steps[k].begin_index, steps[k].end_index, true);
      if (k < to)
        add (search, steps[k].end_index, steps[k + 1].begin_index, false);
    }
  search->end = search->n_all;
}

/* The last unit that keeps something over a whole later one of its kind, and not for
 * good, or TESSERA_NONE; that one in *@out_later. */
static uint32_t
find_leak (const TesseraKindSearch *search, uint32_t *out_later)
{
  uint32_t later[TESSERA_MAX_KINDS]; /* the next unit of each kind */

  memset (later, 0xff, sizeof later);
  for (uint32_t i = search->end; i-- > search->first;)
    {
      const TesseraUnit *unit = &search->all[i];

      if (unit->kind == TESSERA_NONE)
        continue;
      *out_later = later[unit->kind];
      if (*out_later != TESSERA_NONE)
        {
          const TesseraHabitRange range = { unit->begin, unit->end,
                                            search->all[*out_later].end };

          if (tessera_habits_leak (&search->habits, &range))
            return i;
        }
      later[unit->kind] = i;
    }
  return TESSERA_NONE;
}

void
tessera_kind_window_narrow (TesseraKindSearch *search)
{
  const TesseraBlocks *blocks = search->units->blocks;
  bool has_blocks_before =
      blocks->n_blocks > 0 && (blocks->blocks[0].flags & TESSERA_AT_START) != 0;

  for (int i = 0; i < TESSERA_NARROWINGS; i++)
    {
      uint32_t first = search->first, end = search->end, leak, later;

      find_hosts (search);
      while (first < end && (search->all[first].kind == TESSERA_NONE ||
                             (search->all[first].begin == 0 && has_blocks_before)))
        first++;
      while (end > first && search->all[end - 1].kind == TESSERA_NONE)
        end--;
      leak = find_leak (search, &later);
      search->has_leaks = search->has_leaks || leak != TESSERA_NONE;
      if (leak != TESSERA_NONE && leak >= first &&
          (part_guest (search, &search->all[later]) ||
           part_guest (search, &search->all[leak])))
        continue;
      if (leak != TESSERA_NONE && leak >= first)
        first = leak + 1;
      if (first >= end)
        break;
      if (first == search->first && end == search->end)
        return;
      search->first = first;
      search->end = end;
    }
  search->first = search->end;
}

/*
 * Whether one unit's requests are among another's, in order: see private.h.
 */

#define MAX_LEFT_OUT 1024 /* here and there */

void
tessera_unit_tokens (const TesseraTrace *trace,
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

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Requests, requests_clear)

static void
requests_init (Requests *requests, const TesseraUnits *units, const TesseraUnit *of)
{
  const TesseraBlocks *blocks = units->blocks;
  uint32_t n = 0;

  *requests = (Requests){ .tokens = g_new (uint64_t, of->n_requests + 1u),
                          .crosses = g_new (bool, of->n_requests + 1u),
                          .n = of->n_requests };
  tessera_unit_tokens (units->trace, of->begin, of->end, requests->tokens);
  for (uint32_t e = of->begin; e < of->end; e++)
    if (tessera_unit_asks (&units->trace->events[e]))
      requests->crosses[n++] =
          blocks->blocks[blocks->block_of_event[e]].died_index >= of->end;
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

bool
tessera_embed (const TesseraUnits *units,
               const TesseraUnit *host,
               const TesseraUnit *guest,
               uint32_t *out_places)
{
  g_auto (Requests) of_host = { 0 }, of_guest = { 0 };
  g_autofree uint32_t *own_places = NULL;

  if (guest->n_requests > host->n_requests)
    return false;
  if (!out_places)
    out_places = own_places = g_new (uint32_t, guest->n_requests + 1);
  requests_init (&of_host, units, host);
  requests_init (&of_guest, units, guest);
  return leaves_out_a_stretch (&of_host, &of_guest, out_places) ||
         leaves_out_some (&of_host, &of_guest, out_places);
}
