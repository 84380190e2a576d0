/*
 * Where a search stands. See private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/private.h"

#include <string.h>

#include "planner/memory.h"

void
tessera_exact_state_init (TesseraExactState *state, const TesseraCore *core)
{
  const size_t n_items = core->n_items, n_sections = core->n_sections;
  const size_t n_members = core->members_begin[n_sections];
  *state = (TesseraExactState){
    .core = core,
    .floors = g_new0 (uint64_t, n_items),
    .placed = g_new0 (uint64_t, n_items),
    .blocked = g_new0 (uint64_t, n_items),
    .level = g_new0 (uint64_t, n_sections),
    .reach = g_new0 (uint64_t, n_sections),
    .weights = g_new0 (uint64_t, n_sections),
    .in_order = g_new (uint32_t, n_members + 1),
    .touched = g_new (uint32_t, n_sections),
    .is_touched = g_new0 (uint8_t, n_sections),
  };
  memcpy (state->in_order, core->members, n_members * sizeof *state->in_order);
}

void
tessera_exact_state_clear (TesseraExactState *state)
{
  uint64_t *of_items[] = { state->floors, state->placed, state->blocked };
  uint64_t *of_sections[] = { state->level, state->reach, state->weights };
  for (size_t k = 0; k < G_N_ELEMENTS (of_items); k++)
    g_free (of_items[k]);
  for (size_t k = 0; k < G_N_ELEMENTS (of_sections); k++)
    g_free (of_sections[k]);
  g_free (state->in_order);
  g_free (state->touched);
  g_free (state->is_touched);
  g_free (state->trail);
}

static void
change (TesseraExactState *state, uint64_t *where, uint64_t value)
{
  if (state->n_trail == state->trail_capacity)
    TESSERA_GROW (state->trail, state->trail_capacity, state->n_trail + 1);
  state->trail[state->n_trail++] = (TesseraTrailEntry){ where, *where };
  *where = value;
}

void
tessera_exact_state_undo (TesseraExactState *state, size_t n_trail)
{
  while (state->n_trail > n_trail)
    {
      const TesseraTrailEntry *entry = &state->trail[--state->n_trail];
      *entry->where = entry->before;
    }
}

static void
touch (TesseraExactState *state, uint32_t begin, uint32_t end)
{
  for (uint32_t s = begin; s < end; s++)
    if (!state->is_touched[s])
      {
        state->is_touched[s] = 1;
        state->touched[state->n_touched++] = s;
      }
}

static void
note_change (TesseraExactState *state, uint32_t item)
{
  const TesseraCoreItem *it = &state->core->items[item];
  state->has_changed = true;
  touch (state, it->begin2, it->end2);
  touch (state, it->begin, it->end);
}

static bool
raise_floor (TesseraExactState *state, uint32_t item, uint64_t floor)
{
  if (floor <= state->floors[item])
    return true;
  if (floor + state->core->items[item].size > state->core->capacity)
    return false;
  change (state, &state->floors[item], floor);
  note_change (state, item);
  return true;
}

/* An item that was put off lies above one of those that get in its way. */
static bool
raise_above_blockers (TesseraExactState *state, uint32_t item, uint64_t blocked)
{
  const TesseraCore *core = state->core;
  uint64_t lowest_top = UINT64_MAX;
  uint32_t begin = core->near_begin[item], end = core->near_begin[item + 1];
  state->work += end - begin;
  for (uint32_t k = begin; k < end; k++)
    {
      uint32_t other = core->near[k];
      if (state->placed[other] || state->floors[other] >= blocked)
        continue;
      uint64_t top = state->floors[other] + core->items[other].size;
      lowest_top = top < lowest_top ? top : lowest_top;
    }
  return lowest_top != UINT64_MAX && raise_floor (state, item, lowest_top);
}

static bool
is_near_change (const TesseraExactState *state, const TesseraCoreItem *item)
{
  for (uint32_t s = item->begin; s < item->end; s++)
    if (state->is_touched[s])
      return true;
  for (uint32_t s = item->begin2; s < item->end2; s++)
    if (state->is_touched[s])
      return true;
  return false;
}

