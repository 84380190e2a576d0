/*
 * Which ranges pass from one stream to another: for each slot, every slot of another
 * stream that was the last before it to occupy some of its range. The repeating step is
 * gone through twice, since its first slots follow its last.
 *
 * The pool is cut at all offsets and ends; a bitmap says at which cuts a piece begins,
 * and each piece knows its last occupant. A birth makes one piece of what it covers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  TesseraPlan *plan;
  uint64_t *cuts; /* ascending, distinct */
  size_t n_cuts;
  uint64_t *begins;     /* bitmap: a piece begins at the cut */
  uint32_t *occupant;   /* of the piece that begins there, or TESSERA_NONE */
  uint32_t *low, *high; /* [n_slots]: cuts of the range */
  size_t cap_pairs;
} Pool;

static int
by_number (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static int
by_pair (const void *a, const void *b)
{
  const TesseraHandOver *x = a, *y = b;

  if (x->from_slot != y->from_slot)
    return x->from_slot < y->from_slot ? -1 : 1;
  return x->to_slot < y->to_slot ? -1 : x->to_slot > y->to_slot;
}

static uint32_t
cut_of (const Pool *pool, uint64_t bytes)
{
  size_t low = 0, high = pool->n_cuts;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (pool->cuts[middle] < bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

static TesseraStatus
pool_init (Pool *pool, TesseraPlan *plan)
{
  size_t n = plan->n_slots;

  pool->plan = plan;
  pool->cuts = malloc ((2 * n + 1) * sizeof *pool->cuts);
  pool->begins = calloc (2 * n / 64 + 2, sizeof *pool->begins);
  pool->occupant = malloc ((2 * n + 1) * sizeof *pool->occupant);
  pool->low = malloc ((2 * n + 1) * sizeof *pool->low);
  if (!pool->cuts || !pool->begins || !pool->occupant || !pool->low)
    return TESSERA_NO_MEMORY;
  pool->high = pool->low + n;
  pool->cuts[0] = 0; /* so that every address lies in a piece */
  for (size_t i = 0; i < n; i++)
    {
      pool->cuts[2 * i] = plan->slots[i].offset_bytes;
      pool->cuts[2 * i + 1] = plan->slots[i].offset_bytes + plan->slots[i].block_bytes;
    }
  qsort (pool->cuts, 2 * n, sizeof *pool->cuts, by_number);
  for (size_t i = 0; i < 2 * n; i++)
    if (pool->n_cuts == 0 || pool->cuts[i] != pool->cuts[pool->n_cuts - 1])
      pool->cuts[pool->n_cuts++] = pool->cuts[i];
  for (size_t i = 0; i < n; i++)
    {
      pool->low[i] = cut_of (pool, plan->slots[i].offset_bytes);
      pool->high[i] =
          cut_of (pool, plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
    }
  pool->begins[0] = 1;
  pool->occupant[0] = TESSERA_NONE;
  return TESSERA_OK;
}

/* The piece that holds cut @at. */
static uint32_t
piece_at (const Pool *pool, uint32_t at)
{
  size_t word = at / 64;
  uint64_t bits = pool->begins[word] & (UINT64_MAX >> (63 - at % 64));

  while (bits == 0)
    bits = pool->begins[--word];
  return (uint32_t) (word * 64 + 63 - (unsigned) __builtin_clzll (bits));
}

static uint32_t
piece_after (const Pool *pool, uint32_t at)
{
  size_t word = (at + 1) / 64, n_words = pool->n_cuts / 64 + 1;
  uint64_t bits = pool->begins[word] & (UINT64_MAX << ((at + 1) % 64));

  while (bits == 0 && ++word < n_words)
    bits = pool->begins[word];
  return bits ? (uint32_t) (word * 64 + (unsigned) __builtin_ctzll (bits)) : UINT32_MAX;
}

static void
split (Pool *pool, uint32_t at)
{
  pool->occupant[at] = pool->occupant[piece_at (pool, at)];
  pool->begins[at / 64] |= UINT64_C (1) << (at % 64);
}

static TesseraStatus
add_pair (Pool *pool, uint32_t from, uint32_t to)
{
  TesseraPlan *plan = pool->plan;

  if (plan->n_hand_overs == pool->cap_pairs)
    {
      size_t cap = pool->cap_pairs ? 2 * pool->cap_pairs : 256;
      TesseraHandOver *more = realloc (plan->hand_overs, cap * sizeof *more);

      if (!more)
        return TESSERA_NO_MEMORY;
      plan->hand_overs = more;
      pool->cap_pairs = cap;
    }
  plan->hand_overs[plan->n_hand_overs++] =
      (TesseraHandOver){ .from_slot = from,
                         .to_slot = to,
                         .event_slot = TESSERA_NONE,
                         .slack_ns = TESSERA_NO_SLACK,
                         .slack_requests = TESSERA_NO_SLACK };
  return TESSERA_OK;
}

static TesseraStatus
occupy (Pool *pool, uint32_t to)
{
  const TesseraSlot *slots = pool->plan->slots;
  uint32_t low = pool->low[to], high = pool->high[to];

  split (pool, low);
  split (pool, high);
  for (uint32_t at = low; at < high; at = piece_after (pool, at))
    {
      uint32_t from = pool->occupant[at];

      if (from != TESSERA_NONE && slots[from].stream != slots[to].stream &&
          add_pair (pool, from, to) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      if (at != low)
        pool->begins[at / 64] &= ~(UINT64_C (1) << (at % 64));
    }
  pool->occupant[low] = to;
  return TESSERA_OK;
}

static void
drop_doubles (TesseraPlan *plan)
{
  size_t n = 0;

  if (plan->n_hand_overs)
    qsort (plan->hand_overs, plan->n_hand_overs, sizeof (TesseraHandOver), by_pair);
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    if (n == 0 || by_pair (&plan->hand_overs[i], &plan->hand_overs[n - 1]) != 0)
      plan->hand_overs[n++] = plan->hand_overs[i];
  plan->n_hand_overs = n;
}

TesseraStatus
tessera_build_hand_overs (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  Pool pool = { 0 };
  TesseraStatus status = pool_init (&pool, plan);

  for (size_t s = 0; s < plan->n_sections; s++)
    for (int pass = 0; pass < (plan->sections[s].kind == TESSERA_SECTION_REPEATS ? 2 : 1);
         pass++)
      for (uint32_t i = 0; i < plan->sections[s].n_slots && status == TESSERA_OK; i++)
        status = occupy (&pool, plan->sections[s].first_slot + i);
  drop_doubles (plan);
  free (pool.cuts);
  free (pool.begins);
  free (pool.occupant);
  free (pool.low);
  return status;
}
