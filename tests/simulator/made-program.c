/*
 * See made-program.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/simulator/made-program.h"

#include <string.h>

#define COLLECTED_AFTER 150 /* operations, on average */

static guint
pick (GRand *random, guint n)
{
  return (guint) g_rand_int_range (random, 0, (gint32) n);
}

static void
add_locals (GRand *random, MadeKind *kind, guint n)
{
  for (guint i = 0; i < n; i++)
    kind->operations[kind->n_operations++] =
        (MadeOperation){ .op = MADE_LOCAL,
                         .size_bytes = (1 + pick (random, 60)) * MADE_UNIT,
                         .which = 1 + pick (random, 10) };
}

static MadeKind
make_kind (GRand *random, const MadeProgram *program, gboolean trains)
{
  MadeKind kind = { .trains = trains };

  if (pick (random, 2))
    add_locals (random, &kind, 1 + pick (random, 3));
  if (trains)
    kind.operations[kind.n_operations++] = (MadeOperation){ .op = MADE_ZERO };
  add_locals (random, &kind, 34 + pick (random, 8));
  for (guint i = 0; trains && i < MADE_N_GRADIENTS; i++)
    {
      kind.operations[kind.n_operations++] = (MadeOperation){
        .op = MADE_GRADIENT, .size_bytes = program->gradient_bytes[i], .which = i
      };
      add_locals (random, &kind, pick (random, 3));
    }
  if (program->variable_bytes && (trains || pick (random, 2)))
    kind.operations[kind.n_operations++] =
        (MadeOperation){ .op = MADE_REPLACE, .size_bytes = program->variable_bytes };
  add_locals (random, &kind, 1 + pick (random, 4));
  return kind;
}

/* A step of at most five requests, one of which may live on into the next. */
static MadeKind
make_tiny_kind (GRand *random, const MadeProgram *program)
{
  MadeKind kind = { .trains = TRUE };

  add_locals (random, &kind, pick (random, 3));
  if (pick (random, 2))
    {
      kind.operations[kind.n_operations++] = (MadeOperation){ .op = MADE_ZERO };
      add_locals (random, &kind, pick (random, 2));
      kind.operations[kind.n_operations++] =
          (MadeOperation){ .op = MADE_GRADIENT,
                           .size_bytes = program->gradient_bytes[0] };
    }
  add_locals (random, &kind, 1 + pick (random, 2));
  return kind;
}

/* A kind that is another one with a stretch left out: fewer micro-batches. */
static void
leave_stretch_out (GRand *random, const MadeKind *of, MadeKind *kind)
{
  guint from = 5 + pick (random, 10), n = 1 + pick (random, 15);

  *kind = *of;
  for (guint i = from; i + n < of->n_operations; i++)
    kind->operations[i] = of->operations[i + n];
  kind->n_operations -= n;
}

static void
make_kinds (GRand *random, const MadeOptions *options, MadeProgram *program)
{
  program->n_kinds =
      options->n_kinds > 0 ? options->n_kinds : 2 + pick (random, MADE_MAX_KINDS - 1);
  if (pick (random, 2) && !options->is_tiny)
    program->variable_bytes = (61 + pick (random, 20)) * MADE_UNIT;
  for (guint i = 0; i < MADE_N_GRADIENTS; i++)
    program->gradient_bytes[i] = (1 + pick (random, 30)) * MADE_UNIT;
  for (guint k = 0; k < program->n_kinds; k++)
    program->kinds[k] = options->is_tiny
                            ? make_tiny_kind (random, program)
                            : make_kind (random, program, k < 2 || pick (random, 2));
  if (options->has_part)
    leave_stretch_out (random, &program->kinds[0], &program->kinds[1]);
}

/* ---- what varies ---- */

