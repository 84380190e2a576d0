/*
 * Tests of the checker: plans that are right, plans that break one named law, and a slow
 * oracle that looks at every position and every address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include "planner/check/test-plans.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_VARIANTS 1100
#define SEED 4711

/* ---- breaking one law ---- */

/* Each breaks its law at a random place; FALSE: not possible in this plan. */
typedef gboolean (*Breaker) (GRand *random, TesseraPlan *plan);

static TesseraSlot *
any_slot (GRand *random, TesseraPlan *plan)
{
  return &plan->slots[check_pick (random, (guint) plan->n_slots)];
}

static gboolean
break_alignment (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  switch (check_pick (random, 5))
    {
    case 0:
      slot->offset_bytes += 1 + check_pick (random, CHECK_ALIGNMENT - 1);
      break;
    case 1:
      slot->block_bytes += 1 + check_pick (random, CHECK_ALIGNMENT - 1);
      break;
    case 2:
      slot->size_bytes = slot->block_bytes + 1;
      break;
    case 3:
      slot->block_bytes = slot->size_bytes = 0;
      break;
    default:
      plan->alignment_bytes = 0;
    }
  return TRUE;
}

static gboolean
break_bounds (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  switch (check_pick (random, 3))
    {
    case 0:
      slot->offset_bytes = plan->height_bytes;
      break;
    case 1:
      slot->offset_bytes = UINT64_MAX - CHECK_ALIGNMENT + 1; /* the sum overflows */
      break;
    default:
      plan->height_bytes -= 1;
    }
  return TRUE;
}

static gboolean
break_sections (GRand *random, TesseraPlan *plan)
{
  TesseraSection *section = &plan->sections[check_pick (random, 3)];
  TesseraSlot *slot = any_slot (random, plan);
  switch (check_pick (random, 7))
    {
    case 0:
      slot->section = (slot->section + 1) % 3;
      break;
    case 1:
      section->first_slot++;
      break;
    case 2:
      section->n_slots += check_pick (random, 2) ? 1 : UINT32_MAX;
      break;
    case 3:
      /* Two that repeat, with another between them. */
      plan->sections[0].kind = plan->sections[2].kind = TESSERA_SECTION_REPEATS;
      plan->sections[1].kind = TESSERA_SECTION_ONCE;
      break;
    case 4:
      slot->born = plan->sections[slot->section].end;
      break;
    case 5:
      plan->sections[2].end = plan->n_positions + 1;
      break;
    default:
      plan->sections[1].begin = plan->sections[0].end - 1;
    }
  return TRUE;
}

static gboolean
break_lifetime (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  switch (check_pick (random, 5))
    {
    case 0:
      slot->died = slot->born;
      break;
    case 1:
      slot->died = plan->n_positions + 1;
      break;
    case 2:
      slot->died_next = slot->wraps ? plan->sections[1].end + 1 : 1;
      break;
    case 3:
      if (!slot->wraps)
        return FALSE;
      slot->died_next = plan->sections[1].begin;
      break;
    default:
      if (slot->wraps || slot->section == 1)
        return FALSE;
      slot->wraps = 1;
      slot->died_next = slot->born;
    }
  return TRUE;
}

static gboolean
break_overlap (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan), *other = any_slot (random, plan);
  if (slot == other || check_share_addresses (slot, other))
    return FALSE;
  for (uint32_t position = 0; position < plan->n_positions; position++)
    if (check_is_alive (plan, slot, position) && check_is_alive (plan, other, position))
      {
        slot->offset_bytes = other->offset_bytes + other->block_bytes - CHECK_ALIGNMENT;
        return slot->offset_bytes + slot->block_bytes <= plan->height_bytes;
      }
  return FALSE;
}

