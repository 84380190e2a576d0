/*
 * Plans: what folds and what does not, against the real trace block by block; the rule of
 * streams against a naive reading of it; height against the bound on the shared files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include "allocator/follow.h"
#include "planner/test-traces.h"
#include "tests/fail_alloc.h"

#include <string.h>

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan *plan;
} Case;

static const TesseraPlanOptions all_steps = { .first_step = -1, .last_step = -1 };
static const TesseraPlanOptions across = { .across_streams = true,
                                           .first_step = -1,
                                           .last_step = -1 };

static Case
look (TesseraTrace *trace)
{
  Case c = { .trace = trace };

  g_assert_cmpint (tessera_blocks_new (trace, &c.blocks), ==, TESSERA_OK);
  g_assert_cmpint (tessera_structure_new (trace, c.blocks, &c.structure), ==, TESSERA_OK);
  return c;
}

static Case
plan (TesseraTrace *trace, const TesseraPlanOptions *options)
{
  Case c = look (trace);
  TesseraError error = { 0 };

  if (tessera_plan_trace (trace, c.blocks, c.structure, options, &error, &c.plan) !=
      TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_true (c.plan->checked);
  return c;
}

static void
clear (Case *c)
{
  tessera_plan_free (c->plan);
  tessera_structure_free (c->structure);
  tessera_blocks_free (c->blocks);
  tessera_trace_free (c->trace);
}

static bool
shares_range (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->offset_bytes < b->offset_bytes + b->block_bytes &&
         b->offset_bytes < a->offset_bytes + a->block_bytes;
}

/* Whether a block may lie in the one in place of the other: its spare, and where ranges
 * do not pass between streams any of its rota. */
static bool
take_turns (const TesseraPlan *p, const TesseraSlot *a, const TesseraSlot *b)
{
  if (p->across_streams)
    return a->section == b->section && a->block == b->block;
  return a->section == b->section && a->block_bytes == b->block_bytes &&
         a->stream == b->stream && a->pool == b->pool && a->wraps &&
         a->died_next >= a->born && b->wraps && b->died_next >= b->born;
}

/* Whether nothing lies in the slot when block @b comes; those before it have theirs. */
static bool
is_free_for (const Case *c, const uint32_t *slot_of, uint32_t slot, uint32_t b)
{
  const TesseraBlock *all = c->blocks->blocks;

  for (uint32_t a = 0; a < b; a++)
    if (all[a].died_index > all[b].born_index &&
        shares_range (&c->plan->slots[slot_of[a]], &c->plan->slots[slot]))
      return false;
  return true;
}

/* The last or the first free place of its rota: any will do. */
static uint32_t
find_turn (const Case *c, const uint32_t *slot_of, uint32_t b)
{
  const TesseraPlan *p = c->plan;
  uint32_t found = TESSERA_NONE;

  for (uint32_t i = 0; i < p->n_slots; i++)
    if ((found == TESSERA_NONE || b % 3 == 0) &&
        take_turns (p, &p->slots[i], &p->slots[slot_of[b]]) &&
        is_free_for (c, slot_of, i, b))
      found = i;
  if (found == TESSERA_NONE)
    g_error ("no place is free for block %u of slot %u", b, slot_of[b]);
  return found;
}

/* The slot of each block of the trace, as a run would take them: the j-th request of a
 * repeating step takes the j-th slot, or a place of its rota, whether its own is free or
 * not. */