static MadeSize
make_size (GRand *random, const MadeOptions *options)
{
  MadeSize size = { 0 };

  switch (pick (random, options->has_noise ? 6 : 5))
    {
    case 0: /* constant */
      break;
    case 1:
      size.per_length = 2 * (1 + pick (random, 16));
      break;
    case 2:
      size.per_square = pick (random, 3) ? 0 : 1 + pick (random, 2);
      size.per_token = 1 + pick (random, 16);
      break;
    case 5:
      size.noise = 1 + pick (random, 60);
      break;
    default:
      size.per_token = 2 * (1 + pick (random, 32));
      size.per_batch = pick (random, 3) ? 0 : 4 * pick (random, 50);
    }
  if (pick (random, 5) == 0)
    size.rounding = 8u << pick (random, 5);
  if (pick (random, 12) == 0)
    size.cap_bytes = (200 + pick (random, 2000)) * MADE_UNIT;
  return size;
}

static void
vary_operation (GRand *random, const MadeOptions *options, MadeOperation *operation)
{
  if (options->n_streams > 1 && operation->op == MADE_LOCAL && pick (random, 3) == 0)
    operation->stream = (guint16) pick (random, options->n_streams);
  if (options->has_late && operation->op == MADE_LOCAL && pick (random, 4) == 0)
    operation->late = 1 + pick (random, 12);
  if (operation->op != MADE_LOCAL)
    return;
  if (options->varies)
    operation->more = make_size (random, options);
  else if (options->has_noise && pick (random, 8) == 0)
    operation->more.noise = 1 + pick (random, 60);
  if (options->leaves_out && pick (random, 6) == 0)
    operation->presence = (MadePresence) (1 + pick (random, 3));
}

/* Tokens and positions: what a training step asks for first where steps vary. */
static void
put_batch_first (MadeKind *kind)
{
  guint n = MIN (kind->n_operations, MADE_MAX_OPERATIONS - 2u);

  memmove (kind->operations + 2, kind->operations, n * sizeof *kind->operations);
  kind->operations[0] =
      (MadeOperation){ .op = MADE_LOCAL, .which = n, .more = { .per_token = 8 } };
  kind->operations[1] =
      (MadeOperation){ .op = MADE_LOCAL, .which = n / 2, .more = { .per_length = 4 } };
  kind->n_operations = n + 2;
}

static void
vary (GRand *random, const MadeOptions *options, MadeProgram *program)
{
  for (guint k = 0; k < program->n_kinds; k++)
    {
      MadeKind *kind = &program->kinds[k];

      for (guint i = 0; i < kind->n_operations; i++)
        vary_operation (random, options, &kind->operations[i]);
      if (options->varies)
        put_batch_first (kind);
      if (options->has_phases && kind->trains)
        kind->backward = 1 + pick (random, kind->n_operations);
    }
}

/* Losses in a list, metrics: one or two in each training step, anywhere in it. */
static void
keep_some (GRand *random, MadeProgram *program)
{
  program->collects = pick (random, 2);
  for (guint k = 0; k < program->n_kinds; k++)
    {
      MadeKind *kind = &program->kinds[k];

      for (guint n = 1 + pick (random, 2);
           kind->trains && n > 0 && kind->n_operations < MADE_MAX_OPERATIONS; n--)
        {
          guint at = pick (random, kind->n_operations + 1);

          memmove (kind->operations + at + 1, kind->operations + at,
                   (kind->n_operations - at) * sizeof *kind->operations);
          kind->operations[at] =
              (MadeOperation){ .op = MADE_KEEP,
                               .size_bytes = (1 + pick (random, 3)) * MADE_UNIT };
          kind->n_operations++;
          kind->backward += kind->backward > at;
        }
    }
}

MadeProgram
made_program (GRand *random, const MadeOptions *options)
{
  MadeProgram program = { .n_parameters = 6,
                          .n_states = MADE_N_GRADIENTS,
                          .scale = options->scale > 0 ? options->scale : 1,
                          .varies = options->varies,
                          .has_batch = options->has_batch };

  make_kinds (random, options, &program);
  if (options->is_tiny)
    {
      program.n_parameters = pick (random, 3);
      program.n_states = 0;
    }
  vary (random, options, &program);
  if (options->keeps)
    keep_some (random, &program);
  return program;
}

