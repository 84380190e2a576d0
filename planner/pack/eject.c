/*
 * Packing anew around the peak: ejection chains (Glover 1996; guided ejection search,
 * Nagata and Bräysy 2009). See private.h.
 *
 * What sticks out above a target is taken out and put back below it, the heaviest first:
 * where what is in its way weighs least, which then goes and waits in its turn. What has
 * had to go before weighs more each time, so that nobody turns in circles for long. When
 * nobody waits any more the target becomes the height, and a lower one is tried; when
 * that takes too long, one half as far away.
 *
 * Example: a block of 2 at offset 4 ends; one of 1 has come to lie on it, at 6, and one
 * of 3 on that, at 7: height 10, of a load of 8. The one of 3 is taken out and put at 4,
 * where only the small one is in its way; that waits, and goes to 7.
 *
 * What is pinned never goes, nor does a body: it came first, and lies low.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include <math.h>
#include <string.h>

/* The first target is so far of the way down to the bound. */
#define FIRST_PART 4
/* Targets nearer to the height than this part of the bound are not worth it. */
#define SMALLEST_PART (1u << 19)
/* Without fewer waiting than ever before, a target gets this part of the looks. */
#define PATIENCE_PART 8
/* So many places are looked for between two reports: a stop is noticed in milliseconds. */
#define PLACES_A_REPORT 256
/* To ask whether an item is alive together with another costs so much less than a look. */
#define ITEMS_A_LOOK 6

/* The heaviest item weighs so much. Who has had to go so often weighs no more if it goes
 * again: costs of 2^32 items are below 2^64. */
#define MOST_WEIGHT (1u << 20)
#define MOST_GONE 4095
/* Costs more than all that can go. */
#define FIXED UINT64_MAX

/* What lies where the item in hand would lie at some offset: at those from begin_bytes on,
 * below end_bytes. */
typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint64_t cost;  /* of having it go, or FIXED */
  uint32_t other; /* TESSERA_PACK_NO_ITEM: what is blocked */
} Obstacle;

typedef struct
{
  const TesseraPackProblem *problem;
  uint32_t *weights; /* [n_items] 1 or more: like the root of size x life */
  uint32_t *n_gone;  /* [n_items] how often it has had to go */
  uint64_t *offsets; /* [n_items] or TESSERA_NOWHERE */
  GArray *waiting;   /* of uint32_t */
  GArray *obstacles; /* of the item in hand */
  GArray *edges;     /* of TesseraKeyed: where they begin and end */
  uint64_t looks_left;
  uint64_t patience; /* looks that a target gets while nothing gets better */
  const TesseraProgress *progress;
  uint64_t n_places; /* looked for so far */
} Ejection;

static bool
stays (const TesseraPackProblem *problem, uint32_t item)
{
  return tessera_pack_is_pinned (problem, item) || tessera_pack_body (problem, item) != 0;
}

static void
weigh (Ejection *ejection)
{
  const TesseraPackProblem *problem = ejection->problem;
  double largest = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    largest = MAX (largest, (double) problem->items[i].size_bytes *
                                (double) problem->items[i].life_events);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const double area =
          (double) problem->items[i].size_bytes * (double) problem->items[i].life_events;
      ejection->weights[i] = (uint32_t) (sqrt (area / largest) * MOST_WEIGHT) + 1;
    }
}

/* ---- who waits ---- */

/* It waits from now on. */
static void
take_out (Ejection *ejection, uint32_t item)
{
  ejection->offsets[item] = TESSERA_NOWHERE;
  g_array_append_val (ejection->waiting, item);
}

/* The heaviest of those that wait, of several the first. */
static uint32_t
pop_waiting (Ejection *ejection)
{
  const uint32_t *waiting = (const uint32_t *) ejection->waiting->data;
  const uint32_t *weights = ejection->weights;
  guint best = 0;
  for (guint k = 1; k < ejection->waiting->len; k++)
    if (weights[waiting[k]] > weights[waiting[best]] ||
        (weights[waiting[k]] == weights[waiting[best]] && waiting[k] < waiting[best]))
      best = k;
  const uint32_t item = waiting[best];
  g_array_remove_index_fast (ejection->waiting, best);
  return item;
}

/* ---- the cheapest place ---- */

