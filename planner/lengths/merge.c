/*
 * Steps request by request: what each does, and the sequence that holds the requests of
 * several in order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <string.h>

#include "db/hash.h"
#include "planner/diff.h"

/* Of the requests, so many have to be common to be of one kind; where that is known, and
 * those without a model count as different until they are paired. */
#define COMMON_SHARE 0.85
#define COMMON_SIZES 0.5
/* The first part of a step keeps its gradients, all others drop theirs. */
#define COMMON_PARTS 0.7

enum
{
  EXACT_LIFE = 8,             /* requests */
  LIFE_CROSSES = 64,          /* no magnitude is as large */
  MOST_OPEN_DIFFERENT = 1024, /* requests of the last step and the one before */
  MAX_DIFFERENT = 4096,       /* bounds the memory ... */
  MAX_WORK = 1 << 26,         /* ... and the work on steps that have nothing in common */
  MIN_DIFFERENT = 16
};

static uint64_t
life_class (const TesseraSkeletonRequest *request, uint32_t index)
{
  uint32_t life = request->end - index, bits = 0;

  if (request->crosses)
    return LIFE_CROSSES;
  if (life <= EXACT_LIFE)
    return life;
  while (life >> bits)
    bits++;
  return EXACT_LIFE + bits;
}

/* What the request is told by, from where it is born and when it ends. */
static void
name_request (TesseraSkeletonRequest *request, const TesseraBlock *block, uint32_t index)
{
  request->place = tessera_hash_number (request->phase,
                                        (uint64_t) request->crosses << 32 |
                                            (uint64_t) block->stream << 16 | block->pool);
  request->token = tessera_hash_number (request->place, life_class (request, index));
}

static void
hash_all (TesseraSkeleton *skeleton)
{
  skeleton->hash = TESSERA_HASH_START;
  for (uint32_t i = 0; i < skeleton->n_requests; i++)
    skeleton->hash = tessera_hash_number (skeleton->hash, skeleton->requests[i].token);
}

static void
fill (TesseraSkeleton *skeleton,
      const TesseraTrace *trace,
      const TesseraBlocks *blocks,
      const TesseraStructure *structure,
      uint32_t first,
      uint32_t n)
{
  /* What is freed between the mark of a step and its first request is in nobody's way. */
  uint32_t next_born = first + n < blocks->n_blocks ? blocks->blocks[first + n].born_index
                                                    : skeleton->end_index;
  uint32_t phase = TESSERA_NONE;
  uint64_t of_phase = tessera_phase_hash (trace, structure, phase);

  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraBlock *block = &blocks->blocks[first + i];
      TesseraSkeletonRequest *request = &skeleton->requests[i];

      if (block->born_phase != phase)
        {
          phase = block->born_phase;
          of_phase = tessera_phase_hash (trace, structure, phase);
        }
      request->block = first + i;
      request->crosses = block->died_index >= next_born;
      request->end = request->crosses
                         ? n
                         : tessera_blocks_first_born (blocks, block->died_index) - first;
      if (request->end <= i)
        request->end = i + 1;
      request->phase = of_phase;
      name_request (request, block, i);
    }
  skeleton->n_requests = n;
  hash_all (skeleton);
}

static void
init_as_recorded (TesseraSkeleton *skeleton,
                  const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  uint32_t step)
{
  const TesseraStep *of = &structure->steps[step];
  uint32_t first, n;

  *skeleton =
      (TesseraSkeleton){ .begin_index = of->begin_index,
                         .end_index = step + 1 < structure->n_steps ? of[1].begin_index
                                                                    : blocks->n_events };
  first = tessera_blocks_first_born (blocks, skeleton->begin_index);
  n = tessera_blocks_first_born (blocks, skeleton->end_index) - first;
  skeleton->requests = g_new (TesseraSkeletonRequest, n + 1);
  fill (skeleton, trace, blocks, structure, first, n);
}

