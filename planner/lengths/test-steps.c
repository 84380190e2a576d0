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

static uint64_t
noise_of (uint32_t step, uint32_t layer)
{
  return 100 + (step * step * 7919 + layer * layer * step * 104729) % 1000;
}

static void
make_layer (Maker *maker, const TestSteps *made, uint32_t step, uint32_t layer)
{
  uint64_t b = made->has_batch ? test_steps_batches[step] : 2;
  uint64_t l = test_steps_lengths[step] + made->longer;
  uint64_t noise = noise_of (step, layer);

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
      uint64_t b = made->has_batch ? test_steps_batches[s] : 2;
      uint64_t l = test_steps_lengths[s] + made->longer;
      uint32_t begin = (uint32_t) maker.trace->n_events;
      g_autofree char *name = g_strdup_printf ("step %u", s);

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
      loss = put (&maker, 4);
      drop_all (&maker, maker.held);
      if (made->stray_bytes > 0)
        hold (&maker, made->stray_bytes);
      for (uint32_t k = 0; made->drops_late && k < made->n_layers; k++)
        hold_in (&maker, maker.gradients, 65536 * (k + 1));
      drop_all (&maker, maker.held);
      for (uint32_t k = 0; s == 0 && made->first_makes_state && k < n_states; k++)
        put (&maker, 8192 * (k + 1));
      test_range (maker.trace, TESSERA_RANGE_STEP, name, begin,
                  (uint32_t) maker.trace->n_events);
    }
  tessera_trace_settle_ranges (maker.trace);
  g_array_free (maker.held, TRUE);
  g_array_free (maker.gradients, TRUE);
  return maker.trace;
}

void
test_study (TesseraTrace *trace, TestStudied *out)
{
  out->trace = trace;
  out->blocks = tessera_blocks_new (trace);
  out->structure = tessera_structure_new (trace, out->blocks);
  out->laws = tessera_laws_new (trace, out->blocks, out->structure);
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
  const TesseraLengthsOptions options = { .pack = NULL };
  TesseraError error = { 0 };
  TesseraLengths *lengths;

  g_assert_cmpint (tessera_lengths_plan (of->trace, of->blocks, of->structure, of->laws,
                                         &options, &error, &lengths),
                   ==, TESSERA_OK);
  g_assert_nonnull (lengths);
  return lengths;
}
