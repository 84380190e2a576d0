/*
 * Made-up sharded training: ranges pass between three streams. See generate.h.
 *
 * Lives are made as a run would have them; then each range is closed to other owners
 * until its owner asks for something that is not larger. From the last moment to the
 * first, a stack for each owner holds the requests that may still be the first not larger
 * than something.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate/shards.h"

#include "planner/pack/random.h"

#include <stdlib.h>

#define KIB UINT64_C (1024)
#define N_LAYERS 32
#define N_KEPT 4
#define N_PASSING 24
#define N_OWNERS 3

enum
{
  COMPUTES,
  GATHERS,
  SCATTERS
};

typedef struct
{
  TesseraItem *items;
  uint32_t n_items, cap_items, now;
  uint64_t random_state;
  uint32_t kept[N_LAYERS][N_KEPT], shards[N_LAYERS];
  uint32_t gathered[2]; /* of this layer, of the next */
} Maker;

static uint32_t
make (Maker *maker, uint32_t owner, uint64_t size_kib)
{
  if (maker->n_items == maker->cap_items)
    return UINT32_MAX;
  maker->items[maker->n_items] = (TesseraItem){
    .size_bytes = size_kib * KIB, .begin = maker->now++, .end = UINT32_MAX, .owner = owner
  };
  return maker->n_items++;
}

static void
end_item (Maker *maker, uint32_t *item)
{
  if (*item != UINT32_MAX)
    maker->items[*item].end = maker->now++;
  *item = UINT32_MAX;
}

static uint64_t
draw (Maker *maker, uint64_t least, uint64_t most)
{
  double drawn = tessera_random_fraction (&maker->random_state);
  return least + (uint64_t) (drawn * drawn * (double) (most - least));
}

/* The parameters of a layer are gathered one layer ahead. */
static void
gather (Maker *maker)
{
  end_item (maker, &maker->gathered[0]);
  maker->gathered[0] = maker->gathered[1];
  maker->gathered[1] = make (maker, GATHERS, 404736);
}

static void
pass_by (Maker *maker)
{
  uint32_t last = UINT32_MAX;
  for (uint32_t i = 0; i < N_PASSING; i++)
    {
      uint32_t item = make (maker, COMPUTES, draw (maker, 1024, 131072));
      end_item (maker, &last);
      last = item;
    }
  end_item (maker, &last);
}

static void
do_step (Maker *maker)
{
  gather (maker);
  for (uint32_t l = 0; l < N_LAYERS; l++)
    {
      gather (maker);
      for (uint32_t k = 0; k < N_KEPT; k++)
        maker->kept[l][k] = make (maker, COMPUTES, draw (maker, 8192, 65536));
      pass_by (maker);
    }
  for (uint32_t l = N_LAYERS; l-- > 0;)
    {
      uint32_t whole = make (maker, COMPUTES, 404736);
      gather (maker);
      pass_by (maker);
      maker->shards[l] = make (maker, SCATTERS, 25344);
      end_item (maker, &whole);
      for (uint32_t k = 0; k < N_KEPT; k++)
        end_item (maker, &maker->kept[l][k]);
    }
  for (uint32_t l = 0; l < N_LAYERS; l++)
    end_item (maker, &maker->shards[l]);
}

typedef struct
{
  uint32_t at, item;
  bool is_end;
} Moment;

static int
from_last (const void *a, const void *b)
{
  const Moment *x = a, *y = b;
  return x->at > y->at ? -1 : x->at < y->at;
}

static void
close_ranges (Maker *maker, Moment *moments, uint32_t *stacks)
{
  uint32_t n_stack[N_OWNERS] = { 0 };
  TesseraItem *items = maker->items;
  for (uint32_t i = 0; i < maker->n_items; i++)
    {
      moments[2 * i] = (Moment){ items[i].begin, i, false };
      moments[2 * i + 1] = (Moment){ items[i].end, i, true };
    }
  qsort (moments, (size_t) maker->n_items * 2, sizeof *moments, from_last);
  for (uint32_t m = 0; m < maker->n_items * 2; m++)
    {
      TesseraItem *item = &items[moments[m].item];
      uint32_t *stack = stacks + (size_t) item->owner * maker->n_items;
      uint32_t *n = &n_stack[item->owner], low = 0, high = *n;
      if (!moments[m].is_end)
        {
          while (*n > 0 && items[stack[*n - 1]].size_bytes >= item->size_bytes)
            --*n;
          stack[(*n)++] = moments[m].item;
          continue;
        }
      while (low < high)
        {
          uint32_t middle = low + (high - low) / 2;
          if (items[stack[middle]].size_bytes <= item->size_bytes)
            low = middle + 1;
          else
            high = middle;
        }
      item->wide_begin = item->begin;
      item->wide_end = low > 0 ? items[stack[low - 1]].begin : maker->now;
    }
}

TesseraStatus
tessera_generate_shards (uint64_t seed, TesseraItem *items, uint32_t n_items)
{
  Maker maker = { .items = items, .cap_items = n_items, .random_state = seed };
  Moment *moments = malloc ((size_t) n_items * 2 * sizeof *moments);
  uint32_t *stacks = malloc ((size_t) n_items * N_OWNERS * sizeof *stacks);
  TesseraStatus status = TESSERA_NO_MEMORY;
  maker.gathered[0] = maker.gathered[1] = UINT32_MAX;
  if (moments != NULL && stacks != NULL)
    {
      /* Parameters, and what the optimizer keeps of them. */
      for (uint32_t i = 0; i < 3 * N_LAYERS; i++)
        make (&maker, COMPUTES, 25344);
      while (maker.n_items < n_items)
        do_step (&maker);
      for (uint32_t i = 0; i < n_items; i++)
        if (items[i].end == UINT32_MAX)
          items[i].end = maker.now;
      close_ranges (&maker, moments, stacks);
      status = TESSERA_OK;
    }
  free (moments);
  free (stacks);
  return status;
}
