/*
 * How long a range stays closed: see plan-closing.h.
 *
 * "The owner's first request from here on of at most this size" is asked of a tree of
 * minima over the requests, sorted by owner and position: O(log n) each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/closing.h"

#include <stdlib.h>

typedef struct
{
  uint64_t owner;
  uint64_t block_bytes;
  uint32_t at; /* unrolled */
  uint32_t slot;
} Birth;

struct TesseraClosing
{
  const TesseraPlanBuild *build;
  Birth *births; /* by owner, then position */
  size_t n_births;
  uint64_t *least; /* [2 * n_leaves]: tree of minima of block_bytes */
  size_t n_leaves;
  uint32_t period; /* length of the repeating step */
  uint32_t end;    /* of the unrolled run */
};

static int
by_owner (const void *a, const void *b)
{
  const Birth *x = a, *y = b;

  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static bool
is_of_step (const TesseraClosing *closing, const TesseraSlot *slot)
{
  const TesseraRun *run = &closing->build->run;

  return slot->born >= run->step_begin && slot->born < run->step_end;
}

/* From the end of the step on, the second step comes in between. */
static uint32_t
unroll (const TesseraClosing *closing, uint32_t position)
{
  return position >= closing->build->run.step_end ? position + closing->period : position;
}

static void
list_births (TesseraClosing *closing)
{
  const TesseraPlan *plan = closing->build->plan;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      bool is_of = is_of_step (closing, slot);
      Birth birth = { tessera_slot_owner (slot), slot->block_bytes,
                      is_of ? slot->born : unroll (closing, slot->born), (uint32_t) i };

      if (slot->ordinal == TESSERA_NONE)
        continue;
      closing->births[closing->n_births++] = birth;
      birth.at += closing->period;
      if (is_of)
        closing->births[closing->n_births++] = birth;
    }
  qsort (closing->births, closing->n_births, sizeof (Birth), by_owner);
}

TesseraStatus
tessera_closing_new (const TesseraPlanBuild *build, TesseraClosing **out_closing)
{
  TesseraClosing *closing = calloc (1, sizeof *closing);

  *out_closing = NULL;
  if (!closing)
    return TESSERA_NO_MEMORY;
  closing->build = build;
  closing->period = build->run.step_end - build->run.step_begin;
  closing->end = build->run.n_positions + closing->period;
  closing->births = malloc ((2 * build->plan->n_slots + 1) * sizeof *closing->births);
  for (closing->n_leaves = 1; closing->n_leaves < 2 * build->plan->n_slots + 1;)
    closing->n_leaves *= 2;
  closing->least = malloc (2 * closing->n_leaves * sizeof *closing->least);
  if (!closing->births || !closing->least)
    {
      tessera_closing_free (closing);
      return TESSERA_NO_MEMORY;
    }
  list_births (closing);
  for (size_t i = 0; i < closing->n_leaves; i++)
    closing->least[closing->n_leaves + i] =
        i < closing->n_births ? closing->births[i].block_bytes : UINT64_MAX;
  for (size_t i = closing->n_leaves - 1; i > 0; i--)
    closing->least[i] = closing->least[2 * i] < closing->least[2 * i + 1]
                            ? closing->least[2 * i]
                            : closing->least[2 * i + 1];
  *out_closing = closing;
  return TESSERA_OK;
}

void
tessera_closing_free (TesseraClosing *closing)
{
  if (!closing)
    return;
  free (closing->births);
  free (closing->least);
  free (closing);
}

