/*
 * Small and large blocks in plans for every length: in zones of their own or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "planner/lengths/private.h"

#define KIB ((uint64_t) 1 << 10)

enum
{
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

/* A step of a large block of 4 KiB a token, gone before @n_small ones of 512 KiB come. */
static TesseraLengths *
step_of (uint32_t n_small)
{
  TesseraLengths *of = lengths_new (1 + n_small, 2);

  of->laws[0] = law_of (0, 4 * KIB);
  of->laws[1] = law_of (512 * KIB, 0);
  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      of->slots[i].law = i > 0;
      of->slots[i].died = i > 0 ? of->n_slots : 1;
    }
  of->observed = g_new0 (TesseraParameters, 3);
  for (uint32_t i = 0; i < 3; i++)
    of->observed[i] = (TesseraParameters){ 1, MOST / 4 * (i + 2) };
  of->n_observed = 3;
  return of;
}

/* What a plan takes at the most. */
static uint64_t
plan (TesseraLengths *of, uint16_t n_streams, bool is_recorded)
{
  TesseraTrace *trace;
  const TesseraLengthsOptions options = { .pack = NULL };
  TesseraLengthsBuild build = { .options = &options, .out = of };
  TesseraLengthsNeed need;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->n_streams = n_streams;
  if (is_recorded)
    g_assert_cmpint (tessera_trace_set_meta (trace, "policy", "native"), ==, TESSERA_OK);
  build.trace = trace;
  g_assert_cmpint (tessera_lengths_orders (&build), ==, TESSERA_OK);
  g_assert_true (tessera_lengths_measure (of, &of->most, &need));
  trace->n_streams = 0;
  tessera_trace_free (trace);
  return need.height_bytes;
}

/* Several streams keep them apart; a recording of one stream does where that is little. */
static void
test_zones (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB, small_bytes = 512 * KIB;
  static const struct
  {
    uint32_t n_small;
    uint16_t n_streams;
    bool is_recorded, are_apart;
  } cases[] = {
    { 8, 1, false, false }, { 8, 1, true, false }, { 8, 2, true, true },
    { 8, 2, false, true },  { 0, 1, true, false },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLengths *of = step_of (cases[i].n_small);
      uint64_t all_bytes = large_bytes + cases[i].n_small * small_bytes;

      g_assert_cmpuint (plan (of, cases[i].n_streams, cases[i].is_recorded), ==,
                        cases[i].are_apart ? all_bytes : large_bytes);
      tessera_lengths_free (of);
    }
}

/* Small ones of a 300th of the step have their zone. */
static void
test_little (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB,
                 small_bytes = large_bytes / 300 / 512 * 512;

  for (int is_recorded = 0; is_recorded < 2; is_recorded++)
    {
      TesseraLengths *of = step_of (1);

      of->laws[1] = law_of ((int64_t) small_bytes, 0);
      g_assert_cmpuint (plan (of, 1, is_recorded), ==,
                        large_bytes + (is_recorded ? small_bytes : 0));
      tessera_lengths_free (of);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths-zones/dear", test_zones);
  g_test_add_func ("/planner/lengths-zones/little", test_little);
  return g_test_run ();
}
