/*
 * A layout in work, by ejection chains. See repack.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack.h"

#include <string.h>

/* An item or a body that meets more others stays where it is: as many as there are items,
 * of a small problem and of a huge one so many. */
#define LEAST_AROUND (UINT32_C (1) << 16)
#define MOST_AROUND (UINT32_C (1) << 18)

/* Without fewer waiting than ever before, a target gets this part of the looks. */
#define PATIENCE_PART 8
/* One that lives long takes a sixth of them among 100,000: those in its way get a turn.
 */
#define PATIENCE_PART_OF_LARGE 3
#define MOST_ITEMS_OF_PATIENCE 32768
/* Copying and going over all items costs so much less than looking at one. */
#define ITEMS_A_LOOK 16

/* Who has had to go so often weighs no more if it goes again. */
#define MOST_GONE 4095

/* What can't go weighs more than all that can; 2 * MOST_AROUND times that is below 2^64.
 */
#define STONE (UINT64_C (1) << 44)

#define PROGRESS_EVERY 64

#define WEIGHT_BITS 20

/* ---- the cheapest offset ---- */

/* What is met changes only where the block comes to lie on top of a range or right below
 * one: those are all the offsets that have to be asked about, and 0 and the limit. */
typedef struct
{
  const TesseraEdges *edges;
  uint64_t size_bytes;
  uint64_t best_bytes, best_cost;
} Search;

/* A walk upwards: what begins below the top of the block, what ends by its offset. */
typedef struct
{
  size_t n_begun, n_ended;
  uint64_t begun_cost, ended_cost;
} Walk;

/* Offsets are asked about in ascending order. */
static void
ask (Search *search, Walk *walk, uint64_t offset)
{
  const TesseraEdges *edges = search->edges;
  const uint64_t top = offset + search->size_bytes;
  for (; walk->n_begun < edges->n && edges->lows[walk->n_begun].key < top;
       walk->n_begun++)
    walk->begun_cost += edges->costs[edges->lows[walk->n_begun].value];
  for (; walk->n_ended < edges->n && edges->highs[walk->n_ended].key <= offset;
       walk->n_ended++)
    walk->ended_cost += edges->costs[edges->highs[walk->n_ended].value];
  uint64_t cost = walk->begun_cost - walk->ended_cost;
  if (cost > search->best_cost ||
      (cost == search->best_cost && offset >= search->best_bytes))
    return;
  search->best_bytes = offset;
  search->best_cost = cost;
}

uint64_t
tessera_cheapest_offset (TesseraEdges *edges,
                         uint64_t size_bytes,
                         uint64_t limit_bytes,
                         uint64_t *out_cost)
{
  const TesseraKeyed *lows = edges->lows, *highs = edges->highs;
  Search search = { edges, size_bytes, UINT64_MAX, UINT64_MAX };
  Walk on_top = { 0 }, below = { 0 };
  tessera_pack_sort (edges->lows, edges->n);
  tessera_pack_sort (edges->highs, edges->n);
  ask (&search, &on_top, 0);
  for (size_t i = 0; i < edges->n && highs[i].key <= limit_bytes; i++)
    ask (&search, &on_top, highs[i].key);
  for (size_t i = 0; i < edges->n; i++)
    if (lows[i].key >= size_bytes && lows[i].key - size_bytes <= limit_bytes)
      ask (&search, &below, lows[i].key - size_bytes);
  ask (&search, &below, limit_bytes);
  *out_cost = search.best_cost;
  return search.best_bytes;
}

/* ---- who waits ---- */

/* The largest number whose square is no more. In whole numbers: the same everywhere. */
static uint64_t
root (uint64_t square)
{
  uint64_t result = 0;
  for (uint64_t bit = UINT64_C (1) << 31; bit != 0; bit >>= 1)
    if ((result + bit) * (result + bit) <= square)
      result += bit;
  return result;
}

static uint32_t
bits_of (uint64_t number)
{
  return number == 0 ? 0 : 64 - (uint32_t) __builtin_clzll (number);
}

/* Roots of areas of 64 bits, then as many bits of them as a weight has. */
static void
weigh (TesseraEjection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  uint64_t largest_bytes = 0, longest_events = 0, heaviest = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      largest_bytes = MAX (largest_bytes, item->size_bytes);
      longest_events = MAX (longest_events, item->life_events);
    }
  uint32_t n_bits = bits_of (largest_bytes) + bits_of (longest_events);
  uint32_t shift = n_bits > 62 ? n_bits - 62 : 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      uint64_t weight = root (((item->size_bytes >> shift) + 1) * item->life_events);
      ejection->weights[i] = (uint32_t) weight;
      heaviest = MAX (heaviest, weight);
    }
  shift = bits_of (heaviest) > WEIGHT_BITS ? bits_of (heaviest) - WEIGHT_BITS : 0;
  for (size_t i = 0; i < problem->n_items; i++)
    ejection->weights[i] = (ejection->weights[i] >> shift) + 1;
}

