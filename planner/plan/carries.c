/*
 * What lives from one step into the next: see carries.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/carries.h"

#include "planner/memory.h"

#include <string.h>

/* The block of @request goes on beyond its @unit. */
static void
follow_block (const TesseraUnits *units,
              TesseraKindRequest *request,
              uint32_t unit,
              bool flips,
              uint32_t died_index)
{
  bool outlives = died_index >= units->end;
  uint32_t last = outlives ? units->n_units : tessera_units_at (units, died_index);

  request->is_carried = true;
  request->died = units->kinds[request->kind].end;
  for (uint32_t u = unit + 1; u < last; u++)
    {
      uint32_t kind = tessera_units_kind (units, u, flips);

      if (kind != TESSERA_NONE)
        request->ends[kind] = units->kinds[kind].end;
    }
  /* Of one kind the end is the recording's, behind the layout that came last there. */
  if (outlives && (!flips || units->n_alternating > 1))
    {
      uint32_t after = tessera_units_outside (units, died_index);

      if (after > units->first_end && after > request->after)
        request->after = after;
    }
  else if (!outlives && units->units[last].kind != TESSERA_NONE)
    {
      uint32_t kind = tessera_units_kind (units, last, flips);
      uint32_t place = units->place_of[died_index - units->begin];
      uint32_t begin = units->kinds[kind].begin;
      uint32_t end = tessera_units_position (units, kind, place);

      /* What has gone by the first request no step of a single kind finds; of several
       * kinds all that is carried is there for a moment. */
      if (units->n_kinds == 1 && place == 0)
        end = begin;
      else if (end <= begin)
        end = begin + 1;
      if (end > request->ends[kind])
        request->ends[kind] = end;
    }
}

/* The blocks of one unit, each to its request. */
static void
see_unit (TesseraCarries *carries, uint32_t u, bool flips)
{
  const TesseraUnits *units = carries->units;
  const TesseraUnit *unit = &units->units[u];
  uint32_t kind = tessera_units_kind (units, u, flips);

  for (uint32_t e = unit->begin; e < unit->end; e++)
    {
      const TesseraBlock *block;
      TesseraKindRequest *request;

      if (!tessera_units_plan (units, e))
        continue;
      request = &carries->requests[carries->first_request[kind] +
                                   units->place_of[e - units->begin]];
      block = &units->blocks->blocks[units->blocks->block_of_event[e]];
      if (block->died_index >= unit->end)
        follow_block (units, request, u, flips, block->died_index);
      else
        {
          uint32_t died = tessera_units_position (
              units, kind, units->place_of[block->died_index - units->begin]);

          if (died > request->died)
            request->died = died;
        }
    }
}

/* 0: its place is the same in both layouts of its kind. */
static uint8_t
layout_of (const TesseraUnits *units, uint32_t kind, uint32_t request)
{
  const uint8_t *alternates = units->kinds[kind].alternates;

  if (units->n_alternating == 0 || !alternates[request])
    return TESSERA_ALTERNATE_NOT;
  return kind < units->n_alternating ? TESSERA_ALTERNATE_FIRST : TESSERA_ALTERNATE_SECOND;
}

void
tessera_carries_list (TesseraCarries *carries,
                      const TesseraUnits *units,
                      const uint32_t *left_out)
{
  *carries = (TesseraCarries){ .units = units };
  for (uint32_t k = 0; k < units->n_kinds; k++)
    carries->first_request[k + 1] =
        carries->first_request[k] + units->kinds[k].n_requests;
  carries->n_requests = carries->first_request[units->n_kinds];
  carries->requests = g_new0 (TesseraKindRequest, carries->n_requests + 1);
  for (uint32_t k = 0, i = 0; k < units->n_kinds; k++)
    for (uint32_t r = 0; r < units->kinds[k].n_requests; r++, i++)
      {
        uint32_t block = units->blocks->block_of_event[units->kinds[k].requests[r]];
        const TesseraBlock *of = &units->blocks->blocks[block];

        carries->requests[i] =
            (TesseraKindRequest){ .block = block,
                                  .block_bytes = of->block_bytes,
                                  .kind = k,
                                  .born = tessera_units_position (units, k, r),
                                  .carry = TESSERA_NONE,
                                  .slot = TESSERA_NONE,
                                  .is_left_out = left_out[block] != 0,
                                  .alternates = layout_of (units, k, r),
                                  .stream = of->stream,
                                  .pool = of->pool };
        carries->requests[i].died = carries->requests[i].born + 1;
      }
  for (uint32_t u = 0; u < units->n_units; u++)
    for (int flips = 0; flips <= (units->n_alternating > 0); flips++)
      if (units->units[u].kind != TESSERA_NONE)
        see_unit (carries, u, flips != 0);
}

