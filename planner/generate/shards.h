/*
 * Made-up sharded training, for tessera_generate() only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/* As tessera_generate(). */
TESSERA_MUST_USE TesseraStatus tessera_generate_shards (uint64_t seed,
                                                        TesseraItem *items,
                                                        uint32_t n_items);
