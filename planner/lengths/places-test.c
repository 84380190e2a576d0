/*
 * Plans for every length: what steps keep, zones of small and large blocks, parts of
 * steps; and edits of places, which hold whatever the length is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include "allocator/follow/lengths/instance.h"
#include "allocator/follow/lengths/lengths.h"
#include "planner/check.h"
#include "planner/lengths.h"
#include "planner/lengths/test-steps.h"

#define LOSS_BYTES 1536 /* of what is kept in test steps */
#define KIB ((uint64_t) 1 << 10)

/* ---- What steps keep now and then ---- */

/* Slots of the loss, and how many of them have a place or are known to come without. */
static void
count_losses (const TesseraLengths *lengths, uint32_t *out_n_placed, uint32_t *out_n_kept)
{
  *out_n_placed = *out_n_kept = 0;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];
      uint64_t bytes;

      if (!tessera_size_law_evaluate (&lengths->laws[slot->law], &lengths->most,
                                      &bytes) ||
          bytes != LOSS_BYTES)
        continue;
      *out_n_placed += slot->place != TESSERA_PLACE_NONE;
      *out_n_kept += tessera_lengths_slot_is_kept (slot);
    }
}

/* A request whose block some steps keep and others drop has no place, however many steps do
 * which: another run's will be others. One step's is no habit: as the optimizer's state it
 * has a place. */
static void
test_habits (void)
{
  static const uint32_t keepers[] = { 0x01, 0xff, 0x2d, 0x5f, 0x06, 0x41, 0xd2 };

  for (size_t i = 0; i < G_N_ELEMENTS (keepers); i++)
    {
      const TestSteps made = { 8, 12, .keepers = keepers[i] };
      uint32_t n_placed, n_kept;
      g_auto (TestStudied) of = test_study (test_steps_trace (&made));
      g_autoptr (TesseraLengths) lengths = test_plan_lengths (&of);

      count_losses (lengths, &n_placed, &n_kept);
      g_test_message ("%x: %u with a place, %u kept", keepers[i], n_placed, n_kept);
      g_assert_true ((n_placed > 0) == (i == 0));
      g_assert_true ((n_kept > 0) == (i > 0));
    }
}

/* ---- Small and large blocks: in zones of their own or not ---- */

enum
{
  MOST = 4000
};

static TesseraLengths *
lengths_new (uint32_t n_slots, uint32_t n_laws)
{
  TesseraLengths *of;

  OK (tessera_lengths_new (&of));
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

/* A step of a large block of 4 KiB a token, gone before @n_small ones come. */
static TesseraLengths *
step_of (uint32_t n_small, uint64_t small_bytes)
{
  TesseraLengths *of = lengths_new (1 + n_small, 2);

  of->laws[0] = law_of (0, 4 * KIB);
  of->laws[1] = law_of ((int64_t) small_bytes, 0);
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
plan_height (TesseraLengths *of, uint16_t n_streams, bool is_recorded)
{
  g_autoptr (TesseraTrace) trace = NULL;
  const TesseraLengthsOptions options = { .work_budget = 0 };
  TesseraLengthsBuild build = { .options = &options, .out = of };
  TesseraLengthsNeed need;

  OK (tessera_trace_new (&trace));
  trace->n_streams = n_streams;
  if (is_recorded)
    OK (tessera_trace_set_meta (trace, "policy", "native"));
  build.trace = trace;
  OK (tessera_lengths_orders (&build));
  g_assert_true (tessera_lengths_measure (of, &of->most, &need));
  trace->n_streams = 0;
  return need.height_bytes;
}

/* Several streams keep them apart; a recording of one stream does where that is little, as
 * a 300th of the step. */
static void
test_zones (void)
{
  const uint64_t large_bytes = MOST * 4 * KIB,
                 little_bytes = large_bytes / 300 / 512 * 512;
  const struct
  {
    uint32_t n_small;
    uint64_t small_bytes;
    uint16_t n_streams;
    bool is_recorded, are_apart;
  } cases[] = {
    { 8, 512 * KIB, 1, false, false },  { 8, 512 * KIB, 1, true, false },
    { 8, 512 * KIB, 2, true, true },    { 8, 512 * KIB, 2, false, true },
    { 0, 512 * KIB, 1, true, false },   { 1, little_bytes, 1, false, false },
    { 1, little_bytes, 1, true, true },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (TesseraLengths) of = step_of (cases[i].n_small, cases[i].small_bytes);
      uint64_t all_bytes = large_bytes + cases[i].n_small * cases[i].small_bytes;

      g_assert_cmpuint (plan_height (of, cases[i].n_streams, cases[i].is_recorded), ==,
                        cases[i].are_apart ? all_bytes : large_bytes);
    }
}

/* ---- Steps cut into parts: where, and what a plan of them is worth ---- */

static uint32_t
count_over_cuts (const TesseraLengths *of)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < of->n_slots; i++)
    n += of->slots[i].is_over_cuts;
  return n;
}

