/*
 * Rounds of what improves the layout that orders and rules leave: ejection chains
 * (eject.c), and for few items the exact search. Each round has twice the work of the one
 * before. See private.h.
 *
 * Nobody knows beforehand which height the exact search finds soon: of two that differ by
 * a thousandth one may take a hundredth of the work. So a round asks for the bound first,
 * with half of its work, and then from above for heights below the best layout, with small
 * shares. The next goes on from what is known by then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include "planner/exact.h"

/* What ejection may spend in the first round, in placements of some microsecond: next to
 * nothing, since who needs little should not wait for who gets much. Of many items a
 * fourth of them, which is the least that can change anything. Small cores that no rule
 * packs need the exact search most. */
#define FIRST_WORK 32
#define FIRST_WORK_PART 4
#define WORK_OF_SEARCH 8
/* Ejection looks at so many lives, 50 ns each, in the time of a placement. */
#define LOOKS_OF_EJECTION_A_PLACEMENT 16
#define SEARCH_REPORTS_A_REPORT 4

/* The search takes some 50,000 looks at items for a decision at 1,000 of them. */
#define MOST_ITEMS_OF_SEARCH 4096
/* The search looks at so many items in the time that a placement takes. */
#define LOOKS_OF_SEARCH_A_PLACEMENT 2048
/* Of the work of a call: for the bound, and for each height from above. */
#define PART_OF_BOUND 2
#define PART_OF_HEIGHT 8
/* The next height is so much of what lies between the highest that is known to be too low
 * and the lowest that is known to do. In a call so many may fail from above. */
#define STEPS_BETWEEN 8
#define MOST_FAILURES 4

typedef struct
{
  TesseraPackProblem *problem;
  TesseraPackJob *job;
  TesseraPackLayout *best;
  TesseraItem *items;  /* NULL: the exact search is not for this problem */
  uint64_t unit_bytes; /* heights that matter are multiples */
  uint64_t base_bytes; /* blocked below all; and what is blocked above: */
  uint64_t most_bytes;
  uint64_t spent; /* in all rounds */
  uint32_t n_asked;
  /* Of the round: */
  uint64_t looks_left;
  uint32_t n_reports;
} Search;

static double
part_done (const Search *search)
{
  double done = (double) search->spent / (double) (search->job->asked.work_budget + 1);
  return TESSERA_PACK_ORDERS_FRACTION + (1 - TESSERA_PACK_ORDERS_FRACTION) * done;
}

/* Whether there is so much work for another round, and a reason for it. */
static bool
has_work (const Search *search, uint64_t work)
{
  return search->spent + work <= search->job->asked.work_budget &&
         search->best->height_bytes > search->problem->bound_bytes &&
         !search->job->has_stopped;
}

static void
init (Search *search)
{
  const TesseraPackProblem *problem = search->problem;
  search->base_bytes = g_array_index (problem->room, TesseraGap, 0).begin;
  search->most_bytes = g_array_index (problem->room, TesseraGap, 0).end;
  if (problem->limits != NULL || problem->n_items > MOST_ITEMS_OF_SEARCH)
    return;
  search->items = g_new (TesseraItem, problem->n_items);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      bool has_second = tessera_pack_has_second (item);
      search->items[i] = (TesseraItem){ .size_bytes = item->size_bytes,
                                        .begin = item->lives.begin,
                                        .end = item->lives.end,
                                        .begin2 = has_second ? item->lives.begin2 : 0,
                                        .end2 = has_second ? item->lives.end2 : 0 };
    }
  search->unit_bytes = tessera_exact_unit (search->items, problem->n_items);
}

/* The caller knows how far all of the work is. */
static bool
report_search (void *user, double fraction)
{
  Search *search = user;
  (void) fraction;
  return search->n_reports++ % SEARCH_REPORTS_A_REPORT != 0 ||
         tessera_pack_goes_on (search->job, part_done (search));
}

/* Asks for a height, and notes what the answer says of heights. */
static TesseraStatus
ask (Search *search,
     uint64_t capacity_bytes,
     uint64_t looks,
     TesseraExactAnswer *out_answer)
{
  TesseraPackProblem *problem = search->problem;
  const uint64_t own_bytes = capacity_bytes - search->base_bytes;
  const TesseraProgress progress = { report_search, search };
  const TesseraExactOptions options = { .capacity_bytes =
                                            own_bytes - own_bytes % search->unit_bytes,
                                        .work_budget = looks,
                                        .turn = search->n_asked++,
                                        .progress = &progress };
  TesseraExactResult result = { .answer = TESSERA_EXACT_UNKNOWN };
  TesseraStatus status = TESSERA_OK;
  uint64_t *offsets = search->best->offsets;
  if (capacity_bytes <= search->most_bytes)
    status = tessera_exact_search (search->items, problem->n_items, &options, offsets,
                                   &result);
  search->looks_left -= MIN (result.work, search->looks_left);
  *out_answer = result.answer;
  if (result.answer == TESSERA_EXACT_IMPOSSIBLE)
    problem->bound_bytes =
        search->base_bytes + options.capacity_bytes + search->unit_bytes;
  if (result.answer != TESSERA_EXACT_FITS)
    return status;
  for (size_t i = 0; i < problem->n_items; i++)
    offsets[i] += search->base_bytes;
  search->best->height_bytes = tessera_pack_height (problem, offsets);
  search->best->strategy = "exact search";
  return status;
}

