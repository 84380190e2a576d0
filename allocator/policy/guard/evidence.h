/*
 * What a stream has asked for since a moment, as evidence that the program has ordered
 * its work by then.
 *
 * PyTorch may give a freed block to the next request of the block's stream and pool that
 * it could serve from it. So a correct program has made the stream wait for every use of
 * the block by the time of such a request, and perhaps not earlier. Kept is only what a
 * question needs: of each kind of request the sizes that no later one undercuts, which
 * ascend with time. A question is a binary search, a request costs its own removal later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/table.h"

typedef struct
{
  TesseraTable kinds; /* of requests: stream, pool, small or large */
} TesseraEvidence;

/* All zero is empty. */
void tessera_evidence_clear (TesseraEvidence *evidence);

/* A request of this kind and block size at the moment @now, which never goes back. On
 * TESSERA_NO_MEMORY nothing changed. */
TESSERA_MUST_USE TesseraStatus tessera_evidence_note (TesseraEvidence *evidence,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      bool is_small,
                                                      uint64_t block_bytes,
                                                      uint64_t now);

/* The smallest block asked for after @since, UINT64_MAX: none was. */
uint64_t tessera_evidence_least_after (const TesseraEvidence *evidence,
                                       uint32_t stream,
                                       uint32_t pool,
                                       bool is_small,
                                       uint64_t since);
