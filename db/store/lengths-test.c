/*
 * Plans for every length as rows: round trips, and rows that are not what they should be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "db/lengths.h"
#include "db/store.h"
#include "tests/db/test-place.h"
#include "tests/db/test-traces.h"

#define OK(call) g_assert_cmpint ((call), ==, TESSERA_OK)

#define SAME(field) g_assert_cmpuint (a->field, ==, b->field)
#define SAME_ALL(array, n)                                                               \
  g_assert_true (memcmp (a->array, b->array, (n) * sizeof *a->array) == 0)

static void
assert_same_law (const TesseraSizeLaw *a, const TesseraSizeLaw *b)
{
  SAME_ALL (numerators, TESSERA_N_TERMS);
  g_assert_cmpint (a->denominator, ==, b->denominator);
  SAME (cap_bytes);
  SAME (rounding);
  SAME (kind);
}

static void
assert_same_slot (const TesseraLengthsSlot *a, const TesseraLengthsSlot *b)
{
  SAME (law);
  SAME (died);
  SAME (phase);
  SAME (stream);
  SAME (pool);
  SAME (place);
  SAME (is_once);
  SAME (crosses);
  SAME (offset_bytes);
  SAME (spare_bytes);
  SAME (seen);
  SAME (from_tokens);
  SAME (to_tokens);
  SAME (is_over_cuts);
}

static void
assert_same_start (const TesseraStartSlot *a, const TesseraStartSlot *b)
{
  SAME (size_bytes);
  SAME (block_bytes);
  SAME (offset_bytes);
  SAME (died);
  SAME (phase);
  SAME (stream);
  SAME (pool);
  SAME (is_held);
  SAME (is_left);
}

static void
assert_same_order (const TesseraOrder *a, const TesseraOrder *b, uint32_t n_swept)
{
  SAME (from_tokens);
  SAME (is_first);
  SAME (n_low);
  SAME (n_edges);
  SAME_ALL (slots, n_swept);
  SAME_ALL (laws, n_swept);
  SAME_ALL (first_edge, n_swept + 1);
  SAME_ALL (below, a->n_edges);
}

static void
assert_equal (const TesseraLengths *a, const TesseraLengths *b)
{
  SAME (n_observed);
  SAME_ALL (observed, a->n_observed);
  SAME (n_steps);
  SAME (most.batch);
  SAME (most.length);
  SAME (has_batch);
  SAME (n_swept);
  SAME (fixed_bytes);
  SAME (start_bytes);
  SAME (alignment_bytes);
  SAME (n_early);
  g_assert_cmpstr (a->cut_phase, ==, b->cut_phase);
  SAME (n_strings);
  for (uint32_t i = 0; i < a->n_strings; i++)
    g_assert_cmpstr (a->strings[i], ==, b->strings[i]);
  SAME (n_laws);
  for (uint32_t i = 0; i < a->n_laws; i++)
    assert_same_law (&a->laws[i], &b->laws[i]);
  SAME (n_slots);
  for (uint32_t i = 0; i < a->n_slots; i++)
    assert_same_slot (&a->slots[i], &b->slots[i]);
  SAME (n_start);
  for (uint32_t i = 0; i < a->n_start; i++)
    assert_same_start (&a->start[i], &b->start[i]);
  SAME (n_orders);
  for (uint32_t i = 0; i < a->n_orders; i++)
    assert_same_order (&a->orders[i], &b->orders[i], a->n_swept);
}

static TesseraPlan *
plan_with_lengths (void)
{
  TesseraPlan *plan = test_plan_new (5, 21);

  plan->lengths = test_lengths_new ();
  return plan;
}

static void
test_round_trip (TestPlace *place, gconstpointer data)
{
  TesseraPlan *plan = plan_with_lengths (), *loaded;
  TesseraError error = { 0 };

  OK (tessera_plan_save (plan, place->path, &error));
  OK (tessera_plan_load (place->path, &error, &loaded));
  g_assert_nonnull (loaded->lengths);
  assert_equal (plan->lengths, loaded->lengths);
  test_plans_assert_equal (plan, loaded);
  tessera_plan_free (loaded);
  /* Without: none, and none of the file before. */
  tessera_lengths_free (plan->lengths);
  plan->lengths = NULL;
  OK (tessera_plan_save (plan, place->path, &error));
  OK (tessera_plan_load (place->path, &error, &loaded));
  g_assert_null (loaded->lengths);
  tessera_plan_free (loaded);
  tessera_plan_free (plan);
}