/* What is alive when the trace ends seems to live into a next step. It does where the
 * step before has a request that does, and else has ended soon after: gradients, say,
 * which the next step would have begun by dropping. */
static void
correct_open_ends (TesseraSkeleton *last,
                   const TesseraSkeleton *before,
                   const TesseraBlocks *blocks)
{
  uint32_t n_a = before->n_requests, n_b = last->n_requests, n_common;
  g_autofree uint64_t *tokens = g_new (uint64_t, (size_t) n_a + n_b + 1);
  g_autofree uint32_t *b_of_a = g_new (uint32_t, n_a + 1);
  g_autofree bool *has_like = g_new0 (bool, n_b + 1);

  for (uint32_t i = 0; i < n_a; i++)
    tokens[i] = before->requests[i].token;
  for (uint32_t i = 0; i < n_b; i++)
    tokens[n_a + i] = last->requests[i].token;
  n_common = tessera_diff (tokens, n_a, tokens + n_a, n_b, MOST_OPEN_DIFFERENT, b_of_a);
  for (uint32_t i = 0; i < n_a && n_common > 0; i++)
    if (b_of_a[i] != TESSERA_NONE)
      has_like[b_of_a[i]] = true;
  for (uint32_t i = 0; i < n_b && n_common > 0; i++)
    if (last->requests[i].crosses && !has_like[i])
      {
        last->requests[i].crosses = false;
        name_request (&last->requests[i], &blocks->blocks[last->requests[i].block], i);
      }
  hash_all (last);
}

void
tessera_skeleton_init (TesseraSkeleton *skeleton,
                       const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       uint32_t step)
{
  TesseraSkeleton before;

  init_as_recorded (skeleton, trace, blocks, structure, step);
  if (step == 0 || step + 1 < structure->n_steps)
    return;
  init_as_recorded (&before, trace, blocks, structure, step - 1);
  correct_open_ends (skeleton, &before, blocks);
  tessera_skeleton_clear (&before);
}

void
tessera_skeleton_clear (TesseraSkeleton *skeleton)
{
  g_free (skeleton->requests);
  *skeleton = (TesseraSkeleton){ 0 };
}

void
tessera_merge_init (TesseraMerge *merge, uint32_t max_steps)
{
  *merge = (TesseraMerge){ .steps = g_new0 (const TesseraSkeleton *, max_steps + 1),
                           .slots_of = g_new0 (uint32_t *, max_steps + 1) };
}

