/*
 * Edits of places in plans for every length: each holds whatever the length is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths.h"

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/lengths.h"
#include "planner/check.h"
#include "planner/lengths/private.h"
#include "planner/lengths/test-steps.h"

enum
{
  MOST_BLOCKS = 16
};

/* An edit of some blocks of the last step, the first step of a program with masks and an
 * optimizer's state. */
typedef struct
{
  TestStudied of;
  guint32 blocks[2][MOST_BLOCKS];
  TesseraEdit edit;
  TesseraError error;
} Edited;

static const TestSteps made_steps = { 8, 12, true, true, true };

static void
edited_init (Edited *edited, TesseraEditKind kind)
{
  *edited = (Edited){ .edit = { .kind = kind, .name = (char *) "here" } };
  test_study (test_steps_trace (&made_steps), &edited->of);
  tessera_selector_init (&edited->edit.what);
  tessera_selector_init (&edited->edit.with);
  edited->edit.what.blocks = edited->blocks[0];
  edited->edit.with.blocks = edited->blocks[1];
}

static void
edited_clear (Edited *edited)
{
  test_study_clear (&edited->of);
}

/* The @nth block that the last step asks for. */
static guint32
block_of_step (const Edited *edited, guint nth)
{
  const TesseraStructure *structure = edited->of.structure;

  return tessera_first_born (edited->of.blocks,
                             structure->steps[structure->n_steps - 1].begin_index) +
         nth;
}

/* The slot that the block is of. */
static guint32
slot_of (const Edited *edited, guint32 block)
{
  const TesseraKindLaws *laws;
  const TesseraKind *kind = tessera_laws_main (edited->of.laws, &laws);

  for (guint32 i = 0; i < kind->n_slots; i++)
    for (guint32 k = 0; k < kind->n_steps; k++)
      if (tessera_kind_block (kind, i, k) == block)
        return i;
  g_assert_not_reached ();
}

static void
add_block (TesseraSelector *selector, guint32 block)
{
  selector->blocks[selector->n_blocks++] = block;
}

static TesseraStatus
plan_edited (Edited *edited, TesseraLengths **out_lengths)
{
  const TesseraLengthsOptions options = { .edits = &edited->edit, .n_edits = 1 };

  edited->error = (TesseraError){ 0 };
  return tessera_lengths_plan (edited->of.trace, edited->of.blocks, edited->of.structure,
                               edited->of.laws, &options, &edited->error, out_lengths);
}

static TesseraLengths *
plan (Edited *edited)
{
  TesseraLengths *lengths;

  g_assert_cmpint (plan_edited (edited, &lengths), ==, TESSERA_OK);
  g_assert_nonnull (lengths);
  return lengths;
}

static void
assert_refused (Edited *edited, const char *reason)
{
  TesseraLengths *lengths;

  g_assert_cmpint (plan_edited (edited, &lengths), ==, TESSERA_REFUSED);
  if (!g_pattern_match_simple (reason, edited->error.text))
    g_error ("%s", edited->error.text);
}

/* A later step of that length. */
static TesseraPlan *
step_at (const TesseraLengths *lengths, guint64 length)
{
  const TesseraParameters at = { 1, length };
  TesseraPlan *step;

  g_assert_cmpint (
      tessera_instance_of_step (lengths, &at, &(TesseraInstanceOptions){ 0 }, &step), ==,
      TESSERA_OK);
  return step;
}

/* Where the slot lies in it; UINT64_MAX: nowhere. */
static guint64
offset_in (const TesseraPlan *step, guint32 slot)
{
  for (size_t i = 0; i < step->n_slots; i++)
    if (step->slots[i].block == slot)
      return step->slots[i].offset_bytes;
  return UINT64_MAX;
}

static guint
count_at (const TesseraPlan *step, guint64 offset_bytes)
{
  guint n = 0;

  for (size_t i = 0; i < step->n_slots; i++)
    n += step->slots[i].offset_bytes == offset_bytes;
  return n;
}

/* What is pinned lies there at every length, and nothing else does. */
static void
test_pin (void)
{
  Edited edited;
  TesseraLengths *lengths;

  edited_init (&edited, TESSERA_EDIT_PIN);
  edited.edit.at = 512;
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  lengths = plan (&edited);
  for (guint64 length = 1; length < 2000; length += 97)
    {
      TesseraPlan *step = step_at (lengths, length);

      g_assert_cmpuint (count_at (step, 512), ==, 1);
      g_assert_cmpuint (offset_in (step, slot_of (&edited, edited.edit.what.blocks[0])),
                        ==, 512);
      tessera_plan_free (step);
    }
  tessera_lengths_free (lengths);
  /* Above all that moves, no step would be as low as what is alive. */
  edited.edit.at =
      tessera_blocks_bound (edited.of.blocks, 0, edited.of.blocks->n_events, NULL) / 512 *
      512;
  assert_refused (&edited, "the edit \"here\" pins so high*");
  edited.edit.at = 100;
  assert_refused (&edited, "the edit \"here\" pins to an offset that is none*");
  edited_clear (&edited);
}

