/*
 * Two layouts in turn: see check.h.
 *
 * A run takes the two layouts of a kind in turn, told by nothing but where the step
 * before lies. So both have to ask for the same.
 *
 * Of kinds that alternate a slot may say that a step of its own layout finds no block of
 * it. That is so if every step that changes the turn sees all of them end: a step changes
 * it that makes any such block itself. Then none is alive when the first layout's turn
 * comes that the first left, and after a step that makes none nothing has changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>

/* Slots one behind the other, and what is asked for between them. */
typedef struct
{
  uint32_t section;
  uint32_t first_slot, n_slots;
  size_t first_unplanned, n_unplanned;
} Part;

static Part
make_part (const TesseraPlan *plan, uint32_t index)
{
  const TesseraSection *section = &plan->sections[index];
  Part part = { index, section->first_slot, section->n_slots, 0, 0 };
  /* Spares stand behind those that are asked for. */
  while (part.n_slots > 0 &&
         plan->slots[part.first_slot + part.n_slots - 1].ordinal == TESSERA_NONE)
    part.n_slots--;
  while (part.first_unplanned < plan->n_unplanned &&
         plan->unplanned[part.first_unplanned].section < index)
    part.first_unplanned++;
  while (part.first_unplanned + part.n_unplanned < plan->n_unplanned &&
         plan->unplanned[part.first_unplanned + part.n_unplanned].section == index)
    part.n_unplanned++;
  return part;
}

/* Both ask for the same. */
static TesseraStatus
check_alike (const TesseraPlan *plan, Part a, Part b, TesseraError *error)
{
  if (a.n_slots != b.n_slots)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sections: expected as many slots in both steps that are taken "
                         "in turn, found %" PRIu32 " and %" PRIu32,
                         a.n_slots, b.n_slots);
  for (uint32_t i = 0; i < a.n_slots; i++)
    {
      const TesseraSlot *x = &plan->slots[a.first_slot + i];
      const TesseraSlot *y = &plan->slots[b.first_slot + i];
      TesseraSlotText text;
      if (x->block_bytes == y->block_bytes && x->stream == y->stream &&
          x->pool == y->pool)
        continue;
      tessera_check_describe (plan, b.first_slot + i, &text);
      return tessera_fail (error, TESSERA_REFUSED,
                           "sections: expected the second of two steps that are taken in "
                           "turn to ask for %" PRIu64
                           " bytes as the first does, found %s",
                           x->block_bytes, text.text);
    }
  bool is_alike = a.n_unplanned == b.n_unplanned;
  for (size_t i = 0; i < a.n_unplanned && is_alike; i++)
    {
      const TesseraUnplanned *x = &plan->unplanned[a.first_unplanned + i];
      const TesseraUnplanned *y = &plan->unplanned[b.first_unplanned + i];
      is_alike = y->before - b.first_slot == x->before - a.first_slot &&
                 x->block_bytes == y->block_bytes && x->stream == y->stream &&
                 x->pool == y->pool;
    }
  if (is_alike)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "sections: expected both of two steps that are taken in turn to "
                       "leave out the same requests, found others in section %" PRIu32,
                       b.section);
}

/* The slot's block is never there when a step of its own layout begins. */
static bool
is_absent (const TesseraPlan *plan, uint32_t slot)
{
  const TesseraSlot *of = &plan->slots[slot];
  return of->wraps && of->died_next == plan->sections[of->section].begin;
}

static bool
changes_turn (const TesseraPlan *plan, const TesseraSection *section)
{
  for (uint32_t i = 0; i < section->n_slots; i++)
    if (is_absent (plan, section->first_slot + i))
      return true;
  return false;
}

/* Every step that changes the turn sees all end that the other layout left. */
static TesseraStatus
check_turns (const TesseraPlan *plan, TesseraError *error)
{
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      if (!changes_turn (plan, section))
        continue;
      for (uint32_t i = 0; i < plan->n_slots; i++)
        {
          uint8_t alternate = plan->sections[plan->slots[i].section].alternate;
          TesseraSlotText text;
          if (!is_absent (plan, i) || alternate == section->alternate ||
              tessera_check_crossed (plan, i, s) < section->end)
            continue;
          tessera_check_describe (plan, i, &text);
          return tessera_fail (error, TESSERA_REFUSED,
                               "sections: expected all that the other layout left to end "
                               "in section %" PRIu32 ", which changes the turn, found %s",
                               s, text.text);
        }
    }
  return TESSERA_OK;
}

/* First layouts, then as many second ones in the same order, and no other kinds. */
TesseraStatus
tessera_check_layouts (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  uint32_t first = 0, n = 0;
  uint32_t n_repeats = (uint32_t) (check->kinds.end - check->kinds.first);
  TesseraStatus status = TESSERA_OK;
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      uint8_t alternate = plan->sections[s].alternate;
      if (alternate == TESSERA_ALTERNATE_NOT)
        continue;
      first = n == 0 ? s : first;
      n++;
      if (plan->sections[s].kind == TESSERA_SECTION_REPEATS &&
          (alternate == TESSERA_ALTERNATE_FIRST) == (s - first < n_repeats / 2))
        continue;
      return tessera_fail (error, TESSERA_REFUSED,
                           "sections: expected kinds of step in their first layouts and "
                           "then in their second ones, found section %" PRIu32,
                           s);
    }
  if (n > 0 && (n != n_repeats || n % 2 != 0))
    return tessera_fail (error, TESSERA_REFUSED,
                         "sections: expected two layouts of each of %" PRIu32
                         " sections that repeat or of none, found %" PRIu32 " in all",
                         n_repeats, n);
  for (uint32_t k = 0; k < n / 2 && status == TESSERA_OK; k++)
    status = check_alike (plan, make_part (plan, first + k),
                          make_part (plan, first + n / 2 + k), error);
  return status == TESSERA_OK && n > 0 ? check_turns (plan, error) : status;
}
