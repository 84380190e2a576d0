/*
 * Tests of following real plans: on their own trace, on later steps, and on runs that do
 * not quite do what was planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <stdlib.h>

#include "tests/ok.h"
#include "tests/simulator/made-case.h"

#define SEED 20260615
/* Where the blocks lie that a changed run has in addition; no real block does. */
#define EXTRA_ADDR ((uint64_t) 1 << 62)

static TesseraPlan *
make_plan (const Case *c, int64_t first_step, int64_t last_step)
{
  const TesseraPlanOptions options = { .first_step = first_step, .last_step = last_step };

  return case_plan (c, &options);
}

static TesseraLayout *
follow (const Case *c, const TesseraPlan *plan, int64_t first_step, int64_t last_step)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN,
                                           .plan = plan,
                                           .first_step = first_step,
                                           .last_step = last_step };

  return case_simulate (c, &options);
}

/* Nothing lies where the plan has a slot of another stream: no event orders the two. */
static void
check_streams (const Case *c, const TesseraPlan *plan, const TesseraLayout *layout)
{
  uint64_t pool = layout->spans[0].addr;

  g_assert_true (layout->spans[0].is_plan_pool);
  for (size_t b = 0; plan->n_streams > 1 && b < layout->n_blocks; b += 11)
    for (size_t s = 0; layout->is_hit[b] && s < plan->n_slots; s++)
      {
        uint64_t begin = layout->addr[b] - pool;
        const TesseraSlot *slot = &plan->slots[s];

        if (slot->offset_bytes < begin + layout->block_bytes[b] &&
            begin < slot->offset_bytes + slot->block_bytes)
          g_assert_cmpuint (slot->stream, ==, c->blocks->blocks[b].stream);
      }
}

static void
test_own_trace (gconstpointer user)
{
  TesseraPlan *plan;
  TesseraLayout *layout;
  Case c;

  if (!case_open (user, &c))
    return;
  plan = case_plan (&c, NULL);
  layout = case_follow (&c, plan);
  g_assert_cmpuint (layout->n_misses, ==, 0);
  g_assert_cmpuint (layout->peak_reserved_bytes, ==, plan->height_bytes);
  case_assert_no_overlap (c.blocks, layout);
  tessera_layout_free (layout);
  tessera_plan_free (plan);
  case_clear (&c);
}

static void
test_later_steps (void)
{
  TesseraPlan *plan;
  TesseraLayout *layout;
  int64_t first;
  Case c;

  if (!case_open ("sample/pretrain-gpt", &c))
    return;
  g_assert_cmpuint (c.structure->n_steps, ==, 4);
  first = c.structure->steps[0].number;
  plan = make_plan (&c, first, first + 1);
  layout = follow (&c, plan, first + 2, first + 3);
  g_test_message ("%" G_GUINT64_FORMAT " hits", layout->n_hits);
  g_assert_cmpuint (layout->n_hits, >, 5000);
  g_assert_cmpuint (layout->n_misses, ==, 0);
  tessera_layout_free (layout);
  tessera_plan_free (plan);
  case_clear (&c);
}

/* Another job declines it, in simulation as in training, and goes on as without it. */
static void
test_other_job (void)
{
  TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_EXPANDABLE };
  TesseraLayout *layout;
  TesseraLayout *alone;
  TesseraPlan *plan;
  Case c;

  if (!case_open ("snapshots/jobs/fsdp2_7b_r3of16", &c))
    return;
  plan = case_plan (&c, NULL);
  case_clear (&c);
  g_assert_true (case_open ("snapshots/jobs/meg_pp4vp2_tp2_rcfull", &c));
  layout = case_follow (&c, plan);
  alone = case_simulate (&c, &options);
  g_assert_cmpuint (layout->declined_index, >, 0);
  g_assert_cmpstr (layout->note, !=, "");
  g_assert_cmpuint (layout->n_ooms, ==, 0);
  /* Nothing counts after it, and the pool is gone. */
  g_assert_cmpuint (layout->n_hits + layout->n_misses, <, layout->n_blocks / 2);
  g_assert_cmpuint (layout->curves.reserved_bytes[layout->n_events - 1], <=,
                    alone->curves.reserved_bytes[layout->n_events - 1] / 50 * 51);
  case_assert_no_overlap (c.blocks, layout);
  tessera_layout_free (alone);
  tessera_layout_free (layout);
  tessera_plan_free (plan);
  case_clear (&c);
}

/* Where an event of the unchanged trace is in the changed one. */
static void
move_ranges (TesseraTrace *trace, const uint32_t *moved)
{
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      trace->ranges[i].begin_index = moved[trace->ranges[i].begin_index];
      trace->ranges[i].end_index = moved[trace->ranges[i].end_index];
    }
}

/* Leaves out a share of the allocations with their frees, and adds others, freed within
 * the next events. */
