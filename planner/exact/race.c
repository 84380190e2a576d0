/*
 * A core, searched by several rules and orders in turn. See race.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/race.h"

#include <stdlib.h>
#include <string.h>

/* Decisions that every combination gets in the first round, and times the items of the
 * core if that is more. Later rounds get more by a quarter each. */
#define FIRST_SHARE 2000
#define FIRST_SHARE_OF_ITEMS 4

typedef enum
{
  ORDER_LOAD_WIDTH, /* largest load of its life, then sections, then size */
  ORDER_AREA,       /* size x sections */
  ORDER_WIDTH,      /* sections, then size */
  ORDER_LOAD_AREA,  /* largest load of its life, then area */
  N_ORDERS
} Order;

#define N_WAYS (N_ORDERS * TESSERA_N_VALLEY_RULES)

typedef struct
{
  double keys[3]; /* descending */
  uint32_t item;
} Entry;

static int
compare_entries (const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  for (int k = 0; k < 3; k++)
    if (x->keys[k] != y->keys[k])
      return x->keys[k] > y->keys[k] ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* splitmix64; 0 <= result < 1. */
static double
random_fraction (uint64_t *state)
{
  uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return (double) ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static uint64_t
largest_load (const TesseraCore *core, const TesseraCoreItem *item)
{
  uint64_t largest = 0;
  for (uint32_t s = item->begin; s < item->end; s++)
    largest = core->load[s] > largest ? core->load[s] : largest;
  for (uint32_t s = item->begin2; s < item->end2; s++)
    largest = core->load[s] > largest ? core->load[s] : largest;
  return largest;
}

static void
fill_entry (const TesseraCore *core, uint32_t item, Order order, Entry *entry)
{
  const TesseraCoreItem *it = &core->items[item];
  double size = (double) it->size;
  double width = (double) (it->end - it->begin) + (double) (it->end2 - it->begin2);
  double load = (double) largest_load (core, it);
  const double keys[N_ORDERS][3] = {
    { load, width, size },
    { size * width, size, 0 },
    { width, size, 0 },
    { load, size * width, 0 },
  };
  memcpy (entry->keys, keys[order], sizeof entry->keys);
  entry->item = item;
}

/* @shaking: the largest part of its first key that an item may win or lose by chance. */
static void
make_ranks (const TesseraCore *core,
            Order order,
            double shaking,
            uint64_t *random_state,
            Entry *entries,
            uint32_t *ranks)
{
  for (uint32_t i = 0; i < core->n_items; i++)
    {
      fill_entry (core, i, order, &entries[i]);
      if (shaking > 0)
        entries[i].keys[0] *= 1 + shaking * (2 * random_fraction (random_state) - 1);
    }
  qsort (entries, core->n_items, sizeof *entries, compare_entries);
  for (uint32_t k = 0; k < core->n_items; k++)
    ranks[entries[k].item] = k;
}

/* Rounds of walks until one has the answer or the budget is spent. */
static TesseraStatus
run_rounds (TesseraDescent *descent,
            Entry *entries,
            uint32_t *ranks,
            uint64_t work_budget,
            uint32_t turn,
            TesseraExactResult *result)
{
  static const double shakings[] = { 0.1, 0.4 };
  TesseraExactState *state = descent->state;
  uint64_t random_state = turn;
  uint64_t share = (uint64_t) state->core->n_items * FIRST_SHARE_OF_ITEMS;
  share = share > FIRST_SHARE ? share : FIRST_SHARE;
  TesseraStatus status = TESSERA_OK;
  for (uint32_t round = 0; status == TESSERA_OK && state->work < work_budget; round++)
    {
      for (uint32_t i = 0; i < N_WAYS; i++)
        {
          uint32_t k = (i + turn) % N_WAYS;
          TesseraValleyRule rule = k % TESSERA_N_VALLEY_RULES;
          Order order = (k + k / TESSERA_N_VALLEY_RULES) % N_ORDERS;
          make_ranks (state->core, order, round == 0 ? 0 : shakings[round % 2],
                      &random_state, entries, ranks);
          status = tessera_descent_walk (descent, rule, share, &result->answer);
          result->n_restarts++;
          if (status != TESSERA_OK || result->answer != TESSERA_EXACT_UNKNOWN)
            return status;
          if (state->work >= work_budget)
            break;
        }
      share += share / 4;
    }
  return status;
}

TesseraStatus
tessera_exact_race (const TesseraCore *core,
                    const TesseraExactOptions *options,
                    uint64_t work_budget,
                    uint64_t *floors,
                    TesseraExactResult *result)
{
  TesseraExactState state;
  TesseraMemo memo = { 0 };
  TesseraDescent descent = { .state = &state,
                             .progress = options->progress,
                             .work_budget = work_budget };
  bool has_memo = !(options->without & TESSERA_EXACT_NO_MEMO);
  TesseraStatus status = tessera_exact_state_init (&state, core, options->without);
  if (status != TESSERA_OK)
    return status;
  status = TESSERA_NO_MEMORY;
  Entry *entries = calloc (core->n_items, sizeof *entries);
  uint32_t *ranks = calloc (core->n_items, sizeof *ranks);
  descent.ranks = ranks;
  if (entries == NULL || ranks == NULL ||
      (has_memo && tessera_memo_init (&memo) != TESSERA_OK) ||
      tessera_descent_init (&descent) != TESSERA_OK)
    goto out;
  descent.memo = has_memo ? &memo : NULL;
  status = TESSERA_OK;
  result->answer = TESSERA_EXACT_UNKNOWN;
  if (tessera_exact_state_start (&state))
    status = run_rounds (&descent, entries, ranks, work_budget, options->turn, result);
  else if (state.no_memory)
    status = TESSERA_NO_MEMORY;
  else
    result->answer = TESSERA_EXACT_IMPOSSIBLE;
  if (status == TESSERA_OK && result->answer == TESSERA_EXACT_FITS)
    memcpy (floors, state.floors, core->n_items * sizeof *floors);
  result->n_decisions += descent.n_decisions;
  result->work += state.work;
out:
  tessera_descent_clear (&descent);
  tessera_memo_clear (&memo);
  tessera_exact_state_clear (&state);
  free (entries);
  free (ranks);
  return status;
}