static uint32_t *
place (const Case *c, uint32_t first_step, uint32_t n_steps)
{
  const TesseraPlan *p = c->plan;
  const TesseraBlock *all = c->blocks->blocks;
  uint32_t *slot_of = g_new (uint32_t, c->blocks->n_blocks + 1);
  uint32_t slot = 0;

  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    slot_of[b] = TESSERA_NONE;
  for (uint32_t i = 0; i < p->n_slots; i++)
    if (slot_of[p->slots[i].block] == TESSERA_NONE)
      slot_of[p->slots[i].block] = i;
  for (uint32_t s = first_step + 1; s < first_step + n_steps; s++)
    {
      slot = 0;
      while (p->sections[p->slots[slot].section].kind != TESSERA_SECTION_REPEATS)
        slot++;
      for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
        if (all[b].step == s)
          {
            g_assert_cmpuint (p->slots[slot].block_bytes, ==, all[b].block_bytes);
            g_assert_cmpuint (p->slots[slot].ordinal, !=, TESSERA_NONE);
            slot_of[b] = slot++;
          }
    }
  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    {
      const TesseraSlot *own = &p->slots[slot_of[b]];

      if (!is_free_for (c, slot_of, slot_of[b], b) ||
          (!p->across_streams && take_turns (p, own, own) && b % 2))
        slot_of[b] = find_turn (c, slot_of, b);
    }
  return slot_of;
}

static bool
is_small (const TesseraBlock *block)
{
  return block->block_bytes <= 1 << 20;
}

/* A request of a's owner that a's range could have served, before b. */
static bool
is_open (const Case *c, const TesseraBlock *a, const TesseraBlock *b)
{
  const TesseraBlocks *blocks = c->blocks;

  if (c->trace->n_streams == 1 ||
      (a->stream == b->stream && is_small (a) == is_small (b)))
    return true;
  for (uint32_t i = a->died_index; i < b->born_index; i++)
    if (c->trace->events[i].action == TESSERA_ALLOC)
      {
        const TesseraBlock *request = &blocks->blocks[blocks->block_of_event[i]];

        if (request->stream == a->stream && is_small (request) == is_small (a) &&
            request->block_bytes <= a->block_bytes)
          return true;
      }
  return false;
}

/* In the real trace no two blocks meet in time and address, and ranges pass from stream
 * to stream only where PyTorch's own rule has ordered them. */
static void
check_real (const Case *c, uint32_t first_step, uint32_t n_steps)
{
  g_autofree uint32_t *slot_of = place (c, first_step, n_steps);
  const TesseraBlock *all = c->blocks->blocks;

  for (uint32_t b = 0; b < c->blocks->n_blocks; b++)
    for (uint32_t a = 0; a < c->blocks->n_blocks; a++)
      {
        g_assert_cmpuint (slot_of[a], !=, TESSERA_NONE);
        if (a == b || all[a].born_index > all[b].born_index ||
            !shares_range (&c->plan->slots[slot_of[a]], &c->plan->slots[slot_of[b]]))
          continue;
        g_assert_cmpuint (all[a].died_index, <=, all[b].born_index);
        g_assert_true (is_open (c, &all[a], &all[b]));
      }
}

/* The batch needs a spare, the loss wraps; parameters are the start. */
static void
test_fold (void)
{
  Case c = plan (test_trace_loop (5, 6, true), &all_steps);
  size_t n_spares = 0, n_wraps = 0;

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_sections, ==, 2);
  g_assert_cmpuint (c.plan->sections[0].n_slots, ==, 6);
  g_assert_cmpuint (c.plan->sections[1].n_slots, ==, 6 + 2 + 1);
  for (size_t i = 0; i < c.plan->n_slots; i++)
    {
      n_spares += c.plan->slots[i].ordinal == TESSERA_NONE;
      n_wraps += c.plan->slots[i].wraps;
    }
  g_assert_cmpuint (n_spares, ==, 1);
  g_assert_cmpuint (n_wraps, >=, 2); /* the loss and the spare */
  g_assert_cmpuint (c.plan->height_bytes, ==, c.plan->bound_bytes);
  check_real (&c, 0, 5);
  clear (&c);
}

/* What comes before the first and after the last of the steps has sections of its own. */
static void
test_end (void)
{
  TesseraTrace *trace = test_trace_loop (4, 6, true);
  Case c;

  test_free (trace, 0x40000000, 4);
  for (uint64_t i = 0; i < 5; i++)
    test_alloc (trace, 0x50000000 + (i << 20), 512 * (100 + i));
  c = plan (trace, &all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_sections, ==, 3);
  g_assert_cmpuint (c.plan->sections[2].n_slots, ==, 5);
  check_real (&c, 0, 4);
  clear (&c);
}

