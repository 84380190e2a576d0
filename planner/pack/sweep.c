/*
 * Sweeps: fits in order of time, class after class. See private.h.
 *
 * First fit or best fit of items in the order of their births, where some classes of
 * items come before others: all of the first class in order of time, then all of the
 * second around them, and so on. The free ranges at the moment of the sweep are kept as
 * an allocator keeps them, so that nobody walks over the thousands that are alive. What
 * an earlier class will have there later in the life of an item is looked up beside that:
 * the lives that begin inside it. The sweep goes forward, by births, or backward, by
 * deaths.
 *
 * Example: micro-batches overlap; what a forward pass keeps lives for thousands of
 * requests, what it needs in passing for ten. In order of time alone the short ones cut
 * the room of the long ones to pieces. With the long ones first each of these follows
 * another of its own size, and the short ones fill what is left: 1.0214 of the bound
 * becomes 1.0000 (Qwen2.5-14B, two chunks).
 *
 * Cost: an item takes some questions to the free ranges and one look at each life of an
 * earlier class that begins inside its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include <stdlib.h>
#include <string.h>

#define NO_END UINT64_MAX

/* The free ranges of an address space, as an allocator has them. Ranges that touch are
 * one, so there are few: dozens, where thousands of blocks are alive. */
typedef struct
{
  uint64_t begin, end; /* [begin, end) */
} Gap;

typedef struct
{
  Gap *gaps; /* ascending; the last has no end */
  uint32_t n;
} Gaps;

/* A life is its item's number * 2, + 1 for the second life. */
struct TesseraSweep
{
  const TesseraPackProblem *problem;
  uint32_t *by_begin, *by_end; /* [n_lives] all lives in order of time; in a section by
                                  moments of end, then and by begin as the caller had
                                  them */
  uint32_t n_lives;
  uint32_t *later;    /* [n_lives] lives of those placed in classes before, by begin */
  uint8_t *is_placed; /* [n_items] */
  Gaps gaps;
  GArray *taken;       /* of Gap: what the item in hand has to go around */
  uint64_t looks_left; /* at lives of earlier classes; at 0 a class is given up */
  bool is_backward;
};

/* ---- lives in order of time ---- */

/* Its sections are [begin, end). */
static uint32_t
life_begin (const TesseraPackProblem *problem, uint32_t life)
{
  const TesseraPackLives *lives = &problem->items[life / 2].lives;
  return life & 1 ? lives->begin2 : lives->begin;
}

static uint32_t
life_end (const TesseraPackProblem *problem, uint32_t life)
{
  const TesseraPackLives *lives = &problem->items[life / 2].lives;
  return life & 1 ? lives->end2 : lives->end;
}

static uint64_t
begin_key (const TesseraPackProblem *problem, uint32_t life)
{
  return life_begin (problem, life);
}

/* Where it ends, and in a section when: many end in one, and backward it tells who goes
 * first. Second lives come before the others. */
static uint64_t
end_key (const TesseraPackProblem *problem, uint32_t life)
{
  return (uint64_t) life_end (problem, life) << 32 |
         (life & 1 ? 0 : problem->items[life / 2].end_event);
}

