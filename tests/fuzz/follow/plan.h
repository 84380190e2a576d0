/*
 * Plans out of a fuzzer's bytes: sound enough to be opened, and no checker's business.
 *
 * Their places are packed, so that following them hits, or lie at random, so that the
 * occupancy map is asked for every wrong thing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "tests/fuzz/follow/bytes.h"

/* Never NULL; with or without a plan for every length. Free with tessera_plan_free(). */
TesseraPlan *fuzz_plan_new (Bytes *bytes);
/* A plan for every length, or NULL. */
TesseraLengths *fuzz_lengths_new (Bytes *bytes);
/* From a few bytes to 8 MiB, often at the edges of size classes. */
uint64_t fuzz_size (Bytes *bytes);
