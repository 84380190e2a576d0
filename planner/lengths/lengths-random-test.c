/*
 * Plans for every length of random steps: whatever the laws are, and whichever packing an
 * order is from, the layout at any length passes the checker.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/check.h"
#include "planner/lengths/private.h"

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
  const TesseraPackOptions pack = { .work_budget = 2000 };
  const TesseraLengthsOptions options = { .pack = &pack };
  const TesseraLengthsBuild build = { .options = &options, .out = of };
  const TesseraParameters at = { 1 + (uint64_t) below (rand, 4),
                                 1 + (uint64_t) below (rand, 2000) };
  const TesseraLayOutWay way = { .is_first = is_first };
  g_autofree uint64_t *sizes = g_new (uint64_t, of->n_laws);
  g_autofree TesseraLaidOut *laid_out = g_new0 (TesseraLaidOut, of->n_swept + 1);
  TesseraOrder *order = &of->orders[of->n_orders];
  uint32_t n_low;

  g_assert_true (tessera_sweep_sizes (of, &at, sizes));
  g_assert_cmpint (tessera_lengths_lay_out (&build, swept, &way, sizes, laid_out, &n_low),
                   ==, TESSERA_OK);
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

  g_assert_cmpint (tessera_lengths_new (&of), ==, TESSERA_OK);
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
  TesseraPlan *instance;
  TesseraLaw law;
  TesseraError error = { 0 };
  bool some_there = below (rand, 2) == 0;

  for (uint32_t i = 0; i < of->n_slots; i++)
    is_there[i] =
        some_there && tessera_lengths_slot_stays (&of->slots[i]) && below (rand, 2) == 0;
  g_assert_cmpint (tessera_instance_of_step (of, &at, &options, &instance), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_check_plan (instance, NULL, &law, &error), ==, TESSERA_OK);
  for (size_t i = 0; i < instance->n_slots; i++)
    for (uint32_t k = 0; k < of->n_slots; k++)
      if (is_there[k])
        g_assert_true (instance->slots[i].offset_bytes + instance->slots[i].block_bytes <=
                           of->slots[k].offset_bytes ||
                       instance->slots[i].offset_bytes > of->slots[k].offset_bytes);
  tessera_plan_free (instance);
}

static void
test_random (void)
{
  GRand *rand = g_rand_new_with_seed (20261122);

  for (int i = 0; i < N_PLANS; i++)
    {
      TesseraLengths *of = make (rand);
      char reason[80];

      if (of->n_orders > 0)
        {
          g_assert_true (tessera_lengths_is_sound (of, reason, sizeof reason));
          for (int k = 0; k < N_LENGTHS; k++)
            check_at (of, rand);
        }
      tessera_lengths_free (of);
    }
  g_rand_free (rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths/random", test_random);
  return g_test_run ();
}
