/*
 * Traces and plans for tests of db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/test-traces.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) g_assert_cmpint ((call), ==, TESSERA_OK)

static uint64_t
any_64 (GRand *random)
{
  static const uint64_t odd[] = { 0, 1, INT64_MAX, (uint64_t) INT64_MAX + 1, UINT64_MAX };

  if (g_rand_int_range (random, 0, 4) == 0)
    return odd[g_rand_int_range (random, 0, G_N_ELEMENTS (odd))];
  return (uint64_t) g_rand_int (random) << 32 | g_rand_int (random);
}

static uint64_t
any_bytes (GRand *random)
{
  return any_64 (random) & INT64_MAX;
}

/* An index below @n, or none. */
static uint32_t
any_index (GRand *random, size_t n)
{
  if (n == 0 || g_rand_int_range (random, 0, 8) == 0)
    return TESSERA_NONE;
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static uint32_t
below (GRand *random, size_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static void
fill_names (TesseraTrace *trace, GRand *random)
{
  uint32_t string, frame, frames[40], stack;
  uint16_t index;

  for (uint32_t i = 0; i < 50; i++)
    {
      g_autofree char *text =
          g_strdup_printf ("%s%u", i % 7 ? "f\xc3\xbcnf " : "'\"%", i);

      OK (tessera_trace_intern (trace, i ? text : "", i ? strlen (text) : 0, &string));
    }
  OK (tessera_trace_intern (trace, "not \xff UTF-8", 11, &string));
  for (int i = 0; i < 60; i++)
    OK (tessera_trace_add_frame (trace,
                                 &(TesseraFrame){ .name = any_index (random, 50),
                                                  .file = any_index (random, 50),
                                                  .line = (int64_t) any_64 (random) },
                                 &frame));
  OK (tessera_trace_add_stack (trace, NULL, 0, &stack));
  for (int i = 0; i < 100; i++)
    {
      size_t n_frames = below (random, G_N_ELEMENTS (frames));

      for (size_t k = 0; k < n_frames; k++) /* outer calls are mostly shared */
        frames[n_frames - 1 - k] = k < n_frames / 2 ? (uint32_t) k : below (random, 40);
      OK (tessera_trace_add_stack (trace, frames, n_frames, &stack));
    }
  for (int i = 0; i < 5; i++)
    {
      OK (tessera_trace_add_stream (trace, any_64 (random), &index));
      OK (tessera_trace_add_pool (
          trace, (TesseraPoolId){ any_64 (random), any_64 (random) }, &index));
    }
}

static void
fill_held (TesseraTrace *trace, TesseraHeld *held, GRand *random)
{
  size_t n = below (random, 30);

  for (size_t i = 0; i < n; i++)
    {
      OK (tessera_trace_add_segment (
          held, &(TesseraSegment){ .addr = any_64 (random),
                                   .size_bytes = any_bytes (random),
                                   .stack = any_index (random, trace->n_stacks),
                                   .stream = (uint16_t) below (random, trace->n_streams),
                                   .pool = (uint16_t) below (random, trace->n_pools),
                                   .is_small = below (random, 2),
                                   .is_expandable = below (random, 2) }));
      OK (tessera_trace_add_block (
          held, &(TesseraHeldBlock){ .addr = any_64 (random),
                                     .size_bytes = any_bytes (random),
                                     .block_bytes = any_bytes (random),
                                     .stack = any_index (random, trace->n_stacks),
                                     .state = (uint8_t) below (random, 3),
                                     .tail_open = (uint8_t) below (random, 2) }));
    }
}

static void
fill_ranges (TesseraTrace *trace, GRand *random)
{
  size_t n = below (random, 40);

  for (size_t i = 0; i < n; i++)
    {
      uint32_t begin = below (random, trace->n_events + 1);
      uint32_t end = begin + below (random, trace->n_events - begin + 1);

      OK (tessera_trace_add_range (
          trace,
          &(TesseraRange){ .name = any_index (random, tessera_trace_n_strings (trace)),
                           .begin_index = begin,
                           .end_index = end,
                           .begin_ns = (int64_t) any_64 (random),
                           .end_ns = (int64_t) any_64 (random),
                           .kind = (uint8_t) below (random, 4),
                           .is_inferred = (uint8_t) below (random, 2) }));
    }
  tessera_trace_settle_ranges (trace);
}

static void
fill_facts (TesseraTrace *trace, GRand *random)
{
  TesseraSettings *settings = &trace->settings;

  OK (tessera_trace_set_source (trace, "/somewhere/a name.pickle"));
  OK (tessera_trace_set_meta (trace, "zeta", "1"));
  OK (tessera_trace_set_meta (trace, "alpha", ""));
  trace->device = any_index (random, 8);
  if (trace->device == TESSERA_NONE)
    trace->device = TESSERA_NONE - 1;
  for (uint32_t i = 0; i < 3; i++)
    OK (tessera_trace_add_device (
        trace, &(TesseraDeviceInfo){ .device = i % 2,
                                     .n_events = any_bytes (random),
                                     .n_segments = any_bytes (random) }));
  settings->max_split_bytes = below (random, 2) ? UINT64_MAX : any_bytes (random);
  settings->max_non_split_rounding_bytes = any_bytes (random);
  settings->large_segment_bytes = any_bytes (random);
  settings->garbage_collection_threshold = g_rand_double (random);
  for (size_t i = 0; i < G_N_ELEMENTS (settings->roundup_divisions); i++)
    settings->roundup_divisions[i] = g_rand_int (random);
  settings->is_expandable = below (random, 2);
  trace->device_bytes = any_bytes (random);
  trace->limit_bytes = any_bytes (random);
  trace->alignment_bytes = 1U << below (random, 10);
  trace->has_addresses = below (random, 2);
  trace->has_segments = below (random, 2);
  trace->has_time = below (random, 2);
  trace->starts_empty = below (random, 2);
}

TesseraTrace *
test_trace_new (uint32_t seed, size_t n_events)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  TesseraTrace *trace = NULL;

  OK (tessera_trace_new (&trace));
  fill_names (trace, random);
  fill_facts (trace, random);
  for (size_t i = 0; i < n_events; i++)
    OK (tessera_trace_add_event (
        trace, &(TesseraEvent){ .addr = any_64 (random),
                                .size_bytes = any_bytes (random),
                                .at_ns = (int64_t) any_64 (random),
                                .stack = any_index (random, trace->n_stacks),
                                .stream = (uint16_t) below (random, trace->n_streams),
                                .pool = (uint16_t) below (random, trace->n_pools),
                                .action = (uint8_t) (1 + below (random, TESSERA_MARK)),
                                .pool_known = (uint8_t) below (random, 2) }));
  fill_held (trace, &trace->start, random);
  fill_held (trace, &trace->end, random);
  fill_ranges (trace, random);
  return trace;
}

/* Addresses of 512 bytes each below 2^47, sizes of all scales, 20 us between events: what
 * a real training run looks like to the file. */
TesseraTrace *
test_trace_new_plausible (uint32_t seed, size_t n_events)
{
  enum
  {
    N_PLACES = 3000
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  g_autofree uint64_t *sizes = g_new0 (uint64_t, N_PLACES);
  TesseraTrace *trace = NULL;
  int64_t at_ns = 0;

  OK (tessera_trace_new (&trace));
  fill_names (trace, random);
  while (trace->n_events + 2 <= n_events)
    {
      uint32_t place = below (random, N_PLACES);
      bool is_free = sizes[place] != 0;
      TesseraEvent event = { .addr = UINT64_C (0x7f0000000000) +
                                     place * (UINT64_C (64) << 20),
                             .at_ns = at_ns,
                             .stack = below (random, trace->n_stacks),
                             .action = is_free ? TESSERA_FREE_REQUESTED : TESSERA_ALLOC };

      if (place % 3 == 0 && is_free && below (random, 20))
        continue;
      if (!is_free)
        sizes[place] = 1 + (g_rand_int (random) >> below (random, 25)) % (64 << 20);
      event.size_bytes = sizes[place];
      OK (tessera_trace_add_event (trace, &event));
      at_ns += g_rand_int_range (random, 1000, 40000);
      if (!is_free)
        continue;
      event.action = TESSERA_FREE_COMPLETED;
      event.at_ns = at_ns;
      OK (tessera_trace_add_event (trace, &event));
      sizes[place] = 0;
    }
  return trace;
}

static void
fill_slots (TesseraPlan *plan, GRand *random)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i] = (TesseraSlot){ .size_bytes = any_bytes (random),
                                    .block_bytes = any_bytes (random),
                                    .offset_bytes = any_bytes (random),
                                    .born = below (random, 1000),
                                    .died = below (random, 1001),
                                    .died_next = below (random, 1001),
                                    .section = below (random, 3),
                                    .phase = any_index (random, 2),
                                    .ordinal = any_index (random, 100),
                                    .group = any_index (random, 4),
                                    .block = any_index (random, 100),
                                    .stream = (uint16_t) below (random, 65536),
                                    .pool = (uint16_t) below (random, 65536),
                                    .lifetime_class = (uint8_t) below (random, 5),
                                    .wraps = (uint8_t) below (random, 2),
                                    .side_streams = (uint8_t) below (random, 2) };
}

