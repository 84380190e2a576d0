/*
 * Made traces of steps that accumulate gradients: see test-parts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/test-parts.h"

#define PAGE ((uint64_t) 1 << 32)
#define UNIT ((uint64_t) 32768)

enum
{
  PADDED_LENGTH = 500
};

typedef struct
{
  const TestParts *made;
  TesseraTrace *trace;
  GRand *rand;
  uint64_t next;
  uint64_t *activations, *gradients; /* [n_layers] addresses; 0: none */
  GArray *outputs;                   /* address and size of each, in turn */
} Maker;

static uint64_t
put (Maker *maker, uint64_t bytes)
{
  uint64_t addr = maker->next;

  maker->next += PAGE;
  test_alloc (maker->trace, addr, bytes);
  return addr;
}

static uint64_t
gradient_bytes (uint32_t layer)
{
  return 64 * UNIT * (layer % 3 + 1);
}

static uint64_t
activation_bytes (uint32_t layer, uint64_t length)
{
  return length * UNIT * (layer % 5 + 2);
}

static void
end_phase (Maker *maker, const char *name, uint32_t micro, uint32_t begin)
{
  uint32_t end = (uint32_t) maker->trace->n_events;
  g_autofree char *numbered = g_strdup_printf ("micro-batch %u %s", micro, name);

  test_range (maker->trace, TESSERA_RANGE_PHASE, name, begin, end);
  if (micro > 0)
    test_range (maker->trace, TESSERA_RANGE_PHASE, numbered, begin, end);
}

static void
forward (Maker *maker, uint32_t micro, uint64_t length)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;
  uint64_t token_bytes = 8 * length;
  uint64_t tokens = put (maker, token_bytes), output;

  if (maker->made->is_padded)
    length = PADDED_LENGTH;
  for (uint32_t i = 0; i < maker->made->n_layers; i++)
    {
      maker->activations[i] = put (maker, activation_bytes (i, length));
      test_free (maker->trace, put (maker, length * UNIT), length * UNIT);
    }
  test_free (maker->trace, tokens, token_bytes);
  if (maker->made->keeps)
    {
      output = put (maker, 4 * length * UNIT);
      length *= 4 * UNIT;
      g_array_append_val (maker->outputs, output);
      g_array_append_val (maker->outputs, length);
    }
  end_phase (maker, "forward", micro, begin);
}

static void
backward (Maker *maker, uint32_t micro, uint64_t length)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;

  if (maker->made->is_padded)
    length = PADDED_LENGTH;
  for (uint32_t i = maker->made->n_layers; i-- > 0;)
    {
      uint64_t workspace = put (maker, 3 * length * UNIT);
      uint64_t gradient = put (maker, gradient_bytes (i));

      test_free (maker->trace, workspace, 3 * length * UNIT);
      test_free (maker->trace, maker->activations[i], activation_bytes (i, length));
      if (maker->gradients[i] == 0)
        maker->gradients[i] = gradient;
      else
        test_free (maker->trace, gradient, gradient_bytes (i));
    }
  end_phase (maker, "backward", micro, begin);
}

static void
drop_gradients (Maker *maker)
{
  for (uint32_t i = 0; i < maker->made->n_layers && !maker->made->drops_never; i++)
    if (maker->gradients[i] != 0)
      {
        test_free (maker->trace, maker->gradients[i], gradient_bytes (i));
        maker->gradients[i] = 0;
      }
}

static void
optimize (Maker *maker, uint32_t step)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;

  for (uint32_t i = 0; i < maker->made->n_layers; i++)
    {
      if (step == 0)
        put (maker, 2 * gradient_bytes (i));
      test_free (maker->trace, put (maker, gradient_bytes (i)), gradient_bytes (i));
    }
  for (guint i = 0; i < maker->outputs->len; i += 2)
    test_free (maker->trace, g_array_index (maker->outputs, uint64_t, i),
               g_array_index (maker->outputs, uint64_t, i + 1));
  g_array_set_size (maker->outputs, 0);
  if (!maker->made->drops_late)
    drop_gradients (maker);
  end_phase (maker, "optimizer", 0, begin);
}

static void
make_step (Maker *maker, uint32_t step)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;
  g_autofree char *name = g_strdup_printf ("step %u", step);
  uint64_t length = (uint64_t) g_rand_int_range (maker->rand, 100, 2000);

  if (maker->made->drops_late)
    drop_gradients (maker);
  for (uint32_t micro = 0; micro < maker->made->n_micro; micro++)
    {
      forward (maker, micro, length);
      backward (maker, micro, length);
      if (!maker->made->is_constant)
        length = (uint64_t) g_rand_int_range (maker->rand, 100, 2000);
    }
  optimize (maker, step);
  test_range (maker->trace, TESSERA_RANGE_STEP, name, begin,
              (uint32_t) maker->trace->n_events);
}

static void
evaluate (Maker *maker)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;
  uint64_t length = (uint64_t) g_rand_int_range (maker->rand, 100, 2000);

  for (uint32_t i = 0; i < maker->made->n_layers; i++)
    test_free (maker->trace, put (maker, length * UNIT), length * UNIT);
  end_phase (maker, "eval", 0, begin);
}

TesseraTrace *
test_parts_trace (const TestParts *made)
{
  Maker maker = { .made = made, .trace = test_trace_new (), .next = PAGE };

  maker.rand = g_rand_new_with_seed (made->seed);
  maker.activations = g_new0 (uint64_t, made->n_layers);
  maker.gradients = g_new0 (uint64_t, made->n_layers);
  maker.outputs = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  for (uint32_t i = 0; i < made->n_layers; i++)
    put (&maker, gradient_bytes (i));
  for (uint32_t step = 0; step < made->n_steps; step++)
    {
      make_step (&maker, step);
      if (made->evaluates)
        evaluate (&maker);
    }
  tessera_trace_settle_ranges (maker.trace);
  g_rand_free (maker.rand);
  g_free (maker.activations);
  g_free (maker.gradients);
  g_array_free (maker.outputs, TRUE);
  return maker.trace;
}
