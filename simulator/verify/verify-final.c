/*
 * The state at the end: every block and every segment, ours against the recorded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verify/verify-internal.h"

#include <glib.h>
#include <inttypes.h>

static void
add_block (void *blocks, const TesseraBlockInfo *info)
{
  g_array_append_vals (blocks, info, 1);
}

static int
compare_by_address (const void *a, const void *b)
{
  uint64_t left = ((const TesseraBlockInfo *) a)->addr;
  uint64_t right = ((const TesseraBlockInfo *) b)->addr;

  return (left > right) - (left < right);
}

static const char *
state_name (uint8_t state)
{
  return state == TESSERA_BLOCK_FREE   ? "free"
         : state == TESSERA_BLOCK_LIVE ? "live"
                                       : "pending";
}

static void
compare_blocks (const GArray *ours,
                TesseraReplay *replay,
                TesseraVerification *verification)
{
  const TesseraTrace *trace = replay->trace;
  const TesseraHeld *end = &trace->end;
  guint i = 0;
  size_t k = 0;

  while (i < ours->len || k < end->n_blocks)
    {
      const TesseraBlockInfo *expected =
          i < ours->len ? &g_array_index (ours, TesseraBlockInfo, i) : NULL;
      const TesseraHeldBlock *found = k < end->n_blocks ? &end->blocks[k] : NULL;

      if (found == NULL || (expected != NULL && expected->addr < found->addr))
        {
          tessera_replay_differs (replay, (uint32_t) trace->n_events,
                                  "final state: expected a %s block of %" PRIu64
                                  " bytes at 0x%" PRIx64 ", found none there",
                                  state_name ((uint8_t) expected->state),
                                  expected->block_bytes, expected->addr);
          i++;
          continue;
        }
      k++;
      if (expected == NULL || expected->addr > found->addr)
        {
          tessera_replay_differs (replay, (uint32_t) trace->n_events,
                                  "final state: expected no block at 0x%" PRIx64
                                  ", found a %s one of %" PRIu64 " bytes",
                                  found->addr, state_name (found->state),
                                  found->block_bytes);
          continue;
        }
      i++;
      if (expected->block_bytes == found->block_bytes && expected->state == found->state)
        verification->final_right++;
      else
        tessera_replay_differs (replay, (uint32_t) trace->n_events,
                                "final state: expected a %s block of %" PRIu64
                                " bytes at 0x%" PRIx64 ", found a %s one of %" PRIu64,
                                state_name ((uint8_t) expected->state),
                                expected->block_bytes, expected->addr,
                                state_name (found->state), found->block_bytes);
    }
}

/* The mapped range that begins with block @index; sets @index to the first block behind
 * it. */
static TesseraSegment
take_range (const GArray *blocks, guint *index)
{
  const TesseraBlockInfo *all = (const TesseraBlockInfo *) blocks->data;
  const TesseraBlockInfo *first = &all[*index];
  TesseraSegment range = { .addr = first->addr,
                           .stream = (uint16_t) first->stream,
                           .pool = (uint16_t) first->pool,
                           .is_small = first->is_small,
                           .is_expandable = first->is_expandable };

  while (*index < blocks->len && all[*index].segment_addr == first->segment_addr &&
         all[*index].addr == range.addr + range.size_bytes)
    range.size_bytes += all[(*index)++].block_bytes;
  return range;
}

static void
compare_segments (const GArray *ours, TesseraReplay *replay)
{
  const TesseraTrace *trace = replay->trace;
  const TesseraHeld *end = &trace->end;
  guint i = 0;

  for (size_t k = 0; i < ours->len || k < end->n_segments; k++)
    {
      static const TesseraSegment none = { 0 };
      TesseraSegment expected = none;
      const TesseraSegment *found = k < end->n_segments ? &end->segments[k] : &none;

      if (i < ours->len)
        expected = take_range (ours, &i);
      if (expected.addr != found->addr || expected.size_bytes != found->size_bytes ||
          expected.stream != found->stream || expected.pool != found->pool ||
          expected.is_small != found->is_small ||
          expected.is_expandable != found->is_expandable)
        {
          tessera_replay_differs (
              replay, (uint32_t) trace->n_events,
              "final state: expected a segment of %" PRIu64 " bytes at 0x%" PRIx64
              " (stream %u, pool %u%s), found one of %" PRIu64 " at 0x%" PRIx64
              " (stream %u, pool %u%s)",
              expected.size_bytes, expected.addr, expected.stream, expected.pool,
              expected.is_small ? ", small" : "", found->size_bytes, found->addr,
              found->stream, found->pool, found->is_small ? ", small" : "");
          return;
        }
    }
}

void
tessera_verify_final (const TesseraCaching *caching,
                      TesseraReplay *replay,
                      TesseraVerification *verification)
{
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (TesseraBlockInfo));

  tessera_caching_each (caching, add_block, blocks);
  g_array_sort (blocks, compare_by_address);
  verification->final_right = 0;
  compare_blocks (blocks, replay, verification);
  compare_segments (blocks, replay);
}
