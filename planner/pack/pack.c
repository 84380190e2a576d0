/*
 * Packing: the whole, zone by zone. See pack.h.
 *
 * Zones share nothing, so each is packed by itself and put on top of the one before; where
 * something is pinned, into what the zones before it leave of the pool. Zones that share
 * a body are one group. The sources of the methods: MiniMalloc (ASPLOS '23) for sections,
 * the lowest reachable offset and the refusal at a capacity; first fit by size is what
 * STAlloc (EuroSys '26) comes to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack.h"

#include "planner/pack/private.h"

#include <string.h>

/* What improving may cost when the caller does not say: about a second of one
 * processor. */
#define DEFAULT_WORK_BUDGET (UINT64_C (1) << 20)

/* Of a preview: some fiftieth of a second. */
#define PREVIEW_WORK_BUDGET (UINT64_C (1) << 15)

/* A zone of few blocks gets more than its share of the work, since it can be hard. */
#define LEAST_PART 4

#define NOTHING_TO_DO "stacked: all live always"

/* Which items are packed together. */
typedef struct
{
  uint32_t *items; /* by group, in it by zone, in that as the caller had them */
  size_t *ends;    /* [n_groups] where in items each ends */
  size_t n_groups; /* in the order of their lowest zones */
} Groups;

/* One call: what it was asked, and how far it has come. */
typedef struct
{
  const TesseraItem *items; /* the caller's, or held */
  TesseraItem *held;        /* with settled limits; NULL: nobody is held to anything */
  size_t n_items;
  TesseraPackOptions options; /* as they were asked for */
  TesseraPackJob job;         /* the group in work */
  uint64_t highest_pin_bytes;
  Groups groups;
  uint64_t *loads; /* [n_groups] peaks of the zones of each, summed */
  uint64_t *offsets;
  TesseraPacking packing;
  uint64_t highest_group_bytes; /* whose strategy is told */
  uint64_t base_bytes;          /* of the group in work, that live always */
  size_t n_left;                /* groups after it: nobody knows their height yet */
} Call;

/* ---- groups ---- */

/* The first member of the zone, or of what it was joined with; members are by zone. */
static uint32_t
find_root (uint32_t *parents, uint32_t at)
{
  while (parents[at] != at)
    at = parents[at] = parents[parents[at]];
  return at;
}

/* Bodies join the zones of their items. @members: by zone; their keys become those of
 * groups. */
static void
join_zones (TesseraKeyed *members, const TesseraItem *items, uint32_t n_items)
{
  if (n_items == 0)
    return;
  uint32_t *parents = g_new (uint32_t, n_items);
  uint32_t *first_of_body = g_new (uint32_t, (size_t) n_items + 1);
  memset (first_of_body, 0xff, ((size_t) n_items + 1) * sizeof *first_of_body);
  for (uint32_t i = 0; i < n_items; i++)
    parents[i] = i > 0 && members[i].key == members[i - 1].key ? parents[i - 1] : i;
  for (uint32_t i = 0; i < n_items; i++)
    {
      const uint32_t body = items[members[i].value].body;
      if (body == 0)
        continue;
      if (first_of_body[body] == UINT32_MAX)
        first_of_body[body] = i;
      uint32_t a = find_root (parents, first_of_body[body]);
      uint32_t b = find_root (parents, i);
      parents[MAX (a, b)] = MIN (a, b);
    }
  for (uint32_t i = 0; i < n_items; i++)
    members[i].key |= (uint64_t) find_root (parents, i) << 32;
  g_free (parents);
  g_free (first_of_body);
}

static void
groups_init (Groups *groups, const TesseraItem *items, size_t n_items)
{
  TesseraKeyed *members = g_new (TesseraKeyed, n_items);
  groups->items = g_new (uint32_t, n_items);
  groups->ends = g_new (size_t, n_items);
  for (uint32_t i = 0; i < n_items; i++)
    members[i] = (TesseraKeyed){ items[i].zone, i };
  tessera_sort (members, n_items);
  join_zones (members, items, (uint32_t) n_items);
  tessera_sort (members, n_items);
  for (size_t i = 0; i < n_items; i++)
    {
      groups->items[i] = members[i].value;
      if (i + 1 == n_items || members[i + 1].key >> 32 != members[i].key >> 32)
        groups->ends[groups->n_groups++] = i + 1;
    }
  g_free (members);
}

