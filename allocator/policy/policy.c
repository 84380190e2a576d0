/*
 * Policies: how they begin, without a plan and with one. Their requests are planned.c's.
 *
 * Each is an allocator by PyTorch's rules; direct is that with other sizes of segments, each
 * of which goes back with its last block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdlib.h>

#include "allocator/caching-replay.h"
#include "allocator/policy/planned.h"

/* Requests of 1 MiB and more have segments as large as they are. */
static TesseraRules
direct_rules (void)
{
  TesseraRules rules = tessera_rules_pytorch;

  rules.small_bytes = TESSERA_MIB - TESSERA_MIN_BLOCK_BYTES;
  rules.made_to_measure_bytes = 0;
  rules.segment_step_bytes = TESSERA_MIN_BLOCK_BYTES;
  return rules;
}

static TesseraStatus
open_without_plan (TesseraPolicy *policy,
                   const TesseraPolicyOptions *options,
                   TesseraDevice *device,
                   const TesseraObserver *observer)
{
  TesseraCachingOptions caching = options->caching;
  const TesseraRules rules = direct_rules ();
  TesseraStatus status;

  caching.settings.is_expandable = options->kind == TESSERA_POLICY_EXPANDABLE;
  if (options->kind == TESSERA_POLICY_DIRECT)
    caching.settings = (TesseraSettings){
      .max_split_bytes = UINT64_MAX,
      .large_segment_bytes = options->caching.settings.large_segment_bytes,
    };
  status = tessera_caching_new (&caching, device, observer, &policy->caching);
  if (status == TESSERA_OK && options->kind == TESSERA_POLICY_DIRECT)
    tessera_caching_set_rules (policy->caching, &rules);
  return status;
}

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
  TesseraPolicy *policy = user;

  policy->step_bytes = height_bytes;
  tessera_raise_to (&policy->pool.planned_bytes, height_bytes);
}

static bool
is_free (void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPolicy *policy = user;

  /* Where several streams work it would be small blocks for large ones, and the reverse:
     the places of what one step makes lie beside each other, whatever their size. */
  return (!tessera_occupancy_has_several (policy->pool.map) ||
          tessera_lengths_lends_apart (policy->plan->lengths)) &&
         tessera_occupancy_is_free (policy->pool.map, begin_bytes, end_bytes);
}

static TesseraStatus
open_by_length (TesseraPolicy *policy, uint64_t height_bytes, TesseraError *error)
{
  const TesseraLengths *lengths = policy->plan->lengths;
  const TesseraLengthsHooks hooks = { { tessera_planned_take, policy }, expect, is_free };
  TesseraStatus status;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place != TESSERA_PLACE_NONE)
      policy->main_stream = lengths->slots[i].stream;
  tessera_monitor_init_lengths (&policy->monitor, lengths, height_bytes);
  status = tessera_pool_open (&policy->pool, height_bytes, false, error);
  if (status != TESSERA_OK)
    return status;
  status = tessera_lengths_follower_new (lengths, &hooks, &policy->by_length);
  if (status == TESSERA_OK)
    return status;
  tessera_pool_close (&policy->pool);
  return say (error, status);
}

/* ---- For one run ---- */

static TesseraStatus
open_for_run (TesseraPolicy *policy, uint64_t height_bytes, TesseraError *error)
{
  TesseraStatus status = tessera_follower_new (policy->plan, &policy->follower);

  if (status != TESSERA_OK)
    return say (error, status);
  tessera_follower_set_hook (policy->follower,
                             &(TesseraFollowerHook){ tessera_planned_take, policy });
  return tessera_pool_open (&policy->pool, height_bytes, true, error);
}

