/*
 * Tests of the checker on plans with several kinds of step: its verdict against all
 * orders of a few steps, played block by block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/check/test-plans.h"
#include "tests/fail_alloc.h"

#define SEED 20261122
#define MAX_KINDS 3u
#define N_STEPS 4u /* of the orders that are played */

/* ---- orders of steps, played ---- */

typedef struct
{
  uint32_t slot;
  gboolean is_alive;
} Instance;

typedef struct
{
  const TesseraPlan *plan;
  guint n_kinds;
  GArray *instances;
} Play;

static gboolean
takes_turns (const TesseraPlan *plan, const TesseraSlot *slot)
{
  gboolean does = FALSE;

  if (!slot->wraps || slot->died_next < slot->born)
    return FALSE;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *other = &plan->slots[i];

      does |= other->wraps && other->died_next >= other->born &&
              other->block_bytes == slot->block_bytes && other->stream == slot->stream &&
              other->pool == slot->pool &&
              (other->died_next > other->born || other->ordinal == TESSERA_NONE);
    }
  return does;
}

static uint32_t
end_in (const TesseraPlan *plan, uint32_t slot, uint32_t section)
{
  for (size_t i = 0; i < plan->n_crossings; i++)
    if (plan->crossings[i].slot == slot && plan->crossings[i].section == section)
      return plan->crossings[i].died;
  return plan->sections[section].end;
}

/* What is alive ends by @position of a section; @is_last: blocks of the kinds go on only
 * as far as the plan says. */
static void
end_blocks (Play *play, uint32_t section, uint32_t position, size_t n_before)
{
  const TesseraPlan *plan = play->plan;

  for (size_t i = 0; i < play->instances->len; i++)
    {
      Instance *instance = &g_array_index (play->instances, Instance, i);
      const TesseraSlot *slot = &plan->slots[instance->slot];
      gboolean is_kind = plan->sections[section].kind == TESSERA_SECTION_REPEATS;
      gboolean is_new = i >= n_before;
      uint32_t end = slot->died;

      if (is_kind && !is_new && slot->wraps)
        {
          end = slot->section == section ? slot->died_next
                                         : end_in (plan, instance->slot, section);
          if (end == plan->sections[section].end && slot->section != section)
            continue; /* goes on */
        }
      else if (is_kind && is_new && slot->wraps)
        continue;
      if (end <= position)
        instance->is_alive = FALSE;
    }
}

/* A block is born: does it lie on another, or are there too many of its rotation? */
static gboolean
clashes (const Play *play, uint32_t born)
{
  const TesseraPlan *plan = play->plan;
  const TesseraSlot *slot = &plan->slots[born];
  gboolean turns = takes_turns (plan, slot);
  guint n_alive = 1, n_places = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *other = &plan->slots[i];

      if (!takes_turns (plan, other))
        continue;
      if (!turns && plan->sections[slot->section].kind == TESSERA_SECTION_REPEATS &&
          check_share_addresses (slot, other))
        return TRUE; /* reserved */
      n_places += turns && other->section == slot->section &&
                  other->block_bytes == slot->block_bytes;
    }
  for (size_t i = 0; i < play->instances->len; i++)
    {
      const Instance *instance = &g_array_index (play->instances, Instance, i);
      const TesseraSlot *other = &plan->slots[instance->slot];

      if (!instance->is_alive)
        continue;
      if (turns && takes_turns (plan, other) && other->block_bytes == slot->block_bytes)
        n_alive++;
      else if (check_share_addresses (slot, other))
        return TRUE;
    }
  return turns && n_alive > n_places;
}

static gboolean
is_absent (const TesseraPlan *plan, uint32_t slot)
{
  const TesseraSlot *of = &plan->slots[slot];

  return of->wraps && of->died_next == plan->sections[of->section].begin;
}

/* Something is there of which the plan says that no step of its layout finds it. */
static gboolean
finds_absent (const Play *play, uint32_t section)
{
  const TesseraPlan *plan = play->plan;

  for (size_t i = 0; i < play->instances->len; i++)
    {
      const Instance *instance = &g_array_index (play->instances, Instance, i);
      const TesseraSlot *slot = &plan->slots[instance->slot];

      if (instance->is_alive && is_absent (plan, instance->slot) &&
          plan->sections[slot->section].alternate == plan->sections[section].alternate)
        return TRUE;
    }
  return FALSE;
}