/* Steps of equal requests, the first of which may be before all steps. The i-th block of
 * a step ends right before the lives[i]-th request after its own. */
static TesseraTrace *
lives_loop (const uint64_t *sizes,
            const uint32_t *lives,
            uint32_t n_blocks,
            uint32_t n_steps,
            bool has_start)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0x1000, 4096);
  for (uint64_t s = 0; s < n_steps; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", (guint) s);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < n_blocks; i++)
        {
          uint64_t request = s * n_blocks + i;

          for (uint64_t k = 0; k < n_blocks; k++)
            if (request >= lives[k] + k && (request - lives[k] - k) % n_blocks == 0)
              test_free (trace, (request - lives[k] + 1) << 24, sizes[k]);
          test_alloc (trace, (request + 1) << 24, sizes[i]);
        }
      if (s > 0 || !has_start)
        test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* An optimizer that makes new state before it lets go of the old, one parameter after the
 * other: one place more than parameters is enough. */
static void
test_replaced_state (void)
{
  enum
  {
    N_STATES = 20
  };
  const uint64_t bytes = 4 << 20;
  uint64_t sizes[N_STATES];
  uint32_t lives[N_STATES];

  for (uint32_t i = 0; i < N_STATES; i++)
    {
      sizes[i] = bytes;
      /* The last one's goes at the end of the step. */
      lives[i] = i + 1 < N_STATES ? N_STATES + 1 : N_STATES;
    }
  for (int has_start = 0; has_start < 2; has_start++)
    {
      Case c = plan (lives_loop (sizes, lives, N_STATES, 5, has_start), &all_steps);
      size_t n_spares = 0;

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      for (size_t i = 0; i < c.plan->n_slots; i++)
        n_spares += c.plan->slots[i].ordinal == TESSERA_NONE;
      g_assert_cmpuint (n_spares, ==, 1);
      g_assert_cmpuint (c.plan->height_bytes, ==, 4096 + (N_STATES + 1) * bytes);
      check_real (&c, 0, 5 - (guint) has_start);
      clear (&c);
    }
}

static uint64_t
count_misses (const TesseraPlan *p,
              const TesseraTrace *trace,
              const TesseraBlocks *blocks)
{
  g_autofree uint64_t *offsets = g_new (uint64_t, blocks->n_blocks);
  TesseraFollower *follower;
  TesseraFollowerStats stats;

  g_assert_cmpint (tessera_follower_new (p, &follower), ==, TESSERA_OK);
  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];
      uint64_t *offset = &offsets[blocks->block_of_event[i]];

      if (event->action == TESSERA_ALLOC)
        tessera_follower_malloc (follower, event->size_bytes, event->stream, event->pool,
                                 offset, NULL);
      else if (event->action == TESSERA_FREE_COMPLETED)
        tessera_follower_free_at (follower, *offset);
    }
  tessera_follower_get_stats (follower, &stats);
  tessera_follower_free (follower);
  return stats.misses;
}

/* Lives of all kinds over the end of a step, few sizes: the plan is right for the trace
 * whichever free place each block takes, and serves many more steps than it saw. */
