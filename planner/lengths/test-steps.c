/*
 * Made traces of steps that vary: see test-steps.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/test-steps.h"

#define PAGE ((uint64_t) 1 << 30)

const uint64_t test_steps_lengths[8] = { 1327, 3319, 1538, 3860, 2554, 1001, 1760, 2349 };
const uint64_t test_steps_batches[8] = { 4, 2, 3, 1, 3, 2, 4, 1 };

typedef struct
{
  TesseraTrace *trace;
  GArray *held; /* address and size of each, in turn */
  GArray *gradients;
  uint64_t next;
} Maker;

static uint64_t
put (Maker *maker, uint64_t bytes)
{
  uint64_t addr = maker->next;

  maker->next += PAGE;
  test_alloc (maker->trace, addr, bytes);
  return addr;
}

static void
hold_in (Maker *maker, GArray *held, uint64_t bytes)
{
  uint64_t addr = put (maker, bytes);

  g_array_append_val (held, addr);
  g_array_append_val (held, bytes);
}

static void
hold (Maker *maker, uint64_t bytes)
{
  hold_in (maker, maker->held, bytes);
}

static void
drop_all (Maker *maker, GArray *held)
{
  for (guint i = held->len; i > 0; i -= 2)
    test_free (maker->trace, g_array_index (held, uint64_t, i - 2),
               g_array_index (held, uint64_t, i - 1));
  g_array_set_size (held, 0);
}

static void
make_layer (Maker *maker, const TestSteps *made, uint32_t step, uint32_t layer)
{
  uint64_t b = made->has_batch ? test_steps_batches[step % 8] : 2;
  uint64_t l = test_steps_lengths[step % 8] + made->longer;
  uint64_t noise = 100 + (step * step * 7919 + layer * layer * step * 104729) % 1000;

  hold (maker, 2 * b * l * (64 + 8 * layer));
  if (made->masks_pad && layer % 4 == 0 && l % 8 != 0)
    hold (maker, 2 * b * l * ((l + 7) / 8 * 8));
  test_free (maker->trace, put (maker, noise), noise);
}

/* `outputs = model(...)`: the last lets go when the next is there. *@last: 0 where none
 * was; its size is @last_bytes. */
static void
make_kept (Maker *maker, uint64_t bytes, uint64_t *last, uint64_t *last_bytes)
{
  uint64_t addr = put (maker, bytes);

  if (*last != 0)
    test_free (maker->trace, *last, *last_bytes);
  *last = addr;
  *last_bytes = bytes;
}

/* A block that comes and goes, then the same on another stream. */
static void
copy (TesseraTrace *trace)
{
  for (uint16_t stream = 0; stream < 2; stream++)
    {
      size_t first = trace->n_events;

      test_alloc (trace, stream, 8192);
      test_free (trace, stream, 8192);
      for (size_t i = first; i < trace->n_events; i++)
        trace->events[i].stream = stream;
    }
  trace->n_streams = 2;
}