/* All that were put off and what they wait for may have changed. */
static bool
raise_blocked (TesseraExactState *state)
{
  const TesseraCore *core = state->core;
  if (state->n_blocked == 0)
    return true;
  state->work += core->n_items;
  for (uint32_t i = 0; i < core->n_items; i++)
    if (state->blocked[i] != 0 && !state->placed[i] &&
        is_near_change (state, &core->items[i]) &&
        !raise_above_blockers (state, i, state->blocked[i]))
      return false;
  return true;
}

/* Ascending floors; what a moment ago was in order is nearly so. */
static void
sort_members (const TesseraExactState *state, uint32_t *members, uint32_t n_members)
{
  for (uint32_t k = 1; k < n_members; k++)
    {
      uint32_t item = members[k], at = k;
      uint64_t floor = state->floors[item];
      for (; at > 0 && state->floors[members[at - 1]] > floor; at--)
        members[at] = members[at - 1];
      members[at] = item;
    }
}

/* Brings level and reach of a section up to date. False: refused. */
static bool
look_at_section (TesseraExactState *state, uint32_t section)
{
  const TesseraCore *core = state->core;
  uint32_t begin = core->members_begin[section];
  uint32_t n_members = core->members_begin[section + 1] - begin;
  uint32_t *members = &state->in_order[begin];
  uint64_t level = UINT64_MAX, reach = 0;
  state->work += n_members * 2;
  sort_members (state, members, n_members);
  for (uint32_t k = 0; k < n_members; k++)
    {
      uint32_t item = members[k];
      if (state->placed[item])
        continue;
      uint64_t floor = state->floors[item];
      level = level == UINT64_MAX ? floor : level;
      reach = (floor > reach ? floor : reach) + core->items[item].size;
    }
  if (level != state->level[section])
    change (state, &state->level[section], level);
  if (reach != state->reach[section])
    change (state, &state->reach[section], reach);
  return reach <= core->capacity;
}

/* Until nothing follows any more, or the state is refused. */
static bool
settle (TesseraExactState *state, bool is_possible)
{
  while (is_possible && state->has_changed)
    {
      state->has_changed = false;
      is_possible = raise_blocked (state);
    }
  state->has_changed = false;
  for (uint32_t k = 0; k < state->n_touched; k++)
    {
      uint32_t section = state->touched[k];
      state->is_touched[section] = 0;
      if (is_possible && !look_at_section (state, section))
        {
          is_possible = false;
          state->weights[section]++;
        }
    }
  state->n_touched = 0;
  return is_possible;
}

bool
tessera_exact_state_start (TesseraExactState *state)
{
  const TesseraCore *core = state->core;
  for (uint32_t i = 0; i < core->n_items; i++)
    {
      const TesseraCoreItem *item = &core->items[i];
      note_change (state, i);
      if (item->size > core->capacity)
        return settle (state, false);
    }
  return settle (state, true);
}

bool
tessera_exact_state_place (TesseraExactState *state, uint32_t item)
{
  const TesseraCore *core = state->core;
  uint64_t floor = state->floors[item], top = floor + core->items[item].size;
  bool is_possible = true;
  uint32_t end = core->near_begin[item + 1];
  change (state, &state->placed[item], 1);
  note_change (state, item);
  state->work += end - core->near_begin[item];
  for (uint32_t k = core->near_begin[item]; k < end && is_possible; k++)
    {
      uint32_t other = core->near[k];
      if (state->placed[other])
        continue;
      if (state->blocked[other] > floor)
        {
          change (state, &state->blocked[other], 0);
          change (state, &state->n_blocked, state->n_blocked - 1);
        }
      is_possible = raise_floor (state, other, top);
    }
  return settle (state, is_possible);
}

bool
tessera_exact_state_put_off (TesseraExactState *state, uint32_t item)
{
  change (state, &state->blocked[item],
          state->floors[item] + state->core->items[item].size);
  change (state, &state->n_blocked, state->n_blocked + 1);
  note_change (state, item);
  return settle (state, true);
}

static bool
is_level (const TesseraExactState *state, uint32_t begin, uint32_t end, uint64_t floor)
{
  for (uint32_t s = begin; s < end; s++)
    if (state->level[s] != floor)
      return false;
  return true;
}

bool
tessera_exact_state_is_lowest (const TesseraExactState *state, uint32_t item)
{
  const TesseraCoreItem *it = &state->core->items[item];
  uint64_t floor = state->floors[item];
  return is_level (state, it->begin, it->end, floor) &&
         is_level (state, it->begin2, it->end2, floor);
}