/* Where the second forward begins; the optimizer is of the last part. */
static void
test_cuts (void)
{
  for (uint32_t n_micro = 2; n_micro < 5; n_micro++)
    {
      const TestParts made = { 5, n_micro, 6, .seed = n_micro };
      g_auto (TestStudied) of = test_study (test_parts_trace (&made));

      g_assert_cmpstr (of.laws->parts.phase, ==, "forward");
      g_assert_cmpuint (of.laws->parts.structure.n_steps, ==, 5 * n_micro);
      for (uint32_t i = 0; i < 5 * n_micro; i++)
        g_assert_cmpuint (of.laws->parts.step_of[i], ==, i / n_micro);
      const TesseraKind *kind = tessera_laws_main (of.laws);
      g_assert_cmpuint (kind->n_steps, ==, 5 * n_micro);
      /* Only the state has no law: one step makes it. */
      g_assert_cmpuint (kind->laws.n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 6);
      g_assert_cmpuint (kind->laws.n_slots_once, ==, 6);
    }
}

static void
assert_heights (const TesseraLengths *of)
{
  for (uint32_t i = 0; i < of->n_observed; i++)
    {
      TesseraLengthsNeed need;

      g_assert_true (tessera_lengths_measure (of, &of->observed[i], &need));
      g_assert_cmpuint (need.height_bytes, >=, need.bound_bytes);
      g_assert_cmpuint (need.height_bytes, <=, need.bound_bytes / 100 * 102);
    }
}

/* What comes between steps is of none of their parts. */
static void
test_between (void)
{
  const TestParts made = { 6, 3, 6, .seed = 11, .evaluates = true };
  g_auto (TestStudied) of = test_study (test_parts_trace (&made));

  g_assert_cmpuint (of.laws->parts.structure.n_steps, ==, 6 * 4);
  for (uint32_t i = 0; i < 6 * 4; i++)
    g_assert_cmpuint (of.laws->parts.step_of[i], ==, i % 4 == 3 ? 6 : i / 4);
  const TesseraKind *kind = tessera_laws_main (of.laws);
  g_assert_cmpuint (kind->n_steps, ==, 6 * 3);
  g_assert_cmpuint (kind->laws.n_slots_by_kind[TESSERA_SIZE_BOUNDED], ==, 6);
  g_autoptr (TesseraLengths) lengths = test_plan_lengths (&of);
  g_assert_cmpuint (count_over_cuts (lengths), ==, 6);
  assert_heights (lengths);
}

/* Nothing is cut where a step has one length, or hardly a byte differs by it, or what is
 * alive over a cut varies. */
static void
test_not_cut (void)
{
  const TestParts made[] = {
    { 6, 3, 6, .is_constant = true },
    { 6, 3, 6, .is_padded = true },
    { 6, 3, 6, .keeps = true },
    { 6, 1, 6, .seed = 0 },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (made); i++)
    {
      g_auto (TestStudied) of = test_study (test_parts_trace (&made[i]));
      g_assert_null (of.laws->parts.phase);
    }
}

/* Gradients have a place for all parts, which the part that makes them lends until they
 * come: the first of each step, or, of zeroed ones, the first of all. */
static void
test_gradients (void)
{
  for (int way = 0; way < 3; way++)
    {
      const TestParts made = {
        6, 3, 8, .seed = 7, .drops_late = way == 1, .drops_never = way == 2
      };
      char reason[96];
      uint32_t n_once = 0;
      bool has_first = false;
      g_auto (TestStudied) of = test_study (test_parts_trace (&made));
      g_autoptr (TesseraLengths) lengths = test_plan_lengths (&of);

      g_assert_cmpstr (lengths->cut_phase, ==, "forward");
      g_assert_cmpuint (count_over_cuts (lengths), ==, 8);
      for (uint32_t i = 0; i < lengths->n_slots; i++)
        n_once += lengths->slots[i].is_once;
      g_assert_cmpuint (n_once, ==, 8);
      for (uint32_t k = 0; k < lengths->n_orders; k++)
        has_first = has_first || lengths->orders[k].is_first;
      g_assert_true (has_first);
      g_assert_true (tessera_lengths_is_sound (lengths, reason, sizeof reason));
      assert_heights (lengths);
    }
}

