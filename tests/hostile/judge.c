/*
 * What hostile.py cannot do by itself: makes the traces whose files are changed, and
 * follows plans that were changed where the checker accepts them.
 *
 * judge make FOLDER             writes NAME.tsr for each base, and other runs
 * NAME-other.tsr judge follow PLAN TRACE...    gives it the slot_digest that its places
 * have and checks it; follows an accepted one over each trace, by length too; no two
 * blocks alive together may overlap
 *
 * What a file is at fault for is one sentence and status 1; an overlap aborts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <sqlite3.h>
#include <stdio.h>

#include "db/store.h"
#include "planner/check.h"
#include "planner/fold/test-experts.h"
#include "planner/lengths/test-steps.h"
#include "tests/simulator/made-case.h"
#include "tests/simulator/made-program.h"
#include "tests/simulator/made-trace.h"

/* ---- making ---- */

static void
save (TesseraTrace *trace, const char *folder, const char *name)
{
  g_autofree char *path = g_strdup_printf ("%s/%s.tsr", folder, name);

  WORKS (error, tessera_trace_save (trace, path, NULL, &error));
  tessera_trace_free (trace);
}

/* The same program twice, with other draws. */
static void
save_programs (const char *folder, const char *name, guint32 seed, MadeOptions made)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  MadeProgram program = made_program (random, &made);
  g_autofree char *other = g_strconcat (name, "-other", NULL);

  for (int run = 0; run < 2; run++)
    {
      MadeUnit units[MADE_MAX_UNITS];
      guint counts[MADE_MAX_KINDS] = { 0 };

      made_units (random, &program, 14, units, counts);
      save (made_run (random, &program, units, 16), folder, run ? other : name);
    }
}

static void
save_varying (const char *folder)
{
  for (uint32_t run = 0; run < 2; run++)
    {
      const TestSteps steps = { 8,
                                6,
                                true,
                                true,
                                true,
                                .longer = 97 * run,
                                .drops_late = true,
                                .kept_bytes = 4 << 10 };
      const TestParts parts = {
        .n_steps = 6, .n_micro = 3, .n_layers = 4, .seed = 1 + run, .drops_late = true
      };

      save (test_steps_trace (&steps), folder, run ? "lengths-other" : "lengths");
      save (test_parts_trace (&parts), folder, run ? "parts-other" : "parts");
    }
}

/* Recordings that begin late, with blocks and segments already there. */
static void
save_late (const char *folder)
{
  bool is_done[2] = { false, false };

  for (guint32 seed = 1; !is_done[0] || !is_done[1]; seed++)
    {
      TesseraTrace *trace = made_trace (seed, 60, 200);
      bool is_expandable = trace->settings.is_expandable;

      if (is_done[is_expandable] || trace->start.n_blocks < 3 ||
          trace->start.n_segments < 3)
        {
          tessera_trace_free (trace);
          continue;
        }
      save (trace, folder, is_expandable ? "late-expandable" : "late-native");
      is_done[is_expandable] = true;
    }
}

static int
make (const char *folder)
{
  save_varying (folder);
  save_late (folder);
  save (test_experts_new (1, FALSE, 4, 40), folder, "experts");
  save (test_experts_new (2, FALSE, 5, 40), folder, "experts-other");
  save_programs (folder, "kinds", 3, (MadeOptions){ .n_kinds = 3, .has_phases = TRUE });
  return 0;
}

/* ---- judging ---- */

static int
refuse (const TesseraError *error)
{
  fprintf (stderr, "judge: %s\n", error->text);
  return 1;
}

/* Writes the digest that its places have, whatever the file said: what else is wrong is
 * then for the other laws to find. */
static void
seal (const char *path, TesseraPlan *plan)
{
  g_autofree char *sql = NULL;
  sqlite3 *db = NULL;

  plan->slot_digest = tessera_plan_digest (plan);
  sql = g_strdup_printf ("UPDATE plan SET slot_digest = %" G_GINT64_FORMAT,
                         (gint64) plan->slot_digest);
  if (sqlite3_open (path, &db) != SQLITE_OK ||
      sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
    g_error ("%s: %s", path, sqlite3_errmsg (db));
  sqlite3_close (db);
}

static int
follow_trace (const TesseraPlan *plan, const char *path)
{
  TesseraError error = { 0 };
  TesseraTrace *trace;
  int result = 0;

  if (tessera_trace_load (path, TESSERA_NONE, NULL, &error, &trace) != TESSERA_OK)
    return refuse (&error);
  g_auto (Case) c = case_new (trace);
  for (int by_length = 0; by_length <= (plan->lengths != NULL); by_length++)
    {
      const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN,
                                               .plan = plan,
                                               .by_length = by_length };
      g_autoptr (TesseraLayout) layout = NULL;

      if (tessera_simulate (c.trace, c.blocks, c.structure, &options, &error, &layout) ==
          TESSERA_OK)
        case_assert_no_overlap (c.blocks, layout);
      else
        result = refuse (&error);
    }
  return result;
}

static int
follow (int n_paths, char **paths)
{
  TesseraError error = { 0 };
  TesseraLaw law = TESSERA_LAW_NONE;
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraStatus status = tessera_plan_load (paths[0], &error, &plan);
  int result = 0;

  if (status == TESSERA_OK && plan->slot_digest != tessera_plan_digest (plan))
    seal (paths[0], plan);
  if (status == TESSERA_OK)
    status = tessera_check_plan (plan, NULL, &law, &error);
  if (status == TESSERA_OK && plan->lengths != NULL)
    status = tessera_check_lengths (plan->lengths, &law, &error);
  if (status != TESSERA_OK)
    result = refuse (&error);
  for (int i = 1; i < n_paths && result == 0; i++)
    result = follow_trace (plan, paths[i]);
  return result;
}

int
main (int argc, char **argv)
{
  if (argc == 3 && g_str_equal (argv[1], "make"))
    return make (argv[2]);
  if (argc > 3 && g_str_equal (argv[1], "follow"))
    return follow (argc - 2, argv + 2);
  fprintf (stderr, "usage: judge make|follow PATH...\n");
  return 2;
}