/* The first item of a body weighs as much as all of it. */
static void
weigh_bodies (TesseraEjection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t b = 0; b < problem->n_bodies; b++)
    {
      const uint32_t begin = tessera_pack_body_begin (problem, b);
      uint64_t sum = 0;
      for (uint32_t i = begin; i < problem->body_ends[b]; i++)
        sum += ejection->weights[problem->body_items[i]];
      ejection->weights[problem->body_items[begin]] = (uint32_t) MIN (sum, UINT32_MAX);
    }
}

static bool
comes_first (const TesseraEjection *ejection, uint32_t a, uint32_t b)
{
  uint32_t x = ejection->weights[a], y = ejection->weights[b];
  return x != y ? x > y : a < b;
}

static void
push_waiting (TesseraEjection *ejection, uint32_t item)
{
  uint32_t *heap = ejection->waiting;
  size_t at = ejection->n_waiting++;
  for (; at > 0 && comes_first (ejection, item, heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = item;
}

static uint32_t
pop_waiting (TesseraEjection *ejection)
{
  uint32_t *heap = ejection->waiting, first = heap[0];
  uint32_t last = heap[--ejection->n_waiting];
  size_t at = 0, n = ejection->n_waiting;
  for (size_t child = 1; child < n; child = at * 2 + 1)
    {
      if (child + 1 < n && comes_first (ejection, heap[child + 1], heap[child]))
        child++;
      if (!comes_first (ejection, heap[child], last))
        break;
      heap[at] = heap[child];
      at = child;
    }
  heap[at] = last;
  return first;
}

/* ---- a layout in work ---- */

/* What is looked for a place: an item, or those of its body. */
typedef struct
{
  const uint32_t *items;
  uint32_t n_items;
  uint64_t height_bytes; /* from the base of the body */
  bool is_body;
} Mover;

static uint64_t
distance_of (const TesseraPackProblem *problem, const Mover *mover, uint32_t item)
{
  return mover->is_body ? problem->limits[item].body_offset_bytes : 0;
}

/* @item stays where the caller has it. */
static Mover
mover_of (const TesseraPackProblem *problem, const uint32_t *item)
{
  uint32_t body = tessera_pack_body (problem, *item);
  Mover mover = { item, 1, problem->items[*item].size_bytes, false };
  if (body == TESSERA_PACK_NO_BODY)
    return mover;
  uint32_t begin = tessera_pack_body_begin (problem, body);
  mover =
      (Mover){ &problem->body_items[begin], problem->body_ends[body] - begin, 0, true };
  for (uint32_t i = 0; i < mover.n_items; i++)
    {
      uint32_t member = mover.items[i];
      uint64_t top =
          distance_of (problem, &mover, member) + problem->items[member].size_bytes;
      mover.height_bytes = MAX (mover.height_bytes, top);
    }
  return mover;
}

static void
list_in_sets (TesseraEjection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  ejection->in_sets = g_new (uint32_t, problem->n_items);
  for (uint32_t i = 0; problem->limits != NULL && i < problem->n_items; i++)
    if ((problem->limits[i].in | problem->limits[i].apart) != 0)
      ejection->in_sets[ejection->n_in_sets++] = i;
}

void
tessera_ejection_init (TesseraEjection *ejection,
                       const TesseraPackProblem *problem,
                       const TesseraRepackOptions *options)
{
  const size_t n_items = problem->n_items;
  const size_t max_around = CLAMP (n_items, LEAST_AROUND, MOST_AROUND);
  const size_t max_meetings = 2 * max_around, n_edges = max_meetings + problem->n_blocked;
  *ejection = (TesseraEjection){
    .problem = problem,
    .options = options,
    .max_around = max_around,
    .max_meetings = max_meetings,
    .offsets = g_new (uint64_t, n_items),
    .n_gone = g_new0 (uint16_t, n_items),
    .weights = g_new (uint32_t, n_items),
    .waiting = g_new (uint32_t, n_items),
    .around = g_new (uint32_t, max_around),
    .meetings = g_new (TesseraMeeting, max_meetings),
    .edges = { .lows = g_new (TesseraKeyed, n_edges),
               .highs = g_new (TesseraKeyed, n_edges),
               .costs = g_new (uint64_t, n_edges) },
  };
  memset (ejection->offsets, 0xff, n_items * sizeof *ejection->offsets);
  tessera_boxes_init (&ejection->boxes, problem);
  weigh (ejection);
  weigh_bodies (ejection);
  list_in_sets (ejection);
}

void
tessera_ejection_clear (TesseraEjection *ejection)
{
  g_free (ejection->offsets);
  g_free (ejection->n_gone);
  g_free (ejection->weights);
  g_free (ejection->waiting);
  g_free (ejection->in_sets);
  g_free (ejection->around);
  g_free (ejection->meetings);
  g_free (ejection->edges.lows);
  g_free (ejection->edges.highs);
  g_free (ejection->edges.costs);
  tessera_boxes_clear (&ejection->boxes);
}

/* Those that sets keep apart from the item. Returns: as below. */
static size_t
meet_sets (TesseraEjection *ejection, uint32_t item, size_t n)
{
  const TesseraPackLimit *limits = ejection->problem->limits;
  if (limits == NULL || (limits[item].in | limits[item].apart) == 0)
    return n;
  for (uint32_t i = 0; i < ejection->n_in_sets; i++)
    {
      uint32_t other = ejection->in_sets[i];
      if (other == item || ejection->offsets[other] == TESSERA_NOWHERE ||
          !tessera_pack_limits_meet (&limits[item], &limits[other]))
        continue;
      if (n == ejection->max_meetings)
        return SIZE_MAX;
      ejection->meetings[n++] = (TesseraMeeting){ item, other };
    }
  ejection->looks += ejection->n_in_sets;
  return n;
}

/* Adds those that lie somewhere and may not share an address with the item to the @n
 * meetings. Returns: how many there are, SIZE_MAX: too many. */
static size_t
meet (TesseraEjection *ejection, uint32_t item, size_t n)
{
  size_t n_around = tessera_boxes_list (&ejection->boxes, item, ejection->max_around,
                                        ejection->around, &ejection->looks);
  if (n_around == SIZE_MAX)
    return SIZE_MAX;
  for (size_t i = 0; i < n_around; i++)
    {
      uint32_t other = ejection->around[i];
      if (ejection->offsets[other] == TESSERA_NOWHERE)
        continue;
      if (n == ejection->max_meetings)
        return SIZE_MAX;
      ejection->meetings[n++] = (TesseraMeeting){ item, other };
    }
  return meet_sets (ejection, item, n);
}

static uint64_t
cost_of (const TesseraEjection *ejection, uint32_t item)
{
  const TesseraPackProblem *problem = ejection->problem;
  if (tessera_pack_is_pinned (problem, item))
    return STONE;
  const uint32_t first = mover_of (problem, &item).items[0];
  uint64_t weight = (uint64_t) ejection->weights[first] * (1u + ejection->n_gone[first]);
  return weight < STONE ? weight : STONE - 1;
}

/* For the base of a mover: as if all of it began there and were as high as the whole.
 * What never is in its way, below where it can begin, is left out. */
static void
add_edges (TesseraEjection *ejection,
           const Mover *mover,
           uint32_t member,
           TesseraPackRange range,
           uint64_t cost)
{
  const TesseraPackProblem *problem = ejection->problem;
  TesseraEdges *edges = &ejection->edges;
  const uint64_t distance = distance_of (problem, mover, member);
  const uint64_t room =
      mover->height_bytes - distance - problem->items[member].size_bytes;
  if (range.end_bytes <= distance)
    return;
  const uint32_t number = (uint32_t) edges->n++;
  edges->costs[number] = cost;
  edges->lows[number] = (TesseraKeyed){ range.begin_bytes + room, number };
  edges->highs[number] = (TesseraKeyed){ range.end_bytes - distance, number };
}

/* What lies within a mover at @base_bytes is in its way. */
static bool
overlaps (const TesseraEjection *ejection,
          const Mover *mover,
          const TesseraMeeting *meeting,
          uint64_t base_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  uint64_t at = base_bytes + distance_of (problem, mover, meeting->item);
  uint64_t other = ejection->offsets[meeting->other];
  return other != TESSERA_NOWHERE &&
         other < at + problem->items[meeting->item].size_bytes &&
         at < other + problem->items[meeting->other].size_bytes;
}

/* Of all meetings, and of what is not to be had. Returns: false where there are too
 * many. */
static bool
list_edges (TesseraEjection *ejection, const Mover *mover, size_t n_meetings)
{
  const TesseraPackProblem *problem = ejection->problem;
  ejection->edges.n = 0;
  for (size_t i = 0; i < n_meetings; i++)
    {
      const TesseraMeeting *meeting = &ejection->meetings[i];
      uint64_t at = ejection->offsets[meeting->other];
      uint64_t top = at + problem->items[meeting->other].size_bytes;
      add_edges (ejection, mover, meeting->item, (TesseraPackRange){ at, top },
                 cost_of (ejection, meeting->other));
    }
  for (uint32_t k = 0; k < mover->n_items; k++)
    {
      if (ejection->edges.n + problem->n_blocked > ejection->max_meetings)
        return false;
      for (size_t i = 0; i < problem->n_blocked; i++)
        add_edges (ejection, mover, mover->items[k], problem->blocked[i], STONE);
    }
  return true;
}

void
tessera_ejection_take_out (TesseraEjection *ejection, uint32_t item)
{
  Mover mover = mover_of (ejection->problem, &item);
  for (uint32_t i = 0; i < mover.n_items; i++)
    ejection->offsets[mover.items[i]] = TESSERA_NOWHERE;
  push_waiting (ejection, mover.items[0]);
}

/* Who is in the way of a mover at @base_bytes goes. */
static void
clear_way (TesseraEjection *ejection,
           const Mover *mover,
           uint64_t base_bytes,
           size_t n_meetings)
{
  for (size_t i = 0; i < n_meetings; i++)
    {
      const TesseraMeeting *meeting = &ejection->meetings[i];
      if (!overlaps (ejection, mover, meeting, base_bytes))
        continue;
      Mover other = mover_of (ejection->problem, &meeting->other);
      uint16_t *n_gone = &ejection->n_gone[other.items[0]];
      if (*n_gone < MOST_GONE)
        ++*n_gone;
      tessera_ejection_take_out (ejection, meeting->other);
    }
}

bool
tessera_ejection_make_way (TesseraEjection *ejection, uint32_t item)
{
  const Mover mover = { &item, 1, ejection->problem->items[item].size_bytes, false };
  size_t n = meet (ejection, item, 0), n_left = 0;
  if (n == SIZE_MAX)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!tessera_pack_is_pinned (ejection->problem, ejection->meetings[i].other))
      ejection->meetings[n_left++] = ejection->meetings[i];
  clear_way (ejection, &mover, ejection->offsets[item], n_left);
  return true;
}

/* The item goes where those in its way weigh least; these go. Returns: false where it
 * meets too many, or has no place. */
static bool
put (TesseraEjection *ejection, uint32_t item, uint64_t target_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  const Mover mover = mover_of (problem, &item);
  uint64_t cost;
  size_t n = 0;
  for (uint32_t i = 0; i < mover.n_items && n != SIZE_MAX; i++)
    n = meet (ejection, mover.items[i], n);
  if (n == SIZE_MAX || mover.height_bytes > target_bytes)
    return false;
  if (!list_edges (ejection, &mover, n))
    return false;
  ejection->looks += ejection->edges.n;
  uint64_t base = tessera_cheapest_offset (&ejection->edges, mover.height_bytes,
                                           target_bytes - mover.height_bytes, &cost);
  if (cost >= STONE)
    return false;
  if (cost > 0)
    clear_way (ejection, &mover, base, n);
  for (uint32_t i = 0; i < mover.n_items; i++)
    ejection->offsets[mover.items[i]] =
        base + distance_of (problem, &mover, mover.items[i]);
  return true;
}

void
tessera_ejection_begin (TesseraEjection *ejection)
{
  ejection->n_waiting = 0;
  memset (ejection->n_gone, 0, ejection->problem->n_items * sizeof *ejection->n_gone);
  ejection->looks += ejection->problem->n_items / ITEMS_A_LOOK;
}

void
tessera_ejection_take_out_above (TesseraEjection *ejection, uint64_t target_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (ejection->offsets[i] != TESSERA_NOWHERE && !tessera_pack_is_pinned (problem, i) &&
        ejection->offsets[i] + problem->items[i].size_bytes > target_bytes)
      tessera_ejection_take_out (ejection, i);
}

bool
tessera_ejection_reach (TesseraEjection *ejection, uint64_t target_bytes)
{
  const TesseraRepackOptions *options = ejection->options;
  bool is_large = ejection->problem->n_items > MOST_ITEMS_OF_PATIENCE;
  uint64_t patience =
      options->looks / (is_large ? PATIENCE_PART_OF_LARGE : PATIENCE_PART);
  size_t fewest = ejection->n_waiting;
  uint64_t last_looks = ejection->looks;
  for (uint32_t step = 0; ejection->n_waiting > 0; step++)
    {
      if (step % PROGRESS_EVERY == 0 &&
          !tessera_progress (options->progress, options->fraction))
        ejection->is_cancelled = true;
      if (ejection->is_cancelled || ejection->looks >= options->looks ||
          ejection->looks - last_looks > patience)
        return false;
      uint32_t item = pop_waiting (ejection);
      if (!put (ejection, item, target_bytes))
        {
          push_waiting (ejection, item);
          return false;
        }
      if (ejection->n_waiting >= fewest)
        continue;
      fewest = ejection->n_waiting;
      last_looks = ejection->looks;
    }
  return true;
}
