/*
 * What expandable segments reserve for the trace that a plan for every length is made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/caching.h"
#include "allocator/virtual.h"
#include "planner/lengths/build.h"

typedef struct
{
  const TesseraBlocks *blocks;
  TesseraCaching *caching;
  uint64_t *addr;       /* [n_blocks] 0: it is not there */
  uint32_t *first_died; /* [n_events + 1] block, or TESSERA_NONE */
  uint32_t *next_died;  /* [n_blocks] at the same event */
} Online;

static void
list_deaths (Online *online)
{
  const TesseraBlocks *blocks = online->blocks;

  for (uint32_t i = 0; i <= blocks->n_events; i++)
    online->first_died[i] = TESSERA_NONE;
  for (size_t i = blocks->n_blocks; i > 0; i--)
    {
      uint32_t died = blocks->blocks[i - 1].died_index;

      if (died > blocks->n_events)
        continue;
      online->next_died[i - 1] = online->first_died[died];
      online->first_died[died] = (uint32_t) (i - 1);
    }
}

static void
free_at (Online *online, uint32_t event)
{
  for (uint32_t i = online->first_died[event]; i != TESSERA_NONE;
       i = online->next_died[i])
    if (online->addr[i] != 0)
      {
        (void) tessera_caching_free_requested (online->caching, online->addr[i]);
        (void) tessera_caching_free_completed (online->caching, online->addr[i]);
      }
}

static TesseraStatus
run (Online *online)
{
  const TesseraBlocks *blocks = online->blocks;
  uint32_t event = 0;

  list_deaths (online);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      TesseraGrant grant;
      TesseraStatus status;

      for (; event <= block->born_index && event <= blocks->n_events; event++)
        free_at (online, event);
      if (block->size_bytes == 0)
        continue;
      status = tessera_caching_malloc (online->caching, block->size_bytes, block->stream,
                                       block->pool, &grant);
      if (status != TESSERA_OK)
        return status;
      online->addr[i] = grant.addr;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_lengths_online (const TesseraLengthsBuild *build, uint64_t *out_bytes)
{
  const TesseraBlocks *blocks = build->blocks;
  TesseraCachingOptions options = { .settings = build->trace->settings };
  TesseraVirtual device;
  Online online = {
    .blocks = blocks,
    .addr = calloc (blocks->n_blocks + 1, sizeof *online.addr),
    .first_died = malloc (((size_t) blocks->n_events + 1) * sizeof *online.first_died),
    .next_died = malloc ((blocks->n_blocks + 1) * sizeof *online.next_died)
  };
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_bytes = 0;
  options.settings.is_expandable = true;
  tessera_virtual_init (&device, 0);
  if (online.addr && online.first_died && online.next_died)
    status = tessera_caching_new (&options, &device.device, NULL, &online.caching);
  if (status == TESSERA_OK)
    {
      status = run (&online);
      *out_bytes = tessera_caching_stats (online.caching)->peak_reserved_bytes;
      tessera_caching_free (online.caching);
    }
  free (online.addr);
  free (online.first_died);
  free (online.next_died);
  return status;
}
