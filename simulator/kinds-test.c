/*
 * Plans for several kinds of step, end to end: made-up programs that train in several
 * ways, evaluate and save in any order are planned from one order and followed in
 * another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"
#include "planner/test-traces.h"
#include "simulator/simulate.h"
#include "tests/fail_alloc.h"

#define SEED 20261122
#define MAX_OPERATIONS 80
#define MAX_KINDS 5
#define N_GRADIENTS 4
#define UNIT 512u

typedef enum
{
  OP_LOCAL,    /* asks for a block and frees it some operations later */
  OP_GRADIENT, /* asks for one that the next training step frees */
  OP_ZERO,     /* frees all gradients */
  OP_REPLACE   /* asks for a new block of a variable, then frees the old one */
} Op;

typedef struct
{
  Op op;
  guint64 size_bytes;
  guint which; /* gradient or variable; of a local: operations until it is freed */
} Operation;

typedef struct
{
  gboolean trains; /* it is a step; else it comes between two */
  Operation operations[MAX_OPERATIONS];
  guint n_operations;
} Kind;

typedef struct
{
  Kind kinds[MAX_KINDS];
  guint n_kinds;
  guint64 gradient_bytes[N_GRADIENTS];
  guint64 variable_bytes;
} Program;

static guint
pick (GRand *random, guint n)
{
  return (guint) g_rand_int_range (random, 0, (gint32) n);
}

static void
add_locals (GRand *random, Kind *kind, guint n)
{
  for (guint i = 0; i < n; i++)
    kind->operations[kind->n_operations++] =
        (Operation){ OP_LOCAL, (1 + pick (random, 60)) * UNIT, 1 + pick (random, 10) };
}

static Kind
random_kind (GRand *random, const Program *program, gboolean trains)
{
  Kind kind = { .trains = trains };

  if (pick (random, 2))
    add_locals (random, &kind, 1 + pick (random, 3));
  if (trains)
    kind.operations[kind.n_operations++] = (Operation){ OP_ZERO };
  add_locals (random, &kind, 34 + pick (random, 8));
  for (guint i = 0; trains && i < N_GRADIENTS; i++)
    {
      kind.operations[kind.n_operations++] =
          (Operation){ OP_GRADIENT, program->gradient_bytes[i], i };
      add_locals (random, &kind, pick (random, 3));
    }
  if (program->variable_bytes && (trains || pick (random, 2)))
    kind.operations[kind.n_operations++] =
        (Operation){ OP_REPLACE, program->variable_bytes, 0 };
  add_locals (random, &kind, 1 + pick (random, 4));
  return kind;
}

/* A kind that is another one with a stretch left out: fewer micro-batches. */
static void
leave_out (GRand *random, const Kind *of, Kind *kind)
{
  guint from = 5 + pick (random, 10), n = 1 + pick (random, 15);

  *kind = *of;
  for (guint i = from; i + n < of->n_operations; i++)
    kind->operations[i] = of->operations[i + n];
  kind->n_operations -= n;
}

static Program
random_program (GRand *random, gboolean has_part)
{
  Program program = { .n_kinds = 2 + pick (random, MAX_KINDS - 1) };

  if (pick (random, 2))
    program.variable_bytes = (61 + pick (random, 20)) * UNIT;
  for (guint i = 0; i < N_GRADIENTS; i++)
    program.gradient_bytes[i] = (1 + pick (random, 30)) * UNIT;
  for (guint k = 0; k < program.n_kinds; k++)
    program.kinds[k] = random_kind (random, &program, k < 2 || pick (random, 2));
  if (has_part)
    leave_out (random, &program.kinds[0], &program.kinds[1]);
  return program;
}

/* ---- a run of it ---- */

typedef struct
{
  guint64 addr, size_bytes;
  guint until; /* operation */
} Held;

typedef struct
{
  TesseraTrace *trace;
  guint64 next_addr;
  Held gradients[N_GRADIENTS];
  Held variable;
  GArray *locals; /* Held */
  guint n_steps;
} Run;

static Held
ask (Run *run, guint64 size_bytes)
{
  const Held held = { .addr = run->next_addr << 24, .size_bytes = size_bytes };

  run->next_addr++;
  test_alloc (run->trace, held.addr, size_bytes);
  return held;
}

static void
let_go (Run *run, Held *held)
{
  if (held->size_bytes)
    test_free (run->trace, held->addr, held->size_bytes);
  *held = (Held){ 0 };
}

static void
free_locals (Run *run, guint until)
{
  for (guint i = 0; i < run->locals->len;)
    if (g_array_index (run->locals, Held, i).until <= until)
      {
        let_go (run, &g_array_index (run->locals, Held, i));
        g_array_remove_index (run->locals, i);
      }
    else
      i++;
}

