/*
 * Small and large blocks that follow each other in plans for every length: a checker, the
 * guard of the pool and a count by hand agree on when they may.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/check.h"
#include "planner/lengths/orders/lay-out.h"
#include "planner/lengths/orders/refused.h"
#include "tests/fail_alloc.h"

#define KIB ((uint64_t) 1 << 10)

enum
{
  N_PLANS = 300,
  N_LENGTHS = 8,
  MAX_SLOTS = 40,
  MAX_LAWS = 6,
  MOST = 4000
};

static TesseraLengths *
lengths_new (uint32_t n_slots, uint32_t n_laws)
{
  TesseraLengths *of;

  g_assert_cmpint (tessera_lengths_new (&of), ==, TESSERA_OK);
  of->alignment_bytes = 512;
  of->most = (TesseraParameters){ 1, MOST };
  of->n_laws = n_laws;
  of->laws = g_new0 (TesseraSizeLaw, n_laws);
  of->n_slots = of->n_swept = n_slots;
  of->slots = g_new0 (TesseraLengthsSlot, n_slots);
  for (uint32_t i = 0; i < n_slots; i++)
    of->slots[i] = (TesseraLengthsSlot){ .died = i + 1, .phase = TESSERA_NONE };
  return of;
}

static TesseraSizeLaw
law_of (int64_t constant, int64_t per_token)
{
  TesseraSizeLaw law = { .denominator = 1, .rounding = 1 };

  law.kind = per_token ? TESSERA_SIZE_AFFINE : TESSERA_SIZE_CONSTANT;
  law.numerators[TESSERA_TERM_ONE] = constant;
  law.numerators[TESSERA_TERM_TOKENS] = per_token;
  return law;
}

/* The example of closed.h: A, slot 3, ends at slot 4; 5 asks for 2 MiB, 6 for 1 KiB. */
static TesseraLengths *
example (void)
{
  TesseraLengths *of = lengths_new (8, 4);

  of->laws[0] = law_of (0, KIB);
  of->laws[1] = law_of (2048 * KIB, 0);
  of->laws[2] = law_of (KIB, 0);
  of->laws[3] = law_of (3072 * KIB, 0);
  for (uint32_t i = 0; i < of->n_slots; i++)
    of->slots[i].law = i == 3 ? 0 : i == 6 ? 2 : i == 5 ? 1 : 3;
  return of;
}

static void
test_closed (void)
{
  TesseraLengths *of = example ();
  const TesseraParameters at[] = { { 1, 512 }, { 1, 1000 }, { 1, 4000 } };
  TesseraClosed closed[8];
  bool is_for;

  g_assert_cmpint (tessera_closed_find (of, at, 2, closed, &is_for), ==, TESSERA_OK);
  g_assert_true (is_for);
  g_assert_cmpuint (closed[3].opens, ==, 6);
  g_assert_cmpuint (closed[3].tail, ==, 0);
  g_assert_cmpuint (closed[3].owner, ==, closed[6].owner);
  g_assert_cmpuint (closed[3].owner, !=, closed[5].owner);
  g_assert_cmpint (tessera_closed_find (of, at + 2, 1, closed, &is_for), ==, TESSERA_OK);
  g_assert_cmpuint (closed[3].opens, ==, 4);
  g_assert_cmpuint (closed[3].owner, ==, closed[5].owner);
  /* Nothing so small comes again: not in this step, and in the next one not before it. */
  g_assert_cmpuint (closed[6].opens, ==, 8);
  g_assert_cmpuint (closed[6].tail, ==, 6);
  g_assert_cmpint (tessera_closed_find (of, at, 3, closed, &is_for), ==, TESSERA_OK);
  g_assert_cmpuint (closed[3].opens, ==, 6);
  g_assert_cmpuint (closed[3].owner, !=, closed[5].owner);
  g_assert_cmpuint (closed[3].owner, !=, closed[6].owner);
  tessera_lengths_free (of);
}

static TesseraLengths *
make (GRand *rand)
{
  TesseraLengths *of = lengths_new ((uint32_t) g_rand_int_range (rand, 2, MAX_SLOTS),
                                    (uint32_t) g_rand_int_range (rand, 2, MAX_LAWS));

  for (uint32_t i = 0; i < of->n_laws; i++)
    of->laws[i] = law_of (g_rand_int_range (rand, 1, 3) == 1
                              ? 512
                              : g_rand_int_range (rand, 512, 3 << 20),
                          g_rand_int_range (rand, 0, 3) > 0
                              ? g_rand_int_range (rand, 0, 2000)
                              : 0);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      uint32_t died = i + 1 + (uint32_t) g_rand_int_range (rand, 0, 8);

      of->slots[i].law = (uint32_t) g_rand_int_range (rand, 0, (gint32) of->n_laws);
      of->slots[i].died = MIN (died, of->n_slots);
    }
  of->orders = calloc (1, sizeof *of->orders);
  return of;
}