static TesseraStatus
open_pool (TesseraPolicy *policy,
           const TesseraPolicyOptions *options,
           uint64_t height_bytes,
           TesseraError *error)
{
  TesseraStatus status = options->by_length ? open_by_length (policy, height_bytes, error)
                                            : open_for_run (policy, height_bytes, error);

  if (status != TESSERA_OK)
    return status;
  if (options->plan->n_streams > 1 || options->caching.n_streams > 1)
    tessera_occupancy_see_streams (policy->pool.map);
  if (options->plan->crosses_streams && !options->by_length)
    {
      status = tessera_handover_new (options->plan, policy->device, policy->pool.map,
                                     &policy->handover);
      if (status != TESSERA_OK)
        return say (error, status);
      tessera_occupancy_cross_streams (policy->pool.map);
    }
  policy->seen_held_bytes = policy->pool.held_bytes;
  policy->seen_promised_bytes = policy->pool.promised_bytes;
  tessera_planned_limit_beside (policy);
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

static TesseraStatus
open_with_plan (TesseraPolicy *policy,
                const TesseraPolicyOptions *options,
                TesseraDevice *device,
                const TesseraObserver *observer,
                TesseraError *error)
{
  TesseraStatus status = accept_plan (options, device, error);
  TesseraCachingOptions beside;
  uint64_t height_bytes = 0;

  if (status != TESSERA_OK)
    return status;
  if (!options->by_length)
    height_bytes = tessera_plan_pool_bytes (options->plan);
  else if ((status = tessera_lengths_height (options->plan->lengths, &height_bytes)) !=
           TESSERA_OK)
    return say (error, status);
  policy->plan = options->plan;
  policy->never_declines = options->never_declines;
  policy->limit_bytes = options->caching.limit_bytes;
  policy->align_bytes = options->by_length ? options->plan->lengths->alignment_bytes
                                           : options->plan->alignment_bytes;
  policy->align_bytes += policy->align_bytes == 0;
  policy->observer = *observer;
  tessera_monitor_init (&policy->monitor, options->plan);
  beside = options_beside (options, height_bytes);
  status = tessera_caching_new (&beside, device, observer, &policy->caching);
  policy->device = device;
  policy->large_page_bytes = beside.settings.large_segment_bytes;
  policy->pool.policy = policy;
  /* Last: what it takes from the device stays there. */
  return status == TESSERA_OK ? open_pool (policy, options, height_bytes, error) : status;
}

TesseraStatus
tessera_policy_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraError *error,
                    TesseraPolicy **out_policy)
{
  const TesseraObserver nobody = { 0 };
  TesseraError reason = { 0 };
  TesseraPolicy *policy = calloc (1, sizeof *policy);
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_policy = NULL;
  if (observer == NULL)
    observer = &nobody;
  if (policy != NULL)
    {
      policy->kind = options->kind;
      status = options->kind == TESSERA_POLICY_PLAN
                   ? open_with_plan (policy, options, device, observer, &reason)
                   : open_without_plan (policy, options, device, observer);
    }
  if (status == TESSERA_OK)
    {
      *out_policy = policy;
      return status;
    }
  tessera_policy_free (policy);
  if (reason.text[0] != '\0')
    return tessera_fail (error, status, "%s", reason.text);
  return tessera_fail (error, status,
                       status == TESSERA_INVALID
                           ? "the allocator's settings make no sense together"
                           : "there is no memory left for the allocation policy");
}

void
tessera_policy_free (TesseraPolicy *policy)
{
  if (policy == NULL)
    return;
  tessera_caching_free (policy->caching);
  tessera_follower_free (policy->follower);
  tessera_lengths_follower_free (policy->by_length);
  tessera_handover_free (policy->handover);
  tessera_pool_clear (&policy->pool);
  free (policy);
}

void
tessera_policy_see_streams (TesseraPolicy *policy)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_occupancy_see_streams (policy->pool.map);
}

void
tessera_policy_forget_stream (TesseraPolicy *policy, uint32_t stream)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_occupancy_set_ordered (policy->pool.map, stream, 0);
}

TesseraStatus
tessera_policy_set_stream_handle (TesseraPolicy *policy, uint32_t stream, uint64_t handle)
{
  if (stream > 0)
    tessera_policy_see_streams (policy);
  return tessera_caching_set_stream_handle (policy->caching, stream, handle);
}

bool
tessera_policy_is_in_pool (const TesseraPolicy *policy, uint64_t addr)
{
  return addr - policy->pool.addr < policy->pool.n_bytes;
}

void
tessera_policy_each (const TesseraPolicy *policy,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_occupancy_each (policy->pool.map, policy->pool.addr, visit, user);
  tessera_caching_each (policy->caching, visit, user);
}

TesseraCaching *
tessera_policy_caching (TesseraPolicy *policy)
{
  return policy->kind == TESSERA_POLICY_NATIVE ||
                 policy->kind == TESSERA_POLICY_EXPANDABLE
             ? policy->caching
             : NULL;
}