TesseraTrace *
test_steps_trace (const TestSteps *made)
{
  Maker maker = { .trace = test_trace_new (), .next = PAGE };
  uint32_t n_states = made->n_states > 0 ? made->n_states : TEST_STATES;
  uint64_t loss = 0, kept = 0, last_bytes = 0;

  maker.held = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  maker.gradients = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  for (uint32_t l = 0; l < made->n_layers; l++)
    put (&maker, 4096 * (l + 1));
  if (made->copies_first)
    copy (maker.trace);
  for (uint32_t s = 0; s < made->n_steps; s++)
    {
      uint64_t b = made->has_batch ? test_steps_batches[s % 8] : 2;
      uint64_t l = test_steps_lengths[s % 8] + made->longer;
      uint32_t begin = (uint32_t) maker.trace->n_events;

      if (!made->drops_later)
        drop_all (&maker, maker.gradients);
      hold (&maker, 8 * b * l);
      hold (&maker, 4 * l);
      drop_all (&maker, maker.gradients);
      hold (&maker, 128 * l);
      for (uint32_t k = 0; k < made->n_layers; k++)
        {
          make_layer (&maker, made, s, k);
          if (k == 0 && s > 0)
            test_free (maker.trace, loss, 4);
          /* A loss that the step appends to a list, or drops. */
          if (k == 0 && made->keepers > 0 && made->keepers >> s & 1)
            put (&maker, 1536);
          else if (k == 0 && made->keepers > 0)
            hold (&maker, 1536);
        }
      if (made->kept_bytes > 0)
        make_kept (&maker, made->kept_bytes * b * l, &kept, &last_bytes);
      if (made->loss_bytes > 0)
        hold (&maker, made->loss_bytes * b * l);
      loss = put (&maker, 4);
      drop_all (&maker, maker.held);
      if (made->stray_bytes > 0)
        hold (&maker, made->stray_bytes);
      for (uint32_t k = 0; made->drops_late && k < made->n_layers; k++)
        hold_in (&maker, maker.gradients, 65536 * (k + 1));
      drop_all (&maker, maker.held);
      for (uint32_t k = 0; s == 0 && made->first_makes_state && k < n_states; k++)
        put (&maker, 8192 * (k + 1));
      test_step (maker.trace, s, begin);
    }
  tessera_trace_settle_ranges (maker.trace);
  g_array_free (maker.held, TRUE);
  g_array_free (maker.gradients, TRUE);
  return maker.trace;
}

/* ---- Steps of micro-batches ---- */

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
} PartsMaker;

static uint64_t
put_apart (PartsMaker *maker, uint64_t bytes)
{
  uint64_t addr = maker->next;

  maker->next += 4 * PAGE;
  test_alloc (maker->trace, addr, bytes);
  return addr;
}

static uint64_t
gradient_bytes (const PartsMaker *maker, uint32_t layer)
{
  return (maker->made->has_small_gradients ? 1 : 64) * UNIT * (layer % 3 + 1);
}

static uint64_t
activation_bytes (uint32_t layer, uint64_t length)
{
  return length * UNIT * (layer % 5 + 2);
}

static void
end_phase (PartsMaker *maker, const char *name, uint32_t micro, uint32_t begin)
{
  uint32_t end = (uint32_t) maker->trace->n_events;
  g_autofree char *numbered = g_strdup_printf ("micro-batch %u %s", micro, name);

  test_range (maker->trace, TESSERA_RANGE_PHASE, name, begin, end);
  if (micro > 0)
    test_range (maker->trace, TESSERA_RANGE_PHASE, numbered, begin, end);
}

static void
make_forward (PartsMaker *maker, uint32_t micro, uint64_t length)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;
  uint64_t token_bytes = 8 * length;
  uint64_t tokens = put_apart (maker, token_bytes), output;

  if (maker->made->is_padded)
    length = PADDED_LENGTH;
  for (uint32_t i = 0; i < maker->made->n_layers; i++)
    {
      maker->activations[i] = put_apart (maker, activation_bytes (i, length));
      test_free (maker->trace, put_apart (maker, length * UNIT), length * UNIT);
    }
  test_free (maker->trace, tokens, token_bytes);
  if (maker->made->keeps)
    {
      output = put_apart (maker, 4 * length * UNIT);
      length *= 4 * UNIT;
      g_array_append_val (maker->outputs, output);
      g_array_append_val (maker->outputs, length);
    }
  end_phase (maker, "forward", micro, begin);
}

static void
make_backward (PartsMaker *maker, uint32_t micro, uint64_t length)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;

  if (maker->made->is_padded)
    length = PADDED_LENGTH;
  for (uint32_t i = maker->made->n_layers; i-- > 0;)
    {
      uint64_t workspace = put_apart (maker, 3 * length * UNIT);
      uint64_t gradient = put_apart (maker, gradient_bytes (maker, i));

      test_free (maker->trace, workspace, 3 * length * UNIT);
      test_free (maker->trace, maker->activations[i], activation_bytes (i, length));
      if (maker->gradients[i] == 0)
        maker->gradients[i] = gradient;
      else
        test_free (maker->trace, gradient, gradient_bytes (maker, i));
    }
  end_phase (maker, "backward", micro, begin);
}

