/*
 * Plans for every length of steps that keep something now and then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/test-steps.h"
#include "planner/lengths.h"

#define LOSS_BYTES 1536 /* of what is kept in test steps */

/* What becomes of it. */
static TesseraStatus
plan (const TestSteps *made, TesseraError *error, TesseraLengths **out_lengths)
{
  const TesseraLengthsOptions options = { .pack = NULL };
  TestStudied of;
  TesseraStatus status;

  test_study (test_steps_trace (made), &of);
  status = tessera_lengths_plan (of.trace, of.blocks, of.structure, of.laws, &options,
                                 error, out_lengths);
  test_study_clear (&of);
  return status;
}

/* Slots of the loss, and how many of them have a place or are known to come without. */
static void
count_losses (const TesseraLengths *lengths, uint32_t *out_n_placed, uint32_t *out_n_kept)
{
  *out_n_placed = *out_n_kept = 0;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];
      uint64_t bytes;

      if (!tessera_size_law_evaluate (&lengths->laws[slot->law], &lengths->most,
                                      &bytes) ||
          bytes != LOSS_BYTES)
        continue;
      *out_n_placed += slot->place != TESSERA_PLACE_NONE;
      *out_n_kept += tessera_lengths_slot_is_kept (slot);
    }
}

/* A request whose block some steps keep, for good or into the next step, and others drop
 * is one, without a place, however many steps do which: another run's will be others. */
static void
test_habits (void)
{
  static const uint32_t keepers[] = { 0xff, 0x2d, 0x5f, 0x06, 0x41, 0xd2, 0x2d, 0x16 };

  for (size_t i = 0; i < G_N_ELEMENTS (keepers); i++)
    {
      const TestSteps made = { 8, 12, .keepers = keepers[i], .keeps_to_next = i > 5 };
      TesseraError error = { 0 };
      TesseraLengths *lengths;
      uint32_t n_placed, n_kept;

      g_assert_cmpint (plan (&made, &error, &lengths), ==, TESSERA_OK);
      g_assert_nonnull (lengths);
      count_losses (lengths, &n_placed, &n_kept);
      g_test_message ("%x: %u with a place, %u kept", keepers[i], n_placed, n_kept);
      g_assert_cmpuint (n_placed, ==, 0);
      g_assert_cmpuint (n_kept, ==, 1);
      tessera_lengths_free (lengths);
    }
}

/* One step's is no habit: as the optimizer's state it has a place. */
static void
test_once (void)
{
  const TestSteps made = { 8, 12, .keepers = 0x01 };
  TesseraError error = { 0 };
  TesseraLengths *lengths;
  uint32_t n_placed, n_kept;

  g_assert_cmpint (plan (&made, &error, &lengths), ==, TESSERA_OK);
  g_assert_nonnull (lengths);
  count_losses (lengths, &n_placed, &n_kept);
  g_assert_cmpuint (n_placed, >, 0);
  g_assert_cmpuint (n_kept, ==, 0);
  tessera_lengths_free (lengths);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths/habits", test_habits);
  g_test_add_func ("/planner/lengths/once", test_once);
  return g_test_run ();
}
