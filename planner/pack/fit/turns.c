/*
 * Ranks that wait, by floor, then rank. See turns.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/turns.h"

#include <stdlib.h>

TesseraStatus
tessera_turns_init (TesseraTurns *turns, size_t n)
{
  *turns = (TesseraTurns){ .entries = calloc (n + 1, sizeof *turns->entries) };
  return turns->entries != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_turns_clear (TesseraTurns *turns)
{
  free (turns->entries);
  *turns = (TesseraTurns){ 0 };
}

static bool
comes_before (TesseraWaiting a, TesseraWaiting b)
{
  return a.floor != b.floor ? a.floor < b.floor : a.rank < b.rank;
}

void
tessera_turns_replace (TesseraTurns *turns, TesseraWaiting waiting)
{
  TesseraWaiting *entries = turns->entries;
  size_t at = 0;
  for (;;)
    {
      size_t child = at * 2 + 1;
      if (child >= turns->n_entries)
        break;
      if (child + 1 < turns->n_entries &&
          comes_before (entries[child + 1], entries[child]))
        child++;
      if (!comes_before (entries[child], waiting))
        break;
      entries[at] = entries[child];
      at = child;
    }
  entries[at] = waiting;
}

void
tessera_turns_push (TesseraTurns *turns, TesseraWaiting waiting)
{
  size_t at = turns->n_entries++;
  while (at > 0 && comes_before (waiting, turns->entries[(at - 1) / 2]))
    {
      turns->entries[at] = turns->entries[(at - 1) / 2];
      at = (at - 1) / 2;
    }
  turns->entries[at] = waiting;
}

void
tessera_turns_pop (TesseraTurns *turns)
{
  TesseraWaiting last = turns->entries[--turns->n_entries];
  if (turns->n_entries > 0)
    tessera_turns_replace (turns, last);
}
