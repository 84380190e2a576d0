/*
 * The rotas of a plan's slots: places that requests take in turn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/slots/private.h"

#include <stdlib.h>

/* Slots of one section that are equal but for their number are one rota. */
typedef struct
{
  uint32_t section;
  uint32_t signature;
  uint32_t block;
  uint32_t slot;
} Member;

static int
compare_numbers (uint32_t x, uint32_t y)
{
  return (x > y) - (x < y);
}

static int
compare_rotas (const Member *x, const Member *y)
{
  if (x->section != y->section)
    return compare_numbers (x->section, y->section);
  return compare_numbers (x->signature, y->signature);
}

/* A slot comes right before the spare that was made from the same block. */
static int
compare_members (const void *a, const void *b)
{
  const Member *x = a;
  const Member *y = b;
  int order = compare_rotas (x, y);

  if (order != 0)
    return order;
  if (x->block != y->block)
    return compare_numbers (x->block, y->block);
  return compare_numbers (x->slot, y->slot);
}

/* Taken over the whole of a section that repeats. */
static bool
is_of_rota (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraSlot *of = &slots->plan->slots[slot];
  const TesseraSection *section = &slots->plan->sections[of->section];

  if (section->kind != TESSERA_SECTION_REPEATS)
    return false;
  if (slot - section->first_slot >= slots->n_asked[of->section])
    return true;
  return of->wraps ? of->died_next >= of->born
                   : of->born == section->begin && of->died >= section->end;
}

/* Links the slots of each rota in a ring. */
static void
link_rotas (TesseraSlots *slots, const Member *members, size_t n_members)
{
  size_t end;

  for (size_t i = 0; i < n_members; i = end)
    {
      for (end = i; end < n_members && compare_rotas (&members[i], &members[end]) == 0;
           end++)
        {
          slots->rotas[members[end].slot] = slots->n_rotas;
          slots->next_places[members[end].slot] =
              end + 1 < n_members ? members[end + 1].slot : TESSERA_NONE;
        }
      slots->next_places[members[end - 1].slot] = members[i].slot;
      slots->n_rotas++;
    }
}

TesseraStatus
tessera_slots_fill_rotas (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  Member *members = malloc ((plan->n_slots + 1) * sizeof *members);
  size_t n_members = 0;

  if (members == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      slots->rotas[i] = TESSERA_NONE;
      slots->next_places[i] = i;
      if (is_of_rota (slots, i))
        members[n_members++] =
            (Member){ .section = plan->slots[i].section,
                      .signature = tessera_slots_signature_of (slots, i),
                      .block = plan->slots[i].block,
                      .slot = i };
    }
  if (n_members > 0)
    qsort (members, n_members, sizeof *members, compare_members);
  link_rotas (slots, members, n_members);
  free (members);
  return TESSERA_OK;
}
