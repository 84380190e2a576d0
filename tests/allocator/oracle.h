/*
 * A slow, honest watcher of memory that blocks are handed out of, for tests.
 *
 * It keeps for each 512 bytes who used them last and how, and every request ever made,
 * and answers by looking at all of it. Blocks are filled with a pattern of their own when
 * granted and looked at again when done: content shows an overlap whatever the books say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define ORACLE_GRAIN_BYTES 512

typedef struct
{
  uint64_t block_bytes;
  uint32_t stream;
  uint32_t pool;
} OracleRequest;

typedef enum
{
  ORACLE_GRANT,
  ORACLE_TAKEN,
  ORACLE_UNORDERED
} OracleVerdict;

typedef struct Oracle Oracle;

/* Watches [@addr, + @n_bytes), which can be written. */
Oracle *oracle_new (uint64_t addr, uint64_t n_bytes);
void oracle_free (Oracle *oracle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Oracle, oracle_free)

/* Every request, wherever it is served. */
void oracle_request (Oracle *oracle, OracleRequest request);
OracleVerdict oracle_ask (const Oracle *oracle, uint64_t addr, OracleRequest request);

/* The block gets its pattern. Blocks outside what is watched are fine: then only their
 * content counts. Returns: its id. */
guint oracle_grant (Oracle *oracle, uint64_t addr, OracleRequest request);
/* The memory there was taken away; what comes in its place nobody used. Returns: whether
 * all blocks there were done. */
bool oracle_forget (Oracle *oracle, uint64_t addr, uint64_t n_bytes);
/* The block was done. Returns: whether its content is what it was given. */
bool oracle_done (Oracle *oracle, guint id);