static size_t
group_begin (const Groups *groups, size_t group)
{
  return group == 0 ? 0 : groups->ends[group - 1];
}

/* The sum of the peaks of its zones. */
static uint64_t
load_of_group (const Groups *groups, const TesseraItem *items, size_t group)
{
  uint64_t load_bytes = 0;
  for (size_t begin = group_begin (groups, group), end; begin < groups->ends[group];
       begin = end)
    {
      const uint32_t zone = items[groups->items[begin]].zone;
      for (end = begin + 1;
           end < groups->ends[group] && items[groups->items[end]].zone == zone;)
        end++;
      load_bytes += tessera_pack_load (items, &groups->items[begin], end - begin);
    }
  return load_bytes;
}

/* ---- what a group can have, where something is pinned ---- */

/* All but where groups before lie, and what is pinned in those after. */
static GArray *
find_room (const Call *call, size_t group)
{
  const size_t begin = group_begin (&call->groups, group);
  GArray *room = tessera_gaps_new ();
  for (size_t i = 0; i < call->n_items; i++)
    {
      const uint32_t number = call->groups.items[i];
      const TesseraItem *item = &call->items[number];
      const uint64_t at = i < begin ? call->offsets[number] : item->pinned_bytes;
      if (i < begin || (item->is_pinned && i >= call->groups.ends[group]))
        tessera_gaps_take (room, at, at + item->size_bytes);
    }
  return room;
}

/* The least height under which @load_bytes are free. */
static uint64_t
least_height (const GArray *room, uint64_t load_bytes)
{
  return load_bytes > 0 ? tessera_gaps_nth (room, load_bytes - 1) + 1 : 0;
}

/* Tells the problem what its limits make of its bound. The last group may spread as high as
 * a pin is. */
static void
set_bound (const Call *call, size_t group, TesseraPackProblem *problem)
{
  const uint64_t apart_bytes = tessera_pack_apart_bound (problem);
  uint64_t load_bytes = problem->bound_bytes;
  if (problem->has_zones)
    load_bytes = MAX (load_bytes, call->loads[group] - problem->base_bytes);
  problem->bound_bytes = MAX (load_bytes, apart_bytes);
  if (call->highest_pin_bytes == 0)
    return;
  problem->least_bytes = MAX (least_height (problem->room, load_bytes), apart_bytes);
  problem->bound_bytes = problem->least_bytes;
  if (call->n_left == 0)
    problem->bound_bytes = MAX (problem->bound_bytes, call->highest_pin_bytes);
}

/* ---- one group after the other ---- */

/* What is known of the group in work, and of the whole that is. */
static void
tell_of_whole (void *user, const TesseraNews *news)
{
  const Call *call = user;
  const TesseraPacking *packing = &call->packing;
  const TesseraListener *listener = call->options.listener;
  const bool is_stacked = call->highest_pin_bytes == 0;
  TesseraNews whole = *news;
  whole.bound_bytes = packing->bound_bytes;
  if (is_stacked)
    whole.bound_bytes =
        MAX (packing->bound_bytes,
             packing->proven_bound_bytes + call->base_bytes + news->bound_bytes);
  if (call->n_left > 0)
    whole.height_bytes = 0;
  else if (news->height_bytes != 0 && is_stacked)
    whole.height_bytes += packing->height_bytes + call->base_bytes;
  else if (news->height_bytes != 0)
    whole.height_bytes =
        MAX (MAX (news->height_bytes, packing->height_bytes), packing->bound_bytes);
  listener->tell (listener->user, &whole);
}

/* Notes where the items of a group have come to lie: on top of what there is, or, where
 * something is pinned, in the whole pool. */
