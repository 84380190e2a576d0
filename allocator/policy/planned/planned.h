/*
 * The part of the policy that follows a plan: its pool, the matching, the guard.
 *
 * Pages of the pool are mapped when they are used first; those that nobody needs are lent
 * to what the plan does not serve (allocator/policy/pages/lending.h). Where a plan is
 * followed by length it grows to the largest step so far instead
 * (allocator/policy/pages/growth.h), and gives back its end when memory is short; a step
 * that the plan is not for gets the lowest places that are free. A plan that does not fit
 * the run is declined, for good: nothing more is placed by it, what lies in the pool
 * stays until it is freed, and whole pages that nobody needs are given back, at once and
 * later at marks, when memory is short, and with the last block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"
#include "allocator/policy/pages/pages.h"

typedef struct TesseraPlanned TesseraPlanned;

/* As tessera_policy_new(); @error says why on every failure. @beside serves what the plan
 * does not, and outlives it. */
TESSERA_MUST_USE TesseraStatus tessera_planned_new (const TesseraPolicyOptions *options,
                                                    TesseraDevice *device,
                                                    TesseraCaching *beside,
                                                    const TesseraObserver *observer,
                                                    TesseraError *error,
                                                    TesseraPlanned **out_planned);
void tessera_planned_free (TesseraPlanned *planned); /* NULL is fine */
/* Of the pool; borrowed. */
const TesseraPages *tessera_planned_pages (const TesseraPlanned *planned);

/* Every request of the program passes through here first. If the plan serves it, or its
 * pool in a step that the plan is not for, *out_grant is filled and says so; else it is
 * as it was. */
TESSERA_MUST_USE TesseraStatus tessera_planned_malloc (TesseraPlanned *planned,
                                                       uint64_t size_bytes,
                                                       uint32_t stream,
                                                       uint32_t pool,
                                                       TesseraPolicyGrant *out_grant);
/* A free range of a declined plan's pool for the large request that is being served,
 * instead of memory beside it: what lies between the blocks that are left can't be given
 * back. Returns: whether there is one. */
bool tessera_planned_fill (TesseraPlanned *planned, TesseraPolicyGrant *out_grant);
/* So many bytes are about to be reserved beside the pool: pages of it that nobody needs
 * are given back where that keeps the most that is held from rising. */
void tessera_planned_make_room (TesseraPlanned *planned, uint64_t n_bytes);
/* The device did not have them: until the next step no page goes for as many. */
void tessera_planned_see_refused (TesseraPlanned *planned, uint64_t n_bytes);
/* After each request: what both hold now they may hold again. */
void tessera_planned_see_held (TesseraPlanned *planned);
/* For the same request, when it found memory nowhere else: any place of the pool that is
 * free and ordered for it, whatever the plan wants with it. Returns: whether there is
 * one.
 */
bool tessera_planned_rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant);
/* For the same request, when not even that helped: gives back what nobody needs of the
 * pool, if it is as much as is asked for. A plan that is followed by length is declined
 * for it.
 * Returns: whether something was given back, so that the device is worth another try. */
bool tessera_planned_relieve (TesseraPlanned *planned);
/* ... and that try served it. */
void tessera_planned_count_relieved (TesseraPlanned *planned);
bool tessera_planned_holds (const TesseraPlanned *planned, uint64_t addr);
/* Of a block in the pool. */
TesseraStatus tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr);
TesseraStatus tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr);

/* Whether the plan was declined, or its pool changed its size, since this was asked last.
 */
bool tessera_planned_take_news (TesseraPlanned *planned);

/* As their namesakes in policy.h. */
void tessera_planned_empty_cache (TesseraPlanned *planned);
void tessera_planned_release_pool (TesseraPlanned *planned, uint32_t pool);
void tessera_planned_set_limit (TesseraPlanned *planned, uint64_t limit_bytes);
void tessera_planned_set_routed (TesseraPlanned *planned, bool is_routed);
void tessera_planned_see_streams (TesseraPlanned *planned);
void tessera_planned_step (TesseraPlanned *planned);
void tessera_planned_phase (TesseraPlanned *planned, const char *name);

/* Adds the pool and its blocks to @stats->caching (not to the peaks), fills the rest. */
void tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats);
void tessera_planned_each (const TesseraPlanned *planned,
                           void (*visit) (void *user, const TesseraBlockInfo *info),
                           void *user);
TESSERA_MUST_USE TesseraStatus tessera_planned_check (const TesseraPlanned *planned,
                                                      TesseraError *error);
