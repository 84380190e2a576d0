/*
 * The verification as a whole: counts, the state at the start, retries, the result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verify/verify.h"

#include <glib.h>
#include <string.h>

#include "simulator/verify/verify-internal.h"

enum
{
  /* A start block whose tail can't be told costs a whole replay; one in 57 generated
   * histories had a single one. */
  MAX_TAIL_RETRIES = 64
};

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
replay_once (TesseraVerifier *verifier,
             const TesseraRules *rules,
             const TesseraProgress *progress)
{
  const TesseraTrace *trace = verifier->trace;
  TesseraVerification *verification = verifier->verification;
  const TesseraCachingOptions options = { .settings = trace->settings,
                                          .limit_bytes = trace->limit_bytes };
  TesseraStatus status;

  verification->addresses_right = verification->ooms_right = 0;
  memset (verification->block_bytes, 0,
          (trace->n_events + 1) * sizeof *verification->block_bytes);
  verifier->hint_block = trace->start.n_blocks;
  tessera_replay_init (&verifier->replay, trace);
  status =
      tessera_caching_new (&options, &verifier->replay.device, NULL, &verifier->caching);
  if (status != TESSERA_OK)
    return status;
  verifier->replay.caching = verifier->caching;
  tessera_caching_set_rules (verifier->caching, rules);
  status = tessera_caching_seed_sizes (verifier->caching, trace, verifier->start_bytes);
  if (status == TESSERA_BAD_INPUT)
    {
      tessera_replay_differs (&verifier->replay, 0,
                              "expected a possible state at the start, found blocks that "
                              "overlap or lie outside their segments");
      return TESSERA_OK;
    }
  if (status != TESSERA_OK)
    return status;
  status = tessera_verify_events (verifier, progress);
  verification->segments_right = verifier->replay.n_segments_right;
  if (status == TESSERA_OK && verifier->replay.difference_index == TESSERA_NONE &&
      says_end (verifier->trace))
    tessera_verify_final (verifier->caching, &verifier->replay, verification);
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

/* One more each: no array of zero bytes. */
static void
make_room (TesseraVerifier *verifier)
{
  const TesseraTrace *trace = verifier->trace;
  TesseraVerification *verification = verifier->verification;

  verification->block_bytes = g_new0 (uint64_t, trace->n_events + 1);
  verification->start_block_bytes = g_new0 (uint64_t, trace->start.n_blocks + 1);
  verifier->start_bytes = verification->start_block_bytes;
  for (size_t i = 0; i < trace->start.n_blocks; i++)
    verifier->start_bytes[i] = smallest_size (trace, i);
}

/* Replays until nothing more is learnt about the sizes of start blocks. */
static TesseraStatus
replay_with_retries (TesseraVerifier *verifier,
                     const TesseraRules *rules,
                     const TesseraProgress *progress)
{
  const TesseraHeld *start = &verifier->trace->start;
  TesseraStatus status = TESSERA_OK;

  for (int n_retries = 0; status == TESSERA_OK; n_retries++)
    {
      tessera_caching_free (verifier->caching);
      verifier->caching = NULL;
      status = replay_once (verifier, rules, progress);
      if (verifier->hint_block == start->n_blocks || n_retries == MAX_TAIL_RETRIES)
        break;
      /* Each block is enlarged once: a second time something else is wrong. */
      if (verifier->start_bytes[verifier->hint_block] !=
          smallest_size (verifier->trace, verifier->hint_block))
        break;
      verifier->start_bytes[verifier->hint_block] += verifier->hint_tail_bytes;
    }
  tessera_caching_free (verifier->caching);
  return status;
}

TesseraStatus
tessera_verify_with_rules (const TesseraTrace *trace,
                           const TesseraRules *rules,
                           const TesseraProgress *progress,
                           TesseraVerification *out_verification)
{
  const TesseraSettings *settings = &trace->settings;
  TesseraVerifier verifier = { .trace = trace,
                               .verification = out_verification,
                               .gives_back_early =
                                   settings->max_split_bytes != UINT64_MAX ||
                                   (settings->garbage_collection_threshold > 0 &&
                                    trace->limit_bytes != 0) };
  TesseraStatus status = TESSERA_OK;

  *out_verification = (TesseraVerification){ .first_difference = TESSERA_NONE };
  count_expected (trace, out_verification);
  make_room (&verifier);
  if (out_verification->has_history)
    {
      status = replay_with_retries (&verifier, rules, progress);
      if (status == TESSERA_OK)
        tessera_verify_back (&verifier.replay);
      out_verification->first_difference = verifier.replay.difference_index;
      memcpy (out_verification->difference, verifier.replay.difference,
              sizeof out_verification->difference);
    }
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