TesseraPlan *
test_plan_new (uint32_t seed, size_t n_slots)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  TesseraPlan *plan = NULL;

  OK (tessera_plan_new (&plan));
  plan->n_positions = 1000;
  plan->n_slots = n_slots;
  plan->slots = calloc (n_slots, sizeof *plan->slots);
  plan->n_sections = 3;
  plan->sections = calloc (3, sizeof *plan->sections);
  plan->n_groups = 4;
  plan->groups = calloc (4, sizeof *plan->groups);
  plan->n_strings = 2;
  plan->strings = calloc (2, sizeof *plan->strings);
  plan->strings[0] = strdup ("forward");
  plan->strings[1] = strdup ("");
  plan->n_hand_overs = 2;
  plan->hand_overs = calloc (2, sizeof *plan->hand_overs);
  for (uint32_t i = 0; i < 3; i++)
    plan->sections[i] = (TesseraSection){ .begin = i * 300,
                                          .end = i * 300 + below (random, 100),
                                          .first_slot = (uint32_t) (n_slots / 3 * i),
                                          .n_slots = (uint32_t) (n_slots / 3),
                                          .kind = i == 1,
                                          .n_steps = below (random, 99) };
  for (uint32_t i = 0; i < 4; i++)
    plan->groups[i] =
        (TesseraGroup){ .name = g_strdup_printf ("group %u \xe2\x86\x92", i),
                        .kind = (uint8_t) (i + 1),
                        .lifetime_class = (uint8_t) (i + 1),
                        .n_blocks = g_rand_int (random),
                        .height_bytes = any_bytes (random),
                        .bytes_x_events = any_64 (random),
                        .time_memory_product = g_rand_double (random) };
  fill_slots (plan, random);
  plan->n_edits = 2;
  plan->edits = calloc (2, sizeof *plan->edits);
  for (uint32_t i = 0; i < 2; i++)
    plan->edits[i] = (TesseraPlanEdit){ g_strdup_printf ("edit %u", i),
                                        strdup ("{\"kind\": \"cap\"}") };
  plan->ungrouped_bytes = any_bytes (random);
  plan->proven_bound_bytes = any_bytes (random);
  plan->cut_short = (uint8_t) below (random, 3);
  plan->time_limit_s = g_rand_double (random);
  plan->work_budget = any_bytes (random);
  for (uint32_t i = 0; i < 2; i++)
    plan->hand_overs[i] =
        (TesseraHandOver){ .from_slot = below (random, n_slots),
                           .to_slot = below (random, n_slots),
                           .event_slot = any_index (random, n_slots),
                           .slack_ns = i ? TESSERA_NO_SLACK : (int64_t) any_64 (random),
                           .slack_requests = i ? -7 : TESSERA_NO_SLACK };
  plan->n_crossings = 2;
  plan->crossings = calloc (2, sizeof *plan->crossings);
  for (uint32_t i = 0; i < 2; i++)
    plan->crossings[i] = (TesseraCrossing){ .slot = below (random, n_slots),
                                            .section = i,
                                            .died = below (random, 900) };
  plan->n_rooms = plan->n_regions = 2;
  plan->rooms = calloc (2, sizeof *plan->rooms);
  plan->regions = calloc (2, sizeof *plan->regions);
  for (uint32_t i = 0; i < 2; i++)
    {
      uint64_t begin_bytes = below (random, 1 << 20);

      plan->rooms[i] = (TesseraRoom){ .begin_bytes = begin_bytes,
                                      .end_bytes = begin_bytes + below (random, 1000),
                                      .most_bytes = any_bytes (random),
                                      .sum_bytes = any_bytes (random),
                                      .section = i,
                                      .before = below (random, n_slots),
                                      .born = below (random, 900),
                                      .died = below (random, 900),
                                      .died_next = below (random, 900),
                                      .n_requests = g_rand_int (random),
                                      .stream = (uint16_t) below (random, 1 << 16),
                                      .is_small = (uint8_t) i };
      plan->regions[i] = (TesseraRegion){ .begin_bytes = begin_bytes,
                                          .end_bytes = begin_bytes + i,
                                          .stream = (uint16_t) below (random, 1 << 16),
                                          .is_small = (uint8_t) i };
    }
  plan->height_bytes = any_bytes (random);
  plan->bound_bytes = any_bytes (random);
  plan->alignment_bytes = 512;
  plan->trace_fingerprint = any_64 (random);
  plan->slot_digest = any_64 (random);
  plan->device = g_rand_int (random);
  plan->n_streams = g_rand_int (random);
  plan->across_streams = 1;
  plan->followable = TESSERA_FOLLOWABLE_YES;
  plan->checked = 1;
  plan->follow_reason = below (random, 2) ? strdup ("a step repeats") : NULL;
  plan->strategy = strdup ("free: skyline by longest life");
  plan->source = strdup ("a.pickle");
  plan->world = 16;
  plan->rank = 3;
  plan->device_bytes = (uint64_t) 80 << 30;
  plan->torch = strdup ("2.15.0");
  return plan;
}

