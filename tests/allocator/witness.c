/*
 * The witness of device memory: see witness.h.
 *
 * Two lists by address: the live blocks, and for memory that is free now the ranges by
 * their last use. Ranges of equal use share it, since a later block may take the middle
 * of an earlier one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/witness.h"

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
  WitnessRequest request;
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

struct Witness
{
  WitnessClock clock;
  pthread_t threads[MOST_THREADS];
  size_t n_threads;
  uint64_t calls[MOST_THREADS]; /* so far; a step counts as one of each */
  Moments barriers, behind;     /* by event; by stream */
  Ranges live, past;
  WitnessRequest *requests; /* every one */
  size_t n_requests, room_requests;
  uint64_t first_stream;
  bool has_streams; /* more than one */
  WitnessFindings findings;
};

void *
witness_grown (void *items, size_t n_items, size_t *room, size_t item_bytes)
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
  list->ranges = witness_grown (list->ranges, list->n, &list->room, sizeof *list->ranges);
  memmove (&list->ranges[at + 1], &list->ranges[at],
           (list->n - at) * sizeof *list->ranges);
  list->ranges[at] = range;
  list->n++;
  range.use->n_ranges++;
}

static void
drop (Witness *witness, Use *use)
{
  if (--use->n_ranges > 0)
    return;
  for (size_t i = 0; i < use->n_sides; i++)
    if (use->sides[i].mark != NULL)
      witness->clock.forget (witness->clock.user, use->sides[i].mark);
  free (use->sides);
  free (use);
}

static void
take_out (Witness *witness, Ranges *list, size_t at)
{
  Use *use = list->ranges[at].use;

  list->n--;
  memmove (&list->ranges[at], &list->ranges[at + 1],
           (list->n - at) * sizeof *list->ranges);
  drop (witness, use);
}

/* Forgets what was in [@addr, @end): its edges stay. */
static void
cut (Witness *witness, Ranges *list, uint64_t addr, uint64_t end)
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
        take_out (witness, list, at);
    }
}

Witness *
witness_new (const WitnessClock *clock)
{
  Witness *witness = calloc (1, sizeof *witness);

  if (witness == NULL)
    abort ();
  if (clock != NULL)
    witness->clock = *clock;
  return witness;
}

void
witness_close (Witness *witness)
{
  cut (witness, &witness->live, 0, UINT64_MAX);
  cut (witness, &witness->past, 0, UINT64_MAX);
  free (witness->live.ranges);
  free (witness->past.ranges);
  free (witness->requests);
  free (witness->barriers.moments);
  free (witness->behind.moments);
  free (witness);
}

/* ---- Barriers ---- */

/* A call of the allocator. Returns: the thread. */
static size_t
count_call (Witness *witness)
{
  size_t i = 0;

  while (i < witness->n_threads && !pthread_equal (witness->threads[i], pthread_self ()))
    i++;
  if (i == MOST_THREADS)
    abort ();
  if (i == witness->n_threads)
    witness->threads[witness->n_threads++] = pthread_self ();
  witness->calls[i]++;
  return i;
}

void
witness_mark (Witness *witness)
{
  for (size_t i = 0; i < witness->n_threads; i++)
    witness->calls[i]++;
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
  list->moments = witness_grown (list->moments, list->n, &list->room, sizeof *moment);
  moment = &list->moments[list->n++];
  *moment = (Moment){ .of = of };
  return moment;
}

void
witness_record (Witness *witness, uint64_t event, bool is_barrier)
{
  Moment *moment = is_barrier ? demand_moment (&witness->barriers, event)
                              : moment_of (&witness->barriers, event);

  if (moment == NULL)
    return;
  memset (moment->calls, 0, sizeof moment->calls);
  if (is_barrier)
    memcpy (moment->calls, witness->calls, sizeof moment->calls);
}

void
witness_wait (Witness *witness, uint64_t stream, uint64_t event)
{
  const Moment *barrier = moment_of (&witness->barriers, event);
  Moment *behind;

  if (barrier == NULL)
    return;
  behind = demand_moment (&witness->behind, stream);
  for (size_t i = 0; i < MOST_THREADS; i++)
    if (barrier->calls[i] > behind->calls[i])
      behind->calls[i] = barrier->calls[i];
}

/* Whether the stream waits for all that the block was used for. */
static bool
is_behind (const Witness *witness, const Use *use, uint64_t stream)
{
  const Moment *behind = moment_of (&witness->behind, stream);

  return behind != NULL && behind->calls[use->thread] > use->call;
}

/* ---- Requests and frees ---- */

static void
see_stream (Witness *witness, uint64_t stream)
{
  if (witness->n_requests == 0)
    witness->first_stream = stream;
  witness->has_streams = witness->has_streams || stream != witness->first_stream;
}

void
witness_request (Witness *witness, WitnessRequest request)
{
  see_stream (witness, request.stream);
  count_call (witness);
  witness->requests = witness_grown (witness->requests, witness->n_requests,
                                     &witness->room_requests, sizeof *witness->requests);
  witness->requests[witness->n_requests++] = request;
}

static bool
is_of_stream (const WitnessRequest *a, const WitnessRequest *b)
{
  return a->stream == b->stream && a->pool == b->pool;
}

static bool
is_of_kind (const WitnessRequest *a, const WitnessRequest *b)
{
  return is_small (a->size_bytes) == is_small (b->size_bytes);
}

