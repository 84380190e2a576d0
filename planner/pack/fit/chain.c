/*
 * A chain of attempts. See chain.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/chain.h"

#include "planner/pack/random.h"

#include <stdlib.h>
#include <string.h>

/* The longest step forward of an item in trouble, as a part of all ranks. */
#define LONGEST_STEP 0.02

static const TesseraOrderKey first_orders[TESSERA_N_CHAINS][TESSERA_ORDER_MAX_KEYS] = {
  { TESSERA_BY_CONTENTION, TESSERA_BY_LIFE, TESSERA_BY_AREA },
  { TESSERA_BY_LIFE, TESSERA_BY_AREA },
  { TESSERA_BY_AREA },
  { TESSERA_BY_LOAD, TESSERA_BY_LIFE, TESSERA_BY_AREA },
  { TESSERA_BY_CONTENTION, TESSERA_BY_AREA, TESSERA_BY_LIFE },
  { TESSERA_BY_LOAD, TESSERA_BY_AREA, TESSERA_BY_LIFE },
  { TESSERA_BY_SIZE, TESSERA_BY_LIFE },
  { TESSERA_BY_LOAD, TESSERA_BY_SIZE, TESSERA_BY_LIFE },
};

TesseraStatus
tessera_chains_init (TesseraChain chains[TESSERA_N_CHAINS],
                     const TesseraPackProblem *problem,
                     TesseraOrderEntry *entries)
{
  for (uint32_t i = 0; i < TESSERA_N_CHAINS; i++)
    {
      chains[i].random_state = i;
      chains[i].n_settled = 0;
      chains[i].order = calloc (problem->n_items, sizeof *chains[i].order);
      if (chains[i].order == NULL)
        return TESSERA_NO_MEMORY;
      tessera_order_items (problem, first_orders[i], entries, chains[i].order);
    }
  return TESSERA_OK;
}

void
tessera_chains_clear (TesseraChain chains[TESSERA_N_CHAINS])
{
  for (uint32_t i = 0; i < TESSERA_N_CHAINS; i++)
    free (chains[i].order);
  memset (chains, 0, TESSERA_N_CHAINS * sizeof *chains);
}

/* Moves those that wait in @desk forward. */
static void
learn (TesseraChain *chain, TesseraDesk *desk)
{
  size_t n_items = desk->problem->n_items;
  for (size_t rank = 0; rank < n_items; rank++)
    desk->entries[rank] = (TesseraOrderEntry){
      .keys = { -(double) rank },
      .item = chain->order[rank],
      .source = (uint32_t) rank,
    };
  size_t n_parked = tessera_lowest_list_parked (&desk->lowest, desk->order);
  for (size_t i = 0; i < n_parked; i++)
    desk->entries[desk->order[i]].keys[0] +=
        tessera_random_fraction (&chain->random_state) * LONGEST_STEP * (double) n_items;
  tessera_order_entries (desk->entries, n_items, chain->order);
}

bool
tessera_chain_try (TesseraChain *chain,
                   TesseraDesk *desk,
                   uint64_t capacity_bytes,
                   uint32_t n_tries,
                   const TesseraPackWatch *watch,
                   uint64_t *out_height_bytes)
{
  size_t n_bytes = desk->problem->n_items * sizeof *desk->order;
  for (uint32_t i = 0; i < n_tries; i++)
    {
      memcpy (desk->order, chain->order, n_bytes);
      TesseraLowestEnd end =
          tessera_lowest_place (&desk->lowest, desk->order, capacity_bytes, false, watch,
                                desk->offsets, out_height_bytes);
      chain->n_settled += desk->lowest.n_settled;
      if (end != TESSERA_LOWEST_STUCK)
        return end == TESSERA_LOWEST_DONE;
      learn (chain, desk);
    }
  return false;
}
