/*
 * Plans for every length of random programs, from fixed seeds: lengths and batches with
 * laws (constant, affine, quadratic, rounded, capped), sizes without one, requests that
 * some steps leave out, several streams and kinds. What the planner makes of them is
 * evaluated at each observed and ten unseen parameters: each layout passes the checker,
 * and overlaps nowhere pair by pair. Followed on its own trace and by another run of the
 * program, with other lengths, nothing ever overlaps. 10,000 with TESSERA_TEST_LONG, or
 * what TESSERA_PROOF_INSTANCES says; TESSERA_PROOF_SEED begins at another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/lengths.h"
#include "planner/check.h"
#include "planner/lengths.h"
#include "tests/proof/instance.h"
#include "tests/ok.h"

enum
{
  N_SHORT = 80,
  N_UNSEEN = 10
};

/* Of the mean of all heights. */
#define MOST_OF_BOUND 1.05

/* Of a run of other lengths, all of which is planned. What is above 1 is steps beyond
 * what the plan is for, in pages of the pool. */
#define MOST_OF_EXPANDABLE 1.05

typedef struct
{
  guint32 seed; /* at hand */
  guint n_plans, n_without, n_refused, n_layouts;
  guint64 n_own, n_own_misses, n_other, n_other_misses;
  guint n_planned;               /* programs all of which has slots */
  guint64 n_sure, n_sure_misses; /* of their runs */
  guint n_too_long;              /* runs with a step that is not planned */
  guint n_compared;              /* with what expandable segments reserve */
  double sum, worst;             /* of that */
  double sum_above;              /* height over bound */
  guint n_above;
} Totals;

/* The step that makes what one step makes; the same with that kept free; the others. */
static const TesseraInstanceOptions ways[] = { { .shares_once = true, .is_first = true },
                                               { .is_first = true },
                                               { 0 } };

static void
assert_lies_apart (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < i; k++)
      {
        const TesseraSlot *a = &plan->slots[i], *b = &plan->slots[k];

        if (a->born < b->died && b->born < a->died)
          g_assert_true (a->offset_bytes >= b->offset_bytes + b->block_bytes ||
                         b->offset_bytes >= a->offset_bytes + a->block_bytes);
      }
}

static void
judge_at (const TesseraLengths *lengths, const TesseraParameters *at, Totals *totals)
{
  for (size_t i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (TesseraPlan) step = NULL;
      TesseraLaw law;
      TesseraError error = { 0 };
      TesseraStatus status = tessera_instance_of_step (lengths, at, &ways[i], &step);

      if (status == TESSERA_INVALID) /* a law gives nothing there */
        continue;
      OK (status);
      if (tessera_check_plan (step, NULL, &law, &error) != TESSERA_OK)
        g_error ("seed %u: %s", totals->seed, error.text);
      assert_lies_apart (step);
      totals->n_layouts++;
    }
}

static void
judge_need (const Instance *instance,
            const TesseraLengths *lengths,
            const TesseraParameters *at,
            Totals *totals)
{
  uint64_t load =
      tessera_blocks_bound (instance->of.blocks, 0, instance->of.blocks->n_events, NULL);
  TesseraLengthsNeed need;

  if (!tessera_lengths_measure (lengths, at, &need))
    return;
  g_assert_cmpuint (need.height_bytes, >=, need.bound_bytes);
  g_assert_cmpuint (need.height_bytes, <=, load + load / 4);
  totals->n_above++;
  totals->sum_above += (double) need.height_bytes / (double) need.bound_bytes;
}

static void
judge_layouts (Instance *instance, const TesseraLengths *lengths, Totals *totals)
{
  for (uint32_t i = 0; i < lengths->n_observed; i++)
    {
      judge_at (lengths, &lengths->observed[i], totals);
      judge_need (instance, lengths, &lengths->observed[i], totals);
    }
  for (uint32_t i = 0; i < N_UNSEEN; i++)
    {
      const TesseraParameters unseen = {
        .batch = lengths->has_batch ? 1 + instance_pick (instance->random, 6) : 1,
        .length = 1 + instance_pick (instance->random, (guint) lengths->most.length * 2)
      };

      judge_at (lengths, &unseen, totals);
    }
}

/* Whether all of it has slots, or is known to be kept: one stream, one kind of step, and
 * each request follows from length and batch. */
static gboolean
is_planned (const Instance *instance)
{
  const MadeOptions *made = &instance->made;

  return made->n_streams == 1 && instance->program.n_kinds == 1 && !made->has_noise &&
         !made->leaves_out && !made->has_batch;
}

/* Whether no step is so long that a run plans none for it
 * (allocator/follow/lengths/lengths.h): such a one takes what is free in the pool, and
 * the rest beside it. */
static gboolean
are_steps_planned (const TesseraLengths *lengths, const Case *run)
{
  uint64_t height_bytes;

  OK (tessera_lengths_height (lengths, &height_bytes));
  return tessera_blocks_bound (run->blocks, 0, run->blocks->n_events, NULL) <=
         height_bytes + height_bytes / 4;
}

/* A step that is longer than all that were seen takes more than a quarter more sooner,
 * where what does not grow was left to others. */
static gboolean
has_cap (const Instance *instance)
{
  for (guint i = 0; i < instance->n_edits; i++)
    if (instance->edits[i].kind == TESSERA_EDIT_CAP)
      return TRUE;
  return FALSE;
}

static void
add_sure (const TesseraLayout *layout, Totals *totals)
{
  totals->n_sure += layout->n_hits;
  totals->n_sure_misses += layout->n_misses - layout->n_planned_misses;
}