/* Of a single kind: what no step found is not carried, unless nobody saw a later step. */
static void
end_single (TesseraCarries *carries)
{
  const TesseraUnits *units = carries->units;
  const TesseraStepKind *kind = &units->kinds[0];

  for (uint32_t i = 0; units->n_kinds == 1 && i < carries->n_requests; i++)
    {
      TesseraKindRequest *request = &carries->requests[i];

      if (!request->is_carried)
        continue;
      if (units->n_units == 1)
        request->ends[0] = request->born;
      request->is_carried = request->ends[0] > kind->begin;
      if (!request->is_carried)
        request->died = request->after ? request->after : kind->end;
    }
}

/* A step finds what the other layout left: of its own it finds nothing. */
static void
end_alternating (TesseraCarries *carries)
{
  const TesseraUnits *units = carries->units;

  for (uint32_t i = 0; i < carries->n_requests; i++)
    for (uint32_t k = 0; carries->requests[i].alternates && k < units->n_kinds; k++)
      if ((k < units->n_alternating) ==
          (carries->requests[i].alternates == TESSERA_ALTERNATE_FIRST))
        carries->requests[i].ends[k] = units->kinds[k].begin;
}

/* What alternates shares its place with what does so in the same layout. */
int
tessera_carries_compare (const TesseraKindRequest *x, const TesseraKindRequest *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  if (x->stream != y->stream)
    return x->stream < y->stream ? -1 : 1;
  if (x->pool != y->pool)
    return x->pool < y->pool ? -1 : 1;
  return x->alternates - y->alternates;
}

static int
compare_requests (const void *a, const void *b)
{
  const TesseraKindRequest *const *x = a, *const *y = b;
  int order = tessera_carries_compare (*x, *y);

  /* By kind and birth: the requests are in that order. */
  return order ? order : (*x > *y) - (*x < *y);
}

/* Valid until the next one. */
static TesseraCarry *
add_carry (TesseraCarries *carries, const TesseraKindRequest *like)
{
  TesseraCarry *carry;

  TESSERA_GROW (carries->carries, carries->cap_carries, (size_t) carries->n_carries + 1);
  carry = &carries->carries[carries->n_carries++];
  *carry = (TesseraCarry){ .block_bytes = like->block_bytes,
                           .start = TESSERA_NONE,
                           .alternates = like->alternates,
                           .stream = like->stream,
                           .pool = like->pool,
                           .like = (uint32_t) (like - carries->requests) };
  memset (carry->requests, 0xff, sizeof carry->requests);
  return carry;
}

/* Is a block of @of surely gone from a step of the kind of @in when that one is born? */
static bool
is_gone (const TesseraKindRequest *of, const TesseraKindRequest *in)
{
  return of->ends[in->kind] <= in->born;
}

static bool
may_join (const TesseraCarries *carries,
          const TesseraCarry *carry,
          const TesseraKindRequest *request)
{
  if (carry->requests[request->kind] != TESSERA_NONE)
    return false;
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    if (carry->requests[k] != TESSERA_NONE &&
        (!is_gone (request, &carries->requests[carry->requests[k]]) ||
         !is_gone (&carries->requests[carry->requests[k]], request)))
      return false;
  return true;
}

static void
join (TesseraCarries *carries, uint32_t carry, TesseraKindRequest *request)
{
  TesseraCarry *of = &carries->carries[carry];

  request->carry = carry;
  of->requests[request->kind] = (uint32_t) (request - carries->requests);
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    if (request->ends[k] > of->ends[k])
      of->ends[k] = request->ends[k];
  if (request->after > of->after)
    of->after = request->after;
}

bool
tessera_carries_change_turn (const TesseraUnits *units, uint32_t kind)
{
  const TesseraStepKind *of = &units->kinds[kind];

  for (uint32_t r = 0; units->n_alternating > 0 && r < of->n_requests; r++)
    if (of->alternates[r])
      return true;
  return false;
}

/* Where nobody saw it. What alternates has gone once the turn has changed. */
static void
guess_ends (const TesseraCarries *carries, TesseraCarry *carry)
{
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    {
      const TesseraStepKind *kind = &carries->units->kinds[k];
      uint32_t request = carry->requests[k];
      bool goes = carry->alternates && tessera_carries_change_turn (carries->units, k);

      if (carry->ends[k] != 0)
        continue;
      carry->ends[k] =
          request != TESSERA_NONE ? carries->requests[request].born : kind->end - goes;
      if (carry->ends[k] <= kind->begin)
        carry->ends[k] = kind->begin + 1;
    }
}

