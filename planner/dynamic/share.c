/*
 * What steps that differ in part have in common: see share.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/share.h"

#include <stdlib.h>
#include <string.h>

#include "db/hash.h"
#include "planner/diff.h"
#include "planner/structure/private.h"

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
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  Step
      steps[TESSERA_SHARE_STEPS]; /* the last is the base that others are compared with */
  uint32_t n_steps;
} Share;

/* A failed request is one as well. */
static bool
asks (const TesseraEvent *event)
{
  return event->action == TESSERA_ALLOC || event->action == TESSERA_OOM;
}

static uint64_t
hash_phase (const Share *share, uint32_t phase)
{
  const char *name;

  if (phase == TESSERA_NONE)
    return TESSERA_HASH_START;
  name = tessera_phase_name (share->trace, &share->structure->phases[phase]);
  return tessera_hash_bytes (TESSERA_HASH_START, name, strlen (name));
}

static void
fill (const Share *share, Step *step, uint32_t begin, uint32_t end)
{
  uint32_t phase = TESSERA_NONE;
  uint64_t of_phase = hash_phase (share, phase);

  for (uint32_t i = begin; i < end; i++)
    {
      const TesseraBlock *block;

      if (!asks (&share->trace->events[i]))
        continue;
      block = &share->blocks->blocks[share->blocks->block_of_event[i]];
      if (block->born_phase != phase)
        {
          phase = block->born_phase;
          of_phase = hash_phase (share, phase);
        }
      step->events[step->n] = i;
      step->tokens[step->n++] =
          tessera_mix (tessera_mix (of_phase, block->block_bytes),
                       (uint64_t) share->trace->events[i].action << 32 |
                           (uint64_t) block->stream << 16 | block->pool);
    }
}

static TesseraStatus
open_step (const Share *share, Step *step, uint32_t begin, uint32_t end)
{
  size_t n = (size_t) end - begin + 1;

  step->tokens = malloc (n * sizeof *step->tokens);
  step->events = malloc (n * sizeof *step->events);
  step->is_anchor = calloc (n, sizeof *step->is_anchor);
  if (!step->tokens || !step->events || !step->is_anchor)
    return TESSERA_NO_MEMORY;
  fill (share, step, begin, end);
  return TESSERA_OK;
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

static TesseraStatus
find_anchors (Share *share)
{
  size_t n_all = 0, n = 0;
  Place *places;

  for (uint32_t k = 0; k < share->n_steps; k++)
    n_all += share->steps[k].n;
  places = malloc ((n_all + 1) * sizeof *places);
  if (!places)
    return TESSERA_NO_MEMORY;
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
  free (places);
  return TESSERA_OK;
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

/* Room for a comparison of two steps. */
typedef struct
{
  uint64_t *tokens_a, *tokens_b;
  uint32_t *indices_a, *indices_b, *b_of_a;
} Room;

static bool
open_room (Room *room, uint32_t n_a, uint32_t n_b)
{
  room->tokens_a = malloc (((size_t) n_a + 1) * sizeof *room->tokens_a);
  room->tokens_b = malloc (((size_t) n_b + 1) * sizeof *room->tokens_b);
  room->indices_a = malloc (((size_t) n_a + 1) * sizeof *room->indices_a);
  room->indices_b = malloc (((size_t) n_b + 1) * sizeof *room->indices_b);
  room->b_of_a = malloc (((size_t) n_a + 1) * sizeof *room->b_of_a);
  return room->tokens_a && room->tokens_b && room->indices_a && room->indices_b &&
         room->b_of_a;
}

static void
close_room (Room *room)
{
  free (room->tokens_a);
  free (room->tokens_b);
  free (room->indices_a);
  free (room->indices_b);
  free (room->b_of_a);
}

/* Base requests [a, end_a) and the step's [b, end_b), between two common places. */
static TesseraStatus
compare_gap (const Step *base,
             Step *step,
             uint32_t a,
             uint32_t end_a,
             uint32_t b,
             uint32_t end_b,
             uint32_t *b_of_a)
{
  uint32_t n_common;
  TesseraStatus status;

  if (a == end_a || b == end_b)
    return TESSERA_OK;
  status = tessera_diff (base->tokens + a, end_a - a, step->tokens + b, end_b - b,
                         MAX_GAP_DIFFERENT, b_of_a, &n_common);
  for (uint32_t i = a; i < end_a && status == TESSERA_OK && n_common > 0; i++)
    if (b_of_a[i - a] != TESSERA_NONE)
      step->of_base[i] = b + b_of_a[i - a];
  return status;
}

static TesseraStatus
compare_gaps (const Step *base, Step *step, uint32_t *b_of_a)
{
  TesseraStatus status = TESSERA_OK;
  uint32_t a = 0, b = 0;

  for (uint32_t i = 0; i <= base->n && status == TESSERA_OK; i++)
    {
      uint32_t to = i < base->n ? step->of_base[i] : step->n;

      if (to == TESSERA_NONE)
        continue;
      status = compare_gap (base, step, a, i, b, to, b_of_a);
      a = i + 1;
      b = to + 1;
    }
  return status;
}

static TesseraStatus
compare (const Step *base, Step *step)
{
  Room room = { 0 };
  uint32_t n_a, n_b, n_common = 0;
  TesseraStatus status = TESSERA_NO_MEMORY;

  step->of_base = malloc (((size_t) base->n + 1) * sizeof *step->of_base);
  if (!step->of_base || !open_room (&room, base->n, step->n))
    goto out;
  memset (step->of_base, 0xff, ((size_t) base->n + 1) * sizeof *step->of_base);
  n_a = list_anchors (base, room.tokens_a, room.indices_a);
  n_b = list_anchors (step, room.tokens_b, room.indices_b);
  status = tessera_diff (room.tokens_a, n_a, room.tokens_b, n_b, MAX_DIFFERENT,
                         room.b_of_a, &n_common);
  if (status != TESSERA_OK || n_common == 0)
    goto out;
  for (uint32_t i = 0; i < n_a; i++)
    if (room.b_of_a[i] != TESSERA_NONE)
      step->of_base[room.indices_a[i]] = room.indices_b[room.b_of_a[i]];
  status = compare_gaps (base, step, room.b_of_a);
out:
  close_room (&room);
  return status;
}

/* @firsts: the step's first event, @marks: its mark. */
static uint32_t
mark (const Share *share,
      const uint32_t *firsts,
      const size_t *marks,
      bool *out_is_shared)
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
      out_is_shared[marks[base_step] + base->events[i] - firsts[base_step]] = true;
      for (uint32_t k = 0; k < base_step; k++)
        {
          const Step *step = &share->steps[k];

          out_is_shared[marks[k] + step->events[step->of_base[i]] - firsts[k]] = true;
        }
    }
  return n_shared;
}

