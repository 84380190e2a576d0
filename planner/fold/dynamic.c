/*
 * Dynamic requests: what the steps of a trace do not have in common.
 *
 * A request of a mixture of experts has another size in each step, or is not made at all.
 * Where most of the memory is asked for alike all the same, the steps fold without these,
 * and the plan has no slots for them.
 *
 * Steps of a mixture of experts ask for the same things but for those whose sizes follow
 * the routing. A request is told from others by stream, pool, phase and rounded size.
 * What all steps make equally often is compared first (Myers' longest common sequence);
 * what lies between two common places is then compared with all that each step has there.
 * So thousands of sizes that nobody else has cost no more than one look each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold/private.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "db/plan.h"
#include "planner/diff.h"
#include "planner/structure/private.h"

/* What steps have in common. */

enum
{
  MAX_DIFFERENT = 1024, /* of what steps make equally often */
  MAX_GAP_DIFFERENT = 1024,
  LEAST_COUNT = 8 /* what is there less often may be so by chance */
};

/* The requests of a step. */
typedef struct
{
  uint64_t *tokens;
  uint32_t *events;
  bool *is_anchor;   /* all steps have as many of this token */
  uint32_t *of_base; /* [n of the base] the request that the base's is here, or NONE */
  uint32_t n;
} Step;

typedef struct
{
  const TesseraRun *run;
  Step *steps; /* the last is the base that others are compared with */
  uint32_t n_steps;
} Share;

static void
fill (const Share *share, Step *step, uint32_t begin, uint32_t end)
{
  uint32_t phase = TESSERA_NONE;
  uint64_t of_phase =
      tessera_phase_hash (share->run->trace, share->run->structure, phase);

  for (uint32_t i = begin; i < end; i++)
    {
      const TesseraBlock *block;

      if (!tessera_unit_asks (&share->run->trace->events[i]))
        continue;
      block = &share->run->blocks->blocks[share->run->blocks->block_of_event[i]];
      if (block->born_phase != phase)
        {
          phase = block->born_phase;
          of_phase = tessera_phase_hash (share->run->trace, share->run->structure, phase);
        }
      step->events[step->n] = i;
      step->tokens[step->n++] =
          tessera_mix (tessera_mix (of_phase, block->block_bytes),
                       (uint64_t) share->run->trace->events[i].action << 32 |
                           (uint64_t) block->stream << 16 | block->pool);
    }
}

static void
open_step (const Share *share, Step *step, uint32_t begin, uint32_t end)
{
  size_t n = (size_t) end - begin + 1;

  step->tokens = g_new (uint64_t, n);
  step->events = g_new (uint32_t, n);
  step->is_anchor = g_new0 (bool, n);
  fill (share, step, begin, end);
}

typedef struct
{
  uint64_t token;
  uint32_t step, index;
} Place;

static int
by_token (const void *a, const void *b)
{
  const Place *x = a, *y = b;

  if (x->token != y->token)
    return x->token < y->token ? -1 : 1;
  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Places of one token, in order of steps: as many in each? */
static bool
are_even (const Place *places, size_t n, uint32_t n_steps)
{
  size_t each = n / n_steps;

  if (n % n_steps != 0 || each < LEAST_COUNT)
    return false;
  for (size_t i = 0; i < n; i++)
    if (places[i].step != i / each)
      return false;
  return true;
}

static void
find_anchors (Share *share)
{
  size_t n_all = 0, n = 0;
  g_autofree Place *places = NULL;

  for (uint32_t k = 0; k < share->n_steps; k++)
    n_all += share->steps[k].n;
  places = g_new (Place, n_all + 1);
  for (uint32_t k = 0; k < share->n_steps; k++)
    for (uint32_t i = 0; i < share->steps[k].n; i++)
      places[n++] = (Place){ share->steps[k].tokens[i], k, i };
  qsort (places, n_all, sizeof *places, by_token);
  for (size_t from = 0, to; from < n_all; from = to)
    {
      for (to = from + 1; to < n_all && places[to].token == places[from].token; to++)
        ;
      if (are_even (places + from, to - from, share->n_steps))
        for (size_t i = from; i < to; i++)
          share->steps[places[i].step].is_anchor[places[i].index] = true;
    }
}

/* The anchors of a step, one after the other. */
static uint32_t
list_anchors (const Step *step, uint64_t *tokens, uint32_t *indices)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < step->n; i++)
    if (step->is_anchor[i])
      {
        tokens[n] = step->tokens[i];
        indices[n++] = i;
      }
  return n;
}

