/*
 * What the driver has given to a device now, and to whom: disjoint ranges by address.
 *
 * Pages of an expandable segment that touch are one range. Cold: changed when memory is
 * taken from the driver or given back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t addr, size_bytes;
  uint32_t stream, pool;
  bool is_small, is_expandable;
} RuntimeSpan;

typedef struct
{
  RuntimeSpan *all; /* ascending addr */
  size_t n, cap;
} RuntimeSpans;

/* Without memory the range stays unknown. */
void tessera_spans_add (RuntimeSpans *spans, const RuntimeSpan *span);
/* Takes a range away, which may be a part of a span. Returns whose it was; a range that
 * was never added is nobody's (all 0). */
RuntimeSpan
tessera_spans_remove (RuntimeSpans *spans, uint64_t addr, uint64_t size_bytes);
/* NULL: nothing was given there. */
const RuntimeSpan *tessera_spans_at (const RuntimeSpans *spans, uint64_t addr);