/* One that takes turns ends sooner, or all live as long as they can. */
static gboolean
break_rotation (GRand *random, TesseraPlan *plan)
{
  gboolean ends_sooner = check_pick (random, 2);
  TesseraSlot *slot = NULL;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].wraps && plan->slots[i].died_next > plan->slots[i].born)
      slot = &plan->slots[i];
  if (slot == NULL)
    return FALSE;
  if (ends_sooner && slot->died > plan->sections[1].end)
    slot->died--;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (!ends_sooner && plan->slots[i].block_bytes == slot->block_bytes &&
        plan->slots[i].wraps && plan->slots[i].ordinal != TESSERA_NONE)
      plan->slots[i].died_next = plan->sections[1].end;
  return check_oracle_rotations (plan);
}

static gboolean
break_streams (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan), *other = any_slot (random, plan);
  if (slot->wraps && slot->died_next >= slot->born)
    return FALSE; /* its rotation would miss it first */
  switch (check_pick (random, 3))
    {
    case 0:
      slot->stream = (uint16_t) plan->n_streams;
      return TRUE;
    case 1:
      slot->pool = 1;
      break;
    default: /* a range that passes from stream to stream */
      plan->n_streams = 4;
      slot->stream = 3;
    }
  return slot != other && check_share_addresses (slot, other);
}

static gboolean
break_height (GRand *random, TesseraPlan *plan)
{
  plan->height_bytes += 1 + check_pick (random, 1000);
  return TRUE;
}

static gboolean
break_bound (GRand *random, TesseraPlan *plan)
{
  plan->bound_bytes += check_pick (random, 2) ? 1 + check_pick (random, 99) : UINT64_MAX;
  return TRUE;
}

static gboolean
break_proof (GRand *random, TesseraPlan *plan)
{
  uint64_t by = 1 + check_pick (random, 99);
  plan->proven_bound_bytes =
      check_pick (random, 2) ? plan->height_bytes + by : plan->bound_bytes - by;
  return plan->proven_bound_bytes != 0;
}

static gboolean
break_digest (GRand *random, TesseraPlan *plan)
{
  plan->slot_digest ^= UINT64_C (1) << check_pick (random, 64);
  return TRUE;
}

static gboolean
break_fingerprint (GRand *random, TesseraPlan *plan)
{
  plan->trace_fingerprint ^= UINT64_C (1) << check_pick (random, 64);
  return TRUE;
}

static const struct
{
  TesseraLaw law;
  Breaker breaks;
} breakers[] = {
  { TESSERA_LAW_ALIGNMENT, break_alignment },
  { TESSERA_LAW_BOUNDS, break_bounds },
  { TESSERA_LAW_SECTIONS, break_sections },
  { TESSERA_LAW_LIFETIME, break_lifetime },
  { TESSERA_LAW_OVERLAP, break_overlap },
  { TESSERA_LAW_ROTATION, break_rotation },
  { TESSERA_LAW_STREAMS, break_streams },
  { TESSERA_LAW_HEIGHT, break_height },
  { TESSERA_LAW_BOUND, break_bound },
  { TESSERA_LAW_PROOF, break_proof },
  { TESSERA_LAW_DIGEST, break_digest },
  { TESSERA_LAW_FINGERPRINT, break_fingerprint },
};

static void
assert_accepted (const TesseraPlan *plan, const TesseraTrace *trace)
{
  TesseraError error = { 0 };
  TesseraLaw law;
  TesseraStatus status = tessera_check_plan (plan, trace, &law, &error);
  g_assert_cmpstr (error.text, ==, "");
  OK (status);
  g_assert_cmpint (law, ==, TESSERA_LAW_NONE);
}

