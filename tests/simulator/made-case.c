/*
 * See made-case.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/ok.h"
#include "tests/shared.h"
#include "tests/simulator/made-case.h"

#include "simulator/verdict.h"

#define MIB ((uint64_t) 1 << 20)

void
case_add_event (TesseraTrace *trace,
                uint8_t action,
                uint64_t addr,
                uint64_t size_bytes,
                uint16_t stream)
{
  TesseraEvent event = { .action = action,
                         .addr = addr,
                         .size_bytes = size_bytes,
                         .stream = stream,
                         .stack = TESSERA_NONE };

  OK (tessera_trace_add_event (trace, &event));
}

/* @of: an event of the block. */
static void
record (TesseraTrace *trace, TesseraAction action, const TesseraEvent *of)
{
  case_add_event (trace, (uint8_t) action, of->addr, of->size_bytes, of->stream);
}

static uint64_t
random_size (GRand *rand)
{
  switch (g_rand_int_range (rand, 0, 4))
    {
    case 0:
      return (uint64_t) g_rand_int_range (rand, 1, 4096);
    case 1:
      return (uint64_t) g_rand_int_range (rand, 1, 40) * MIB;
    default:
      return (uint64_t) g_rand_int_range (rand, 1, 3 * (gint32) MIB);
    }
}

TesseraTrace *
case_trace (guint n_calls, guint n_streams, guint late, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));
  g_autoptr (GArray) waiting = g_array_new (FALSE, FALSE, sizeof (TesseraEvent));
  TesseraTrace *trace;
  uint64_t next_addr = 512;

  OK (tessera_trace_new (&trace));
  trace->alignment_bytes = 512;
  trace->starts_empty = true;
  for (guint s = 1; s < n_streams; s++)
    {
      uint16_t stream;

      OK (tessera_trace_add_stream (trace, 1000 + s, &stream));
    }
  for (guint i = 0; i < n_calls; i++)
    {
      if (waiting->len > 0 && g_rand_int_range (rand, 0, 12) == 0)
        {
          record (trace, TESSERA_FREE_COMPLETED,
                  &g_array_index (waiting, TesseraEvent, 0));
          g_array_remove_index (waiting, 0);
        }
      if (live->len < 30 || (live->len < 200 && g_rand_boolean (rand)))
        {
          TesseraEvent block = { .addr = next_addr, .size_bytes = random_size (rand) };

          block.stream = (uint16_t) g_rand_int_range (rand, 0, (gint32) n_streams);
          next_addr += 512;
          g_array_append_val (live, block);
          record (trace, TESSERA_ALLOC, &block);
        }
      else
        {
          guint at = (guint) g_rand_int_range (rand, 0, (gint32) live->len);
          TesseraEvent block = g_array_index (live, TesseraEvent, at);

          g_array_remove_index (live, at);
          record (trace, TESSERA_FREE_REQUESTED, &block);
          if (late > 0 && g_rand_int_range (rand, 0, (gint32) late) == 0)
            g_array_append_val (waiting, block);
          else
            record (trace, TESSERA_FREE_COMPLETED, &block);
        }
    }
  return trace;
}

Case
case_new (TesseraTrace *trace)
{
  Case c = { .trace = trace };

  c.blocks = tessera_blocks_new (trace);
  c.structure = tessera_structure_new (trace, c.blocks);
  return c;
}

void
case_clear (Case *c)
{
  tessera_structure_free (c->structure);
  tessera_blocks_free (c->blocks);
  tessera_trace_free (c->trace);
}

bool
case_open (const char *name, Case *out_case)
{
  TesseraTrace *trace = test_shared_trace (name);

  if (trace != NULL)
    *out_case = case_new (trace);
  return trace != NULL;
}

TesseraPlan *
case_plan (const Case *c, const TesseraPlanOptions *options)
{
  const TesseraPlanOptions plain = { .first_step = -1, .last_step = -1 };
  TesseraPlan *plan;

  WORKS (error, tessera_plan_trace (c->trace, c->blocks, c->structure,
                                    options != NULL ? options : &plain, &error, &plan));
  g_assert_true (plan->checked);
  return plan;
}

TesseraLayout *
case_simulate (const Case *c, const TesseraSimulateOptions *options)
{
  TesseraLayout *layout;
  TesseraError error = { 0 };

  if (tessera_simulate (c->trace, c->blocks, c->structure, options, &error, &layout) !=
      TESSERA_OK)
    g_error ("%s: %s", c->trace->source, error.text);
  return layout;
}

TesseraLayout *
case_follow (const Case *c, const TesseraPlan *plan)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN, .plan = plan };

  return case_simulate (c, &options);
}

const char *
case_advise (const Case *c, TesseraPlan *plan)
{
  const TesseraFollowOptions options = { .laws = NULL };
  g_autoptr (TesseraLayout) layout = NULL;
  char *no_lengths;

  WORKS (error, tessera_follow_plan (c->trace, c->blocks, c->structure, &options, plan,
                                     &error, &layout, &no_lengths));
  g_assert_null (no_lengths);
  return plan->follow_reason;
}

