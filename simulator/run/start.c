/*
 * How a run begins: with the state that the file holds, or by asking for each block of
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/run/state.h"

static void
note_seeded (void *user, const TesseraBlockInfo *info)
{
  TesseraRun *run = user;
  uint32_t b;

  if (info->state == TESSERA_BLOCK_FREE)
    return;
  b = tessera_start_block_at (run->blocks, info->addr);
  if (b != TESSERA_NONE)
    tessera_build_place (&run->build, b, info->addr, info->block_bytes);
}

/* The policy takes over the state that the file begins with. */
static TesseraStatus
seed (TesseraRun *run)
{
  const TesseraHeld *start = &run->trace->start;
  TesseraCaching *caching = tessera_policy_caching (run->policy);
  TesseraStatus status = tessera_caching_seed (caching, run->trace);

  if (status != TESSERA_OK)
    return status;
  tessera_virtual_adopt (&run->device, run->trace);
  for (size_t i = 0; i < start->n_segments; i++)
    {
      const TesseraSegment *segment = &start->segments[i];

      tessera_build_add_span (&run->build,
                              (TesseraSpan){ .addr = segment->addr,
                                             .size_bytes = segment->size_bytes,
                                             .stream = (uint16_t) segment->stream,
                                             .pool = (uint16_t) segment->pool,
                                             .is_small = segment->is_small,
                                             .is_expandable = segment->is_expandable });
    }
  tessera_caching_each (caching, note_seeded, run);
  return TESSERA_OK;
}

/* Frees before the first event, of either way to begin. */
static void
request_start_frees (TesseraRun *run, bool is_seeded)
{
  for (uint32_t b = 0; b < run->blocks->n_blocks; b++)
    {
      if ((run->blocks->blocks[b].flags & TESSERA_AT_START) == 0)
        break;
      if (!tessera_is_pending_at_start (run->trace, run->blocks, b) ||
          run->build.states[b] != TESSERA_BLOCK_LIVE)
        continue;
      if (!is_seeded)
        tessera_run_request_free (run, b);
      else
        {
          /* The policy knows already. */
          tessera_build_free_requested (&run->build, b);
          tessera_run_note_pending (run, b);
        }
    }
}

/* A device smaller than what the run began with: caches go first. */
static void
squeeze_start (TesseraRun *run)
{
  TesseraVirtual *device = &run->device;
  const TesseraBlock nobody = { .size_bytes = 0 };

  if (device->device_bytes == 0 || device->used_bytes <= device->device_bytes)
    return;
  tessera_policy_empty_cache (run->policy);
  if (device->used_bytes > device->device_bytes)
    tessera_build_oom (&run->build, &nobody, device->used_bytes - device->device_bytes,
                       0);
}

TesseraStatus
tessera_run_begin (TesseraRun *run)
{
  bool is_expandable = run->options->kind != TESSERA_LAYOUT_NATIVE;
  bool is_seeded = run->options->kind != TESSERA_LAYOUT_PLAN &&
                   run->trace->has_segments &&
                   run->trace->settings.is_expandable == is_expandable;

  if (is_seeded)
    {
      TesseraStatus status = seed (run);

      if (status != TESSERA_OK)
        return status;
    }
  else
    for (uint32_t b = 0; b < run->blocks->n_blocks &&
                         (run->blocks->blocks[b].flags & TESSERA_AT_START) != 0;
         b++)
      tessera_run_place (run, b, false);
  request_start_frees (run, is_seeded);
  squeeze_start (run);
  tessera_build_start (&run->build);
  return run->build.status;
}
