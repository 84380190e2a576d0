/*
 * The verification as a whole: counts, the state at the start, retries, the state at the
 * end, the result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"
#include "simulator/verify/private.h"

#include <inttypes.h>
#include <string.h>

enum
{
  /* A start block whose tail can't be told costs a whole replay; one in 57 generated
   * histories had a single one. */
  MAX_TAIL_RETRIES = 64
};

static void
add_block (void *blocks, const TesseraBlockInfo *info)
{
  g_array_append_vals (blocks, info, 1);
}

static const char *
state_name (uint8_t state)
{
  return state == TESSERA_BLOCK_FREE   ? "free"
         : state == TESSERA_BLOCK_LIVE ? "live"
                                       : "pending";
}

static void
compare_blocks (const GArray *ours, TesseraReplay *replay)
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
        replay->verification->final_right++;
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

/* Compares what the policy holds now with the state at the end of the trace: every block
 * and every segment. */
static void
compare_final (TesseraReplay *replay)
{
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (TesseraBlockInfo));

  tessera_caching_each (replay->caching, add_block, blocks);
  g_array_sort (blocks, tessera_by_first_number);
  compare_blocks (blocks, replay);
  compare_segments (blocks, replay);
}

/* What a killed process could not say any more is not held against it. */
static bool
says_end (const TesseraTrace *trace)
{
  const char *format = tessera_trace_get_meta (trace, "format");

  return trace->end.n_segments > 0 || format == NULL ||
         strcmp (format, TESSERA_FORMAT_RECORDED) != 0;
}

/* Counts anew from the start, with the sizes of start blocks as known so far. */
static TesseraStatus
replay_once (TesseraReplay *replay,
             const TesseraRules *rules,
             const TesseraProgress *progress)
{
  const TesseraTrace *trace = replay->trace;
  TesseraVerification *verification = replay->verification;
  const TesseraCachingOptions options = { .settings = trace->settings,
                                          .limit_bytes = trace->limit_bytes };
  TesseraStatus status;

  memset (verification->block_bytes, 0,
          (trace->n_events + 1) * sizeof *verification->block_bytes);
  tessera_replay_begin (replay);
  status = tessera_caching_new (&options, &replay->device, NULL, &replay->caching);
  if (status != TESSERA_OK)
    return status;
  tessera_caching_set_rules (replay->caching, rules);
  status = tessera_caching_seed (replay->caching, trace, verification->start_block_bytes);
  if (status == TESSERA_BAD_INPUT)
    {
      tessera_replay_differs (replay, 0,
                              "expected a possible state at the start, found blocks that "
                              "overlap or lie outside their segments");
      return TESSERA_OK;
    }
  if (status == TESSERA_OK)
    status = tessera_verify_events (replay, progress);
  if (status == TESSERA_OK && tessera_verification_is_exact (verification) &&
      says_end (trace))
    compare_final (replay);
  return status;
}

static void
count_expected (const TesseraTrace *trace, TesseraVerification *verification)
{
  for (size_t i = 0; i < trace->n_events; i++)
    {
      uint8_t action = trace->events[i].action;

      verification->addresses += action == TESSERA_ALLOC;
      verification->ooms += action == TESSERA_OOM;
      verification->segments +=
          tessera_is_of_device (action) && action != TESSERA_FREE_COMPLETED;
    }
  verification->final_blocks = trace->end.n_blocks;
  verification->has_history =
      verification->addresses > 0 && trace->has_addresses && trace->has_segments;
}

static uint64_t
smallest_size (const TesseraTrace *trace, size_t start_block)
{
  const TesseraHeldBlock *block = &trace->start.blocks[start_block];

  return block->block_bytes != 0
             ? block->block_bytes
             : tessera_round_size (&trace->settings, block->size_bytes);
}

/* Replays until nothing more is learnt about the sizes of start blocks. */
static TesseraStatus
replay_with_retries (TesseraReplay *replay,
                     const TesseraRules *rules,
                     const TesseraProgress *progress)
{
  const TesseraHeld *start = &replay->trace->start;
  uint64_t *start_bytes = replay->verification->start_block_bytes;
  TesseraStatus status = TESSERA_OK;

  for (int n_retries = 0; status == TESSERA_OK; n_retries++)
    {
      tessera_caching_free (replay->caching);
      replay->caching = NULL;
      status = replay_once (replay, rules, progress);
      if (replay->hint_block == start->n_blocks || n_retries == MAX_TAIL_RETRIES)
        break;
      /* Each block is enlarged once: a second time something else is wrong. */
      if (start_bytes[replay->hint_block] !=
          smallest_size (replay->trace, replay->hint_block))
        break;
      start_bytes[replay->hint_block] += replay->hint_tail_bytes;
    }
  tessera_caching_free (replay->caching);
  return status;
}

TesseraStatus
tessera_verify_with_rules (const TesseraTrace *trace,
                           const TesseraRules *rules,
                           const TesseraProgress *progress,
                           TesseraVerification *out_verification)
{
  const TesseraSettings *settings = &trace->settings;
  TesseraReplay replay = { .trace = trace,
                           .verification = out_verification,
                           .gives_back_early =
                               settings->max_split_bytes != UINT64_MAX ||
                               (settings->garbage_collection_threshold > 0 &&
                                trace->limit_bytes != 0) };
  TesseraStatus status = TESSERA_OK;

  /* Arrays with one more: none of zero bytes. */
  *out_verification = (TesseraVerification){
    .first_difference = TESSERA_NONE,
    .block_bytes = g_new0 (uint64_t, trace->n_events + 1),
    .start_block_bytes = g_new0 (uint64_t, trace->start.n_blocks + 1),
  };
  count_expected (trace, out_verification);
  for (size_t i = 0; i < trace->start.n_blocks; i++)
    out_verification->start_block_bytes[i] = smallest_size (trace, i);
  if (out_verification->has_history)
    status = replay_with_retries (&replay, rules, progress);
  if (status != TESSERA_OK)
    tessera_verification_clear (out_verification);
  return status;
}

TesseraStatus
tessera_verify (const TesseraTrace *trace,
                const TesseraProgress *progress,
                TesseraVerification *out_verification)
{
  return tessera_verify_with_rules (trace, &tessera_rules_pytorch, progress,
                                    out_verification);
}

void
tessera_verification_clear (TesseraVerification *verification)
{
  g_free (verification->block_bytes);
  g_free (verification->start_block_bytes);
  *verification = (TesseraVerification){ .first_difference = TESSERA_NONE };
}

bool
tessera_verification_is_exact (const TesseraVerification *verification)
{
  return verification->first_difference == TESSERA_NONE;
}