static void
drop_gradients (PartsMaker *maker)
{
  for (uint32_t i = 0; i < maker->made->n_layers && !maker->made->drops_never; i++)
    if (maker->gradients[i] != 0)
      {
        test_free (maker->trace, maker->gradients[i], gradient_bytes (maker, i));
        maker->gradients[i] = 0;
      }
}

static void
optimize (PartsMaker *maker, uint32_t step)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;

  for (uint32_t i = 0; i < maker->made->n_layers; i++)
    {
      if (step == 0)
        put_apart (maker, 2 * gradient_bytes (maker, i));
      test_free (maker->trace, put_apart (maker, gradient_bytes (maker, i)),
                 gradient_bytes (maker, i));
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
make_step (PartsMaker *maker, uint32_t step)
{
  uint32_t begin = (uint32_t) maker->trace->n_events;
  uint64_t length = (uint64_t) g_rand_int_range (maker->rand, 100, 2000);

  if (maker->made->drops_late)
    drop_gradients (maker);
  for (uint32_t micro = 0; micro < maker->made->n_micro; micro++)
    {
      make_forward (maker, micro, length);
      make_backward (maker, micro, length);
      if (!maker->made->is_constant)
        length = (uint64_t) g_rand_int_range (maker->rand, 100, 2000);
    }
  optimize (maker, step);
  test_step (maker->trace, step, begin);
}

TesseraTrace *
test_parts_trace (const TestParts *made)
{
  PartsMaker maker = { .made = made, .trace = test_trace_new (), .next = PAGE };

  if (made->has_small_gradients)
    OK (tessera_trace_set_meta (maker.trace, "policy", "native"));
  maker.rand = g_rand_new_with_seed (made->seed);
  maker.activations = g_new0 (uint64_t, made->n_layers);
  maker.gradients = g_new0 (uint64_t, made->n_layers);
  maker.outputs = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  for (uint32_t i = 0; i < made->n_layers; i++)
    put_apart (&maker, gradient_bytes (&maker, i));
  for (uint32_t step = 0; step < made->n_steps; step++)
    {
      make_step (&maker, step);
      if (made->evaluates)
        {
          uint32_t begin = (uint32_t) maker.trace->n_events;
          uint64_t length = (uint64_t) g_rand_int_range (maker.rand, 100, 2000);

          for (uint32_t i = 0; i < maker.made->n_layers; i++)
            test_free (maker.trace, put_apart (&maker, length * UNIT), length * UNIT);
          end_phase (&maker, "eval", 0, begin);
        }
    }
  tessera_trace_settle_ranges (maker.trace);
  g_rand_free (maker.rand);
  g_free (maker.activations);
  g_free (maker.gradients);
  g_array_free (maker.outputs, TRUE);
  return maker.trace;
}

/* ---- What is made of both ---- */

TestStudied
test_study (TesseraTrace *trace)
{
  TestStudied of = { .trace = trace, .blocks = tessera_blocks_new (trace) };

  of.structure = tessera_structure_new (trace, of.blocks);
  of.laws = tessera_laws_new (trace, of.blocks, of.structure);
  return of;
}

void
test_study_clear (TestStudied *of)
{
  tessera_laws_free (of->laws);
  tessera_structure_free (of->structure);
  tessera_blocks_free (of->blocks);
  tessera_trace_free (of->trace);
}

TesseraLengths *
test_plan_lengths (const TestStudied *of)
{
  const TesseraLengthsOptions options = { .work_budget = 0 };
  TesseraLengths *lengths;

  WORKS (error, tessera_lengths_plan (of->trace, of->blocks, of->structure, of->laws,
                                      &options, &error, &lengths));
  g_assert_nonnull (lengths);
  return lengths;
}
