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

/* Puts each where its byte says, behind those of lower values. */
static void
move_by_byte (const TesseraKeyed *from, TesseraKeyed *to, size_t n, int byte)
{
  size_t next[N_VALUES] = { 0 }, sum = 0;
  for (size_t i = 0; i < n; i++)
    next[from[i].key >> (8 * byte) & (N_VALUES - 1)]++;
  for (int value = 0; value < N_VALUES; value++)
    {
      size_t count = next[value];
      next[value] = sum;
      sum += count;
    }
  for (size_t i = 0; i < n; i++)
    to[next[from[i].key >> (8 * byte) & (N_VALUES - 1)]++] = from[i];
}

/* The bits in which keys differ; 0: they are in order. */
static uint64_t
find_bits (const TesseraKeyed *keyed, size_t n)
{
  uint64_t bits = 0;
  bool is_sorted = true;
  for (size_t i = 1; i < n; i++)
    {
      bits |= keyed[i].key ^ keyed[0].key;
      is_sorted = is_sorted && keyed[i - 1].key <= keyed[i].key;
    }
  return is_sorted ? 0 : bits;
}

TesseraStatus
tessera_sort_keyed (TesseraKeyed *keyed, size_t n)
{
  if (n <= FEW)
    {
      insert_few (keyed, n);
      return TESSERA_OK;
    }
  const uint64_t bits = find_bits (keyed, n);
  if (bits == 0)
    return TESSERA_OK;
  TesseraKeyed *scratch = malloc (n * sizeof *scratch), *from = keyed, *to = scratch;
  if (scratch == NULL)
    return TESSERA_NO_MEMORY;
  for (int byte = 0; byte < N_BYTES; byte++)
    {
      TesseraKeyed *moved = to;
      if ((bits >> (8 * byte) & (N_VALUES - 1)) == 0)
        continue;
      move_by_byte (from, to, n, byte);
      to = from;
      from = moved;
    }
  if (from != keyed)
    memcpy (keyed, from, n * sizeof *keyed);
  free (scratch);
  return TESSERA_OK;
}
