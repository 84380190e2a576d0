/*
 * Following a plan: whether it can be, and how it begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdlib.h>

#include "allocator/policy/planned.h"

/* Tensors may lie only at multiples of what PyTorch's allocator promises. */
static TesseraStatus
accept_alignment (uint64_t alignment_bytes, TesseraError *error)
{
  if (alignment_bytes != 0 && alignment_bytes % TESSERA_MIN_BLOCK_BYTES == 0)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "the plan places blocks at other addresses than multiples of "
                       "%" PRIu64 " bytes, where tensors cannot lie",
                       TESSERA_MIN_BLOCK_BYTES);
}

static TesseraStatus
accept_plan (const TesseraPolicyOptions *options,
             const TesseraDevice *device,
             TesseraError *error)
{
  const TesseraPlan *plan = options->plan;

  if (plan == NULL)
    return tessera_fail (error, TESSERA_INVALID, "there is no plan to follow");
  if (options->by_length && plan->lengths == NULL)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan has nothing for steps of other lengths");
  if (plan->crosses_streams && !options->by_length &&
      !tessera_handover_is_possible (device))
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan passes memory between streams, and the GPU's driver "
                         "has no event for all of them: CUDA 12.5 or newer has; plan "
                         "with --streams-apart");
  if (options->is_simulation)
    return TESSERA_OK;
  if (options->by_length)
    return accept_alignment (plan->lengths->alignment_bytes, error);
  if (plan->followable == TESSERA_FOLLOWABLE_NO)
    return tessera_fail (error, TESSERA_REFUSED, "the plan cannot be followed: %s",
                         plan->follow_reason != NULL ? plan->follow_reason : "unknown");
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].offset_bytes % TESSERA_MIN_BLOCK_BYTES != 0)
      return accept_alignment (1, error);
  return accept_alignment (plan->alignment_bytes, error);
}

static TesseraStatus
say (TesseraError *error, TesseraStatus status)
{
  return tessera_fail (error, status == TESSERA_INVALID ? TESSERA_REFUSED : status,
                       status == TESSERA_INVALID
                           ? "the plan is damaged: its slots, sections and height do not "
                             "fit together"
                           : "there is no memory left to follow a plan");
}

/* ---- By length ---- */

/* That much of the pool is this step's. */
static void
expect (void *user, uint64_t height_bytes)
{
  ((TesseraPlanned *) user)->step_bytes = height_bytes;
}

static bool
is_free (void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPlanned *planned = user;

  /* Where several streams work it would be small blocks for large ones, and the reverse:
     the places of what one step makes lie beside each other, whatever their size. */
  return (!tessera_occupancy_has_several (planned->pool.map) ||
          tessera_lengths_lends_apart (planned->plan->lengths)) &&
         tessera_occupancy_is_free (planned->pool.map, begin_bytes, end_bytes);
}

static TesseraStatus
open_by_length (TesseraPlanned *planned, uint64_t height_bytes, TesseraError *error)
{
  const TesseraLengths *lengths = planned->plan->lengths;
  const TesseraLengthsHooks hooks = { { tessera_planned_take, planned },
                                      expect,
                                      is_free };
  TesseraStatus status;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place != TESSERA_PLACE_NONE)
      planned->main_stream = lengths->slots[i].stream;
  tessera_monitor_init_lengths (&planned->monitor, lengths, height_bytes);
  status = tessera_pool_open (&planned->pool, height_bytes, false, error);
  if (status != TESSERA_OK)
    return status;
  status = tessera_lengths_follower_new (lengths, &hooks, &planned->by_length);
  if (status == TESSERA_OK)
    return status;
  tessera_pool_close (&planned->pool);
  return say (error, status);
}

/* ---- For one run ---- */