static void
test_turns (void)
{
  enum
  {
    MAX_BLOCKS = 24,
    N_STEPS = 5,
    N_MORE_STEPS = 40
  };
  uint32_t n_with_turns = 0;

  for (uint32_t seed = 1; seed <= 40; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      uint32_t n = (uint32_t) g_rand_int_range (rand, 2, MAX_BLOCKS + 1);
      bool has_start = seed % 2;
      uint64_t sizes[MAX_BLOCKS];
      uint32_t lives[MAX_BLOCKS];
      Case apart, passing, longer;

      for (uint32_t i = 0; i < n; i++)
        {
          sizes[i] = (uint64_t) g_rand_int_range (rand, 1, 4) << 21;
          lives[i] = (uint32_t) g_rand_int_range (rand, 1, (gint32) (2 * n - i));
        }
      apart = plan (lives_loop (sizes, lives, n, N_STEPS, has_start), &all_steps);
      passing = plan (lives_loop (sizes, lives, n, N_STEPS, has_start), &across);
      longer = look (lives_loop (sizes, lives, n, N_MORE_STEPS, has_start));
      g_assert_cmpint (apart.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      g_assert_cmpuint (apart.plan->bound_bytes, <=, passing.plan->bound_bytes);
      check_real (&apart, 0, N_STEPS - has_start);
      check_real (&passing, 0, N_STEPS - has_start);
      g_assert_cmpuint (count_misses (apart.plan, longer.trace, longer.blocks), ==, 0);
      g_assert_cmpuint (count_misses (passing.plan, longer.trace, longer.blocks), ==, 0);
      n_with_turns += apart.plan->bound_bytes < passing.plan->bound_bytes;
      clear (&apart);
      clear (&passing);
      clear (&longer);
    }
  g_assert_cmpuint (n_with_turns, >, 10);
}

static TesseraTrace *
leaking_loop (void)
{
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t s = 0; s < 4; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", (guint) s);
      uint32_t begin = (uint32_t) trace->n_events;

      test_alloc (trace, (s + 1) << 30, 5000);
      test_alloc (trace, 0x1000, 800);
      test_free (trace, 0x1000, 800);
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_whole (void)
{
  Case c = plan (leaking_loop (), &all_steps);

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "keep some"));
  g_assert_cmpuint (c.plan->n_sections, ==, 1);
  check_real (&c, 0, 0);
  clear (&c);

  c = plan (test_trace_random (5, 300, 1), &all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "no step"));
  g_assert_cmpuint (c.plan->bound_bytes, ==,
                    tessera_blocks_bound (c.blocks, 0, c.blocks->n_events, NULL));
  check_real (&c, 0, 0);
  clear (&c);
}

/* A plan of an instance is nobody's; an empty trace has an empty one. */
static void
test_odd (void)
{
  TesseraTrace *trace = test_trace_random (5, 30, 1);
  Case c;

  trace->alignment_bytes = 1;
  c = plan (trace, &all_steps);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_NO);
  clear (&c);

  c = plan (test_trace_new (), &all_steps);
  g_assert_cmpuint (c.plan->n_slots, ==, 0);
  g_assert_cmpuint (c.plan->height_bytes, ==, 0);
  clear (&c);

  trace = test_trace_new ();
  test_held (trace, 0x1000, 700, false);
  test_event (trace, TESSERA_SNAPSHOT, 0, 0, 0);
  c = plan (trace, &all_steps);
  g_assert_cmpuint (c.plan->n_slots, ==, 1);
  g_assert_cmpuint (c.plan->slots[0].ordinal, ==, TESSERA_NONE);
  g_assert_cmpuint (c.plan->height_bytes, ==, 1024);
  clear (&c);
}

static void
test_steps (void)
{
  const TesseraPlanOptions some = { .first_step = 1, .last_step = 2 };
  const TesseraPlanOptions alone = { .first_step = 1, .last_step = 1 };
  const TesseraPlanOptions none = { .first_step = 1, .last_step = 9 };
  const TesseraPlanOptions backwards = { .first_step = 3, .last_step = 2 };
  Case c = plan (test_trace_loop (5, 6, true), &some);
  TesseraError error = { 0 };
  TesseraPlan *refused;

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c.plan->n_positions, ==, c.structure->steps[1].end_index);
  g_assert_cmpint (
      tessera_plan_trace (c.trace, c.blocks, c.structure, &none, &error, &refused), ==,
      TESSERA_INVALID);
  g_assert_null (refused);
  g_assert_nonnull (strstr (error.text, "steps 0 to 4"));
  error = (TesseraError){ 0 };
  g_assert_cmpint (
      tessera_plan_trace (c.trace, c.blocks, c.structure, &backwards, &error, &refused),
      ==, TESSERA_INVALID);
  clear (&c);

  /* One step says nothing of the next. */
  c = plan (test_trace_loop (5, 6, true), &alone);
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_nonnull (strstr (c.plan->follow_reason, "one step was asked for"));
  g_assert_nonnull (strstr (c.plan->follow_reason, "same order"));
  clear (&c);
}

