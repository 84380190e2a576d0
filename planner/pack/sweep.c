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

#include <string.h>

/* One of an item's lives, over sections [begin, end). */
typedef struct
{
  uint32_t begin, end;
  uint32_t number; /* its item's * 2, + 1 for the second life */
} Life;

struct TesseraSweep
{
  const TesseraPackProblem *problem;
  Life *by_begin; /* [n_lives] all lives in order of time, then as the caller had them */
  Life *by_end;   /* [n_lives] the same, in a section by moments of end */
  uint32_t n_lives;
  uint8_t *is_placed; /* [n_items] */
  GArray *room;       /* of TesseraGap: what is free for the item in hand */

  /* Of the sweep in progress, in its time: backward, the last section is 0. */
  bool is_backward;
  uint64_t looks_left; /* at lives of earlier classes; at 0 a class is given up */
  uint64_t *offsets;

  /* Of the class in progress: */
  GArray *gaps; /* of TesseraGap: what is free now */
  Life *later;  /* [n_later] lives of what was placed before the class, by begin */
  uint32_t n_later;
  uint32_t n_entered; /* of later */
  uint32_t n_left;    /* of all lives, by end */
};

/* ---- lives in order of time ---- */

static Life
life_of (const TesseraPackProblem *problem, uint32_t number)
{
  const TesseraPackLives *lives = &problem->items[number / 2].lives;
  return number & 1 ? (Life){ lives->begin2, lives->end2, number }
                    : (Life){ lives->begin, lives->end, number };
}

/* Many lives end in one section, and backward the moment tells who goes first. Second
 * lives come before the others. */
static uint64_t
end_key (const TesseraPackProblem *problem, const Life *life)
{
  return (uint64_t) life->end << 32 |
         (life->number & 1 ? 0 : problem->items[life->number / 2].end_event);
}

/* Lives by end, or by begin, else as the caller had them. */
static Life *
sort_lives (const TesseraPackProblem *problem, bool is_by_end, uint32_t *out_n)
{
  TesseraKeyed *keyed =
      g_new (TesseraKeyed, problem->n_items * (problem->has_second ? 2 : 1));
  uint32_t n = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    for (uint32_t k = 0; k < (tessera_pack_has_second (&problem->items[i]) ? 2 : 1); k++)
      keyed[n++] =
          (TesseraKeyed){ (uint64_t) problem->items[i].source * 2 + k, i * 2 + k };
  tessera_sort (keyed, n);
  for (uint32_t i = 0; i < n; i++)
    {
      const Life life = life_of (problem, keyed[i].value);
      keyed[i].key = is_by_end ? end_key (problem, &life) : life.begin;
    }
  tessera_sort (keyed, n);
  Life *lives = g_new (Life, n);
  for (uint32_t i = 0; i < n; i++)
    lives[i] = life_of (problem, keyed[i].value);
  g_free (keyed);
  *out_n = n;
  return lives;
}

/* A life in the time of a sweep. */
static Life
in_time (const TesseraSweep *sweep, Life life)
{
  const uint32_t n_sections = sweep->problem->n_sections;
  return sweep->is_backward
             ? (Life){ n_sections - life.end, n_sections - life.begin, life.number }
             : life;
}

/* The @k-th of all lives in the order of begins, of ends. */
static Life
kth_begin (const TesseraSweep *sweep, uint32_t k)
{
  return in_time (sweep, sweep->is_backward ? sweep->by_end[sweep->n_lives - 1 - k]
                                            : sweep->by_begin[k]);
}

static Life
kth_end (const TesseraSweep *sweep, uint32_t k)
{
  return in_time (sweep, sweep->is_backward ? sweep->by_begin[sweep->n_lives - 1 - k]
                                            : sweep->by_end[k]);
}

TesseraSweep *
tessera_sweep_new (const TesseraPackProblem *problem)
{
  TesseraSweep *sweep = g_new0 (TesseraSweep, 1);
  sweep->problem = problem;
  sweep->by_begin = sort_lives (problem, false, &sweep->n_lives);
  sweep->by_end = sort_lives (problem, true, &sweep->n_lives);
  sweep->later = g_new (Life, sweep->n_lives);
  sweep->is_placed = g_new (uint8_t, problem->n_items);
  sweep->room = tessera_gaps_new ();
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
  g_array_unref (sweep->room);
  g_free (sweep);
}

/* ---- rules ---- */

static uint32_t
class_of (const TesseraRule *rule, const TesseraPackProblem *problem, uint32_t i)
{
  if (tessera_pack_is_first (problem, i))
    return 0;
  return problem->items[i].life_events > rule->longest_short_events ? 1 : 2;
}

void
tessera_rule_order (const TesseraRule *rule,
                    TesseraSweep *sweep,
                    uint32_t *order,
                    uint32_t ends[TESSERA_RULE_N_CLASSES])
{
  uint32_t n = 0;
  sweep->is_backward = rule->is_backward;
  for (uint32_t c = 0; c < TESSERA_RULE_N_CLASSES; c++)
    {
      for (uint32_t k = 0; k < sweep->n_lives; k++)
        {
          const Life life = kth_begin (sweep, k);
          const bool is_second = life.number & 1;
          if (!is_second && class_of (rule, sweep->problem, life.number / 2) == c)
            order[n++] = life.number / 2;
        }
      ends[c] = n;
    }
}