/* ---- a run of it ---- */

typedef struct
{
  guint64 addr, size_bytes;
  guint until; /* operation, of the step; of one that is pending, of the run */
  guint late;
  guint16 stream;
} Held;

typedef struct
{
  TesseraTrace *trace;
  GRand *random;
  guint64 scale;
  guint64 next_addr;
  Held gradients[MADE_N_GRADIENTS];
  Held variable;
  GArray *locals;  /* Held */
  GArray *pending; /* Held */
  GArray *kept;    /* Held */
  guint n_done;    /* operations */
  guint n_steps;
  TesseraParameters parameters;
} Run;

static guint64
size_of (Run *run, const MadeOperation *operation)
{
  const MadeSize *more = &operation->more;
  guint64 b = run->parameters.batch, l = run->parameters.length, bytes;

  if (more->rounding > 0)
    l = (l + more->rounding - 1) / more->rounding * more->rounding;
  bytes = operation->size_bytes + more->per_batch * b + more->per_length * l +
          more->per_token * b * l + more->per_square * b * l * run->parameters.length;
  if (more->cap_bytes > 0)
    bytes = MIN (bytes, more->cap_bytes);
  if (more->noise > 0)
    bytes += pick (run->random, more->noise) * MADE_UNIT;
  return MAX (bytes, 1);
}

static Held
ask (Run *run, guint64 size_bytes, guint16 stream)
{
  const Held held = { .addr = run->next_addr << 24,
                      .size_bytes = size_bytes * run->scale,
                      .stream = stream };

  run->next_addr += 1 + (held.size_bytes >> 24);
  test_event (run->trace, TESSERA_ALLOC, held.addr, held.size_bytes, stream);
  return held;
}

static void
complete (Run *run, const Held *held)
{
  test_event (run->trace, TESSERA_FREE_COMPLETED, held->addr, held->size_bytes,
              held->stream);
}

static void
drop (Run *run, Held *held)
{
  if (held->size_bytes)
    test_event (run->trace, TESSERA_FREE_REQUESTED, held->addr, held->size_bytes,
                held->stream);
  if (held->size_bytes && held->late > 0)
    {
      held->until = run->n_done + pick (run->random, held->late + 1);
      g_array_append_val (run->pending, *held);
    }
  else if (held->size_bytes)
    complete (run, held);
  *held = (Held){ 0 };
}

static void
free_locals (Run *run, guint until)
{
  for (guint i = 0; i < run->pending->len;)
    if (g_array_index (run->pending, Held, i).until <= run->n_done)
      {
        complete (run, &g_array_index (run->pending, Held, i));
        g_array_remove_index (run->pending, i);
      }
    else
      i++;
  for (guint i = 0; i < run->locals->len;)
    if (g_array_index (run->locals, Held, i).until <= until)
      {
        drop (run, &g_array_index (run->locals, Held, i));
        g_array_remove_index (run->locals, i);
      }
    else
      i++;
}

static void
collect (Run *run)
{
  for (guint i = 0; i < run->kept->len; i++)
    drop (run, &g_array_index (run->kept, Held, i));
  g_array_set_size (run->kept, 0);
}

static gboolean
is_there (Run *run, const MadeOperation *operation)
{
  switch (operation->presence)
    {
    case MADE_WHERE_PADDED:
      return run->parameters.length % 8 != 0;
    case MADE_WHERE_MANY:
      return run->parameters.batch > 1;
    case MADE_NOW_AND_THEN:
      return pick (run->random, 4) > 0;
    default:
      return TRUE;
    }
}

