/*
 * Rooms of a plan for one step of a plan for every length: places of requests that no
 * size tells, and that whatever comes there may have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* The place of @slot, behind the slots that are there; @plan has room for it. */
void tessera_instance_add_room (TesseraPlan *plan, const TesseraSlot *slot);

/* Once all slots are there: keeps the rooms that no slot needs, the first of each place
 * and class, and raises the plan's height to them. */
void tessera_instance_settle_rooms (TesseraPlan *plan);