/* Events and ranges in no order at all: there is a plan, or a reason against it. */
static void
test_nonsense (void)
{
  static const char *const names[] = { "step 1", "forward", "Optimizer.step#A",
                                       "layers.0", "Optimizer.zero_grad#A" };

  for (uint32_t seed = 1; seed <= 300; seed++)
    {
      TesseraTrace *trace = test_trace_new ();
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      const TesseraPlanOptions options = { .across_streams = seed % 2,
                                           .first_step = seed % 3 ? -1 : 1,
                                           .last_step = -1 };
      TesseraError error = { 0 };
      TesseraStatus status;
      Case c;

      for (int i = 0; i < 12; i++)
        {
          uint32_t begin = (uint32_t) g_rand_int_range (rand, 0, 70);

          test_range (trace, (TesseraRangeKind) g_rand_int_range (rand, 0, 4),
                      names[g_rand_int_range (rand, 0, G_N_ELEMENTS (names))], begin,
                      begin + (uint32_t) g_rand_int_range (rand, 0, 30));
        }
      for (int i = 0; i < 60; i++)
        test_event (trace, (TesseraAction) g_rand_int_range (rand, 1, 11),
                    (uint64_t) g_rand_int_range (rand, 0, 6) << 12,
                    (uint64_t) g_rand_int_range (rand, 0, 9) << 9,
                    (uint16_t) g_rand_int_range (rand, 0, 2));
      tessera_trace_settle_ranges (trace);
      c = look (trace);
      status =
          tessera_plan_trace (trace, c.blocks, c.structure, &options, &error, &c.plan);
      g_assert_true (status == TESSERA_OK || (status == TESSERA_INVALID && !c.plan));
      clear (&c);
    }
}

static void
test_giant (void)
{
  TesseraTrace *trace = test_trace_new ();
  TesseraError error = { 0 };
  Case c;

  test_alloc (trace, 0x1000, UINT64_MAX);
  test_alloc (trace, 0x2000, UINT64_MAX);
  c = look (trace);
  g_assert_cmpint (
      tessera_plan_trace (trace, c.blocks, c.structure, &all_steps, &error, &c.plan), ==,
      TESSERA_REFUSED);
  g_assert_null (c.plan);
  g_assert_cmpuint (error.text[0], !=, '\0');
  clear (&c);
}

/* Equal on every machine: the number of threads is no matter. */
static void
test_digest (void)
{
  uint64_t digest = 0;

  for (uint32_t n_threads = 1; n_threads <= 3; n_threads++)
    {
      const TesseraPlanOptions options = { .first_step = -1,
                                           .last_step = -1,
                                           .n_threads = n_threads };
      Case c = plan (test_trace_random (11, 900, 2), &options);

      if (n_threads > 1)
        g_assert_cmpuint (c.plan->slot_digest, ==, digest);
      digest = c.plan->slot_digest;
      clear (&c);
    }
}

static void
test_streams (void)
{
  for (uint32_t seed = 1; seed <= 12; seed++)
    {
      Case apart = plan (test_trace_random (seed, 200, 3), &all_steps);
      Case c = plan (test_trace_random (seed, 200, 3), &across);

      check_real (&apart, 0, 0);
      check_real (&c, 0, 0);
      g_assert_cmpuint (apart.plan->n_hand_overs, ==, 0);
      g_assert_cmpuint (c.plan->height_bytes, <=, apart.plan->height_bytes);
      clear (&apart);
      clear (&c);
    }
}

/* A recording of one stream is planned for a run that may bring another. */
static void
test_recorded (void)
{
  for (uint32_t seed = 1; seed <= 6; seed++)
    {
      TesseraTrace *trace = test_trace_random (seed, 200, 1);
      Case c;

      g_assert_cmpint (tessera_trace_set_meta (trace, "policy", "native"), ==,
                       TESSERA_OK);
      c = plan (trace, &all_steps);
      for (uint32_t a = 0; a < c.plan->n_slots; a++)
        for (uint32_t b = 0; b < a; b++)
          {
            bool a_is_small = c.plan->slots[a].block_bytes <= 1 << 20;
            bool b_is_small = c.plan->slots[b].block_bytes <= 1 << 20;

            g_assert_true (a_is_small == b_is_small ||
                           !shares_range (&c.plan->slots[a], &c.plan->slots[b]));
          }
      clear (&c);
    }
}