/* One section. Returns: whether something clashed. */
static gboolean
play_section (Play *play, uint32_t section)
{
  const TesseraPlan *plan = play->plan;
  const TesseraSection *at = &plan->sections[section];
  size_t n_before = play->instances->len;
  gboolean is_end = section + 1 == plan->n_sections;

  if (finds_absent (play, section))
    return TRUE;
  for (size_t i = 0; is_end && i < n_before; i++)
    {
      Instance *instance = &g_array_index (play->instances, Instance, i);

      instance->is_alive &= plan->slots[instance->slot].died > at->begin;
    }
  for (uint32_t position = at->begin; position < at->end; position++)
    {
      end_blocks (play, section, position, n_before);
      for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
        {
          const Instance instance = { i, TRUE };

          if (plan->slots[i].born != position ||
              (plan->slots[i].ordinal == TESSERA_NONE &&
               takes_turns (plan, &plan->slots[i])))
            continue;
          if (clashes (play, i))
            return TRUE;
          g_array_append_val (play->instances, instance);
        }
    }
  end_blocks (play, section, at->end, n_before);
  return FALSE;
}

static gboolean
changes_turn (const TesseraPlan *plan, uint32_t section)
{
  const TesseraSection *at = &plan->sections[section];

  for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
    if (is_absent (plan, i))
      return TRUE;
  return FALSE;
}

/* All orders of up to N_STEPS steps, each followed by the end; kinds that alternate, so
 * many, in the layout whose turn it is. */
static gboolean
play_all (const TesseraPlan *plan, guint n_sections, gboolean alternates)
{
  guint n_orders = 1, n_kinds = alternates ? n_sections / 2 : n_sections;
  gboolean clashed = FALSE;

  for (guint i = 0; i < N_STEPS; i++)
    n_orders *= n_kinds + 1;
  for (guint order = 0; order < n_orders && !clashed; order++)
    {
      Play play = { plan, n_kinds, g_array_new (FALSE, FALSE, sizeof (Instance)) };
      guint left = order, turn = 0;

      clashed = play_section (&play, 0);
      for (guint i = 0; i < N_STEPS && !clashed; i++, left /= n_kinds + 1)
        if (left % (n_kinds + 1) < n_kinds)
          {
            uint32_t section = 1 + turn * n_kinds + left % (n_kinds + 1);

            clashed = play_section (&play, section);
            turn ^= alternates && changes_turn (plan, section);
          }
      clashed = clashed || play_section (&play, n_sections + 1);
      g_array_free (play.instances, TRUE);
    }
  return clashed;
}

/* Places that are reserved share addresses with nothing carried or held, nor with each
 * other; every kind has all of them; they end together. By definition, not by play. */
static gboolean
breaks_reserved (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < plan->n_slots; k++)
      {
        const TesseraSlot *turn = &plan->slots[i], *other = &plan->slots[k];
        gboolean is_held = other->wraps || other->died > plan->sections[1].begin;

        if (i == k || !takes_turns (plan, turn) || !check_share_addresses (turn, other))
          continue;
        if (takes_turns (plan, other))
          {
            if (turn->section == other->section ||
                turn->offset_bytes != other->offset_bytes)
              return TRUE;
          }
        else if (is_held && other->section + 1 < plan->n_sections &&
                 (other->section > 0 || other->died > plan->sections[1].begin))
          return TRUE;
      }
  return FALSE;
}

/* ---- plans ---- */

static void
add_crossings (GRand *random, TesseraPlan *plan, guint n_kinds)
{
  plan->crossings = calloc (plan->n_slots * n_kinds + 1, sizeof *plan->crossings);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    for (uint32_t s = 1; plan->slots[i].wraps && s <= n_kinds; s++)
      {
        const TesseraSection *at = &plan->sections[s];

        if (s != plan->slots[i].section && check_pick (random, 4) != 0)
          plan->crossings[plan->n_crossings++] = (TesseraCrossing){
            i, s, at->begin + 1 + check_pick (random, at->end - at->begin)
          };
      }
}