/* ---- sweeps ---- */

/* Where a placed item lies. */
static TesseraGap
range_of (const TesseraSweep *sweep, uint32_t item)
{
  const uint64_t offset = sweep->offsets[item];
  return (TesseraGap){ offset, offset + sweep->problem->items[item].size_bytes };
}

static void
take (const TesseraSweep *sweep, GArray *gaps, uint32_t item)
{
  const TesseraGap range = range_of (sweep, item);
  tessera_gaps_take (gaps, range.begin, range.end);
}

static void
give (const TesseraSweep *sweep, uint32_t item)
{
  const TesseraGap range = range_of (sweep, item);
  tessera_gaps_give (sweep->gaps, range.begin, range.end);
}

/* Before the first section all is free but what is blocked, and what lies already begins
 * at some moment of this class as well. */
static void
begin_class (TesseraSweep *sweep)
{
  sweep->gaps = g_array_copy (sweep->problem->room);
  sweep->n_later = sweep->n_entered = sweep->n_left = 0;
  for (uint32_t k = 0; k < sweep->n_lives; k++)
    {
      const Life life = kth_begin (sweep, k);
      if (sweep->is_placed[life.number / 2])
        sweep->later[sweep->n_later++] = life;
    }
}

/* Ends and begins up to @time, as they come: what is taken must be free, so ends of a
 * moment come before its begins. */
static void
go_on_to (TesseraSweep *sweep, uint32_t time)
{
  for (bool enters = true; enters;)
    {
      const Life *next = &sweep->later[sweep->n_entered];
      enters = sweep->n_entered < sweep->n_later && next->begin <= time;
      for (; sweep->n_left < sweep->n_lives; sweep->n_left++)
        {
          const Life life = kth_end (sweep, sweep->n_left);
          if (life.end > (enters ? next->begin : time))
            break;
          if (sweep->is_placed[life.number / 2])
            give (sweep, life.number / 2);
        }
      if (enters)
        {
          take (sweep, sweep->gaps, next->number / 2);
          sweep->n_entered++;
        }
    }
}

/* What is free over all of a life, as far as so much fits into it: what is free now, less
 * what of classes before begins inside the life. Returns: NULL when what may be spent is
 * spent. */
static const GArray *
find_room (TesseraSweep *sweep, const Life *life, uint64_t size_bytes)
{
  const uint32_t first = sweep->n_entered, n_later = sweep->n_later;
  if (first == n_later || sweep->later[first].begin >= life->end)
    return sweep->gaps;
  g_array_set_size (sweep->room, 0);
  for (guint i = 0; i < sweep->gaps->len; i++)
    {
      const TesseraGap gap = g_array_index (sweep->gaps, TesseraGap, i);
      if (gap.end - gap.begin >= size_bytes)
        g_array_append_val (sweep->room, gap);
    }
  for (uint32_t k = first; k < n_later && sweep->later[k].begin < life->end; k++)
    {
      if (sweep->looks_left == 0)
        return NULL;
      sweep->looks_left--;
      take (sweep, sweep->room, sweep->later[k].number / 2);
    }
  return sweep->room;
}

/* Places the items of @class, in the order of the sweep, each of one life. Returns: false
 * when it stands at @below_bytes, or what may be spent is spent. */
static bool
place_class (TesseraSweep *sweep,
             const uint32_t *class,
             size_t n,
             bool is_best_fit,
             uint64_t below_bytes,
             uint64_t *height_bytes)
{
  for (size_t i = 0; i < n; i++)
    {
      const uint32_t item = class[i];
      const uint64_t size_bytes = sweep->problem->items[item].size_bytes;
      const Life life = in_time (sweep, life_of (sweep->problem, item * 2));
      if (i % TESSERA_LOOK_EVERY == 0 && *height_bytes >= below_bytes)
        return false;
      go_on_to (sweep, life.begin);
      const GArray *room = find_room (sweep, &life, size_bytes);
      if (room == NULL)
        return false;
      sweep->offsets[item] = tessera_gaps_find (room, size_bytes, is_best_fit);
      take (sweep, sweep->gaps, item);
      sweep->is_placed[item] = 1;
      *height_bytes = MAX (*height_bytes, range_of (sweep, item).end);
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
  bool is_done = true;
  tessera_rule_order (rule, sweep, workspace->order, ends);
  memset (sweep->is_placed, 0, sweep->problem->n_items * sizeof *sweep->is_placed);
  sweep->looks_left = looks;
  sweep->offsets = workspace->offsets;
  *out_height_bytes = tessera_attempt_first (workspace);
  for (uint32_t i = 0; i < ends[0]; i++)
    sweep->is_placed[workspace->order[i]] = 1;
  for (uint32_t c = 1; c < TESSERA_RULE_N_CLASSES && is_done; c++)
    {
      begin_class (sweep);
      is_done = place_class (sweep, &workspace->order[ends[c - 1]], ends[c] - ends[c - 1],
                             rule->is_best_fit, below_bytes, out_height_bytes);
      g_array_unref (sweep->gaps);
    }
  return is_done;
}
