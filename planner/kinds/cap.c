/*
 * Several kinds of step under a cap: what loses its place, see planner/plan/cap.h. What a
 * carry holds it holds in every kind, so all of it stays or goes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "planner/kinds/plan.h"
#include "planner/plan/cap.h"

/* Items are slots, and behind them carries. */
typedef struct
{
  const TesseraPlanBuild *build;
  const TesseraCarries *carries;
  TesseraCapItem *items;
  TesseraCapLife *lives;
  size_t n_lives, cap_lives;
} Cap;

static void
add_life (Cap *cap, const TesseraSlot *like, uint32_t begin, uint32_t end, size_t item)
{
  if (begin >= end)
    return;
  TESSERA_GROW (cap->lives, cap->cap_lives, cap->n_lives + 1);
  cap->items[item].size_bytes = like->block_bytes;
  cap->lives[cap->n_lives++] =
      (TesseraCapLife){ .zone = tessera_build_splits_sizes (cap->build)
                                    ? tessera_build_owner (cap->build, like)
                                    : like->pool,
                        .begin = begin,
                        .end = end,
                        .item = (uint32_t) item };
}

static void
add_carry (Cap *cap, uint32_t index)
{
  const TesseraUnits *units = cap->carries->units;
  const TesseraCarry *carry = &cap->carries->carries[index];
  const TesseraSlot like = { .block_bytes = carry->block_bytes,
                             .stream = carry->stream,
                             .pool = carry->pool };
  size_t item = cap->build->plan->n_slots + index;
  bool is_spare = true;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      add_life (cap, &like, units->kinds[k].begin, carry->ends[k], item);
      if (carry->requests[k] == TESSERA_NONE)
        continue;
      is_spare = false;
      if (!carry->is_turn)
        add_life (cap, &like, cap->carries->requests[carry->requests[k]].born,
                  units->kinds[k].end, item);
    }
  add_life (cap, &like, units->first_end, carry->after, item);
  if (carry->start != TESSERA_NONE)
    add_life (cap, &like, units->blocks->blocks[carry->start].born_index, units->begin,
              item);
  cap->items[item].stays = is_spare;
}

static void
list_items (Cap *cap)
{
  const TesseraPlanBuild *build = cap->build;
  const TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < plan->n_slots; i++)
    if (cap->carries->of_slot[i] == TESSERA_NONE)
      add_life (cap, &plan->slots[i], plan->slots[i].born, plan->slots[i].died, i);
  for (uint32_t i = 0; i < cap->carries->n_carries; i++)
    add_carry (cap, i);
  for (size_t i = 0; build->holds.is_held && i < plan->n_slots; i++)
    if (build->holds.is_held[i])
      {
        uint32_t carry = cap->carries->of_slot[i];

        cap->items[carry != TESSERA_NONE ? plan->n_slots + carry : i].stays = true;
      }
}

static void
give_up_place (TesseraPlanBuild *build,
               const TesseraUnits *units,
               uint32_t block,
               size_t *n_lost)
{
  *n_lost += !build->left_out[block];
  tessera_kinds_mark_left_out (build, units, block, build->constraints.cap_edit + 1);
}

static void
give_up_carry (TesseraPlanBuild *build,
               const TesseraCarries *carries,
               const TesseraCarry *carry,
               size_t *n_lost)
{
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    if (carry->requests[k] != TESSERA_NONE)
      give_up_place (build, carries->units, carries->requests[carry->requests[k]].block,
                     n_lost);
  if (carry->start != TESSERA_NONE)
    give_up_place (build, carries->units, carry->start, n_lost);
}

static size_t
leave_out (TesseraPlanBuild *build, void *user, uint64_t most_bytes)
{
  const TesseraCarries *carries = &((TesseraKindsBuild *) user)->carries;
  size_t n_slots = build->plan->n_slots, n_lost = 0;
  size_t n_items = n_slots + carries->n_carries;
  Cap cap = { .build = build,
              .carries = carries,
              .items = g_new0 (TesseraCapItem, n_items + 1) };

  list_items (&cap);
  tessera_cap_choose (cap.items, cap.lives, cap.n_lives, most_bytes);
  for (size_t i = 0; i < n_items; i++)
    if (!cap.items[i].is_gone)
      continue;
    else if (i < n_slots)
      give_up_place (build, carries->units, build->plan->slots[i].block, &n_lost);
    else
      give_up_carry (build, carries, &carries->carries[i - n_slots], &n_lost);
  free (cap.items);
  free (cap.lives);
  return n_lost;
}

static TesseraStatus
lay_out (TesseraPlanBuild *build, void *user)
{
  return tessera_kinds_lay_out (build, user);
}

TesseraStatus
tessera_kinds_under_cap (TesseraPlanBuild *build, TesseraKindsBuild *kinds)
{
  static const TesseraCapWays ways = { leave_out, lay_out };

  return tessera_build_under_cap (build, &ways, kinds);
}
