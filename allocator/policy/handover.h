/*
 * Memory that passes between streams, behind barriers.
 *
 * A stream that is to get what others freed waits for them, on the device. The earlier the
 * moment that it waits for, the less it is held up: not what was enqueued after the free.
 * So where a hand-over needed a barrier the request that came right after the free is
 * remembered, and from the next step on all that streams were given is marked there.
 *
 * A barrier waits for work that was enqueued before, so it cannot hang a program whose
 * streams could as well work one after the other. Some programs are not like that
 * (receives that are posted early, kernels that spin for others). So all hand-overs of the
 * first two steps are tried, and later on each that is new: the host looks for a while
 * whether the work ends, and lets the stream wait only if it does. Three that do not end
 * in 2 s, or many moments in a row that can't be marked, and memory passes no more: the
 * plan is of no use then. While the host looks, the device's lock is held, so a thread
 * that has to allocate before it launches what is waited for makes a trial fail.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/occupancy.h"
#include "allocator/table.h"
#include "db/plan.h"

typedef struct TesseraHandover TesseraHandover;

/* Whether plans may pass memory between streams on the device. */
static inline bool
tessera_handover_is_possible (const TesseraDevice *device)
{
  return device->order != NULL;
}

/* Map and device outlive it. */
TESSERA_MUST_USE TesseraStatus tessera_handover_new (const TesseraPlan *plan,
                                                     TesseraDevice *device,
                                                     TesseraOccupancy *map,
                                                     TesseraHandover **out_handover);
void tessera_handover_free (TesseraHandover *handover); /* NULL is fine */

/* Lets the request's stream wait for whoever used the range last, if it does not yet.
 * Returns: whether it may have the range, once the blocks whose ends are pending there
 * ended (tessera_occupancy_pass()). */
bool tessera_handover_order (TesseraHandover *handover,
                             uint64_t offset_bytes,
                             const TesseraOccupancyRequest *request);
/* The slot was served, by the request that the map saw last. */
void tessera_handover_serve (TesseraHandover *handover, uint32_t slot, uint32_t stream);
/* A step begins. */
void tessera_handover_step (TesseraHandover *handover);

uint64_t tessera_handover_count (const TesseraHandover *handover); /* barriers so far */
/* Memory passes no more. */
bool tessera_handover_has_ended (const TesseraHandover *handover);
