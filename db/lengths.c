/*
 * A plan for steps of every length: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/lengths.h"

#include <stdlib.h>
#include <string.h>

TesseraStatus
tessera_lengths_new (TesseraLengths **out_lengths)
{
  *out_lengths = calloc (1, sizeof **out_lengths);
  return *out_lengths ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_lengths_free (TesseraLengths *lengths)
{
  if (!lengths)
    return;
  for (uint32_t i = 0; i < lengths->n_orders; i++)
    tessera_order_clear (&lengths->orders[i]);
  for (uint32_t i = 0; i < lengths->n_strings; i++)
    free (lengths->strings[i]);
  free (lengths->strings);
  free (lengths->cut_phase);
  free (lengths->orders);
  free (lengths->observed);
  free (lengths->laws);
  free (lengths->slots);
  free (lengths->start);
  free (lengths);
}

TesseraStatus
tessera_order_init (TesseraOrder *order, uint32_t n_swept, uint32_t n_edges)
{
  *order = (TesseraOrder){ .n_edges = n_edges };
  order->slots = calloc ((size_t) n_swept + 1, sizeof *order->slots);
  order->laws = calloc ((size_t) n_swept + 1, sizeof *order->laws);
  order->first_edge = calloc ((size_t) n_swept + 1, sizeof *order->first_edge);
  order->below = calloc ((size_t) n_edges + 1, sizeof *order->below);
  if (order->slots && order->laws && order->first_edge && order->below)
    return TESSERA_OK;
  tessera_order_clear (order);
  return TESSERA_NO_MEMORY;
}

void
tessera_order_clear (TesseraOrder *order)
{
  free (order->slots);
  free (order->laws);
  free (order->first_edge);
  free (order->below);
  memset (order, 0, sizeof *order);
}