/* Has the stream asked since for what PyTorch could have served from the block? */
static bool
was_asked_for (const Witness *witness, const Use *use)
{
  for (size_t i = use->n_requests; i < witness->n_requests; i++)
    {
      const WitnessRequest *request = &witness->requests[i];

      if (is_of_stream (request, &use->request) && is_of_kind (request, &use->request) &&
          whole (request->size_bytes) <= whole (use->request.size_bytes))
        return true;
    }
  return false;
}

static bool
is_pending (const Witness *witness, const Use *use)
{
  for (size_t i = 0; i < use->n_sides; i++)
    if (!witness->clock.has_passed (witness->clock.user, use->sides[i].mark))
      return true;
  return false;
}

static void
judge_use (const Witness *witness,
           const Use *use,
           const WitnessRequest *request,
           WitnessFindings *here)
{
  bool passes = is_behind (witness, use, request->stream);
  bool is_other = !is_of_stream (&use->request, request);
  bool is_crossed =
      witness->has_streams && !is_other && !is_of_kind (&use->request, request);
  bool waits = is_pending (witness, use);
  bool lacks = is_crossed && !was_asked_for (witness, use);

  here->n_crossed |= is_crossed;
  if (passes)
    here->n_passed |= waits || lacks || is_other;
  else
    {
      here->n_pending |= waits;
      here->n_other_stream |= is_other;
      here->n_other_kind |= lacks;
    }
}

static bool
is_live (const Witness *witness, uint64_t addr, uint64_t end)
{
  size_t at = place_of (&witness->live, addr);

  return at < witness->live.n && witness->live.ranges[at].addr < end;
}

WitnessFindings
witness_ask (const Witness *witness,
             WitnessRequest request,
             uint64_t addr,
             uint64_t block_bytes)
{
  const Ranges *past = &witness->past;
  const uint64_t end = addr + whole (block_bytes);
  WitnessFindings here = { .n_overlaps = is_live (witness, addr, end),
                           .n_misaligned = addr % ALIGNMENT_BYTES != 0 };

  for (size_t at = place_of (past, addr); at < past->n && past->ranges[at].addr < end;
       at++)
    {
      const Use *use = past->ranges[at].use;

      here.n_reused = 1;
      here.n_marked |= use->n_sides > 0;
      judge_use (witness, use, &request, &here);
    }
  return here;
}

void
witness_hand_out (Witness *witness,
                  WitnessRequest request,
                  uint64_t addr,
                  uint64_t block_bytes)
{
  const WitnessFindings here = witness_ask (witness, request, addr, block_bytes);
  const Range range = { addr, addr + whole (block_bytes), calloc (1, sizeof (Use)) };
  WitnessFindings *findings = &witness->findings;

  if (range.use == NULL)
    abort ();
  range.use->request = request;
  findings->n_misaligned += here.n_misaligned;
  findings->n_overlaps += here.n_overlaps;
  findings->n_reused += here.n_reused;
  findings->n_marked += here.n_marked;
  findings->n_crossed += here.n_crossed;
  findings->n_passed += here.n_passed;
  findings->n_pending += here.n_pending;
  findings->n_other_stream += here.n_other_stream;
  findings->n_other_kind += here.n_other_kind;
  insert (&witness->live, place_of (&witness->live, addr), range);
  findings->live_bytes += request.size_bytes;
  if (findings->live_bytes > findings->peak_live_bytes)
    findings->peak_live_bytes = findings->live_bytes;
}

/* Where the block is among the live ones; their number: nowhere. */
static size_t
block_at (const Witness *witness, uint64_t addr)
{
  size_t at = place_of (&witness->live, addr);

  return at < witness->live.n && witness->live.ranges[at].addr == addr ? at
                                                                       : witness->live.n;
}

void
witness_record_stream (Witness *witness, uint64_t addr, uint64_t stream)
{
  size_t at = block_at (witness, addr);
  Use *use;

  see_stream (witness, stream);
  if (at == witness->live.n)
    return;
  use = witness->live.ranges[at].use;
  if (stream == use->request.stream)
    return;
  for (size_t i = 0; i < use->n_sides; i++)
    if (use->sides[i].stream == stream)
      return;
  use->sides =
      witness_grown (use->sides, use->n_sides, &use->room_sides, sizeof *use->sides);
  use->sides[use->n_sides++] = (Side){ .stream = stream };
}

void
witness_give_back (Witness *witness, uint64_t addr)
{
  size_t at = block_at (witness, addr);
  size_t thread = count_call (witness);

  if (at == witness->live.n)
    {
      witness->findings.n_unknown_frees++;
      return;
    }
  Range past = witness->live.ranges[at];
  witness->findings.live_bytes -= past.use->request.size_bytes;
  past.use->n_requests = witness->n_requests;
  past.use->thread = thread;
  past.use->call = witness->calls[thread];
  for (size_t i = 0; i < past.use->n_sides; i++)
    past.use->sides[i].mark =
        witness->clock.mark (witness->clock.user, past.use->sides[i].stream);
  cut (witness, &witness->past, addr, past.end);
  insert (&witness->past, place_of (&witness->past, addr), past);
  take_out (witness, &witness->live, at);
}

bool
witness_unmap (Witness *witness, uint64_t addr, uint64_t size_bytes)
{
  cut (witness, &witness->past, addr, addr + size_bytes);
  return !is_live (witness, addr, addr + size_bytes);
}

const WitnessFindings *
witness_findings (const Witness *witness)
{
  return &witness->findings;
}