/* Carried requests of one shape, by kind and birth. Each joins the first carry of the
 * shape that has none of its kind and that it gets along with. */
static void
join_shape (TesseraCarries *carries, TesseraKindRequest **requests, size_t n_requests)
{
  uint32_t first = carries->n_carries, next = first, kind = TESSERA_NONE;

  for (size_t i = 0; i < n_requests; i++)
    {
      uint32_t carry;

      if (requests[i]->kind != kind)
        next = first;
      kind = requests[i]->kind;
      for (carry = next; carry < carries->n_carries; carry++)
        if (may_join (carries, &carries->carries[carry], requests[i]))
          break;
      if (carry == carries->n_carries)
        add_carry (carries, requests[i]);
      join (carries, carry, requests[i]);
      next = carry == next ? next + 1 : next;
    }
  for (uint32_t carry = first; carry < carries->n_carries; carry++)
    guess_ends (carries, &carries->carries[carry]);
}

/*
 * Rotations: how many places they need.
 *
 * A step of a kind *clears* a rotation when all blocks that it finds of it end in it.
 * Where every kind that makes requests of the rotation clears it, the blocks found are
 * those of one earlier step; else each kind may have left all that it makes. What was
 * never seen to enter a kind that makes such requests is taken to end with its step.
 */

typedef struct
{
  const TesseraUnits *units;
  TesseraKindRequest **requests;
  size_t n_requests;
  size_t ends_of_kind[TESSERA_MAX_KINDS]; /* of its requests */
  bool makes[TESSERA_MAX_KINDS];
  bool are_cleared;
} Rotation;

static void
guess_ends_of_rotation (Rotation *rotation)
{
  rotation->are_cleared = true;
  for (size_t i = 0; i < rotation->n_requests; i++)
    rotation->makes[rotation->requests[i]->kind] = true;
  for (size_t i = 0; i < rotation->n_requests; i++)
    for (uint32_t k = 0; k < rotation->units->n_kinds; k++)
      {
        const TesseraStepKind *kind = &rotation->units->kinds[k];
        uint32_t *end = &rotation->requests[i]->ends[k];

        if (*end == 0)
          *end = rotation->makes[k] && kind->end - kind->begin > 1 ? kind->end - 1
                                                                   : kind->end;
        /* Of its own kind only ends count that are not before the birth. */
        if (k == rotation->requests[i]->kind && *end < rotation->requests[i]->born)
          *end = rotation->requests[i]->born;
        if (k == rotation->requests[i]->kind && *end <= kind->begin)
          *end = kind->begin + 1;
        if (rotation->makes[k] && *end == kind->end)
          rotation->are_cleared = false;
      }
}