#define SAME(field) g_assert_cmpuint ((uint64_t) a->field, ==, (uint64_t) b->field)

static void
held_assert_equal (const TesseraHeld *left, const TesseraHeld *right)
{
  g_assert_cmpuint (left->n_segments, ==, right->n_segments);
  g_assert_cmpuint (left->n_blocks, ==, right->n_blocks);
  for (size_t i = 0; i < left->n_segments; i++)
    {
      const TesseraSegment *a = &left->segments[i], *b = &right->segments[i];

      SAME (addr);
      SAME (size_bytes);
      SAME (stack);
      SAME (stream);
      SAME (pool);
      SAME (is_small);
      SAME (is_expandable);
    }
  for (size_t i = 0; i < left->n_blocks; i++)
    {
      const TesseraHeldBlock *a = &left->blocks[i], *b = &right->blocks[i];

      SAME (addr);
      SAME (size_bytes);
      SAME (block_bytes);
      SAME (stack);
      SAME (state);
      SAME (tail_open);
    }
}

static void
names_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  g_assert_cmpuint (tessera_trace_n_strings (a), ==, tessera_trace_n_strings (b));
  for (uint32_t i = 0; i < tessera_trace_n_strings (a); i++)
    g_assert_cmpstr (tessera_trace_string (a, i), ==, tessera_trace_string (b, i));
  SAME (n_frames);
  for (size_t i = 0; i < a->n_frames; i++)
    {
      SAME (frames[i].name);
      SAME (frames[i].file);
      SAME (frames[i].line);
    }
  SAME (n_stacks);
  SAME (n_stack_frames);
  for (size_t i = 0; i <= a->n_stacks; i++)
    SAME (stack_begin[i]);
  for (size_t i = 0; i < a->n_stack_frames; i++)
    SAME (stack_frames[i]);
  SAME (n_streams);
  for (size_t i = 0; i < a->n_streams; i++)
    SAME (streams[i]);
  SAME (n_pools);
  for (size_t i = 0; i < a->n_pools; i++)
    {
      SAME (pools[i].owner_id);
      SAME (pools[i].user_id);
    }
}

