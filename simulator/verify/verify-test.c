/*
 * The replay on recordings of our own: what the policy did it must recognise, and every
 * change of the record it must notice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/db/trace-text.h"
#include "tests/simulator/made-trace.h"
#include "simulator/private.h"
#include "simulator/verify/private.h"

enum
{
  N_HISTORIES = 200,
  N_OPERATIONS = 500
};

static TesseraVerification
verify (const TesseraTrace *trace)
{
  TesseraVerification verification;

  OK (tessera_verify (trace, NULL, &verification));
  return verification;
}

static void
assert_exact (const TesseraTrace *trace)
{
  TesseraVerification verification = verify (trace);

  g_assert_cmpstr (verification.difference, ==, "");
  g_assert_true (tessera_verification_is_exact (&verification));
  g_assert_true (verification.has_history);
  g_assert_cmpuint (verification.addresses_right, ==, verification.addresses);
  g_assert_cmpuint (verification.segments_right, ==, verification.segments);
  g_assert_cmpuint (verification.ooms_right, ==, verification.ooms);
  g_assert_cmpuint (verification.final_right, ==, verification.final_blocks);
  tessera_verification_clear (&verification);
}

static void
test_own_recordings (void)
{
  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      TesseraTrace *trace = made_trace (seed, 0, N_OPERATIONS);

      g_test_message ("seed %u", seed);
      assert_exact (trace);
      tessera_trace_free (trace);
    }
}

/* A recording that was cut off says nothing of its end, so nothing of it is compared. */
static void
test_killed (void)
{
  TesseraTrace *trace = made_trace (1, 0, N_OPERATIONS);
  TesseraVerification verification;

  trace->end.n_segments = trace->end.n_blocks = 0;
  verification = verify (trace);
  g_assert_cmpuint (verification.first_difference, ==, trace->n_events);
  tessera_verification_clear (&verification);
  OK (tessera_trace_set_meta (trace, "format", TESSERA_FORMAT_RECORDED));
  assert_exact (trace);
  tessera_trace_free (trace);
}

static void
test_from_the_middle (void)
{
  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      TesseraTrace *trace = made_trace (seed, seed % 9 * 40, N_OPERATIONS);

      g_test_message ("seed %u", seed);
      assert_exact (trace);
      tessera_trace_free (trace);
    }
}

/* A remainder of exactly 1 MiB stays with its block. */
static void
test_threshold_of_split (void)
{
  TesseraRules altered = tessera_rules_pytorch;
  /* 11 MiB - 512 are left of the first */
  TesseraTrace *trace = test_trace_of (
      "segment_alloc B 20M; alloc B 9M+512; segment_alloc B+32M 12M; alloc B+32M 11M;"
      "end segment B 20M; end segment B+32M 12M; end block B 9M+512 9M+512;"
      "end block B+9M+512 0 11M-512 free; end block B+32M 11M 12M");
  TesseraVerification verification;

  assert_exact (trace);

  altered.large_remainder_bytes--;
  OK (tessera_verify_with_rules (trace, &altered, NULL, &verification));
  g_assert_false (tessera_verification_is_exact (&verification));
  g_assert_cmpuint (verification.first_difference, ==, trace->n_events);
  tessera_verification_clear (&verification);
  tessera_trace_free (trace);
}

/* A block older than the trace has a tail of 512 bytes that nothing tells but the request
 * that would have fitted behind it and got a segment of its own. */
static void
test_open_tail (void)
{
  TesseraTrace *trace =
      test_trace_of ("start segment B 20M; start block B 5M 5M open;"
                     "segment_alloc B+32M 16M; alloc B+32M 15M; free B 5M;"
                     "end segment B 20M; end segment B+32M 16M; end block B 0 20M free;"
                     "end block B+32M 15M 16M");
  TesseraVerification verification;

  assert_exact (trace);
  verification = verify (trace);
  g_assert_cmpuint (verification.start_block_bytes[0], ==, 5 * MIB + 512);
  g_assert_cmpuint (verification.block_bytes[1], ==, 16 * MIB);
  tessera_verification_clear (&verification);

  /* Where the importer is sure of the size, it is not doubted. */
  trace->start.blocks[0].tail_open = false;
  verification = verify (trace);
  g_assert_cmpuint (verification.first_difference, ==, 1);
  g_assert_cmpuint (verification.addresses_right, ==, 0);
  tessera_verification_clear (&verification);
  tessera_trace_free (trace);
}

static void
test_nothing_to_verify (void)
{
  TesseraTrace *trace = test_trace_of ("snapshot 0 0");
  TesseraVerification verification;

  verification = verify (trace);
  g_assert_false (verification.has_history);
  g_assert_true (tessera_verification_is_exact (&verification));
  tessera_verification_clear (&verification);
  test_tell (trace, "alloc B 512");
  trace->has_segments = false;
  verification = verify (trace);
  g_assert_false (verification.has_history);
  tessera_verification_clear (&verification);
  tessera_trace_free (trace);
}

/* A state at the start that can't be: named, not crashed on. */
static void
test_impossible_start (void)
{
  TesseraTrace *trace =
      test_trace_of ("start segment B 2M; start block B+4M 512 512; alloc B 512");
  TesseraVerification verification;

  verification = verify (trace);
  g_assert_false (tessera_verification_is_exact (&verification));
  g_assert_cmpuint (verification.addresses_right, ==, 0);
  tessera_verification_clear (&verification);
  tessera_trace_free (trace);
}

/* An entry that has an address (of an oom it is the memory free at the driver). */
static guint32
pick_placed (GRand *rand, const TesseraTrace *trace)
{
  guint32 i;

  do
    i = (guint32) g_rand_int_range (rand, 0, (gint32) trace->n_events);
  while (trace->events[i].action == TESSERA_OOM);
  return i;
}