static void
test_broken (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autoptr (TesseraTrace) trace = NULL;
  const TesseraEvent event = {
    .addr = 512, .size_bytes = 100, .action = TESSERA_ALLOC, .stack = TESSERA_NONE
  };
  guint counts[G_N_ELEMENTS (breakers)] = { 0 };
  OK (tessera_trace_new (&trace));
  OK (tessera_trace_add_event (trace, &event));
  for (guint n = 0; n < N_VARIANTS;)
    {
      guint k = n % G_N_ELEMENTS (breakers);
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      plan->trace_fingerprint = tessera_trace_fingerprint (trace);
      assert_accepted (plan, trace);
      if (breakers[k].breaks (random, plan))
        {
          TesseraError error = { 0 };
          TesseraLaw law;
          /* The places changed on purpose: the digest is not what is meant. */
          if (breakers[k].law != TESSERA_LAW_DIGEST)
            plan->slot_digest = tessera_plan_digest (plan);
          GIVES (TESSERA_REFUSED, tessera_check_plan (plan, trace, &law, &error));
          g_assert_cmpstr (tessera_law_name (law), ==,
                           tessera_law_name (breakers[k].law));
          g_assert_true (g_str_has_prefix (error.text, tessera_law_name (law)));
          g_assert_nonnull (strstr (error.text, "expected"));
          g_assert_nonnull (strstr (error.text, "found"));
          counts[k]++;
          n++;
        }
    }
  for (gsize k = 0; k < G_N_ELEMENTS (breakers); k++)
    g_assert_cmpuint (counts[k], >=, N_VARIANTS / G_N_ELEMENTS (breakers));
}

/* ---- changes that leave a plan right ---- */

static void
turn_upside_down (GRand *random, TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes =
        plan->height_bytes - plan->slots[i].offset_bytes - plan->slots[i].block_bytes;
}

static void
raise_the_upper_part (GRand *random, TesseraPlan *plan)
{
  uint64_t cut = any_slot (random, plan)->offset_bytes;
  uint64_t by = CHECK_ALIGNMENT * (1 + check_pick (random, 5));
  /* Whoever reaches over the cut pulls those above it along: raise from its top on. */
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < plan->n_slots; k++)
      {
        const TesseraSlot *slot = &plan->slots[k];
        if (slot->offset_bytes < cut && cut < slot->offset_bytes + slot->block_bytes)
          cut = slot->offset_bytes + slot->block_bytes;
      }
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].offset_bytes >= cut)
      plan->slots[i].offset_bytes += by;
}

static void
move_one (GRand *random, TesseraPlan *plan)
{
  size_t i = check_pick (random, (guint) plan->n_slots);
  do
    plan->slots[i].offset_bytes =
        (uint64_t) CHECK_ALIGNMENT *
        check_pick (random, (guint) (plan->height_bytes / CHECK_ALIGNMENT + 9));
  while (!check_fits (plan, i, plan->n_slots));
}

static void
shorten_a_life (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  if (!slot->wraps)
    slot->died = slot->born + 1 + check_pick (random, slot->died - slot->born);
}

static void
test_valid (void)
{
  static void (*const changes[]) (GRand *, TesseraPlan *) = { turn_upside_down,
                                                              raise_the_upper_part,
                                                              move_one, shorten_a_life };
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  for (guint n = 0; n < N_VARIANTS; n++)
    {
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      changes[n % G_N_ELEMENTS (changes)](random, plan);
      check_seal (plan);
      assert_accepted (plan, NULL);
    }
}

/* The two slots that a refusal names share an address at its position, the lower one
 * first. */
static void
assert_overlap_is_named (const TesseraPlan *plan, const TesseraError *error)
{
  const char *second = strstr (error->text, " and slot ");
  unsigned position, one, other;
  g_assert_cmpint (sscanf (error->text,
                           "overlap: expected no shared address at position %u, "
                           "found slot %u (",
                           &position, &one),
                   ==, 2);
  g_assert_nonnull (second);
  g_assert_cmpint (sscanf (second, " and slot %u (", &other), ==, 1);
  const TesseraSlot *low = &plan->slots[one];
  const TesseraSlot *high = &plan->slots[other];

  g_assert_true (low != high && check_share_addresses (low, high));
  g_assert_true (check_is_alive (plan, low, position));
  g_assert_true (check_is_alive (plan, high, position));
  g_assert_true (low->offset_bytes < high->offset_bytes ||
                 (low->offset_bytes == high->offset_bytes && one < other));
}

