/*
 * Ranges in a sorted array: some hundreds, rarely changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/spans.h"

#include <string.h>

#include "db/array.h"

/* The first span that ends behind @addr. */
static size_t
find (const RuntimeSpans *spans, uint64_t addr)
{
  size_t low = 0, high = spans->n;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (spans->all[middle].addr + spans->all[middle].size_bytes <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
insert (RuntimeSpans *spans, size_t at, const RuntimeSpan *span)
{
  if (!TESSERA_RESERVE (spans->all, spans->cap, spans->n + 1))
    return;
  memmove (&spans->all[at + 1], &spans->all[at], (spans->n - at) * sizeof spans->all[0]);
  spans->all[at] = *span;
  spans->n++;
}

static void delete (RuntimeSpans *spans, size_t at)
{
  spans->n--;
  memmove (&spans->all[at], &spans->all[at + 1], (spans->n - at) * sizeof spans->all[0]);
}

/* Two segments of cudaMalloc stay two, however close they lie. */
static bool
can_join (const RuntimeSpan *a, const RuntimeSpan *b)
{
  return a->is_expandable && b->is_expandable && a->addr + a->size_bytes == b->addr &&
         a->stream == b->stream && a->pool == b->pool && a->is_small == b->is_small;
}

void
tessera_spans_add (RuntimeSpans *spans, const RuntimeSpan *span)
{
  size_t at = find (spans, span->addr);

  if (at > 0 && can_join (&spans->all[at - 1], span))
    spans->all[--at].size_bytes += span->size_bytes;
  else
    insert (spans, at, span);
  if (at + 1 < spans->n && can_join (&spans->all[at], &spans->all[at + 1]))
    {
      spans->all[at].size_bytes += spans->all[at + 1].size_bytes;
      delete (spans, at + 1);
    }
}

RuntimeSpan
tessera_spans_remove (RuntimeSpans *spans, uint64_t addr, uint64_t size_bytes)
{
  size_t at = find (spans, addr);
  RuntimeSpan whole, rest;

  if (at == spans->n || spans->all[at].addr > addr)
    return (RuntimeSpan){ .addr = addr, .size_bytes = size_bytes };
  whole = rest = spans->all[at];
  rest.addr = addr + size_bytes;
  rest.size_bytes = whole.addr + whole.size_bytes - rest.addr;
  if (whole.addr == addr)
    delete (spans, at);
  else
    spans->all[at++].size_bytes = addr - whole.addr;
  if (rest.size_bytes != 0)
    insert (spans, at, &rest);
  return whole;
}

const RuntimeSpan *
tessera_spans_at (const RuntimeSpans *spans, uint64_t addr)
{
  size_t at = find (spans, addr);

  return at < spans->n && spans->all[at].addr <= addr ? &spans->all[at] : NULL;
}
