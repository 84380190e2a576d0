/*
 * The end of following a plan: it is declined, and its pool goes back page by page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned/internal.h"

uint64_t
tessera_planned_trim (TesseraPlanned *planned)
{
  uint64_t returned_bytes;

  if (planned->is_routed)
    return 0;
  planned->has_freed = false;
  returned_bytes = tessera_pages_trim (&planned->pages, planned->guard);
  planned->has_news |= returned_bytes > 0;
  return returned_bytes;
}

void
tessera_planned_get_followed (const TesseraPlanned *planned,
                              TesseraFollowerStats *out_stats)
{
  *out_stats = planned->followed;
  if (planned->follower != NULL)
    tessera_follower_get_stats (planned->follower, out_stats);
  else if (planned->by_length != NULL)
    tessera_lengths_follower_get_stats (planned->by_length, out_stats);
}

/* What the run holds is watched on. By length nobody did so far: the pool only grew. */
static void
end_lending (TesseraPlanned *planned)
{
  TesseraLending *lending = &planned->lending;

  lending->pages = &planned->pages;
  lending->guard = planned->guard;
  lending->beside = planned->growth.beside;
  lending->judge = &planned->judge;
  lending->refusal = &planned->refusal;
  lending->large_page_bytes = planned->large_page_bytes;
  lending->is_off = planned->is_routed;
  tessera_lending_end (lending);
}

void
tessera_planned_decline (TesseraPlanned *planned, TesseraDeclineReason reason)
{
  tessera_planned_get_followed (planned, &planned->followed);
  tessera_follower_free (planned->follower);
  tessera_lengths_follower_free (planned->by_length);
  planned->follower = NULL;
  planned->by_length = NULL;
  planned->has_news = true;
  planned->decline = (TesseraDecline){
    .reason = reason,
    .misfit = planned->judge.misfit,
    .pool_bytes = planned->pages.held_bytes,
  };
  end_lending (planned);
  tessera_pages_break_promise (&planned->pages, 0, TESSERA_MOST_PAGES);
  planned->decline.returned_bytes = tessera_planned_trim (planned);
}

/* What expandable rules map for the request at most; without end counts as that. */
static uint64_t
beside_bytes (const TesseraPlanned *planned)
{
  uint64_t block_bytes = planned->request.block_bytes;
  uint64_t page_bytes = block_bytes > TESSERA_SMALL_BYTES ? planned->large_page_bytes
                                                          : 2 * TESSERA_SMALL_BYTES;
  uint64_t n_pages = block_bytes / page_bytes + (block_bytes % page_bytes != 0);

  return n_pages > UINT64_MAX / page_bytes ? UINT64_MAX : n_pages * page_bytes;
}

/* Gives back pages that nobody needs, enough for the request. */
static bool
lend (TesseraPlanned *planned)
{
  uint64_t returned_bytes =
      tessera_lending_give_back (&planned->lending, beside_bytes (planned));

  planned->has_news |= returned_bytes > 0;
  return returned_bytes > 0;
}

bool
tessera_planned_relieve (TesseraPlanned *planned)
{
  if (!tessera_planned_is_followed (planned))
    return tessera_planned_trim (planned) > 0;
  if (planned->is_routed)
    return false;
  if (planned->by_length != NULL && tessera_growth_give_back (&planned->growth) > 0)
    {
      planned->has_news = true;
      return true;
    }
  /* Would it let the request be served elsewhere? */
  if (tessera_pages_unneeded (&planned->pages, planned->guard) +
          planned->pages.promised_bytes <
      beside_bytes (planned))
    return false;
  if (planned->follower != NULL)
    return lend (planned);
  if (planned->never_declines)
    return false;
  tessera_planned_decline (planned, TESSERA_DECLINED_FOR_SHORTAGE);
  return true;
}
