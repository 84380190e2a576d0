/*
 * The law of streams where they share addresses: what passes, and when. See check.h and
 * sweep.h.
 *
 * A map of the addresses says who was born there last; it is cut at all offsets and ends
 * that occur, and a birth makes one piece of what it covers, so that all births together
 * touch O(slots) pieces. Each piece knows from when on others than its owner may have it
 * (opens.h): of all that the owner had there one after the other, the latest. Where these
 * differ there are more pieces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/marks.h"
#include "planner/check/opens.h"
#include "planner/check/sweep.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
top_of (const TesseraPlan *plan, uint32_t slot)
{
  return plan->slots[slot].offset_bytes + plan->slots[slot].block_bytes;
}

static int
compare_numbers (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

static int
compare_pairs (const void *a, const void *b)
{
  const TesseraHandOver *x = a, *y = b;
  if (x->from_slot != y->from_slot)
    return x->from_slot < y->from_slot ? -1 : 1;
  return x->to_slot < y->to_slot ? -1 : x->to_slot > y->to_slot;
}

/* Who was born last at each address: piece i begins at cuts[i] if it is marked and ends
 * at the next mark. */
typedef struct
{
  const TesseraPlan *plan;
  uint64_t *cuts; /* ascending, distinct */
  size_t n_cuts;
  uint32_t *owners;   /* [n_cuts] slot, or TESSERA_NONE */
  uint32_t *opens_at; /* [n_cuts] to others than its owner */
  TesseraMarks marks;
  TesseraHandOver *listed; /* [n_hand_overs] ascending pairs */
  TesseraOpens opens;
} Map;

/* A slot that is born. */
typedef struct
{
  uint32_t slot;
  uint32_t born;     /* of the run that repeats twice */
  uint32_t opens_at; /* its range, to others than its owner */
} Newcomer;

static void
map_clear (Map *map)
{
  free (map->cuts);
  free (map->owners);
  free (map->opens_at);
  free (map->listed);
  tessera_opens_clear (&map->opens);
  tessera_marks_clear (&map->marks);
}

static TesseraStatus
map_init (Map *map, const TesseraPlan *plan)
{
  size_t n_ends = plan->n_slots * 2;
  map->plan = plan;
  map->cuts = calloc (n_ends + 1, sizeof *map->cuts);
  map->owners = calloc (n_ends + 1, sizeof *map->owners);
  map->opens_at = calloc (n_ends + 1, sizeof *map->opens_at);
  map->listed = calloc (plan->n_hand_overs + 1, sizeof *map->listed);
  if (map->cuts == NULL || map->owners == NULL || map->opens_at == NULL ||
      map->listed == NULL || tessera_opens_init (&map->opens, plan) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      map->cuts[i * 2] = plan->slots[i].offset_bytes;
      map->cuts[i * 2 + 1] = top_of (plan, (uint32_t) i);
    }
  qsort (map->cuts, n_ends, sizeof *map->cuts, compare_numbers);
  for (size_t i = 0; i < n_ends; i++)
    if (i == 0 || map->cuts[i] != map->cuts[map->n_cuts - 1])
      map->cuts[map->n_cuts++] = map->cuts[i];
  for (size_t i = 0; i < map->n_cuts; i++)
    map->owners[i] = TESSERA_NONE;
  if (plan->n_hand_overs > 0)
    memcpy (map->listed, plan->hand_overs, plan->n_hand_overs * sizeof *map->listed);
  qsort (map->listed, plan->n_hand_overs, sizeof *map->listed, compare_pairs);
  if (tessera_marks_init (&map->marks, map->n_cuts + 1) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  tessera_marks_add (&map->marks, 0);
  return TESSERA_OK;
}

static size_t
cut_at (const Map *map, uint64_t bytes)
{
  const uint64_t *cut =
      bsearch (&bytes, map->cuts, map->n_cuts, sizeof *map->cuts, compare_numbers);
  return (size_t) (cut - map->cuts);
}

/* Makes a piece begin at @cut. */
static void
map_split (Map *map, size_t cut)
{
  if (tessera_marks_has (&map->marks, cut))
    return;
  uint64_t whole = tessera_marks_below (&map->marks, cut);
  map->owners[cut] = map->owners[whole];
  map->opens_at[cut] = map->opens_at[whole];
  tessera_marks_add (&map->marks, cut);
}

/* Whether the event is recorded while the owner is ordered behind what it had there: at
 * the last of its requests before the newcomer's. A plan of an older format doesn't say.
 */
static bool
is_in_time (const Map *map, const TesseraHandOver *pair, uint32_t piece, uint32_t born)
{
  const TesseraSlot *slots = map->plan->slots;
  if (pair->event_slot == TESSERA_NONE)
    return true;
  const TesseraSlot *event = &slots[pair->event_slot];
  if (tessera_opens_owner (event) != tessera_opens_owner (&slots[pair->from_slot]))
    return false;
  bool is_repeated = tessera_opens_born (&map->opens, event, 0) !=
                         tessera_opens_born (&map->opens, event, 1) &&
                     event->born < map->opens.repeat_end &&
                     event->born >= map->opens.repeat_begin;
  for (int pass = is_repeated ? 1 : 0; pass >= 0; pass--)
    {
      uint32_t at = tessera_opens_born (&map->opens, event, pass);
      if (at <= born)
        return at >= map->opens_at[piece];
    }
  return false;
}

static bool
is_listed (const Map *map, uint32_t piece, const Newcomer *to)
{
  const TesseraHandOver pair = { map->owners[piece], to->slot, TESSERA_NONE, 0, 0 };
  size_t low = 0, high = map->plan->n_hand_overs;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (compare_pairs (&map->listed[middle], &pair) < 0)
        low = middle + 1;
      else
        high = middle;
    }
  for (; low < map->plan->n_hand_overs && compare_pairs (&map->listed[low], &pair) == 0;
       low++)
    if (is_in_time (map, &map->listed[low], piece, to->born))
      return true;
  return false;
}

