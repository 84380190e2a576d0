/*
 * The hash table of table.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/table.h"

#include <stdlib.h>

enum
{
  FIRST_N_SLOTS = 1024
};

/* Addresses are multiples of 512 at least: multiply, and use the well mixed upper bits.
 */
static size_t
home_of (uint64_t addr, size_t n_slots)
{
  return (size_t) ((addr * 0x9e3779b97f4a7c15u) >> 32) & (n_slots - 1);
}

void
tessera_table_clear (TesseraTable *table)
{
  free (table->slots);
  *table = (TesseraTable){ 0 };
}

static void
put (TesseraTableSlot *slots, size_t n_slots, uint64_t addr, void *value)
{
  size_t at = home_of (addr, n_slots);

  while (slots[at].addr != 0)
    at = (at + 1) & (n_slots - 1);
  slots[at] = (TesseraTableSlot){ addr, value };
}

TesseraStatus
tessera_table_reserve (TesseraTable *table)
{
  size_t n_slots = table->n_slots == 0 ? FIRST_N_SLOTS : table->n_slots * 2;
  TesseraTableSlot *slots;

  if ((table->n_used + 1) * 4 <= table->n_slots * 3)
    return TESSERA_OK;
  slots = calloc (n_slots, sizeof *slots);
  if (slots == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < table->n_slots; i++)
    if (table->slots[i].addr != 0)
      put (slots, n_slots, table->slots[i].addr, table->slots[i].value);
  free (table->slots);
  table->slots = slots;
  table->n_slots = n_slots;
  return TESSERA_OK;
}

void
tessera_table_add (TesseraTable *table, uint64_t addr, void *value)
{
  put (table->slots, table->n_slots, addr, value);
  table->n_used++;
}

/* Returns: the slot of @addr, or n_slots. */
static size_t
find (const TesseraTable *table, uint64_t addr)
{
  size_t at;

  if (table->n_slots == 0 || addr == 0)
    return table->n_slots;
  at = home_of (addr, table->n_slots);
  while (table->slots[at].addr != 0)
    {
      if (table->slots[at].addr == addr)
        return at;
      at = (at + 1) & (table->n_slots - 1);
    }
  return table->n_slots;
}

void *
tessera_table_get (const TesseraTable *table, uint64_t addr)
{
  size_t at = find (table, addr);

  return at == table->n_slots ? NULL : table->slots[at].value;
}

void *
tessera_table_remove (TesseraTable *table, uint64_t addr)
{
  size_t hole = find (table, addr), mask = table->n_slots - 1;
  void *value;

  if (hole == table->n_slots)
    return NULL;
  value = table->slots[hole].value;
  for (size_t at = (hole + 1) & mask; table->slots[at].addr != 0; at = (at + 1) & mask)
    {
      size_t home = home_of (table->slots[at].addr, table->n_slots);

      /* An entry may move back to the hole unless its home lies behind the hole. */
      if (((at - home) & mask) >= ((at - hole) & mask))
        {
          table->slots[hole] = table->slots[at];
          hole = at;
        }
    }
  table->slots[hole] = (TesseraTableSlot){ 0 };
  table->n_used--;
  return value;
}