int
tessera_compare_positions (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* The most that are needed at a birth in a step of the kind whose requests are [begin, end):
 * what it has made by then, and what it found that is still there, of the one kind that left
 * most, or of all. @ends: [n_requests] scratch. */
static size_t
count_places_of_kind (const Rotation *rotation, size_t begin, size_t end, uint32_t *ends)
{
  const uint32_t kind = rotation->requests[begin]->kind;
  size_t n_places = 0, gone[TESSERA_MAX_KINDS] = { 0 };

  for (size_t i = 0; i < rotation->n_requests; i++)
    ends[i] = rotation->requests[i]->ends[kind];
  for (size_t from = 0, to; from < rotation->n_requests; from = to)
    {
      to = rotation->ends_of_kind[rotation->requests[from]->kind];
      qsort (ends + from, to - from, sizeof *ends, tessera_compare_positions);
    }
  for (size_t born = begin; born < end; born++)
    {
      size_t most = 0, sum = 0;

      for (size_t from = 0, to; from < rotation->n_requests; from = to)
        {
          size_t *n_gone = &gone[rotation->requests[from]->kind];

          to = rotation->ends_of_kind[rotation->requests[from]->kind];
          while (from + *n_gone < to &&
                 ends[from + *n_gone] <= rotation->requests[born]->born)
            ++*n_gone;
          most = MAX (to - from - *n_gone, most);
          sum += to - from - *n_gone;
        }
      n_places = MAX (born - begin + 1 + (rotation->are_cleared ? most : sum), n_places);
    }
  return n_places;
}

static size_t
count_places (Rotation *rotation)
{
  g_autofree uint32_t *ends = g_new (uint32_t, rotation->n_requests + 1);
  size_t most = 0;

  for (size_t i = 0; i < rotation->n_requests; i++)
    rotation->ends_of_kind[rotation->requests[i]->kind] = i + 1;
  for (size_t from = 0, to; from < rotation->n_requests; from = to)
    {
      to = rotation->ends_of_kind[rotation->requests[from]->kind];
      most = MAX (count_places_of_kind (rotation, from, to, ends), most);
    }
  return most;
}

/* A carry for each place that the carried @requests of one shape need together; they are
 * in order of kind and birth. */
static void
add_rotation (TesseraCarries *carries, TesseraKindRequest **requests, size_t n_requests)
{
  Rotation rotation = { .units = carries->units,
                        .requests = requests,
                        .n_requests = n_requests };
  uint32_t first = carries->n_carries, after = 0, n_of_kind = 0;
  size_t n_places;

  guess_ends_of_rotation (&rotation);
  n_places = count_places (&rotation);
  for (size_t i = 0; i < n_requests; i++)
    after = MAX (requests[i]->after, after);
  for (size_t i = 0; i < n_places; i++)
    {
      /* A run whose own place is taken looks for another from there on: what is to spare comes
       * right behind that of a request each. */
      TesseraCarry *carry = add_carry (carries, requests[i % n_requests]);

      carry->is_turn = true;
      carry->rotation = first;
      carry->after = after;
      for (uint32_t k = 0; k < carries->units->n_kinds; k++)
        carry->ends[k] = carries->units->kinds[k].end;
    }
  for (size_t i = 0; i < n_requests; i++)
    {
      n_of_kind = i > 0 && requests[i - 1]->kind == requests[i]->kind ? n_of_kind + 1 : 0;
      requests[i]->carry = first + n_of_kind;
      carries->carries[first + n_of_kind].requests[requests[i]->kind] =
          (uint32_t) (requests[i] - carries->requests);
    }
}

/*
 * Who shares a place.
 */

/* A birth at the very begin of a section leaves no moment for the block before it. */
static bool
outlives_a_birth (const TesseraCarries *carries, const TesseraKindRequest *request)
{
  if (request->alternates)
    return false;
  return request->ends[request->kind] > request->born ||
         request->born == carries->units->kinds[request->kind].begin;
}

/* Moves those that take turns before the others of their shape. Of a single kind what has
 * gone when its like is born keeps a place of its own. Returns: how many take turns. */
static size_t
part_turns (const TesseraCarries *carries,
            TesseraKindRequest **requests,
            size_t n_requests)
{
  g_autofree TesseraKindRequest **others = g_new (TesseraKindRequest *, n_requests + 1);
  size_t n_turns = 0, n_others = 0;

  for (size_t i = 0; i < n_requests; i++)
    if (carries->units->n_kinds == 1 && requests[i]->ends[0] < requests[i]->born)
      others[n_others++] = requests[i];
    else
      requests[n_turns++] = requests[i];
  memcpy (requests + n_turns, others, n_others * sizeof *others);
  return n_turns;
}

static void
join_requests (TesseraCarries *carries)
{
  g_autofree TesseraKindRequest **requests =
      g_new (TesseraKindRequest *, carries->n_requests + 1);
  size_t n = 0, end, n_turns;

  for (uint32_t i = 0; i < carries->n_requests; i++)
    if (carries->requests[i].is_carried && !carries->requests[i].is_left_out)
      requests[n++] = &carries->requests[i];
  qsort (requests, n, sizeof *requests, compare_requests);
  for (size_t i = 0; i < n; i = end)
    {
      bool takes_turns = false;

      for (end = i; end < n && tessera_carries_compare (requests[i], requests[end]) == 0;
           end++)
        takes_turns = takes_turns || outlives_a_birth (carries, requests[end]);
      n_turns = takes_turns ? part_turns (carries, requests + i, end - i) : 0;
      if (n_turns > 0)
        add_rotation (carries, requests + i, n_turns);
      join_shape (carries, requests + i + n_turns, end - i - n_turns);
    }
}

/* Whether what edits want of the block is what they want of the carry. Of a rotation
 * nobody knows which place the block will have. */
static bool
is_held_alike (const TesseraCarries *carries, const TesseraCarry *carry, uint32_t block)
{
  if (!carries->holders || carries->holders[block] == 0)
    return true;
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    if (carry->requests[k] != TESSERA_NONE &&
        carries->holders[carries->requests[carry->requests[k]].block] !=
            carries->holders[block])
      return false;
  return !carry->is_turn;
}

/* A block of the start that ends in the first unit, or a carry that may stand for the rest
 * of one. */
typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t until; /* position: the block's end, or up to where the carry is held */
  uint32_t index; /* the block, or the carry */
} Rest;

