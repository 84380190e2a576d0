/*
 * What items are held to, and where they lay before. See private.h.
 *
 * Whether fixed items overlap is asked of those that are placed, in ascending order of
 * their offsets: one lies free exactly when it fits there. Bodies are asked the same way,
 * each for itself, at places above all pins and one body above the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

static TesseraStatus
refuse (uint32_t conflict[2], uint32_t a, uint32_t b)
{
  conflict[0] = a < b ? a : b;
  conflict[1] = a < b ? b : a;
  return TESSERA_REFUSED;
}

/* Of one body, whose items are those of @members: the first that is pinned pins all. What
 * is pinned keeps its distances by itself, so the body is none any more: zones that share
 * one can be placed one after the other. */
static TesseraStatus
pin_body (TesseraItem *items,
          const TesseraKeyed *members,
          size_t n_members,
          uint32_t conflict[2])
{
  size_t first = 0;
  while (first < n_members && !items[members[first].value].is_pinned)
    first++;
  if (first == n_members)
    return TESSERA_OK;
  const TesseraItem *pinned = &items[members[first].value];
  if (pinned->pinned_bytes < pinned->body_offset_bytes)
    return refuse (conflict, members[first].value, members[first].value);
  uint64_t base = pinned->pinned_bytes - pinned->body_offset_bytes;
  for (size_t i = 0; i < n_members; i++)
    {
      TesseraItem *item = &items[members[i].value];
      uint64_t place = base + item->body_offset_bytes;
      if (item->is_pinned && item->pinned_bytes != place)
        return refuse (conflict, members[first].value, members[i].value);
      item->is_pinned = 1;
      item->pinned_bytes = place;
      item->body = 0;
      item->body_offset_bytes = 0;
    }
  return TESSERA_OK;
}

static TesseraStatus
number_bodies (TesseraItem *items, size_t n_items, uint32_t conflict[2])
{
  TesseraKeyed *entries = g_new (TesseraKeyed, n_items);
  TesseraStatus status = TESSERA_OK;
  size_t n_entries = 0;
  uint32_t n_bodies = 0;
  for (size_t i = 0; i < n_items; i++)
    if (items[i].body != 0)
      entries[n_entries++] = (TesseraKeyed){ items[i].body, (uint32_t) i };
    else
      items[i].body_offset_bytes = 0;
  tessera_sort (entries, n_entries);
  for (size_t begin = 0, end; begin < n_entries && status == TESSERA_OK; begin = end)
    {
      n_bodies++;
      for (end = begin; end < n_entries && entries[end].key == entries[begin].key; end++)
        items[entries[end].value].body = n_bodies;
      status = pin_body (items, &entries[begin], end - begin, conflict);
    }
  g_free (entries);
  return status;
}

/* The places of what is fixed: pins where they are, and above all of these bodies, which
 * can lie anywhere, one on top of the other. Returns: how many there are. */
static size_t
list_fixed (const TesseraPackProblem *problem, TesseraKeyed *entries)
{
  size_t n_entries = 0;
  uint64_t top = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (tessera_pack_is_pinned (problem, i))
      {
        const uint64_t place = problem->limits[i].pinned_bytes;
        entries[n_entries++] = (TesseraKeyed){ place, i };
        top = MAX (top, place + problem->items[i].size_bytes);
      }
  for (uint32_t b = 1; b <= problem->n_bodies; b++)
    {
      const uint64_t base = top;
      for (uint32_t k = problem->body_ends[b - 1]; k < problem->body_ends[b]; k++)
        {
          const uint32_t i = problem->body_items[k];
          const uint64_t place = base + problem->limits[i].body_offset_bytes;
          entries[n_entries++] = (TesseraKeyed){ place, i };
          top = MAX (top, place + problem->items[i].size_bytes);
        }
    }
  return n_entries;
}

/* Whose entry, among those before the @k-th, reaches above it and may not share. */
static TesseraStatus
refuse_entry (const TesseraPackProblem *problem,
              const TesseraKeyed *entries,
              size_t k,
              uint32_t conflict[2])
{
  uint32_t item = entries[k].value;
  for (size_t i = k; i-- > 0;)
    {
      uint32_t other = entries[i].value;
      if (entries[i].key + problem->items[other].size_bytes > entries[k].key &&
          tessera_pack_meet (problem, item, other))
        return refuse (conflict, problem->items[item].source,
                       problem->items[other].source);
    }
  return TESSERA_OK;
}