static void
test_bare_names (void)
{
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 12 forward"), ==, "forward");
  g_assert_cmpstr (tessera_bare_phase ("call 2 of backward"), ==, "backward");
  g_assert_cmpstr (tessera_bare_phase ("call me"), ==, "call me");
  g_assert_cmpstr (tessera_bare_phase ("forward"), ==, "forward");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch forward"), ==, "micro-batch forward");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 1"), ==, "micro-batch 1");
  g_assert_cmpstr (tessera_bare_phase ("micro-batch 1 "), ==, "micro-batch 1 ");
}

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
  edited->of = test_study (test_steps_trace (&made_steps));
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

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Edited, edited_clear)

/* The @nth block that the last step asks for. */
static guint32
block_of_step (const Edited *edited, guint nth)
{
  const TesseraStructure *structure = edited->of.structure;

  return tessera_blocks_first_born (
             edited->of.blocks, structure->steps[structure->n_steps - 1].begin_index) +
         nth;
}

/* The slot that the block is of. */
static guint32
slot_of (const Edited *edited, guint32 block)
{
  const TesseraKind *kind = tessera_laws_main (edited->of.laws);

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

  OK (plan_edited (edited, &lengths));
  g_assert_nonnull (lengths);
  return lengths;
}

static void
assert_refused (Edited *edited, const char *reason)
{
  TesseraLengths *lengths;

  GIVES (TESSERA_REFUSED, plan_edited (edited, &lengths));
  if (!g_pattern_match_simple (reason, edited->error.text))
    g_error ("%s", edited->error.text);
}

/* A later step of that length. */
static TesseraPlan *
step_at (const TesseraLengths *lengths, guint64 length)
{
  const TesseraParameters at = { 1, length };
  TesseraPlan *step;

  OK (tessera_instance_of_step (lengths, &at, &(TesseraInstanceOptions){ 0 }, &step));
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
      g_autoptr (TesseraPlan) step = step_at (lengths, length);

      for (size_t i = 0; i < step->n_slots; i++)
        {
          const TesseraSlot *slot = &step->slots[i];
          Reach *reach = &reaches[slot->block];

          reach->low = MIN (reach->low, slot->offset_bytes);
          reach->high = MAX (reach->high, slot->offset_bytes);
          reach->end = MAX (reach->end, slot->offset_bytes + slot->block_bytes);
        }
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
  g_auto (Edited) edited = { 0 };
  g_autofree Reach *reaches = NULL;

  edited_init (&edited, TESSERA_EDIT_PIN);
  edited.edit.at = 512;
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  guint32 pinned = slot_of (&edited, edited.edit.what.blocks[0]);
  TesseraLengths *lengths = plan (&edited);
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
}

/* What is left to others has a place nowhere, is known to come, and costs nothing. */
static void
test_dynamic (void)
{
  const TesseraParameters at = { 1, 1000 };
  g_auto (Edited) edited = { 0 };
  g_autoptr (TesseraLengths) lengths = NULL, whole = NULL;
  TesseraLengthsNeed need, need_of_whole;
  g_autofree Reach *reaches = NULL;

  edited_init (&edited, TESSERA_EDIT_DYNAMIC);
  add_block (&edited.edit.what, 2); /* of the start */
  add_block (&edited.edit.what, block_of_step (&edited, 14));
  guint32 slot = slot_of (&edited, edited.edit.what.blocks[1]);
  lengths = plan (&edited);
  edited.edit.is_undone = true;
  whole = plan (&edited);
  reaches = find_reaches (lengths);
  g_assert_cmpuint (reaches[slot].low, ==, UINT64_MAX);
  g_autoptr (TesseraPlan) step = step_at (lengths, 1000);
  g_assert_cmpuint (step->n_unplanned, ==, 1);
  g_assert_cmpuint (step->unplanned[0].block, ==, slot);
  g_assert_true (tessera_lengths_measure (lengths, &at, &need));
  g_assert_true (tessera_lengths_measure (whole, &at, &need_of_whole));
  g_assert_cmpuint (need.height_bytes + lengths->start[2].block_bytes, <=,
                    need_of_whole.height_bytes);
  for (guint32 i = 0; i < lengths->n_start; i++)
    g_assert_cmpint (lengths->start[i].is_left, ==, i == 2);
}

/* Where one lies at one length the other lies at none; without the edit some do. What
 * stays together moves at no length. */