/* Gives @of the order of a packing at the @k-th of the lengths. */
static void
lay_out (TesseraLengths *of,
         const TesseraParameters *at,
         size_t k,
         const TesseraClosed *closed)
{
  const TesseraPackOptions pack = { .n_threads = 1, .work_budget = 500 };
  const TesseraLengthsOptions options = { .pack = &pack };
  const TesseraLengthsBuild build = { .options = &options, .out = of };
  const TesseraLayOutWay way = { .closed = closed };
  g_autofree uint64_t *sizes = g_new (uint64_t, of->n_laws);
  g_autofree TesseraLaidOut *laid_out = g_new0 (TesseraLaidOut, of->n_swept);
  g_autofree uint32_t *swept = g_new (uint32_t, of->n_swept);

  for (uint32_t i = 0; i < of->n_swept; i++)
    swept[i] = i;
  g_assert_true (tessera_sweep_sizes (of, &at[k], sizes));
  g_assert_cmpint (
      tessera_lengths_lay_out (&build, swept, &way, sizes, laid_out,
                               &of->orders->n_low),
      ==, TESSERA_OK);
  g_assert_cmpint (
      tessera_order_from_layout (laid_out, of->n_swept, of->n_slots, of->orders), ==,
      TESSERA_OK);
  for (uint32_t i = 0; i < of->n_swept; i++)
    of->orders->laws[i] = of->slots[of->orders->slots[i]].law;
  of->n_orders = 1;
}

/* Whether the checker accepts all of @at, each of which the guard is asked about too. */
static gboolean
is_accepted (const TesseraLengths *of, const TesseraParameters *at, size_t n)
{
  gboolean are_all = TRUE;

  for (size_t i = 0; i < n; i++)
    {
      const TesseraParameters twice[] = { at[i], at[i] };
      TesseraLaw law;
      TesseraError error = { 0 };
      uint64_t refused_bytes;
      TesseraStatus status =
          tessera_check_lengths_sizes (of, &at[i], 1, &law, &error);

      g_assert_cmpint (tessera_lengths_refused (of, twice, 2, &refused_bytes), ==,
                       TESSERA_OK);
      g_assert_cmpint (status, ==, refused_bytes > 0 ? TESSERA_REFUSED : TESSERA_OK);
      if (status == TESSERA_REFUSED)
        g_assert_cmpint (law, ==, TESSERA_LAW_STREAMS);
      are_all = are_all && status == TESSERA_OK;
    }
  return are_all;
}

/* Kept closed at all of some lengths, an order from a packing at any is accepted at each;
 * of those from packings that keep nothing closed many are refused. */
static void
test_random (void)
{
  GRand *rand = g_rand_new_with_seed (20261123);
  guint n_refused = 0, n_passing = 0;

  for (int i = 0; i < N_PLANS; i++)
    {
      TesseraLengths *of = make (rand);
      TesseraParameters at[N_LENGTHS];
      TesseraClosed closed[MAX_SLOTS];
      bool is_for;
      size_t k = (size_t) g_rand_int_range (rand, 0, N_LENGTHS);

      for (size_t l = 0; l < N_LENGTHS; l++)
        at[l] = (TesseraParameters){ 1, (uint64_t) g_rand_int_range (rand, 1, MOST) };
      g_assert_cmpint (tessera_closed_find (of, at, N_LENGTHS, closed, &is_for), ==,
                       TESSERA_OK);
      g_assert_true (is_for);
      lay_out (of, at, k, closed);
      g_assert_true (is_accepted (of, at, N_LENGTHS));
      n_passing++;
      tessera_order_clear (of->orders);
      lay_out (of, at, k, NULL);
      n_refused += !is_accepted (of, at, N_LENGTHS);
      tessera_lengths_free (of);
    }
  g_test_message ("%u plans accepted; %u of those that keep nothing closed refused",
                  n_passing, n_refused);
  g_assert_cmpuint (n_refused, >, N_PLANS / 4);
  g_rand_free (rand);
}

/* A step of a large block of 4 KiB a token, gone before eight small ones of 512 KiB come.
 * @opens: between them it asks for something that PyTorch could have served from the large
 * one, and at the begin of the next step for what it could have from the small ones. */
static TesseraLengths *
step_of (bool opens)
{
  TesseraLengths *of = lengths_new (12, 4);

  of->laws[0] = law_of (0, 4 * KIB);
  of->laws[1] = law_of (512 * KIB, 0);
  of->laws[2] = law_of (512, 0);
  of->laws[3] = law_of (1536 * KIB, 0);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      of->slots[i].law = 1;
      of->slots[i].died = i < 4 ? i + 1 : of->n_slots;
    }
  of->slots[0].law = 2;
  of->slots[1].law = 0;
  of->slots[2].law = of->slots[3].law = opens ? 3 : 2;
  if (!opens)
    of->slots[0].place = TESSERA_PLACE_NONE;
  of->n_swept -= !opens;
  of->observed = g_new0 (TesseraParameters, 3);
  for (uint32_t i = 0; i < 3; i++)
    of->observed[i] = (TesseraParameters){ 1, MOST / 4 * (i + 2) };
  of->n_observed = 3;
  return of;
}