static void
note_places (Call *call,
             size_t group,
             const TesseraPackProblem *problem,
             const uint64_t *places,
             const char *strategy)
{
  TesseraPacking *packing = &call->packing;
  const bool is_stacked = call->highest_pin_bytes == 0;
  const uint64_t below_bytes = is_stacked ? packing->height_bytes : 0;
  uint64_t top_bytes = problem->base_bytes;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      call->offsets[problem->items[i].source] = problem->base_bytes + places[i];
      top_bytes =
          MAX (top_bytes, problem->base_bytes + places[i] + problem->items[i].size_bytes);
    }
  for (size_t i = group_begin (&call->groups, group); i < call->groups.ends[group]; i++)
    call->offsets[call->groups.items[i]] += below_bytes;
  packing->height_bytes = MAX (packing->height_bytes, below_bytes + top_bytes);
  if (is_stacked)
    packing->proven_bound_bytes += problem->base_bytes + problem->bound_bytes;
  else if (call->groups.n_groups == 1)
    packing->proven_bound_bytes = problem->bound_bytes;
  if (top_bytes > call->highest_group_bytes)
    {
      call->highest_group_bytes = top_bytes;
      packing->strategy = strategy;
    }
}

/* Its problem: what of the group is to be placed, and where it may be. */
static TesseraPackProblem *
make_problem (Call *call, size_t group)
{
  const bool has_pins = call->highest_pin_bytes > 0;
  const size_t begin = group_begin (&call->groups, group);
  TesseraPackProblem *problem = tessera_pack_problem_new (
      call->items, &call->groups.items[begin], call->groups.ends[group] - begin,
      has_pins ? NULL : call->offsets);
  if (has_pins)
    {
      g_array_unref (problem->room);
      problem->room = find_room (call, group);
    }
  return problem;
}

static TesseraStatus
pack_group (Call *call, size_t group)
{
  const char *strategy = NOTHING_TO_DO;
  TesseraStatus status = TESSERA_OK;
  TesseraPackProblem *problem = make_problem (call, group);
  uint64_t *places = g_new (uint64_t, problem->n_items);
  call->n_left = call->groups.n_groups - group - 1;
  call->base_bytes = problem->base_bytes;
  set_bound (call, group, problem);
  if (call->options.former != NULL)
    tessera_pack_find_hints (problem, call->options.former);
  if (problem->n_items > 0)
    status = tessera_pack_problem (problem, &call->job, places, &strategy);
  if (status == TESSERA_OK)
    note_places (call, group, problem, places, strategy);
  g_free (places);
  tessera_pack_problem_free (problem);
  return status;
}

/* Repairs, and what packs anew, tell nothing while they work. */
static void
tell_end (const Call *call)
{
  const TesseraNews news = { .height_bytes = call->packing.height_bytes,
                             .bound_bytes = call->packing.proven_bound_bytes,
                             .doing = "packed" };
  if (call->options.listener != NULL)
    call->options.listener->tell (call->options.listener->user, &news);
}

static TesseraStatus
pack_groups (Call *call, uint64_t work_budget)
{
  TesseraStatus status = TESSERA_OK;
  const size_t n_items = call->n_items;
  for (size_t g = 0; g < call->groups.n_groups && status == TESSERA_OK; g++)
    {
      const size_t begin = group_begin (&call->groups, g), end = call->groups.ends[g];
      const double from = (double) begin / (double) n_items;
      const double to = (double) end / (double) n_items;
      const uint64_t share = (uint64_t) ((double) work_budget * (to - from));
      call->job.asked.work_budget = MAX (share, work_budget / LEAST_PART);
      call->job.fraction_begin = from;
      call->job.fraction_end = to;
      status = pack_group (call, g);
    }
  return status;
}

/* ---- the call ---- */

