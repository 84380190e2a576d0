/*
 * A plan under a cap: fewer slots, until the pool is no higher; see cap.h.
 *
 * What the packing takes above the load is taken off in the next round, so a few rounds
 * do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/cap.h"

#include <stdlib.h>
#include <string.h>

#include "planner/plan/build.h"

/* A round takes off what the layout was too high by. From the fifth on it takes off at
 * least a 256th of what is left, each time twice as much, up to an eighth. */
#define PATIENT_ROUNDS 4
#define LEAST_SHIFT 8
#define MOST_SHIFT 3
#define MOST_ROUNDS 64

/* By zone, then by these moments of both. */
static int
compare (const TesseraCapLife *x, const TesseraCapLife *y, uint32_t of_x, uint32_t of_y)
{
  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (of_x != of_y)
    return of_x < of_y ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int
by_begin (const void *a, const void *b)
{
  const TesseraCapLife *x = a, *y = b;

  return compare (x, y, x->begin, y->begin);
}

static int
by_end (const void *a, const void *b)
{
  const TesseraCapLife *x = a, *y = b;

  return compare (x, y, x->end, y->end);
}

typedef struct
{
  TesseraCapItem *items;
  TesseraCapLife *begins, *ends; /* [n_lives] each, by zone */
  size_t n_lives;
} Cap;

static int
by_weight (gconstpointer a, gconstpointer b, gpointer items)
{
  uint32_t x = GPOINTER_TO_UINT (a), y = GPOINTER_TO_UINT (b);
  double of_x = ((const TesseraCapItem *) items)[x].weight;
  double of_y = ((const TesseraCapItem *) items)[y].weight;

  if (of_x != of_y)
    return of_x < of_y ? -1 : 1;
  return (x > y) - (x < y);
}

/* Walks over the lives [first, last) of one zone; where the load exceeds @most_bytes
 * items go, while any can. Returns: the highest load that is left. */
static uint64_t
sweep (Cap *cap, size_t first, size_t last, uint64_t most_bytes)
{
  TesseraCapItem *items = cap->items;
  g_autoptr (GTree) alive = g_tree_new_with_data (by_weight, items); /* what may go */
  uint64_t load = 0, peak = 0;
  size_t ended = first;

  for (size_t i = first; i < last; i++)
    {
      const TesseraCapLife *life = &cap->begins[i];
      GTreeNode *lightest;

      for (; cap->ends[ended].end <= life->begin; ended++)
        if (!items[cap->ends[ended].item].is_gone)
          {
            load -= items[cap->ends[ended].item].size_bytes;
            g_tree_remove (alive, GUINT_TO_POINTER (cap->ends[ended].item));
          }
      if (items[life->item].is_gone)
        continue;
      load += items[life->item].size_bytes;
      if (!items[life->item].stays)
        g_tree_insert (alive, GUINT_TO_POINTER (life->item), NULL);
      while (load > most_bytes && (lightest = g_tree_node_first (alive)) != NULL)
        {
          uint32_t item = GPOINTER_TO_UINT (g_tree_node_key (lightest));

          items[item].is_gone = true;
          load -= items[item].size_bytes;
          g_tree_remove (alive, GUINT_TO_POINTER (item));
        }
      peak = MAX (load, peak);
    }
  return peak;
}

/* Calls sweep() on each zone, with its share of @most_bytes by @peaks (NULL: no limit,
 * and the sum of peaks is wanted). */
static uint64_t
sweep_zones (Cap *cap, uint64_t most_bytes, uint64_t all_peaks, uint64_t *peaks)
{
  uint64_t sum = 0;
  size_t zone = 0;

  for (size_t i = 0, end; i < cap->n_lives; i = end, zone++)
    {
      uint64_t share = UINT64_MAX;

      for (end = i + 1;
           end < cap->n_lives && cap->begins[end].zone == cap->begins[i].zone;)
        end++;
      if (all_peaks)
        share = (uint64_t) ((double) most_bytes *
                            ((double) peaks[zone] / (double) all_peaks));
      sum += all_peaks ? sweep (cap, i, end, share)
                       : (peaks[zone] = sweep (cap, i, end, share));
    }
  return sum;
}

void
tessera_cap_choose (TesseraCapItem *items,
                    TesseraCapLife *lives,
                    size_t n_lives,
                    uint64_t most_bytes)
{
  g_autofree TesseraCapLife *ends = g_new (TesseraCapLife, n_lives + 1);
  g_autofree uint64_t *peaks = g_new0 (uint64_t, n_lives + 1);
  Cap cap = { .items = items, .begins = lives, .ends = ends, .n_lives = n_lives };
  uint64_t all_peaks;

  if (n_lives == 0)
    return;
  for (size_t i = 0; i < n_lives; i++)
    items[lives[i].item].weight += (double) items[lives[i].item].size_bytes *
                                   (double) (lives[i].end - lives[i].begin);
  memcpy (ends, lives, n_lives * sizeof *ends);
  qsort (lives, n_lives, sizeof *lives, by_begin);
  qsort (ends, n_lives, sizeof *ends, by_end);
  all_peaks = sweep_zones (&cap, 0, 0, peaks);
  if (all_peaks > 0)
    sweep_zones (&cap, most_bytes, all_peaks, peaks);
}

/* Items are slots, and behind them carries. What a carry holds it holds in every kind of
 * step, so all of it stays or goes. */
typedef struct
{
  const TesseraPlanBuild *build;
  TesseraCapItem *items;
  TesseraCapLife *lives;
  size_t n_lives, cap_lives;
} List;

static void
add_life (List *list, const TesseraSlot *like, uint32_t begin, uint32_t end, size_t item)
{
  if (begin >= end)
    return;
  TESSERA_GROW (list->lives, list->cap_lives, list->n_lives + 1);
  list->items[item].size_bytes = like->block_bytes;
  list->lives[list->n_lives++] =
      (TesseraCapLife){ .zone = tessera_build_owner (list->build, like),
                        .begin = begin,
                        .end = end,
                        .item = (uint32_t) item };
}

static void
add_carry (List *list, uint32_t index)
{
  const TesseraUnits *units = list->build->units;
  const TesseraCarries *carries = &list->build->carries;
  const TesseraCarry *carry = &carries->carries[index];
  const TesseraSlot like = { .block_bytes = carry->block_bytes,
                             .stream = carry->stream,
                             .pool = carry->pool };
  size_t item = list->build->plan->n_slots + index;
  bool is_spare = true;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      add_life (list, &like, units->kinds[k].begin, carry->ends[k], item);
      if (carry->requests[k] == TESSERA_NONE)
        continue;
      is_spare = false;
      if (!carry->is_turn)
        add_life (list, &like, carries->requests[carry->requests[k]].born,
                  units->kinds[k].end, item);
    }
  add_life (list, &like, units->first_end, carry->after, item);
  if (carry->start != TESSERA_NONE)
    add_life (list, &like, units->blocks->blocks[carry->start].born_index, units->begin,
              item);
  list->items[item].stays = is_spare;
}

