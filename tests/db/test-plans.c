/*
 * Plans for tests of db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/lengths.h"
#include "tests/db/test-traces.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "tests/db/test-random.h"
#include "tests/ok.h"

static void
fill_slots (TesseraPlan *plan, GRand *random)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i] = (TesseraSlot){ .size_bytes = test_any_bytes (random),
                                    .block_bytes = test_any_bytes (random),
                                    .offset_bytes = test_any_bytes (random),
                                    .born = test_below (random, 1000),
                                    .died = test_below (random, 1001),
                                    .died_next = test_below (random, 1001),
                                    .section = test_below (random, 3),
                                    .phase = test_any_index (random, 2),
                                    .ordinal = test_any_index (random, 100),
                                    .group = test_any_index (random, 4),
                                    .block = test_any_index (random, 100),
                                    .stream = (uint16_t) test_below (random, 65536),
                                    .pool = (uint16_t) test_below (random, 65536),
                                    .lifetime_class = (uint8_t) test_below (random, 5),
                                    .wraps = (uint8_t) test_below (random, 2) };
}

static void
fill_sections (TesseraPlan *plan, GRand *random)
{
  plan->n_sections = 3;
  plan->sections = calloc (3, sizeof *plan->sections);
  for (uint32_t i = 0; i < 3; i++)
    plan->sections[i] =
        (TesseraSection){ .begin = i * 300,
                          .end = i * 300 + test_below (random, 100),
                          .first_slot = (uint32_t) (plan->n_slots / 3 * i),
                          .n_slots = (uint32_t) (plan->n_slots / 3),
                          .kind = i == 1,
                          .n_steps = test_below (random, 99),
                          .alternate = (uint8_t) test_below (random, 3) };
}

static void
fill_groups (TesseraPlan *plan, GRand *random)
{
  plan->n_groups = 4;
  plan->groups = calloc (4, sizeof *plan->groups);
  for (uint32_t i = 0; i < 4; i++)
    plan->groups[i] =
        (TesseraGroup){ .name = g_strdup_printf ("group %u \xe2\x86\x92", i),
                        .kind = (uint8_t) (i + 1),
                        .lifetime_class = (uint8_t) (i + 1),
                        .n_blocks = g_rand_int (random),
                        .height_bytes = test_any_bytes (random),
                        .bytes_x_events = test_any_64 (random),
                        .time_memory_product = g_rand_double (random) };
}

static void
fill_crossings (TesseraPlan *plan, GRand *random)
{
  size_t n_slots = plan->n_slots;

  plan->n_crossings = 2;
  plan->crossings = calloc (2, sizeof *plan->crossings);
  for (uint32_t i = 0; i < 2; i++)
    plan->crossings[i] = (TesseraCrossing){ .slot = test_below (random, n_slots),
                                            .section = i,
                                            .died = test_below (random, 900) };
}

static void
fill_rooms (TesseraPlan *plan, GRand *random)
{
  plan->n_rooms = plan->n_regions = 2;
  plan->rooms = calloc (2, sizeof *plan->rooms);
  plan->regions = calloc (2, sizeof *plan->regions);
  for (uint32_t i = 0; i < 2; i++)
    {
      uint64_t begin_bytes = test_below (random, 1 << 20);

      plan->rooms[i] =
          (TesseraRoom){ .begin_bytes = begin_bytes,
                         .end_bytes = begin_bytes + test_below (random, 1000),
                         .most_bytes = test_any_bytes (random),
                         .sum_bytes = test_any_bytes (random),
                         .section = i,
                         .before = test_below (random, plan->n_slots),
                         .born = test_below (random, 900),
                         .died = test_below (random, 900),
                         .died_next = test_below (random, 900),
                         .n_requests = g_rand_int (random),
                         .stream = (uint16_t) test_below (random, 1 << 16),
                         .is_small = (uint8_t) i };
      plan->regions[i] =
          (TesseraRegion){ .begin_bytes = begin_bytes,
                           .end_bytes = begin_bytes + i,
                           .stream = (uint16_t) test_below (random, 1 << 16),
                           .is_small = (uint8_t) i };
    }
}

static void
fill_unplanned (TesseraPlan *plan, GRand *random)
{
  plan->n_unplanned = 3;
  plan->unplanned = calloc (3, sizeof *plan->unplanned);
  for (uint32_t i = 0; i < 3; i++)
    plan->unplanned[i] =
        (TesseraUnplanned){ .size_bytes = test_any_bytes (random),
                            .block_bytes = test_any_bytes (random),
                            .section = i,
                            .before = test_below (random, plan->n_slots + 1),
                            .born = test_below (random, 1000),
                            .phase = test_any_index (random, 2),
                            .ordinal = test_any_index (random, 100),
                            .block = test_any_index (random, 100),
                            .stream = (uint16_t) test_below (random, 65536),
                            .pool = (uint16_t) test_below (random, 65536) };
}

static void
fill_plan_facts (TesseraPlan *plan, GRand *random)
{
  plan->height_bytes = test_any_bytes (random);
  plan->bound_bytes = test_any_bytes (random);
  plan->alignment_bytes = 512;
  plan->trace_fingerprint = test_any_64 (random);
  plan->slot_digest = test_any_64 (random);
  plan->device = g_rand_int (random);
  plan->n_streams = g_rand_int (random);
  plan->crosses_streams = (uint8_t) g_rand_int_range (random, 0, 2);
  plan->followable = TESSERA_FOLLOWABLE_YES;
  plan->checked = 1;
  plan->follow_reason = test_below (random, 2) ? strdup ("a step repeats") : NULL;
  plan->strategy = strdup ("free: skyline by longest life");
  plan->source = strdup ("a.pickle");
  plan->world = 16;
  plan->rank = 3;
  plan->device_bytes = (uint64_t) 80 << 30;
  plan->torch = strdup ("2.15.0");
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
  plan->n_strings = 2;
  plan->strings = calloc (2, sizeof *plan->strings);
  plan->strings[0] = strdup ("forward");
  plan->strings[1] = strdup ("");
  fill_sections (plan, random);
  fill_groups (plan, random);
  fill_slots (plan, random);
  plan->n_edits = 2;
  plan->edits = calloc (2, sizeof *plan->edits);
  for (uint32_t i = 0; i < 2; i++)
    plan->edits[i] = (TesseraPlanEdit){ g_strdup_printf ("edit %u", i),
                                        strdup ("{\"kind\": \"cap\"}") };
  plan->proven_bound_bytes = test_any_bytes (random);
  plan->cut_short = (uint8_t) test_below (random, 2);
  /* Hostile cases count on the unplanned requests that are drawn after this. */
  (void) g_rand_double (random);
  plan->work_budget = test_any_bytes (random);
  (void) test_any_bytes (random);
  fill_crossings (plan, random);
  fill_rooms (plan, random);
  fill_unplanned (plan, random);
  fill_plan_facts (plan, random);
  return plan;
}