static void
random_life (GRand *random, const TesseraPlan *plan, guint n_kinds, TesseraSlot *slot)
{
  const TesseraSection *at = &plan->sections[slot->section];
  uint32_t stop = plan->sections[n_kinds].end;

  slot->died = slot->born + 1 + check_pick (random, at->end - slot->born);
  if (slot->section == 0 && check_pick (random, 3) == 0)
    slot->died = stop + check_pick (random, plan->n_positions - stop + 1);
  if (slot->section == 0 || slot->section > n_kinds || slot->born == at->begin ||
      check_pick (random, 2) == 0)
    return;
  slot->wraps = 1;
  slot->died = check_pick (random, 3)
                   ? at->end
                   : stop + 1 + check_pick (random, plan->n_positions - stop);
  slot->died_next = at->begin + 1 + check_pick (random, slot->born - at->begin);
}

static int
compare_born (const void *a, const void *b)
{
  const TesseraSlot *x = a, *y = b;

  return (x->born > y->born) - (x->born < y->born);
}

/* A rotation of places 0 .. n - 1, of a size that nobody else has. All end after the kinds,
 * or each with its own. */
static void
random_rotation (GRand *random, TesseraPlan *plan, guint n_kinds)
{
  guint n_places = 2 + check_pick (random, 2);
  gboolean is_after = check_pick (random, 2) == 0;

  for (uint32_t s = 1; s <= n_kinds; s++)
    {
      const TesseraSection *at = &plan->sections[s];
      guint n_requests = check_pick (random, n_places);

      for (guint i = 0; i < n_places && at->n_slots > n_places; i++)
        {
          TesseraSlot *slot = &plan->slots[at->first_slot + at->n_slots - n_places + i];

          slot->block_bytes = slot->size_bytes = CHECK_ALIGNMENT * 9;
          slot->offset_bytes = CHECK_ALIGNMENT * 9 * i;
          slot->wraps = 1;
          slot->died = is_after ? plan->sections[n_kinds].end + 1 : at->end;
          if (i >= n_requests)
            {
              slot->ordinal = TESSERA_NONE;
              slot->born = slot->died_next = at->end - 1;
            }
          else
            {
              if (slot->born == at->begin)
                slot->born++;
              slot->died_next =
                  slot->born + check_pick (random, at->end - slot->born + 1);
            }
        }
    }
  for (uint32_t s = 1; s <= n_kinds; s++)
    qsort (plan->slots + plan->sections[s].first_slot,
           plan->sections[s].n_slots - n_places, sizeof *plan->slots, compare_born);
}

static void
fill_section (GRand *random, TesseraPlan *plan, guint n_kinds, uint32_t s)
{
  const TesseraSection *at = &plan->sections[s];

  for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
    plan->slots[i].born = at->begin + check_pick (random, at->end - at->begin);
  qsort (plan->slots + at->first_slot, at->n_slots, sizeof *plan->slots, compare_born);
  for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];

      slot->block_bytes = slot->size_bytes =
          CHECK_ALIGNMENT * (1 + check_pick (random, 4));
      slot->section = s;
      slot->ordinal = i;
      slot->phase = slot->group = TESSERA_NONE;
      random_life (random, plan, n_kinds, slot);
    }
}

/* Slots of the same size may be given the same place: whether that is lawful is the
 * question. */
static TesseraPlan *
random_plan (GRand *random, guint n_kinds, guint n_places)
{
  TesseraPlan *plan;

  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = CHECK_ALIGNMENT;
  plan->n_streams = 1;
  plan->n_sections = n_kinds + 2;
  plan->sections = calloc (plan->n_sections, sizeof *plan->sections);
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      TesseraSection *at = &plan->sections[s];

      at->begin = plan->n_positions;
      at->end = plan->n_positions += 3 + check_pick (random, 8);
      at->first_slot = (uint32_t) plan->n_slots;
      at->n_slots = 4 + check_pick (random, 3);
      at->kind = s > 0 && s <= n_kinds;
      plan->n_slots += at->n_slots;
    }
  plan->slots = calloc (plan->n_slots, sizeof *plan->slots);
  for (uint32_t s = 0; s < plan->n_sections; s++)
    fill_section (random, plan, n_kinds, s);
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes =
        CHECK_ALIGNMENT * (40 + 4 * check_pick (random, n_places));
  if (check_pick (random, 3) == 0)
    random_rotation (random, plan, n_kinds);
  add_crossings (random, plan, n_kinds);
  plan->height_bytes = check_height (plan);
  return plan;
}

/* A random plan whose second half of kinds are second layouts of the first. *@out_is_sane:
 * only what is absent from its own layout crosses that without a moment. */