static void
facts_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  g_assert_cmpstr (a->source, ==, b->source);
  SAME (device);
  SAME (n_devices);
  for (size_t i = 0; i < a->n_devices; i++)
    {
      SAME (devices[i].device);
      SAME (devices[i].n_events);
      SAME (devices[i].n_segments);
    }
  SAME (n_meta);
  for (size_t i = 0; i < a->n_meta; i++)
    {
      g_assert_cmpstr (a->meta[i].key, ==, b->meta[i].key);
      g_assert_cmpstr (a->meta[i].value, ==, b->meta[i].value);
    }
  SAME (settings.max_split_bytes);
  SAME (settings.max_non_split_rounding_bytes);
  SAME (settings.large_segment_bytes);
  SAME (settings.is_expandable);
  g_assert_true (a->settings.garbage_collection_threshold ==
                 b->settings.garbage_collection_threshold);
  for (size_t i = 0; i < G_N_ELEMENTS (a->settings.roundup_divisions); i++)
    SAME (settings.roundup_divisions[i]);
  SAME (device_bytes);
  SAME (limit_bytes);
  SAME (alignment_bytes);
  SAME (has_addresses);
  SAME (has_segments);
  SAME (has_time);
  SAME (starts_empty);
}

void
test_traces_assert_equal (const TesseraTrace *a, const TesseraTrace *b)
{
  facts_assert_equal (a, b);
  names_assert_equal (a, b);
  SAME (n_events);
  for (size_t i = 0; i < a->n_events; i++)
    {
      SAME (events[i].addr);
      SAME (events[i].size_bytes);
      SAME (events[i].at_ns);
      SAME (events[i].stack);
      SAME (events[i].stream);
      SAME (events[i].pool);
      SAME (events[i].action);
      SAME (events[i].pool_known);
    }
  held_assert_equal (&a->start, &b->start);
  held_assert_equal (&a->end, &b->end);
  SAME (n_ranges);
  for (size_t i = 0; i < a->n_ranges; i++)
    {
      SAME (ranges[i].name);
      SAME (ranges[i].begin_index);
      SAME (ranges[i].end_index);
      SAME (ranges[i].begin_ns);
      SAME (ranges[i].end_ns);
      SAME (ranges[i].parent);
      SAME (ranges[i].kind);
      SAME (ranges[i].is_inferred);
    }
  g_assert_cmphex (tessera_trace_fingerprint (a), ==, tessera_trace_fingerprint (b));
}

