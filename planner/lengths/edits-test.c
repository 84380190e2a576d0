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

/* Where a slot lies at some lengths. */
typedef struct
{
  guint64 low, high; /* the lowest and the highest offset; UINT64_MAX, 0: nowhere */
  guint64 end;       /* of all its blocks, the highest */
} Reach;

/* By slot. */
static Reach *
find_reaches (const TesseraLengths *lengths)
{
  Reach *reaches = g_new0 (Reach, lengths->n_slots + 1);

  for (guint32 i = 0; i < lengths->n_slots; i++)
    reaches[i].low = UINT64_MAX;
  for (guint64 length = 8; length < lengths->most.length; length += 97)
    {
      TesseraPlan *step = step_at (lengths, length);

      for (size_t i = 0; i < step->n_slots; i++)
        {
          const TesseraSlot *slot = &step->slots[i];
          Reach *reach = &reaches[slot->block];

          reach->low = MIN (reach->low, slot->offset_bytes);
          reach->high = MAX (reach->high, slot->offset_bytes);
          reach->end = MAX (reach->end, slot->offset_bytes + slot->block_bytes);
        }
      tessera_plan_free (step);
    }
  return reaches;
}

static gboolean
are_apart (const Reach *a, const Reach *b)
{
  return a->end <= b->low || b->end <= a->low;
}

/* What is pinned lies there at every length, and nothing else ever does. */
static void
test_pin (void)
{
  Edited edited;
  TesseraLengths *lengths;
  g_autofree Reach *reaches = NULL;
  guint32 pinned;

  edited_init (&edited, TESSERA_EDIT_PIN);
  edited.edit.at = 512;
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  pinned = slot_of (&edited, edited.edit.what.blocks[0]);
  lengths = plan (&edited);
  reaches = find_reaches (lengths);
  g_assert_cmpuint (reaches[pinned].low, ==, 512);
  g_assert_cmpuint (reaches[pinned].high, ==, 512);
  for (guint32 i = 0; i < lengths->n_slots; i++)
    g_assert_true (i == pinned || are_apart (&reaches[i], &reaches[pinned]));
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
  const TesseraParameters at = { 1, 1000 };
  Edited edited;
  TesseraLengths *lengths, *whole;
  TesseraLengthsNeed need, need_of_whole;
  TesseraPlan *step;
  g_autofree Reach *reaches = NULL;
  guint32 slot;

  edited_init (&edited, TESSERA_EDIT_DYNAMIC);
  add_block (&edited.edit.what, 2); /* of the start */
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  slot = slot_of (&edited, edited.edit.what.blocks[1]);
  lengths = plan (&edited);
  edited.edit.is_undone = true;
  whole = plan (&edited);
  reaches = find_reaches (lengths);
  g_assert_cmpuint (reaches[slot].low, ==, UINT64_MAX);
  step = step_at (lengths, 1000);
  g_assert_cmpuint (step->n_unplanned, ==, 1);
  g_assert_cmpuint (step->unplanned[0].block, ==, slot);
  g_assert_true (tessera_lengths_measure (lengths, &at, &need));
  g_assert_true (tessera_lengths_measure (whole, &at, &need_of_whole));
  g_assert_cmpuint (need.height_bytes + lengths->start[2].block_bytes, <=,
                    need_of_whole.height_bytes);
  for (guint32 i = 0; i < lengths->n_start; i++)
    g_assert_cmpint (lengths->start[i].is_left, ==, i == 2);
  tessera_plan_free (step);
  tessera_lengths_free (lengths);
  tessera_lengths_free (whole);
  edited_clear (&edited);
}

/* Where one lies at one length the other lies at none; without the edit some do. What
 * stays together moves at no length. */
static void
test_apart_and_together (void)
{
  for (int way = 0; way < 3; way++)
    {
      const bool is_together = way == 2, has_with = way == 1;
      Edited edited;
      TesseraSelector *what = &edited.edit.what, *with;
      guint n_meet[2] = { 0 }, n_moving[2] = { 0 };

      edited_init (&edited, is_together ? TESSERA_EDIT_TOGETHER : TESSERA_EDIT_APART);
      with = has_with ? &edited.edit.with : what;
      edited.edit.has_with = has_with;
      for (guint nth = 5; nth < 11; nth++)
        add_block (what, block_of_step (&edited, nth));
      for (guint nth = 11; has_with && nth < 16; nth++)
        add_block (with, block_of_step (&edited, nth));
      for (int is_undone = 0; is_undone < 2; is_undone++)
        {
          TesseraLengths *lengths;
          g_autofree Reach *reaches = NULL;

          edited.edit.is_undone = is_undone;
          lengths = plan (&edited);
          reaches = find_reaches (lengths);
          for (size_t i = 0; i < what->n_blocks; i++)
            {
              const Reach *of = &reaches[slot_of (&edited, what->blocks[i])];

              n_moving[is_undone] += of->low != of->high;
              for (size_t k = has_with ? 0 : i + 1; k < with->n_blocks; k++)
                n_meet[is_undone] +=
                    !are_apart (of, &reaches[slot_of (&edited, with->blocks[k])]);
            }
          tessera_lengths_free (lengths);
        }
      g_assert_cmpuint (n_meet[0], ==, 0);
      g_assert_cmpuint (n_meet[1], >, 0);
      g_assert_true (!is_together || n_moving[0] == 0);
      g_assert_cmpuint (n_moving[1], >, 0);
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
  g_test_add_func ("/planner/lengths/edits/apart-and-together", test_apart_and_together);
  g_test_add_func ("/planner/lengths/edits/checker-of-apart", test_checker_of_apart);
  g_test_add_func ("/planner/lengths/edits/cap", test_cap);
  return g_test_run ();
}
