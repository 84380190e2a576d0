/*
 * The ring between producers and the writer: private.h.
 *
 * Positions count up for ever; a position's place is its low bits. A producer takes
 * position p by moving head from p to p + 1, which it may only while p is less than a
 * ring's length ahead of tail; then it fills the place and sets its @filled to p + 1. The
 * writer copies filled places in order and moves tail. Zeroed memory is an empty ring:
 * its pages are touched when they are first used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/private.h"

#include <sys/mman.h>

#define LINE_BYTES 64

typedef struct
{
  _Alignas(LINE_BYTES) atomic_uint_fast64_t filled; /* position + 1; release, acquire */
  TesseraRingItem item;
} Place;

_Static_assert(sizeof (Place) == LINE_BYTES, "a place is a cache line");

struct TesseraRing
{
  _Alignas(LINE_BYTES) atomic_uint_fast64_t head; /* producers */
  _Alignas(LINE_BYTES)
      atomic_uint_fast64_t tail; /* writer: release; producers: acquire */
  atomic_bool is_losing;         /* set by the producer that finds the ring full */
  _Alignas(LINE_BYTES) atomic_uint_fast64_t n_lost;
  uint64_t n_lost_reported; /* writer's own */
  uint64_t mask;
  Place places[];
};

static size_t
mapped_bytes (size_t n_places)
{
  return sizeof (TesseraRing) + n_places * sizeof (Place);
}

TesseraStatus
tessera_ring_new (uint32_t n_items, TesseraRing **out_ring)
{
  size_t n_places = 1;
  TesseraRing *ring;

  *out_ring = NULL;
  while (n_places < n_items)
    n_places *= 2;
  ring = mmap (NULL, mapped_bytes (n_places), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ring == MAP_FAILED)
    return TESSERA_NO_MEMORY;
  ring->mask = n_places - 1;
  *out_ring = ring;
  return TESSERA_OK;
}

void
tessera_ring_free (TesseraRing *ring)
{
  if (ring)
    munmap (ring, mapped_bytes (ring->mask + 1));
}

static bool
lose (TesseraRing *ring)
{
  atomic_fetch_add_explicit (&ring->n_lost, 1, memory_order_relaxed);
  return false;
}

bool
tessera_ring_push (TesseraRing *ring, const TesseraRingItem *item)
{
  uint64_t position = atomic_load_explicit (&ring->head, memory_order_relaxed);
  Place *place;

  if (atomic_load_explicit (&ring->is_losing, memory_order_relaxed))
    return lose (ring);
  do
    {
      /* acquire: the writer has copied what was in the place. Below 0: others have come
       * and the writer has gone past since head was read; the exchange will fail. */
      int64_t n_ahead =
          (int64_t) (position - atomic_load_explicit (&ring->tail, memory_order_acquire));

      if (n_ahead > (int64_t) ring->mask)
        {
          atomic_store_explicit (&ring->is_losing, true, memory_order_relaxed);
          return lose (ring);
        }
    }
  while (!atomic_compare_exchange_weak_explicit (
      &ring->head, &position, position + 1, memory_order_relaxed, memory_order_relaxed));
  place = &ring->places[position & ring->mask];
  place->item = *item;
  atomic_store_explicit (&place->filled, position + 1, memory_order_release);
  return true;
}

size_t
tessera_ring_take (TesseraRing *ring, TesseraRingItem *items, size_t n_items)
{
  uint64_t position = atomic_load_explicit (&ring->tail, memory_order_relaxed);
  size_t n_taken = 0;

  for (; n_taken < n_items; n_taken++, position++)
    {
      const Place *place = &ring->places[position & ring->mask];

      if (atomic_load_explicit (&place->filled, memory_order_acquire) != position + 1)
        break;
      items[n_taken] = place->item;
    }
  atomic_store_explicit (&ring->tail, position, memory_order_release);
  return n_taken;
}

uint64_t
tessera_ring_take_lost (TesseraRing *ring)
{
  uint64_t n_lost;

  if (tessera_ring_n_taken (ring) != tessera_ring_n_pushed (ring))
    return 0;
  n_lost = tessera_ring_n_lost (ring) - ring->n_lost_reported;
  ring->n_lost_reported += n_lost;
  /* a producer that saw it set and counts itself late belongs to the next gap */
  atomic_store_explicit (&ring->is_losing, false, memory_order_relaxed);
  return n_lost;
}

uint32_t
tessera_ring_n_items (const TesseraRing *ring)
{
  return (uint32_t) (ring->mask + 1);
}

uint64_t
tessera_ring_n_pushed (const TesseraRing *ring)
{
  return atomic_load_explicit (&ring->head, memory_order_relaxed);
}

uint64_t
tessera_ring_n_taken (const TesseraRing *ring)
{
  return atomic_load_explicit (&ring->tail, memory_order_relaxed);
}

uint64_t
tessera_ring_n_lost (const TesseraRing *ring)
{
  return atomic_load_explicit (&ring->n_lost, memory_order_relaxed);
}
