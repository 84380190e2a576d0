/*
 * Random settings and requests, for tests of the allocator and of the replay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"

#include <glib.h>

#define MADE_N_STREAMS 3
#define MADE_N_POOLS 3

bool made_happens (GRand *rand, double probability);
/* Everything that PyTorch lets one set, within what it accepts. */
void made_options (GRand *rand, TesseraCachingOptions *out_options);
/* 0 in one case of five: endless. */
uint64_t made_device_bytes (GRand *rand);
/* From one byte to 45 MiB, often at the edges between rules. */
uint64_t made_request_bytes (GRand *rand);
uint32_t made_stream (GRand *rand);
/* Mostly the default pool. */
uint32_t made_pool (GRand *rand);