static size_t
item_of (const TesseraPlanBuild *build, size_t slot)
{
  uint32_t carry = build->carries.of_slot[slot];

  return carry != TESSERA_NONE ? build->plan->n_slots + carry : slot;
}

static void
list_items (List *list)
{
  const TesseraPlanBuild *build = list->build;
  const TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < plan->n_slots; i++)
    if (build->carries.of_slot[i] == TESSERA_NONE)
      add_life (list, &plan->slots[i], plan->slots[i].born, plan->slots[i].died, i);
  for (uint32_t i = 0; i < build->carries.n_carries; i++)
    add_carry (list, i);
  for (size_t i = 0; build->holds.is_held && i < plan->n_slots; i++)
    if (build->holds.is_held[i])
      list->items[item_of (build, i)].stays = true;
}

/* Returns: how many slots go. */
static size_t
leave_out (TesseraPlanBuild *build, uint64_t most_bytes)
{
  const TesseraPlan *plan = build->plan;
  size_t n_lost = 0;
  List list = { .build = build,
                .items = g_new0 (TesseraCapItem,
                                 plan->n_slots + build->carries.n_carries + 1) };

  list_items (&list);
  tessera_cap_choose (list.items, list.lives, list.n_lives, most_bytes);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (list.items[item_of (build, i)].is_gone && !tessera_build_is_spare (build, i))
      {
        tessera_build_mark_left_out (build, plan->slots[i].block,
                                     build->constraints.cap_edit + 1);
        n_lost++;
      }
  free (list.items);
  free (list.lives);
  return n_lost;
}

/* A pin beyond the cap can't be had, whatever else goes. */
static TesseraStatus
check_pins (const TesseraPlanBuild *build)
{
  for (size_t h = 0; h < build->holds.n_holds; h++)
    {
      const TesseraHold *hold = &build->holds.holds[h];

      for (size_t i = 0; hold->kind == TESSERA_EDIT_PIN && i < hold->n_slots; i++)
        if (hold->offsets[i] + build->plan->slots[hold->slots[i]].block_bytes >
            build->constraints.cap_bytes)
          return tessera_complain (&build->complaint, hold->edit,
                                   build->constraints.cap_edit,
                                   "what is pinned lies above the cap");
    }
  return TESSERA_OK;
}

/* What stays has no room: of edits that hold something the first is named. */
static TesseraStatus
give_up (const TesseraPlanBuild *build)
{
  return tessera_complain (
      &build->complaint,
      build->holds.n_holds > 0 ? build->holds.holds[0].edit : build->constraints.cap_edit,
      build->constraints.cap_edit, "what other edits hold takes more than the pool may");
}

static uint64_t
least_step (uint64_t most_bytes, int round)
{
  int shift = LEAST_SHIFT - (round - PATIENT_ROUNDS);

  if (round < PATIENT_ROUNDS)
    return 0;
  return most_bytes >> (shift > MOST_SHIFT ? shift : MOST_SHIFT);
}

/* So much may the load be in a round, from what the layout before came to. */
static uint64_t
most_of_round (const TesseraPlanBuild *build, uint64_t most_bytes, int round)
{
  uint64_t over_bytes = build->plan->height_bytes - build->constraints.cap_bytes;
  uint64_t least_bytes = least_step (most_bytes, round);

  if (round == 0)
    return build->constraints.cap_bytes;
  over_bytes = over_bytes > least_bytes ? over_bytes : least_bytes;
  return over_bytes < most_bytes ? most_bytes - over_bytes : 0;
}

static TesseraStatus
lose_some (TesseraPlanBuild *build, uint64_t most_bytes, bool is_last)
{
  size_t n_lost = leave_out (build, most_bytes);

  if (n_lost == 0 && (most_bytes == 0 || is_last))
    return give_up (build);
  return tessera_build_layout (build);
}

TesseraStatus
tessera_build_under_cap (TesseraPlanBuild *build)
{
  uint64_t most_bytes = 0;
  TesseraStatus status = check_pins (build);

  for (int round = 0;
       status == TESSERA_OK && build->plan->height_bytes > build->constraints.cap_bytes;
       round++)
    {
      most_bytes = most_of_round (build, most_bytes, round);
      status = lose_some (build, most_bytes, round == MOST_ROUNDS);
    }
  return status;
}
