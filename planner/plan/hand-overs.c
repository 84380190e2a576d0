/*
 * Which ranges pass from one stream to another: for each slot, every slot of another
 * stream that was the last before it to occupy some of its range. The repeating step is
 * gone through twice, since its first slots follow its last.
 *
 * The pool is cut at all offsets and ends; a bitmap says at which cuts a piece begins,
 * and each piece knows its last occupant. A birth makes one piece of what it covers.
 *
 * An owner takes its own range back at once, perhaps for a larger request than the range
 * was for, so that the owner may not be ordered behind the earlier use by the time at
 * which it is behind the later one. Then the event has to be the one that comes last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/array.h"
#include "db/search.h"
#include "planner/plan/closing.h"

#include <stdlib.h>
#include <string.h>

/* Who was last in a piece. */
typedef struct
{
  uint32_t slot;       /* TESSERA_NONE: nobody */
  uint32_t died;       /* unrolled */
  uint32_t event;      /* its own, or a later one of those before it */
  uint32_t event_slot; /* whose */
} Occupant;

typedef struct
{
  const TesseraPlanBuild *build;
  const TesseraClosing *closing;
  TesseraPlan *plan;
  uint64_t *cuts; /* ascending, distinct */
  size_t n_cuts;
  uint64_t *begins;     /* bitmap: a piece begins at the cut */
  Occupant *occupant;   /* of the piece that begins there */
  uint32_t *low, *high; /* [n_slots]: cuts of the range */
  size_t cap_pairs;
  const TesseraSlot **wrapping; /* by place */
  size_t n_wrapping;
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
  if (x->to_slot != y->to_slot)
    return x->to_slot < y->to_slot ? -1 : 1;
  if (x->event_slot != y->event_slot)
    return x->event_slot < y->event_slot ? -1 : 1;
  if (x->slack_requests != y->slack_requests)
    return x->slack_requests < y->slack_requests ? -1 : 1;
  return x->slack_ns < y->slack_ns ? -1 : x->slack_ns > y->slack_ns;
}

static bool
is_same_pair (const TesseraHandOver *a, const TesseraHandOver *b)
{
  return a->from_slot == b->from_slot && a->to_slot == b->to_slot &&
         a->event_slot == b->event_slot;
}

static int
by_place (const void *a, const void *b)
{
  const TesseraSlot *const *left = a, *const *right = b;
  const TesseraSlot *x = *left, *y = *right;

  if (x->offset_bytes != y->offset_bytes)
    return x->offset_bytes < y->offset_bytes ? -1 : 1;
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  if (tessera_slot_owner (x) != tessera_slot_owner (y))
    return tessera_slot_owner (x) < tessera_slot_owner (y) ? -1 : 1;
  return 0;
}

static uint32_t
cut_of (const Pool *pool, uint64_t bytes)
{
  return tessera_count_below (pool->cuts, (uint32_t) pool->n_cuts, bytes);
}

static TesseraStatus
pool_init (Pool *pool)
{
  const TesseraPlan *plan = pool->plan;
  size_t n = plan->n_slots;

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
  pool->wrapping = malloc ((n + 1) * sizeof *pool->wrapping);
  if (!pool->wrapping)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n; i++)
    if (plan->slots[i].wraps)
      pool->wrapping[pool->n_wrapping++] = &plan->slots[i];
  qsort (pool->wrapping, pool->n_wrapping, sizeof *pool->wrapping, by_place);
  pool->occupant[0] = (Occupant){ .slot = TESSERA_NONE };
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

