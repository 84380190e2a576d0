/*
 * What each stream has asked for since a moment: evidence that the program has ordered its
 * work by then, since PyTorch could have served the request from a block freed before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/table.h"

/* Of a zeroed table; all zeros after it. */
void tessera_evidence_clear (TesseraTable *kinds);
/* A request at the moment @now, which never goes back. TESSERA_NO_MEMORY: nothing
 * changed. */
TESSERA_MUST_USE TesseraStatus tessera_evidence_note (TesseraTable *kinds,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      bool is_small,
                                                      uint64_t block_bytes,
                                                      uint64_t now);
/* The smallest block asked for after @since, UINT64_MAX: none was. */
uint64_t tessera_evidence_least (const TesseraTable *kinds,
                                 uint32_t stream,
                                 uint32_t pool,
                                 bool is_small,
                                 uint64_t since);
