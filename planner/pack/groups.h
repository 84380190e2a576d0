/*
 * A call of the packer, and its groups of zones, one after the other. Nobody but pack.c
 * needs this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/portfolio.h"
#include "planner/pack/zones.h"

#define TESSERA_STRATEGY_NOTHING_TO_DO "stacked: all live always"

/* One call: what it was asked, and how far it has come. */
typedef struct
{
  const TesseraItem *items;
  TesseraPackLimit *limits; /* NULL: nobody is held to anything */
  uint64_t highest_pin_bytes;
  uint64_t load_bytes; /* of all zones, pins left out */
  TesseraPackZones zones;
  uint64_t *loads; /* [n_groups] peaks of the zones of each, summed; pins left out */
  TesseraPackRange *blocked; /* where something is pinned: what the group in work can't
                                have */
  size_t n_blocked;
  uint64_t *offsets;
  TesseraPacking packing;
  uint64_t highest_group_bytes; /* whose strategy is told */
  bool has_stopped;
  const TesseraListener *listener; /* the caller's */
  uint64_t base_bytes;             /* of the group in work, that live always */
  uint64_t n_left;                 /* groups after it: nobody knows their height yet */
  uint64_t most_bytes;             /* see TesseraPackOptions */
  uint64_t work_left;   /* of a preview: what the groups before have not spent */
  uint64_t slack_bytes; /* that the groups to come may be above what they take at least */
} TesseraPackCall;

/* Tells the call's listener of a group what that makes of the whole. @user: the call. */
void tessera_pack_call_tell (void *user, const TesseraNews *news);

/* The next group, on top of what there is, or, where something is pinned, in the whole
 * pool. TESSERA_OK, TESSERA_NO_MEMORY, TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_pack_group (TesseraPackCall *call,
                                                   size_t group,
                                                   const TesseraPortfolioOptions *options);
