/*
 * A plan under a cap: see cap.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/cap.h"

#include <stdlib.h>
#include <string.h>

/* A round takes off what the layout was too high by. From the fifth on it takes off at
 * least a 256th of what is left, each time twice as much, up to an eighth. */
#define PATIENT_ROUNDS 4
#define LEAST_SHIFT 8
#define MOST_SHIFT 3
#define MOST_ROUNDS 64

static int
by_begin (const void *a, const void *b)
{
  const TesseraCapLife *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

static int
by_end (const void *a, const void *b)
{
  const TesseraCapLife *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
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

static void
list_lives (const TesseraPlanBuild *build,
            TesseraCapItem *items,
            TesseraCapLife *lives,
            size_t *out_n_lives)
{
  size_t n = 0;

  for (uint32_t i = 0; i < build->n_items; i++)
    {
      const TesseraItem *item = &build->items[i];

      items[i] = (TesseraCapItem){ .size_bytes = item->size_bytes };
      lives[n++] = (TesseraCapLife){ item->zone, item->begin, item->end, i };
      if (item->begin2 < item->end2)
        lives[n++] = (TesseraCapLife){ item->zone, item->begin2, item->end2, i };
    }
  *out_n_lives = n;
  for (size_t i = 0; i < build->plan->n_slots; i++)
    if (tessera_build_is_spare (build, i) ||
        (build->holds.is_held && build->holds.is_held[i]))
      items[build->item_of_slot[i]].stays = true;
}

/* Of one kind of step. */
static size_t
leave_out (TesseraPlanBuild *build, void *user, uint64_t most_bytes)
{
  g_autofree TesseraCapItem *items = g_new (TesseraCapItem, build->n_items + 1);
  g_autofree TesseraCapLife *lives = g_new (TesseraCapLife, 2 * build->n_items + 1);
  size_t n_lives, n_lost = 0;

  (void) user;
  list_lives (build, items, lives, &n_lives);
  tessera_cap_choose (items, lives, n_lives, most_bytes);
  for (size_t i = 0; i < build->plan->n_slots; i++)
    if (items[build->item_of_slot[i]].is_gone)
      {
        build->left_out[build->plan->slots[i].block] = build->constraints.cap_edit + 1;
        n_lost++;
      }
  return n_lost;
}

static TesseraStatus
lay_out (TesseraPlanBuild *build, void *user)
{
  (void) user;
  return tessera_build_layout (build);
}

const TesseraCapWays tessera_cap_of_one_kind = { leave_out, lay_out };

/* A pin beyond the cap can't be had, whatever else goes. */
static TesseraStatus
check_pins (const TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);

  for (size_t h = 0; h < build->holds.n_holds; h++)
    {
      const TesseraHold *hold = &build->holds.holds[h];

      for (size_t i = 0; hold->kind == TESSERA_EDIT_PIN && i < hold->n_slots; i++)
        if (hold->offsets[i] + build->plan->slots[hold->slots[i]].block_bytes >
            build->constraints.cap_bytes)
          return tessera_complain (&complaint, hold->edit, build->constraints.cap_edit,
                                   "what is pinned lies above the cap");
    }
  return TESSERA_OK;
}

/* What stays has no room: of edits that hold something the first is named. */
static TesseraStatus
give_up (const TesseraPlanBuild *build)
{
  const TesseraComplaint complaint = tessera_build_complaint (build);

  return tessera_complain (
      &complaint,
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
lose_some (TesseraPlanBuild *build,
           const TesseraCapWays *ways,
           void *user,
           uint64_t most_bytes,
           bool is_last)
{
  size_t n_lost = ways->leave_out (build, user, most_bytes);

  if (n_lost == 0 && (most_bytes == 0 || is_last))
    return give_up (build);
  return ways->lay_out (build, user);
}

/* What is left of a layout is nearer to the next one than the plan before the cap. */
static void
note_last (TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;

  if (!build->last)
    return;
  memset (build->last, 0xff, build->blocks->n_blocks * sizeof *build->last);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block < build->blocks->n_blocks)
      build->last[plan->slots[i].block] = plan->slots[i].offset_bytes;
}

TesseraStatus
tessera_build_under_cap (TesseraPlanBuild *build, const TesseraCapWays *ways, void *user)
{
  uint64_t most_bytes = 0;
  TesseraStatus status = check_pins (build);

  if (build->options->is_preview)
    build->last = g_new (uint64_t, build->blocks->n_blocks + 1);
  for (int round = 0;
       status == TESSERA_OK && build->plan->height_bytes > build->constraints.cap_bytes;
       round++)
    {
      most_bytes = most_of_round (build, most_bytes, round);
      note_last (build);
      status = lose_some (build, ways, user, most_bytes, round == MOST_ROUNDS);
    }
  free (build->last);
  build->last = NULL;
  return status;
}
