/*
 * Where dynamic requests go: those of a step for which the plan has no slot.
 *
 * The plan has rooms (db/plan.h): after the request of one slot and before the next
 * one's, a range of the pool that no slot needs until the blocks asked for there are
 * gone. A request goes to the lowest free place of its room, else of its stream's region
 * above all slots. A room is what the plan expects: whether a place is free the caller's
 * hook knows.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"
#include "allocator/follow/matching.h"

typedef struct
{
  const TesseraPlan *plan;
  size_t *first_room; /* [n_sections + 1] */
  size_t room;        /* where the last request was, or n_rooms */
  uint32_t n_seen;    /* requests there in a row */
} TesseraRooms;

/* @plan must outlive @rooms. TESSERA_INVALID: its rooms are out of order or of the pool.
 */
TESSERA_MUST_USE TesseraStatus tessera_rooms_init (TesseraRooms *rooms,
                                                   const TesseraPlan *plan);
void tessera_rooms_clear (TesseraRooms *rooms);

typedef struct
{
  uint64_t block_bytes; /* rounded */
  uint32_t section;
  uint32_t before; /* slot whose request is expected next; see TesseraRoom */
  uint32_t stream;
  uint32_t pool;
} TesseraDynamicRequest;

/* Takes a place for the request, if @hook takes it too. Returns: whether there is one.
 */
bool tessera_rooms_take (const TesseraRooms *rooms,
                         const TesseraFollowerHook *hook,
                         const TesseraDynamicRequest *request,
                         uint64_t *out_offset_bytes);

/* Are dynamic requests like this one planned for right here, and not all of them seen? */
bool tessera_rooms_expect (TesseraRooms *rooms, const TesseraDynamicRequest *request);