/* Of what is fixed alone: all others can be placed around. */
static TesseraStatus
check (const TesseraPackProblem *problem, uint32_t conflict[2])
{
  TesseraStatus status = TESSERA_OK;
  TesseraKeyed *entries = g_new (TesseraKeyed, problem->n_items);
  const size_t n_entries = list_fixed (problem, entries);
  TesseraPlaced placed;
  tessera_sort (entries, n_entries);
  tessera_placed_init (&placed, problem, n_entries);
  for (size_t k = 0; k < n_entries && status == TESSERA_OK; k++)
    {
      const uint32_t item = entries[k].value;
      if (tessera_placed_fit (&placed, item, entries[k].key) > entries[k].key)
        status = refuse_entry (problem, entries, k, conflict);
      tessera_placed_put (&placed, item, entries[k].key);
    }
  tessera_placed_clear (&placed);
  g_free (entries);
  return status;
}

TesseraStatus
tessera_pack_settle_limits (TesseraItem *items, size_t n_items, uint32_t conflict[2])
{
  uint32_t *members = g_new (uint32_t, n_items);
  size_t n_members = 0;
  TesseraStatus status = number_bodies (items, n_items, conflict);
  for (uint32_t i = 0; i < n_items; i++)
    if (items[i].is_pinned || items[i].body != 0)
      members[n_members++] = i;
  if (status == TESSERA_OK && n_members > 0)
    {
      TesseraPackProblem *problem =
          tessera_pack_problem_new (items, members, n_members, NULL);
      status = check (problem, conflict);
      tessera_pack_problem_free (problem);
    }
  g_free (members);
  return status;
}

/* ---- the bound that sets give: no two items of a set that is apart from itself share an
 * address, so they take the sum of their sizes; and what is alive from the first of their
 * births to the last of their deaths is alive with each of them, and takes its own on top
 */

/* Returns: whether no two of the set share an address, and the item is of it. */
static bool
is_of (const TesseraPackProblem *problem, size_t item, uint64_t set)
{
  const TesseraItem *limit = &problem->limits[item];
  return (limit->in & limit->apart & set) != 0;
}

static uint64_t
bound_of_set (const TesseraPackProblem *problem, uint64_t set)
{
  uint64_t bytes = 0;
  uint32_t begin = UINT32_MAX, end = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      if (!is_of (problem, i, set))
        continue;
      bytes += item->size_bytes;
      begin = MIN (begin, tessera_pack_first_section (item));
      end = MAX (end, tessera_pack_last_section (item));
    }
  for (size_t i = 0; i < problem->n_items; i++)
    if (begin < end && !is_of (problem, i, set) &&
        problem->items[i].lives.begin <= begin && problem->items[i].lives.end >= end)
      bytes += problem->items[i].size_bytes;
  return bytes;
}

uint64_t
tessera_pack_apart_bound (const TesseraPackProblem *problem)
{
  uint64_t sets = 0, most = 0;
  for (size_t i = 0; problem->has_sets && i < problem->n_items; i++)
    sets |= problem->limits[i].in & problem->limits[i].apart;
  for (; sets != 0; sets &= sets - 1)
    {
      uint64_t bytes = bound_of_set (problem, sets & -sets);
      most = MAX (most, bytes);
    }
  return most;
}

/* ---- where the items lay before ---- */

/* Where somebody leaves, or goes with others, others need not leave room. */
static bool
has_left (const TesseraPackProblem *problem, uint32_t item)
{
  return tessera_pack_is_pinned (problem, item) || tessera_pack_body (problem, item) != 0;
}

void
tessera_pack_find_hints (TesseraPackProblem *problem, const uint64_t *former)
{
  TesseraKeyed *places = g_new (TesseraKeyed, problem->n_items + 1);
  size_t n_places = 0;
  uint64_t used_bytes = 0, top_bytes = 0; /* of what was passed on the way up */
  problem->hints = g_new (uint64_t, problem->n_items + 1);
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      uint64_t at_bytes = former[problem->items[i].source];
      problem->hints[i] = TESSERA_NOWHERE;
      if (at_bytes <= TESSERA_PACK_MOST_BYTES) /* a hint may say anything */
        places[n_places++] = (TesseraKeyed){ at_bytes, i };
    }
  tessera_sort (places, n_places);
  for (size_t k = 0; k < n_places; k++)
    {
      uint32_t item = places[k].value;
      uint64_t begin_bytes = places[k].key;
      uint64_t end_bytes = begin_bytes + problem->items[item].size_bytes;
      bool is_above = begin_bytes >= top_bytes;
      problem->hints[item] = tessera_gaps_nth (
          problem->room, is_above ? used_bytes : used_bytes - (top_bytes - begin_bytes));
      if (has_left (problem, item) || end_bytes <= top_bytes)
        continue;
      used_bytes += end_bytes - (is_above ? begin_bytes : top_bytes);
      top_bytes = end_bytes;
    }
  g_free (places);
}
