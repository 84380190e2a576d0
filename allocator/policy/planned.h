/*
 * The part of the policy that follows a plan: its pool, the matching, the guard.
 *
 * The pool is one segment of the plan's height, taken from the device at once and never
 * grown or given back: one call of the driver, exact to its granularity, and shared
 * between processes or registered for transfers like any other segment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

typedef struct TesseraPlanned TesseraPlanned;

/* As tessera_policy_new(); @error says why on every failure. */
TESSERA_MUST_USE TesseraStatus tessera_planned_new (const TesseraPolicyOptions *options,
                                                    TesseraDevice *device,
                                                    const TesseraObserver *observer,
                                                    TesseraError *error,
                                                    TesseraPlanned **out_planned);
void tessera_planned_free (TesseraPlanned *planned); /* NULL is fine */

/* Every request of the program passes through here first. If the plan serves it,
 * *out_grant is filled and says so; else it is as it was. */
TESSERA_MUST_USE TesseraStatus tessera_planned_malloc (TesseraPlanned *planned,
                                                       uint64_t size_bytes,
                                                       uint32_t stream,
                                                       uint32_t pool,
                                                       TesseraPolicyGrant *out_grant);
/* For the same request, when it found memory nowhere else: any place of the pool that is
 * free and ordered for it, whatever the plan wants with it. Returns: whether there is
 * one.
 */
bool tessera_planned_rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant);
bool tessera_planned_holds (const TesseraPlanned *planned, uint64_t addr);
/* Of a block in the pool. */
TesseraStatus tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr);
TesseraStatus tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr);

void tessera_planned_see_stream (TesseraPlanned *planned, uint32_t stream);
void tessera_planned_step (TesseraPlanned *planned);
void tessera_planned_phase (TesseraPlanned *planned, const char *name);

/* Adds the pool and its blocks to @stats->caching (not to the peaks), fills the rest. */
void tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats);
void tessera_planned_each (const TesseraPlanned *planned,
                           void (*visit) (void *user, const TesseraBlockInfo *info),
                           void *user);
TESSERA_MUST_USE TesseraStatus tessera_planned_check (const TesseraPlanned *planned,
                                                      TesseraError *error);
