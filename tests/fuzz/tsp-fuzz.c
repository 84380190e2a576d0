/*
 * Fuzz target: the reader of plan files. What it accepts can be saved again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "allocator/follow/lengths/instance.h"
#include "db/store.h"
#include "tests/db/test-traces.h"
#include "tests/fuzz/file-input.h"
#include "tests/ok.h"
#include "tests/db/auto.h"

#define SEED 1
#define N_SLOTS 21

static void
make_base (const char *path)
{
  g_autoptr (TesseraPlan) plan = test_plan_new (SEED, N_SLOTS);

  plan->lengths = test_lengths_new ();
  OK (tessera_plan_save (plan, path, NULL));
}

/* Whatever its numbers are, a step can be asked for, and is a plan or none. */
static void
walk_lengths (const TesseraLengths *lengths)
{
  const TesseraInstanceOptions first = { .shares_once = true, .is_first = true };
  const TesseraParameters at[] = { { 1, 1 }, { 3, 777 }, lengths->most };
  TesseraPlan *plan;

  for (size_t i = 0; i < G_N_ELEMENTS (at); i++)
    if (tessera_instance_of_step (lengths, &at[i], &first, &plan) == TESSERA_OK)
      tessera_plan_free (plan);
  if (tessera_instance_of_start (lengths, &plan) == TESSERA_OK)
    tessera_plan_free (plan);
}

static void
walk (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      g_assert_cmpuint (slot->section, <, plan->n_sections);
      g_assert_cmpuint (slot->died, <=, plan->n_positions);
      g_assert_true (slot->phase == TESSERA_NONE || slot->phase < plan->n_strings);
      g_assert_true (slot->group == TESSERA_NONE || slot->group < plan->n_groups);
    }
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *unplanned = &plan->unplanned[i];

      g_assert_cmpuint (unplanned->section, <, plan->n_sections);
      g_assert_cmpuint (unplanned->before, <=, plan->n_slots);
      g_assert_cmpuint (unplanned->born, <=, plan->n_positions);
      g_assert_true (unplanned->phase == TESSERA_NONE ||
                     unplanned->phase < plan->n_strings);
    }
  for (size_t i = 0; i < plan->n_sections; i++)
    g_assert_cmpuint ((uint64_t) plan->sections[i].first_slot + plan->sections[i].n_slots,
                      <=, plan->n_slots);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t n_bytes)
{
  const char *path = fuzz_file_input (data, n_bytes, make_base);
  TesseraError error = { 0 };
  g_autoptr (TesseraPlan) plan = NULL, again = NULL;
  TesseraStatus status = tessera_plan_load (path, &error, &plan);

  g_assert_true ((status == TESSERA_OK) == (plan != NULL));
  g_assert_true ((status == TESSERA_OK) == (error.text[0] == '\0'));
  if (status != TESSERA_OK)
    return 0;
  walk (plan);
  if (plan->lengths != NULL)
    walk_lengths (plan->lengths);
  OK (tessera_plan_save (plan, path, NULL));
  OK (tessera_plan_load (path, NULL, &again));
  test_plans_assert_equal (plan, again);
  return 0;
}
