/*
 * Plans for every length: no two blocks that are alive together overlap, at any length; of
 * random steps, too: whatever the laws are, and whichever packing an order is from, the
 * layout at any length passes the checker.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/check.h"
#include "planner/lengths/private.h"
#include "planner/lengths/test-steps.h"
#include "planner/pack.h"

typedef struct
{
  TestStudied of;
  TesseraLengths *lengths;
} Planned;

static Planned
plan (TesseraTrace *trace)
{
  Planned planned = { .of = test_study (trace) };

  planned.lengths = test_plan_lengths (&planned.of);
  return planned;
}

static void
clear (Planned *of)
{
  tessera_lengths_free (of->lengths);
  test_study_clear (&of->of);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Planned, clear)

/* Random rectangles, packed; then other sizes in the same order: nothing overlaps, and
 * nothing floats: each lies on the bottom or on another. */
static void
test_order (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (int round = 0; round < 60; round++)
    {
      uint32_t n = (uint32_t) g_rand_int_range (rand, 1, 120);
      TesseraItem items[120] = { { 0 } };
      TesseraLaidOut laid_out[120];
      TesseraSizeLaw laws[120] = { { { 0 } } };
      uint64_t offsets[120], sizes[120], tops[120];
      TesseraPackOptions options = { 0 };
      TesseraLengths lengths = { .laws = laws,
                                 .n_laws = n,
                                 .n_swept = n,
                                 .alignment_bytes = 512,
                                 .fixed_bytes = 4096 };
      TesseraPacking packing;
      TesseraOrder order;

      for (uint32_t i = 0; i < n; i++)
        items[i] = (TesseraItem){
          .size_bytes = 512 * (uint64_t) g_rand_int_range (rand, 1, 100),
          .begin = (uint32_t) g_rand_int_range (rand, 0, 200),
          .end = 200 + (uint32_t) g_rand_int_range (rand, 1, 50),
        };
      for (uint32_t i = 0; i < n; i++)
        if (i % 3 > 0)
          items[i].end = items[i].begin + 1 + (uint32_t) g_rand_int_range (rand, 0, 40);
      OK (tessera_pack (items, n, &options, offsets, &packing));
      for (uint32_t i = 0; i < n; i++)
        laid_out[i] = (TesseraLaidOut){ .begin = items[i].begin,
                                        .end = items[i].end,
                                        .offset_bytes = offsets[i] };
      tessera_order_from_layout (laid_out, n, &order);
      for (uint32_t i = 0; i < n; i++)
        {
          order.laws[i] = order.slots[i];
          sizes[i] = items[i].size_bytes;
        }
      /* In the sizes that it was made of it is no higher. */
      g_assert_cmpuint (tessera_sweep (&lengths, &order, sizes, NULL, tops), <=,
                        packing.height_bytes + 4096);
      for (uint32_t i = 0; i < n; i++)
        sizes[i] = 512 * (uint64_t) g_rand_int_range (rand, 1, 1000);
      (void) tessera_sweep (&lengths, &order, sizes, NULL, tops);
      for (uint32_t i = 0; i < n; i++)
        {
          uint64_t bottom = tops[i] - sizes[order.slots[i]];
          const TesseraItem *a = &items[order.slots[i]];
          bool rests = bottom == 4096;

          for (uint32_t k = 0; k < n; k++)
            {
              const TesseraItem *b = &items[order.slots[k]];

              rests = rests || tops[k] == bottom;
              if (k != i && a->begin < b->end && b->begin < a->end)
                g_assert_true (tops[k] <= bottom ||
                               tops[i] <= tops[k] - sizes[order.slots[k]]);
            }
          g_assert_true (rests);
        }
      tessera_order_clear (&order);
    }
}

static const TesseraInstanceOptions first_step = { .shares_once = true,
                                                   .is_first = true };
static const TesseraInstanceOptions later_step = { 0 };

/* What the plan says of a step's own blocks, in the order of the trace's events: the
 * trace itself is what it is judged by, not the merged sequence. */
