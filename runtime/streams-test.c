/*
 * A plan followed by a program whose side streams compute and never ask for memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#include "db/store.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)

/* Of a snapshot with one stream: a small block lies where a large one was. */
static void
save_plan (void)
{
  TesseraSlot slots[] = {
    { .block_bytes = 8 * MIB, .born = 0, .died = 1, .phase = TESSERA_NONE },
    { .block_bytes = 512, .born = 2, .died = 3, .phase = TESSERA_NONE },
  };
  TesseraSection section = { .end = 4, .n_slots = G_N_ELEMENTS (slots) };
  TesseraPlan plan = {
    .slots = slots,
    .n_slots = G_N_ELEMENTS (slots),
    .sections = &section,
    .n_sections = 1,
    .n_positions = section.end,
    .height_bytes = 8 * MIB,
    .bound_bytes = 8 * MIB,
    .alignment_bytes = 512,
    .n_streams = 1,
    .followable = TESSERA_FOLLOWABLE_SAME_BATCHES,
  };

  for (gsize i = 0; i < plan.n_slots; i++)
    {
      slots[i].size_bytes = slots[i].block_bytes;
      slots[i].group = TESSERA_NONE;
    }
  plan.slot_digest = tessera_plan_digest (&plan);
  WORKS (error, tessera_plan_save (&plan, program_file ("run.tsp"), &error));
}

/* The side stream works on a large block, which is freed before the program has its own
 * stream wait: that comes before the next large request, as PyTorch needs it. Returns:
 * whether a small block lies where that work still goes on. */
static gboolean
is_in_the_way (gboolean is_reported_late)
{
  char *large = program_must_alloc (8 * MIB, 0), *small;
  uintptr_t side = program_stream (1);

  if (is_reported_late)
    tessera_torch_has_streams (0);
  program_delay (side, 1e9);
  program_free (large, 0);
  small = program_must_alloc (512, 0);
  gboolean is_inside = small >= large && small < large + 8 * MIB;
  program_free (small, 0);
  return is_inside;
}

/* No side streams: any order is safe. */
static void
alone_body (void)
{
  program_start ("plan", program_file ("run.tsp"), NULL);
  g_assert_true (is_in_the_way (FALSE));
  g_assert_cmpuint (program_stats ().hits, ==, 2);
}

static void
reported_early_body (void)
{
  program_start ("plan", program_file ("run.tsp"), NULL);
  tessera_torch_has_streams (0);
  g_assert_false (is_in_the_way (FALSE));
  g_assert_cmpuint (program_stats ().misses_unordered, ==, 1);
}

static void
reported_late_body (void)
{
  program_start ("plan", program_file ("run.tsp"), NULL);
  tessera_torch_has_streams (-1); /* nobody's */
  tessera_torch_has_streams (64);
  tessera_torch_has_streams (1); /* another device's */
  g_assert_false (is_in_the_way (TRUE));
  g_assert_cmpuint (program_stats ().misses_unordered, ==, 1);
}

static void
test_children (void)
{
  save_plan ();
  PROGRAM_RUN_CHILD (alone_body);
  PROGRAM_RUN_CHILD (reported_early_body);
  PROGRAM_RUN_CHILD (reported_late_body);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (alone_body);
  PROGRAM_ADD_CHILD (reported_early_body);
  PROGRAM_ADD_CHILD (reported_late_body);
  g_test_add_func ("/streams/unseen", test_children);
  return program_finish ();
}
