/*
 * Tests of the checker: plans that are right, plans that break one named law, and a slow
 * oracle that looks at every position and every address.
 *
 * Heights are a few hundred units of the alignment, so that the oracle can afford that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check.h"

#include "tests/fail_alloc.h"

#include <glib.h>
#include <string.h>

#define ALIGNMENT 16u
#define N_VARIANTS 1000
#define SEED 4711

static guint
pick (GRand *random, guint n)
{
  return (guint) g_rand_int_range (random, 0, (int) n);
}

/* ---- the oracle: by definition, without any thought of speed ---- */

static gboolean
is_alive (const TesseraPlan *plan, const TesseraSlot *slot, uint32_t position)
{
  return (slot->born <= position && position < slot->died) ||
         (slot->wraps && plan->sections[slot->section].begin <= position &&
          position < slot->died_next);
}

static gboolean
share_addresses (const TesseraSlot *a, const TesseraSlot *b)
{
  return MAX (a->offset_bytes, b->offset_bytes) <
         MIN (a->offset_bytes + a->block_bytes, b->offset_bytes + b->block_bytes);
}

static gboolean
oracle_overlap (const TesseraPlan *plan)
{
  for (uint32_t position = 0; position < plan->n_positions; position++)
    for (size_t i = 0; i < plan->n_slots; i++)
      for (size_t k = 0; k < i; k++)
        if (is_alive (plan, &plan->slots[i], position) &&
            is_alive (plan, &plan->slots[k], position) &&
            share_addresses (&plan->slots[i], &plan->slots[k]))
          return TRUE;
  return FALSE;
}

static uint64_t
oracle_bound (const TesseraPlan *plan)
{
  uint64_t bound = 0;
  for (uint32_t position = 0; position < plan->n_positions; position++)
    {
      uint64_t load = 0;
      for (size_t i = 0; i < plan->n_slots; i++)
        if (is_alive (plan, &plan->slots[i], position))
          load += plan->slots[i].block_bytes;
      bound = MAX (bound, load);
    }
  return bound;
}

static uint64_t
oracle_height (const TesseraPlan *plan)
{
  uint64_t height = 0;
  for (size_t i = 0; i < plan->n_slots; i++)
    height = MAX (height, plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
  return height;
}

/* Every hand-over, unit by unit of addresses; an array of TesseraHandOver. */
static GArray *
oracle_hand_overs (const TesseraPlan *plan)
{
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (TesseraHandOver));
  size_t n_units = oracle_height (plan) / ALIGNMENT;
  uint32_t *last = g_new (uint32_t, n_units + 1);
  memset (last, 0xff, n_units * sizeof *last);
  for (size_t s = 0; s < plan->n_sections; s++)
    for (int time = 0; time <= (plan->sections[s].kind == TESSERA_SECTION_REPEATS);
         time++)
      for (uint32_t i = 0; i < plan->sections[s].n_slots; i++)
        {
          uint32_t to = plan->sections[s].first_slot + i;
          const TesseraSlot *slot = &plan->slots[to];
          size_t end = (slot->offset_bytes + slot->block_bytes) / ALIGNMENT;
          for (size_t unit = slot->offset_bytes / ALIGNMENT; unit < end; unit++)
            {
              TesseraHandOver pair = { last[unit], to };
              last[unit] = to;
              if (pair.from_slot != TESSERA_NONE &&
                  plan->slots[pair.from_slot].stream != slot->stream)
                g_array_append_val (pairs, pair);
            }
        }
  g_free (last);
  return pairs;
}

static gboolean
has_pair (const TesseraHandOver *pairs, size_t n, TesseraHandOver pair)
{
  for (size_t i = 0; i < n; i++)
    if (pairs[i].from_slot == pair.from_slot && pairs[i].to_slot == pair.to_slot)
      return TRUE;
  return FALSE;
}