/* @begins, @ends: of each step; the marks of one lie behind those of the one before. */
static TesseraStatus
share_all (Share *share,
           const uint32_t *begins,
           const uint32_t *ends,
           bool *out_is_shared,
           uint32_t *out_n_shared)
{
  size_t marks[TESSERA_SHARE_STEPS], n_marks = 0;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t k = 0; k < share->n_steps && status == TESSERA_OK; k++)
    {
      marks[k] = n_marks;
      n_marks += ends[k] - begins[k];
      status = open_step (share, &share->steps[k], begins[k], ends[k]);
    }
  memset (out_is_shared, 0, n_marks * sizeof *out_is_shared);
  if (status == TESSERA_OK)
    status = find_anchors (share);
  for (uint32_t k = 0; k + 1 < share->n_steps && status == TESSERA_OK; k++)
    status = compare (&share->steps[share->n_steps - 1], &share->steps[k]);
  if (status == TESSERA_OK)
    *out_n_shared = mark (share, begins, marks, out_is_shared);
  for (uint32_t k = 0; k < share->n_steps; k++)
    {
      free (share->steps[k].tokens);
      free (share->steps[k].events);
      free (share->steps[k].is_anchor);
      free (share->steps[k].of_base);
    }
  return status;
}

static TesseraStatus
share_between (const TesseraTrace *trace,
               const TesseraBlocks *blocks,
               const TesseraStructure *structure,
               const uint32_t *begins,
               const uint32_t *ends,
               uint32_t n_steps,
               bool *out_is_shared,
               uint32_t *out_n_shared)
{
  Share *share = calloc (1, sizeof *share);
  TesseraStatus status;

  *out_n_shared = 0;
  if (!share)
    return TESSERA_NO_MEMORY;
  *share = (Share){
    .trace = trace, .blocks = blocks, .structure = structure, .n_steps = n_steps
  };
  status = share_all (share, begins, ends, out_is_shared, out_n_shared);
  free (share);
  return status;
}

TesseraStatus
tessera_share_steps (const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure,
                     const uint32_t *bounds,
                     uint32_t n_steps,
                     bool *out_is_shared,
                     uint32_t *out_n_shared)
{
  return share_between (trace, blocks, structure, bounds, bounds + 1, n_steps,
                        out_is_shared, out_n_shared);
}

TesseraStatus
tessera_share_two (const TesseraTrace *trace,
                   const TesseraBlocks *blocks,
                   const TesseraStructure *structure,
                   const uint32_t bounds[4],
                   bool *out_is_shared,
                   uint32_t *out_n_shared)
{
  const uint32_t begins[] = { bounds[0], bounds[2] };
  const uint32_t ends[] = { bounds[1], bounds[3] };

  return share_between (trace, blocks, structure, begins, ends, 2, out_is_shared,
                        out_n_shared);
}