static void
check_step (const Planned *planned,
            const TesseraKind *kind,
            uint32_t k,
            const TesseraInstanceOptions *options)
{
  const TesseraLengths *lengths = planned->lengths;
  const TesseraBlock *blocks = planned->of.blocks->blocks;
  g_autoptr (TesseraPlan) instance = NULL;
  TesseraLaw law;

  OK (tessera_instance_of_step (lengths, &lengths->observed[k], options, &instance));
  WORKS (error, tessera_check_plan (instance, NULL, &law, &error));
  for (size_t i = 0; i < instance->n_slots; i++)
    {
      const TesseraSlot *a = &instance->slots[i];
      uint32_t x = tessera_kind_block (kind, a->block, k);

      if (x == TESSERA_NONE)
        continue;
      g_assert_cmpuint (a->block_bytes, >=, blocks[x].block_bytes);
      for (size_t j = i + 1; j < instance->n_slots; j++)
        {
          const TesseraSlot *b = &instance->slots[j];
          uint32_t y = tessera_kind_block (kind, b->block, k);

          if (y != TESSERA_NONE && blocks[y].born_index < blocks[x].died_index)
            g_assert_true (a->offset_bytes + a->block_bytes <= b->offset_bytes ||
                           b->offset_bytes + b->block_bytes <= a->offset_bytes);
        }
    }
}

static void
test_observed (void)
{
  for (int variant = 0; variant < 8; variant++)
    {
      const TestSteps made = { 8, 12, variant & 1, variant & 2, variant & 4 };
      g_auto (Planned) planned = plan (test_steps_trace (&made));
      const TesseraKind *kind = tessera_laws_main (planned.of.laws);

      for (uint32_t k = 0; k < kind->n_steps; k++)
        {
          check_step (&planned, kind, k, &first_step);
          check_step (&planned, kind, k, &later_step);
        }
    }
}

/* What is there before the first step shares no address with another stream. */
static void
test_streams_at_start (void)
{
  const TestSteps made = { 8, 12, .copies_first = true };
  TesseraLaw law;
  uint32_t n_of_other = 0;
  g_auto (Planned) planned = plan (test_steps_trace (&made));

  WORKS (error, tessera_check_lengths (planned.lengths, &law, &error));
  for (uint32_t i = 0; i < planned.lengths->n_start; i++)
    n_of_other += planned.lengths->start[i].stream == 1;
  g_assert_cmpuint (n_of_other, ==, 1);
}

/* Another seed: lengths and batches that the plan was not made from. What it says of them
 * holds the blocks of such a run, and is hardly above the bound. */
static void
test_unseen (void)
{
  for (int variant = 0; variant < 4; variant++)
    {
      const TestSteps made = { 8, 12, variant & 1, variant & 2, true };
      const TesseraInstanceOptions options = { .shares_once = true, .is_first = true };
      g_auto (Planned) planned = plan (test_steps_trace (&made));

      for (uint64_t length = 40; length < 6000; length += 83)
        {
          const TesseraParameters at = { made.has_batch ? 1 + length % 4 : 1, length };
          g_autoptr (TesseraPlan) instance = NULL;
          TesseraLengthsNeed need;
          TesseraLaw law;

          TesseraStatus status =
              tessera_instance_of_step (planned.lengths, &at, &options, &instance);

          OK (status);
          WORKS (error, tessera_check_plan (instance, NULL, &law, &error));
          g_assert_true (tessera_lengths_measure (planned.lengths, &at, &need));
          g_assert_cmpuint (instance->height_bytes, <=, need.height_bytes);
          g_assert_cmpuint (need.height_bytes, >=, need.bound_bytes);
        }
    }
}

static uint64_t
height_of (const TesseraLengths *lengths,
           uint64_t length,
           const TesseraInstanceOptions *options)
{
  const TesseraParameters at = { 1, length };
  g_autoptr (TesseraPlan) instance = NULL;

  OK (tessera_instance_of_step (lengths, &at, options, &instance));
  return instance->height_bytes;
}

