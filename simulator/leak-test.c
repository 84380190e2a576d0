/*
 * What steps keep, on traces of a few blocks a step: leaks, and what looks like one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"

#include <glib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)
#define STEP_EVENTS 100
#define MOST_STEPS 40

/* What a program keeps of a step (0, 1 ...), in bytes; and for how many steps. */
typedef struct
{
  uint64_t bytes;
  uint32_t n_steps; /* 0: for good */
  uint32_t stack;
} Keep;

typedef void (*Program) (uint32_t step, Keep out_keeps[4]);

static TesseraLeak
find_leak (uint32_t n_steps, Program program)
{
  TesseraStep steps[MOST_STEPS];
  TesseraBlock all[MOST_STEPS * 4];
  TesseraStructure structure = { .steps = steps, .n_steps = n_steps };
  TesseraBlocks blocks = { .blocks = all, .n_events = n_steps * STEP_EVENTS };
  TesseraLeak leak;

  for (uint32_t step = 0; step < n_steps; step++)
    {
      Keep keeps[4] = { { 0 } };

      steps[step] = (TesseraStep){ .begin_index = step * STEP_EVENTS,
                                   .end_index = (step + 1) * STEP_EVENTS };
      program (step, keeps);
      for (int i = 0; i < 4; i++)
        if (keeps[i].bytes > 0)
          {
            uint32_t born = step * STEP_EVENTS + (uint32_t) i;
            uint32_t end =
                keeps[i].n_steps == 0
                    ? blocks.n_events
                    : MIN (blocks.n_events, born + keeps[i].n_steps * STEP_EVENTS);

            all[blocks.n_blocks++] = (TesseraBlock){ .size_bytes = keeps[i].bytes,
                                                     .block_bytes = keeps[i].bytes,
                                                     .born_index = born,
                                                     .freed_index = end,
                                                     .died_index = end,
                                                     .stack = keeps[i].stack,
                                                     .step = step };
          }
    }
  leak = tessera_leak_find (&blocks, &structure);
  return leak;
}

static void
keep_outputs (uint32_t step, Keep out_keeps[4])
{
  out_keeps[0] = (Keep){ 64 * MIB, 0, 7 };
  if (step == 0)
    out_keeps[1] = (Keep){ 500 * MIB, 0, 3 }; /* the optimizer's state */
}

static void
keep_without_stacks (uint32_t step, Keep out_keeps[4])
{
  keep_outputs (step, out_keeps);
  for (int i = 0; i < 4; i++)
    out_keeps[i].stack = TESSERA_NONE;
}

/* Batches of other lengths, whose later steps nobody took stacks of. */
static void
keep_varied (uint32_t step, Keep out_keeps[4])
{
  out_keeps[0] = (Keep){ (40 + step * 7 % 13) * MIB, 0, step < 4 ? 7 : TESSERA_NONE };
  if (step == 0)
    out_keeps[1] = (Keep){ 500 * MIB, 0, 3 };
}

/* Only the first three steps were recorded with stacks. */
static void
keep_after_stacks (uint32_t step, Keep out_keeps[4])
{
  keep_outputs (step, out_keeps);
  for (int i = 0; i < 4 && step >= 3; i++)
    out_keeps[i].stack = TESSERA_NONE;
}

static void
keep_state (uint32_t step, Keep out_keeps[4])
{
  if (step == 0)
    out_keeps[1] = (Keep){ 500 * MIB, 0, 3 };
  if (step == 1)
    out_keeps[2] = (Keep){ 25 * MIB, 0, 4 }; /* buckets made anew in the second */
}

/* Experts that got their first token later get their state later. */
static void
keep_late_state (uint32_t step, Keep out_keeps[4])
{
  for (int i = 0; i < 4; i++)
    if (step == 0 ? i < 3 : step == 1 && i == 3)
      out_keeps[i] = (Keep){ 30 * MIB, 0, 3 };
}

static void
keep_until_next (uint32_t step, Keep out_keeps[4])
{
  (void) step;
  out_keeps[0] = (Keep){ 64 * MIB, 1, 7 };
}

/* Python's collector comes by every fifth step. */
static void
keep_until_collected (uint32_t step, Keep out_keeps[4])
{
  out_keeps[0] = (Keep){ 64 * MIB, 5 - step % 5, 7 };
}

static void
test_leaks (void)
{
  const struct
  {
    Program program;
    uint32_t n_steps;
    uint64_t step_mib;
    uint32_t stack;
  } cases[] = {
    { keep_outputs, 2, 0, TESSERA_NONE }, /* nothing can be known yet */
    { keep_outputs, 3, 64, 7 },
    { keep_outputs, 12, 64, 7 },
    { keep_outputs, 40, 64, 7 },
    { keep_without_stacks, 3, 64, TESSERA_NONE },
    { keep_without_stacks, 12, 64, TESSERA_NONE },
    { keep_varied, 40, 46, 7 },
    { keep_after_stacks, 6, 64, 7 },
    { keep_after_stacks, 12, 64, 7 },
    { keep_state, 3, 0, TESSERA_NONE },
    { keep_state, 12, 0, TESSERA_NONE },
    { keep_late_state, 3, 0, TESSERA_NONE },
    { keep_late_state, 12, 0, TESSERA_NONE },
    { keep_until_next, 3, 0, TESSERA_NONE },
    { keep_until_next, 12, 0, TESSERA_NONE },
    { keep_until_collected, 40, 0, TESSERA_NONE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLeak leak = find_leak (cases[i].n_steps, cases[i].program);

      g_test_message ("case %u", i);
      g_assert_cmpuint (leak.step_bytes / MIB, ==, cases[i].step_mib);
      g_assert_cmpuint (leak.n_steps, ==, cases[i].n_steps);
      g_assert_cmpuint (leak.stack, ==, cases[i].stack);
    }
}

static void
test_words (void)
{
  const struct
  {
    uint64_t step_bytes, needed_bytes, device_bytes;
    const char *text;
  } cases[] = {
    { 64 * MIB, 440 * MIB, 2990 * MIB,
      "Keeps 64.00 MiB more each step (train.py:6 main): dies at about step 43 of this "
      "device." },
    { 64 * MIB, 0, 0,
      "Keeps 64.00 MiB more each step (train.py:6 main), in each of the "
      "3 seen." },
    { 64 * MIB, 4000 * MIB, 3000 * MIB,
      "Keeps 64.00 MiB more each step (train.py:6 main)." },
    { 512, 440 * MIB, 2990 * MIB, "" }, /* a list of losses: in 5 million steps */
    { 512, 0, 0, "" },
    { 0, 440 * MIB, 2990 * MIB, "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraLeak leak = { .step_bytes = cases[i].step_bytes,
                           .kept_bytes = 2 * cases[i].step_bytes,
                           .n_steps = 3,
                           .stack = 7 };
      char text[256];

      g_assert_cmpint (tessera_leak_describe (&leak, "train.py:6 main",
                                              cases[i].needed_bytes,
                                              cases[i].device_bytes, text, sizeof text),
                       ==, *cases[i].text != '\0');
      g_assert_cmpstr (text, ==, cases[i].text);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/leak/leaks", test_leaks);
  g_test_add_func ("/leak/words", test_words);
  return g_test_run ();
}