static gboolean
oracle_streams (const TesseraPlan *plan)
{
  gboolean broken = FALSE;
  if (!plan->across_streams)
    {
      for (size_t i = 0; i < plan->n_slots; i++)
        for (size_t k = 0; k < i; k++)
          broken |= plan->slots[i].stream != plan->slots[k].stream &&
                    share_addresses (&plan->slots[i], &plan->slots[k]);
      return broken;
    }
  GArray *pairs = oracle_hand_overs (plan);
  for (guint i = 0; i < pairs->len; i++)
    broken |= !has_pair (plan->hand_overs, plan->n_hand_overs,
                         g_array_index (pairs, TesseraHandOver, i));
  g_array_free (pairs, TRUE);
  return broken;
}

/* ---- plans ---- */

static void
list_hand_overs (TesseraPlan *plan)
{
  GArray *pairs = oracle_hand_overs (plan);
  free (plan->hand_overs);
  plan->hand_overs = calloc (pairs->len + 1, sizeof *plan->hand_overs);
  plan->n_hand_overs = 0;
  for (guint i = 0; i < pairs->len; i++)
    {
      TesseraHandOver pair = g_array_index (pairs, TesseraHandOver, i);
      if (!has_pair (plan->hand_overs, plan->n_hand_overs, pair))
        plan->hand_overs[plan->n_hand_overs++] = pair;
    }
  g_array_free (pairs, TRUE);
}

/* States what follows from the slots. */
static void
seal (TesseraPlan *plan)
{
  plan->height_bytes = oracle_height (plan);
  plan->bound_bytes = oracle_bound (plan);
  plan->slot_digest = tessera_plan_digest (plan);
  if (plan->across_streams)
    list_hand_overs (plan);
}

static void
random_life (GRand *random, const TesseraPlan *plan, TesseraSlot *slot)
{
  const TesseraSection *section = &plan->sections[slot->section];
  uint32_t left = plan->n_positions - slot->born;
  slot->died =
      slot->born + 1 + pick (random, pick (random, 4) == 0 ? left : MIN (left, 6));
  if (section->kind == TESSERA_SECTION_REPEATS && slot->born > section->begin &&
      pick (random, 4) == 0)
    {
      slot->wraps = 1;
      slot->died = section->end + pick (random, plan->n_positions - section->end + 1);
      slot->died_next = section->begin + 1 + pick (random, slot->born - section->begin);
    }
}