static void
parts_assert_equal (const TesseraPlan *a, const TesseraPlan *b)
{
  SAME (n_slots), SAME (n_groups), SAME (n_sections), SAME (n_crossings), SAME (n_rooms),
      SAME (n_regions), SAME (n_unplanned), SAME (n_edits), SAME (n_strings);
  for (size_t i = 0; i < a->n_slots; i++)
    SAME (slots[i].size_bytes), SAME (slots[i].block_bytes), SAME (slots[i].offset_bytes),
        SAME (slots[i].born), SAME (slots[i].died), SAME (slots[i].died_next),
        SAME (slots[i].section), SAME (slots[i].phase), SAME (slots[i].ordinal),
        SAME (slots[i].group), SAME (slots[i].block), SAME (slots[i].stream),
        SAME (slots[i].pool), SAME (slots[i].lifetime_class), SAME (slots[i].wraps);
  for (size_t i = 0; i < a->n_groups; i++)
    {
      SAME_TEXT (groups[i].name);
      SAME (groups[i].kind), SAME (groups[i].lifetime_class), SAME (groups[i].n_blocks),
          SAME (groups[i].height_bytes), SAME (groups[i].bytes_x_events);
      g_assert_cmpfloat (a->groups[i].time_memory_product, ==,
                         b->groups[i].time_memory_product);
    }
  for (size_t i = 0; i < a->n_sections; i++)
    SAME (sections[i].begin), SAME (sections[i].end), SAME (sections[i].first_slot),
        SAME (sections[i].n_slots), SAME (sections[i].kind), SAME (sections[i].n_steps),
        SAME (sections[i].alternate);
  for (size_t i = 0; i < a->n_crossings; i++)
    SAME (crossings[i].slot), SAME (crossings[i].section), SAME (crossings[i].died);
  for (size_t i = 0; i < a->n_rooms; i++)
    SAME (rooms[i].begin_bytes), SAME (rooms[i].end_bytes), SAME (rooms[i].most_bytes),
        SAME (rooms[i].sum_bytes), SAME (rooms[i].section), SAME (rooms[i].before),
        SAME (rooms[i].born), SAME (rooms[i].died), SAME (rooms[i].died_next),
        SAME (rooms[i].n_requests), SAME (rooms[i].stream), SAME (rooms[i].is_small);
  for (size_t i = 0; i < a->n_regions; i++)
    SAME (regions[i].begin_bytes), SAME (regions[i].end_bytes), SAME (regions[i].stream),
        SAME (regions[i].is_small);
  for (size_t i = 0; i < a->n_unplanned; i++)
    SAME (unplanned[i].size_bytes), SAME (unplanned[i].block_bytes),
        SAME (unplanned[i].section), SAME (unplanned[i].before), SAME (unplanned[i].born),
        SAME (unplanned[i].phase), SAME (unplanned[i].ordinal), SAME (unplanned[i].block),
        SAME (unplanned[i].stream), SAME (unplanned[i].pool);
  for (size_t i = 0; i < a->n_edits; i++)
    {
      SAME_TEXT (edits[i].name);
      SAME_TEXT (edits[i].rule);
    }
  for (size_t i = 0; i < a->n_strings; i++)
    SAME_TEXT (strings[i]);
}