/* A step for each letter of @kinds; equal letters ask for the same. */
static TesseraTrace *
steps_of_kinds (const char *kinds)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 1 << 20, 4096);
  for (uint32_t s = 0; kinds[s]; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", s);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 2; i < 6; i++)
        test_alloc (trace, i << 20, 512 * (uint64_t) kinds[s]);
      for (uint64_t i = 2; i < 6; i++)
        test_free (trace, i << 20, 512 * (uint64_t) kinds[s]);
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* Most steps are alike although few are so in a row; two alike among many are chance. */
static void
test_interrupted (void)
{
  Case often = plan (steps_of_kinds ("xaabaacaad"), &all_steps);
  Case chance = plan (steps_of_kinds ("xaabcdefgh"), &all_steps);

  g_assert_cmpint (often.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpint (chance.plan->followable, !=, TESSERA_FOLLOWABLE_YES);
  clear (&often);
  clear (&chance);
}

/* Steps of random allocations on three streams, in sizes of both classes, all alike; a
 * few blocks live on into the next step. */
static TesseraTrace *
streams_loop (uint32_t seed)
{
  enum
  {
    N_STEPS = 4,
    N_BLOCKS = 24
  };
  TesseraTrace *trace = test_trace_new ();

  for (uint64_t s = 0; s < N_STEPS; s++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree char *name = g_strdup_printf ("step %u", (guint) s);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < N_BLOCKS; i++)
        {
          uint64_t size = (uint64_t) g_rand_int_range (rand, 1, 9) << (i % 3 ? 18 : 9);

          /* Who ends now: born in this step or the one before. */
          for (uint64_t k = 0; k < N_BLOCKS; k++)
            {
              uint64_t end = k + 1 + (k * 7 + seed) % (N_BLOCKS - 1);
              uint64_t addr = (s - (end >= N_BLOCKS)) * N_BLOCKS + k + 1;

              if (end % N_BLOCKS != i || (end >= N_BLOCKS && s == 0))
                continue;
              for (int action = TESSERA_FREE_REQUESTED; action <= TESSERA_FREE_COMPLETED;
                   action++)
                test_event (trace, (TesseraAction) action, addr << 30, 512,
                            (uint16_t) ((k + seed) % 3));
            }
          test_event (trace, TESSERA_ALLOC, (s * N_BLOCKS + i + 1) << 30, size,
                      (uint16_t) ((i + seed) % 3));
        }
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_streams_fold (void)
{
  for (uint32_t seed = 1; seed <= 40; seed++)
    {
      Case c = plan (streams_loop (seed), &across);

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      check_real (&c, 0, 4);
      clear (&c);
    }
}

static void
no_memory (TesseraTrace *trace, const TesseraPlanOptions *options)
{
  Case c = look (trace);

  for (unsigned nth = 1;; nth++)
    {
      TesseraError error = { 0 };
      TesseraPlan *made = NULL;
      long held = tessera_fail_alloc_held ();
      TesseraStatus status;

      tessera_fail_alloc_at (nth);
      status = tessera_plan_trace (trace, c.blocks, c.structure, options, &error, &made);
      if (!tessera_fail_alloc_stop ())
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          tessera_plan_free (made);
          break;
        }
      tessera_plan_free (made); /* the packer may do with fewer orders */
      g_assert_true (status == TESSERA_OK ? made != NULL : made == NULL);
      g_assert_true (status == TESSERA_OK || status == TESSERA_NO_MEMORY);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  clear (&c);
}

static void
test_no_memory (void)
{
  const TesseraPlanOptions one = { .first_step = -1, .last_step = -1, .n_threads = 1 };
  TesseraPlanOptions both = one;

  both.across_streams = true;
  no_memory (test_trace_loop (3, 4, true), &one);
  no_memory (test_trace_random (2, 30, 3), &both);
}

static bool
stop_at_once (void *user, double fraction)
{
  return false;
}

static void
test_cancel (void)
{
  const TesseraProgress progress = { stop_at_once, NULL };
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .progress = &progress };
  Case c = look (test_trace_random (4, 3000, 1));
  TesseraError error = { 0 };

  g_assert_cmpint (
      tessera_plan_trace (c.trace, c.blocks, c.structure, &options, &error, &c.plan), ==,
      TESSERA_CANCELLED);
  g_assert_null (c.plan);
  clear (&c);
}

/* The most that height may be above the bound of the trace itself, in parts of 10,000. */
typedef struct
{
  const char *path;
  uint64_t parts;
} Shared;

static const Shared shared[] = {
  { "sample/finetune-oom.pickle", 5 },
  { "sample/pretrain-gpt.pickle", 5 },
  { "snapshots/real/cnn-small.pickle", 5 },
  { "snapshots/real/finetune-2.1-no-time.pickle", 5 },
  { "snapshots/real/large-ctx256-fullstep.pickle", 5 },
  { "snapshots/real/medium-seq128-train.pickle", 5 },
  { "snapshots/real/medium-seq512-train.pickle", 5 },
  { "snapshots/real/xl-ctx128-forward-amp.pickle", 5 },
  { "snapshots/jobs/meg_pp4vp2_tp2_rcfull.pickle.gz", 50 },
  { "snapshots/jobs/moe64_perm_moeck.pickle.gz", 50 },
  { "snapshots/jobs/unet_var.pickle.gz", 50 },
  { "snapshots/jobs/llama1b_var_length.pickle.gz", 50 },
  { "snapshots/jobs/llama1b_var_length_batch.pickle.gz", 50 },
  { "snapshots/jobs/hf_qwen3moe_eager.pickle.gz", 50 },
};

static void
test_shared (gconstpointer user)
{
  const Shared *file = user;
  TesseraTrace *trace = test_trace_shared (file->path);
  uint64_t bound;
  Case c;

  if (!trace)
    return;
  c = plan (trace, &all_steps);
  bound = tessera_blocks_bound (c.blocks, 0, c.blocks->n_events, NULL);
  g_test_message ("%s: bound %" G_GUINT64_FORMAT " height %" G_GUINT64_FORMAT " (%s; %s)",
                  file->path, bound, c.plan->height_bytes, c.plan->strategy,
                  c.plan->follow_reason);
  g_assert_cmpuint (c.plan->height_bytes, >=, bound);
  g_assert_cmpuint (c.plan->height_bytes - bound, <=, bound / 10000 * file->parts);
  clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/plan/fold", test_fold);
  g_test_add_func ("/planner/plan/replaced-state", test_replaced_state);
  g_test_add_func ("/planner/plan/turns", test_turns);
  g_test_add_func ("/planner/plan/end", test_end);
  g_test_add_func ("/planner/plan/whole", test_whole);
  g_test_add_func ("/planner/plan/odd", test_odd);
  g_test_add_func ("/planner/plan/steps", test_steps);
  g_test_add_func ("/planner/plan/nonsense", test_nonsense);
  g_test_add_func ("/planner/plan/giant", test_giant);
  g_test_add_func ("/planner/plan/digest", test_digest);
  g_test_add_func ("/planner/plan/streams", test_streams);
  g_test_add_func ("/planner/plan/recorded", test_recorded);
  g_test_add_func ("/planner/plan/interrupted", test_interrupted);
  g_test_add_func ("/planner/plan/streams-fold", test_streams_fold);
  g_test_add_func ("/planner/plan/no-memory", test_no_memory);
  g_test_add_func ("/planner/plan/cancel", test_cancel);
  for (size_t i = 0; i < G_N_ELEMENTS (shared); i++)
    {
      g_autofree char *path = g_strdup_printf ("/planner/plan/%s", shared[i].path);

      g_test_add_data_func (path, &shared[i], test_shared);
    }
  return g_test_run ();
}