static void
operate (Run *run, const Operation *operation, guint at)
{
  Held held;

  switch (operation->op)
    {
    case OP_LOCAL:
      held = ask (run, operation->size_bytes);
      held.until = at + operation->which;
      g_array_append_val (run->locals, held);
      break;
    case OP_GRADIENT:
      run->gradients[operation->which] = ask (run, operation->size_bytes);
      break;
    case OP_ZERO:
      for (guint i = 0; i < N_GRADIENTS; i++)
        let_go (run, &run->gradients[i]);
      break;
    default:
      held = ask (run, operation->size_bytes);
      let_go (run, &run->variable);
      run->variable = held;
    }
}

static void
do_unit (Run *run, const Kind *kind, gboolean is_first)
{
  uint32_t begin = (uint32_t) run->trace->n_events;

  for (guint i = 0; i < kind->n_operations; i++)
    {
      free_locals (run, i);
      operate (run, &kind->operations[i], i);
    }
  free_locals (run, G_MAXUINT);
  if (is_first) /* the optimizer's state */
    for (guint i = 0; i < N_GRADIENTS; i++)
      ask (run, 7 * UNIT);
  if (kind->trains)
    {
      g_autofree char *name = g_strdup_printf ("step %u", run->n_steps++);

      test_range (run->trace, TESSERA_RANGE_STEP, name, begin,
                  (uint32_t) run->trace->n_events);
    }
}

/* Two training steps follow each other or have one other thing between them. */
static TesseraTrace *
run_program (GRand *random, const Program *program, guint n_units, guint *counts)
{
  Run run = { .trace = test_trace_new (),
              .next_addr = 1,
              .locals = g_array_new (FALSE, FALSE, sizeof (Held)) };
  gboolean was_between = TRUE;

  run.trace->alignment_bytes = UNIT;
  for (guint i = 0; i < 6; i++)
    ask (&run, 20 * UNIT);
  do_unit (&run, &program->kinds[0], TRUE);
  for (guint i = 0; i < n_units; i++)
    {
      const Kind *kind = &program->kinds[pick (random, program->n_kinds)];

      if (!kind->trains && was_between)
        kind = &program->kinds[pick (random, 2)];
      was_between = !kind->trains;
      counts[kind - program->kinds]++;
      do_unit (&run, kind, FALSE);
    }
  do_unit (&run, &program->kinds[0], FALSE);
  g_array_free (run.locals, TRUE);
  return run.trace;
}

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
} Studied;

static Studied
study (TesseraTrace *trace)
{
  Studied of = { .trace = trace };

  g_assert_cmpint (tessera_blocks_new (trace, &of.blocks), ==, TESSERA_OK);
  g_assert_cmpint (tessera_structure_new (trace, of.blocks, &of.structure), ==,
                   TESSERA_OK);
  return of;
}

static void
studied_clear (Studied *of)
{
  tessera_structure_free (of->structure);
  tessera_blocks_free (of->blocks);
  tessera_trace_free (of->trace);
}

static TesseraStatus
make_plan (const Studied *of, TesseraPlan **out_plan)
{
  const TesseraPlanOptions options = {
    .first_step = -1, .last_step = -1, .n_threads = 1, .work_budget = 1 << 12
  };
  TesseraError error = { 0 };
  TesseraStatus status = tessera_plan_trace (of->trace, of->blocks, of->structure,
                                             &options, &error, out_plan);

  if (status != TESSERA_OK && status != TESSERA_NO_MEMORY)
    g_error ("%s", error.text);
  return status;
}

static TesseraLayout *
simulate (const Studied *of, TesseraLayoutKind kind, const TesseraPlan *plan)
{
  const TesseraSimulateOptions options = {
    .kind = kind, .plan = plan, .first_step = -1, .last_step = -1
  };
  TesseraError error = { 0 };
  TesseraLayout *layout;

  g_assert_cmpint (
      tessera_simulate (of->trace, of->blocks, of->structure, &options, &error, &layout),
      ==, TESSERA_OK);
  return layout;
}

static void
assert_no_overlap (const Studied *of, const TesseraLayout *layout)
{
  const TesseraBlock *blocks = of->blocks->blocks;

  for (size_t i = 0; i < of->blocks->n_blocks; i++)
    for (size_t k = i + 1; k < of->blocks->n_blocks; k++)
      if (blocks[k].born_index < blocks[i].died_index)
        g_assert_true (layout->addr[i] + layout->block_bytes[i] <= layout->addr[k] ||
                       layout->addr[k] + layout->block_bytes[k] <= layout->addr[i]);
}

