/*
 * The replay on recordings of our own: what the policy did it must recognise, and every
 * change of the record it must notice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/made-trace.h"
#include "simulator/verify-internal.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_HISTORIES = 200,
  N_OPERATIONS = 500
};

static TesseraVerification
verify (const TesseraTrace *trace)
{
  TesseraVerification verification;

  g_assert_cmpint (tessera_verify (trace, NULL, &verification), ==, TESSERA_OK);
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/verify/own-recordings", test_own_recordings);
  g_test_add_func ("/verify/from-the-middle", test_from_the_middle);
  return g_test_run ();
}
