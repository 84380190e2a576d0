/*
 * Which parts of a plan's pool may be lent to whom.
 *
 * A zone is what PyTorch would serve from the same memory: the same stream, pool, and
 * where several streams are at work the same of small and large. Between two offsets of a
 * plan there is one zone, or several, and then nothing there is lent.
 *
 * Made once from a plan and not changed afterwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/slots.h"

/* The zone of places that slots take in turn: they are not lent. */
#define TESSERA_ZONE_TURNS (UINT32_MAX - 2)

typedef struct
{
  const TesseraSlots *slots;
  uint32_t *at;      /* [n_offsets] the zone between this offset and the next */
  uint64_t *ends;    /* [n_offsets] up to where it is the same */
  uint32_t *of_slot; /* [n_slots] */
  bool is_off;       /* there are too many zones to tell them apart: nothing is lent */
} TesseraZones;

/* Slots of equal keys are what PyTorch would serve from the same memory. */
uint64_t tessera_zone_key (const TesseraPlan *plan, const TesseraSlot *slot);

/* @slots must outlive @zones. */
TESSERA_MUST_USE TesseraStatus tessera_zones_init (TesseraZones *zones,
                                                   const TesseraSlots *slots);
void tessera_zones_clear (TesseraZones *zones);
