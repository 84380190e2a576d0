/*
 * The checker of plans for every length looks at every step that was seen, and at others
 * up to the most.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/lengths.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

enum
{
  MOST_LENGTH = 1600,
  N_OBSERVED = 3
};

typedef struct
{
  TesseraLengths of;
  TesseraSizeLaw law;
  TesseraLengthsSlot slots[2];
  TesseraOrder order;
  TesseraParameters observed[N_OBSERVED];
} Made;

/* Two slots at one address, alive together where the second is asked for at all: from so
 * many tokens on, and up to so many. */
static void
make (Made *made, guint64 from_tokens, guint64 to_tokens)
{
  *made = (Made){
    .of = { .n_observed = N_OBSERVED,
            .most = { 1, MOST_LENGTH },
            .n_laws = 1,
            .n_slots = 2,
            .n_swept = 2,
            .n_orders = 1,
            .alignment_bytes = 512 },
    .law = { .denominator = 1, .rounding = 1 },
    .observed = { { 1, 333 }, { 1, 777 }, { 1, 1111 } },
  };
  made->law.numerators[TESSERA_TERM_ONE] = 512;
  for (guint i = 0; i < 2; i++)
    made->slots[i] = (TesseraLengthsSlot){ .died = 2, .phase = TESSERA_NONE };
  made->slots[1].from_tokens = from_tokens;
  made->slots[1].to_tokens = to_tokens;
  OK (tessera_order_init (&made->order, 2, 1));
  made->order.slots[1] = 1;
  made->order.n_edges = 0;
  made->of.observed = made->observed;
  made->of.laws = &made->law;
  made->of.slots = made->slots;
  made->of.orders = &made->order;
}

static gboolean
is_accepted (Made *made, TesseraError *error)
{
  TesseraLaw law;

  *error = (TesseraError){ 0 };
  TesseraStatus status = tessera_check_lengths (&made->of, &law, error);
  tessera_order_clear (&made->order);
  if (status == TESSERA_OK)
    return TRUE;
  g_assert_cmpint (status, ==, TESSERA_REFUSED);
  g_assert_cmpint (law, ==, TESSERA_LAW_OVERLAP);
  return FALSE;
}

/* Each of those that were seen, at which no other step is looked at. */
static void
test_observed (void)
{
  static const guint64 lengths[N_OBSERVED] = { 333, 777, 1111 };
  TesseraError error;
  Made made;

  for (guint i = 0; i < N_OBSERVED; i++)
    {
      g_autofree char *where = g_strdup_printf ("*length %u:*", (guint) lengths[i]);

      make (&made, lengths[i], lengths[i]);
      g_assert_false (is_accepted (&made, &error));
      g_assert_true (g_pattern_match_simple (where, error.text));
      make (&made, lengths[i], lengths[i]);
      made.observed[i].length++;
      g_assert_true (is_accepted (&made, &error));
    }
}

/* The shortest, the longest, and no gap between that is much wider than a sixteenth. */
static void
test_between (void)
{
  const guint64 step = MOST_LENGTH / 16 + 1;
  TesseraError error;
  Made made;

  for (guint64 from = 1; from + step <= MOST_LENGTH; from += 37)
    {
      make (&made, from, from + step);
      made.of.n_observed = 0;
      g_assert_false (is_accepted (&made, &error));
    }
  make (&made, 1, 1);
  g_assert_false (is_accepted (&made, &error));
  make (&made, MOST_LENGTH, MOST_LENGTH);
  g_assert_false (is_accepted (&made, &error));
  make (&made, MOST_LENGTH + 1, 0);
  g_assert_true (is_accepted (&made, &error));
}

/* Every batch, the largest at the longest among them. */
static void
test_batches (void)
{
  TesseraError error;
  Made made;

  /* 4 x 1600 tokens are those of the largest batch at the longest alone. */
  make (&made, (guint64) 4 * MOST_LENGTH, 0);
  made.of.most.batch = 4;
  made.of.n_observed = 0;
  g_assert_false (is_accepted (&made, &error));
  make (&made, 64, 64);
  made.of.most = (TesseraParameters){ 64, MOST_LENGTH };
  made.of.n_observed = 0;
  g_assert_true (is_accepted (&made, &error));
}