static void
lengths_assert_equal (const TesseraLengths *a, const TesseraLengths *b)
{
  SAME (n_observed), SAME (n_steps), SAME (most.batch), SAME (most.length),
      SAME (has_batch), SAME (n_swept), SAME (fixed_bytes), SAME (start_bytes),
      SAME (alignment_bytes), SAME (n_early), SAME (n_strings), SAME (n_laws),
      SAME (n_slots), SAME (n_start), SAME (n_orders);
  SAME_ALL (observed, a->n_observed);
  SAME_TEXT (cut_phase);
  for (uint32_t i = 0; i < a->n_strings; i++)
    SAME_TEXT (strings[i]);
  for (uint32_t i = 0; i < a->n_laws; i++)
    SAME_ALL (laws[i].numerators, TESSERA_N_TERMS), SAME (laws[i].denominator),
        SAME (laws[i].cap_bytes), SAME (laws[i].rounding), SAME (laws[i].kind);
  for (uint32_t i = 0; i < a->n_slots; i++)
    SAME (slots[i].law), SAME (slots[i].died), SAME (slots[i].phase),
        SAME (slots[i].stream), SAME (slots[i].pool), SAME (slots[i].place),
        SAME (slots[i].is_once), SAME (slots[i].crosses), SAME (slots[i].offset_bytes),
        SAME (slots[i].spare_bytes), SAME (slots[i].seen), SAME (slots[i].from_tokens),
        SAME (slots[i].to_tokens), SAME (slots[i].is_over_cuts), SAME (slots[i].gone);
  for (uint32_t i = 0; i < a->n_start; i++)
    SAME (start[i].size_bytes), SAME (start[i].block_bytes), SAME (start[i].offset_bytes),
        SAME (start[i].died), SAME (start[i].phase), SAME (start[i].stream),
        SAME (start[i].pool), SAME (start[i].is_held), SAME (start[i].is_left);
  for (uint32_t i = 0; i < a->n_orders; i++)
    SAME (orders[i].from_tokens), SAME (orders[i].is_first), SAME (orders[i].in_spare),
        SAME (orders[i].n_low), SAME (orders[i].n_edges),
        SAME_ALL (orders[i].slots, a->n_swept), SAME_ALL (orders[i].laws, a->n_swept),
        SAME_ALL (orders[i].first_edge, a->n_swept + 1),
        SAME_ALL (orders[i].below, a->orders[i].n_edges);
}

void
test_plans_assert_equal (const TesseraPlan *a, const TesseraPlan *b)
{
  parts_assert_equal (a, b);
  SAME (proven_bound_bytes), SAME (cut_short), SAME (work_budget), SAME (n_positions),
      SAME (height_bytes), SAME (bound_bytes), SAME (alignment_bytes),
      SAME (trace_fingerprint), SAME (slot_digest), SAME (device), SAME (n_streams),
      SAME (crosses_streams), SAME (followable), SAME (checked), SAME (world),
      SAME (rank), SAME (device_bytes);
  SAME_TEXT (follow_reason);
  SAME_TEXT (strategy);
  SAME_TEXT (source);
  SAME_TEXT (torch);
  g_assert_true (!a->lengths == !b->lengths);
  if (a->lengths)
    lengths_assert_equal (a->lengths, b->lengths);
}

/* A part of a step of six requests: tokens, known at once and so in a fixed place; two
 * that are swept, one on the other; a loss that crosses; the optimizer's state; a
 * gradient. */
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
    { 1, 3, TESSERA_NONE, 0, 0, TESSERA_PLACE_SWEPT, false, false, 0, 0,
      TESSERA_SEEN_ANYWHERE, 30, 70 },
    { 2, 5, 0, 0, 0, TESSERA_PLACE_FIXED, false, true, 12288, 12800 },
    { 2, 5, 0, 0, 0, TESSERA_PLACE_FIXED, true, false, 13312, 0 },
    { 2, 6, 0, 0, 0, TESSERA_PLACE_FIXED, false, false, 13824, 0, TESSERA_SEEN_FIRST, 0,
      0, true },
  };
  static const TesseraStartSlot start[] = {
    { 4000, 4096, 0, 2, 0, 0, 0, true },
    { 100, 512, 4096, 2, TESSERA_NONE, 0, 0, false },
  };
  TesseraLengths *lengths;

  OK (tessera_lengths_new (&lengths));
  lengths->n_laws = 3;
  lengths->laws = g_memdup2 (laws, sizeof laws);
  lengths->n_slots = 6;
  lengths->slots = g_memdup2 (slots, sizeof slots);
  lengths->n_start = 2;
  lengths->start = g_memdup2 (start, sizeof start);
  lengths->n_observed = 3;
  lengths->observed = calloc (3, sizeof *lengths->observed);
  for (uint32_t i = 0; i < 3; i++)
    lengths->observed[i] = (TesseraParameters){ 1, 100 + i };
  lengths->most = (TesseraParameters){ 1, 1024 };
  lengths->n_steps = 4;
  lengths->n_early = 1;
  lengths->n_swept = 2;
  lengths->fixed_bytes = 14336;
  lengths->cut_phase = strdup ("forward");
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

      OK (tessera_order_init (order, 2, 1));
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
