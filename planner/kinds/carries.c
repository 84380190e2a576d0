/*
 * What lives from one step into the next where steps are of several kinds: see carries.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/carries.h"

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
      uint32_t end = tessera_units_position (units, kind,
                                             units->place_of[died_index - units->begin]);

      /* All that is carried is there for a moment. */
      if (end <= units->kinds[kind].begin)
        end = units->kinds[kind].begin + 1;
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

      if (!tessera_unit_asks (&units->trace->events[e]))
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

TesseraCarry *
tessera_carries_add (TesseraCarries *carries, const TesseraKindRequest *like)
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

/* Where nobody saw it. */
static void
guess_ends (const TesseraCarries *carries, TesseraCarry *carry)
{
  for (uint32_t k = 0; k < carries->units->n_kinds; k++)
    {
      const TesseraStepKind *kind = &carries->units->kinds[k];
      uint32_t request = carry->requests[k];

      if (carry->ends[k] != 0)
        continue;
      carry->ends[k] =
          request != TESSERA_NONE ? carries->requests[request].born : kind->end;
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
        tessera_carries_add (carries, requests[i]);
      join (carries, carry, requests[i]);
      next = carry == next ? next + 1 : next;
    }
  for (uint32_t carry = first; carry < carries->n_carries; carry++)
    guess_ends (carries, &carries->carries[carry]);
}

/* A birth at the very begin of a section leaves no moment for the block before it. */
static bool
outlives_a_birth (const TesseraCarries *carries, const TesseraKindRequest *request)
{
  if (request->alternates)
    return false;
  return request->ends[request->kind] > request->born ||
         request->born == carries->units->kinds[request->kind].begin;
}

static void
join_requests (TesseraCarries *carries)
{
  g_autofree TesseraKindRequest **requests =
      g_new (TesseraKindRequest *, carries->n_requests + 1);
  size_t n = 0, end;

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
      if (takes_turns)
        tessera_carries_rotation (carries, requests + i, end - i);
      else
        join_shape (carries, requests + i, end - i);
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
  end_alternating (carries);
  join_requests (carries);
}

void
tessera_carries_clear (TesseraCarries *carries)
{
  free (carries->requests);
  free (carries->carries);
  free (carries->of_slot);
  *carries = (TesseraCarries){ 0 };
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

uint32_t
tessera_carries_take_start (TesseraCarries *carries, uint32_t block)
{
  const TesseraUnits *units = carries->units;
  const TesseraBlock *of = &units->blocks->blocks[block];
  uint32_t kind = units->units[0].kind;
  uint32_t end;

  if (of->born_index >= units->begin || of->died_index <= units->begin ||
      of->died_index >= units->units[0].end || kind == TESSERA_NONE)
    return TESSERA_NONE;
  end = tessera_units_position (units, kind,
                                units->place_of[of->died_index - units->begin]);
  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      TesseraCarry *carry = &carries->carries[i];
      uint32_t until = carry->is_turn ? 0 : carry->ends[kind];

      /* In a rotation it is one of the blocks that a step of this kind leaves behind. */
      if (carry->is_turn && carry->requests[kind] != TESSERA_NONE)
        until = carries->requests[carry->requests[kind]].ends[kind];
      if (carry->start == TESSERA_NONE && carry->block_bytes == of->block_bytes &&
          carry->stream == of->stream && carry->pool == of->pool && until >= end &&
          is_held_alike (carries, carry, block))
        {
          carry->start = block;
          return i;
        }
    }
  return TESSERA_NONE;
}