static guint
count_kinds (const TesseraPlan *plan)
{
  guint n = 0;

  for (size_t i = 0; i < plan->n_sections; i++)
    n += plan->sections[i].kind == TESSERA_SECTION_REPEATS;
  return n;
}

typedef struct
{
  guint n_plans;                        /* of several kinds */
  guint64 n_hits, n_misses;             /* by the run that was planned */
  guint64 n_other_hits, n_other_misses; /* by another */
  guint64 height_bytes, bound_bytes;
} Totals;

static void
follow (const Studied *of, const TesseraPlan *plan, guint64 *n_hits, guint64 *n_misses)
{
  TesseraLayout *layout = simulate (of, TESSERA_LAYOUT_PLAN, plan);

  assert_no_overlap (of, layout);
  g_assert_cmpuint (layout->n_ooms, ==, 0);
  *n_hits += layout->n_hits;
  *n_misses += layout->n_misses;
  tessera_layout_free (layout);
}

/* Was each kind seen to come again? */
static gboolean
are_frequent (const Program *program, const guint *counts)
{
  gboolean are = TRUE;

  for (guint k = 0; k < program->n_kinds; k++)
    are = are && counts[k] >= 2;
  return are;
}

static Totals
play (gboolean has_part, guint n_programs)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  Totals totals = { 0 };

  for (guint n = 0; n < n_programs; n++)
    {
      const Program program = random_program (random, has_part);
      guint counts[MAX_KINDS] = { 0 }, other_counts[MAX_KINDS] = { 0 };
      Studied planned = study (run_program (random, &program, 24, counts));
      Studied other = study (run_program (random, &program, 50, other_counts));
      TesseraPlan *plan;

      g_assert_cmpint (make_plan (&planned, &plan), ==, TESSERA_OK);
      g_assert_true (plan->checked);
      if (count_kinds (plan) > 1 && are_frequent (&program, counts))
        {
          totals.n_plans++;
          totals.height_bytes += plan->height_bytes;
          totals.bound_bytes += plan->bound_bytes;
          follow (&planned, plan, &totals.n_hits, &totals.n_misses);
          follow (&other, plan, &totals.n_other_hits, &totals.n_other_misses);
        }
      tessera_plan_free (plan);
      studied_clear (&planned);
      studied_clear (&other);
    }
  g_test_message (
      "%u plans, %.4f of the bound; planned run %" G_GUINT64_FORMAT
      " hits, %" G_GUINT64_FORMAT " misses, another %" G_GUINT64_FORMAT
      " and %" G_GUINT64_FORMAT,
      totals.n_plans, (double) totals.height_bytes / (double) totals.bound_bytes,
      totals.n_hits, totals.n_misses, totals.n_other_hits, totals.n_other_misses);
  g_assert_cmpuint (totals.n_plans, >, n_programs / 2);
  return totals;
}

static void
test_orders (void)
{
  const Totals totals = play (FALSE, 200);

  g_assert_cmpuint (totals.n_misses * 1000, <, totals.n_hits);
  g_assert_cmpuint (totals.n_other_misses * 1000, <, totals.n_other_hits);
}

/* A step that leaves out a stretch of another's requests is aligned anew each time: no
 * phase tells. */
static void
test_parts (void)
{
  const Totals totals = play (TRUE, 100);

  g_assert_cmpuint (totals.n_misses * 25, <, totals.n_hits);
  g_assert_cmpuint (totals.n_other_misses * 25, <, totals.n_other_hits);
}

/* The same trace gives the same plan whoever counts, and nothing is lost on the way out
 * of any failing allocation. */
static void
test_no_memory (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  const Program program = random_program (random, FALSE);
  guint counts[MAX_KINDS] = { 0 };
  Studied of = study (run_program (random, &program, 12, counts));
  TesseraPlan *plan;
  long n_held = tessera_fail_alloc_held ();
  guint64 digest;

  g_assert_cmpint (make_plan (&of, &plan), ==, TESSERA_OK);
  g_assert_cmpuint (count_kinds (plan), >, 1);
  digest = plan->slot_digest;
  tessera_plan_free (plan);
  g_assert_cmpint (tessera_fail_alloc_held (), ==, n_held);
  for (unsigned long nth = 1;; nth++)
    {
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status = make_plan (&of, &plan);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          g_assert_cmpuint (plan->slot_digest, ==, digest);
          tessera_plan_free (plan);
          break;
        }
      if (status == TESSERA_OK) /* a thread of the packer did without */
        tessera_plan_free (plan);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, n_held);
    }
  studied_clear (&of);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/kinds/orders", test_orders);
  g_test_add_func ("/simulator/kinds/parts", test_parts);
  g_test_add_func ("/simulator/kinds/no-memory", test_no_memory);
  return g_test_run ();
}