/* What is left to others has a place nowhere, is known to come, and costs nothing. */
static void
test_dynamic (void)
{
  Edited edited;
  TesseraLengths *lengths, *whole;
  guint32 slot;

  edited_init (&edited, TESSERA_EDIT_DYNAMIC);
  add_block (&edited.edit.what, 2); /* of the start */
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  slot = slot_of (&edited, edited.edit.what.blocks[1]);
  lengths = plan (&edited);
  edited.edit.is_undone = true;
  whole = plan (&edited);
  for (guint64 length = 8; length < 2000; length += 97)
    {
      const TesseraParameters at = { 1, length };
      TesseraPlan *step = step_at (lengths, length);
      TesseraLengthsNeed need, need_of_whole;

      g_assert_cmpuint (offset_in (step, slot), ==, UINT64_MAX);
      g_assert_cmpuint (step->n_unplanned, ==, 1);
      g_assert_cmpuint (step->unplanned[0].block, ==, slot);
      g_assert_true (tessera_lengths_measure (lengths, &at, &need));
      g_assert_true (tessera_lengths_measure (whole, &at, &need_of_whole));
      g_assert_cmpuint (need.height_bytes + lengths->start[2].block_bytes, <=,
                        need_of_whole.height_bytes);
      tessera_plan_free (step);
    }
  for (guint32 i = 0; i < lengths->n_start; i++)
    g_assert_cmpint (lengths->start[i].is_left, ==, i == 2);
  tessera_lengths_free (lengths);
  tessera_lengths_free (whole);
  edited_clear (&edited);
}

/* What stays together keeps its distances, whatever lies between. */
static void
test_together (void)
{
  Edited edited;
  TesseraLengths *lengths;
  guint64 distances[3] = { 0 };

  edited_init (&edited, TESSERA_EDIT_TOGETHER);
  for (guint nth = 5; nth < 14; nth += 3)
    add_block (&edited.edit.what, block_of_step (&edited, nth));
  lengths = plan (&edited);
  for (guint64 length = 8; length < 2000; length += 97)
    {
      TesseraPlan *step = step_at (lengths, length);
      guint64 first = offset_in (step, slot_of (&edited, edited.edit.what.blocks[0]));

      for (guint i = 1; i < 3; i++)
        {
          guint64 at = offset_in (step, slot_of (&edited, edited.edit.what.blocks[i]));

          g_assert_cmpuint (at, >, first);
          g_assert_cmpuint (at, !=, UINT64_MAX);
          if (length == 8)
            distances[i] = at - first;
          g_assert_cmpuint (at - first, ==, distances[i]);
        }
      tessera_plan_free (step);
    }
  tessera_lengths_free (lengths);
  edited_clear (&edited);
}

/* The lowest and the highest address of the slots at any of some lengths. */
static void
reach (const Edited *edited,
       const TesseraLengths *lengths,
       guint32 block,
       guint64 *out_low,
       guint64 *out_high)
{
  guint32 slot = slot_of (edited, block);

  *out_low = UINT64_MAX;
  *out_high = 0;
  for (guint64 length = 8; length < lengths->most.length; length += 97)
    {
      TesseraPlan *step = step_at (lengths, length);

      for (size_t i = 0; i < step->n_slots; i++)
        if (step->slots[i].block == slot)
          {
            *out_low = MIN (*out_low, step->slots[i].offset_bytes);
            *out_high =
                MAX (*out_high, step->slots[i].offset_bytes + step->slots[i].block_bytes);
          }
      tessera_plan_free (step);
    }
}

static gboolean
are_apart (const Edited *edited, const TesseraLengths *lengths, guint32 a, guint32 b)
{
  guint64 low_a, high_a, low_b, high_b;

  reach (edited, lengths, a, &low_a, &high_a);
  reach (edited, lengths, b, &low_b, &high_b);
  return high_a <= low_b || high_b <= low_a;
}

