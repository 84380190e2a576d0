/*
 * A layout in work. See ejection.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/ejection.h"

#include <stdlib.h>
#include <string.h>

/* An item or a body that meets more lives stays where it is: as many as there are items,
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

#define PROGRESS_EVERY 16

/* What is looked for a place: an item, or those of its body. */
typedef struct
{
  const uint32_t *items;
  uint32_t n_items;
  uint64_t height_bytes; /* from the base of the body */
  bool is_body;
} Mover;

static bool
is_pinned (const TesseraPackProblem *problem, uint32_t item)
{
  return problem->limits != NULL &&
         problem->limits[item].pinned_bytes != TESSERA_PACK_NOT_PINNED;
}

static uint32_t
body_of (const TesseraPackProblem *problem, uint32_t item)
{
  return problem->limits != NULL ? problem->limits[item].body : TESSERA_PACK_NO_BODY;
}

static uint64_t
distance_of (const TesseraPackProblem *problem, const Mover *mover, uint32_t item)
{
  return mover->is_body ? problem->limits[item].body_offset_bytes : 0;
}

/* @item stays where the caller has it. */
static Mover
mover_of (const TesseraPackProblem *problem, const uint32_t *item)
{
  uint32_t body = body_of (problem, *item);
  Mover mover = { item, 1, problem->items[*item].size_bytes, false };
  if (body == TESSERA_PACK_NO_BODY)
    return mover;
  uint32_t begin = body > 0 ? problem->body_ends[body - 1] : 0;
  mover =
      (Mover){ &problem->body_items[begin], problem->body_ends[body] - begin, 0, true };
  for (uint32_t i = 0; i < mover.n_items; i++)
    {
      uint32_t member = mover.items[i];
      uint64_t top =
          distance_of (problem, &mover, member) + problem->items[member].size_bytes;
      mover.height_bytes = top > mover.height_bytes ? top : mover.height_bytes;
    }
  return mover;
}

