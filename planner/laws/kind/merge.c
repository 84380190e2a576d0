/*
 * The merged sequence of several steps' requests: see merge.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/merge.h"

#include <stdlib.h>
#include <string.h>

#include "db/hash.h"
#include "planner/laws/kind/diff.h"

/* Of the requests, so many have to be common to be of one kind; where that is known, and
 * those without a law count as different until they are paired. */
#define COMMON_SHARE 0.85
#define COMMON_SIZES 0.5
/* The first part of a step keeps its gradients, all others drop theirs. */
#define COMMON_PARTS 0.7

enum
{
  MAX_DIFFERENT = 4096, /* bounds the memory ... */
  MAX_WORK = 1 << 26,   /* ... and the work on steps that have nothing in common */
  MIN_DIFFERENT = 16
};

TesseraStatus
tessera_merge_init (TesseraMerge *merge, uint32_t max_steps)
{
  *merge = (TesseraMerge){ .max_steps = max_steps };
  merge->steps = calloc (max_steps + 1, sizeof *merge->steps);
  return merge->steps ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_merge_clear (TesseraMerge *merge)
{
  free (merge->slots);
  free (merge->requests);
  free (merge->steps);
  memset (merge, 0, sizeof *merge);
}

/* What has a law and is not of the size that it gives is something else. */
static bool
is_open_slot (const TesseraMergedSlot *slot)
{
  return slot->law == TESSERA_NONE;
}

static bool
is_open_request (const TesseraMerge *merge, const TesseraSkeletonRequest *request)
{
  return !merge->sizes || merge->sizes->law_of_block[request->block] == TESSERA_NONE;
}

/* Slots [a, end_a) and requests [b, end_b), between the same two common places. */
typedef struct
{
  uint32_t a, end_a;
  uint32_t b, end_b;
} Gap;

static bool
is_even (const TesseraMerge *merge, const TesseraSkeleton *skeleton, const Gap *gap)
{
  uint32_t n_a = 0, n_b = 0;

  for (uint32_t a = gap->a; a < gap->end_a; a++)
    n_a += is_open_slot (&merge->slots[a]);
  for (uint32_t b = gap->b; b < gap->end_b; b++)
    n_b += is_open_request (merge, &skeleton->requests[b]);
  return n_a == n_b;
}

/* Where a gap has as many slots as requests these are the same, alive for another time:
 * paired one by one. Else only those of equal size are. */
static uint32_t
pair_gap (const TesseraMerge *merge,
          const TesseraSkeleton *skeleton,
          const TesseraBlocks *blocks,
          const Gap *gap,
          uint32_t *b_of_a)
{
  bool one_by_one = is_even (merge, skeleton, gap);
  uint32_t n_paired = 0, next = gap->b;

  for (uint32_t a = gap->a; a < gap->end_a; a++)
    {
      const TesseraMergedSlot *slot = &merge->slots[a];

      for (uint32_t b = next; b < gap->end_b && is_open_slot (slot); b++)
        {
          const TesseraSkeletonRequest *request = &skeleton->requests[b];
          bool is_equal = blocks->blocks[request->block].size_bytes == slot->size_bytes;

          if (!is_open_request (merge, request))
            continue;
          if (request->place == slot->place && (one_by_one || is_equal))
            {
              b_of_a[a] = b;
              next = b + 1;
              n_paired++;
              break;
            }
          if (one_by_one)
            {
              next = b + 1;
              break;
            }
        }
    }
  return n_paired;
}

/* What the longest common sequence left between its elements. */
static uint32_t
pair_rest (const TesseraMerge *merge,
           const TesseraSkeleton *skeleton,
           const TesseraBlocks *blocks,
           uint32_t *b_of_a)
{
  uint32_t n = (uint32_t) merge->n_slots, a = 0, b = 0, n_paired = 0;

  while (a < n)
    {
      Gap gap = { a, a, b, skeleton->n_requests };

      while (gap.end_a < n && b_of_a[gap.end_a] == TESSERA_NONE)
        gap.end_a++;
      if (gap.end_a < n)
        gap.end_b = b_of_a[gap.end_a];
      n_paired += pair_gap (merge, skeleton, blocks, &gap, b_of_a);
      a = gap.end_a + 1;
      b = gap.end_b + 1;
    }
  return n_paired;
}

static void
set_row (TesseraMerge *merge, uint32_t row, uint32_t request)
{
  merge->requests[(size_t) row * merge->max_steps + merge->n_steps] = request;
}

/* A slot that only the new step has. */
static TesseraMergedSlot
new_slot (TesseraMerge *merge,
          const TesseraSkeleton *skeleton,
          const TesseraBlocks *blocks,
          uint32_t request,
          uint32_t row)
{
  const TesseraSkeletonRequest *of = &skeleton->requests[request];

  for (uint32_t k = 0; k < merge->max_steps; k++)
    merge->requests[(size_t) row * merge->max_steps + k] = TESSERA_NONE;
  set_row (merge, row, request);
  return (TesseraMergedSlot){ .token = of->token,
                              .place = of->place,
                              .size_bytes = blocks->blocks[of->block].size_bytes,
                              .crosses = of->crosses,
                              .law = merge->sizes ? merge->sizes->law_of_block[of->block]
                                                  : TESSERA_NONE,
                              .row = row };
}

static TesseraStatus
reserve_rows (TesseraMerge *merge, size_t n_rows)
{
  uint32_t *more;

  if (n_rows <= merge->cap_rows)
    return TESSERA_OK;
  n_rows += n_rows / 4;
  more = realloc (merge->requests, n_rows * merge->max_steps * sizeof *more);
  if (!more)
    return TESSERA_NO_MEMORY;
  merge->requests = more;
  merge->cap_rows = n_rows;
  return TESSERA_OK;
}

/* The new sequence: all of the old one, and what only the step has before the common
 * place that it comes before. */
static TesseraStatus
join (TesseraMerge *merge,
      const TesseraSkeleton *skeleton,
      const TesseraBlocks *blocks,
      const uint32_t *b_of_a,
      uint32_t n_new)
{
  size_t n_all = merge->n_slots + n_new;
  TesseraMergedSlot *all = malloc ((n_all + 1) * sizeof *all);
  uint32_t row = (uint32_t) merge->n_slots, b = 0;
  size_t n = 0;

  if (!all || reserve_rows (merge, n_all) != TESSERA_OK)
    {
      free (all);
      return TESSERA_NO_MEMORY;
    }
  for (size_t a = 0; a < merge->n_slots; a++)
    {
      for (; b_of_a[a] != TESSERA_NONE && b < b_of_a[a]; b++, row++)
        all[n++] = new_slot (merge, skeleton, blocks, b, row);
      b += b_of_a[a] != TESSERA_NONE;
      all[n++] = merge->slots[a];
      set_row (merge, merge->slots[a].row, b_of_a[a]);
    }
  for (; b < skeleton->n_requests; b++, row++)
    all[n++] = new_slot (merge, skeleton, blocks, b, row);
  free (merge->slots);
  merge->slots = all;
  merge->n_slots = n;
  merge->steps[merge->n_steps++] = skeleton;
  return TESSERA_OK;
}

/* Before sizes are known by laws. What lives over the cuts of a step hardly varies, and
 * all of it lives as long: gradients are told by their sizes. */
static uint64_t
skeleton_token (const TesseraMerge *merge, uint64_t token, bool crosses, uint64_t bytes)
{
  return merge->are_parts && crosses ? tessera_hash_number (token, bytes) : token;
}

/* What is compared: for slots the size that the step's block would have. */
static uint64_t
slot_token (const TesseraMerge *merge, size_t index, uint32_t step)
{
  const TesseraMergedSlot *slot = &merge->slots[index];
  uint64_t bytes = slot->size_bytes;

  if (!merge->sizes)
    return skeleton_token (merge, slot->token, slot->crosses, bytes);
  if (slot->law == TESSERA_NONE ||
      !tessera_size_law_evaluate (&merge->sizes->laws[slot->law],
                                  &merge->sizes->parameters[step], &bytes))
    return tessera_hash_number (slot->token, index); /* like no other */
  return tessera_hash_number (slot->place, bytes);
}

static uint64_t
request_token (const TesseraMerge *merge,
               const TesseraSkeletonRequest *request,
               const TesseraBlocks *blocks)
{
  uint64_t bytes = blocks->blocks[request->block].size_bytes;

  return merge->sizes ? tessera_hash_number (request->place, bytes)
                      : skeleton_token (merge, request->token, request->crosses, bytes);
}

static TesseraStatus
compare (const TesseraMerge *merge,
         const TesseraSkeleton *skeleton,
         uint32_t step,
         const TesseraBlocks *blocks,
         uint32_t *b_of_a,
         uint32_t *out_n_common)
{
  uint32_t n_a = (uint32_t) merge->n_slots, n_b = skeleton->n_requests;
  /* What lives longer is one difference there and one here; what one has more is others.
   */
  uint32_t most = n_a > n_b ? n_a / 2 + n_a - n_b : n_b / 2 + n_b - n_a;
  uint32_t affordable = (uint32_t) (MAX_WORK / ((uint64_t) n_a + n_b + 1));
  uint64_t *tokens = malloc (((size_t) n_a + n_b + 1) * sizeof *tokens);
  TesseraStatus status;

  if (!tokens)
    return TESSERA_NO_MEMORY;
  most = most + MIN_DIFFERENT < MAX_DIFFERENT ? most + MIN_DIFFERENT : MAX_DIFFERENT;
  for (uint32_t i = 0; i < n_a; i++)
    tokens[i] = slot_token (merge, i, step);
  for (uint32_t i = 0; i < n_b; i++)
    tokens[n_a + i] = request_token (merge, &skeleton->requests[i], blocks);
  status = tessera_diff (tokens, n_a, tokens + n_a, n_b,
                         most < affordable ? most : affordable, b_of_a, out_n_common);
  if (status == TESSERA_OK && *out_n_common > 0)
    *out_n_common += pair_rest (merge, skeleton, blocks, b_of_a);
  free (tokens);
  return status;
}

/* What only this step has and what it keeps, as the first one does the optimizer's state,
 * tells nothing against it. */
static uint32_t
count_kept (const TesseraMerge *merge,
            const TesseraSkeleton *skeleton,
            const uint32_t *b_of_a,
            uint32_t n_common)
{
  uint32_t n_kept = 0, n_paired = 0;

  for (uint32_t b = 0; b < skeleton->n_requests; b++)
    n_kept += skeleton->requests[b].crosses;
  for (size_t a = 0; a < merge->n_slots && n_common > 0; a++)
    n_paired += b_of_a[a] != TESSERA_NONE && skeleton->requests[b_of_a[a]].crosses;
  return n_kept - n_paired;
}

/* Of parts of a step one may be the other with more behind it. Whether most is common up
 * to there, and the rest is of one of both only. */
static bool
is_part_like (const TesseraMerge *merge,
              const TesseraSkeleton *skeleton,
              const uint32_t *b_of_a,
              uint32_t n_common,
              double share)
{
  uint32_t n_first = 0, n_seen = 0, n_step = 0;
  uint32_t n_less =
      skeleton->n_requests < merge->n_first ? skeleton->n_requests : merge->n_first;

  for (size_t a = 0; a < merge->n_slots; a++)
    {
      n_seen += merge->requests[(size_t) merge->slots[a].row * merge->max_steps] !=
                TESSERA_NONE;
      if (b_of_a[a] == TESSERA_NONE)
        continue;
      n_step = b_of_a[a] + 1;
      n_first = n_seen;
    }
  return n_common >= share * n_less && n_common >= share * n_step &&
         n_common >= share * n_first;
}

static bool
is_alike (const TesseraMerge *merge,
          const TesseraSkeleton *skeleton,
          const uint32_t *b_of_a,
          uint32_t n_common)
{
  double share = merge->sizes       ? COMMON_SIZES
                 : merge->are_parts ? COMMON_PARTS
                                    : COMMON_SHARE;
  uint32_t n_kept = count_kept (merge, skeleton, b_of_a, n_common);

  if (n_common >= share * (skeleton->n_requests - n_kept) &&
      n_common >= share * merge->n_first)
    return true;
  return merge->are_parts && n_common > 0 &&
         is_part_like (merge, skeleton, b_of_a, n_common, share);
}

TesseraStatus
tessera_merge_step (TesseraMerge *merge,
                    const TesseraSkeleton *skeleton,
                    uint32_t step,
                    const TesseraBlocks *blocks,
                    bool *out_joined)
{
  uint32_t *b_of_a, n_common = 0;
  TesseraStatus status = TESSERA_OK;

  *out_joined = false;
  if (merge->n_steps == merge->max_steps || skeleton->n_requests == 0)
    return TESSERA_OK;
  b_of_a = malloc ((merge->n_slots + 1) * sizeof *b_of_a);
  if (!b_of_a)
    return TESSERA_NO_MEMORY;
  if (merge->n_steps == 0)
    merge->n_first = skeleton->n_requests;
  else
    status = compare (merge, skeleton, step, blocks, b_of_a, &n_common);
  *out_joined = status == TESSERA_OK &&
                (merge->n_steps == 0 || is_alike (merge, skeleton, b_of_a, n_common));
  if (status == TESSERA_OK && *out_joined)
    status = join (merge, skeleton, blocks, b_of_a, skeleton->n_requests - n_common);
  free (b_of_a);
  *out_joined = *out_joined && status == TESSERA_OK;
  return status;
}

/* The latest end of any step's block, in slots. What is alive when the trace ends may
 * have ended soon after: other steps know better. */
static void
see_step (const TesseraMerge *merge,
          const TesseraBlocks *blocks,
          uint32_t step,
          const uint32_t *slot_of_request,
          TesseraKind *kind)
{
  const TesseraSkeleton *skeleton = merge->steps[step];
  bool is_cut_off = skeleton->end_index == blocks->n_events;

  for (uint32_t r = 0; r < skeleton->n_requests; r++)
    {
      const TesseraSkeletonRequest *request = &skeleton->requests[r];
      const TesseraBlock *block = &blocks->blocks[request->block];
      TesseraKindSlot *slot = &kind->slots[slot_of_request[r]];
      uint32_t died = request->end < skeleton->n_requests ? slot_of_request[request->end]
                                                          : kind->n_slots;

      if (slot->n_seen++ == 0)
        {
          slot->stream = block->stream;
          slot->pool = block->pool;
          slot->phase = block->born_phase;
        }
      kind->blocks[(size_t) slot_of_request[r] * kind->n_steps + step] = request->block;
      if (is_cut_off && request->crosses && slot->died > 0)
        continue;
      slot->died = died > slot->died ? died : slot->died;
      slot->n_cross += request->crosses;
    }
}

TesseraStatus
tessera_merge_finish (const TesseraMerge *merge,
                      const TesseraBlocks *blocks,
                      TesseraKind *kind)
{
  uint32_t n = (uint32_t) merge->n_slots, most = 0, *slot_of_request;

  kind->n_slots = n;
  kind->n_steps = merge->n_steps;
  kind->slots = calloc (n + 1, sizeof *kind->slots);
  kind->blocks = malloc (((size_t) n * merge->n_steps + 1) * sizeof *kind->blocks);
  for (uint32_t k = 0; k < merge->n_steps; k++)
    most = merge->steps[k]->n_requests > most ? merge->steps[k]->n_requests : most;
  slot_of_request = malloc ((most + 1) * sizeof *slot_of_request);
  if (!kind->slots || !kind->blocks || !slot_of_request)
    {
      free (slot_of_request);
      return TESSERA_NO_MEMORY;
    }
  memset (kind->blocks, 0xff, (size_t) n * merge->n_steps * sizeof *kind->blocks);
  for (uint32_t k = 0; k < merge->n_steps; k++)
    {
      for (uint32_t i = 0; i < n; i++)
        {
          uint32_t r =
              merge->requests[(size_t) merge->slots[i].row * merge->max_steps + k];

          if (r != TESSERA_NONE)
            slot_of_request[r] = i;
        }
      see_step (merge, blocks, k, slot_of_request, kind);
    }
  free (slot_of_request);
  return TESSERA_OK;
}