static TesseraPlan *
random_layouts (GRand *random, guint n_kinds, gboolean *out_is_sane)
{
  TesseraPlan *plan = random_plan (random, 2 * n_kinds, 30 + check_pick (random, 60));

  *out_is_sane = TRUE;
  for (uint32_t s = 1; s <= 2 * n_kinds; s++)
    {
      TesseraSection *at = &plan->sections[s];

      at->alternate = s <= n_kinds ? TESSERA_ALTERNATE_FIRST : TESSERA_ALTERNATE_SECOND;
      for (uint32_t i = at->first_slot; i < at->first_slot + at->n_slots; i++)
        if (plan->slots[i].wraps && check_pick (random, 2) == 0)
          plan->slots[i].died_next = at->begin;
    }
  for (uint32_t s = 1; s <= n_kinds; s++)
    for (uint32_t i = 0; i < plan->sections[s].n_slots; i++)
      {
        const TesseraSlot *first = &plan->slots[plan->sections[s].first_slot + i];
        TesseraSlot *second = &plan->slots[plan->sections[s + n_kinds].first_slot + i];

        second->block_bytes = second->size_bytes = first->block_bytes;
      }
  for (size_t i = 0; i < plan->n_crossings; i++)
    {
      TesseraCrossing *crossing = &plan->crossings[i];
      const TesseraSection *at = &plan->sections[crossing->section];
      uint32_t home = plan->slots[crossing->slot].section;

      if (is_absent (plan, crossing->slot) &&
          at->alternate == plan->sections[home].alternate)
        crossing->died = at->begin;
      else if (check_pick (random, 200) == 0)
        {
          crossing->died = at->begin;
          *out_is_sane = FALSE;
        }
    }
  plan->height_bytes = check_height (plan);
  return plan;
}

/* The bound and the digest follow from the slots: the checker's own words give the first.
 */
static TesseraStatus
check_sealed (TesseraPlan *plan, TesseraLaw *law, TesseraError *error)
{
  plan->slot_digest = tessera_plan_digest (plan);
  TesseraStatus status = tessera_check_plan (plan, NULL, law, error);
  if (status == TESSERA_REFUSED && *law == TESSERA_LAW_BOUND)
    {
      g_assert_cmpint (
          sscanf (error->text, "bound: expected %" G_GUINT64_FORMAT, &plan->bound_bytes),
          ==, 1);
      *error = (TesseraError){ 0 };
      status = tessera_check_plan (plan, NULL, law, error);
    }
  return status;
}

static void
test_all_orders (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  guint n_accepted = 0, n_overlaps = 0, n_crowds = 0, n_too_strict = 0;

  for (guint n = 0; n < 6000; n++)
    {
      guint n_kinds = 2 + check_pick (random, MAX_KINDS - 1);
      g_autoptr (TesseraPlan) plan =
          random_plan (random, n_kinds, 8 + check_pick (random, 60));
      TesseraError error = { 0 };
      TesseraLaw law;
      TesseraStatus status = check_sealed (plan, &law, &error);
      gboolean is_bad = breaks_reserved (plan) || play_all (plan, n_kinds, FALSE);

      if (status == TESSERA_OK)
        g_assert_false (is_bad);
      else
        g_assert_true (law == TESSERA_LAW_OVERLAP || law == TESSERA_LAW_ROTATION);
      if (status != TESSERA_OK && law == TESSERA_LAW_OVERLAP)
        g_assert_true (is_bad);
      n_accepted += status == TESSERA_OK;
      n_overlaps += status != TESSERA_OK && law == TESSERA_LAW_OVERLAP;
      n_crowds += status != TESSERA_OK && law == TESSERA_LAW_ROTATION;
      n_too_strict += status != TESSERA_OK && !is_bad;
    }
  g_test_message ("%u accepted, %u overlap, %u crowded, of these %u never", n_accepted,
                  n_overlaps, n_crowds, n_too_strict);
  g_assert_cmpuint (n_accepted, >, 300);
  g_assert_cmpuint (n_overlaps, >, 300);
  g_assert_cmpuint (n_crowds, >, 20);
  g_assert_cmpuint (n_too_strict * 4, <, n_crowds + 1);
}

/* The same of kinds with two layouts in turn: what the checker accepts never clashes, and
 * what it refuses does in some order that the turns allow. */