enum
{
  N_LAYERS = 20,
  GRADIENT_BYTES = 1 << 20,
  N_STATES = 3, /* of few requests, or the step is of another kind */
  STATE_BYTES = 8 << 20
};

/* Steps that hold one activation a layer, then trade each for a gradient; what updates
 * the weights needs a scratch, and in the first step makes its state. */
static TesseraTrace *
trace_of_training (void)
{
  TesseraTrace *trace = test_trace_new ();
  uint64_t addr = 1 << 20, first_gradient;

  for (uint32_t s = 0; s < 8; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;
      uint64_t tokens = addr, length = test_steps_lengths[s];

      test_alloc (trace, addr += 1 << 30, 8 * length);
      tokens = addr;
      for (uint64_t k = 0; k < N_LAYERS; k++)
        test_alloc (trace, addr += 1 << 30, 512 * length);
      first_gradient = addr + (1 << 30);
      for (uint64_t k = N_LAYERS; k-- > 0;)
        {
          test_alloc (trace, addr += 1 << 30, GRADIENT_BYTES);
          test_free (trace, tokens + ((k + 1) << 30), 512 * length);
        }
      test_alloc (trace, addr += 1 << 30, 4096);
      test_free (trace, addr, 4096);
      for (uint64_t k = 0; s == 0 && k < N_STATES; k++)
        test_alloc (trace, addr += 1 << 30, STATE_BYTES);
      for (uint64_t k = 0; k < N_LAYERS; k++)
        test_free (trace, first_gradient + (k << 30), GRADIENT_BYTES);
      test_free (trace, tokens, 8 * length);
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* While the state is not there others lie in its place: a first step that is long takes
 * nothing for it. */
static void
test_first (void)
{
  const TesseraInstanceOptions kept_free = { .is_first = true };
  const uint64_t state_bytes = (uint64_t) N_STATES * STATE_BYTES;
  g_auto (Planned) planned = plan (trace_of_training ());

  for (uint64_t length = 9000; length < 12000; length += 500)
    g_assert_cmpuint (height_of (planned.lengths, length, &first_step), <=,
                      height_of (planned.lengths, length, &kept_free) - state_bytes / 2);
}

typedef void (*Damage) (TesseraLengths *lengths);

static TesseraLengthsSlot *
find_slot (TesseraLengths *lengths, bool is_once)
{
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place == TESSERA_PLACE_FIXED &&
        lengths->slots[i].is_once == is_once)
      return &lengths->slots[i];
  g_assert_not_reached ();
}

static void
move_state (TesseraLengths *lengths)
{
  find_slot (lengths, true)->offset_bytes -= 512;
}

static void
move_early (TesseraLengths *lengths)
{
  find_slot (lengths, false)->offset_bytes -= 512;
}

static void
forget_edges (TesseraLengths *lengths)
{
  for (uint32_t k = 0; k < lengths->n_orders; k++)
    memset (lengths->orders[k].first_edge, 0,
            (lengths->n_swept + 1) * sizeof *lengths->orders[k].first_edge);
}

static void
lower_floor (TesseraLengths *lengths)
{
  lengths->fixed_bytes = 0;
}

/* The checker sees what is wrong with a plan for every length, whichever part it is. */
static void
test_refused (void)
{
  static const Damage damages[] = { move_state, move_early, forget_edges, lower_floor };
  const TestSteps made = { 8, 12, true, true, true };

  for (size_t i = 0; i < G_N_ELEMENTS (damages); i++)
    {
      TesseraLaw law;
      TesseraError error = { 0 };
      g_auto (Planned) planned = plan (test_steps_trace (&made));

      OK (tessera_check_lengths (planned.lengths, &law, &error));
      damages[i](planned.lengths);
      GIVES (TESSERA_REFUSED, tessera_check_lengths (planned.lengths, &law, &error));
      g_assert_cmpint (law, ==, TESSERA_LAW_OVERLAP);
    }
}

/* What is asked for as the most is no less than what was seen: else lengths count
 * something else. */
static void
test_stated_most (void)
{
  const TestSteps made = { 8, 12, true, true, true };
  TesseraLengthsOptions options = { .work_budget = 0 };
  TesseraError error = { 0 };
  TesseraLengths *again;
  g_auto (Planned) planned = plan (test_steps_trace (&made));

  options.most = planned.lengths->most;
  OK (tessera_lengths_plan (planned.of.trace, planned.of.blocks, planned.of.structure,
                            planned.of.laws, &options, &error, &again));
  tessera_lengths_free (again);
  options.most.length--;
  GIVES (TESSERA_REFUSED,
         tessera_lengths_plan (planned.of.trace, planned.of.blocks, planned.of.structure,
                               planned.of.laws, &options, &error, &again));
  g_assert_null (again);
  g_assert_nonnull (strstr (error.text, "asked for as the most"));
}

/* The first requests of a step tell its length and batch, seen or not. */
static void
test_guess (void)
{
  const TestSteps made = { 8, 12, true, false, false };
  g_autofree TesseraGuess *guess = g_new (TesseraGuess, 1);
  g_auto (Planned) planned = plan (test_steps_trace (&made));

  g_assert_cmpuint (planned.lengths->n_early, <=, 3);
  for (uint64_t batch = 1; batch <= 6; batch++)
    for (uint64_t length = 3; length < 9000; length += 97)
      {
        const TesseraParameters at = { batch, length };
        TesseraParameters known = { 0 };

        tessera_guess_init (guess, planned.lengths);
        g_assert_false (tessera_guess_is_known (guess, &known));
        for (uint32_t i = 0; i < planned.lengths->n_early; i++)
          {
            uint64_t bytes;

            g_assert_true (tessera_size_law_evaluate (
                &planned.lengths->laws[planned.lengths->slots[i].law], &at, &bytes));
            g_assert_true (tessera_guess_see (guess, i, bytes));
          }
        g_assert_true (tessera_guess_is_known (guess, &known));
        g_assert_cmpuint (known.batch, ==, batch);
        g_assert_cmpuint (known.length, ==, length);
        /* What contradicts it is left aside. */
        g_assert_false (tessera_guess_see (guess, 0, 1));
        g_assert_true (tessera_guess_is_known (guess, &known));
      }
}

/* A law may give nothing for what is shorter than any step: the length beyond a prompt.
 */
static void
test_prefix (void)
{
  TesseraSizeLaw law = {
    .numerators = { [TESSERA_TERM_ONE] = -34816, [TESSERA_TERM_TOKENS] = 16 },
    .denominator = 1,
    .rounding = 1,
    .kind = TESSERA_SIZE_AFFINE
  };
  TesseraLengthsSlot slot = { .died = 1 };
  const TesseraLengths of = { .most = { 1, 4158 },
                              .alignment_bytes = 512,
                              .laws = &law,
                              .slots = &slot,
                              .n_laws = 1,
                              .n_slots = 1,
                              .n_swept = 1 };
  g_autofree TesseraGuess *guess = g_new (TesseraGuess, 1);

  for (uint64_t length = 2177; length < 16000; length += 61)
    {
      TesseraParameters known = { 0 };

      tessera_guess_init (guess, &of);
      g_assert_true (tessera_guess_see (guess, 0, 16 * length - 34816));
      g_assert_true (tessera_guess_is_known (guess, &known));
      g_assert_cmpuint (known.length, ==, length);
    }
}

enum
{
  N_PLANS = 300,
  N_LENGTHS = 12,
  MAX_SLOTS = 60,
  MAX_LAWS = 8
};

static int64_t
below (GRand *rand, gint32 end)
{
  return g_rand_int_range (rand, 0, end);
}

static TesseraSizeLaw
make_law (GRand *rand)
{
  TesseraSizeLaw law = { .denominator = (uint32_t) (1 + below (rand, 4)), .rounding = 1 };

  law.numerators[TESSERA_TERM_ONE] = 1 + below (rand, 5000);
  if (below (rand, 4) == 0)
    return law;
  law.kind = TESSERA_SIZE_AFFINE;
  for (int term = TESSERA_TERM_BATCH; term < TESSERA_N_TERMS; term++)
    if (below (rand, 2) == 0)
      law.numerators[term] = below (rand, 40);
  if (below (rand, 3) == 0)
    law.rounding = (uint32_t) 8 << below (rand, 5);
  if (below (rand, 4) == 0)
    law.cap_bytes = (uint64_t) (1000 + below (rand, 500000));
  if (law.rounding > 1 || law.cap_bytes > 0)
    law.kind = TESSERA_SIZE_ROUNDED;
  return law;
}

static void
make_slots (GRand *rand, TesseraLengths *of)
{
  of->n_slots = (uint32_t) (1 + below (rand, MAX_SLOTS));
  of->slots = g_new0 (TesseraLengthsSlot, of->n_slots);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &of->slots[i];

      *slot = (TesseraLengthsSlot){
        .law = (uint32_t) below (rand, (gint32) of->n_laws),
        .died = i + 1 + (uint32_t) below (rand, (gint32) (of->n_slots - i)),
        .phase = TESSERA_NONE,
        .seen = (uint8_t) (below (rand, 3) == 0 ? 1 + below (rand, 2) : 0),
        .from_tokens = (uint64_t) (below (rand, 5) == 0 ? below (rand, 4000) : 0),
      };
      switch (below (rand, 8))
        {
        case 0:
          slot->place = TESSERA_PLACE_FIXED;
          slot->is_once = true;
          slot->died = of->n_slots;
          slot->seen = TESSERA_SEEN_FIRST;
          break;
        case 1:
          if (of->cut_phase && i > 2 && below (rand, 2) == 0)
            {
              slot->place = TESSERA_PLACE_FIXED;
              slot->is_over_cuts = true;
              slot->died = of->n_slots;
              slot->seen = TESSERA_SEEN_FIRST;
              break;
            }
          slot->place = TESSERA_PLACE_FIXED;
          slot->crosses = below (rand, 2) == 0;
          break;
        default:
          of->n_swept++;
        }
    }
}