/* The plan's orders, and what it takes at the most. */
static uint64_t
plan (TesseraLengths *of, uint16_t n_streams)
{
  TesseraTrace trace = { .n_streams = n_streams };
  const TesseraLengthsOptions options = { .pack = NULL };
  TesseraLengthsBuild build = { .trace = &trace, .options = &options, .out = of };
  TesseraError error = { 0 };
  TesseraLengthsNeed need;

  g_assert_cmpint (tessera_lengths_orders (&build, &error), ==, TESSERA_OK);
  g_assert_cmpint (tessera_lengths_measure (of, &of->most, &need), ==, TESSERA_OK);
  return need.height_bytes;
}

static void
test_plan (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB, small_bytes = 8 * 512 * KIB;
  static const struct
  {
    bool opens;
    uint16_t n_streams;
    bool are_apart;
  } cases[] = { { true, 1, false }, { true, 2, false }, { false, 1, false }, { false, 2, true } };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLengths *of = step_of (cases[i].opens);
      uint64_t height_bytes = plan (of, cases[i].n_streams);

      if (!cases[i].are_apart)
        g_assert_cmpuint (height_bytes, <=, large_bytes + 512); /* slot 0 */
      else
        g_assert_cmpuint (height_bytes, >=, large_bytes + small_bytes);
      tessera_lengths_free (of);
    }
}

/* Small blocks come first, and in the next step lie where a large one was that ended this
 * step: once one of three quarters its size was asked for. That one is larger, though, where
 * the next step is twice as long. */
static TesseraLengths *
step_before (uint64_t shortest)
{
  TesseraLengths *of = lengths_new (11, 4);

  of->laws[0] = law_of (0, 3 * KIB);
  of->laws[1] = law_of (512 * KIB, 0);
  of->laws[2] = law_of (512, 0);
  of->laws[3] = law_of (0, 4 * KIB);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      of->slots[i].law = i == 0 ? 0 : i == 9 ? 2 : i == 10 ? 3 : 1;
      of->slots[i].died = i > 0 && i < 9 ? 9 : i + 1;
    }
  of->observed = g_new0 (TesseraParameters, 3);
  of->observed[0] = of->observed[2] = (TesseraParameters){ 1, MOST };
  of->observed[1] = (TesseraParameters){ 1, shortest };
  of->n_observed = 3;
  return of;
}

static void
test_other_length (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB, small_bytes = 8 * 512 * KIB;
  TesseraLengths *of = step_before (MOST);

  g_assert_cmpuint (plan (of, 2), ==, large_bytes / 4 * 3 + small_bytes);
  tessera_lengths_free (of);
  of = step_before (MOST / 2);
  g_assert_cmpuint (plan (of, 2), >=, large_bytes + small_bytes);
  tessera_lengths_free (of);
}

/* Small ones where a large one was that nothing opened: the checker says at which length,
 * and names a second one only where there is such. */
static void
test_sentence (void)
{
  TesseraLengths *of = step_before (MOST);
  TesseraParameters at = { 1, MOST };
  TesseraLaw law;
  TesseraError error = { 0 };

  of->orders = calloc (1, sizeof *of->orders);
  lay_out (of, &at, 0, NULL);
  g_assert_cmpint (tessera_check_lengths_sizes (of, &at, 1, &law, &error), ==,
                   TESSERA_REFUSED);
  g_assert_true (g_str_has_prefix (error.text, "at batch 1 and length 4000: "));
  at.second = 7;
  error = (TesseraError){ 0 };
  g_assert_cmpint (tessera_check_lengths_sizes (of, &at, 1, &law, &error), ==,
                   TESSERA_REFUSED);
  g_assert_true (
      g_str_has_prefix (error.text, "at batch 1 and length 4000, second length 7: "));
  tessera_lengths_free (of);
}

static void
test_no_memory (void)
{
  TesseraLengths *of = example ();
  const TesseraParameters at[] = { { 1, 512 }, { 1, 4000 } };
  TesseraClosed closed[8];
  bool is_for;
  unsigned long nth = 1;

  for (;; nth++)
    {
      long held = tessera_fail_alloc_held ();
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status = tessera_closed_find (of, at, 2, closed, &is_for);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          break;
        }
      g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  g_assert_cmpuint (nth, >, 5);
  tessera_lengths_free (of);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/passing/closed", test_closed);
  g_test_add_func ("/planner/passing/random", test_random);
  g_test_add_func ("/planner/passing/plan", test_plan);
  g_test_add_func ("/planner/passing/other-length", test_other_length);
  g_test_add_func ("/planner/passing/sentence", test_sentence);
  g_test_add_func ("/planner/passing/no-memory", test_no_memory);
  return g_test_run ();
}
