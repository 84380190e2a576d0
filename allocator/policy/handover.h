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
 * (receives that are posted early, kernels that spin for others). So each hand-over is
 * tried when it comes first: the host waits for the work, for a while only, and lets the
 * stream wait for it after that. What is not done by then is not waited for, and no
 * hand-over that was not tried yet is used in this run.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/occupancy.h"
#include "allocator/table.h"
#include "db/plan.h"

typedef struct
{
  uint64_t moment; /* of the map */
  void *mark;      /* the device's */
} TesseraMark;

typedef struct
{
  uint64_t moment;
  uint32_t slot;
} TesseraServed;

enum
{
  TESSERA_RECENT_MARKS = 64,
  TESSERA_RECENT_SERVED = 4096
};

typedef struct
{
  TesseraDevice *device;
  TesseraOccupancy *map;
  uint32_t n_slots;
  uint8_t *is_marked;                          /* [n_slots] at the slot's request */
  TesseraMark marks[TESSERA_RECENT_MARKS];     /* round and round, by moment */
  TesseraServed served[TESSERA_RECENT_SERVED]; /* ... */
  size_t n_marks, n_served;                    /* so far */
  TesseraTable tried;                          /* hand-overs, by offset and stream */
  uint64_t n_barriers;
  bool has_failed; /* a trial */
} TesseraHandover;

/* Whether plans may pass memory between streams on the device. */
static inline bool
tessera_handover_is_possible (const TesseraDevice *device)
{
  return device->order != NULL;
}

/* The map and the plan outlive it. */
TESSERA_MUST_USE TesseraStatus tessera_handover_new (const TesseraPlan *plan,
                                                     TesseraDevice *device,
                                                     TesseraOccupancy *map,
                                                     TesseraHandover **out_crossing);
void tessera_handover_free (TesseraHandover *handover); /* NULL is fine */

/* Lets the request's stream wait for whoever used the range last, if it does not yet.
 * Returns: whether it may have the range, once the blocks whose ends are pending there
 * ended (tessera_occupancy_pass()). */
bool tessera_handover_order (TesseraHandover *handover,
                             uint64_t offset_bytes,
                             const TesseraOccupancyRequest *request);
/* The slot was served, by the request that the map saw last. */
void tessera_handover_serve (TesseraHandover *handover, uint32_t slot);