/* As the planner does: what one step makes comes last, then what is there over cuts. */
static void
place_fixed (TesseraLengths *of)
{
  g_autofree uint64_t *most = g_new (uint64_t, of->n_laws);

  g_assert_true (tessera_sweep_sizes (of, &of->most, most));
  for (int turn = 0; turn < 3; turn++)
    for (uint32_t i = 0; i < of->n_slots; i++)
      {
        TesseraLengthsSlot *slot = &of->slots[i];

        if (slot->place != TESSERA_PLACE_FIXED ||
            slot->is_once + 2 * slot->is_over_cuts != turn)
          continue;
        slot->offset_bytes = slot->spare_bytes = of->fixed_bytes;
        of->fixed_bytes += most[slot->law];
      }
}

static void
add_order (TesseraLengths *of, const uint32_t *swept, bool is_first, GRand *rand)
{
  const TesseraLengthsOptions options = { .work_budget = 2000 };
  const TesseraLengthsBuild build = { .options = &options, .out = of };
  const TesseraParameters at = { 1 + (uint64_t) below (rand, 4),
                                 1 + (uint64_t) below (rand, 2000) };
  const TesseraLayOutWay way = { .is_first = is_first };
  g_autofree uint64_t *sizes = g_new (uint64_t, of->n_laws);
  g_autofree TesseraLaidOut *laid_out = g_new0 (TesseraLaidOut, of->n_swept + 1);
  TesseraOrder *order = &of->orders[of->n_orders];
  uint32_t n_low;

  g_assert_true (tessera_sweep_sizes (of, &at, sizes));
  OK (tessera_lengths_lay_out (&build, swept, &way, sizes, laid_out, &n_low));
  tessera_order_from_layout (laid_out, of->n_swept, order);
  order->is_first = is_first;
  order->n_low = n_low + (uint32_t) below (rand, 2) * (of->n_swept / 2);
  order->from_tokens = of->n_orders == 1 ? 1000 : 0;
  for (uint32_t i = 0; i < of->n_swept; i++)
    {
      order->slots[i] = swept[order->slots[i]];
      order->laws[i] = of->slots[order->slots[i]].law;
    }
  of->n_orders++;
}