/* The first birth of the owner at or after @at; n_births: none in the array. */
static size_t
first_from (const TesseraClosing *closing, uint64_t owner, uint32_t at)
{
  size_t low = 0, high = closing->n_births;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const Birth *birth = &closing->births[middle];

      if (birth->owner < owner || (birth->owner == owner && birth->at < at))
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* The first birth from index @from on of at most @block_bytes. */
static size_t
first_small (const TesseraClosing *closing, size_t from, uint64_t block_bytes)
{
  size_t node = closing->n_leaves + from;

  while (closing->least[node] > block_bytes)
    {
      while (node & 1)
        {
          node >>= 1;
          if (node == 0)
            return closing->n_births;
        }
      node++;
    }
  while (node < closing->n_leaves)
    node = closing->least[2 * node] <= block_bytes ? 2 * node : 2 * node + 1;
  return node - closing->n_leaves;
}

/* Where a range that its block left at stay->died opens to others. */
static void
find_event (const TesseraClosing *closing,
            const TesseraSlot *slot,
            TesseraOccupancy *stay)
{
  uint64_t owner = tessera_slot_owner (slot);
  size_t birth = first_from (closing, owner, stay->died);

  stay->event = stay->opens = closing->end;
  stay->event_slot = TESSERA_NONE;
  if (birth < closing->n_births)
    birth = first_small (closing, birth, slot->block_bytes);
  if (birth >= closing->n_births || closing->births[birth].owner != owner)
    return;
  stay->event = stay->opens = closing->births[birth].at;
  stay->event_slot = closing->births[birth].slot;
  if (slot->block_bytes < closing->build->options->waits_from_bytes)
    stay->opens = tessera_plan_clock_slack_after (&closing->build->clock, stay->event);
}

bool
tessera_closing_stay (const TesseraClosing *closing,
                      uint32_t index,
                      int pass,
                      TesseraOccupancy *out_stay)
{
  const TesseraSlot *slot = &closing->build->plan->slots[index];
  uint32_t step_end = closing->build->run.step_end;
  bool is_of = is_of_step (closing, slot);

  if (pass == 1 && !is_of)
    return false;
  out_stay->born = is_of ? slot->born : unroll (closing, slot->born);
  if (!is_of)
    out_stay->died = slot->died == step_end ? step_end : unroll (closing, slot->died);
  else if (pass == 1)
    {
      out_stay->born += closing->period;
      out_stay->died = slot->died + closing->period;
    }
  else if (slot->wraps)
    out_stay->died = slot->died_next + closing->period;
  else
    out_stay->died = slot->died < step_end ? slot->died : step_end;
  /* Alive at the end of the run: nobody comes after it. */
  find_event (closing, slot, out_stay);
  if (slot->died == closing->build->run.n_positions && (pass == 1 || !is_of))
    out_stay->opens = closing->end;
  return true;
}

void
tessera_closing_prolong (const TesseraClosing *closing,
                         uint32_t index,
                         uint32_t died,
                         TesseraOccupancy *stay)
{
  stay->died = died;
  find_event (closing, &closing->build->plan->slots[index], stay);
}

bool
tessera_closing_is_free (const TesseraClosing *closing, uint32_t index)
{
  const TesseraSlot *slot = &closing->build->plan->slots[index];
  uint64_t owner = tessera_slot_owner (slot);

  for (int pass = 0; pass < 2; pass++)
    {
      TesseraOccupancy stay;
      size_t birth;

      if (!tessera_closing_stay (closing, index, pass, &stay))
        continue;
      birth = first_from (closing, owner, stay.died);
      if (birth < closing->n_births && closing->births[birth].owner == owner &&
          closing->births[birth].at < stay.opens)
        return false;
    }
  return true;
}

/* Back to positions of the plan; what opens in the second step is closed through the one
 * that stands for both. */
static uint32_t
roll (const TesseraClosing *closing, uint32_t at)
{
  uint32_t step_end = closing->build->run.step_end;

  if (at <= step_end)
    return at;
  return at < step_end + closing->period ? step_end : at - closing->period;
}

uint32_t
tessera_closing_tail (const TesseraClosing *closing, uint32_t index)
{
  const TesseraRun *run = &closing->build->run;
  const TesseraSlot *slot = &closing->build->plan->slots[index];
  TesseraOccupancy stay;
  uint32_t tail;

  if (slot->born >= run->step_end || !tessera_closing_stay (closing, index, 0, &stay))
    return 0;
  if (slot->born < run->step_begin)
    tail = stay.opens < run->step_end ? stay.opens : run->step_end;
  else if (stay.opens < run->step_end)
    tail = 0;
  else
    tail = stay.opens < run->step_end + closing->period ? stay.opens - closing->period
                                                        : run->step_end;
  return tail > run->step_begin ? tail : 0;
}

void
tessera_closing_extend (const TesseraClosing *closing,
                        uint32_t index,
                        uint32_t from,
                        TesseraItem *item)
{
  const TesseraSlot *slot = &closing->build->plan->slots[index];
  TesseraOccupancy stay = { 0 }, last = { 0 };
  uint32_t tail = tessera_closing_tail (closing, index);

  if (!tessera_closing_stay (closing, index, 0, &stay))
    return;
  if (!tessera_closing_stay (closing, index, 1, &last))
    {
      item->end = roll (closing, stay.opens);
      return;
    }
  if (stay.opens < closing->build->run.step_end)
    {
      item->end = stay.opens;
      return;
    }
  item->end = roll (closing, last.opens);
  if (tail >= slot->born)
    {
      if (from < item->begin)
        item->begin = from;
      item->begin2 = item->end2 = 0;
    }
  else if (tail)
    {
      item->begin2 = from;
      item->end2 = tail;
    }
}
