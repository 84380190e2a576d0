/*
 * The watcher of memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/oracle.h"

#define SMALL_BYTES ((uint64_t) 1 << 20)

typedef struct
{
  OracleRequest request;
  uint64_t addr;
  guint done_at; /* requests made by then */
  bool is_done;
} Block;

struct Oracle
{
  uint64_t addr;
  uint64_t n_bytes;
  guint *last;      /* of each grain: id of the block + 1 */
  GArray *blocks;   /* Block, by id */
  GArray *requests; /* OracleRequest, in order */
};

Oracle *
oracle_new (uint64_t addr, uint64_t n_bytes)
{
  Oracle *oracle = g_new0 (Oracle, 1);

  oracle->addr = addr;
  oracle->n_bytes = n_bytes;
  oracle->last = g_new0 (guint, n_bytes / ORACLE_GRAIN_BYTES + 1);
  oracle->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  oracle->requests = g_array_new (FALSE, FALSE, sizeof (OracleRequest));
  return oracle;
}

void
oracle_free (Oracle *oracle)
{
  g_free (oracle->last);
  g_array_unref (oracle->blocks);
  g_array_unref (oracle->requests);
  g_free (oracle);
}

void
oracle_request (Oracle *oracle, OracleRequest request)
{
  g_array_append_val (oracle->requests, request);
}

static bool
is_small (OracleRequest request)
{
  return request.block_bytes <= SMALL_BYTES;
}

static bool
has_several_streams (const Oracle *oracle)
{
  for (guint i = 1; i < oracle->requests->len; i++)
    if (g_array_index (oracle->requests, OracleRequest, i).stream !=
        g_array_index (oracle->requests, OracleRequest, 0).stream)
      return true;
  return false;
}

/* Was something asked for that PyTorch could have served from the block that is done? */
static bool
was_asked_since (const Oracle *oracle, const Block *block)
{
  for (guint i = block->done_at; i < oracle->requests->len; i++)
    {
      OracleRequest request = g_array_index (oracle->requests, OracleRequest, i);

      if (request.stream == block->request.stream &&
          request.pool == block->request.pool &&
          is_small (request) == is_small (block->request) &&
          request.block_bytes <= block->request.block_bytes)
        return true;
    }
  return false;
}

static OracleVerdict
ask_block (const Oracle *oracle, const Block *block, OracleRequest request)
{
  if (!block->is_done)
    return ORACLE_TAKEN;
  if (block->request.stream != request.stream || block->request.pool != request.pool)
    return ORACLE_UNORDERED;
  if (is_small (block->request) == is_small (request) || !has_several_streams (oracle) ||
      was_asked_since (oracle, block))
    return ORACLE_GRANT;
  return ORACLE_UNORDERED;
}

OracleVerdict
oracle_ask (const Oracle *oracle, uint64_t addr, OracleRequest request)
{
  guint asked_last = 0;
  OracleVerdict verdict = ORACLE_GRANT;

  if (addr < oracle->addr || addr - oracle->addr > oracle->n_bytes ||
      request.block_bytes > oracle->n_bytes - (addr - oracle->addr))
    return ORACLE_TAKEN;
  for (uint64_t at = addr - oracle->addr; at < addr - oracle->addr + request.block_bytes;
       at += ORACLE_GRAIN_BYTES)
    {
      guint last = oracle->last[at / ORACLE_GRAIN_BYTES];
      OracleVerdict of_block;

      if (last == 0 || last == asked_last)
        continue;
      asked_last = last;
      of_block =
          ask_block (oracle, &g_array_index (oracle->blocks, Block, last - 1), request);
      if (of_block == ORACLE_TAKEN)
        return ORACLE_TAKEN;
      if (of_block == ORACLE_UNORDERED)
        verdict = ORACLE_UNORDERED;
    }
  return verdict;
}

/* Words of a block's pattern differ by place too: moved content is wrong content. */
static uint64_t
word_of (guint id, uint64_t i)
{
  return ((uint64_t) id + 1) * UINT64_C (0x9e3779b97f4a7c15) + i;
}

guint
oracle_grant (Oracle *oracle, uint64_t addr, OracleRequest request)
{
  const Block block = { .request = request, .addr = addr };
  guint id = oracle->blocks->len;
  uint64_t *words = (uint64_t *) (uintptr_t) addr;

  g_array_append_val (oracle->blocks, block);
  for (uint64_t i = 0; i < request.block_bytes / sizeof *words; i++)
    words[i] = word_of (id, i);
  if (addr >= oracle->addr && addr - oracle->addr < oracle->n_bytes)
    for (uint64_t at = 0; at < request.block_bytes; at += ORACLE_GRAIN_BYTES)
      oracle->last[(addr - oracle->addr + at) / ORACLE_GRAIN_BYTES] = id + 1;
  return id;
}

bool
oracle_forget (Oracle *oracle, uint64_t addr, uint64_t n_bytes)
{
  bool were_done = true;

  for (uint64_t at = addr; at < addr + n_bytes; at += ORACLE_GRAIN_BYTES)
    if (at >= oracle->addr && at - oracle->addr < oracle->n_bytes)
      {
        guint *last = &oracle->last[(at - oracle->addr) / ORACLE_GRAIN_BYTES];

        were_done &=
            *last == 0 || g_array_index (oracle->blocks, Block, *last - 1).is_done;
        *last = 0;
      }
  return were_done;
}

bool
oracle_done (Oracle *oracle, guint id)
{
  Block *block = &g_array_index (oracle->blocks, Block, id);
  const uint64_t *words = (const uint64_t *) (uintptr_t) block->addr;

  block->is_done = true;
  block->done_at = oracle->requests->len;
  for (uint64_t i = 0; i < block->request.block_bytes / sizeof *words; i++)
    if (words[i] != word_of (id, i))
      return false;
  return true;
}