static void
slots_assert_equal (const TesseraSlot *a, const TesseraSlot *b)
{
  SAME (size_bytes);
  SAME (block_bytes);
  SAME (offset_bytes);
  SAME (born);
  SAME (died);
  SAME (died_next);
  SAME (section);
  SAME (phase);
  SAME (ordinal);
  SAME (group);
  SAME (block);
  SAME (stream);
  SAME (pool);
  SAME (lifetime_class);
  SAME (wraps);
  SAME (side_streams);
}

static void
groups_assert_equal (const TesseraGroup *a, const TesseraGroup *b)
{
  g_assert_cmpstr (a->name, ==, b->name);
  SAME (kind);
  SAME (lifetime_class);
  SAME (n_blocks);
  SAME (height_bytes);
  SAME (bytes_x_events);
  g_assert_true (a->time_memory_product == b->time_memory_product);
}

void
test_plans_assert_equal (const TesseraPlan *a, const TesseraPlan *b)
{
  SAME (n_slots);
  for (size_t i = 0; i < a->n_slots; i++)
    slots_assert_equal (&a->slots[i], &b->slots[i]);
  SAME (n_sections);
  for (size_t i = 0; i < a->n_sections; i++)
    {
      SAME (sections[i].begin);
      SAME (sections[i].end);
      SAME (sections[i].first_slot);
      SAME (sections[i].n_slots);
      SAME (sections[i].kind);
      SAME (sections[i].n_steps);
    }
  SAME (n_groups);
  for (size_t i = 0; i < a->n_groups; i++)
    groups_assert_equal (&a->groups[i], &b->groups[i]);
  SAME (n_crossings);
  for (size_t i = 0; i < a->n_crossings; i++)
    {
      SAME (crossings[i].slot);
      SAME (crossings[i].section);
      SAME (crossings[i].died);
    }
  SAME (n_rooms);
  for (size_t i = 0; i < a->n_rooms; i++)
    {
      SAME (rooms[i].begin_bytes);
      SAME (rooms[i].end_bytes);
      SAME (rooms[i].most_bytes);
      SAME (rooms[i].sum_bytes);
      SAME (rooms[i].section);
      SAME (rooms[i].before);
      SAME (rooms[i].born);
      SAME (rooms[i].died);
      SAME (rooms[i].died_next);
      SAME (rooms[i].n_requests);
      SAME (rooms[i].stream);
      SAME (rooms[i].is_small);
    }
  SAME (n_regions);
  for (size_t i = 0; i < a->n_regions; i++)
    {
      SAME (regions[i].begin_bytes);
      SAME (regions[i].end_bytes);
      SAME (regions[i].stream);
      SAME (regions[i].is_small);
    }
  SAME (n_hand_overs);
  for (size_t i = 0; i < a->n_hand_overs; i++)
    {
      SAME (hand_overs[i].from_slot);
      SAME (hand_overs[i].to_slot);
      SAME (hand_overs[i].event_slot);
      SAME (hand_overs[i].slack_ns);
      SAME (hand_overs[i].slack_requests);
    }
  SAME (n_edits);
  for (size_t i = 0; i < a->n_edits; i++)
    {
      g_assert_cmpstr (a->edits[i].name, ==, b->edits[i].name);
      g_assert_cmpstr (a->edits[i].rule, ==, b->edits[i].rule);
    }
  SAME (ungrouped_bytes);
  SAME (proven_bound_bytes);
  SAME (cut_short);
  g_assert_cmpfloat (a->time_limit_s, ==, b->time_limit_s);
  SAME (work_budget);
  SAME (n_strings);
  for (size_t i = 0; i < a->n_strings; i++)
    g_assert_cmpstr (a->strings[i], ==, b->strings[i]);
  SAME (n_positions);
  SAME (height_bytes);
  SAME (bound_bytes);
  SAME (alignment_bytes);
  SAME (trace_fingerprint);
  SAME (slot_digest);
  SAME (device);
  SAME (n_streams);
  SAME (across_streams);
  SAME (followable);
  SAME (checked);
  g_assert_cmpstr (a->follow_reason, ==, b->follow_reason);
  g_assert_cmpstr (a->strategy, ==, b->strategy);
  g_assert_cmpstr (a->source, ==, b->source);
  SAME (world);
  SAME (rank);
  SAME (device_bytes);
  g_assert_cmpstr (a->torch, ==, b->torch);
}

