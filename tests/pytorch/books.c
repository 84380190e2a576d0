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

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  ALIGNMENT_BYTES = 512,
  MOST_THREADS = 64
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
  size_t thread;     /* that gave it back ... */
  uint64_t call;     /* ... in so manieth call */
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

/* How many calls of each thread are over: at a barrier (an event), or at the last one that
 * a stream waits for. */
typedef struct
{
  uint64_t of; /* event or stream */
  uint64_t calls[MOST_THREADS];
} Moment;

typedef struct
{
  Moment *moments;
  size_t n, room;
} Moments;

struct Books
{
  BooksClock clock;
  pthread_t threads[MOST_THREADS];
  size_t n_threads;
  uint64_t calls[MOST_THREADS]; /* so far; a step counts as one of each */
  Moments barriers, behind;     /* by event; by stream */
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
  free (books->barriers.moments);
  free (books->behind.moments);
  free (books);
}

/* ---- Barriers ---- */

/* A call of the allocator. Returns: the thread. */
static size_t
count_call (Books *books)
{
  size_t i = 0;

  while (i < books->n_threads && !pthread_equal (books->threads[i], pthread_self ()))
    i++;
  if (i == MOST_THREADS)
    abort ();
  if (i == books->n_threads)
    books->threads[books->n_threads++] = pthread_self ();
  books->calls[i]++;
  return i;
}

void
books_mark (Books *books)
{
  for (size_t i = 0; i < books->n_threads; i++)
    books->calls[i]++;
}

static Moment *
moment_of (const Moments *list, uint64_t of)
{
  for (size_t i = 0; i < list->n; i++)
    if (list->moments[i].of == of)
      return &list->moments[i];
  return NULL;
}

static Moment *
demand_moment (Moments *list, uint64_t of)
{
  Moment *moment = moment_of (list, of);

  if (moment != NULL)
    return moment;
  list->moments = books_grown (list->moments, list->n, &list->room, sizeof *moment);
  moment = &list->moments[list->n++];
  *moment = (Moment){ .of = of };
  return moment;
}

void
books_record (Books *books, uint64_t event, bool is_barrier)
{
  Moment *moment = is_barrier ? demand_moment (&books->barriers, event)
                              : moment_of (&books->barriers, event);

  if (moment == NULL)
    return;
  memset (moment->calls, 0, sizeof moment->calls);
  if (is_barrier)
    memcpy (moment->calls, books->calls, sizeof moment->calls);
}

void
books_wait (Books *books, uint64_t stream, uint64_t event)
{
  const Moment *barrier = moment_of (&books->barriers, event);
  Moment *behind;

  if (barrier == NULL)
    return;
  behind = demand_moment (&books->behind, stream);
  for (size_t i = 0; i < MOST_THREADS; i++)
    if (barrier->calls[i] > behind->calls[i])
      behind->calls[i] = barrier->calls[i];
}

/* Whether the stream waits for all that the block was used for. */
static bool
is_behind (const Books *books, const Use *use, uint64_t stream)
{
  const Moment *behind = moment_of (&books->behind, stream);

  return behind != NULL && behind->calls[use->thread] > use->call;
}

/* ---- Requests and frees ---- */

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
  count_call (books);
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
judge_use (const Books *books,
           const Use *use,
           const Request *request,
           BooksFindings *here)
{
  bool passes = is_behind (books, use, request->stream);
  bool is_crossed = books->has_streams && use->stream == request->stream &&
                    is_small (use->size_bytes) != is_small (request->size_bytes);
  bool waits = is_pending (books, use);
  bool lacks = is_crossed && !was_asked_for (books, use);

  here->n_crossed |= is_crossed;
  if (passes)
    here->n_passed |= waits || lacks || use->stream != request->stream;
  else
    {
      here->n_pending |= waits;
      here->n_other_stream |= use->stream != request->stream;
      here->n_other_kind |= lacks;
    }
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
      judge_use (books, use, request, &here);
    }
  findings->n_reused += here.n_reused;
  findings->n_marked += here.n_marked;
  findings->n_crossed += here.n_crossed;
  findings->n_passed += here.n_passed;
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
  size_t thread = count_call (books);
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
  past.use->thread = thread;
  past.use->call = books->calls[thread];
  for (size_t i = 0; i < past.use->n_sides; i++)
    past.use->sides[i].mark =
        books->clock.mark (books->clock.user, past.use->sides[i].stream);
  cut (books, &books->past, addr, end);
  insert (&books->past, place_of (&books->past, addr), past);
  take_out (books, &books->live, at);
}

void
books_unmap (Books *books, uint64_t addr, uint64_t size_bytes)
{
  cut (books, &books->past, addr, addr + size_bytes);
}

const BooksFindings *
books_findings (const Books *books)
{
  return &books->findings;
}
