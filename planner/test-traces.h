/*
 * Small traces for the planner's tests, event by event, and the real ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tests/ok.h"
#include "tests/planner/auto.h"

/* Addresses are made up: letter a is 0xa00000, and so on; sizes are in units of 512. */
#define TEST_UNIT ((uint64_t) 512)

TesseraTrace *test_trace_new (void);
void test_event (TesseraTrace *trace,
                 TesseraAction action,
                 uint64_t addr,
                 uint64_t size_bytes,
                 uint16_t stream);
void test_alloc (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes);
/* Requested and completed: two events. */
void test_free (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes);
void test_range (TesseraTrace *trace,
                 TesseraRangeKind kind,
                 const char *name,
                 uint32_t begin_index,
                 uint32_t end_index);
/* "step @s": from event @begin_index up to now. */
void test_step (TesseraTrace *trace, uint32_t s, uint32_t begin_index);
void test_held (TesseraTrace *trace, uint64_t addr, uint64_t size_bytes, bool is_pending);

/* A valid history: blocks of 1 .. 64 units that live and die, the same for each seed. */
TesseraTrace *test_trace_random (uint32_t seed, size_t n_allocs, uint16_t n_streams);

/*
 * A training loop: @n_steps steps, marked, each with a forward that keeps activations, a
 * backward that frees them and an optimizer step; parameters come first and stay. A batch
 * is let go of only after the next one is there; a loss lives on into the next forward.
 */
TesseraTrace *test_trace_loop (uint32_t n_steps, uint32_t n_layers, bool has_ranges);

/* The file of the shared data opened; NULL where it is not there: skipped aloud. */
TesseraTrace *test_trace_shared (const char *path);
