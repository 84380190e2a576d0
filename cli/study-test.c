/* Tests of a study. SPDX-License-Identifier: Apache-2.0 */
#include "cli/study.h"

/* Plans for every length and the simulations that judge a plan are part of its seconds. */
static void
test_seconds (gconstpointer path)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  CliStudy study;

  cli_study_open (&study, path);
  cli_study_plan (&study, &options);
  double packed_s = study.plan_seconds;
  cli_study_as_run (&study, (TesseraParameters){ 0 });
  double planned_s = study.plan_seconds;
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