static void
test_all_turns (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  guint n_accepted = 0, n_turning = 0, n_overlaps = 0, n_lies = 0;

  for (guint n = 0; n < 8000; n++)
    {
      guint n_kinds = 1 + check_pick (random, 2);
      gboolean is_sane;
      g_autoptr (TesseraPlan) plan = random_layouts (random, n_kinds, &is_sane);
      TesseraError error = { 0 };
      TesseraLaw law;
      TesseraStatus status = check_sealed (plan, &law, &error);
      gboolean is_bad = breaks_reserved (plan) || play_all (plan, 2 * n_kinds, TRUE);
      gboolean turns = FALSE;
      gboolean lies = status != TESSERA_OK && law == TESSERA_LAW_SECTIONS &&
                      strstr (error.text, "changes the turn") != NULL;

      for (uint32_t s = 1; s <= 2 * n_kinds; s++)
        turns = turns || changes_turn (plan, s);
      if (status == TESSERA_OK)
        g_assert_true (!is_bad && is_sane);
      else if (!is_sane)
        g_assert_cmpint (law, ==, TESSERA_LAW_LIFETIME);
      else if (law != TESSERA_LAW_OVERLAP && law != TESSERA_LAW_ROTATION &&
               law != TESSERA_LAW_SECTIONS)
        g_error ("%s", error.text);
      if (lies)
        g_assert_true (is_bad);
      n_accepted += status == TESSERA_OK;
      n_turning += status == TESSERA_OK && turns;
      n_overlaps += status != TESSERA_OK && law == TESSERA_LAW_OVERLAP;
      n_lies += lies;
    }
  g_test_message ("%u accepted, %u of them turn; %u overlap, %u lie", n_accepted,
                  n_turning, n_overlaps, n_lies);
  g_assert_cmpuint (n_turning, >, 100);
  g_assert_cmpuint (n_overlaps, >, 300);
  g_assert_cmpuint (n_lies, >, 300);
}

/* ---- one plan, broken in each way ---- */

/* A gradient that two kinds share, a persistent block, an evaluation through which the
 * gradient passes. */
static TesseraPlan *
small_plan (void)
{
  static const TesseraSection sections[] = {
    { 0, 10, 0, 1, TESSERA_SECTION_ONCE },     { 10, 20, 1, 2, TESSERA_SECTION_REPEATS },
    { 20, 30, 3, 2, TESSERA_SECTION_REPEATS }, { 30, 40, 5, 1, TESSERA_SECTION_REPEATS },
    { 40, 50, 6, 1, TESSERA_SECTION_ONCE },
  };
  static const TesseraSlot slots[] = {
    { .block_bytes = 16, .offset_bytes = 0, .born = 1, .died = 50, .section = 0 },
    { .block_bytes = 32, .offset_bytes = 16, .born = 13, .died = 15, .section = 1 },
    { .block_bytes = 32,
      .offset_bytes = 16,
      .born = 15,
      .died = 20,
      .died_next = 12,
      .section = 1,
      .wraps = 1 },
    { .block_bytes = 16, .offset_bytes = 48, .born = 21, .died = 30, .section = 2 },
    { .block_bytes = 32,
      .offset_bytes = 16,
      .born = 24,
      .died = 30,
      .died_next = 22,
      .section = 2,
      .wraps = 1 },
    { .block_bytes = 16, .offset_bytes = 48, .born = 31, .died = 39, .section = 3 },
    { .block_bytes = 48, .offset_bytes = 16, .born = 42, .died = 50, .section = 4 },
  };
  static const TesseraCrossing crossings[] = { { 2, 2, 22 }, { 4, 1, 12 } };
  TesseraPlan *plan;

  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = CHECK_ALIGNMENT;
  plan->n_streams = 1;
  plan->n_positions = 50;
  plan->n_sections = G_N_ELEMENTS (sections);
  plan->sections = calloc (plan->n_sections, sizeof *plan->sections);
  memcpy (plan->sections, sections, sizeof sections);
  plan->n_slots = G_N_ELEMENTS (slots);
  plan->slots = calloc (plan->n_slots, sizeof *plan->slots);
  memcpy (plan->slots, slots, sizeof slots);
  plan->n_crossings = G_N_ELEMENTS (crossings);
  plan->crossings = calloc (plan->n_crossings, sizeof *plan->crossings);
  memcpy (plan->crossings, crossings, sizeof crossings);
  plan->height_bytes = 64;
  plan->bound_bytes = 64;
  return plan;
}

