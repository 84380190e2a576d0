/* Tests of a study. SPDX-License-Identifier: Apache-2.0 */
#include "cli/study.h"

/* Plans for every length and the simulations that judge a plan are part of its seconds. */
static void
test_seconds (gconstpointer path)
{
  const CliCommon common = { 0 };
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  const TesseraLengthsOptions lengths = { 0 };
  TesseraError error = { 0 };
  CliStudy study;
  double packed_s, planned_s;

  g_assert_cmpint (cli_study_open (&study, path, &common, &error), ==, TESSERA_OK);
  g_assert_cmpint (cli_study_plan (&study, &options, &error), ==, TESSERA_OK);
  packed_s = study.plan_seconds;
  g_assert_cmpint (cli_study_laws (&study, &lengths, &error), ==, TESSERA_OK);
  planned_s = study.plan_seconds;
  g_assert_nonnull (study.lengths);
  g_assert_cmpfloat (packed_s, >, 0);
  g_assert_cmpfloat (planned_s, >, packed_s);
  cli_study_clear (&study);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  g_test_add_data_func ("/study/seconds", argv[1], test_seconds);
  return g_test_run ();
}