static void
operate (Run *run, const MadeOperation *operation, guint at)
{
  Held held;

  if (!is_there (run, operation))
    return;
  switch (operation->op)
    {
    case MADE_LOCAL:
      held = ask (run, size_of (run, operation), operation->stream);
      held.until = at + operation->which;
      held.late = operation->late;
      g_array_append_val (run->locals, held);
      break;
    case MADE_GRADIENT:
      drop (run, &run->gradients[operation->which]);
      run->gradients[operation->which] = ask (run, operation->size_bytes, 0);
      break;
    case MADE_KEEP:
      held = ask (run, operation->size_bytes, operation->stream);
      g_array_append_val (run->kept, held);
      break;
    case MADE_ZERO:
      for (guint i = 0; i < MADE_N_GRADIENTS; i++)
        drop (run, &run->gradients[i]);
      break;
    default:
      held = ask (run, operation->size_bytes, 0);
      drop (run, &run->variable);
      run->variable = held;
    }
}

static uint32_t
now (const Run *run)
{
  return (uint32_t) run->trace->n_events;
}

static void
do_unit (Run *run, const MadeProgram *program, const MadeUnit *unit, gboolean is_first)
{
  const MadeKind *kind = &program->kinds[unit->kind];
  uint32_t begin = now (run), backward = begin;

  run->parameters = unit->parameters;
  for (guint i = 0; i < kind->n_operations; i++)
    {
      if (i == kind->backward)
        backward = now (run);
      free_locals (run, i);
      if (program->collects && pick (run->random, COLLECTED_AFTER) == 0)
        collect (run);
      operate (run, &kind->operations[i], i);
      run->n_done++;
    }
  free_locals (run, G_MAXUINT);
  for (guint i = 0; is_first && i < program->n_states; i++)
    ask (run, 7 * MADE_UNIT, 0);
  if (kind->trains)
    test_step (run->trace, run->n_steps++, begin);
  if (kind->backward > 0)
    {
      test_range (run->trace, TESSERA_RANGE_PHASE, "forward", begin, backward);
      test_range (run->trace, TESSERA_RANGE_PHASE, "backward", backward, now (run));
    }
}

static TesseraParameters
draw_parameters (GRand *random, const MadeProgram *program)
{
  if (!program->varies)
    return (TesseraParameters){ 0 };
  return (TesseraParameters){ .batch = program->has_batch ? 1 + pick (random, 4) : 2,
                              .length = 200 + pick (random, 1800) };
}

void
made_units (GRand *random,
            const MadeProgram *program,
            guint n_units,
            MadeUnit *out_units,
            guint *counts)
{
  gboolean was_between = TRUE;

  g_assert_cmpuint (n_units + 2, <=, MADE_MAX_UNITS);
  for (guint i = 0; i < n_units + 2; i++)
    {
      MadeUnit *unit = &out_units[i];

      unit->kind = 0;
      if (i > 0 && i <= n_units)
        {
          unit->kind = pick (random, program->n_kinds);
          if (!program->kinds[unit->kind].trains && was_between)
            unit->kind = pick (random, 2);
          was_between = !program->kinds[unit->kind].trains;
          counts[unit->kind]++;
        }
      unit->parameters = draw_parameters (random, program);
    }
}

TesseraTrace *
made_run (GRand *random, const MadeProgram *program, const MadeUnit *units, guint n_units)
{
  Run run = { .trace = test_trace_new (),
              .random = random,
              .scale = program->scale,
              .next_addr = 1,
              .locals = g_array_new (FALSE, FALSE, sizeof (Held)),
              .pending = g_array_new (FALSE, FALSE, sizeof (Held)),
              .kept = g_array_new (FALSE, FALSE, sizeof (Held)) };

  run.trace->alignment_bytes = MADE_UNIT;
  for (guint i = 0; i < program->n_parameters; i++)
    ask (&run, 20 * MADE_UNIT, 0);
  for (guint i = 0; i < n_units; i++)
    do_unit (&run, program, &units[i], i == 0);
  tessera_trace_settle_ranges (run.trace);
  g_array_free (run.locals, TRUE);
  g_array_free (run.pending, TRUE);
  g_array_free (run.kept, TRUE);
  return run.trace;
}