static void
test_apart_and_together (void)
{
  for (int way = 0; way < 3; way++)
    {
      const bool is_together = way == 2, has_with = way == 1;
      g_auto (Edited) edited = { 0 };
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
          g_autofree Reach *reaches = NULL;

          edited.edit.is_undone = is_undone;
          g_autoptr (TesseraLengths) lengths = plan (&edited);
          reaches = find_reaches (lengths);
          for (size_t i = 0; i < what->n_blocks; i++)
            {
              const Reach *of = &reaches[slot_of (&edited, what->blocks[i])];

              n_moving[is_undone] += of->low != of->high;
              for (size_t k = has_with ? 0 : i + 1; k < with->n_blocks; k++)
                n_meet[is_undone] +=
                    !are_apart (of, &reaches[slot_of (&edited, with->blocks[k])]);
            }
        }
      g_assert_cmpuint (n_meet[0], ==, 0);
      g_assert_cmpuint (n_meet[1], >, 0);
      g_assert_true (!is_together || n_moving[0] == 0);
      g_assert_cmpuint (n_moving[1], >, 0);
    }
}

/* The checker knows nothing of how that was made: of a plan without the edit it says what
 * is not apart. */
static void
test_checker_of_apart (void)
{
  g_auto (Edited) edited = { 0 };
  g_autofree guint64 *slots = NULL, *start = NULL;
  TesseraLengthsApart apart = { .one = 1, .other = 2 };
  TesseraLaw law;
  TesseraError error = { 0 };

  edited_init (&edited, TESSERA_EDIT_APART);
  edited.edit.is_undone = true;
  g_autoptr (TesseraLengths) lengths = plan (&edited);
  slots = g_new0 (guint64, lengths->n_slots);
  start = g_new0 (guint64, lengths->n_start);
  apart.slots = slots;
  apart.start = start;
  /* Of equal lives: always one above the other, but not at one place at every length. */
  slots[slot_of (&edited, block_of_step (&edited, 5))] = 1;
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 2;
  GIVES (TESSERA_REFUSED, tessera_check_lengths_apart (lengths, &apart, &law, &error));
  g_assert_cmpint (law, ==, TESSERA_LAW_APART);
  apart.other = 4; /* nobody's */
  OK (tessera_check_lengths_apart (lengths, &apart, &law, &error));
  /* One slot at two lengths is not apart from itself, nor need it be. */
  apart.other = 1;
  OK (tessera_check_lengths_apart (lengths, &apart, &law, &error));
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 1;
  GIVES (TESSERA_REFUSED, tessera_check_lengths_apart (lengths, &apart, &law, &error));
  start[0] = start[1] = 1;
  slots[slot_of (&edited, block_of_step (&edited, 12))] = 0;
  OK (tessera_check_lengths_apart (lengths, &apart, &law, &error));
}

/* The pool is no higher, at the most that the plan is for; what goes is not all. */
static void
test_cap (void)
{
  g_auto (Edited) edited = { 0 };
  guint64 height, uncapped;
  guint n_left = 0;

  edited_init (&edited, TESSERA_EDIT_CAP);
  edited.edit.at = UINT64_MAX / 4;
  TesseraLengths *lengths = plan (&edited);
  OK (tessera_lengths_height (lengths, &uncapped));
  tessera_lengths_free (lengths);
  for (guint percent = 99; percent >= 40; percent -= 10)
    {
      guint64 cap = uncapped / 100 * percent / 512 * 512;

      edited.edit.at = cap;
      lengths = plan (&edited);
      OK (tessera_lengths_height (lengths, &height));
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
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/lengths/habits", test_habits);
  g_test_add_func ("/planner/lengths/zones", test_zones);
  g_test_add_func ("/planner/lengths/parts/cuts", test_cuts);
  g_test_add_func ("/planner/lengths/parts/between", test_between);
  g_test_add_func ("/planner/lengths/parts/not-cut", test_not_cut);
  g_test_add_func ("/planner/lengths/parts/gradients", test_gradients);
  g_test_add_func ("/planner/lengths/parts/bare-names", test_bare_names);
  g_test_add_func ("/planner/lengths/edits/pin", test_pin);
  g_test_add_func ("/planner/lengths/edits/dynamic", test_dynamic);
  g_test_add_func ("/planner/lengths/edits/apart-and-together", test_apart_and_together);
  g_test_add_func ("/planner/lengths/edits/checker-of-apart", test_checker_of_apart);
  g_test_add_func ("/planner/lengths/edits/cap", test_cap);
  return g_test_run ();
}
