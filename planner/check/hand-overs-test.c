/*
 * The law of streams on plans small enough to say which request opens a range, and which
 * event comes in time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "planner/check.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  FIRST,  /* stream 0, at offset 0, gone at 2 */
  OPENER, /* stream 0, elsewhere: a request at 2 that could be served from it */
  TAKER,  /* stream 1, at offset 0 from 4 on */
  LATER,  /* stream 0, elsewhere: a request at 7 */
  N_SLOTS
};

static TesseraSlot
make_slot (uint16_t stream, uint32_t born, uint32_t died, uint64_t offset, uint64_t bytes)
{
  return (TesseraSlot){ .stream = stream,
                        .born = born,
                        .died = died,
                        .offset_bytes = offset,
                        .block_bytes = bytes,
                        .size_bytes = bytes };
}

/* What the checker says of slots within [0, 10) where one range passes by @pair; "" where
 * it accepts that. @bound_bytes: the largest load. */
static char *
find_fault_of (TesseraSlot *slots,
               uint32_t n_slots,
               uint64_t bound_bytes,
               TesseraHandOver pair)
{
  TesseraSection section = {
    .kind = TESSERA_SECTION_ONCE, .begin = 0, .end = 10, .n_slots = n_slots
  };
  TesseraPlan plan = { .alignment_bytes = 512,
                       .bound_bytes = bound_bytes,
                       .n_positions = 10,
                       .n_streams = 2,
                       .across_streams = true,
                       .slots = slots,
                       .n_slots = n_slots,
                       .sections = &section,
                       .n_sections = 1,
                       .hand_overs = &pair,
                       .n_hand_overs = 1 };
  TesseraError error = { 0 };
  TesseraLaw law;
  TesseraStatus status;

  for (uint32_t i = 0; i < n_slots; i++)
    {
      uint64_t top = slots[i].offset_bytes + slots[i].block_bytes;

      slots[i].ordinal = i;
      plan.height_bytes = MAX (plan.height_bytes, top);
    }
  plan.slot_digest = tessera_plan_digest (&plan);
  status = tessera_check_plan (&plan, NULL, &law, &error);
  g_assert_cmpint (status, ==, error.text[0] ? TESSERA_REFUSED : TESSERA_OK);
  g_assert_cmpint (law, ==, error.text[0] ? TESSERA_LAW_STREAMS : TESSERA_LAW_NONE);
  return g_strdup (error.text);
}

/* The same of the four slots above. */
static char *
find_fault (uint64_t first_bytes, uint64_t opener_bytes, TesseraHandOver pair)
{
  TesseraSlot slots[N_SLOTS] = {
    [FIRST] = make_slot (0, 0, 2, 0, first_bytes),
    [OPENER] = make_slot (0, 2, 10, 4 * MIB, opener_bytes),
    [TAKER] = make_slot (1, 4, 6, 0, first_bytes),
    [LATER] = make_slot (0, 7, 10, 8 * MIB, opener_bytes),
  };

  return find_fault_of (slots, N_SLOTS,
                        MAX (first_bytes + opener_bytes, 2 * opener_bytes), pair);
}

static bool
is_accepted (uint64_t first_bytes, uint64_t opener_bytes, uint32_t event_slot)
{
  g_autofree char *fault = find_fault (
      first_bytes, opener_bytes,
      (TesseraHandOver){ FIRST, TAKER, event_slot, TESSERA_NO_SLACK, TESSERA_NO_SLACK });

  g_test_message ("%s", fault);
  return *fault == '\0';
}

/* Slots that are not there are told, not looked at. */
static void
test_listed (void)
{
  const struct
  {
    TesseraHandOver pair;
    const char *told;
  } cases[] = {
    { { N_SLOTS, TAKER, OPENER, 0, 0 }, "between two of 4 slots, found 4 to 2" },
    { { FIRST, N_SLOTS, OPENER, 0, 0 }, "between two of 4 slots, found 0 to 4" },
    { { FIRST, TAKER, N_SLOTS, 0, 0 }, "an event at one of 4 slots, found 4" },
    { { FIRST, OPENER, TESSERA_NONE, 0, 0 }, "a hand-over to be between two streams" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *fault = find_fault (2 * MIB, 2 * MIB, cases[i].pair);

      g_assert_nonnull (strstr (fault, cases[i].told));
    }
}

/* The event is recorded once the range is open, and before the newcomer asks. */
static void
test_event (void)
{
  g_assert_true (is_accepted (2 * MIB, 2 * MIB, OPENER));
  g_assert_true (is_accepted (2 * MIB, 2 * MIB, TESSERA_NONE));
  g_assert_false (is_accepted (2 * MIB, 2 * MIB, FIRST));
  g_assert_false (is_accepted (2 * MIB, 2 * MIB, LATER));
  g_assert_false (is_accepted (2 * MIB, 2 * MIB, TAKER)); /* of the other stream */
}

/* A range opens by a request of its own size class that is not larger: up to 1 MiB is
 * small. */
static void
test_opener (void)
{
  const struct
  {
    uint64_t first_bytes, opener_bytes;
    bool opens;
  } cases[] = {
    { 2 * MIB, 2 * MIB + 512, false },
    { 2 * MIB, MIB + 512, true },
    { 2 * MIB, MIB, false },
    { MIB, MIB, true },
    { MIB, 512, true },
    { MIB, MIB + 512, false },
    { MIB + 512, MIB + 512, true },
    { MIB + 512, MIB, false },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpint (
        is_accepted (cases[i].first_bytes, cases[i].opener_bytes, TESSERA_NONE), ==,
        cases[i].opens);
}

/* A range that its own owner takes again, with a larger block, stays closed for what it
 * held before: PyTorch could not have served that larger request from the first block, so
 * nothing says that the owner is ordered behind the first block's uses. */
static void
test_kept_by_owner (void)
{
  enum
  {
    SMALLER, /* stream 0, 2 MiB at offset 0, gone at 1 */
    LARGER,  /* stream 0, 3 MiB over it, gone at 2 */
    ASKED,   /* stream 0, elsewhere, at 2 */
    TAKEN,   /* stream 1, at offset 0 */
    N
  };
  const struct
  {
    uint64_t asked_bytes, offset_bytes;
    bool is_open;
  } cases[] = {
    { 3 * MIB, 0, false }, /* as large as the larger one: opens that, not the other */
    { 2 * MIB, 0, true },  /* opens both */
    { 3 * MIB, 2 * MIB, true }, /* what only the larger one held */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraSlot slots[N] = {
        [SMALLER] = make_slot (0, 0, 1, 0, 2 * MIB),
        [LARGER] = make_slot (0, 1, 2, 0, 3 * MIB),
        [ASKED] = make_slot (0, 2, 10, 4 * MIB, cases[i].asked_bytes),
        [TAKEN] = make_slot (1, 4, 6, cases[i].offset_bytes, MIB + 512),
      };
      g_autofree char *fault = find_fault_of (
          slots, N, MAX (3 * MIB, cases[i].asked_bytes + MIB + 512),
          (TesseraHandOver){ LARGER, TAKEN, ASKED, TESSERA_NO_SLACK, TESSERA_NO_SLACK });

      g_test_message ("%u: %s", i, fault);
      g_assert_cmpint (*fault == '\0', ==, cases[i].is_open);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/hand-overs/listed", test_listed);
  g_test_add_func ("/check/hand-overs/event", test_event);
  g_test_add_func ("/check/hand-overs/opener", test_opener);
  g_test_add_func ("/check/hand-overs/kept-by-owner", test_kept_by_owner);
  return g_test_run ();
}