static int64_t
lower (int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* What lies between what @from waits for and the request at @born. */
static TesseraHandOver
hand_over (const Pool *pool, const Occupant *from, uint32_t to, uint32_t born)
{
  const TesseraPlanClock *clock = &pool->build->clock;
  const TesseraSlot *slots = pool->plan->slots;
  TesseraHandOver pair = { from->slot, to, TESSERA_NONE, INT64_MAX, INT64_MAX };
  TesseraLag lag;

  if (slots[from->slot].stream != slots[to].stream)
    {
      pair.event_slot = from->event_slot;
      pair.slack_requests = (int64_t) born - from->event;
      pair.slack_ns = tessera_plan_clock_between (clock, from->event, born);
    }
  if (slots[from->slot].side_streams &&
      tessera_has_lag (&pool->build->run, pool->build->noticed, slots[from->slot].block,
                       &lag))
    {
      pair.slack_requests =
          lower (pair.slack_requests, (int64_t) born - from->died - lag.n_events);
      pair.slack_ns =
          clock->at_ns
              ? lower (pair.slack_ns,
                       tessera_plan_clock_between (clock, from->died, born) - lag.ns)
              : TESSERA_NO_SLACK;
    }
  return pair;
}

static TesseraStatus
add_pair (Pool *pool, const TesseraHandOver *pair)
{
  TesseraPlan *plan = pool->plan;

  if (!TESSERA_RESERVE (plan->hand_overs, pool->cap_pairs, plan->n_hand_overs + 1))
    return TESSERA_NO_MEMORY;
  plan->hand_overs[plan->n_hand_overs++] = *pair;
  return TESSERA_OK;
}

/* The piece passes from @from to the one that comes. */
static TesseraStatus
pass_on (Pool *pool, const Occupant *from, uint32_t born, Occupant *to)
{
  const TesseraSlot *slots = pool->plan->slots;
  bool is_other_stream, has_side_streams;

  if (from->slot == TESSERA_NONE)
    return TESSERA_OK;
  is_other_stream = slots[from->slot].stream != slots[to->slot].stream;
  has_side_streams = slots[from->slot].side_streams;
  if (is_other_stream || has_side_streams)
    {
      const TesseraHandOver pair = hand_over (pool, from, to->slot, born);

      if (add_pair (pool, &pair) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
    }
  if (!is_other_stream && from->event > born && from->event > to->event)
    {
      to->event = from->event;
      to->event_slot = from->event_slot;
    }
  return TESSERA_OK;
}

/* A block of the start that lives on into the first step ends, in its slot, where the
 * step begins; the rest stands with the slot that wraps in its place (db/plan.h). */
static void
prolong (const Pool *pool, uint32_t index, TesseraOccupancy *stay)
{
  const TesseraSlot *slot = &pool->plan->slots[index], **other;
  const TesseraRun *run = &pool->build->run;

  if (!run->repeats || slot->born >= run->step_begin || slot->died != run->step_begin)
    return;
  other =
      bsearch (&slot, pool->wrapping, pool->n_wrapping, sizeof *pool->wrapping, by_place);
  if (other)
    tessera_closing_prolong (pool->closing, index, (*other)->died_next, stay);
}

static TesseraStatus
occupy (Pool *pool, uint32_t to, int pass)
{
  uint32_t low = pool->low[to], high = pool->high[to], last = low;
  TesseraOccupancy stay = { 0 };

  tessera_closing_stay (pool->closing, to, pass, &stay);
  prolong (pool, to, &stay);
  split (pool, low);
  split (pool, high);
  for (uint32_t at = low; at < high; at = piece_after (pool, at))
    {
      Occupant occupant = { to, stay.died, stay.event, stay.event_slot };

      if (pass_on (pool, &pool->occupant[at], stay.born, &occupant) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      if (at != low && occupant.event == pool->occupant[last].event)
        {
          pool->begins[at / 64] &= ~(UINT64_C (1) << (at % 64));
          continue;
        }
      pool->occupant[at] = occupant;
      last = at;
    }
  return TESSERA_OK;
}

/* Of a pair that comes several times, the one with least slack. */
static void
drop_doubles (TesseraPlan *plan)
{
  size_t n = 0;

  if (plan->n_hand_overs)
    qsort (plan->hand_overs, plan->n_hand_overs, sizeof (TesseraHandOver), by_pair);
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    if (n == 0 || !is_same_pair (&plan->hand_overs[i], &plan->hand_overs[n - 1]))
      plan->hand_overs[n++] = plan->hand_overs[i];
  plan->n_hand_overs = n;
}

TesseraStatus
tessera_build_hand_overs (TesseraPlanBuild *build, const TesseraClosing *closing)
{
  TesseraPlan *plan = build->plan;
  Pool pool = { .build = build, .closing = closing, .plan = plan };
  TesseraStatus status = pool_init (&pool);

  for (size_t s = 0; s < plan->n_sections; s++)
    for (int pass = 0; pass < (plan->sections[s].kind == TESSERA_SECTION_REPEATS ? 2 : 1);
         pass++)
      for (uint32_t i = 0; i < plan->sections[s].n_slots && status == TESSERA_OK; i++)
        status = occupy (&pool, plan->sections[s].first_slot + i, pass);
  drop_doubles (plan);
  free (pool.cuts);
  free (pool.begins);
  free (pool.occupant);
  free (pool.low);
  free (pool.wrapping);
  return status;
}