/* One address, or one size of a segment, of one entry is changed: that entry or a later one
 * is named. */
static void
test_changed_entry (void)
{
  GRand *rand = g_rand_new_with_seed (20260103);

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      TesseraTrace *trace = made_trace (seed, seed % 9 * 40, N_OPERATIONS);
      guint32 i = pick_placed (rand, trace);
      TesseraEvent *event = &trace->events[i];
      TesseraVerification verification;

      g_test_message ("seed %u", seed);
      if (event->action >= TESSERA_SEGMENT_ALLOC &&
          event->action <= TESSERA_SEGMENT_UNMAP && g_rand_boolean (rand))
        event->size_bytes += 2 * MIB;
      else
        event->addr += (uint64_t) g_rand_int_range (rand, 1, 1 << 30) * 512;
      verification = verify (trace);
      g_assert_false (tessera_verification_is_exact (&verification));
      g_assert_cmpstr (verification.difference, !=, "");
      g_assert_cmpuint (verification.first_difference, >=, i);
      tessera_verification_clear (&verification);
      tessera_trace_free (trace);
    }
  g_rand_free (rand);
}

static void
change_block (GRand *rand, TesseraHeldBlock *block)
{
  switch (g_rand_int_range (rand, 0, 3))
    {
    case 0:
      block->addr += 512;
      break;
    case 1:
      block->block_bytes += 512;
      break;
    default:
      block->state = (uint8_t) ((block->state + g_rand_int_range (rand, 1, 3)) % 3);
      break;
    }
}

static void
test_changed_final_state (void)
{
  GRand *rand = g_rand_new_with_seed (20260104);

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      TesseraTrace *trace = made_trace (seed, 0, N_OPERATIONS);
      gint32 n_blocks = (gint32) trace->end.n_blocks;
      gint32 n_segments = (gint32) trace->end.n_segments;
      TesseraVerification verification;

      if (seed % 4 != 0)
        change_block (rand, &trace->end.blocks[g_rand_int_range (rand, 0, n_blocks)]);
      else
        trace->end.segments[g_rand_int_range (rand, 0, n_segments)].size_bytes += 512;
      verification = verify (trace);
      g_assert_false (tessera_verification_is_exact (&verification));
      g_assert_cmpuint (verification.first_difference, ==, trace->n_events);
      g_assert_true (g_str_has_prefix (verification.difference, "final state: "));
      g_assert_cmpuint (verification.addresses_right, ==, verification.addresses);
      tessera_verification_clear (&verification);
      tessera_trace_free (trace);
    }
  g_rand_free (rand);
}

/* Any of the numbers of a file may be anything. */
static void
spoil_event (GRand *rand, TesseraEvent *event)
{
  static const uint64_t extremes[] = {
    0, 1, 512, 2 * MIB, UINT64_MAX, UINT64_MAX - 511, (uint64_t) 1 << 63
  };
  uint64_t value = extremes[g_rand_int_range (rand, 0, G_N_ELEMENTS (extremes))];

  switch (g_rand_int_range (rand, 0, 5))
    {
    case 0:
      event->addr = value;
      break;
    case 1:
      event->size_bytes = value;
      break;
    case 2:
      event->action = (uint8_t) g_rand_int_range (rand, 0, 256);
      break;
    case 3:
      event->stream = (uint16_t) g_rand_int (rand);
      break;
    default:
      event->pool = (uint16_t) g_rand_int (rand);
      break;
    }
}

static void
spoil_held (GRand *rand, TesseraHeld *held)
{
  for (size_t i = 0; i < held->n_blocks; i++)
    if (g_rand_int_range (rand, 0, 20) == 0)
      held->blocks[i].block_bytes = (uint64_t) g_rand_int (rand) << 32;
  for (size_t i = 0; i < held->n_segments; i++)
    if (g_rand_int_range (rand, 0, 20) == 0)
      held->segments[i].addr = UINT64_MAX - g_rand_int (rand);
}

/* Nothing that a file can say breaks the replay; sanitizers watch. */
static void
test_hostile (void)
{
  GRand *rand = g_rand_new_with_seed (20260106);

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      TesseraTrace *trace = made_trace (seed, seed % 9 * 40, N_OPERATIONS);
      TesseraVerification verification;

      g_test_message ("seed %u", seed);
      for (gint32 n = g_rand_int_range (rand, 1, 8); n > 0; n--)
        spoil_event (
            rand, &trace->events[g_rand_int_range (rand, 0, (gint32) trace->n_events)]);
      if (seed % 4 == 0)
        spoil_held (rand, &trace->start);
      if (seed % 4 == 1)
        spoil_held (rand, &trace->end);
      verification = verify (trace);
      tessera_verification_clear (&verification);
      tessera_trace_free (trace);
    }
  g_rand_free (rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/verify/own-recordings", test_own_recordings);
  g_test_add_func ("/verify/killed", test_killed);
  g_test_add_func ("/verify/from-the-middle", test_from_the_middle);
  g_test_add_func ("/verify/threshold-of-split", test_threshold_of_split);
  g_test_add_func ("/verify/open-tail", test_open_tail);
  g_test_add_func ("/verify/nothing", test_nothing_to_verify);
  g_test_add_func ("/verify/impossible-start", test_impossible_start);
  g_test_add_func ("/verify/changed-entry", test_changed_entry);
  g_test_add_func ("/verify/changed-final-state", test_changed_final_state);
  g_test_add_func ("/verify/hostile", test_hostile);
  return g_test_run ();
}