/* Where one lies at one length the other lies at none; without the edit some do. */
static void
test_apart (void)
{
  for (int has_with = 0; has_with < 2; has_with++)
    {
      Edited edited;
      TesseraLengths *lengths;
      guint n_together = 0;

      edited_init (&edited, TESSERA_EDIT_APART);
      for (guint nth = 5; nth < 11; nth++)
        add_block (&edited.edit.what, block_of_step (&edited, nth));
      for (guint nth = 11; has_with && nth < 16; nth++)
        add_block (&edited.edit.with, block_of_step (&edited, nth));
      edited.edit.has_with = has_with;
      for (int is_undone = 0; is_undone < 2; is_undone++)
        {
          const TesseraSelector *what = &edited.edit.what;
          const TesseraSelector *with = has_with ? &edited.edit.with : what;

          edited.edit.is_undone = is_undone;
          lengths = plan (&edited);
          for (size_t i = 0; i < what->n_blocks; i++)
            for (size_t k = has_with ? 0 : i + 1; k < with->n_blocks; k++)
              if (is_undone)
                n_together +=
                    !are_apart (&edited, lengths, what->blocks[i], with->blocks[k]);
              else
                g_assert_true (
                    are_apart (&edited, lengths, what->blocks[i], with->blocks[k]));
          tessera_lengths_free (lengths);
        }
      g_assert_cmpuint (n_together, >, 0);
      edited_clear (&edited);
    }
}

/* The checker knows nothing of how that was made: of a plan without the edit it says what
 * is not apart. */
static void
test_checker_of_apart (void)
{
  Edited edited;
  TesseraLengths *lengths;
  g_autofree guint64 *slots = NULL, *start = NULL;
  TesseraLengthsApart apart = { .one = 1, .other = 2 };
  TesseraLaw law;
  TesseraError error = { 0 };

  edited_init (&edited, TESSERA_EDIT_APART);
  edited.edit.is_undone = true;
  lengths = plan (&edited);
  slots = g_new0 (guint64, lengths->n_slots);
  start = g_new0 (guint64, lengths->n_start);
  apart.slots = slots;
  apart.start = start;
  /* Of equal lives: always one above the other, but not at one place at every length. */
  slots[slot_of (&edited, block_of_step (&edited, 5))] = 1;
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 2;
  g_assert_cmpint (tessera_check_lengths_apart (lengths, &apart, &law, &error), ==,
                   TESSERA_REFUSED);
  g_assert_cmpint (law, ==, TESSERA_LAW_APART);
  apart.other = 4; /* nobody's */
  g_assert_cmpint (tessera_check_lengths_apart (lengths, &apart, &law, &error), ==,
                   TESSERA_OK);
  /* One slot at two lengths is not apart from itself, nor need it be. */
  apart.other = 1;
  g_assert_cmpint (tessera_check_lengths_apart (lengths, &apart, &law, &error), ==,
                   TESSERA_OK);
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 1;
  g_assert_cmpint (tessera_check_lengths_apart (lengths, &apart, &law, &error), ==,
                   TESSERA_REFUSED);
  start[0] = start[1] = 1;
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 0;
  g_assert_cmpint (tessera_check_lengths_apart (lengths, &apart, &law, &error), ==,
                   TESSERA_OK);
  tessera_lengths_free (lengths);
  edited_clear (&edited);
}

/* The pool is no higher, at the most that the plan is for; what goes is not all. */
static void
test_cap (void)
{
  Edited edited;
  TesseraLengths *lengths;
  guint64 height, uncapped;
  guint n_left = 0;

  edited_init (&edited, TESSERA_EDIT_CAP);
  edited.edit.at = UINT64_MAX / 4;
  lengths = plan (&edited);
  g_assert_cmpint (tessera_lengths_height (lengths, &uncapped), ==, TESSERA_OK);
  tessera_lengths_free (lengths);
  for (guint percent = 99; percent >= 40; percent -= 10)
    {
      guint64 cap = uncapped / 100 * percent / 512 * 512;

      edited.edit.at = cap;
      lengths = plan (&edited);
      g_assert_cmpint (tessera_lengths_height (lengths, &height), ==, TESSERA_OK);
      g_assert_cmpuint (height, <=, cap);
      g_assert_cmpuint (height, >, cap / 2);
      n_left = 0;
      for (guint32 i = 0; i < lengths->n_slots; i++)
        n_left += tessera_lengths_slot_is_kept (&lengths->slots[i]);
      g_assert_cmpuint (n_left, >, 0);
      g_assert_cmpuint (n_left, <, lengths->n_slots / 2);
      tessera_lengths_free (lengths);
    }
  edited.edit.at = 512;
  assert_refused (&edited, "the edit \"here\" caps the pool below what *");
  edited_clear (&edited);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths/edits/pin", test_pin);
  g_test_add_func ("/planner/lengths/edits/dynamic", test_dynamic);
  g_test_add_func ("/planner/lengths/edits/together", test_together);
  g_test_add_func ("/planner/lengths/edits/apart", test_apart);
  g_test_add_func ("/planner/lengths/edits/checker-of-apart", test_checker_of_apart);
  g_test_add_func ("/planner/lengths/edits/cap", test_cap);
  return g_test_run ();
}
