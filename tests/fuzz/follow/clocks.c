/*
 * A race detector with vector clocks: see clocks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/follow/clocks.h"

#include <stdarg.h>

/* Addresses that had the same uses. */
typedef struct
{
  uint64_t begin, end;
  Clock before; /* last uses, on each stream, by blocks before the last one */
  Clock last;   /* ... and by that */
  uint32_t generation;
  bool has_gone; /* its memory; and nobody used it since */
} Span;

void
clocks_init (Clocks *clocks)
{
  const Span all = { .end = UINT64_MAX };
  const Clock zero = { { 0 } };

  *clocks = (Clocks){ .spans = g_array_new (FALSE, FALSE, sizeof (Span)) };
  g_array_append_val (clocks->spans, all);
  for (guint s = 0; s < CLOCKS_STREAMS; s++)
    {
      clocks->streams[s] = g_array_new (FALSE, FALSE, sizeof (Clock));
      g_array_append_val (clocks->streams[s], zero);
    }
}

void
clocks_clear (Clocks *clocks)
{
  g_array_unref (clocks->spans);
  for (guint s = 0; s < CLOCKS_STREAMS; s++)
    g_array_unref (clocks->streams[s]);
}

guint
clocks_count_harms (const Clocks *clocks)
{
  guint n = 0;

  for (guint i = 0; i < CLOCKS_N_HARMS; i++)
    n += clocks->n_harms[i];
  return n;
}

static void
harm (Clocks *clocks, ClocksHarm what, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  if (clocks_count_harms (clocks) == 0)
    g_vsnprintf (clocks->first, sizeof clocks->first, format, args);
  va_end (args);
  clocks->n_harms[what]++;
}

void
clock_join (Clock *clock, const Clock *with)
{
  for (guint s = 0; s < CLOCKS_STREAMS; s++)
    clock->at[s] = MAX (clock->at[s], with->at[s]);
}

/* The first stream on which @clock has not come as far as @to; CLOCKS_STREAMS: none. */
static guint
find_behind (const Clock *clock, const Clock *to)
{
  guint s = 0;

  while (s < CLOCKS_STREAMS && clock->at[s] >= to->at[s])
    s++;
  return s;
}

/* ---- Hosts ---- */

static void
learn (ClocksHost *host, const ClocksHost *from)
{
  clock_join (&host->enqueued, &from->enqueued);
  clock_join (&host->done, &from->done);
}

void
clocks_synchronize (Clocks *clocks, guint thread, const Clock *event)
{
  clock_join (&clocks->threads[thread].done, event);
}

void
clocks_hand_over (Clocks *clocks, guint from, guint to)
{
  learn (&clocks->threads[to], &clocks->threads[from]);
}

void
clocks_lock (Clocks *clocks, guint thread)
{
  learn (&clocks->threads[thread], &clocks->lock);
}

void
clocks_unlock (Clocks *clocks, guint thread)
{
  learn (&clocks->lock, &clocks->threads[thread]);
}

static bool
knows (const Clocks *clocks, guint thread, guint stream)
{
  return clocks->threads[thread].enqueued.at[stream] + 1 == clocks->streams[stream]->len;
}

void
clocks_know (Clocks *clocks, guint thread, guint stream)
{
  if (!knows (clocks, thread, stream))
    clocks_hand_over (clocks, clocks->last_thread[stream], thread);
}

/* ---- Streams ---- */

uint32_t
clocks_add_generation (Clocks *clocks)
{
  return ++clocks->n_generations;
}

Clock
clocks_record (const Clocks *clocks, guint thread, guint stream)
{
  return g_array_index (clocks->streams[stream], Clock,
                        clocks->threads[thread].enqueued.at[stream]);
}

Clock
clocks_mark (const Clocks *clocks, guint thread)
{
  Clock mark = { { 0 } };

  for (guint s = 0; s < CLOCKS_STREAMS; s++)
    {
      Clock event = clocks_record (clocks, thread, s);

      clock_join (&mark, &event);
    }
  return mark;
}

/* Behind all that the stream was given, what the host knows to be done, and the event.
 * Returns: what is done after it. */
