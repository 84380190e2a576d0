/*
 * The ring: order, wrapping, many producers, what is lost. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "recorder/private.h"
#include "tests/ok.h"

#include <glib.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraRing, tessera_ring_free)

#define N_THREADS 4
#define N_EACH 200000
#define RING_ITEMS 256

static TesseraRing *
make (uint32_t n_items)
{
  TesseraRing *ring;

  OK (tessera_ring_new (n_items, &ring));
  return ring;
}

static bool
push (TesseraRing *ring, uint32_t device, uint64_t number)
{
  TesseraRingItem item = { .event = { .size_bytes = number }, .device = device };

  return tessera_ring_push (ring, &item);
}

static void
test_wrap (void)
{
  g_autoptr (TesseraRing) ring = make (5);
  TesseraRingItem items[8];
  uint64_t next = 0;

  g_assert_cmpuint (tessera_ring_n_items (ring), ==, 8);
  for (uint64_t round = 0; round < 100; round++)
    {
      uint64_t n = round % 8 + 1;

      for (uint64_t i = 0; i < n; i++)
        g_assert_true (push (ring, 0, next + i));
      g_assert_cmpuint (tessera_ring_take (ring, items, 8), ==, n);
      for (uint64_t i = 0; i < n; i++)
        g_assert_cmpuint (items[i].event.size_bytes, ==, next + i);
      next += n;
    }
  g_assert_cmpuint (tessera_ring_take_lost (ring), ==, 0);
}

/* One loss makes a burst: it lasts until the ring is empty and the writer has been told.
 */
static void
test_burst (void)
{
  g_autoptr (TesseraRing) ring = make (4);
  TesseraRingItem items[4];

  for (uint64_t i = 0; i < 4; i++)
    g_assert_true (push (ring, 0, i));
  g_assert_false (push (ring, 0, 4));
  g_assert_cmpuint (tessera_ring_take (ring, items, 3), ==, 3);
  g_assert_false (push (ring, 0, 5));
  g_assert_cmpuint (tessera_ring_take_lost (ring), ==, 0); /* one is still to come */
  g_assert_cmpuint (tessera_ring_take (ring, items, 4), ==, 1);
  g_assert_false (push (ring, 0, 6));
  g_assert_cmpuint (tessera_ring_take_lost (ring), ==, 3);
  g_assert_cmpuint (tessera_ring_take_lost (ring), ==, 0);
  g_assert_true (push (ring, 0, 7));
  g_assert_cmpuint (tessera_ring_n_lost (ring), ==, 3);
  g_assert_cmpuint (tessera_ring_n_pushed (ring), ==, 5);
}

typedef struct
{
  TesseraRing *ring;
  uint32_t number;
  uint64_t n_lost;
} Producer;

static gpointer
produce (gpointer data)
{
  Producer *producer = data;

  for (uint64_t k = 0; k < N_EACH; k++)
    producer->n_lost += !push (producer->ring, producer->number, k);
  return NULL;
}

/* Each producer's items come out in its order; what is missing was counted.
 * Returns: how many were. */
static uint64_t
run_threads (uint32_t ring_items)
{
  g_autoptr (TesseraRing) ring = make (ring_items);
  Producer producers[N_THREADS];
  GThread *threads[N_THREADS];
  uint64_t next[N_THREADS] = { 0 }, n_taken = 0, n_lost = 0, n_missed = 0;
  TesseraRingItem items[100];

  for (uint32_t i = 0; i < N_THREADS; i++)
    {
      producers[i] = (Producer){ .ring = ring, .number = i };
      threads[i] = g_thread_new (NULL, produce, &producers[i]);
    }
  while (n_taken + n_lost < N_THREADS * N_EACH)
    {
      size_t n = tessera_ring_take (ring, items, 100);

      for (size_t i = 0; i < n; i++)
        {
          g_assert_cmpuint (items[i].event.size_bytes, >=, next[items[i].device]);
          next[items[i].device] = items[i].event.size_bytes + 1;
        }
      n_taken += n;
      n_lost += tessera_ring_take_lost (ring);
      if (n == 0)
        g_thread_yield ();
    }
  for (size_t i = 0; i < N_THREADS; i++)
    {
      g_thread_join (threads[i]);
      n_missed += producers[i].n_lost;
    }
  g_assert_cmpuint (n_lost, ==, n_missed);
  g_assert_cmpuint (tessera_ring_n_lost (ring), ==, n_missed);
  g_assert_cmpuint (tessera_ring_n_pushed (ring), ==, n_taken);
  return n_lost;
}

static void
test_threads (void)
{
  (void) run_threads (RING_ITEMS);
}

/* Where there is room for all, nothing is lost, however often the writer passes by. */
static void
test_threads_with_room (void)
{
  g_assert_cmpuint (run_threads (N_THREADS * N_EACH), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recorder/ring/wrap", test_wrap);
  g_test_add_func ("/recorder/ring/burst", test_burst);
  g_test_add_func ("/recorder/ring/threads", test_threads);
  g_test_add_func ("/recorder/ring/threads-with-room", test_threads_with_room);
  return g_test_run ();
}