/* A piece passes to the newcomer. @out_opens_at: from when on to others. */
static TesseraStatus
map_pass (const Map *map,
          uint32_t piece,
          const Newcomer *to,
          uint32_t *out_opens_at,
          TesseraError *error)
{
  const TesseraSlot *slots = map->plan->slots;
  uint32_t from = map->owners[piece];
  *out_opens_at = to->opens_at;
  if (from == TESSERA_NONE)
    return TESSERA_OK;
  bool is_same =
      tessera_opens_owner (&slots[from]) == tessera_opens_owner (&slots[to->slot]);
  if (!is_same && map->opens_at[piece] > to->born)
    return tessera_check_refuse_pair (
        map->plan,
        "a range to pass to another owner only after its own has asked "
        "for what PyTorch could have served from it",
        from, to->slot, error);
  if ((slots[from].stream != slots[to->slot].stream || slots[from].side_streams) &&
      !is_listed (map, piece, to))
    return tessera_check_refuse_pair (
        map->plan, "each hand-over between streams to be listed", from, to->slot, error);
  if (is_same && map->opens_at[piece] > to->born && map->opens_at[piece] > to->opens_at)
    *out_opens_at = map->opens_at[piece];
  return TESSERA_OK;
}

/* Slot @to is born: everybody of another stream who was last in its range must be listed
 * as handing over to it; then the range is its own, in as many pieces as open at other
 * moments. */
static TesseraStatus
map_give (Map *map, uint32_t slot, int pass, TesseraError *error)
{
  const Newcomer to = { slot,
                        tessera_opens_born (&map->opens, &map->plan->slots[slot], pass),
                        map->opens.opens[slot * 2 + (uint32_t) pass] };
  size_t begin = cut_at (map, map->plan->slots[slot].offset_bytes);
  size_t end = cut_at (map, top_of (map->plan, slot)), last = begin;
  map_split (map, begin);
  map_split (map, end);
  for (size_t cut = begin; cut < end; cut = tessera_marks_above (&map->marks, cut))
    {
      uint32_t opens_at;
      TesseraStatus status = map_pass (map, (uint32_t) cut, &to, &opens_at, error);
      if (status != TESSERA_OK)
        return status;
      if (cut != begin && opens_at == map->opens_at[last])
        {
          tessera_marks_remove (&map->marks, cut);
          continue;
        }
      last = cut;
      map->owners[cut] = slot;
      map->opens_at[cut] = opens_at;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_check_hand_overs (const TesseraPlan *plan, TesseraError *error)
{
  Map map = { 0 };
  TesseraStatus status = map_init (&map, plan);
  for (size_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      int n_times = section->kind == TESSERA_SECTION_REPEATS ? 2 : 1;
      for (int time = 0; time < n_times; time++)
        for (uint32_t i = 0; status == TESSERA_OK && i < section->n_slots; i++)
          status = map_give (&map, section->first_slot + i, time, error);
    }
  map_clear (&map);
  return status;
}