typedef struct
{
  guint n_steps, n_whole, n_rest; /* looked at; of these with both slots; with one */
} Seen;

static TesseraStatus
count_step (const TesseraPlan *plan,
            const TesseraParameters *parameters,
            const TesseraInstanceOptions *way,
            void *user)
{
  Seen *seen = user;

  (void) parameters;
  (void) way;
  seen->n_steps++;
  seen->n_whole += plan->n_slots == 2;
  seen->n_rest += plan->n_slots == 1;
  return TESSERA_OK;
}

/* Where a phase cuts steps into parts, the parts are looked at as well: one that makes what
 * is there over cuts, and one that finds it. */
static void
test_parts (void)
{
  Seen whole = { 0 }, cut = { 0 };
  Made made;

  make (&made, 0, 0);
  made.slots[1].is_over_cuts = true;
  OK (tessera_check_each_step (&made.of, count_step, &whole));
  made.of.cut_phase = (char *) "forward";
  OK (tessera_check_each_step (&made.of, count_step, &cut));
  tessera_order_clear (&made.order);
  g_assert_cmpuint (whole.n_whole, ==, whole.n_steps);
  g_assert_cmpuint (cut.n_steps, ==, whole.n_steps / 3 * 5);
  g_assert_cmpuint (cut.n_rest, ==, whole.n_steps / 3);
}

/* A swept slot, and two that take turns in the four places at @offsets: each its own, then
 * each its spare. @fixed: another slot has a place there, not 0. */
static gboolean
are_turns_accepted (const guint64 offsets[4], guint64 fixed, TesseraError *error)
{
  TesseraLengthsSlot slots[4] = { { .died = 4, .phase = TESSERA_NONE } };
  TesseraOrder orders[2];
  Made made;

  make (&made, 0, 0);
  for (guint i = 1; i < 4; i++)
    slots[i] = (TesseraLengthsSlot){ .died = 4,
                                     .phase = TESSERA_NONE,
                                     .place = TESSERA_PLACE_FIXED,
                                     .crosses = i < 3,
                                     .offset_bytes = i < 3 ? offsets[i - 1] : fixed,
                                     .spare_bytes = i < 3 ? offsets[i + 1] : 0,
                                     .gone = i < 3 ? 3 : 0 };
  for (guint k = 0; k < 2; k++)
    {
      OK (tessera_order_init (&orders[k], 1, 0));
      orders[k].in_spare = k == 1;
    }
  made.of.slots = slots;
  made.of.n_slots = fixed > 0 ? 4 : 3;
  for (guint i = 0; i < made.of.n_slots; i++)
    slots[i].died = made.of.n_slots;
  made.of.n_swept = 1;
  made.of.orders = orders;
  made.of.n_orders = 2;
  made.of.fixed_bytes = 4096;
  gboolean is_right = is_accepted (&made, error);
  for (guint k = 0; k < 2; k++)
    tessera_order_clear (&orders[k]);
  return is_right;
}

/* Of places that are not in the order of their slots a sweep steps from one over the next
 * into the first: what the step before left there is in the way. So may be what else lies
 * between them. */
static void
test_turns (void)
{
  static const guint64 good[4] = { 0, 512, 1024, 1536 };
  static const guint64 crossed[4] = { 512, 0, 1024, 1536 };
  TesseraError error;

  g_assert_true (are_turns_accepted (good, 0, &error));
  g_assert_false (are_turns_accepted (crossed, 0, &error));
  g_assert_nonnull (strstr (error.text, "of the step before"));
  g_assert_false (are_turns_accepted (good, 2048, &error));
  g_assert_nonnull (strstr (error.text, "in turns"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/lengths/observed", test_observed);
  g_test_add_func ("/check/lengths/between", test_between);
  g_test_add_func ("/check/lengths/batches", test_batches);
  g_test_add_func ("/check/lengths/parts", test_parts);
  g_test_add_func ("/check/lengths/turns", test_turns);
  return g_test_run ();
}
