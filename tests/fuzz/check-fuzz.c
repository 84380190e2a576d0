/*
 * Fuzz target: the checker, with plans that nobody made (follow/plan.h) and of which some
 * numbers are anything. It never fails but with a law and a sentence, and what it accepts
 * is right by definition: position by position, address by address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include <glib.h>

#include "allocator/follow/lengths/instance.h"
#include "planner/check/test-plans.h"
#include "tests/fuzz/follow/plan.h"
#include "tests/fuzz/fuzz.h"

enum
{
  MOST_CHANGES = 6,
  MOST_POSITIONS = 1000, /* that definitions can be looked at by */
  N_SAMPLED = 4          /* lengths */
};

/* Any number, small ones mostly. */
static uint32_t
any_number (Bytes *bytes)
{
  uint32_t what = bytes_take (bytes), number = bytes_take (bytes);

  return what < 200 ? number : what < 240 ? number << 24 : UINT32_MAX - number;
}

static void
change_slot (TesseraSlot *slot, Bytes *bytes)
{
  uint32_t *const numbers[] = { &slot->born,    &slot->died,  &slot->died_next,
                                &slot->section, &slot->phase, &slot->ordinal };
  uint32_t which = bytes_below (bytes, 12);

  if (which < G_N_ELEMENTS (numbers))
    *numbers[which] = any_number (bytes);
  else if (which == 6)
    slot->offset_bytes = (uint64_t) any_number (bytes) << (any_number (bytes) % 40);
  else if (which == 7)
    slot->block_bytes = (uint64_t) any_number (bytes) << (any_number (bytes) % 40);
  else if (which == 8)
    slot->stream = (uint16_t) any_number (bytes);
  else if (which == 9)
    slot->pool = (uint16_t) any_number (bytes);
  else
    slot->wraps = (uint8_t) bytes_below (bytes, 2);
}

static void
change_section (TesseraSection *section, Bytes *bytes)
{
  uint32_t *const numbers[] = { &section->begin, &section->end, &section->first_slot,
                                &section->n_slots };

  *numbers[bytes_below (bytes, G_N_ELEMENTS (numbers))] = any_number (bytes);
}

/* What the plan says besides; what it is full of, it has. */
static void
change_plan (TesseraPlan *plan, Bytes *bytes)
{
  switch (bytes_below (bytes, 7))
    {
    case 0:
      plan->n_positions = any_number (bytes);
      break;
    case 1:
      plan->n_streams = any_number (bytes);
      break;
    case 2:
      plan->alignment_bytes = any_number (bytes);
      break;
    case 3:
      plan->height_bytes = (uint64_t) any_number (bytes) << (any_number (bytes) % 40);
      break;
    case 4:
      change_section (&plan->sections[bytes_below (bytes, (uint32_t) plan->n_sections)],
                      bytes);
      break;
    default:
      if (plan->n_slots > 0)
        change_slot (&plan->slots[bytes_below (bytes, (uint32_t) plan->n_slots)], bytes);
    }
}

static guint
count_kinds (const TesseraPlan *plan)
{
  guint n = 0;

  for (size_t i = 0; i < plan->n_sections; i++)
    n += plan->sections[i].kind == TESSERA_SECTION_REPEATS;
  return n;
}

static void
judge (const TesseraPlan *plan)
{
  TesseraError error = { 0 };
  TesseraLaw law;
  TesseraStatus status = tessera_check_plan (plan, NULL, &law, &error);

  fuzz_check (status, &error);
  g_assert_true (status == TESSERA_OK || status == TESSERA_REFUSED);
  g_assert_cmpint (status == TESSERA_OK, ==, law == TESSERA_LAW_NONE);
  if (status != TESSERA_OK || count_kinds (plan) > 1 ||
      plan->n_positions > MOST_POSITIONS)
    return;
  g_assert_false (check_oracle_overlap (plan));
  g_assert_false (check_oracle_rotations (plan));
  g_assert_false (check_oracle_streams (plan));
}

static void
judge_plan (Bytes *bytes)
{
  g_autoptr (TesseraPlan) plan = fuzz_plan_new (bytes);
  uint32_t n_changes = bytes_below (bytes, MOST_CHANGES);

  if (plan->n_slots > 0)
    check_seal (plan);
  for (uint32_t i = 0; i < n_changes; i++)
    change_plan (plan, bytes);
  if (bytes_take (bytes) < 128)
    plan->slot_digest = tessera_plan_digest (plan);
  judge (plan);
}

/* What is accepted is right at any length that it is for. */
static void
judge_lengths (Bytes *bytes)
{
  static const TesseraInstanceOptions ways[] = {
    { .shares_once = true, .is_first = true }, { .is_first = true }, { 0 }
  };
  TesseraLengths *lengths = fuzz_lengths_new (bytes);
  TesseraError error = { 0 };
  TesseraLaw law;
  TesseraStatus status = tessera_check_lengths (lengths, &law, &error);

  fuzz_check (status, &error);
  for (int i = 0; i < N_SAMPLED && status == TESSERA_OK; i++)
    {
      const TesseraParameters at = {
        .batch = 1 + bytes_below (bytes, (uint32_t) lengths->most.batch),
        .length = 1 + bytes_below (bytes, (uint32_t) lengths->most.length),
      };
      g_autoptr (TesseraPlan) plan = NULL;

      if (tessera_instance_of_step (lengths, &at, &ways[i % 3], &plan) != TESSERA_OK)
        continue;
      OK (tessera_check_plan (plan, NULL, &law, NULL));
    }
  tessera_lengths_free (lengths);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t n_bytes)
{
  Bytes bytes = { data, n_bytes };

  if (bytes_take (&bytes) % 4 == 0)
    judge_lengths (&bytes);
  else
    judge_plan (&bytes);
  return 0;
}
