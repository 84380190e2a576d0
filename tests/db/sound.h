/*
 * For tests: every index of a trace is one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

#include <glib.h>

static inline void
test_trace_is_sound (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      g_assert_true (event->action >= TESSERA_ALLOC && event->action <= TESSERA_MARK);
      g_assert_cmpuint (event->stream, <, trace->n_streams);
      g_assert_cmpuint (event->pool, <, trace->n_pools);
      g_assert_true (event->stack == TESSERA_NONE || event->stack < trace->n_stacks);
    }
  for (size_t i = 0; i < trace->n_stacks; i++)
    g_assert_cmpuint (trace->stack_begin[i], <=, trace->stack_begin[i + 1]);
  for (size_t i = 0; i < trace->n_stack_frames; i++)
    g_assert_cmpuint (trace->stack_frames[i], <, trace->n_frames);
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      const TesseraRange *range = &trace->ranges[i];

      g_assert_cmpuint (range->begin_index, <=, range->end_index);
      g_assert_cmpuint (range->end_index, <=, trace->n_events);
      g_assert_true (range->parent == TESSERA_NONE || range->parent < i);
    }
  for (size_t i = 0; i < trace->n_tensors; i++)
    {
      g_assert_cmpuint (trace->tensors[i].event_index, <=, trace->n_events);
      g_assert_cmpuint (trace->tensors[i].name, <, tessera_trace_n_strings (trace));
    }
}