static TesseraStatus
open_for_run (TesseraPlanned *planned, uint64_t height_bytes, TesseraError *error)
{
  TesseraStatus status = tessera_follower_new (planned->plan, &planned->follower);

  if (status != TESSERA_OK)
    return say (error, status);
  tessera_follower_set_hook (planned->follower,
                             &(TesseraFollowerHook){ tessera_planned_take, planned });
  return tessera_pool_open (&planned->pool, height_bytes, true, error);
}

static TesseraStatus
open_pool (TesseraPlanned *planned,
           const TesseraPolicyOptions *options,
           uint64_t height_bytes,
           TesseraError *error)
{
  TesseraStatus status = options->by_length
                             ? open_by_length (planned, height_bytes, error)
                             : open_for_run (planned, height_bytes, error);

  if (status != TESSERA_OK)
    return status;
  if (options->plan->n_streams > 1 || options->caching.n_streams > 1)
    tessera_occupancy_see_streams (planned->pool.map);
  if (options->plan->crosses_streams && !options->by_length)
    {
      status = tessera_handover_new (options->plan, planned->pool.users.device,
                                     planned->pool.map, &planned->handover);
      if (status != TESSERA_OK)
        return say (error, status);
      tessera_occupancy_cross_streams (planned->pool.map);
    }
  planned->seen_held_bytes = planned->pool.held_bytes;
  planned->seen_promised_bytes = planned->pool.promised_bytes;
  tessera_planned_limit_beside (planned);
  return TESSERA_OK;
}

/* What lies beside a plan's pool comes in pages as fine as the pool's own: what that
 * gives back is not to be lost in pages that are used in part. */
static TesseraCachingOptions
options_beside (const TesseraPolicyOptions *options, uint64_t height_bytes)
{
  TesseraCachingOptions beside = options->caching;
  uint64_t page_bytes = tessera_pool_page_bytes (height_bytes, !options->by_length);

  beside.settings.is_expandable = true;
  if (options->has_fine_pages && page_bytes < beside.settings.large_segment_bytes)
    beside.settings.large_segment_bytes = page_bytes;
  return beside;
}

TesseraStatus
tessera_planned_new (const TesseraPolicyOptions *options,
                     TesseraDevice *device,
                     const TesseraObserver *observer,
                     TesseraError *error,
                     TesseraPolicy **out_policy)
{
  TesseraStatus status = accept_plan (options, device, error);
  TesseraCachingOptions beside;
  uint64_t height_bytes = 0;
  TesseraPlanned *planned;

  if (status != TESSERA_OK)
    return status;
  if (!options->by_length)
    height_bytes = tessera_plan_pool_bytes (options->plan);
  else if ((status = tessera_lengths_height (options->plan->lengths, &height_bytes)) !=
           TESSERA_OK)
    return say (error, status);
  planned = calloc (1, sizeof *planned);
  if (planned == NULL)
    return say (error, TESSERA_NO_MEMORY);
  planned->policy.kind = TESSERA_POLICY_PLAN;
  planned->plan = options->plan;
  planned->never_declines = options->never_declines;
  planned->limit_bytes = options->caching.limit_bytes;
  planned->align_bytes = options->by_length ? options->plan->lengths->alignment_bytes
                                            : options->plan->alignment_bytes;
  planned->align_bytes += planned->align_bytes == 0;
  planned->observer = *observer;
  tessera_monitor_init (&planned->monitor, options->plan);
  beside = options_beside (options, height_bytes);
  status = tessera_caching_new (&beside, device, observer, &planned->policy.caching);
  planned->pool.users =
      (TesseraPoolUsers){ .device = device,
                          .observer = *observer,
                          .beside = planned->policy.caching,
                          .monitor = &planned->monitor,
                          .limit_bytes = planned->limit_bytes,
                          .large_page_bytes = beside.settings.large_segment_bytes };
  /* Last: what it takes from the device stays there. */
  if (status == TESSERA_OK)
    status = open_pool (planned, options, height_bytes, error);
  if (status == TESSERA_OK)
    *out_policy = &planned->policy;
  else
    tessera_policy_free (&planned->policy);
  return status;
}
