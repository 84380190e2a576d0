/*
 * The ring between producers and the writer: fixed size, many in, one out.
 *
 * A producer never waits, allocates or calls the system. The place it takes is the order
 * of things. When the ring is full the item is lost and counted, and so are all that
 * follow until the writer has emptied the ring: one gap, not a sieve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef enum
{
  TESSERA_ITEM_EVENT,
  TESSERA_ITEM_RANGE_BEGIN,
  TESSERA_ITEM_RANGE_END
} TesseraItemKind;

typedef struct
{
  union
  {
    TesseraEvent event; /* at_ns: CLOCK_MONOTONIC */
    struct
    {
      int64_t at_ns; /* same */
      uint32_t handle;
      uint32_t name; /* begin only, as the following */
      uint8_t kind;  /* TesseraRangeKind */
      bool is_inferred;
    } range;
  };
  uint32_t device; /* event only */
  uint8_t kind;    /* TesseraItemKind */
} TesseraRingItem;

typedef struct TesseraRing TesseraRing;

/* @n_items is rounded up to a power of two. */
TESSERA_MUST_USE TesseraStatus tessera_ring_new (uint32_t n_items,
                                                 TesseraRing **out_ring);
void tessera_ring_free (TesseraRing *ring); /* NULL is fine */

/* Any thread. Returns: false when lost. */
bool tessera_ring_push (TesseraRing *ring, const TesseraRingItem *item);

/* The writer's thread only. Returns: how many of at most @n_items there were. Stops short
 * of a place that a producer has taken and not filled yet. */
size_t tessera_ring_take (TesseraRing *ring, TesseraRingItem *items, size_t n_items);
/* The writer's thread only: how many were lost after what was taken so far and were not
 * told before. 0 as long as there is something to take. */
uint64_t tessera_ring_take_lost (TesseraRing *ring);

/* Any thread; a moment's truth. */
uint32_t tessera_ring_n_items (const TesseraRing *ring); /* that fit */
uint64_t tessera_ring_n_pushed (const TesseraRing *ring);
uint64_t tessera_ring_n_taken (const TesseraRing *ring);
uint64_t tessera_ring_n_lost (const TesseraRing *ring);
