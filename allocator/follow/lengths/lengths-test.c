/*
 * Tests of following a plan for every length: where a guess was wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/lengths.h"

#include <glib.h>

enum
{
  MOST_LENGTH = 8,
  EARLY_BYTES = 512,      /* by length */
  ACTIVATION_BYTES = 700, /* by length: no multiple of the above */
  STATE_BYTES = 4096,
  FIXED_BYTES = MOST_LENGTH * EARLY_BYTES + STATE_BYTES,
  GRAINS = 64
};

/* One request tells the length, an activation follows, then what one step makes and
 * keeps: until then the activation may lie in its place. */
typedef struct
{
  TesseraSizeLaw laws[3];
  TesseraLengthsSlot slots[3];
  uint32_t order_slot, order_law, first_edge[2], below;
  TesseraOrder order;
  char *name;
  TesseraLengths lengths;
} Made;

static void
make (Made *made)
{
  *made = (Made){
    .laws = { { .numerators = { [TESSERA_TERM_TOKENS] = EARLY_BYTES },
                .denominator = 1,
                .rounding = 1,
                .kind = TESSERA_SIZE_AFFINE },
              { .numerators = { [TESSERA_TERM_TOKENS] = ACTIVATION_BYTES },
                .denominator = 1,
                .rounding = 1,
                .kind = TESSERA_SIZE_AFFINE },
              { .numerators = { [TESSERA_TERM_ONE] = STATE_BYTES },
                .denominator = 1,
                .rounding = 1,
                .kind = TESSERA_SIZE_CONSTANT } },
    .slots = { { .law = 0, .died = 3, .place = TESSERA_PLACE_FIXED },
               { .law = 1, .died = 2, .place = TESSERA_PLACE_SWEPT },
               { .law = 2,
                 .died = 3,
                 .place = TESSERA_PLACE_FIXED,
                 .is_once = 1,
                 .offset_bytes = MOST_LENGTH * EARLY_BYTES } },
    .order_slot = 1,
    .order_law = 1,
    .name = "forward",
  };
  made->order = (TesseraOrder){ .slots = &made->order_slot,
                                .laws = &made->order_law,
                                .first_edge = made->first_edge,
                                .below = &made->below };
  made->lengths = (TesseraLengths){ .most = { 1, MOST_LENGTH },
                                    .laws = made->laws,
                                    .n_laws = G_N_ELEMENTS (made->laws),
                                    .slots = made->slots,
                                    .n_slots = G_N_ELEMENTS (made->slots),
                                    .n_swept = 1,
                                    .orders = &made->order,
                                    .n_orders = 1,
                                    .fixed_bytes = FIXED_BYTES,
                                    .alignment_bytes = 512,
                                    .n_early = 1,
                                    .strings = &made->name,
                                    .n_strings = 1 };
}

typedef struct
{
  TesseraLengthsFollower *follower;
  bool is_taken[GRAINS];
  uint64_t asked_bytes;
} Run;

static bool
is_free (void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
  const Run *run = user;

  for (uint64_t at = begin_bytes; at < end_bytes; at += 512)
    if (run->is_taken[at / 512])
      return false;
  return true;
}

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  Run *run = user;

  *out_end_bytes = offset_bytes + 512;
  if (!is_free (run, offset_bytes, offset_bytes + run->asked_bytes))
    return false;
  for (uint64_t at = 0; at < run->asked_bytes; at += 512)
    run->is_taken[(offset_bytes + at) / 512] = true;
  return true;
}

static void
expect (void *user, uint64_t height_bytes)
{
  g_assert_cmpuint (height_bytes, <=, GRAINS * 512);
}

/* Returns: where, or UINT64_MAX. */
static uint64_t
ask (Run *run, uint64_t size_bytes)
{
  uint64_t offset_bytes;

  run->asked_bytes = size_bytes;
  return tessera_lengths_follower_malloc (run->follower, size_bytes, 0, 0, &offset_bytes)
             ? offset_bytes
             : UINT64_MAX;
}

static void
give_back (Run *run, uint64_t offset_bytes, uint64_t size_bytes)
{
  tessera_lengths_follower_free_at (run->follower, offset_bytes);
  for (uint64_t at = 0; at < size_bytes; at += 512)
    run->is_taken[(offset_bytes + at) / 512] = false;
}

/* An activation lies where the state will, when the guess is made again: the state is not
 * there for that, and finds its place later. */
static void
test_guessed_again (void)
{
  Made made;
  Run run = { 0 };
  const TesseraLengthsHooks hooks = { { take, &run }, expect, is_free };
  uint64_t state_at = MOST_LENGTH * EARLY_BYTES, activation_at;
  char reason[96];

  make (&made);
  g_assert_true (tessera_lengths_is_sound (&made.lengths, reason, sizeof reason));
  g_assert_cmpint (tessera_lengths_follower_new (&made.lengths, &hooks, &run.follower),
                   ==, TESSERA_OK);
  tessera_lengths_follower_step (run.follower);
  g_assert_cmpuint (ask (&run, 3 * EARLY_BYTES), ==, 0);
  activation_at = ask (&run, 3 * ACTIVATION_BYTES);
  g_assert_cmpuint (activation_at, ==, state_at);
  for (int i = 0; i < 4; i++)
    g_assert_cmpuint (ask (&run, 99), ==, UINT64_MAX);
  ask (&run, 5 * EARLY_BYTES); /* another length */
  give_back (&run, activation_at, 3 * ACTIVATION_BYTES);
  activation_at = ask (&run, 5 * ACTIVATION_BYTES);
  g_assert_cmpuint (activation_at, ==, FIXED_BYTES);
  g_assert_cmpuint (ask (&run, STATE_BYTES), ==, state_at);

  /* Now it is there, and no part of a step any more. */
  give_back (&run, activation_at, 5 * ACTIVATION_BYTES);
  give_back (&run, 0, 3 * EARLY_BYTES);
  tessera_lengths_follower_step (run.follower);
  g_assert_cmpuint (ask (&run, 2 * EARLY_BYTES), ==, 0);
  g_assert_cmpuint (ask (&run, 2 * ACTIVATION_BYTES), ==, FIXED_BYTES);
  g_assert_cmpuint (ask (&run, STATE_BYTES), ==, UINT64_MAX);
  tessera_lengths_follower_free (run.follower);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lengths/guessed-again", test_guessed_again);
  return g_test_run ();
}