/* Base requests [a, end_a) and the step's [b, end_b), between two common places. */
static void
compare_gap (const Step *base,
             Step *step,
             uint32_t a,
             uint32_t end_a,
             uint32_t b,
             uint32_t end_b,
             uint32_t *b_of_a)
{
  if (a == end_a || b == end_b ||
      tessera_diff (base->tokens + a, end_a - a, step->tokens + b, end_b - b,
                    MAX_GAP_DIFFERENT, b_of_a) == 0)
    return;
  for (uint32_t i = a; i < end_a; i++)
    if (b_of_a[i - a] != TESSERA_NONE)
      step->of_base[i] = b + b_of_a[i - a];
}

static void
compare_gaps (const Step *base, Step *step, uint32_t *b_of_a)
{
  uint32_t a = 0, b = 0;

  for (uint32_t i = 0; i <= base->n; i++)
    {
      uint32_t to = i < base->n ? step->of_base[i] : step->n;

      if (to == TESSERA_NONE)
        continue;
      compare_gap (base, step, a, i, b, to, b_of_a);
      a = i + 1;
      b = to + 1;
    }
}

static void
compare (const Step *base, Step *step)
{
  g_autofree uint64_t *tokens_a = g_new (uint64_t, base->n + 1u);
  g_autofree uint64_t *tokens_b = g_new (uint64_t, step->n + 1u);
  g_autofree uint32_t *indices_a = g_new (uint32_t, base->n + 1u);
  g_autofree uint32_t *indices_b = g_new (uint32_t, step->n + 1u);
  g_autofree uint32_t *b_of_a = g_new (uint32_t, base->n + 1u);
  uint32_t n_a = list_anchors (base, tokens_a, indices_a);
  uint32_t n_b = list_anchors (step, tokens_b, indices_b);

  step->of_base = g_new (uint32_t, base->n + 1u);
  memset (step->of_base, 0xff, (base->n + 1u) * sizeof *step->of_base);
  if (tessera_diff (tokens_a, n_a, tokens_b, n_b, MAX_DIFFERENT, b_of_a) == 0)
    return;
  for (uint32_t i = 0; i < n_a; i++)
    if (b_of_a[i] != TESSERA_NONE)
      step->of_base[indices_a[i]] = indices_b[b_of_a[i]];
  compare_gaps (base, step, b_of_a);
}

/* @begin: the first event of the steps. */
static uint32_t
mark (const Share *share, uint32_t begin, bool *out_is_shared)
{
  uint32_t base_step = share->n_steps - 1;
  const Step *base = &share->steps[base_step];
  uint32_t n_shared = 0;

  for (uint32_t i = 0; i < base->n; i++)
    {
      bool is_shared = true;

      for (uint32_t k = 0; k < base_step; k++)
        is_shared = is_shared && share->steps[k].of_base[i] != TESSERA_NONE;
      if (!is_shared)
        continue;
      n_shared++;
      out_is_shared[base->events[i] - begin] = true;
      for (uint32_t k = 0; k < base_step; k++)
        {
          const Step *step = &share->steps[k];

          out_is_shared[step->events[step->of_base[i]] - begin] = true;
        }
    }
  return n_shared;
}

/* The k-th step is of the events [@bounds[k], @bounds[k + 1]): for each event whether it is
 * a request that all of them make, as many in each step and in the same order. Returns: how
 * many of one step; 0 also where the steps have too little in common to say. */
static uint32_t
share_steps (const TesseraRun *run,
             const uint32_t *bounds,
             uint32_t n_steps,
             bool *out_is_shared)
{
  g_autofree Step *steps = g_new0 (Step, n_steps);
  Share share = { run, steps, n_steps };
  uint32_t n_shared;

  for (uint32_t k = 0; k < n_steps; k++)
    open_step (&share, &steps[k], bounds[k], bounds[k + 1]);
  find_anchors (&share);
  for (uint32_t k = 0; k + 1 < n_steps; k++)
    compare (&steps[n_steps - 1], &steps[k]);
  n_shared = mark (&share, bounds[0], out_is_shared);
  for (uint32_t k = 0; k < n_steps; k++)
    {
      g_free (steps[k].tokens);
      g_free (steps[k].events);
      g_free (steps[k].is_anchor);
      g_free (steps[k].of_base);
    }
  return n_shared;
}

/* What is dynamic, and whether it is worth it to fold the rest. */

/* Of what the steps ask for, in bytes, so much has to be common; of the largest load so
 * much may be dynamic. */
#define COMMON_SHARE 0.5
#define DYNAMIC_SHARE 0.5

