/*
 * Books of device memory.
 *
 * Two lists by address: the live blocks, and for memory that is free now the ranges by
 * their last use. Ranges of equal use share it, since a later block may take the middle
 * of an earlier one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/pytorch/books.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  ALIGNMENT_BYTES = 512
};

typedef struct
{
  uint64_t stream;
  void *mark; /* NULL while the block is live */
} Side;

/* What a block was used for, and by whom. */
typedef struct
{
  uint64_t size_bytes; /* in whole units of the alignment */
  uint64_t stream;
  size_t n_requests; /* made before it was given back */
  Side *sides;       /* by record_stream */
  size_t n_sides, room_sides;
  size_t n_ranges; /* that refer to it */
} Use;

typedef struct
{
  uint64_t addr, end;
  Use *use;
} Range;

/* By address, none overlaps another (but where an overlap of live blocks was counted). */
typedef struct
{
  Range *ranges;
  size_t n, room;
} Ranges;

typedef struct
{
  uint64_t size_bytes, stream;
} Request;

struct Books
{
  BooksClock clock;
  Ranges live, past;
  Request *requests; /* every one */
  size_t n_requests, room_requests;
  uint64_t first_stream;
  bool has_streams; /* more than one */
  BooksFindings findings;
};

void *
books_grown (void *items, size_t n_items, size_t *room, size_t item_bytes)
{
  if (n_items < *room)
    return items;
  *room = *room == 0 ? 64 : 2 * *room;
  items = realloc (items, *room * item_bytes);
  if (items == NULL)
    abort ();
  return items;
}

static uint64_t
whole (uint64_t size_bytes)
{
  uint64_t rest = size_bytes % ALIGNMENT_BYTES;

  return size_bytes + (rest > 0 ? ALIGNMENT_BYTES - rest : 0);
}

static bool
is_small (uint64_t size_bytes)
{
  return size_bytes <= MIB;
}