/* Random places, most of them wrong: the verdict is the oracle's. */
static void
test_oracle (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 2);
  guint n_right = 0, n_overlaps = 0, n_rotations = 0, n_streams = 0;
  for (guint n = 0; n < 6000; n++)
    {
      g_autoptr (TesseraPlan) plan = check_pick (random, 2) ? check_random_slots (random)
                                                            : check_random_plan (random);
      guint n_moved = check_pick (random, 4);
      gboolean is_spread = check_pick (random, 2);
      for (size_t i = 0; i < plan->n_slots; i++)
        if (plan->height_bytes == 0)
          plan->slots[i].offset_bytes =
              is_spread ? i * 8 * CHECK_ALIGNMENT
                        : (uint64_t) CHECK_ALIGNMENT * check_pick (random, 400);
      for (guint i = 0; i < n_moved; i++)
        any_slot (random, plan)->offset_bytes =
            (uint64_t) CHECK_ALIGNMENT * check_pick (random, 40);
      if (check_pick (random, 2) == 0)
        any_slot (random, plan)->stream = (uint16_t) check_pick (random, plan->n_streams);
      check_seal (plan);
      if (check_pick (random, 2) == 0)
        break_rotation (random, plan);
      TesseraLaw expected = check_oracle_overlap (plan)     ? TESSERA_LAW_OVERLAP
                            : check_oracle_rotations (plan) ? TESSERA_LAW_ROTATION
                            : check_oracle_streams (plan)   ? TESSERA_LAW_STREAMS
                                                            : TESSERA_LAW_NONE;
      TesseraError error;
      check_assert_law (plan, expected, &error);
      if (expected == TESSERA_LAW_OVERLAP)
        assert_overlap_is_named (plan, &error);
      n_right += expected == TESSERA_LAW_NONE;
      n_overlaps += expected == TESSERA_LAW_OVERLAP;
      n_rotations += expected == TESSERA_LAW_ROTATION;
      n_streams += expected == TESSERA_LAW_STREAMS;
    }
  /* Each verdict has been asked for often enough to mean something. */
  g_assert_cmpuint (n_right, >, 200);
  g_assert_cmpuint (n_overlaps, >, 200);
  g_assert_cmpuint (n_rotations, >, 50);
  g_assert_cmpuint (n_streams, >, 200);
}

/* A refused bound says what the load is, and the first position at which it is so. */
static void
test_load (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 4);
  for (guint n = 0; n < 1000; n++)
    {
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      TesseraError error;
      uint64_t most = 0, bytes;
      uint32_t most_at = 0, position;
      for (uint32_t at = 0; at < plan->n_positions; at++)
        {
          uint64_t load = 0;
          for (size_t i = 0; i < plan->n_slots; i++)
            if (check_is_alive (plan, &plan->slots[i], at))
              load += plan->slots[i].block_bytes;
          most_at = load > most ? at : most_at;
          most = MAX (most, load);
        }
      plan->bound_bytes++;
      check_assert_law (plan, TESSERA_LAW_BOUND, &error);
      g_assert_cmpint (sscanf (error.text,
                               "bound: expected %" G_GUINT64_FORMAT
                               " bytes, the load at position %u",
                               &bytes, &position),
                       ==, 2);
      g_assert_cmpuint (bytes, ==, most);
      g_assert_cmpuint (position, ==, most_at);
    }
}

/* ---- rooms ---- */

static gboolean
is_open (const TesseraPlan *plan, const TesseraRoom *room, uint32_t position)
{
  return (room->born <= position && position < room->died) ||
         (plan->sections[room->section].begin <= position && position < room->died_next);
}