static TesseraStatus
validate (const TesseraItem *items, size_t n_items)
{
  uint64_t sum_bytes = 0, pinned_bytes = 0;
  if (n_items > UINT32_MAX / 4)
    return TESSERA_INVALID;
  for (size_t i = 0; i < n_items; i++)
    {
      const TesseraItem *item = &items[i];
      uint64_t distance = item->body != 0 ? item->body_offset_bytes : 0;
      if (item->is_pinned != 0 && item->pinned_bytes > pinned_bytes)
        pinned_bytes = item->pinned_bytes;
      if (!tessera_item_is_valid (item) ||
          __builtin_add_overflow (sum_bytes, item->size_bytes, &sum_bytes) ||
          __builtin_add_overflow (sum_bytes, distance, &sum_bytes) ||
          sum_bytes > TESSERA_PACK_MOST_BYTES ||
          pinned_bytes > TESSERA_PACK_MOST_BYTES - sum_bytes)
        return TESSERA_INVALID;
    }
  return TESSERA_OK;
}

static TesseraStatus
settle_limits (Call *call)
{
  size_t n_held = 0;
  for (size_t i = 0; i < call->n_items; i++)
    n_held += tessera_item_is_held (&call->items[i]);
  if (n_held == 0)
    return TESSERA_OK;
  call->held = g_memdup2 (call->items, call->n_items * sizeof *call->held);
  call->items = call->held;
  return tessera_pack_settle_limits (call->held, call->n_items, call->packing.conflict);
}

/* Limits, groups, bound. */
static TesseraStatus
call_init (Call *call, const TesseraItem *items, size_t n_items)
{
  *call = (Call){ .items = items,
                  .n_items = n_items,
                  .packing = { .strategy = NOTHING_TO_DO } };
  TesseraPacking *packing = &call->packing;
  TesseraStatus status = validate (items, n_items);
  if (status == TESSERA_OK)
    status = settle_limits (call);
  if (status != TESSERA_OK)
    return status;
  groups_init (&call->groups, call->items, n_items);
  call->loads = g_new (uint64_t, call->groups.n_groups);
  for (size_t g = 0; g < call->groups.n_groups; g++)
    packing->bound_bytes += call->loads[g] =
        load_of_group (&call->groups, call->items, g);
  for (size_t i = 0; i < n_items; i++)
    if (call->items[i].is_pinned)
      call->highest_pin_bytes = MAX (call->highest_pin_bytes,
                                     call->items[i].pinned_bytes + items[i].size_bytes);
  packing->bound_bytes = MAX (packing->bound_bytes, call->highest_pin_bytes);
  return TESSERA_OK;
}

static void
call_clear (Call *call)
{
  g_free (call->groups.items);
  g_free (call->groups.ends);
  g_free (call->held);
  g_free (call->loads);
}

TesseraStatus
tessera_pack (const TesseraItem *items,
              size_t n_items,
              const TesseraPackOptions *options,
              uint64_t *offsets,
              TesseraPacking *out_packing)
{
  Call call;
  TesseraStatus status = call_init (&call, items, n_items);
  const TesseraListener listener = { tell_of_whole, &call };
  TesseraPacking *packing = &call.packing;
  call.offsets = offsets;
  if (options != NULL)
    call.options = call.job.asked = *options;
  if (call.options.listener != NULL)
    call.job.asked.listener = &listener;
  if (status == TESSERA_OK)
    status =
        pack_groups (&call, call.options.is_preview         ? PREVIEW_WORK_BUDGET
                            : call.options.work_budget != 0 ? call.options.work_budget
                                                            : DEFAULT_WORK_BUDGET);
  if (status == TESSERA_OK && n_items > 0 &&
      !tessera_progress (call.options.progress, 1) && !call.options.keeps_best)
    status = TESSERA_CANCELLED;
  packing->proven_bound_bytes = MAX (packing->proven_bound_bytes, packing->bound_bytes);
  packing->is_optimal = packing->height_bytes == packing->proven_bound_bytes;
  packing->is_cut_short = call.job.has_stopped;
  *out_packing = *packing;
  if (status == TESSERA_OK && n_items > 0)
    tell_end (&call);
  call_clear (&call);
  return status;
}

TesseraStatus
tessera_pack_bound (const TesseraItem *items, size_t n_items, uint64_t *out_bound_bytes)
{
  Call call;
  TesseraStatus status = call_init (&call, items, n_items);
  *out_bound_bytes = status == TESSERA_OK ? call.packing.bound_bytes : 0;
  call_clear (&call);
  return status;
}