/* The first range that ends behind @addr. */
static size_t
place_of (const Ranges *list, uint64_t addr)
{
  size_t low = 0, high = list->n;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (list->ranges[middle].end > addr)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

static void
insert (Ranges *list, size_t at, Range range)
{
  list->ranges = books_grown (list->ranges, list->n, &list->room, sizeof *list->ranges);
  memmove (&list->ranges[at + 1], &list->ranges[at],
           (list->n - at) * sizeof *list->ranges);
  list->ranges[at] = range;
  list->n++;
  range.use->n_ranges++;
}

static void
drop (Books *books, Use *use)
{
  if (--use->n_ranges > 0)
    return;
  for (size_t i = 0; i < use->n_sides; i++)
    if (use->sides[i].mark != NULL)
      books->clock.forget (books->clock.user, use->sides[i].mark);
  free (use->sides);
  free (use);
}

static void
take_out (Books *books, Ranges *list, size_t at)
{
  Use *use = list->ranges[at].use;

  list->n--;
  memmove (&list->ranges[at], &list->ranges[at + 1],
           (list->n - at) * sizeof *list->ranges);
  drop (books, use);
}

/* Forgets what was in [@addr, @end): its edges stay. */
static void
cut (Books *books, Ranges *list, uint64_t addr, uint64_t end)
{
  size_t at = place_of (list, addr);

  while (at < list->n && list->ranges[at].addr < end)
    {
      Range *range = &list->ranges[at];

      if (range->addr < addr)
        {
          Range front = { range->addr, addr, range->use };

          range->addr = addr;
          insert (list, at, front);
          at++;
        }
      else if (range->end > end)
        range->addr = end;
      else
        take_out (books, list, at);
    }
}

Books *
books_new (const BooksClock *clock)
{
  Books *books = calloc (1, sizeof *books);

  if (books == NULL)
    abort ();
  books->clock = *clock;
  return books;
}

void
books_close (Books *books)
{
  cut (books, &books->live, 0, UINT64_MAX);
  cut (books, &books->past, 0, UINT64_MAX);
  free (books->live.ranges);
  free (books->past.ranges);
  free (books->requests);
  free (books);
}

static void
see_stream (Books *books, uint64_t stream)
{
  if (books->n_requests == 0)
    books->first_stream = stream;
  books->has_streams = books->has_streams || stream != books->first_stream;
}

void
books_request (Books *books, uint64_t size_bytes, uint64_t stream)
{
  see_stream (books, stream);
  books->requests = books_grown (books->requests, books->n_requests,
                                 &books->room_requests, sizeof *books->requests);
  books->requests[books->n_requests++] = (Request){ whole (size_bytes), stream };
}

/* Has the stream asked since for what PyTorch could have served from the block? */
static bool
was_asked_for (const Books *books, const Use *use)
{
  for (size_t i = use->n_requests; i < books->n_requests; i++)
    {
      const Request *request = &books->requests[i];

      if (request->stream == use->stream && request->size_bytes <= use->size_bytes &&
          is_small (request->size_bytes) == is_small (use->size_bytes))
        return true;
    }
  return false;
}

static bool
is_pending (const Books *books, const Use *use)
{
  for (size_t i = 0; i < use->n_sides; i++)
    if (!books->clock.has_passed (books->clock.user, use->sides[i].mark))
      return true;
  return false;
}

static void
judge (Books *books, uint64_t addr, uint64_t end, const Request *request)
{
  const Ranges *past = &books->past;
  BooksFindings *findings = &books->findings;
  size_t at = place_of (past, addr);
  BooksFindings here = { 0 };

  for (; at < past->n && past->ranges[at].addr < end; at++)
    {
      const Use *use = past->ranges[at].use;

      here.n_reused = 1;
      here.n_marked |= use->n_sides > 0;
      here.n_pending |= is_pending (books, use);
      if (use->stream != request->stream)
        here.n_other_stream = 1;
      else if (books->has_streams &&
               is_small (use->size_bytes) != is_small (request->size_bytes))
        {
          here.n_crossed = 1;
          here.n_other_kind |= !was_asked_for (books, use);
        }
    }
  findings->n_reused += here.n_reused;
  findings->n_marked += here.n_marked;
  findings->n_crossed += here.n_crossed;
  findings->n_pending += here.n_pending;
  findings->n_other_stream += here.n_other_stream;
  findings->n_other_kind += here.n_other_kind;
}

void
books_hand_out (Books *books, uint64_t addr, uint64_t size_bytes, uint64_t stream)
{
  const Request request = { whole (size_bytes), stream };
  BooksFindings *findings = &books->findings;
  size_t at = place_of (&books->live, addr);
  Use *use = calloc (1, sizeof *use);

  if (use == NULL)
    abort ();
  use->size_bytes = request.size_bytes;
  use->stream = stream;
  findings->n_misaligned += addr % ALIGNMENT_BYTES != 0;
  findings->n_overlaps +=
      at < books->live.n && books->live.ranges[at].addr < addr + size_bytes;
  judge (books, addr, addr + request.size_bytes, &request);
  insert (&books->live, at, (Range){ addr, addr + size_bytes, use });
  findings->live_bytes += size_bytes;
  if (findings->live_bytes > findings->peak_live_bytes)
    findings->peak_live_bytes = findings->live_bytes;
}

/* Where the block is among the live ones; their number: nowhere. */
static size_t
block_at (const Books *books, uint64_t addr)
{
  size_t at = place_of (&books->live, addr);

  return at < books->live.n && books->live.ranges[at].addr == addr ? at : books->live.n;
}

void
books_record_stream (Books *books, uint64_t addr, uint64_t stream)
{
  size_t at = block_at (books, addr);
  Use *use;

  see_stream (books, stream);
  if (at == books->live.n)
    return;
  use = books->live.ranges[at].use;
  if (stream == use->stream)
    return;
  for (size_t i = 0; i < use->n_sides; i++)
    if (use->sides[i].stream == stream)
      return;
  use->sides =
      books_grown (use->sides, use->n_sides, &use->room_sides, sizeof *use->sides);
  use->sides[use->n_sides++] = (Side){ .stream = stream };
}

void
books_give_back (Books *books, uint64_t addr)
{
  size_t at = block_at (books, addr);
  uint64_t end;
  Range past;

  if (at == books->live.n)
    {
      books->findings.n_unknown_frees++;
      return;
    }
  past = books->live.ranges[at];
  books->findings.live_bytes -= past.end - past.addr;
  end = past.addr + past.use->size_bytes;
  past.end = end;
  past.use->n_requests = books->n_requests;
  for (size_t i = 0; i < past.use->n_sides; i++)
    past.use->sides[i].mark =
        books->clock.mark (books->clock.user, past.use->sides[i].stream);
  cut (books, &books->past, addr, end);
  insert (&books->past, place_of (&books->past, addr), past);
  take_out (books, &books->live, at);
}

const BooksFindings *
books_findings (const Books *books)
{
  return &books->findings;
}