static gboolean
oracle_room (const TesseraPlan *plan, const TesseraRoom *room)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      gboolean is_other_class = plan->n_streams > 1 && !room->is_small;
      if (MAX (slot->offset_bytes, room->begin_bytes) >=
          MIN (slot->offset_bytes + slot->block_bytes, room->end_bytes))
        continue;
      if (slot->stream != room->stream || slot->pool != 0 || is_other_class)
        return TRUE;
      for (uint32_t position = 0; position < plan->n_positions; position++)
        if (is_open (plan, room, position) && check_is_alive (plan, slot, position))
          return TRUE;
    }
  return FALSE;
}

/* One room at most in each section, wherever it falls. */
static void
add_rooms (GRand *random, TesseraPlan *plan)
{
  plan->rooms = calloc (plan->n_sections, sizeof *plan->rooms);
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      TesseraRoom room = { .section = s, .born = section->begin };
      if (check_pick (random, 2))
        continue;
      room.before = section->first_slot + check_pick (random, section->n_slots + 1);
      room.died = room.born + check_pick (random, plan->n_positions - room.born + 1);
      if (section->kind == TESSERA_SECTION_REPEATS && check_pick (random, 2))
        {
          room.died = MAX (room.died, section->end);
          room.died_next =
              section->begin + 1 + check_pick (random, section->end - section->begin);
        }
      room.begin_bytes = (uint64_t) CHECK_ALIGNMENT *
                         check_pick (random, (guint) (plan->height_bytes / 16 + 3));
      room.end_bytes = room.begin_bytes + CHECK_ALIGNMENT * check_pick (random, 4);
      room.stream = (uint16_t) check_pick (random, plan->n_streams);
      room.is_small = check_pick (random, 4) > 0;
      plan->rooms[plan->n_rooms++] = room;
    }
  for (size_t i = 0; i < plan->n_rooms; i++)
    plan->height_bytes = MAX (plan->height_bytes, plan->rooms[i].end_bytes);
}

static void
test_rooms (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 5);
  guint n_right = 0, n_wrong = 0;
  for (guint n = 0; n < 6000; n++)
    {
      g_autoptr (TesseraPlan) plan = check_random_plan (random);
      gboolean is_wrong = FALSE;
      TesseraError error;
      add_rooms (random, plan);
      for (size_t i = 0; i < plan->n_rooms; i++)
        is_wrong = is_wrong || oracle_room (plan, &plan->rooms[i]);
      check_assert_law (plan, is_wrong ? TESSERA_LAW_ROOMS : TESSERA_LAW_NONE, &error);
      n_right += !is_wrong && plan->n_rooms > 0;
      n_wrong += is_wrong;
    }
  g_assert_cmpuint (n_right, >, 500);
  g_assert_cmpuint (n_wrong, >, 500);
}

/* ---- plans by hand ---- */

/* Of one section, which is all of the plan; aligned to 16 bytes. */
static TesseraPlan
hand_plan (TesseraSlot *slots, TesseraSection *section, uint64_t height_bytes)
{
  return (TesseraPlan){ .alignment_bytes = CHECK_ALIGNMENT,
                        .height_bytes = height_bytes,
                        .bound_bytes = height_bytes,
                        .n_positions = section->end,
                        .n_streams = 1,
                        .slots = slots,
                        .n_slots = section->n_slots,
                        .sections = section,
                        .n_sections = 1 };
}

static void
test_empty (void)
{
  TesseraPlan plan = { .alignment_bytes = 512 };
  TesseraError error;
  check_assert_law (&plan, TESSERA_LAW_NONE, &error);
}

/* What a block is rounded up by is its own: two blocks may not meet there either. */
static void
test_overlap_in_rounding (void)
{
  for (guint n = 0; n < 2; n++)
    {
      TesseraSlot slots[] = {
        { .born = 0, .died = 2, .size_bytes = 16, .block_bytes = 48, .ordinal = 0 },
        { .born = 1, .died = 2, .size_bytes = 16, .block_bytes = 48, .ordinal = 1 },
      };
      TesseraSection section = { .kind = TESSERA_SECTION_ONCE, .end = 2, .n_slots = 2 };
      TesseraPlan plan = hand_plan (slots, &section, 80);
      TesseraError error;

      plan.bound_bytes = 96;
      slots[n].offset_bytes = 32; /* the later one above the other, and below it */
      check_assert_law (&plan, TESSERA_LAW_OVERLAP, &error);
    }
}