/* Lives as the caller had them, sorted by a key. @lives: room for all of them. */
static uint32_t *
sort_lives (const TesseraPackProblem *problem,
            uint64_t (*key_of) (const TesseraPackProblem *problem, uint32_t life),
            TesseraKeyed *lives,
            uint32_t *out_n)
{
  uint32_t n = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    for (uint32_t k = 0; k < (tessera_pack_has_second (&problem->items[i]) ? 2 : 1); k++)
      lives[n++] =
          (TesseraKeyed){ (uint64_t) problem->items[i].source * 2 + k, i * 2 + k };
  tessera_pack_sort (lives, n);
  for (uint32_t i = 0; i < n; i++)
    lives[i].key = key_of (problem, lives[i].value);
  tessera_pack_sort (lives, n);
  uint32_t *sorted = g_new (uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    sorted[i] = lives[i].value;
  *out_n = n;
  return sorted;
}

/* ---- rules ---- */

/* Cuts between long and short, in parts of the longest life. */
static const double cuts[] = { 0, 0.015, 0.05 };
#define N_WAYS 4 /* first and best fit, forward and backward */
_Static_assert(sizeof cuts / sizeof *cuts * N_WAYS == TESSERA_N_RULES,
               "one rule for each cut and way");

TesseraRule
tessera_rule_nth (uint64_t longest_events, uint32_t number)
{
  return (TesseraRule){
    .longest_short_events = (uint64_t) (cuts[number / N_WAYS] * (double) longest_events),
    .is_backward = number % N_WAYS >= 2,
    .fit = number % 2 == 0 ? TESSERA_SWEEP_FIRST_FIT : TESSERA_SWEEP_BEST_FIT,
  };
}

static uint32_t
class_of (const TesseraRule *rule, const TesseraPackProblem *problem, uint32_t i)
{
  if (tessera_pack_is_first (problem, i))
    return 0;
  return problem->items[i].life_events > rule->longest_short_events ? 1 : 2;
}

void
tessera_rule_order (const TesseraRule *rule,
                    const TesseraSweep *sweep,
                    uint32_t *order,
                    uint32_t ends[TESSERA_RULE_N_CLASSES])
{
  const TesseraPackProblem *problem = sweep->problem;
  memset (ends, 0, TESSERA_RULE_N_CLASSES * sizeof *ends);
  for (uint32_t i = 0; i < problem->n_items; i++)
    ends[class_of (rule, problem, i)]++;
  for (uint32_t c = 0, sum = 0; c < TESSERA_RULE_N_CLASSES; c++)
    {
      uint32_t n = ends[c];
      ends[c] = sum;
      sum += n;
    }
  for (uint32_t k = 0; k < sweep->n_lives; k++)
    {
      uint32_t life =
          rule->is_backward ? sweep->by_end[sweep->n_lives - 1 - k] : sweep->by_begin[k];
      if (life % 2 == 0) /* each item once, at its first life */
        order[ends[class_of (rule, problem, life / 2)]++] = life / 2;
    }
}

/* ---- free ranges ---- */

/* How many gaps begin at or below @address. */
static uint32_t
count_below (const Gaps *gaps, uint64_t address)
{
  uint32_t low = 0, high = gaps->n;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;
      if (gaps->gaps[middle].begin <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
insert_gap (Gaps *gaps, uint32_t at, Gap gap)
{
  memmove (&gaps->gaps[at + 1], &gaps->gaps[at], (gaps->n - at) * sizeof gap);
  gaps->gaps[at] = gap;
  gaps->n++;
}

static void
erase_gap (Gaps *gaps, uint32_t at)
{
  gaps->n--;
  memmove (&gaps->gaps[at], &gaps->gaps[at + 1], (gaps->n - at) * sizeof *gaps->gaps);
}

/* [@begin, @end) must be free. */
static void
take_range (Gaps *gaps, uint64_t begin, uint64_t end)
{
  const uint32_t at = count_below (gaps, begin) - 1;
  Gap *gap = &gaps->gaps[at];
  const Gap rest = { end, gap->end };
  if (gap->begin < begin)
    {
      gap->end = begin;
      if (rest.begin < rest.end)
        insert_gap (gaps, at + 1, rest);
    }
  else if (rest.begin < rest.end)
    *gap = rest;
  else
    erase_gap (gaps, at);
}

/* [@begin, @end) must have been taken. */
static void
give_range (Gaps *gaps, uint64_t begin, uint64_t end)
{
  const uint32_t at = count_below (gaps, begin); /* of the gap above */
  Gap *low = at > 0 ? &gaps->gaps[at - 1] : NULL, *high = &gaps->gaps[at];
  const bool joins_high = at < gaps->n && high->begin == end;
  if (low != NULL && low->end == begin)
    {
      low->end = joins_high ? high->end : end;
      if (joins_high)
        erase_gap (gaps, at);
    }
  else if (joins_high)
    high->begin = begin;
  else
    insert_gap (gaps, at, (Gap){ begin, end });
}

/* ---- sweeps ---- */

/* Where a class stands in time. */
typedef struct
{
  const uint64_t *offsets;
  uint32_t n_later;
  uint32_t entered; /* of sweep->later */
  uint32_t left;    /* of all lives, by end */
} Moment;

static const TesseraPackItem *
item_of (const TesseraSweep *sweep, uint32_t life)
{
  return &sweep->problem->items[life / 2];
}

/* In the time of the sweep: backwards, the last section is 0. */
static uint32_t
begin_of (const TesseraSweep *sweep, uint32_t life)
{
  const TesseraPackProblem *problem = sweep->problem;
  return sweep->is_backward ? problem->n_sections - life_end (problem, life)
                            : life_begin (problem, life);
}

static uint32_t
end_of (const TesseraSweep *sweep, uint32_t life)
{
  const TesseraPackProblem *problem = sweep->problem;
  return sweep->is_backward ? problem->n_sections - life_begin (problem, life)
                            : life_end (problem, life);
}

/* The @k-th of all lives in the order of begins, of ends. */
static uint32_t
kth_begin (const TesseraSweep *sweep, uint32_t k)
{
  return sweep->is_backward ? sweep->by_end[sweep->n_lives - 1 - k] : sweep->by_begin[k];
}

static uint32_t
kth_end (const TesseraSweep *sweep, uint32_t k)
{
  return sweep->is_backward ? sweep->by_begin[sweep->n_lives - 1 - k] : sweep->by_end[k];
}

TesseraSweep *
tessera_sweep_new (const TesseraPackProblem *problem)
{
  TesseraSweep *sweep = g_new0 (TesseraSweep, 1);
  TesseraKeyed *lives = g_new (TesseraKeyed, problem->n_items * 2);
  uint32_t highest = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    highest = MAX (highest, problem->items[i].contention);
  sweep->problem = problem;
  sweep->by_begin = sort_lives (problem, begin_key, lives, &sweep->n_lives);
  sweep->by_end = sort_lives (problem, end_key, lives, &sweep->n_lives);
  sweep->later = g_new (uint32_t, sweep->n_lives);
  sweep->is_placed = g_new (uint8_t, problem->n_items);
  sweep->taken = g_array_new (FALSE, FALSE, sizeof (Gap));
  /* Of the most ranges that are ever taken at once: one more, and one on the way. */
  sweep->gaps.gaps = g_new (Gap, highest + problem->n_blocked + 2);
  g_free (lives);
  return sweep;
}

void
tessera_sweep_free (TesseraSweep *sweep)
{
  if (sweep == NULL)
    return;
  g_free (sweep->by_begin);
  g_free (sweep->by_end);
  g_free (sweep->later);
  g_free (sweep->is_placed);
  g_free (sweep->gaps.gaps);
  g_array_unref (sweep->taken);
  g_free (sweep);
}

static void
leave (TesseraSweep *sweep, const Moment *moment, uint32_t life)
{
  const TesseraPackItem *item = item_of (sweep, life);
  uint64_t offset = moment->offsets[life / 2];
  give_range (&sweep->gaps, offset, offset + item->size_bytes);
}

/* Ends and begins up to @time, as they come: what is taken must be free, so ends of a
 * moment come before its begins. */
static void
go_on_to (TesseraSweep *sweep, Moment *moment, uint32_t time)
{
  for (;;)
    {
      bool enters = moment->entered < moment->n_later &&
                    begin_of (sweep, sweep->later[moment->entered]) <= time;
      uint32_t until = enters ? begin_of (sweep, sweep->later[moment->entered]) : time;
      for (; moment->left < sweep->n_lives; moment->left++)
        {
          uint32_t life = kth_end (sweep, moment->left);
          if (end_of (sweep, life) > until)
            break;
          if (sweep->is_placed[life / 2])
            leave (sweep, moment, life);
        }
      if (!enters)
        return;
      uint32_t life = sweep->later[moment->entered++];
      uint64_t offset = moment->offsets[life / 2];
      take_range (&sweep->gaps, offset, offset + item_of (sweep, life)->size_bytes);
    }
}

static int
compare_taken (const void *a, const void *b)
{
  const Gap *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sorts what is taken; ranges that touch, or are less than @hole_bytes apart, become
 * one: nothing would fit between them. */
static void
settle_taken (GArray *array, uint64_t hole_bytes)
{
  Gap *taken = (Gap *) array->data;
  guint n = 0;
  qsort (taken, array->len, sizeof *taken, compare_taken);
  for (guint i = 0; i < array->len; i++)
    {
      Gap *last = n > 0 ? &taken[n - 1] : NULL;
      if (last == NULL ||
          (taken[i].begin > last->end && taken[i].begin - last->end >= hole_bytes))
        taken[n++] = taken[i];
      else
        last->end = MAX (last->end, taken[i].end);
    }
  g_array_set_size (array, n);
}

/* What of classes before begins inside the life: it is free now and will not be. Returns:
 * false when what may be spent is spent. */
static bool
collect_taken (TesseraSweep *sweep, const Moment *moment, uint32_t life)
{
  const uint32_t end = end_of (sweep, life);
  g_array_set_size (sweep->taken, 0);
  for (uint32_t k = moment->entered;
       k < moment->n_later && begin_of (sweep, sweep->later[k]) < end; k++)
    {
      if (sweep->looks_left == 0)
        return false;
      sweep->looks_left--;
      uint32_t other = sweep->later[k];
      uint64_t offset = moment->offsets[other / 2];
      const Gap taken = { offset, offset + item_of (sweep, other)->size_bytes };
      g_array_append_val (sweep->taken, taken);
    }
  if (sweep->taken->len > 1)
    settle_taken (sweep->taken, item_of (sweep, life)->size_bytes);
  return true;
}

/* A search over what neither is alive now nor begins inside the life. */
typedef struct
{
  uint64_t size_bytes;
  uint64_t best_at, best_bytes;
  guint n_passed; /* of sweep->taken */
  bool stops_at_first;
} Search;

/* Returns: true when nothing better can come. */
static bool
look_between (Search *search, uint64_t begin, uint64_t end)
{
  if (begin >= end || end - begin < search->size_bytes ||
      end - begin >= search->best_bytes)
    return false;
  search->best_at = begin;
  search->best_bytes = end - begin;
  return search->stops_at_first || end - begin == search->size_bytes;
}

/* The parts of one gap that stay free. Gaps come in ascending order. */
static bool
look_into (const GArray *array, Search *search, const Gap *gap)
{
  const Gap *taken = (const Gap *) array->data;
  uint64_t begin = gap->begin;
  while (search->n_passed < array->len && taken[search->n_passed].end <= begin)
    search->n_passed++;
  for (guint i = search->n_passed; i < array->len && taken[i].begin < gap->end; i++)
    {
      if (look_between (search, begin, taken[i].begin))
        return true;
      begin = MAX (begin, taken[i].end);
    }
  return look_between (search, begin, gap->end);
}

static uint64_t
find (const TesseraSweep *sweep, uint64_t size_bytes, TesseraSweepFit fit)
{
  Search search = { .size_bytes = size_bytes,
                    .best_bytes = UINT64_MAX,
                    .stops_at_first = fit == TESSERA_SWEEP_FIRST_FIT };
  for (uint32_t i = 0; i < sweep->gaps.n; i++)
    {
      const Gap *gap = &sweep->gaps.gaps[i];
      if (gap->end - gap->begin >= size_bytes && look_into (sweep->taken, &search, gap))
        break;
    }
  return search.best_at;
}

/* All is free but what is blocked. */
static void
open_gaps (TesseraSweep *sweep)
{
  const TesseraPackProblem *problem = sweep->problem;
  sweep->gaps.gaps[0] = (Gap){ 0, NO_END };
  sweep->gaps.n = 1;
  for (size_t i = 0; i < problem->n_blocked; i++)
    take_range (&sweep->gaps, problem->blocked[i].begin_bytes,
                problem->blocked[i].end_bytes);
}

/* What lies already begins at some moment of this class as well. */
static void
list_later (TesseraSweep *sweep, Moment *moment)
{
  for (uint32_t k = 0; k < sweep->n_lives; k++)
    {
      uint32_t life = kth_begin (sweep, k);
      if (sweep->is_placed[life / 2])
        sweep->later[moment->n_later++] = life;
    }
}

/* Places the items of @class, in the order of the sweep, each of one life. Returns: false
 * when it stands at @below_bytes, or what may be spent is spent. */
static bool
place_class (TesseraSweep *sweep,
             const uint32_t *class,
             size_t n,
             TesseraSweepFit fit,
             uint64_t below_bytes,
             uint64_t *offsets,
             uint64_t *height_bytes)
{
  Moment moment = { .offsets = offsets };
  list_later (sweep, &moment);
  open_gaps (sweep);
  for (size_t i = 0; i < n; i++)
    {
      uint32_t life = class[i] * 2;
      uint64_t size_bytes = item_of (sweep, life)->size_bytes;
      if (i % TESSERA_LOOK_EVERY == 0 && *height_bytes >= below_bytes)
        return false;
      go_on_to (sweep, &moment, begin_of (sweep, life));
      if (!collect_taken (sweep, &moment, life))
        return false;
      uint64_t offset = find (sweep, size_bytes, fit);
      take_range (&sweep->gaps, offset, offset + size_bytes);
      sweep->is_placed[class[i]] = 1;
      offsets[class[i]] = offset;
      if (offset + size_bytes > *height_bytes)
        *height_bytes = offset + size_bytes;
    }
  return true;
}

bool
tessera_attempt_sweep (TesseraWorkspace *workspace,
                       const TesseraRule *rule,
                       uint64_t looks,
                       uint64_t below_bytes,
                       uint64_t *out_height_bytes)
{
  TesseraSweep *sweep = workspace->sweep;
  uint32_t ends[TESSERA_RULE_N_CLASSES];
  tessera_rule_order (rule, sweep, workspace->order, ends);
  memset (sweep->is_placed, 0, sweep->problem->n_items * sizeof *sweep->is_placed);
  sweep->is_backward = rule->is_backward;
  sweep->looks_left = looks;
  *out_height_bytes = tessera_attempt_first (workspace);
  for (uint32_t i = 0; i < ends[0]; i++)
    sweep->is_placed[workspace->order[i]] = 1;
  for (uint32_t c = 1; c < TESSERA_RULE_N_CLASSES; c++)
    if (ends[c] > ends[c - 1] &&
        !place_class (sweep, &workspace->order[ends[c - 1]], ends[c] - ends[c - 1],
                      rule->fit, below_bytes, workspace->offsets, out_height_bytes))
      return false;
  return true;
}