void
case_assert_no_overlap (const TesseraBlocks *blocks, const TesseraLayout *layout)
{
  const TesseraBlock *all = blocks->blocks;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      uint32_t waited = MAX (layout->died_index[i], all[i].freed_index);
      uint32_t end = MIN (all[i].died_index, waited);

      for (size_t k = i + 1; k < blocks->n_blocks && all[k].born_index < end; k++)
        if (layout->addr[i] < layout->addr[k] + layout->block_bytes[k] &&
            layout->addr[k] < layout->addr[i] + layout->block_bytes[i])
          g_error ("blocks %zu and %zu share the address %" G_GUINT64_FORMAT, i, k,
                   MAX (layout->addr[i], layout->addr[k]));
    }
}

static bool
spans_hold (const TesseraLayout *layout, uint32_t at, uint64_t addr, uint64_t size_bytes)
{
  uint64_t held = 0;

  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[i];
      uint64_t begin = MAX (span->addr, addr);
      uint64_t end = MIN (span->addr + span->size_bytes, addr + size_bytes);

      if (span->born_index <= at && at < span->died_index && begin < end)
        held += end - begin;
    }
  return held == size_bytes;
}

TesseraParts
case_check_parts (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraLayout *layout,
                  uint32_t at)
{
  const TesseraCurves *curves = &layout->curves;
  TesseraParts p = tessera_parts_at (trace, blocks, layout, at);

  g_assert_cmpuint (p.reserved_bytes, ==, curves->reserved_bytes[at]);
  g_assert_cmpuint (p.live_bytes, ==, curves->live_bytes[at]);
  g_assert_cmpuint (p.live_bytes + p.rounding_bytes, ==, curves->allocated_bytes[at]);
  g_assert_cmpuint (p.live_bytes + p.rounding_bytes + p.pending_bytes, ==,
                    curves->active_bytes[at]);
  g_assert_cmpuint (p.live_bytes + p.rounding_bytes + p.pending_bytes +
                        p.new_segment_bytes + p.other_stream_bytes + p.other_size_bytes +
                        p.hard_bytes + p.soft_bytes + p.cache_bytes,
                    ==, p.reserved_bytes);
  g_assert_cmpuint (p.other_size_hard_bytes + p.other_size_soft_bytes +
                        p.other_size_cache_bytes,
                    ==, p.other_size_bytes);
  return p;
}

/* The figures after one event, from the plain arrays. */
static void
check_moment (const Case *c, const TesseraLayout *layout, uint32_t at)
{
  g_autoptr (GArray) alive = g_array_new (FALSE, FALSE, sizeof (size_t));
  uint64_t live = 0, allocated = 0, active = 0, reserved = 0;

  for (size_t i = 0; i < layout->n_blocks; i++)
    {
      const TesseraBlock *block = &c->blocks->blocks[i];

      if (block->born_index > at || layout->died_index[i] <= at ||
          layout->addr[i] == TESSERA_NOWHERE)
        continue;
      active += layout->block_bytes[i];
      if (block->freed_index > at)
        {
          live += block->size_bytes;
          allocated += layout->block_bytes[i];
        }
      g_assert_true (spans_hold (layout, at, layout->addr[i], layout->block_bytes[i]));
      for (guint k = 0; k < alive->len; k++)
        {
          size_t other = g_array_index (alive, size_t, k);

          g_assert_true (layout->addr[other] + layout->block_bytes[other] <=
                             layout->addr[i] ||
                         layout->addr[i] + layout->block_bytes[i] <= layout->addr[other]);
        }
      g_array_append_val (alive, i);
    }
  for (size_t i = 0; i < layout->n_spans; i++)
    if (layout->spans[i].born_index <= at && at < layout->spans[i].died_index)
      reserved += layout->spans[i].size_bytes;
  g_assert_cmpuint (layout->curves.live_bytes[at], ==, live);
  g_assert_cmpuint (layout->curves.allocated_bytes[at], ==, allocated);
  g_assert_cmpuint (layout->curves.active_bytes[at], ==, active);
  g_assert_cmpuint (layout->curves.reserved_bytes[at], ==, reserved);

  (void) case_check_parts (c->trace, c->blocks, layout, at);
}

void
case_check_layout (const Case *c, const TesseraLayout *layout, guint seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const uint64_t *reserved = layout->curves.reserved_bytes;
  uint64_t peak = 0, grown = 0, reported;

  for (guint i = 0; i < 60; i++)
    check_moment (c, layout,
                  (uint32_t) g_rand_int_range (rand, 0, (gint32) layout->n_events));
  for (uint32_t e = 0; e < layout->n_events; e++)
    {
      peak = MAX (peak, reserved[e]);
      if (e > 0 && reserved[e] > reserved[e - 1])
        grown = MAX (grown, reserved[e]);
    }
  g_assert_cmpuint (layout->peak_reserved_bytes, ==, peak);
  reported = reserved[layout->peak_reserved_index];
  /* Of a peak that was there at the start it may be what the run grew to near it. */
  if (reported != peak)
    {
      g_assert_cmpuint (reported, ==, grown);
      g_assert_cmpfloat ((double) grown, >=, 0.9 * (double) peak);
    }
  for (size_t i = 1; i < layout->n_spans; i++)
    g_assert_cmpuint (layout->spans[i - 1].born_index, <=, layout->spans[i].born_index);
}