static TesseraLengths *
make (GRand *rand)
{
  TesseraLengths *of;
  g_autofree uint32_t *swept = NULL;
  uint32_t n = 0;

  OK (tessera_lengths_new (&of));
  of->alignment_bytes = 512;
  of->most = (TesseraParameters){ 4, 2000 };
  of->has_batch = true;
  if (below (rand, 2) == 0)
    of->cut_phase = strdup ("forward");
  of->n_laws = (uint32_t) (1 + below (rand, MAX_LAWS));
  of->laws = g_new (TesseraSizeLaw, of->n_laws);
  for (uint32_t i = 0; i < of->n_laws; i++)
    of->laws[i] = make_law (rand);
  make_slots (rand, of);
  place_fixed (of);
  swept = g_new (uint32_t, of->n_slots);
  for (uint32_t i = 0; i < of->n_slots; i++)
    if (of->slots[i].place == TESSERA_PLACE_SWEPT)
      swept[n++] = i;
  of->orders = calloc (3, sizeof *of->orders);
  for (int k = 0; k < 3 && n > 0; k++)
    add_order (of, swept, k == 2, rand);
  return of;
}

/* Some of what one step makes may be there. */
static void
check_at (const TesseraLengths *of, GRand *rand)
{
  const TesseraParameters at = { 1 + (uint64_t) below (rand, 6),
                                 1 + (uint64_t) below (rand, 4000) };
  g_autofree bool *is_there = g_new0 (bool, of->n_slots);
  const TesseraInstanceOptions options = { .is_there = is_there,
                                           .shares_once = below (rand, 4) > 0,
                                           .is_first = below (rand, 3) > 0,
                                           .first_slot = (uint32_t) below (rand, 3) };
  g_autoptr (TesseraPlan) instance = NULL;
  TesseraLaw law;
  bool some_there = below (rand, 2) == 0;

  for (uint32_t i = 0; i < of->n_slots; i++)
    is_there[i] =
        some_there && tessera_lengths_slot_stays (&of->slots[i]) && below (rand, 2) == 0;
  OK (tessera_instance_of_step (of, &at, &options, &instance));
  WORKS (error, tessera_check_plan (instance, NULL, &law, &error));
  for (size_t i = 0; i < instance->n_slots; i++)
    for (uint32_t k = 0; k < of->n_slots; k++)
      if (is_there[k])
        g_assert_true (instance->slots[i].offset_bytes + instance->slots[i].block_bytes <=
                           of->slots[k].offset_bytes ||
                       instance->slots[i].offset_bytes > of->slots[k].offset_bytes);
}

static void
test_random (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20261122);

  for (int i = 0; i < N_PLANS; i++)
    {
      g_autoptr (TesseraLengths) of = make (rand);
      char reason[80];

      if (of->n_orders > 0)
        {
          g_assert_true (tessera_lengths_is_sound (of, reason, sizeof reason));
          for (int k = 0; k < N_LENGTHS; k++)
            check_at (of, rand);
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths/order", test_order);
  g_test_add_func ("/planner/lengths/observed", test_observed);
  g_test_add_func ("/planner/lengths/streams-at-start", test_streams_at_start);
  g_test_add_func ("/planner/lengths/unseen", test_unseen);
  g_test_add_func ("/planner/lengths/first", test_first);
  g_test_add_func ("/planner/lengths/refused", test_refused);
  g_test_add_func ("/planner/lengths/stated-most", test_stated_most);
  g_test_add_func ("/planner/lengths/guess", test_guess);
  g_test_add_func ("/planner/lengths/prefix", test_prefix);
  g_test_add_func ("/planner/lengths/random", test_random);
  return g_test_run ();
}