static TesseraStatus
list_in_sets (TesseraEjection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  if (problem->limits == NULL)
    return TESSERA_OK;
  ejection->in_sets = malloc (problem->n_items * sizeof *ejection->in_sets);
  if (ejection->in_sets == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if ((problem->limits[i].in | problem->limits[i].apart) != 0)
      ejection->in_sets[ejection->n_in_sets++] = i;
  return TESSERA_OK;
}

/* The first item of a body weighs as much as all of it. */
static void
weigh_bodies (TesseraEjection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  uint32_t *weights = ejection->waiting.weights;
  for (uint32_t b = 0, begin = 0; b < problem->n_bodies; begin = problem->body_ends[b++])
    {
      uint64_t sum = 0;
      for (uint32_t i = begin; i < problem->body_ends[b]; i++)
        sum += weights[problem->body_items[i]];
      weights[problem->body_items[begin]] =
          sum < UINT32_MAX ? (uint32_t) sum : UINT32_MAX;
    }
}

TesseraStatus
tessera_ejection_init (TesseraEjection *ejection,
                       const TesseraTimes *times,
                       const TesseraRepackOptions *options)
{
  const TesseraPackProblem *problem = times->problem;
  size_t max_around = problem->n_items < LEAST_AROUND ? LEAST_AROUND : problem->n_items;
  max_around = max_around < MOST_AROUND ? max_around : MOST_AROUND;
  size_t max_meetings = 2 * max_around, n_edges = max_meetings + problem->n_blocked;
  *ejection = (TesseraEjection){ .problem = problem,
                                 .options = options,
                                 .max_around = max_around,
                                 .max_meetings = max_meetings };
  ejection->offsets = malloc (problem->n_items * sizeof *ejection->offsets);
  ejection->n_gone = malloc (problem->n_items * sizeof *ejection->n_gone);
  ejection->lives = malloc (max_meetings * sizeof *ejection->lives);
  ejection->meetings = malloc (max_meetings * sizeof *ejection->meetings);
  ejection->lows = malloc (n_edges * sizeof *ejection->lows);
  ejection->highs = malloc (n_edges * sizeof *ejection->highs);
  ejection->scratch = malloc (n_edges * sizeof *ejection->scratch);
  if (ejection->offsets == NULL || ejection->n_gone == NULL || ejection->lives == NULL ||
      ejection->meetings == NULL || ejection->lows == NULL || ejection->highs == NULL ||
      ejection->scratch == NULL)
    return TESSERA_NO_MEMORY;
  memset (ejection->offsets, 0xff, problem->n_items * sizeof *ejection->offsets);
  TesseraStatus status = tessera_waiting_init (&ejection->waiting, problem);
  if (status == TESSERA_OK)
    weigh_bodies (ejection);
  if (status == TESSERA_OK)
    status = list_in_sets (ejection);
  return status == TESSERA_OK ? tessera_around_init (&ejection->around, times) : status;
}

void
tessera_ejection_clear (TesseraEjection *ejection)
{
  free (ejection->offsets);
  free (ejection->n_gone);
  free (ejection->in_sets);
  free (ejection->lives);
  free (ejection->meetings);
  free (ejection->lows);
  free (ejection->highs);
  free (ejection->scratch);
  tessera_waiting_clear (&ejection->waiting);
  tessera_around_clear (&ejection->around);
}

/* Lives that meet the item in one of its own. Returns: SIZE_MAX where there are too many.
 */
static size_t
list_around (TesseraEjection *ejection, const TesseraPackItem *item)
{
  size_t n =
      tessera_around_list (&ejection->around, item->lives.begin, item->lives.end,
                           ejection->max_around, ejection->lives, &ejection->looks);
  if (n == SIZE_MAX || item->lives.begin2 >= item->lives.end2)
    return n;
  size_t n_second =
      tessera_around_list (&ejection->around, item->lives.begin2, item->lives.end2,
                           ejection->max_around, &ejection->lives[n], &ejection->looks);
  return n_second == SIZE_MAX ? SIZE_MAX : n + n_second;
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
  size_t n_around = list_around (ejection, &ejection->problem->items[item]);
  if (n_around == SIZE_MAX)
    return SIZE_MAX;
  for (size_t i = 0; i < n_around; i++)
    {
      uint32_t other = ejection->lives[i] / 2;
      if (other == item || ejection->offsets[other] == TESSERA_NOWHERE)
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
  if (is_pinned (problem, item))
    return STONE;
  const uint32_t first = mover_of (problem, &item).items[0];
  uint64_t weight =
      (uint64_t) ejection->waiting.weights[first] * (1u + ejection->n_gone[first]);
  return weight < STONE ? weight : STONE - 1;
}

/* For the base of a mover: as if all of it began there and were as high as the whole.
 * What never is in its way, below where it can begin, is left out. */
static size_t
add_edges (TesseraEjection *ejection,
           size_t n,
           uint64_t room_bytes, /* of the mover above the member */
           uint64_t distance_bytes,
           TesseraPackRange range,
           uint64_t cost)
{
  if (range.end_bytes <= distance_bytes)
    return n;
  ejection->lows[n] = (TesseraEdge){ range.begin_bytes + room_bytes, cost };
  ejection->highs[n] = (TesseraEdge){ range.end_bytes - distance_bytes, cost };
  return n + 1;
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

/* Ranges that nobody may have, for each member. Returns: as below. */
static size_t
add_ranges (TesseraEjection *ejection,
            const Mover *mover,
            const TesseraPackRange *ranges,
            size_t n_ranges,
            size_t n_edges)
{
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t k = 0; k < mover->n_items && n_edges != SIZE_MAX; k++)
    {
      uint64_t distance = distance_of (problem, mover, mover->items[k]);
      uint64_t room =
          mover->height_bytes - distance - problem->items[mover->items[k]].size_bytes;
      if (n_edges + n_ranges > ejection->max_meetings)
        return SIZE_MAX;
      for (size_t i = 0; i < n_ranges; i++)
        n_edges = add_edges (ejection, n_edges, room, distance, ranges[i], STONE);
    }
  return n_edges;
}

/* Of all meetings, and of what is not to be had. Returns: SIZE_MAX where there are too
 * many. */
static size_t
list_edges (TesseraEjection *ejection, const Mover *mover, size_t n_meetings)
{
  const TesseraPackProblem *problem = ejection->problem;
  size_t n_edges = 0;
  for (size_t i = 0; i < n_meetings; i++)
    {
      const TesseraMeeting *meeting = &ejection->meetings[i];
      uint64_t distance = distance_of (problem, mover, meeting->item);
      uint64_t room =
          mover->height_bytes - distance - problem->items[meeting->item].size_bytes;
      uint64_t at = ejection->offsets[meeting->other];
      n_edges = add_edges (
          ejection, n_edges, room, distance,
          (TesseraPackRange){ at, at + problem->items[meeting->other].size_bytes },
          cost_of (ejection, meeting->other));
    }
  return add_ranges (ejection, mover, problem->blocked, problem->n_blocked, n_edges);
}

void
tessera_ejection_take_out (TesseraEjection *ejection, uint32_t item)
{
  Mover mover = mover_of (ejection->problem, &item);
  for (uint32_t i = 0; i < mover.n_items; i++)
    ejection->offsets[mover.items[i]] = TESSERA_NOWHERE;
  tessera_waiting_push (&ejection->waiting, mover.items[0]);
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
    if (!is_pinned (ejection->problem, ejection->meetings[i].other))
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
  size_t n = 0, n_edges;
  for (uint32_t i = 0; i < mover.n_items && n != SIZE_MAX; i++)
    n = meet (ejection, mover.items[i], n);
  if (n == SIZE_MAX || mover.height_bytes > target_bytes)
    return false;
  n_edges = list_edges (ejection, &mover, n);
  if (n_edges == SIZE_MAX)
    return false;
  ejection->looks += n_edges;
  uint64_t base = tessera_cheapest_offset (ejection->lows, ejection->highs,
                                           ejection->scratch, n_edges, mover.height_bytes,
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
  tessera_waiting_empty (&ejection->waiting);
  memset (ejection->n_gone, 0, ejection->problem->n_items * sizeof *ejection->n_gone);
  ejection->looks += ejection->problem->n_items / ITEMS_A_LOOK;
}

void
tessera_ejection_take_out_above (TesseraEjection *ejection, uint64_t target_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (ejection->offsets[i] != TESSERA_NOWHERE && !is_pinned (problem, i) &&
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
  size_t fewest = ejection->waiting.n_waiting;
  uint64_t last_looks = ejection->looks;
  for (uint32_t step = 0; ejection->waiting.n_waiting > 0; step++)
    {
      if (step % PROGRESS_EVERY == 0 &&
          !tessera_progress (options->progress, options->fraction))
        ejection->is_cancelled = true;
      if (ejection->is_cancelled || ejection->looks >= options->looks ||
          ejection->looks - last_looks > patience)
        return false;
      uint32_t item = tessera_waiting_pop (&ejection->waiting);
      if (!put (ejection, item, target_bytes))
        {
          tessera_waiting_push (&ejection->waiting, item);
          return false;
        }
      if (ejection->waiting.n_waiting >= fewest)
        continue;
      fewest = ejection->waiting.n_waiting;
      last_looks = ejection->looks;
    }
  return true;
}