/* Of two blocks of the step before, the one that has just ended is not named. */
static void
test_overlap_names_the_living (void)
{
  TesseraSlot slots[] = {
    { .born = 2, .died = 3, .size_bytes = 32, .block_bytes = 32 },
    { .born = 5, .died = 10, .size_bytes = 16, .block_bytes = 16, .wraps = 1 },
    { .born = 6, .died = 10, .size_bytes = 16, .block_bytes = 16, .wraps = 1 },
  };
  TesseraSection section = { .kind = TESSERA_SECTION_REPEATS, .end = 10, .n_slots = 3 };
  TesseraPlan plan = hand_plan (slots, &section, 32);
  TesseraError error;

  slots[1].died_next = 2;
  slots[2].died_next = 4;
  slots[2].offset_bytes = 16;
  check_assert_law (&plan, TESSERA_LAW_OVERLAP, &error);
  assert_overlap_is_named (&plan, &error);
}

/* A rotation whose first slot is the plan's first, with a spare. What one of them leaves
 * after the steps the other does not: both are named. */
static void
test_rotation_by_hand (void)
{
  TesseraSlot slots[] = {
    { .born = 2, .died = 10, .died_next = 4, .ordinal = 0 },
    { .born = 9, .died = 10, .died_next = 9, .ordinal = TESSERA_NONE },
  };
  TesseraSection sections[] = {
    { .kind = TESSERA_SECTION_REPEATS, .end = 10, .n_slots = 2 },
    { .kind = TESSERA_SECTION_ONCE, .begin = 10, .end = 12, .first_slot = 2 },
  };
  TesseraPlan plan = hand_plan (slots, sections, 32);
  TesseraError error;

  for (guint i = 0; i < 2; i++)
    {
      slots[i].size_bytes = slots[i].block_bytes = 16;
      slots[i].offset_bytes = 16 * i;
      slots[i].wraps = 1;
    }
  check_assert_law (&plan, TESSERA_LAW_NONE, &error);
  plan.n_sections = 2;
  plan.n_positions = 12;
  slots[0].died = 11;
  check_assert_law (&plan, TESSERA_LAW_ROTATION, &error);
  g_assert_nonnull (
      strstr (error.text, "slots that take turns to end together, found slot 0"));
  g_assert_nonnull (strstr (error.text, " and slot 1"));
  slots[1].died = 11;
  check_assert_law (&plan, TESSERA_LAW_NONE, &error);
}

/* One slot: its load is its size. */
static void
test_single (void)
{
  TesseraSlot slot = { .size_bytes = 16, .block_bytes = 16, .born = 2, .died = 4 };
  TesseraSection section = { .end = 10, .n_slots = 1 };
  TesseraPlan plan = hand_plan (&slot, &section, 16);
  TesseraError error;

  check_assert_law (&plan, TESSERA_LAW_NONE, &error);
  plan.bound_bytes = 0;
  check_assert_law (&plan, TESSERA_LAW_BOUND, &error);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/load", test_load);
  g_test_add_func ("/check/rooms", test_rooms);
  g_test_add_func ("/check/empty", test_empty);
  g_test_add_func ("/check/broken", test_broken);
  g_test_add_func ("/check/valid", test_valid);
  g_test_add_func ("/check/oracle", test_oracle);
  g_test_add_func ("/check/overlap-in-rounding", test_overlap_in_rounding);
  g_test_add_func ("/check/overlap-names-the-living", test_overlap_names_the_living);
  g_test_add_func ("/check/single", test_single);
  g_test_add_func ("/check/rotation-by-hand", test_rotation_by_hand);
  return g_test_run ();
}
