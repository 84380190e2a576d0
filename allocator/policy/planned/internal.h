/*
 * What the files that follow a plan share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/lengths.h"
#include "allocator/policy/pages/growth.h"
#include "allocator/policy/pages/lending.h"
#include "allocator/policy/planned/judge.h"
#include "allocator/policy/planned/planned.h"

struct TesseraPlanned
{
  const TesseraPlan *plan;
  TesseraFollower *follower;     /* NULL: the plan was declined */
  TesseraFollowerStats followed; /* ... up to then */
  TesseraLengthsFollower
      *by_length; /* in its place, where the plan is for every length */
  TesseraGuard *guard;
  TesseraPages pages;     /* of the pool */
  TesseraGrowth growth;   /* ... by length */
  TesseraRefusal refusal; /* of memory for it */
  uint32_t n_strays;      /* of the step under way, so far */
  TesseraLending lending; /* ... of a plan for one run; no pages: none is followed */
  TesseraJudge judge;
  TesseraDecline decline;
  uint32_t main_stream;      /* by length: of what is planned */
  uint64_t large_page_bytes; /* that expandable rules map at once for a large request */
  bool never_declines;
  bool is_routed;              /* nothing may be given back */
  bool has_freed;              /* blocks of the pool since it was trimmed */
  bool has_news;               /* nobody took */
  TesseraGuardRequest request; /* that is being served */
  bool is_placeless;           /* ... which the plan leaves to others */
  bool is_unordered;           /* ... and some range was refused to it for that */
  uint64_t misses_unordered;
  uint64_t n_rescued;
  uint64_t n_relieved; /* requests that found memory once pages were given back */
};

/* Not declined yet. */
static inline bool
tessera_planned_is_followed (const TesseraPlanned *planned)
{
  return planned->follower != NULL || planned->by_length != NULL;
}

/* What nobody needs of a declined plan's pool. Returns: bytes given back. */
uint64_t tessera_planned_trim (TesseraPlanned *planned);
/* The plan is not followed any more. */
void tessera_planned_decline (TesseraPlanned *planned, TesseraDeclineReason reason);
/* Pages that were given back while the plan is followed, and that the request which is
 * being served wants at @offset_bytes. Returns: whether there were any, and the guard may
 * be asked again. */
bool tessera_planned_bring_back (TesseraPlanned *planned, uint64_t offset_bytes);
/* Up to now, or to when it was declined. */
void tessera_planned_get_followed (const TesseraPlanned *planned,
                                   TesseraFollowerStats *out_stats);
