/*
 * From when on a range may pass to another owner. See opens.h.
 *
 * Requests and ends of each owner are walked from the last to the first. A stack holds
 * the requests that may still be the first not larger than something: below each lies a
 * later and smaller one. An end looks its first one up by halving: O(n log n) in all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/opens.h"

#include <stdlib.h>

typedef struct
{
  uint64_t owner, block_bytes;
  uint32_t at;
  uint32_t stay; /* whose end it is; TESSERA_NONE: a request */
} Moment;

static int
from_last (const void *a, const void *b)
{
  const Moment *x = a, *y = b;
  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  if (x->at != y->at)
    return x->at > y->at ? -1 : 1;
  /* A request at the moment of an end comes after it. */
  if ((x->stay == TESSERA_NONE) != (y->stay == TESSERA_NONE))
    return x->stay == TESSERA_NONE ? -1 : 1;
  return x->stay < y->stay ? -1 : x->stay > y->stay;
}

uint64_t
tessera_opens_owner (const TesseraSlot *slot)
{
  uint64_t is_small = slot->block_bytes <= UINT64_C (1048576);
  return ((uint64_t) slot->stream * 65536 + slot->pool) * 2 + is_small;
}

static bool
is_repeated (const TesseraOpens *opens, const TesseraSlot *slot)
{
  return slot->born >= opens->repeat_begin && slot->born < opens->repeat_end;
}

static uint32_t
moved (const TesseraOpens *opens, uint32_t position)
{
  return position + (opens->repeat_end - opens->repeat_begin);
}

uint32_t
tessera_opens_born (const TesseraOpens *opens, const TesseraSlot *slot, int pass)
{
  bool is_first = pass == 0 && slot->born < opens->repeat_end;
  return is_first ? slot->born : moved (opens, slot->born);
}

static uint32_t
died (const TesseraOpens *opens, const TesseraSlot *slot, int pass)
{
  uint32_t end = opens->repeat_end;
  if (!is_repeated (opens, slot))
    return slot->died > end ? moved (opens, slot->died) : slot->died;
  if (pass == 1)
    return moved (opens, slot->died);
  if (slot->wraps)
    return moved (opens, slot->died_next);
  return slot->died < end ? slot->died : end;
}

static int
by_place (const void *a, const void *b)
{
  const TesseraSlot *const *x = a, *const *y = b;
  if ((*x)->offset_bytes != (*y)->offset_bytes)
    return (*x)->offset_bytes < (*y)->offset_bytes ? -1 : 1;
  if ((*x)->block_bytes != (*y)->block_bytes)
    return (*x)->block_bytes < (*y)->block_bytes ? -1 : 1;
  uint64_t left = tessera_opens_owner (*x), right = tessera_opens_owner (*y);
  return left < right ? -1 : left > right;
}

/* A block of the start that ends where the section that repeats begins may live on there,
 * as long as the block of the step before would in its place (db/plan.h). */
static uint32_t
died_at_start (const TesseraOpens *opens,
               const TesseraSlot *slot,
               const TesseraSlot **wrapping,
               size_t n_wrapping)
{
  if (slot->died != opens->repeat_begin || slot->born >= slot->died ||
      opens->repeat_begin == opens->repeat_end)
    return died (opens, slot, 0);
  const TesseraSlot **other =
      bsearch (&slot, wrapping, n_wrapping, sizeof *wrapping, by_place);
  return other != NULL ? (*other)->died_next : slot->died;
}

static size_t
list_moments (const TesseraOpens *opens,
              const TesseraPlan *plan,
              const TesseraSlot **wrapping,
              Moment *moments)
{
  size_t n = 0, n_wrapping = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].wraps)
      wrapping[n_wrapping++] = &plan->slots[i];
  qsort (wrapping, n_wrapping, sizeof *wrapping, by_place);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      Moment moment = { tessera_opens_owner (slot), slot->block_bytes, 0, TESSERA_NONE };
      for (int pass = 0; pass < (is_repeated (opens, slot) ? 2 : 1); pass++)
        {
          moment.at = tessera_opens_born (opens, slot, pass);
          moment.stay = TESSERA_NONE;
          if (slot->ordinal != TESSERA_NONE)
            moments[n++] = moment;
          moment.stay = i * 2 + (uint32_t) pass;
          moment.at = is_repeated (opens, slot)
                          ? died (opens, slot, pass)
                          : died_at_start (opens, slot, wrapping, n_wrapping);
          moments[n++] = moment;
        }
    }
  return n;
}

/* @stack: requests of one owner, the last first, each smaller than the next. */
static uint32_t
first_fitting (const Moment *moments,
               const uint32_t *stack,
               size_t n_stack,
               uint64_t block_bytes)
{
  size_t low = 0, high = n_stack; /* those that fit lie below */
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (moments[stack[middle]].block_bytes <= block_bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return low > 0 ? moments[stack[low - 1]].at : TESSERA_NEVER_OPEN;
}

static void
walk (const Moment *moments, size_t n_moments, uint32_t *stack, uint32_t *out_opens)
{
  size_t n_stack = 0;
  for (size_t i = 0; i < n_moments; i++)
    {
      const Moment *moment = &moments[i];
      if (i == 0 || moment->owner != moments[i - 1].owner)
        n_stack = 0;
      if (moment->stay != TESSERA_NONE)
        {
          out_opens[moment->stay] =
              first_fitting (moments, stack, n_stack, moment->block_bytes);
          continue;
        }
      while (n_stack > 0 &&
             moments[stack[n_stack - 1]].block_bytes >= moment->block_bytes)
        n_stack--;
      stack[n_stack++] = (uint32_t) i;
    }
}

TesseraStatus
tessera_opens_init (TesseraOpens *opens, const TesseraPlan *plan)
{
  size_t n_moments = plan->n_slots * 4;
  *opens = (TesseraOpens){ 0 };
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind == TESSERA_SECTION_REPEATS)
      {
        opens->repeat_begin = plan->sections[i].begin;
        opens->repeat_end = plan->sections[i].end;
      }
  opens->opens = calloc (plan->n_slots * 2 + 1, sizeof *opens->opens);
  Moment *moments = calloc (n_moments + 1, sizeof *moments);
  uint32_t *stack = calloc (n_moments + 1, sizeof *stack);
  const TesseraSlot **wrapping = calloc (plan->n_slots + 1, sizeof *wrapping);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (opens->opens != NULL && moments != NULL && stack != NULL && wrapping != NULL)
    {
      n_moments = list_moments (opens, plan, wrapping, moments);
      qsort (moments, n_moments, sizeof *moments, from_last);
      walk (moments, n_moments, stack, opens->opens);
      status = TESSERA_OK;
    }
  else
    tessera_opens_clear (opens);
  free (moments);
  free (stack);
  free (wrapping);
  return status;
}

void
tessera_opens_clear (TesseraOpens *opens)
{
  free (opens->opens);
  *opens = (TesseraOpens){ 0 };
}