static bool
goes_on (const Search *search, uint64_t looks)
{
  return search->problem->bound_bytes < search->best->height_bytes &&
         looks <= search->looks_left;
}

/* A step up from the bound, or down from the height. */
static uint64_t
step_bytes (const Search *search)
{
  const uint64_t unit_bytes = search->unit_bytes;
  uint64_t between =
      (search->best->height_bytes - search->problem->bound_bytes) / unit_bytes;
  return between / STEPS_BETWEEN * unit_bytes;
}

/* From below: what is proven impossible raises the bound. */
static TesseraStatus
climb (Search *search, uint64_t looks)
{
  TesseraExactAnswer answer = TESSERA_EXACT_IMPOSSIBLE;
  TesseraStatus status = TESSERA_OK;
  for (uint64_t above_bytes = 0; status == TESSERA_OK && goes_on (search, looks) &&
                                 answer == TESSERA_EXACT_IMPOSSIBLE;
       above_bytes = step_bytes (search))
    status = ask (search, search->problem->bound_bytes + above_bytes, looks, &answer);
  return status;
}

/* From above: what is found is the next to go down from; what is not found may be luck,
 * so one further below is asked for as well. */
static TesseraStatus
descend (Search *search, uint64_t looks)
{
  TesseraStatus status = TESSERA_OK;
  for (uint32_t n_failures = 0;
       status == TESSERA_OK && n_failures < MOST_FAILURES && goes_on (search, looks);)
    {
      TesseraExactAnswer answer;
      uint64_t below_bytes = (n_failures + 1) * step_bytes (search);
      if (below_bytes == 0)
        below_bytes = (n_failures + 1) * search->unit_bytes;
      if (search->best->height_bytes - search->problem->bound_bytes <= below_bytes)
        break; /* the bound itself: asked from below */
      status = ask (search, search->best->height_bytes - below_bytes, looks, &answer);
      n_failures = answer == TESSERA_EXACT_FITS ? 0 : n_failures + 1;
    }
  return status;
}

static TesseraStatus
eject (Search *search, uint64_t work)
{
  TesseraPackLayout *best = search->best;
  if (!has_work (search, work))
    return TESSERA_OK;
  TesseraStatus status =
      tessera_pack_report (search->job, search->problem, best->height_bytes,
                           "re-packing around the peak", part_done (search));
  if (status != TESSERA_OK || search->job->has_stopped)
    return status;
  const TesseraProgress progress = { report_search, search };
  if (tessera_eject (search->problem, work * LOOKS_OF_EJECTION_A_PLACEMENT, &progress,
                     best->offsets, &best->height_bytes))
    best->strategy = "re-packed around the peak";
  /* Below the bound, which a pin may set, lower is no better. */
  best->height_bytes = MAX (best->height_bytes, search->problem->bound_bytes);
  search->spent += work;
  return tessera_pack_status (search->job);
}

static TesseraStatus
search_exactly (Search *search, uint64_t work)
{
  TesseraPackJob *job = search->job;
  TesseraPackLayout *best = search->best;
  const uint64_t looks = work * LOOKS_OF_SEARCH_A_PLACEMENT;
  if (search->items == NULL || !has_work (search, work))
    return TESSERA_OK;
  TesseraStatus status = tessera_pack_report (job, search->problem, best->height_bytes,
                                              "searching exactly", part_done (search));
  if (status != TESSERA_OK || job->has_stopped)
    return status;
  search->looks_left = looks;
  status = climb (search, looks / PART_OF_BOUND);
  if (status == TESSERA_OK)
    status = descend (search, looks / PART_OF_HEIGHT);
  search->spent += work;
  return status == TESSERA_CANCELLED ? tessera_pack_status (job) : status;
}

TesseraStatus
tessera_pack_improve (TesseraPackProblem *problem,
                      TesseraPackJob *job,
                      TesseraPackLayout *best)
{
  Search search = { .problem = problem, .job = job, .best = best };
  TesseraStatus status = TESSERA_OK;
  init (&search);
  for (uint64_t work = MAX (FIRST_WORK, problem->n_items / FIRST_WORK_PART);
       status == TESSERA_OK && has_work (&search, work); work *= 2)
    {
      status = eject (&search, work);
      if (status == TESSERA_OK)
        status = search_exactly (&search, work * WORK_OF_SEARCH);
    }
  g_free (search.items);
  return status;
}