static void
judge_runs (Instance *instance, const TesseraPlan *plan, Totals *totals)
{
  g_autoptr (TesseraLayout) own = instance_follow (&instance->of, plan, true);
  g_auto (Case) other = instance_other_run (instance, 12);
  g_autoptr (TesseraLayout) layout = instance_follow (&other, plan, true);

  totals->n_own += own->n_hits;
  totals->n_own_misses += own->n_misses;
  totals->n_other += layout->n_hits;
  totals->n_other_misses += layout->n_misses;
  if (is_planned (instance))
    {
      totals->n_planned++;
      add_sure (own, totals);
      if (!has_cap (instance))
        add_sure (layout, totals);
    }
  if (is_planned (instance) && instance->made.scale > 1 && instance->n_edits == 0 &&
      !are_steps_planned (plan->lengths, &other))
    totals->n_too_long++;
  else if (is_planned (instance) && instance->made.scale > 1 && instance->n_edits == 0)
    {
      double ratio = instance_of_expandable (&other, layout->peak_reserved_bytes);

      g_assert_cmpfloat (ratio, <=, MOST_OF_EXPANDABLE);
      totals->n_compared++;
      totals->sum += ratio;
      totals->worst = MAX (totals->worst, ratio);
    }
}

static void
prove (guint32 seed, InstanceKind kind, InstanceEdits edits, Totals *totals)
{
  Instance instance;
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraError error = { 0 };
  TesseraLengthsOptions options = { .work_budget = 512 };

  totals->seed = seed;
  instance_init (&instance, seed, kind);
  instance_draw_edits (&instance, edits);
  options.edits = instance.edits;
  options.n_edits = instance.n_edits;
  TesseraLaws *laws =
      tessera_laws_new (instance.of.trace, instance.of.blocks, instance.of.structure);
  TesseraStatus status =
      tessera_plan_trace (instance.of.trace, instance.of.blocks, instance.of.structure,
                          &instance.options, &error, &plan);
  if (status == TESSERA_REFUSED && edits != INSTANCE_NO_EDITS) /* two that meet */
    {
      tessera_laws_free (laws);
      instance_clear (&instance);
      return;
    }
  OK (status);
  status =
      tessera_lengths_plan (instance.of.trace, instance.of.blocks, instance.of.structure,
                            laws, &options, &error, &plan->lengths);
  if (status != TESSERA_INVALID && status != TESSERA_REFUSED)
    OK (status);
  if (status == TESSERA_REFUSED && edits != INSTANCE_NO_EDITS &&
      !g_str_has_prefix (error.text, "sizes vary"))
    g_assert_true (g_str_has_prefix (error.text, "the edit \""));
  totals->n_refused += status != TESSERA_OK;
  totals->n_without += status == TESSERA_OK && plan->lengths == NULL;
  if (plan->lengths)
    {
      totals->n_plans++;
      judge_layouts (&instance, plan->lengths, totals);
      judge_runs (&instance, plan, totals);
    }
  tessera_laws_free (laws);
  instance_clear (&instance);
}

static void
prove_all (InstanceKind kind, InstanceEdits edits, guint n)
{
  guint32 first = instance_first_seed ();
  Totals totals = { 0 };

  for (guint32 seed = first; seed < first + n; seed++)
    prove (seed, kind, edits, &totals);
  g_test_message ("%u plans for every length, %u programs without laws, %u refused; %u "
                  "layouts; height %.4f of the bound",
                  totals.n_plans, totals.n_without, totals.n_refused, totals.n_layouts,
                  totals.sum_above / MAX (totals.n_above, 1));
  g_test_message ("own runs: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
                  " misses; other runs %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                  totals.n_own, totals.n_own_misses, totals.n_other,
                  totals.n_other_misses);
  g_test_message ("%u programs all of which has slots: %" G_GUINT64_FORMAT
                  " hits, %" G_GUINT64_FORMAT " misses; %u other runs reserve %.3f of "
                  "what expandable segments do, %.3f at most; %u have steps too long",
                  totals.n_planned, totals.n_sure, totals.n_sure_misses,
                  totals.n_compared, totals.sum / MAX (totals.n_compared, 1),
                  totals.worst, totals.n_too_long);
  g_assert_cmpuint (totals.n_sure_misses * 50, <=, totals.n_sure);
  g_assert_cmpfloat (totals.sum, <=, totals.n_compared);
  if (edits != INSTANCE_NO_EDITS ||
      n < N_SHORT) /* what moves lies above pins; of few it says
                                            little */
    return;
  g_assert_cmpfloat (totals.sum_above, <=, MOST_OF_BOUND * totals.n_above);
}

static void
test_lengths (void)
{
  prove_all (INSTANCE_VARIES, INSTANCE_NO_EDITS, instance_number (N_SHORT));
}

static void
test_lengths_with_pins (void)
{
  prove_all (INSTANCE_VARIES, INSTANCE_PINS, instance_number (N_SHORT / 8));
}

static void
test_lengths_with_edits (void)
{
  prove_all (INSTANCE_VARIES, INSTANCE_SMALL_EDITS, instance_number (N_SHORT / 4));
}

static void
test_lengths_that_keep (void)
{
  prove_all (INSTANCE_VARIES_AND_KEEPS, INSTANCE_NO_EDITS, instance_number (4 * N_SHORT));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/proof/lengths", test_lengths);
  g_test_add_func ("/proof/lengths-with-pins", test_lengths_with_pins);
  g_test_add_func ("/proof/lengths-with-edits", test_lengths_with_edits);
  g_test_add_func ("/proof/lengths-that-keep", test_lengths_that_keep);
  return g_test_run ();
}