static Clock
enqueue (Clocks *clocks, guint thread, guint stream, const Clock *event)
{
  ClocksHost *host = &clocks->threads[thread];
  Clock clock = clocks_record (clocks, thread, stream);

  if (!knows (clocks, thread, stream))
    g_error ("thread %u works on stream %u beside thread %u", thread, stream,
             clocks->last_thread[stream]);
  clock_join (&clock, &host->done);
  if (event != NULL)
    clock_join (&clock, event);
  clock.at[stream] = ++host->enqueued.at[stream];
  g_array_append_val (clocks->streams[stream], clock);
  clocks->last_thread[stream] = thread;
  return clock;
}

void
clocks_wait (Clocks *clocks, guint thread, guint stream, const Clock *event)
{
  enqueue (clocks, thread, stream, event);
}

/* ---- Memory ---- */

static guint
find_span (const Clocks *clocks, uint64_t addr)
{
  guint low = 0, high = clocks->spans->len;

  while (high - low > 1)
    {
      guint middle = low + (high - low) / 2;

      if (g_array_index (clocks->spans, Span, middle).begin <= addr)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* A span begins there. Returns: which. */
static guint
cut (Clocks *clocks, uint64_t addr)
{
  guint index = find_span (clocks, addr);
  Span *span = &g_array_index (clocks->spans, Span, index);
  Span behind = *span;

  if (span->begin == addr)
    return index;
  span->end = behind.begin = addr;
  g_array_insert_val (clocks->spans, index + 1, behind);
  return index + 1;
}

uint32_t
clocks_generation_at (const Clocks *clocks, uint64_t addr)
{
  const Span *span = &g_array_index (clocks->spans, Span, find_span (clocks, addr));

  return span->has_gone ? 0 : span->generation;
}

/* By work with that clock. */
static void
use_span (
    Clocks *clocks, Span *span, guint stream, const Clock *clock, uint32_t generation)
{
  guint behind;

  if (generation < span->generation)
    {
      behind = find_behind (clock, &span->last);
      harm (clocks, behind < CLOCKS_STREAMS ? CLOCKS_RACE : CLOCKS_OVERTAKEN,
            "work %u of stream %u uses block %u at %" G_GINT64_MODIFIER "x, and %s",
            clock->at[stream], stream, generation, span->begin,
            span->has_gone ? "the memory went meanwhile"
                           : "another block has been there");
      return;
    }
  if (generation > span->generation)
    {
      clock_join (&span->before, &span->last);
      span->last = (Clock){ { 0 } };
      span->generation = generation;
      span->has_gone = false;
    }
  behind = find_behind (clock, &span->before);
  if (behind < CLOCKS_STREAMS)
    harm (clocks, CLOCKS_RACE,
          "work %u of stream %u uses block %u at %" G_GINT64_MODIFIER
          "x and may come before work %u of stream %u, which used the bytes",
          clock->at[stream], stream, generation, span->begin, span->before.at[behind],
          behind);
  span->last.at[stream] = clock->at[stream];
}

void
clocks_use (Clocks *clocks,
            guint thread,
            guint stream,
            uint64_t addr,
            uint64_t size_bytes,
            uint32_t generation)
{
  Clock clock = enqueue (clocks, thread, stream, NULL);
  guint first = cut (clocks, addr), end = cut (clocks, addr + size_bytes);

  for (guint i = first; i < end; i++)
    use_span (clocks, &g_array_index (clocks->spans, Span, i), stream, &clock,
              generation);
}

void
clocks_unmap (Clocks *clocks, guint thread, uint64_t addr, uint64_t size_bytes)
{
  guint first = cut (clocks, addr), end = cut (clocks, addr + size_bytes);

  for (guint i = first; i < end; i++)
    {
      Span *span = &g_array_index (clocks->spans, Span, i);

      clock_join (&span->before, &span->last);
      guint behind = find_behind (&clocks->threads[thread].done, &span->before);
      if (behind < CLOCKS_STREAMS)
        harm (clocks, CLOCKS_UNMAPPED,
              "the memory at %" G_GINT64_MODIFIER
              "x goes while work %u of stream %u may use it",
              span->begin, span->before.at[behind], behind);
      span->before = span->last = (Clock){ { 0 } };
      span->generation = clocks->n_generations;
      span->has_gone = true;
    }
}
