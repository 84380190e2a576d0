/*
 * Graphs: what a capture recorded. A graph remembers how much work it holds, not which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/streams/stream.h"

/* Under the clock's lock. */
void null_graph_add (NullGraph *graph, double ns);
unsigned long long null_graph_id (const NullGraph *graph);
/* @stream takes part in the capture of that id, where it still goes on. */
void null_graph_join (NullStream *stream, unsigned long long capture_id);
