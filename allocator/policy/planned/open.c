/*
 * Following a plan: whether it can be, and the pool for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned/internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum
{
  FAR_SHARE = 8 /* of a step ahead is late */
};

/* By length: the pool grows as far as it is handed out. */
static void
grow (TesseraPlanned *planned, uint64_t height_bytes)
{
  uint64_t held_bytes = planned->pages.held_bytes;

  tessera_growth_reach (&planned->growth, height_bytes);
  planned->has_news |= planned->pages.held_bytes != held_bytes;
}

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  TesseraPlanned *planned = user;
  TesseraGuardVerdict verdict;

  if (planned->growth.pages != NULL)
    grow (planned, offset_bytes + planned->request.block_bytes);
  verdict =
      tessera_guard_take (planned->guard, offset_bytes, &planned->request, out_end_bytes);
  if (verdict == TESSERA_GUARD_TAKEN && planned->lending.pages != NULL &&
      tessera_planned_bring_back (planned, offset_bytes))
    verdict = tessera_guard_take (planned->guard, offset_bytes, &planned->request,
                                  out_end_bytes);
  switch (verdict)
    {
    case TESSERA_GUARD_GRANTED:
      return true;
    case TESSERA_GUARD_UNORDERED:
      planned->is_unordered = true;
      return false;
    default:
      return false;
    }
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
accept_plan (const TesseraPolicyOptions *options, TesseraError *error)
{
  const TesseraPlan *plan = options->plan;

  if (plan == NULL)
    return tessera_fail (error, TESSERA_INVALID, "there is no plan to follow");
  if (options->by_length && plan->lengths == NULL)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan has nothing for steps of other lengths");
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

/* That much of the pool is this step's. */
static void
expect (void *user, uint64_t height_bytes)
{
  TesseraPlanned *planned = user;

  planned->growth.step_bytes = height_bytes;
}

static bool
is_free (void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPlanned *planned = user;

  /* Where several streams work it would be small blocks for large ones, and the reverse:
     the places of what one step makes lie beside each other, whatever their size. */
  return (!tessera_guard_has_several (planned->guard) ||
          tessera_lengths_lends_apart (planned->plan->lengths)) &&
         tessera_guard_is_free (planned->guard, begin_bytes, end_bytes);
}

/* The pool, and who follows the plan in it. */
static TesseraStatus
open_by_length (TesseraPlanned *planned,
                TesseraDevice *device,
                const TesseraObserver *observer,
                TesseraError *error)
{
  const TesseraLengths *lengths = planned->plan->lengths;
  const TesseraLengthsHooks hooks = { { take, planned }, expect, is_free };
  uint64_t height_bytes;
  TesseraStatus status = tessera_lengths_height (lengths, &height_bytes);

  if (status == TESSERA_OK)
    status = tessera_guard_new (0, &tessera_guard_laws, &planned->guard);
  if (status != TESSERA_OK)
    return say (error, status);
  status = tessera_pages_reserve (&planned->pages, height_bytes, device, observer, error);
  if (status != TESSERA_OK)
    return status;
  planned->growth.pages = &planned->pages;
  planned->growth.guard = planned->guard;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place != TESSERA_PLACE_NONE)
      planned->main_stream = lengths->slots[i].stream;
  tessera_judge_init_lengths (&planned->judge, lengths, height_bytes);
  status = tessera_lengths_follower_new (lengths, &hooks, &planned->by_length);
  if (status == TESSERA_OK)
    return status;
  tessera_pages_close (&planned->pages);
  return say (error, status);
}

static void
forecast (void *user, uint64_t page_bytes, uint32_t n_pages, uint32_t *needs)
{
  tessera_follower_forecast (user, page_bytes, n_pages, needs);
}

/* Requests: an eighth of its longest section. */
static uint32_t
far_ahead (const TesseraPlan *plan)
{
  uint32_t most = 0;

  for (size_t i = 0; i < plan->n_sections; i++)
    most = plan->sections[i].n_slots > most ? plan->sections[i].n_slots : most;
  return most / FAR_SHARE + 1;
}

/* The same of a plan that is for one run. */
static TesseraStatus
open_pool (TesseraPlanned *planned,
           TesseraDevice *device,
           const TesseraObserver *observer,
           TesseraError *error)
{
  TesseraStatus status = tessera_follower_new (planned->plan, &planned->follower);

  if (status == TESSERA_OK)
    status = tessera_guard_new (tessera_plan_pool_bytes (planned->plan),
                                &tessera_guard_laws, &planned->guard);
  if (status != TESSERA_OK)
    return say (error, status);
  tessera_follower_set_guard (planned->follower,
                              &(TesseraFollowerGuard){ take, planned });
  status = tessera_pages_promise (&planned->pages, planned->guard,
                                  tessera_plan_pool_bytes (planned->plan),
                                  planned->growth.limit_bytes, device, observer, error);
  if (status != TESSERA_OK)
    return status;
  planned->lending = (TesseraLending){ .pages = &planned->pages,
                                       .guard = planned->guard,
                                       .beside = planned->growth.beside,
                                       .judge = &planned->judge,
                                       .refusal = &planned->refusal,
                                       .limit_bytes = planned->growth.limit_bytes,
                                       .large_page_bytes = planned->large_page_bytes,
                                       .far_requests = far_ahead (planned->plan) };
  status = tessera_lending_init (&planned->lending,
                                 &(TesseraForecast){ forecast, planned->follower });
  if (status == TESSERA_OK)
    return status;
  tessera_pages_close (&planned->pages);
  return say (error, status);
}

TesseraStatus
tessera_planned_new (const TesseraPolicyOptions *options,
                     TesseraDevice *device,
                     TesseraCaching *beside,
                     const TesseraObserver *observer,
                     TesseraError *error,
                     TesseraPlanned **out_planned)
{
  TesseraStatus status = accept_plan (options, error);
  TesseraPlanned *planned;

  *out_planned = NULL;
  if (status != TESSERA_OK)
    return status;
  planned = calloc (1, sizeof *planned);
  if (planned == NULL)
    return say (error, TESSERA_NO_MEMORY);
  planned->plan = options->plan;
  planned->never_declines = options->never_declines;
  planned->large_page_bytes = options->caching.settings.large_segment_bytes;
  tessera_judge_init (&planned->judge, options->plan);
  planned->growth.beside = beside;
  planned->growth.limit_bytes = options->caching.limit_bytes;
  planned->growth.refusal = &planned->refusal;
  planned->growth.may_flush = true;
  if (options->by_length)
    status = open_by_length (planned, device, observer, error);
  else
    status = open_pool (planned, device, observer, error);
  if (status != TESSERA_OK)
    {
      tessera_planned_free (planned);
      return status;
    }
  if (options->plan->n_streams > 1 || options->caching.n_streams > 1)
    tessera_guard_see_streams (planned->guard);
  *out_planned = planned;
  return TESSERA_OK;
}