static uint64_t
cost_of (const Ejection *ejection, uint32_t item)
{
  if (stays (ejection->problem, item))
    return FIXED;
  return (uint64_t) ejection->weights[item] * (1 + ejection->n_gone[item]);
}

/* [@begin_bytes, @end_bytes) is taken as long as the item in hand, of @size_bytes, is
 * alive. */
static void
add_obstacle (Ejection *ejection,
              uint64_t size_bytes,
              uint64_t begin_bytes,
              uint64_t end_bytes,
              uint64_t cost,
              uint32_t other)
{
  const Obstacle obstacle = { begin_bytes < size_bytes ? 0 : begin_bytes - size_bytes + 1,
                              end_bytes, cost, other };
  g_array_append_val (ejection->obstacles, obstacle);
}

static void
list_obstacles (Ejection *ejection, uint32_t item)
{
  const TesseraPackProblem *problem = ejection->problem;
  const TesseraPackItem *items = problem->items;
  const uint64_t size_bytes = items[item].size_bytes;
  const uint32_t end = items[item].lives.end;
  const bool is_plain = problem->limits == NULL && !problem->has_second;
  uint32_t i = 0;
  g_array_set_size (ejection->obstacles, 0);
  for (; i < problem->n_items && (!is_plain || items[i].lives.begin < end); i++)
    if (ejection->offsets[i] != TESSERA_NOWHERE &&
        (is_plain ? items[i].lives.end > items[item].lives.begin
                  : tessera_pack_meet (problem, item, i)))
      add_obstacle (ejection, size_bytes, ejection->offsets[i],
                    ejection->offsets[i] + items[i].size_bytes, cost_of (ejection, i), i);
  for (guint k = 0; k < problem->room->len; k++)
    {
      const TesseraGap range = tessera_pack_blocked (problem, k);
      if (range.begin < range.end)
        add_obstacle (ejection, size_bytes, range.begin, range.end, FIXED,
                      TESSERA_PACK_NO_ITEM);
    }
  ejection->looks_left -= MIN (i / ITEMS_A_LOOK, ejection->looks_left);
}

/* Returns: the lowest of the offsets up to @limit_bytes at which what is in the way costs
 * least; TESSERA_NOWHERE: something fixed is in the way of all. What is in the way gets
 * less only where an obstacle ends: those are all the offsets to ask about, and 0. */
static uint64_t
cheapest_place (Ejection *ejection, uint64_t limit_bytes)
{
  const Obstacle *obstacles = (const Obstacle *) ejection->obstacles->data;
  const uint32_t n_edges = ejection->obstacles->len * 2;
  g_array_set_size (ejection->edges, n_edges);
  TesseraKeyed *edges = (TesseraKeyed *) ejection->edges->data;
  for (uint32_t i = 0; i < n_edges; i++)
    edges[i].key = i % 2 == 0 ? obstacles[i / 2].begin_bytes : obstacles[i / 2].end_bytes;
  for (uint32_t i = 0; i < n_edges; i++)
    edges[i].value = i;
  tessera_sort (edges, n_edges);
  uint64_t best = TESSERA_NOWHERE, best_cost = FIXED, cost = 0, place = 0;
  uint32_t n_fixed = 0;
  for (uint32_t i = 0; place <= limit_bytes && best_cost > 0;)
    {
      for (; i < n_edges && edges[i].key == place; i++)
        {
          const uint64_t of_one = obstacles[edges[i].value / 2].cost;
          const bool is_end = edges[i].value % 2 != 0;
          if (of_one == FIXED)
            n_fixed += is_end ? UINT32_MAX : 1;
          else
            cost += is_end ? -of_one : of_one;
        }
      if (n_fixed == 0 && cost < best_cost)
        {
          best = place;
          best_cost = cost;
        }
      if (i == n_edges)
        break;
      place = edges[i].key;
    }
  return best;
}

/* The item goes where those in its way cost least; these go. Returns: false where it has
 * no place. */