static const struct
{
  const char *sql, *pattern;
} wrong[] = {
  { "UPDATE length_plan SET most_length = 0", "*length_plan, row 0*" },
  { "UPDATE length_plan SET most_length = 9000000", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET alignment_bytes = 0", "*length_plan, row 0*" },
  { "UPDATE length_plan SET alignment_bytes = 7", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET n_early = 7", "*row 0 is out of range*" },
  { "UPDATE length_plan SET n_early = 2", "*slot 1 is out of range*" },
  { "UPDATE length_plan SET cut_phase = NULL", "*slot 5 is out of range*" },
  { "UPDATE length_slot SET is_over_cuts = 1 WHERE length_slot_index = 1",
    "*slot 1 is out of range*" },
  { "UPDATE length_plan SET fixed_bytes = 512", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET start_bytes = 512", "*slot of the start 0 is*" },
  { "INSERT INTO length_plan SELECT 1, most_batch, most_length,"
    " has_batch, n_steps, n_early, fixed_bytes, start_bytes, alignment_bytes, cut_phase"
    " FROM length_plan",
    "*length_plan, row 1, it repeats*" },
  { "DELETE FROM length_plan", "*length_step, row 0*" },
  { "UPDATE length_law SET denominator = 0", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_square = 9223372036854775807", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_one = -9223372036854775807 - 1", "*law 0 is out of*" },
  { "UPDATE length_law SET rounding = 0", "*law 0 is out of range*" },
  { "UPDATE length_law SET kind = 5", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_tokens = 1125899906842624", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET law = 3", "*length_slot, row 0, law is 3*" },
  { "UPDATE length_slot SET died = 0", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET died = 7", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET phase = 2", "*length_slot, row 0, phase is 2*" },
  { "UPDATE length_slot SET place = 3", "*length_slot, row 0, place is 3*" },
  { "UPDATE length_slot SET place = 2 WHERE length_slot_index = 1",
    "*orders do not fit*" },
  { "UPDATE length_slot SET offset_bytes = 13825 WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_slot SET offset_bytes = 9223372036854775296"
    " WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_slot SET spare_bytes = 14336 WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE start_slot SET died = 0", "*slot of the start 0 is*" },
  { "UPDATE start_slot SET block_bytes = 0", "*slot of the start 0 is*" },
  { "UPDATE start_slot SET offset_bytes = 1", "*slot of the start 0 is*" },
  { "DELETE FROM length_order WHERE length_order_index = 2", "*orders do not fit*" },
  { "UPDATE length_slot SET seen = 3", "*slot 0 is out of range*" },
  { "UPDATE length_order SET n_low = 3", "*order 0 is out of range*" },
  { "UPDATE length_order SET is_first = 1", "*order 0 is out of range*" },
  { "UPDATE length_order SET is_first = 1 WHERE length_order_index = 1",
    "*order 1 is out of range*" },
  { "UPDATE length_order SET from_tokens = 0", "*order 1 is out of range*" },
  { "UPDATE length_order SET from_tokens = from_tokens + 1",
    "*order 0 is out of range*" },
  { "DELETE FROM length_order; DELETE FROM length_order_slot; "
    "DELETE FROM length_order_edge",
    "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 1", "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 0", "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 6", "*length_order_slot, row 0, slot is 6*" },
  { "DELETE FROM length_order_slot WHERE length_order_slot_index = 5",
    "*orders do not fit*" },
  { "UPDATE length_order_edge SET below = above", "*orders do not fit*" },
  { "UPDATE length_order_edge SET below = 0", "*orders do not fit*" },
  { "UPDATE length_order_edge SET above = 9", "*orders do not fit*" },
  { "UPDATE length_order_edge SET above = 4294967294, below = 4294967293",
    "*orders do not fit*" },
};

static void
test_wrong_values (TestPlace *place, gconstpointer data)
{
  TesseraPlan *plan = plan_with_lengths ();
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  OK (tessera_plan_save (plan, place->path, NULL));
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      TesseraError error = { 0 };
      TesseraPlan *loaded = NULL;

      g_assert_true (g_file_set_contents (place->path, bytes, (gssize) n_bytes, NULL));
      test_execute (place->path, wrong[i].sql);
      g_test_message ("%s", wrong[i].sql);
      g_assert_cmpint (tessera_plan_load (place->path, &error, &loaded), ==,
                       TESSERA_BAD_INPUT);
      g_assert_null (loaded);
      if (!g_pattern_match_simple (wrong[i].pattern, error.text))
        g_error ("%s: expected: %s, found: %s", wrong[i].sql, wrong[i].pattern,
                 error.text);
    }
  tessera_plan_free (plan);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/store-lengths/" path, TestPlace, NULL, test_place_begin, test,           \
              test_place_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("round-trip", test_round_trip);
  ADD ("wrong-values", test_wrong_values);
  return g_test_run ();
}