void
tessera_merge_clear (TesseraMerge *merge)
{
  g_free (merge->slots);
  for (uint32_t k = 0; k < merge->n_steps; k++)
    g_free (merge->slots_of[k]);
  g_free (merge->slots_of);
  g_free (merge->steps);
  *merge = (TesseraMerge){ 0 };
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

/* A slot that only the new step has. */
static TesseraMergedSlot
new_slot (const TesseraMerge *merge,
          const TesseraSkeletonRequest *request,
          const TesseraBlocks *blocks)
{
  return (TesseraMergedSlot){
    .token = request->token,
    .place = request->place,
    .size_bytes = blocks->blocks[request->block].size_bytes,
    .crosses = request->crosses,
    .law = merge->sizes ? merge->sizes->law_of_block[request->block] : TESSERA_NONE,
    .is_first = merge->n_steps == 0,
  };
}

/* The new sequence: all of the old one, and what only the step has before the common
 * place that it comes before. */
static void
join (TesseraMerge *merge,
      const TesseraSkeleton *skeleton,
      const TesseraBlocks *blocks,
      const uint32_t *b_of_a,
      uint32_t n_new)
{
  TesseraMergedSlot *all = g_new (TesseraMergedSlot, merge->n_slots + n_new + 1);
  g_autofree uint32_t *moved = g_new (uint32_t, merge->n_slots + 1);
  uint32_t *slots = g_new (uint32_t, skeleton->n_requests + 1), n = 0, b = 0;

  for (size_t a = 0; a <= merge->n_slots; a++)
    {
      uint32_t end = a == merge->n_slots ? skeleton->n_requests : b_of_a[a];

      for (; end != TESSERA_NONE && b < end; b++)
        {
          slots[b] = n;
          all[n++] = new_slot (merge, &skeleton->requests[b], blocks);
        }
      if (a == merge->n_slots)
        break;
      if (end != TESSERA_NONE)
        slots[b++] = n;
      moved[a] = n;
      all[n++] = merge->slots[a];
    }
  for (uint32_t k = 0; k < merge->n_steps; k++)
    for (uint32_t r = 0; r < merge->steps[k]->n_requests; r++)
      merge->slots_of[k][r] = moved[merge->slots_of[k][r]];
  g_free (merge->slots);
  merge->slots = all;
  merge->n_slots = n;
  merge->slots_of[merge->n_steps] = slots;
  merge->steps[merge->n_steps++] = skeleton;
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

/* Returns: how many slots have a request of the step. */
static uint32_t
compare (const TesseraMerge *merge,
         const TesseraSkeleton *skeleton,
         uint32_t step,
         const TesseraBlocks *blocks,
         uint32_t *b_of_a)
{
  uint32_t n_a = (uint32_t) merge->n_slots, n_b = skeleton->n_requests, n_common;
  /* A longer lifetime is one difference there and one here; what one has more is others. */
  uint32_t most = n_a > n_b ? n_a / 2 + n_a - n_b : n_b / 2 + n_b - n_a;
  uint32_t affordable = (uint32_t) (MAX_WORK / ((uint64_t) n_a + n_b + 1));
  g_autofree uint64_t *tokens = g_new (uint64_t, (size_t) n_a + n_b + 1);

  for (uint32_t i = 0; i < n_a; i++)
    tokens[i] = slot_token (merge, i, step);
  for (uint32_t i = 0; i < n_b; i++)
    tokens[n_a + i] = request_token (merge, &skeleton->requests[i], blocks);
  n_common =
      tessera_diff (tokens, n_a, tokens + n_a, n_b,
                    MIN (MIN (most + MIN_DIFFERENT, MAX_DIFFERENT), affordable), b_of_a);
  return n_common > 0 ? n_common + pair_rest (merge, skeleton, blocks, b_of_a) : 0;
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
      n_seen += merge->slots[a].is_first;
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

bool
tessera_merge_step (TesseraMerge *merge,
                    const TesseraSkeleton *skeleton,
                    uint32_t step,
                    const TesseraBlocks *blocks)
{
  g_autofree uint32_t *b_of_a = g_new (uint32_t, merge->n_slots + 1);
  uint32_t n_common = 0;

  if (skeleton->n_requests == 0)
    return false;
  if (merge->n_steps == 0)
    merge->n_first = skeleton->n_requests;
  else
    n_common = compare (merge, skeleton, step, blocks, b_of_a);
  if (merge->n_steps > 0 && !is_alike (merge, skeleton, b_of_a, n_common))
    return false;
  join (merge, skeleton, blocks, b_of_a, skeleton->n_requests - n_common);
  return true;
}

/* The latest end of any step's block, in slots. What is alive when the trace ends may
 * have ended soon after: other steps know better. */
static void
see_step (const TesseraMerge *merge,
          const TesseraBlocks *blocks,
          uint32_t step,
          TesseraKind *kind)
{
  const uint32_t *slot_of_request = merge->slots_of[step];
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

void
tessera_merge_finish (const TesseraMerge *merge,
                      const TesseraBlocks *blocks,
                      TesseraKind *kind)
{
  uint32_t n = (uint32_t) merge->n_slots;

  kind->n_slots = n;
  kind->n_steps = merge->n_steps;
  kind->slots = g_new0 (TesseraKindSlot, n + 1);
  kind->blocks = tessera_new_nones ((size_t) n * merge->n_steps);
  for (uint32_t k = 0; k < merge->n_steps; k++)
    see_step (merge, blocks, k, kind);
}