typedef struct
{
  const TesseraRun *run;
  uint32_t bounds[TESSERA_SHARE_STEPS + 1];
  uint32_t n_steps;
  bool *is_shared; /* [events of the steps] */
  uint32_t n_shared;
} Fold;

static bool
is_common (const Fold *fold, uint32_t event)
{
  return fold->is_shared[event - fold->bounds[0]];
}

static bool
is_inside (const Fold *fold, uint32_t event)
{
  return event >= fold->bounds[0] && event < fold->bounds[fold->n_steps];
}

/* Of the blocks alive in the steps: the largest load, of all and of the dynamic ones. */
static void
measure_loads (const Fold *fold, uint64_t *out_all, uint64_t *out_dynamic)
{
  uint32_t begin = fold->bounds[0], end = fold->bounds[fold->n_steps];
  g_autofree uint64_t *changes = g_new0 (uint64_t, 2 * ((size_t) end - begin + 1));
  uint64_t all = 0, dynamic = 0;

  *out_all = *out_dynamic = 0;
  for (size_t i = 0; i < fold->run->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->run->blocks->blocks[i];
      bool is_early = block->flags & TESSERA_AT_START || block->born_index < begin;
      uint32_t from = is_early ? begin : block->born_index;
      uint32_t to = block->died_index < end ? block->died_index : end;
      bool is_dynamic = !is_early && from < end && !is_common (fold, from);

      if (from >= end || to <= from)
        continue;
      changes[2 * (from - begin)] += block->block_bytes;
      changes[2 * (to - begin)] -= block->block_bytes;
      changes[2 * (from - begin) + 1] += is_dynamic ? block->block_bytes : 0;
      changes[2 * (to - begin) + 1] -= is_dynamic ? block->block_bytes : 0;
    }
  for (uint32_t i = 0; i < end - begin; i++)
    {
      all += changes[2 * i];
      dynamic += changes[2 * i + 1];
      *out_all = all > *out_all ? all : *out_all;
      *out_dynamic = dynamic > *out_dynamic ? dynamic : *out_dynamic;
    }
}

/* Is following the common part worth it? */
static bool
is_worth_it (const Fold *fold, TesseraDynamicLoad *out_load)
{
  uint64_t asked = 0, common = 0, all, dynamic, n_dynamic = 0;

  measure_loads (fold, &all, &dynamic);
  for (size_t i = 0; i < fold->run->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->run->blocks->blocks[i];

      if (block->flags & TESSERA_AT_START || !is_inside (fold, block->born_index))
        continue;
      asked += block->block_bytes;
      n_dynamic += !is_common (fold, block->born_index);
      common += is_common (fold, block->born_index) ? block->block_bytes : 0;
    }
  *out_load = (TesseraDynamicLoad){ (uint32_t) (n_dynamic / fold->n_steps), dynamic };
  return fold->n_shared > 0 && (double) common >= COMMON_SHARE * (double) asked &&
         (double) dynamic <= DYNAMIC_SHARE * (double) all;
}

/* Blocks of the steps that fold. */
static void
mark_inside (const Fold *fold, uint8_t *is_dynamic)
{
  for (size_t i = 0; i < fold->run->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->run->blocks->blocks[i];

      if (!(block->flags & TESSERA_AT_START) && is_inside (fold, block->born_index))
        is_dynamic[i] = !is_common (fold, block->born_index);
    }
}

void
tessera_dynamic_find (const TesseraRun *run,
                      uint32_t first,
                      uint32_t last,
                      uint32_t last_end,
                      uint8_t **out_is_dynamic,
                      TesseraDynamicLoad *out_load)
{
  Fold fold = { .run = run, .n_steps = last - first + 1 };

  *out_is_dynamic = NULL;
  if (fold.n_steps < 2 || fold.n_steps > TESSERA_SHARE_STEPS)
    return;
  for (uint32_t k = 0; k < fold.n_steps; k++)
    fold.bounds[k] = run->structure->steps[first + k].begin_index;
  fold.bounds[fold.n_steps] = last_end;
  fold.is_shared = g_new0 (bool, (size_t) last_end - fold.bounds[0] + 1);
  fold.n_shared = share_steps (run, fold.bounds, fold.n_steps, fold.is_shared);
  if (is_worth_it (&fold, out_load))
    {
      *out_is_dynamic = g_new0 (uint8_t, run->blocks->n_blocks + 1);
      mark_inside (&fold, *out_is_dynamic);
    }
  g_free (fold.is_shared);
}