static int
compare_born (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* The slots of one section, in order of birth, each at offset 0. */
static void
random_section (GRand *random, TesseraPlan *plan, uint32_t section_index)
{
  TesseraSection *section = &plan->sections[section_index];
  uint32_t births[64];
  for (uint32_t i = 0; i < section->n_slots; i++)
    births[i] = section->begin + pick (random, section->end - section->begin);
  qsort (births, section->n_slots, sizeof *births, compare_born);
  for (uint32_t i = 0; i < section->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[section->first_slot + i];
      *slot = (TesseraSlot){
        .block_bytes = ALIGNMENT * (1 + pick (random, 8)),
        .born = births[i],
        .section = section_index,
        .phase = TESSERA_NONE,
        .group = TESSERA_NONE,
        .ordinal = i,
        .stream = (uint16_t) pick (random, plan->n_streams),
      };
      slot->size_bytes = slot->block_bytes - pick (random, ALIGNMENT);
      random_life (random, plan, slot);
    }
}

static gboolean
fits (const TesseraPlan *plan, size_t slot_index, size_t n_placed)
{
  const TesseraSlot *slot = &plan->slots[slot_index];
  for (size_t k = 0; k < n_placed; k++)
    {
      const TesseraSlot *other = &plan->slots[k];
      if (k == slot_index || !share_addresses (slot, other))
        continue;
      if (!plan->across_streams && slot->stream != other->stream)
        return FALSE;
      for (uint32_t position = 0; position < plan->n_positions; position++)
        if (is_alive (plan, slot, position) && is_alive (plan, other, position))
          return FALSE;
    }
  return TRUE;
}

static TesseraPlan *
random_slots (GRand *random, gboolean across)
{
  TesseraPlan *plan;
  g_assert_cmpint (tessera_plan_new (&plan), ==, TESSERA_OK);
  plan->alignment_bytes = ALIGNMENT;
  plan->n_streams = 1 + pick (random, 3);
  plan->across_streams = across ? 1 : 0;
  plan->n_sections = 3;
  plan->sections = calloc (3, sizeof *plan->sections);
  for (uint32_t s = 0; s < 3; s++)
    {
      TesseraSection *section = &plan->sections[s];
      section->begin = plan->n_positions;
      section->end = plan->n_positions += 3 + pick (random, 20);
      section->first_slot = (uint32_t) plan->n_slots;
      section->n_slots = 3 + pick (random, 12);
      section->kind = s == 1 ? TESSERA_SECTION_REPEATS : TESSERA_SECTION_ONCE;
      plan->n_slots += section->n_slots;
    }
  plan->slots = calloc (plan->n_slots, sizeof *plan->slots);
  for (uint32_t s = 0; s < 3; s++)
    random_section (random, plan, s);
  return plan;
}

/* A right plan: every slot at the first offset where it fits. */
static TesseraPlan *
random_plan (GRand *random, gboolean across)
{
  TesseraPlan *plan = random_slots (random, across);
  for (size_t i = 0; i < plan->n_slots; i++)
    while (!fits (plan, i, i))
      plan->slots[i].offset_bytes += ALIGNMENT;
  seal (plan);
  return plan;
}

static TesseraTrace *
small_trace (void)
{
  TesseraTrace *trace;
  const TesseraEvent event = {
    .addr = 512, .size_bytes = 100, .action = TESSERA_ALLOC, .stack = TESSERA_NONE
  };
  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  g_assert_cmpint (tessera_trace_add_event (trace, &event), ==, TESSERA_OK);
  return trace;
}

/* ---- breaking one law ---- */

/* Each breaks its law at a random place; FALSE: not possible in this plan. */
typedef gboolean (*Breaker) (GRand *random, TesseraPlan *plan);

static TesseraSlot *
any_slot (GRand *random, TesseraPlan *plan)
{
  return &plan->slots[pick (random, (guint) plan->n_slots)];
}

static gboolean
break_alignment (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  switch (pick (random, 5))
    {
    case 0:
      slot->offset_bytes += 1 + pick (random, ALIGNMENT - 1);
      break;
    case 1:
      slot->block_bytes += 1 + pick (random, ALIGNMENT - 1);
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
  switch (pick (random, 3))
    {
    case 0:
      slot->offset_bytes = plan->height_bytes;
      break;
    case 1:
      slot->offset_bytes = UINT64_MAX - ALIGNMENT + 1; /* the sum overflows */
      break;
    default:
      plan->height_bytes -= 1;
    }
  return TRUE;
}

static gboolean
break_sections (GRand *random, TesseraPlan *plan)
{
  TesseraSection *section = &plan->sections[pick (random, 3)];
  TesseraSlot *slot = any_slot (random, plan);
  switch (pick (random, 7))
    {
    case 0:
      slot->section = (slot->section + 1) % 3;
      break;
    case 1:
      section->first_slot++;
      break;
    case 2:
      section->n_slots += pick (random, 2) ? 1 : UINT32_MAX;
      break;
    case 3:
      plan->sections[pick (random, 2) * 2].kind = TESSERA_SECTION_REPEATS;
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
  switch (pick (random, 5))
    {
    case 0:
      slot->died = slot->born;
      break;
    case 1:
      slot->died = plan->n_positions + 1;
      break;
    case 2:
      slot->died_next = slot->wraps ? slot->born + 1 : 1;
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
  if (slot == other || share_addresses (slot, other))
    return FALSE;
  for (uint32_t position = 0; position < plan->n_positions; position++)
    if (is_alive (plan, slot, position) && is_alive (plan, other, position))
      {
        slot->offset_bytes = other->offset_bytes + other->block_bytes - ALIGNMENT;
        return slot->offset_bytes + slot->block_bytes <= plan->height_bytes;
      }
  return FALSE;
}

static gboolean
drop_hand_over (GRand *random, TesseraPlan *plan)
{
  if (plan->n_hand_overs == 0)
    return FALSE;
  plan->hand_overs[pick (random, (guint) plan->n_hand_overs)] =
      plan->hand_overs[plan->n_hand_overs - 1];
  plan->n_hand_overs--;
  return TRUE;
}

static gboolean
break_streams (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan), *other = any_slot (random, plan);
  switch (pick (random, 4))
    {
    case 0:
      slot->stream = (uint16_t) plan->n_streams;
      break;
    case 1:
      return drop_hand_over (random, plan);
    case 2:
      if (plan->n_hand_overs == 0)
        return FALSE;
      plan->hand_overs[0].to_slot = (uint32_t) plan->n_slots;
      break;
    default:
      if (plan->across_streams || slot == other || !share_addresses (slot, other))
        return FALSE;
      plan->n_streams = 4;
      slot->stream = 3;
    }
  return TRUE;
}

static gboolean
break_height (GRand *random, TesseraPlan *plan)
{
  plan->height_bytes += 1 + pick (random, 1000);
  return TRUE;
}

static gboolean
break_bound (GRand *random, TesseraPlan *plan)
{
  plan->bound_bytes += pick (random, 2) ? 1 + pick (random, 99) : UINT64_MAX;
  return TRUE;
}

static gboolean
break_digest (GRand *random, TesseraPlan *plan)
{
  plan->slot_digest ^= UINT64_C (1) << pick (random, 64);
  return TRUE;
}

static gboolean
break_fingerprint (GRand *random, TesseraPlan *plan)
{
  plan->trace_fingerprint ^= UINT64_C (1) << pick (random, 64);
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
  { TESSERA_LAW_STREAMS, break_streams },
  { TESSERA_LAW_HEIGHT, break_height },
  { TESSERA_LAW_BOUND, break_bound },
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
  g_assert_cmpint (status, ==, TESSERA_OK);
  g_assert_cmpint (law, ==, TESSERA_LAW_NONE);
}

static void
test_broken (void)
{
  GRand *random = g_rand_new_with_seed (SEED);
  TesseraTrace *trace = small_trace ();
  guint counts[G_N_ELEMENTS (breakers)] = { 0 };
  for (guint n = 0; n < N_VARIANTS;)
    {
      guint k = n % G_N_ELEMENTS (breakers);
      TesseraPlan *plan = random_plan (random, pick (random, 2) == 0);
      plan->trace_fingerprint = tessera_trace_fingerprint (trace);
      assert_accepted (plan, trace);
      if (breakers[k].breaks (random, plan))
        {
          TesseraError error = { 0 };
          TesseraLaw law;
          /* The places changed on purpose: the digest is not what is meant. */
          if (breakers[k].law != TESSERA_LAW_DIGEST)
            plan->slot_digest = tessera_plan_digest (plan);
          g_assert_cmpint (tessera_check_plan (plan, trace, &law, &error), ==,
                           TESSERA_REFUSED);
          g_assert_cmpstr (tessera_law_name (law), ==,
                           tessera_law_name (breakers[k].law));
          g_assert_true (g_str_has_prefix (error.text, tessera_law_name (law)));
          g_assert_nonnull (strstr (error.text, "expected"));
          g_assert_nonnull (strstr (error.text, "found"));
          counts[k]++;
          n++;
        }
      tessera_plan_free (plan);
    }
  for (gsize k = 0; k < G_N_ELEMENTS (breakers); k++)
    g_assert_cmpuint (counts[k], ==, N_VARIANTS / G_N_ELEMENTS (breakers));
  tessera_trace_free (trace);
  g_rand_free (random);
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
  uint64_t by = ALIGNMENT * (1 + pick (random, 5));
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
  size_t i = pick (random, (guint) plan->n_slots);
  do
    plan->slots[i].offset_bytes =
        (uint64_t) ALIGNMENT *
        pick (random, (guint) (plan->height_bytes / ALIGNMENT + 9));
  while (!fits (plan, i, plan->n_slots));
}

static void
shorten_a_life (GRand *random, TesseraPlan *plan)
{
  TesseraSlot *slot = any_slot (random, plan);
  if (!slot->wraps)
    slot->died = slot->born + 1 + pick (random, slot->died - slot->born);
}

static void
list_more (GRand *random, TesseraPlan *plan)
{
  TesseraHandOver pair = { pick (random, (guint) plan->n_slots),
                           pick (random, (guint) plan->n_slots) };
  if (plan->across_streams &&
      plan->slots[pair.from_slot].stream != plan->slots[pair.to_slot].stream)
    {
      plan->hand_overs =
          realloc (plan->hand_overs, (plan->n_hand_overs + 1) * sizeof *plan->hand_overs);
      plan->hand_overs[plan->n_hand_overs++] = pair;
    }
}

static void
test_valid (void)
{
  static void (*const changes[]) (GRand *, TesseraPlan *) = { turn_upside_down,
                                                              raise_the_upper_part,
                                                              move_one, shorten_a_life };
  GRand *random = g_rand_new_with_seed (SEED + 1);
  for (guint n = 0; n < N_VARIANTS; n++)
    {
      TesseraPlan *plan = random_plan (random, pick (random, 2) == 0);
      changes[n % G_N_ELEMENTS (changes)](random, plan);
      seal (plan);
      list_more (random, plan);
      assert_accepted (plan, NULL);
      tessera_plan_free (plan);
    }
  g_rand_free (random);
}

/* Random places, most of them wrong: the verdict is the oracle's. */
static void
test_oracle (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 2);
  guint n_right = 0, n_overlaps = 0, n_streams = 0;
  for (guint n = 0; n < 3000; n++)
    {
      TesseraPlan *plan =
          pick (random, 2) ? random_slots (random, n % 2) : random_plan (random, n % 2);
      guint n_moved = pick (random, 4);
      gboolean is_spread = pick (random, 2);
      for (size_t i = 0; i < plan->n_slots; i++)
        if (plan->height_bytes == 0)
          plan->slots[i].offset_bytes =
              is_spread ? i * 8 * ALIGNMENT : (uint64_t) ALIGNMENT * pick (random, 400);
      for (guint i = 0; i < n_moved; i++)
        any_slot (random, plan)->offset_bytes = (uint64_t) ALIGNMENT * pick (random, 40);
      seal (plan);
      if (pick (random, 3) == 0)
        drop_hand_over (random, plan);
      TesseraLaw expected = oracle_overlap (plan)   ? TESSERA_LAW_OVERLAP
                            : oracle_streams (plan) ? TESSERA_LAW_STREAMS
                                                    : TESSERA_LAW_NONE;
      TesseraLaw law;
      TesseraStatus status = tessera_check_plan (plan, NULL, &law, NULL);
      g_assert_cmpstr (tessera_law_name (law), ==, tessera_law_name (expected));
      g_assert_cmpint (status, ==,
                       expected == TESSERA_LAW_NONE ? TESSERA_OK : TESSERA_REFUSED);
      n_right += expected == TESSERA_LAW_NONE;
      n_overlaps += expected == TESSERA_LAW_OVERLAP;
      n_streams += expected == TESSERA_LAW_STREAMS;
      tessera_plan_free (plan);
    }
  /* Each verdict has been asked for often enough to mean something. */
  g_assert_cmpuint (n_right, >, 200);
  g_assert_cmpuint (n_overlaps, >, 200);
  g_assert_cmpuint (n_streams, >, 200);
  g_rand_free (random);
}

static void
test_empty (void)
{
  TesseraPlan plan = { .alignment_bytes = 512 };
  plan.slot_digest = tessera_plan_digest (&plan);
  assert_accepted (&plan, NULL);
}

static void
test_no_memory (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 3);
  for (int across = 0; across < 2; across++)
    {
      TesseraPlan *plan = random_plan (random, across);
      long held = tessera_fail_alloc_held ();
      for (unsigned nth = 1;; nth++)
        {
          TesseraLaw law;
          tessera_fail_alloc_at (nth);
          TesseraStatus status = tessera_check_plan (plan, NULL, &law, NULL);
          g_assert_cmpint (law, ==, TESSERA_LAW_NONE);
          g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
          if (!tessera_fail_alloc_stop ())
            {
              g_assert_cmpint (status, ==, TESSERA_OK);
              g_assert_cmpuint (nth, >, 5);
              break;
            }
          g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
        }
      tessera_plan_free (plan);
    }
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/empty", test_empty);
  g_test_add_func ("/check/broken", test_broken);
  g_test_add_func ("/check/valid", test_valid);
  g_test_add_func ("/check/oracle", test_oracle);
  g_test_add_func ("/check/no-memory", test_no_memory);
  return g_test_run ();
}