/* A step of five requests: tokens, known at once and so in a fixed place; two that are
 * swept, one on the other; a loss that crosses; the optimizer's state. */
TesseraLengths *
test_lengths_new (void)
{
  static const TesseraSizeLaw laws[] = {
    { { 0, 0, 0, 8, 0 }, 1, 0, 1, TESSERA_SIZE_AFFINE },
    { { -512, 0, 0, 1024, 2 }, 3, 1 << 20, 8, TESSERA_SIZE_ROUNDED },
    { { 4, 0, 0, 0, 0 }, 1, 0, 1, TESSERA_SIZE_CONSTANT },
  };
  static const TesseraLengthsSlot slots[] = {
    { 0, 5, 0, 0, 0, TESSERA_PLACE_FIXED, false, false, 4096, 0 },
    { 1, 4, 1, 0, 0, TESSERA_PLACE_SWEPT, false, false, 0, 0, TESSERA_SEEN_LATER },
    { 1, 3, TESSERA_NONE, 0, 0, TESSERA_PLACE_SWEPT, false, false, 0, 0 },
    { 2, 5, 0, 0, 0, TESSERA_PLACE_FIXED, false, true, 12288, 12800 },
    { 2, 5, 0, 0, 0, TESSERA_PLACE_FIXED, true, false, 13312, 0 },
  };
  static const TesseraStartSlot start[] = {
    { 4000, 4096, 0, 2, 0, 0, 0, true },
    { 100, 512, 4096, 2, TESSERA_NONE, 0, 0, false },
  };
  TesseraLengths *lengths;

  g_assert_cmpint (tessera_lengths_new (&lengths), ==, TESSERA_OK);
  lengths->n_laws = 3;
  lengths->laws = malloc (sizeof laws);
  memcpy (lengths->laws, laws, sizeof laws);
  lengths->n_slots = 5;
  lengths->slots = malloc (sizeof slots);
  memcpy (lengths->slots, slots, sizeof slots);
  lengths->n_start = 2;
  lengths->start = malloc (sizeof start);
  memcpy (lengths->start, start, sizeof start);
  lengths->n_observed = 3;
  lengths->observed = calloc (3, sizeof *lengths->observed);
  for (uint32_t i = 0; i < 3; i++)
    lengths->observed[i] = (TesseraParameters){ 1, 100 + i };
  lengths->most = (TesseraParameters){ 1, 1024 };
  lengths->n_steps = 4;
  lengths->n_early = 1;
  lengths->n_swept = 2;
  lengths->fixed_bytes = 13824;
  lengths->start_bytes = 4608;
  lengths->alignment_bytes = 512;
  lengths->n_strings = 2;
  lengths->strings = calloc (2, sizeof *lengths->strings);
  lengths->strings[0] = strdup ("forward");
  lengths->strings[1] = strdup ("backward");
  lengths->n_orders = 3;
  lengths->orders = calloc (3, sizeof *lengths->orders);
  for (uint32_t k = 0; k < 3; k++)
    {
      TesseraOrder *order = &lengths->orders[k];

      g_assert_cmpint (tessera_order_init (order, 2, 1), ==, TESSERA_OK);
      order->from_tokens = 50 * (k % 2);
      order->is_first = k == 2;
      order->n_low = k;
      order->slots[0] = 1 + k % 2;
      order->slots[1] = 2 - k % 2;
      order->laws[0] = order->laws[1] = 1;
      order->first_edge[2] = 1;
    }
  return lengths;
}
