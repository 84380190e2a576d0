/*
 * What a sweep costs: the sizes of all laws, then one walk through an order of 20,000
 * slots. Microseconds of processor time, and how often the same arrays could have been
 * copied meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planner/lengths/private.h"
#include "planner/pack.h"

enum
{
  N_SLOTS = 20000,
  N_LAWS = 400,
  N_SWEEPS = 300,
  MOST_MICROSECONDS = 200
};

static uint32_t seed = 20261122;

static uint32_t
below (uint32_t end)
{
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % end;
}

static double
cpu_microseconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

/* Like a step: most live for a few requests, some from the first half to the second. */
static uint32_t
end_of (uint32_t begin)
{
  uint32_t end = begin + 1 + below (12);

  if (begin < N_SLOTS / 2 && below (4) == 0)
    end = N_SLOTS - begin;
  return end < N_SLOTS ? end : N_SLOTS;
}

static bool
make_order (TesseraLengths *lengths, TesseraOrder *order)
{
  TesseraItem *items = calloc (N_SLOTS, sizeof *items);
  TesseraLaidOut *laid_out = calloc (N_SLOTS, sizeof *laid_out);
  uint64_t *offsets = calloc (N_SLOTS, sizeof *offsets);
  const TesseraPackOptions options = { .n_threads = 1 };
  TesseraPacking packing;
  bool is_made = items && laid_out && offsets;

  for (uint32_t i = 0; i < N_SLOTS && is_made; i++)
    {
      items[i] = (TesseraItem){ .size_bytes = 512 * (1 + (uint64_t) below (4000)),
                                .begin = i,
                                .end = end_of (i) };
    }
  is_made =
      is_made && tessera_pack (items, N_SLOTS, &options, offsets, &packing) == TESSERA_OK;
  for (uint32_t i = 0; i < N_SLOTS && is_made; i++)
    laid_out[i] = (TesseraLaidOut){ .begin = items[i].begin,
                                    .end = items[i].end,
                                    .offset_bytes = offsets[i] };
  if (is_made)
    tessera_order_from_layout (laid_out, N_SLOTS, order);
  for (uint32_t i = 0; i < N_SLOTS && is_made; i++)
    order->laws[i] = below (N_LAWS);
  lengths->n_swept = N_SLOTS;
  free (items);
  free (laid_out);
  free (offsets);
  return is_made;
}

static void
make_laws (TesseraLengths *lengths)
{
  lengths->alignment_bytes = 512;
  lengths->n_laws = N_LAWS;
  lengths->laws = calloc (N_LAWS, sizeof *lengths->laws);
  for (uint32_t i = 0; i < N_LAWS && lengths->laws; i++)
    lengths->laws[i] =
        (TesseraSizeLaw){ .numerators = { below (1000), 0, 0, below (9000), below (3) },
                          .denominator = 1 + below (3),
                          .rounding = 8,
                          .kind = TESSERA_SIZE_ROUNDED };
}

static double
time_sweeps (const TesseraLengths *lengths, const TesseraOrder *order, uint64_t *work)
{
  double begin = cpu_microseconds ();
  uint64_t sum = 0;

  for (uint32_t i = 0; i < N_SWEEPS; i++)
    if (tessera_sweep_sizes (lengths, &(TesseraParameters){ 1 + i % 4, 100 + i }, work))
      sum += tessera_sweep (lengths, order, work, work + N_LAWS);
  begin = cpu_microseconds () - begin;
  return sum > 0 ? begin / N_SWEEPS : 0;
}

/* Of what a sweep reads and writes. */
static double
time_copies (const TesseraOrder *order, uint8_t *to)
{
  const size_t n = N_SLOTS * sizeof (uint32_t);
  double begin = cpu_microseconds ();

  for (uint32_t i = 0; i < N_SWEEPS; i++)
    {
      memcpy (to, order->slots, n);
      memcpy (to + n, order->laws, n);
      memcpy (to + 2 * n, order->first_edge, n);
      memcpy (to + 3 * n, order->below, order->n_edges * sizeof *order->below);
      __asm__ volatile("" : : "r"(to) : "memory");
    }
  return (cpu_microseconds () - begin) / N_SWEEPS;
}

int
main (void)
{
  TesseraLengths lengths = { 0 };
  TesseraOrder order = { 0 };
  uint64_t *work = malloc ((N_LAWS + N_SLOTS) * sizeof *work);
  uint8_t *to = NULL;
  double sweep, copy;

  make_laws (&lengths);
  if (work && lengths.laws && make_order (&lengths, &order))
    to = malloc ((3 * (size_t) N_SLOTS + order.n_edges) * sizeof (uint32_t));
  if (!to)
    return EXIT_FAILURE;
  sweep = time_sweeps (&lengths, &order, work);
  copy = time_copies (&order, to);
  printf (
      "%d slots, %u edges, %d laws: a sweep takes %.1f us, %.1f copies of its order\n",
      N_SLOTS, order.n_edges, N_LAWS, sweep, sweep / copy);
  free (to);
  free (work);
  free (lengths.laws);
  tessera_order_clear (&order);
  return sweep > 0 && sweep <= MOST_MICROSECONDS ? EXIT_SUCCESS : EXIT_FAILURE;
}
