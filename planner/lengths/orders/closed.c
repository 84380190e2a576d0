/*
 * How long ranges stay closed to the other size class: see closed.h.
 *
 * At one length requests are walked from the last to the first. A stack for each class
 * holds those that may still be the first not larger than something: below each lies a
 * later and smaller one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/closed.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/caching.h"
#include "allocator/follow/lengths/sweep.h"

typedef struct
{
  const TesseraLengths *of;
  TesseraClosed *out;
  uint64_t *bytes;    /* [n_laws] at the length at hand */
  uint32_t *by_end;   /* [n_slots] the swept, those that end first first */
  uint32_t n_by_end;
  uint32_t *stack[2]; /* of each class, [n_slots]: slots */
  uint32_t n_stack[2];
  uint64_t *classes;  /* [n_slots] of those at all lengths so far: a number for each
                         different row */
  bool *is_left; /* [n_slots] closed at the step's end, at the length at hand */
} Search;

static bool
is_large (uint64_t block_bytes)
{
  return block_bytes > TESSERA_SMALL_BYTES;
}

/* Whether a step asks for the slot's block at @at, if it does at all. */
static bool
may_come (const Search *search, uint32_t slot, const TesseraParameters *at)
{
  const TesseraLengthsSlot *of = &search->of->slots[slot];
  uint64_t tokens = tessera_parameters_tokens (at);

  return search->bytes[of->law] > 0 && tokens >= of->from_tokens &&
         (of->to_tokens == 0 || tokens <= of->to_tokens);
}

/* Whether each step does, and for that size. */
static bool
is_sure (const Search *search, uint32_t slot)
{
  const TesseraLengthsSlot *of = &search->of->slots[slot];

  return of->place != TESSERA_PLACE_NONE && of->seen == TESSERA_SEEN_ANYWHERE &&
         !tessera_lengths_slot_stays (of) &&
         search->of->laws[of->law].kind != TESSERA_SIZE_BOUNDED;
}

static TesseraStatus
init (Search *search)
{
  uint32_t n = search->of->n_slots;
  uint32_t *first = calloc ((size_t) n + 2, sizeof *first);
  bool has_all = first != NULL;

  search->bytes = malloc (((size_t) search->of->n_laws + 1) * sizeof *search->bytes);
  search->by_end = malloc (((size_t) n + 1) * sizeof *search->by_end);
  search->classes = calloc ((size_t) n + 1, sizeof *search->classes);
  for (int class = 0; class < 2; class++)
    {
      search->stack[class] = malloc (((size_t) n + 1) * sizeof *search->stack[class]);
      has_all = has_all && search->stack[class];
    }
  search->is_left = calloc ((size_t) n + 1, sizeof *search->is_left);
  if (!has_all || !search->is_left || !search->bytes || !search->by_end || !search->classes)
    {
      free (first);
      return TESSERA_NO_MEMORY;
    }
  memset (search->out, 0, n * sizeof *search->out);
  for (uint32_t i = 0; i < n; i++)
    if (search->of->slots[i].place == TESSERA_PLACE_SWEPT)
      first[search->of->slots[i].died + 1]++;
  for (uint32_t i = 0; i <= n; i++)
    first[i + 1] += first[i];
  for (uint32_t i = 0; i < n; i++)
    if (search->of->slots[i].place == TESSERA_PLACE_SWEPT)
      {
        search->by_end[first[search->of->slots[i].died]++] = i;
        search->n_by_end++;
        search->out[i].opens = search->of->slots[i].died;
      }
  free (first);
  return TESSERA_OK;
}

static void
clear (Search *search)
{
  free (search->bytes);
  free (search->by_end);
  free (search->classes);
  free (search->stack[0]);
  free (search->stack[1]);
  free (search->is_left);
}

static uint64_t
bytes_of (const Search *search, uint32_t slot)
{
  return search->bytes[search->of->slots[slot].law];
}

static void
push (Search *search, uint32_t slot)
{
  bool class = is_large (bytes_of (search, slot));
  uint32_t *stack = search->stack[class], n = search->n_stack[class];

  while (n > 0 && bytes_of (search, stack[n - 1]) >= bytes_of (search, slot))
    n--;
  stack[n] = slot;
  search->n_stack[class] = n + 1;
}

/* The first request of the stack that is not larger; n_slots: none. */
static uint32_t
first_fitting (const Search *search, uint64_t block_bytes)
{
  const uint32_t *stack = search->stack[is_large (block_bytes)];
  uint32_t low = 0, high = search->n_stack[is_large (block_bytes)];

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (bytes_of (search, stack[middle]) <= block_bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return low > 0 ? stack[low - 1] : search->of->n_slots;
}

static void
see_end (Search *search, uint32_t slot)
{
  uint32_t opens = first_fitting (search, bytes_of (search, slot));

  if (opens > search->out[slot].opens)
    search->out[slot].opens = opens;
  search->is_left[slot] = opens == search->of->n_slots;
}

/* What is left to the next step, of the same length. */
static void
see_left (Search *search)
{
  for (uint32_t i = 0; i < search->of->n_slots; i++)
    if (search->is_left[i])
      {
        uint32_t opens = first_fitting (search, bytes_of (search, i));
        uint32_t tail = opens < i ? opens : i;

        if (tail > search->out[i].tail)
          search->out[i].tail = tail;
        search->is_left[i] = false;
      }
}

static void
see_length (Search *search, const TesseraParameters *at)
{
  uint32_t end = search->n_by_end;

  if (!tessera_sweep_sizes (search->of, at, search->bytes))
    return;
  search->n_stack[0] = search->n_stack[1] = 0;
  for (uint32_t i = search->of->n_slots; i + 1 > 0; i--)
    {
      if (i < search->of->n_slots && is_sure (search, i) && may_come (search, i, at))
        push (search, i);
      for (; end > 0 && search->of->slots[search->by_end[end - 1]].died == i; end--)
        if (may_come (search, search->by_end[end - 1], at))
          see_end (search, search->by_end[end - 1]);
      if (i < search->of->n_slots)
        search->classes[i] = 2 * search->classes[i] + is_large (bytes_of (search, i));
    }
  see_left (search);
}

/* A number for each different row of classes, once few enough bits were added. */
static bool
number_owners (Search *search)
{
  uint64_t rows[TESSERA_CLOSED_OWNERS];
  uint32_t n_rows = 0, last = 0;

  for (uint32_t i = 0; i < search->of->n_slots; i++)
    {
      if (search->of->slots[i].place != TESSERA_PLACE_SWEPT)
        continue;
      if (n_rows == 0 || rows[last] != search->classes[i])
        for (last = 0; last < n_rows && rows[last] != search->classes[i];)
          last++;
      if (last == TESSERA_CLOSED_OWNERS)
        return false;
      if (last == n_rows)
        rows[n_rows++] = search->classes[i];
      search->out[i].owner = last;
      search->classes[i] = last;
    }
  return true;
}

TesseraStatus
tessera_closed_find (const TesseraLengths *lengths,
                     const TesseraParameters *at,
                     size_t n_at,
                     TesseraClosed *out,
                     bool *out_is_for)
{
  Search search = { .of = lengths, .out = out };
  TesseraStatus status = init (&search);

  *out_is_for = false;
  if (status == TESSERA_OK)
    {
      *out_is_for = true;
      for (size_t i = 0; i < n_at && *out_is_for; i++)
        {
          see_length (&search, &at[i]);
          *out_is_for = number_owners (&search);
        }
    }
  clear (&search);
  return status;
}