static void
change_trace (TesseraTrace *trace, double dropped, double inserted, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GHashTable) gone = g_hash_table_new (g_direct_hash, g_direct_equal);
  g_autoptr (GArray) extra = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));
  g_autofree uint32_t *moved = g_new (uint32_t, trace->n_events + 1);
  TesseraEvent *old = trace->events;
  size_t n_old = trace->n_events;
  uint64_t next_addr = EXTRA_ADDR;

  trace->events = NULL;
  trace->n_events = trace->cap_events = 0;
  for (size_t e = 0; e < n_old; e++)
    {
      gpointer key = GSIZE_TO_POINTER (old[e].addr);

      moved[e] = (uint32_t) trace->n_events;
      if (extra->len > 0 && g_rand_double (rand) < 0.05)
        {
          TesseraEvent end = g_array_index (extra, TesseraEvent, 0);

          end.action = TESSERA_FREE_REQUESTED;
          OK (tessera_trace_add_event (trace, &end));
          end.action = TESSERA_FREE_COMPLETED;
          OK (tessera_trace_add_event (trace, &end));
          g_array_remove_index (extra, 0);
        }
      if (old[e].action == TESSERA_ALLOC && g_rand_double (rand) < dropped)
        g_hash_table_add (gone, key);
      if (g_hash_table_contains (gone, key) &&
          (old[e].action == TESSERA_ALLOC || old[e].action == TESSERA_FREE_REQUESTED ||
           old[e].action == TESSERA_FREE_COMPLETED))
        {
          if (old[e].action == TESSERA_FREE_COMPLETED)
            g_hash_table_remove (gone, key);
          continue;
        }
      OK (tessera_trace_add_event (trace, &old[e]));
      if (old[e].action == TESSERA_ALLOC && g_rand_double (rand) < inserted)
        {
          TesseraEvent like = old[g_rand_int_range (rand, 0, (gint32) n_old)];

          if (like.action != TESSERA_ALLOC)
            like = old[e];
          like.addr = next_addr;
          next_addr += 512;
          OK (tessera_trace_add_event (trace, &like));
          g_array_append_val (extra, like);
        }
    }
  moved[n_old] = (uint32_t) trace->n_events;
  move_ranges (trace, moved);
  free (old);
}

/* How many of the requests that the plan knows got a slot. */
static double
follow_changed (const char *name,
                const TesseraPlan *plan,
                double dropped,
                double inserted,
                guint seed)
{
  TesseraLayout *layout;
  guint n_kept = 0, n_hits = 0;
  TesseraTrace *trace;
  Case c;

  g_assert_true (case_open (name, &c));
  trace = g_steal_pointer (&c.trace);
  case_clear (&c);
  change_trace (trace, dropped, inserted, seed);
  c = case_new (trace);
  layout = case_follow (&c, plan);
  case_assert_no_overlap (c.blocks, layout);
  check_streams (&c, plan, layout);
  for (size_t b = 0; b < layout->n_blocks; b++)
    if (c.blocks->blocks[b].addr < EXTRA_ADDR)
      {
        n_kept++;
        n_hits += layout->is_hit[b];
      }
  tessera_layout_free (layout);
  case_clear (&c);
  return (double) n_hits / n_kept;
}

typedef struct
{
  const char *name;
  double expected; /* share of the requests kept; what is worse tells of a mistake */
} Changed;

/* What is left out or added costs itself and a little more: where equal requests follow
 * each other nobody can say which of them is missing, and a block that lives long in a
 * range meant for a moment is in the way of others. */
static const Changed changed[] = {
  { "sample/pretrain-gpt", 0.998 },
  { "snapshots/jobs/fsdp2_7b_r3of16", 0.998 },
  { "snapshots/jobs/meg_pp4vp2_tp2_rcfull", 0.998 },
};

static void
test_changed_runs (gconstpointer user)
{
  static const struct
  {
    double dropped, inserted;
  } changes[] = { { 0.01, 0 }, { 0, 0.01 }, { 0.01, 0.01 } };
  const Changed *run = user;
  TesseraPlan *plan;
  Case c;

  if (!case_open (run->name, &c))
    return;
  plan = case_plan (&c, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    for (guint seed = SEED; seed < SEED + 3; seed++)
      {
        double share = follow_changed (run->name, plan, changes[i].dropped,
                                       changes[i].inserted, seed);

        g_test_message ("seed %u, dropped %.2f, inserted %.2f: %.3f %% still hit", seed,
                        changes[i].dropped, changes[i].inserted, 100 * share);
        g_assert_cmpfloat (share, >=, run->expected);
      }
  tessera_plan_free (plan);
  case_clear (&c);
}

int
main (int argc, char **argv)
{
  static const char *const followed[] = {
    "sample/finetune-oom",
    "sample/pretrain-gpt",
    "snapshots/real/cnn-small",
    "snapshots/real/large-ctx256-fullstep",
    "snapshots/jobs/fsdp1_7b_r3of16_late",
    "snapshots/jobs/fsdp2_7b_r3of16",
    "snapshots/jobs/meg_pp4vp2_tp2_rcfull",
    "snapshots/jobs/unet_var",
  };

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (followed); i++)
    {
      g_autofree char *name =
          g_strconcat ("/simulator/plan/own-trace/", followed[i], NULL);

      g_test_add_data_func (name, followed[i], test_own_trace);
    }
  g_test_add_func ("/simulator/plan/later-steps", test_later_steps);
  g_test_add_func ("/simulator/plan/other-job", test_other_job);
  for (size_t i = 0; i < G_N_ELEMENTS (changed); i++)
    {
      g_autofree char *name =
          g_strconcat ("/simulator/plan/changed/", changed[i].name, NULL);

      g_test_add_data_func (name, &changed[i], test_changed_runs);
    }
  return g_test_run ();
}
