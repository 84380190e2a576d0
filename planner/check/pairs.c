/*
 * Pairs of steps: see check.h.
 *
 * A run takes the halves of such a section in turn, told by nothing but where the step
 * before lies. So both halves have to ask for the same. When their blocks end is as in
 * any section that repeats: the sweep looks at both halves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>

/* Those that are asked for: spares stand behind them. */
static uint32_t
n_asked (const TesseraPlan *plan, const TesseraSection *section)
{
  uint32_t n = section->n_slots;
  while (n > 0 && plan->slots[section->first_slot + n - 1].ordinal == TESSERA_NONE)
    n--;
  return n;
}

static TesseraStatus
check_slots (const TesseraPlan *plan, const TesseraSection *section, TesseraError *error)
{
  uint32_t n = n_asked (plan, section);
  if (n % 2 != 0)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sections: expected a pair of steps with as many slots each, "
                         "found %" PRIu32 " in both",
                         n);
  for (uint32_t i = 0; i < n / 2; i++)
    {
      const TesseraSlot *a = &plan->slots[section->first_slot + i];
      const TesseraSlot *b = a + n / 2;
      if (a->block_bytes != b->block_bytes || a->stream != b->stream ||
          a->pool != b->pool)
        {
          TesseraSlotText text;
          tessera_check_describe (plan, section->first_slot + n / 2 + i, &text);
          return tessera_fail (error, TESSERA_REFUSED,
                               "sections: expected the second step of a pair to ask for "
                               "%" PRIu64 " bytes as the first does, found %s",
                               a->block_bytes, text.text);
        }
    }
  return TESSERA_OK;
}

static bool
is_alike (const TesseraUnplanned *a, const TesseraUnplanned *b, uint32_t half_slots)
{
  return b->before == a->before + half_slots && a->block_bytes == b->block_bytes &&
         a->stream == b->stream && a->pool == b->pool;
}

static TesseraStatus
check_without_slots (const TesseraPlan *plan, uint32_t index, TesseraError *error)
{
  uint32_t half_slots = n_asked (plan, &plan->sections[index]) / 2;
  size_t first = 0, n = 0;
  while (first < plan->n_unplanned && plan->unplanned[first].section < index)
    first++;
  while (first + n < plan->n_unplanned && plan->unplanned[first + n].section == index)
    n++;
  for (size_t i = first; i < first + n / 2 && n % 2 == 0; i++)
    if (!is_alike (&plan->unplanned[i], &plan->unplanned[i + n / 2], half_slots))
      n++;
  if (n % 2 == 0)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "sections: expected both steps of a pair to leave out the same "
                       "requests, found others in section %" PRIu32,
                       index);
}

TesseraStatus
tessera_check_pairs (const TesseraPlan *plan, TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;
  uint32_t n_repeats = 0, n_pairs = 0;
  for (uint32_t s = 0; s < plan->n_sections && status == TESSERA_OK; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      n_repeats += section->kind == TESSERA_SECTION_REPEATS;
      if (!section->is_paired)
        continue;
      n_pairs++;
      if (section->kind != TESSERA_SECTION_REPEATS)
        return tessera_fail (
            error, TESSERA_REFUSED,
            "sections: expected a pair of steps to repeat, found section "
            "%" PRIu32,
            s);
      status = check_slots (plan, section, error);
      if (status == TESSERA_OK)
        status = check_without_slots (plan, s, error);
    }
  if (status == TESSERA_OK && n_pairs > 0 && n_repeats > 1)
    return tessera_fail (
        error, TESSERA_REFUSED,
        "sections: expected pairs of steps in a plan of one kind of step, "
        "found %" PRIu32 " kinds",
        n_repeats);
  return status;
}
