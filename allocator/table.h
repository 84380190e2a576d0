/*
 * Which block starts at this address: a hash table from device addresses to pointers.
 *
 * Open addressing, linear probing, at most three quarters full; removal moves the tail of
 * a run back, so there are no tombstones and a table never degrades. All zeros is an
 * empty table. What the pointers point at stays the caller's. Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t addr; /* 0: empty slot (0 is never a device address) */
  void *value;
} TesseraTableSlot;

typedef struct
{
  TesseraTableSlot *slots;
  size_t n_slots; /* 0 or a power of two */
  size_t n_used;
} TesseraTable;

/* Frees the table, which is empty then; not what its pointers point at. */
void tessera_table_clear (TesseraTable *table);

/* Makes room for one more; tessera_table_add() cannot fail after it. TESSERA_OK or
 * TESSERA_NO_MEMORY: the table is as it was. */
TESSERA_MUST_USE TesseraStatus tessera_table_reserve (TesseraTable *table);
/* @addr must not be in the table yet. */
void tessera_table_add (TesseraTable *table, uint64_t addr, void *value);
/* Returns: (nullable): what is there. */
void *tessera_table_get (const TesseraTable *table, uint64_t addr);
/* Returns: (nullable): what was there. */
void *tessera_table_remove (TesseraTable *table, uint64_t addr);