static bool
put (Ejection *ejection, uint32_t item, uint64_t target_bytes)
{
  const uint64_t size_bytes = ejection->problem->items[item].size_bytes;
  list_obstacles (ejection, item);
  const guint n = ejection->obstacles->len;
  ejection->looks_left -= MIN (n, ejection->looks_left);
  if (size_bytes > target_bytes)
    return false;
  const uint64_t place = cheapest_place (ejection, target_bytes - size_bytes);
  if (place == TESSERA_NOWHERE)
    return false;
  for (guint i = 0; i < n; i++)
    {
      const Obstacle *obstacle = &g_array_index (ejection->obstacles, Obstacle, i);
      if (place < obstacle->begin_bytes || place >= obstacle->end_bytes)
        continue;
      uint32_t *n_gone = &ejection->n_gone[obstacle->other];
      *n_gone = MIN (*n_gone + 1, MOST_GONE);
      take_out (ejection, obstacle->other);
    }
  ejection->offsets[item] = place;
  return true;
}

/* ---- targets ---- */

/* Whether whoever waits for the layout wants no more of it: no look is left then. */
static void
note_stop (Ejection *ejection)
{
  if (ejection->n_places++ % PLACES_A_REPORT == 0 &&
      !tessera_progress (ejection->progress, 0))
    ejection->looks_left = 0;
}

/* Takes out what sticks out of @offsets, and puts it back below the target. Returns: false
 * where the looks are spent, nothing gets better for long, or somebody has no place. */
static bool
reach (Ejection *ejection, const uint64_t *offsets, uint64_t target_bytes)
{
  const TesseraPackProblem *problem = ejection->problem;
  memcpy (ejection->offsets, offsets, problem->n_items * sizeof *offsets);
  memset (ejection->n_gone, 0, problem->n_items * sizeof *ejection->n_gone);
  g_array_set_size (ejection->waiting, 0);
  ejection->looks_left -= MIN (problem->n_items / ITEMS_A_LOOK, ejection->looks_left);
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (!tessera_pack_is_pinned (problem, i) &&
        ejection->offsets[i] + problem->items[i].size_bytes > target_bytes)
      {
        if (stays (problem, i))
          return false;
        take_out (ejection, i);
      }
  guint fewest = ejection->waiting->len;
  for (uint64_t last = ejection->looks_left; ejection->waiting->len > 0;)
    {
      note_stop (ejection);
      if (ejection->looks_left == 0 || last - ejection->looks_left > ejection->patience ||
          !put (ejection, pop_waiting (ejection), target_bytes))
        return false;
      if (ejection->waiting->len < fewest)
        {
          fewest = ejection->waiting->len;
          last = ejection->looks_left;
        }
    }
  return true;
}

bool
tessera_eject (const TesseraPackProblem *problem,
               uint64_t looks,
               const TesseraProgress *progress,
               uint64_t *offsets,
               uint64_t *height_bytes)
{
  const uint64_t bound_bytes = problem->bound_bytes, before_bytes = *height_bytes;
  const size_t n_items = problem->n_items;
  Ejection ejection = {
    .problem = problem,
    .weights = g_new (uint32_t, n_items),
    .n_gone = g_new (uint32_t, n_items),
    .offsets = g_new (uint64_t, n_items),
    .waiting = g_array_new (FALSE, FALSE, sizeof (uint32_t)),
    .obstacles = g_array_new (FALSE, FALSE, sizeof (Obstacle)),
    .edges = g_array_new (FALSE, FALSE, sizeof (TesseraKeyed)),
    .looks_left = looks,
    .patience = looks / PATIENCE_PART,
    .progress = progress,
  };
  weigh (&ejection);
  for (uint64_t step_bytes = (before_bytes - bound_bytes) / FIRST_PART + 1;
       *height_bytes > bound_bytes && step_bytes > bound_bytes / SMALLEST_PART &&
       ejection.looks_left > 0;)
    {
      step_bytes = MIN (step_bytes, *height_bytes - bound_bytes);
      if (reach (&ejection, offsets, *height_bytes - step_bytes))
        {
          memcpy (offsets, ejection.offsets, n_items * sizeof *offsets);
          *height_bytes = tessera_pack_height (problem, offsets);
        }
      else
        step_bytes /= 2;
    }
  g_free (ejection.weights);
  g_free (ejection.n_gone);
  g_free (ejection.offsets);
  g_array_unref (ejection.waiting);
  g_array_unref (ejection.obstacles);
  g_array_unref (ejection.edges);
  return *height_bytes < before_bytes;
}