/* The small plan with one thing changed. */
#define CHECK_CHANGED(expected, change)                                                  \
  do                                                                                     \
    {                                                                                    \
      g_autoptr (TesseraPlan) plan = small_plan ();                                      \
      TesseraError error;                                                                \
      change;                                                                            \
      check_assert_law (plan, TESSERA_LAW_##expected, &error);                           \
    }                                                                                    \
  while (0)

static void
test_mutations (void)
{
  CHECK_CHANGED (NONE, );
  /* What was there before the first event takes no turns. */
  CHECK_CHANGED (NONE, plan->slots[0].ordinal = TESSERA_NONE);
  /* The gradient is not seen to end in the other kind: it may still be there when that
     makes its own. */
  CHECK_CHANGED (OVERLAP, plan->crossings[0] = plan->crossings[--plan->n_crossings]);
  CHECK_CHANGED (OVERLAP, plan->crossings[0].died = 25);
  /* The evaluation takes the gradient's place. */
  CHECK_CHANGED (OVERLAP, plan->slots[5].offset_bytes = 32);
  /* Something inside a step lies where it began with the gradient. */
  CHECK_CHANGED (OVERLAP, plan->slots[3].offset_bytes = 32);
  CHECK_CHANGED (OVERLAP, plan->slots[1].born = 11);
  /* The persistent block. */
  CHECK_CHANGED (OVERLAP, plan->slots[5].offset_bytes = 0);
  CHECK_CHANGED (LIFETIME, plan->slots[0].died = 25);
  /* The end, with what the last step left. */
  CHECK_CHANGED (OVERLAP, plan->slots[2].died = 45);
  CHECK_CHANGED (LIFETIME, plan->slots[2].died = 25);
  CHECK_CHANGED (LIFETIME, plan->slots[3].died = 33);
  CHECK_CHANGED (LIFETIME, plan->crossings[0].section = 1);
  CHECK_CHANGED (LIFETIME, plan->crossings[0].section = 4);
  CHECK_CHANGED (LIFETIME, plan->crossings[0].slot = 1);
  CHECK_CHANGED (LIFETIME, plan->crossings[0].slot = 7);
  CHECK_CHANGED (LIFETIME, plan->crossings[1] = plan->crossings[0]);
  CHECK_CHANGED (LIFETIME, plan->crossings[0].died = 20);
  CHECK_CHANGED (SECTIONS, plan->sections[2].kind = TESSERA_SECTION_ONCE);
  CHECK_CHANGED (BOUND, plan->bound_bytes = 80);
}

/* The plan's first slot is carried into the other kind. */
static void
test_first_slot (void)
{
  g_autoptr (TesseraPlan) plan = small_plan ();
  TesseraError error;

  plan->n_sections = plan->n_slots = 2;
  plan->n_crossings = 0;
  plan->n_positions = 20;
  plan->sections[0].kind = TESSERA_SECTION_REPEATS;
  plan->sections[1].n_slots = 1;
  plan->slots[0] = (TesseraSlot){ .block_bytes = 32,
                                  .offset_bytes = 16,
                                  .born = 5,
                                  .died = 10,
                                  .died_next = 3,
                                  .wraps = 1 };
  check_assert_law (plan, TESSERA_LAW_OVERLAP, &error);
}

static void
check_without_memory (const TesseraPlan *plan)
{
  const long n_held = tessera_fail_alloc_held ();
  TesseraStatus status;
  unsigned long nth = 0;
  bool has_failed;

  do
    {
      TesseraLaw law;

      tessera_fail_alloc_at (++nth);
      status = tessera_check_plan (plan, NULL, &law, NULL);
      has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (status, ==, has_failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      g_assert_cmpint (law, ==, TESSERA_LAW_NONE);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, n_held);
    }
  while (has_failed);
  g_assert_cmpuint (nth, >, 5);
}

/* Of one kind of step, and of several. */
static void
test_no_memory (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autoptr (TesseraPlan) one = check_random_plan (random), several = small_plan ();

  several->slot_digest = tessera_plan_digest (several);
  check_without_memory (one);
  check_without_memory (several);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/kinds/all-orders", test_all_orders);
  g_test_add_func ("/check/kinds/all-turns", test_all_turns);
  g_test_add_func ("/check/kinds/mutations", test_mutations);
  g_test_add_func ("/check/kinds/first-slot", test_first_slot);
  g_test_add_func ("/check/kinds/no-memory", test_no_memory);
  return g_test_run ();
}
