/*
 * Which units are of one kind: see search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/search.h"

#include <stdlib.h>

enum
{
  LEAST_UNITS = 2, /* of a kind */
  GUEST_SHARE = 2  /* a guest has one of so many of its host's requests at least */
};

static int
compare_hosts (const void *a, const void *b)
{
  const TesseraKindHost *x = a, *y = b;

  if (x->n_requests != y->n_requests)
    return x->n_requests > y->n_requests ? -1 : 1;
  return (x->unit > y->unit) - (x->unit < y->unit);
}

/* One host for each sequence of requests in the window, the longest first. */
static TesseraStatus
list_hosts (TesseraKindSearch *search)
{
  TesseraKindHost *hosts =
      realloc (search->hosts, (search->n_all + 1) * sizeof *search->hosts);

  if (!hosts)
    return TESSERA_NO_MEMORY;
  search->hosts = hosts;
  search->n_hosts = 0;
  for (uint32_t i = search->first; i < search->end; i++)
    {
      const TesseraUnit *unit = &search->all[i];
      uint32_t k = 0;

      while (k < search->n_hosts &&
             (hosts[k].digest != unit->digest || hosts[k].n_requests != unit->n_requests))
        k++;
      if (k == search->n_hosts)
        hosts[search->n_hosts++] = (TesseraKindHost){ .digest = unit->digest,
                                                      .n_requests = unit->n_requests,
                                                      .begin = unit->begin,
                                                      .end = unit->end,
                                                      .unit = i,
                                                      .host = TESSERA_NONE };
      hosts[k].n_alike++;
      hosts[k].n_units++;
    }
  qsort (hosts, search->n_hosts, sizeof *hosts, compare_hosts);
  return TESSERA_OK;
}

static bool
is_apart (const TesseraKindSearch *search, const TesseraKindHost *guest)
{
  for (uint32_t i = 0; i < search->n_apart; i++)
    if (search->apart[i] == guest->digest)
      return true;
  return false;
}

/* Guests go to the shortest host that has all of their requests in order. */
static TesseraStatus
find_guests (TesseraKindSearch *search)
{
  for (uint32_t g = 0; g < search->n_hosts; g++)
    for (uint32_t h = g; h-- > 0 && search->hosts[g].host == TESSERA_NONE;)
      {
        TesseraKindHost *guest = &search->hosts[g], *host = &search->hosts[h];
        bool fits = false;
        TesseraStatus status = TESSERA_OK;

        if (host->host == TESSERA_NONE && host->n_alike >= LEAST_UNITS &&
            !is_apart (search, guest) &&
            guest->n_requests >= host->n_requests / GUEST_SHARE)
          status = tessera_embed (search->units->trace, search->units->blocks, host,
                                  guest, NULL, &fits);
        if (status != TESSERA_OK)
          return status;
        if (fits)
          {
            guest->host = h;
            host->n_units += guest->n_units;
          }
      }
  return TESSERA_OK;
}

static TesseraKindHost *
host_of (const TesseraKindSearch *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    {
      TesseraKindHost *host = &search->hosts[k];

      if (host->digest == unit->digest && host->n_requests == unit->n_requests)
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
          (least == NULL || (uint64_t) host->n_units * host->n_requests <
                                (uint64_t) least->n_units * least->n_requests))
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

      if (host->is_common && host->unit == i)
        {
          units->kinds[units->n_kinds] =
              (TesseraStepKind){ .unit = i, .n_requests = host->n_requests };
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

TesseraStatus
tessera_kind_hosts_find (TesseraKindSearch *search)
{
  TesseraStatus status = list_hosts (search);

  if (status == TESSERA_OK)
    status = find_guests (search);
  if (status == TESSERA_OK)
    number_kinds (search);
  return status;
}

bool
tessera_kind_hosts_part (TesseraKindSearch *search, const TesseraUnit *unit)
{
  for (uint32_t k = 0; k < search->n_hosts; k++)
    if (search->hosts[k].digest == unit->digest &&
        search->hosts[k].host != TESSERA_NONE && search->n_apart < TESSERA_NARROWINGS)
      {
        search->apart[search->n_apart++] = unit->digest;
        return true;
      }
  return false;
}