static int
compare_shapes_of_rests (const Rest *x, const Rest *y)
{
  if (x->block_bytes != y->block_bytes)
    return x->block_bytes < y->block_bytes ? -1 : 1;
  return (x->stream_pool > y->stream_pool) - (x->stream_pool < y->stream_pool);
}

static int
compare_rests (const void *a, const void *b)
{
  const Rest *x = a, *y = b;
  int order = compare_shapes_of_rests (x, y);

  if (order != 0)
    return order;
  if (x->until != y->until)
    return x->until < y->until ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* The caller frees them. */
static Rest *
list_starts (const TesseraUnits *units, const uint32_t *left_out, size_t *out_n)
{
  const TesseraBlocks *blocks = units->blocks;
  Rest *starts = g_new (Rest, blocks->n_blocks + 1);
  size_t n = 0;

  for (uint32_t i = 0; i < blocks->n_blocks && units->units[0].kind != TESSERA_NONE; i++)
    {
      const TesseraBlock *of = &blocks->blocks[i];

      if (of->born_index >= units->begin)
        break;
      if (of->died_index > units->begin && of->died_index < units->units[0].end &&
          !left_out[i])
        starts[n++] = (Rest){ .block_bytes = of->block_bytes,
                              .stream_pool = (uint32_t) of->stream << 16 | of->pool,
                              .until = tessera_units_position (
                                  units, units->units[0].kind,
                                  units->place_of[of->died_index - units->begin]),
                              .index = i };
    }
  qsort (starts, n, sizeof *starts, compare_rests);
  *out_n = n;
  return starts;
}

/* Up to where the carry is held when a step of the kind begins. In a rotation it is one of
 * the blocks that a step of this kind leaves behind. */
static uint32_t
held_until (const TesseraCarries *carries, const TesseraCarry *carry, uint32_t kind)
{
  if (!carry->is_turn)
    return carry->ends[kind];
  return carry->requests[kind] != TESSERA_NONE
             ? carries->requests[carry->requests[kind]].ends[kind]
             : 0;
}

/* The caller frees them. */
static Rest *
list_rests (const TesseraCarries *carries)
{
  Rest *rests = g_new (Rest, carries->n_carries + 1u);

  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      const TesseraCarry *carry = &carries->carries[i];

      rests[i] =
          (Rest){ .block_bytes = carry->block_bytes,
                  .stream_pool = (uint32_t) carry->stream << 16 | carry->pool,
                  .until = held_until (carries, carry, carries->units->units[0].kind),
                  .index = i };
    }
  qsort (rests, carries->n_carries, sizeof *rests, compare_rests);
  return rests;
}

/* The rest of such a block, and what steps carry of its like, are never there together: of
 * one shape the blocks that end last come first, and each gets the carry that is held longest
 * of those that may stand for it, if that is long enough. */
void
tessera_carries_match_starts (TesseraCarries *carries, const uint32_t *left_out)
{
  g_autofree Rest *starts = NULL, *rests = NULL;
  size_t n,
      n_rests = carries->n_carries; /* that may still be one's: all behind are taken */

  carries->of_start = tessera_new_nones (carries->units->blocks->n_blocks);
  if (carries->units->n_kinds == 0)
    return;
  starts = list_starts (carries->units, left_out, &n);
  rests = list_rests (carries);
  while (n-- > 0)
    {
      const Rest *start = &starts[n];

      while (n_rests > 0 &&
             (compare_shapes_of_rests (&rests[n_rests - 1], start) > 0 ||
              carries->carries[rests[n_rests - 1].index].start != TESSERA_NONE))
        n_rests--;
      for (size_t i = n_rests; i-- > 0 &&
                               compare_shapes_of_rests (&rests[i], start) == 0 &&
                               rests[i].until >= start->until;)
        {
          TesseraCarry *carry = &carries->carries[rests[i].index];

          if (carry->start != TESSERA_NONE ||
              !is_held_alike (carries, carry, start->index))
            continue;
          carry->start = start->index;
          carries->of_start[start->index] = rests[i].index;
          break;
        }
    }
}

void
tessera_carries_init (TesseraCarries *carries,
                      const TesseraUnits *units,
                      const uint32_t *left_out,
                      const uint64_t *holders)
{
  tessera_carries_list (carries, units, left_out);
  carries->holders = holders;
  end_single (carries);
  end_alternating (carries);
  join_requests (carries);
  tessera_carries_match_starts (carries, left_out);
}

void
tessera_carries_clear (TesseraCarries *carries)
{
  free (carries->requests);
  free (carries->carries);
  free (carries->of_start);
  free (carries->of_slot);
  *carries = (TesseraCarries){ 0 };
}
