/*
 * Numbers sorted by keys, in linear time. See sort.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/sort.h"

#include <stdlib.h>
#include <string.h>

enum
{
  N_BYTES = 8,
  N_VALUES = 256,
  FEW = 64 /* are moved one by one */
};

static void
insert_few (TesseraKeyed *keyed, size_t n)
{
  for (size_t i = 1; i < n; i++)
    {
      TesseraKeyed moved = keyed[i];
      size_t to = i;
      for (; to > 0 && keyed[to - 1].key > moved.key; to--)
        keyed[to] = keyed[to - 1];
      keyed[to] = moved;
    }
}

/* Puts each where its byte says. @counts: how many there are of each value. */
static void
move_by_byte (const TesseraKeyed *from,
              TesseraKeyed *to,
              size_t n,
              int byte,
              const size_t counts[N_VALUES])
{
  size_t next[N_VALUES], sum = 0;
  for (int value = 0; value < N_VALUES; value++)
    {
      next[value] = sum;
      sum += counts[value];
    }
  for (size_t i = 0; i < n; i++)
    to[next[from[i].key >> (8 * byte) & (N_VALUES - 1)]++] = from[i];
}

TesseraStatus
tessera_sort_keyed (TesseraKeyed *keyed, size_t n)
{
  size_t counts[N_BYTES][N_VALUES] = { { 0 } };
  if (n <= FEW)
    {
      insert_few (keyed, n);
      return TESSERA_OK;
    }
  TesseraKeyed *scratch = malloc (n * sizeof *scratch), *from = keyed, *to = scratch;
  if (scratch == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < n; i++)
    for (int byte = 0; byte < N_BYTES; byte++)
      counts[byte][keyed[i].key >> (8 * byte) & (N_VALUES - 1)]++;
  for (int byte = 0; byte < N_BYTES; byte++)
    {
      TesseraKeyed *moved = to;
      if (counts[byte][keyed[0].key >> (8 * byte) & (N_VALUES - 1)] == n)
        continue;
      move_by_byte (from, to, n, byte, counts[byte]);
      to = from;
      from = moved;
    }
  if (from != keyed)
    memcpy (keyed, from, n * sizeof *keyed);
  free (scratch);
  return TESSERA_OK;
}
