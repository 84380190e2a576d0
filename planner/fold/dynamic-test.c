/*
 * Tests of plans for steps that differ in part.
 *
 * The traces are made up: layers of a model, each with experts whose sizes are drawn anew
 * in each step, some kept for the backward pass. What a plan says of one is held against
 * runs with other draws.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow.h"
#include "planner/check.h"
#include "planner/fold/test-experts.h"
#include "planner/plan/test-case.h"

#define N_SEEDS 12

/* Of the steps; what the start holds is a step as well. */
static void
check_folded (const PlanCase *c)
{
  size_t n_slots = 0;

  g_assert_cmpint (c->plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_nonnull (strstr (c->plan->follow_reason, "dynamic requests a step"));
  g_assert_cmpuint (c->plan->n_rooms, >, 0);
  for (size_t i = 0; i < c->plan->n_slots; i++)
    n_slots += c->plan->slots[i].section == 1;
  /* Two of each layer and each expert's three in the step; gradients differ in number. */
  g_assert_cmpuint (n_slots, >=, TEST_EXPERTS_LAYERS * (1 + 2 * TEST_EXPERTS_EXPERTS));
}

static void
test_folds (void)
{
  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      g_auto (PlanCase) c =
          plan_case_new (test_experts_new (seed, seed % 2, 5, 1), &plan_all_steps);

      check_folded (&c);
    }
}

/* A slot takes its place at some moment in [@born, @died). */
static gboolean
is_there (const TesseraPlan *plan, const TesseraSlot *slot, uint32_t born, uint32_t died)
{
  uint32_t begin = plan->sections[slot->section].begin;

  return (slot->born < died && born < slot->died) ||
         (slot->wraps && begin < died && born < slot->died_next);
}

/* Marks what slots need while the room is open, 512 bytes each. */
static void
mark_needed (const TesseraPlan *plan, const TesseraRoom *room, GByteArray *needed)
{
  uint32_t begin = plan->sections[room->section].begin;

  memset (needed->data, 0, needed->len);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (is_there (plan, slot, room->born, room->died) ||
          (room->died_next > 0 && is_there (plan, slot, begin, room->died_next)))
        memset (needed->data + slot->offset_bytes / 512, 1, slot->block_bytes / 512);
    }
}

static void
check_is_largest (const TesseraPlan *plan, const TesseraRoom *room, GByteArray *needed)
{
  uint64_t best = 0, best_end = plan->height_bytes / 512, n = 0;

  mark_needed (plan, room, needed);
  for (uint64_t i = 0; i <= needed->len; i++)
    if (i == needed->len || needed->data[i])
      {
        if (n > best)
          {
            best = n;
            best_end = i;
          }
        n = 0;
      }
    else
      n++;
  g_assert_cmpuint (room->end_bytes, ==, best_end * 512);
  g_assert_cmpuint (room->begin_bytes, ==, (best_end - best) * 512);
}

/* Of the largest ranges the lowest. */
static void
test_largest (void)
{
  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      g_auto (PlanCase) c =
          plan_case_new (test_experts_new (seed, seed % 2, 5, 1), &plan_all_steps);
      g_autoptr (GByteArray) needed = g_byte_array_new ();

      g_byte_array_set_size (needed, (guint) (c.plan->height_bytes / 512));
      for (size_t i = 0; i < c.plan->n_rooms; i++)
        check_is_largest (c.plan, &c.plan->rooms[i], needed);
    }
}

/* What lies in the pool, byte by byte of the alignment. */
typedef struct
{
  GHashTable *offsets; /* of blocks by index of the trace */
  GByteArray *taken;
  uint64_t asked_bytes; /* by the request that is being served */
  size_t n_static_misses;
  TesseraFollowerStats stats;
} Pool;

static bool
take (void *user, uint64_t offset, uint64_t *out_end)
{
  const Pool *pool = user;
  bool is_free = true;

  for (uint64_t i = offset / 512; i < (offset + pool->asked_bytes + 511) / 512; i++)
    if (i >= pool->taken->len || pool->taken->data[i])
      {
        *out_end = (i + 1) * 512;
        is_free = false;
      }
  return is_free;
}

static void
set_taken (Pool *pool, uint64_t offset, uint64_t size_bytes, guint8 value)
{
  uint64_t end = (offset + size_bytes + 511) / 512;

  g_assert_cmpuint (offset % 512, ==, 0);
  g_assert_cmpuint (end, <=, pool->taken->len);
  for (uint64_t i = offset / 512; i < end; i++)
    {
      g_assert_cmpint (pool->taken->data[i], ==, !value);
      pool->taken->data[i] = value;
    }
}

static void
serve (Pool *pool, TesseraFollower *follower, const TesseraEvent *event, gsize block)
{
  uint64_t offset;
  uint32_t slot;
  gboolean is_static = event->size_bytes % 2048 == 0;

  pool->asked_bytes = event->size_bytes;
  TesseraFollowed followed =
      tessera_follower_malloc (follower, event->size_bytes, 0, 0, &offset, &slot);
  tessera_follower_count (&pool->stats, followed, event->size_bytes);
  if (!tessera_followed_is_hit (followed))
    {
      pool->n_static_misses += is_static;
      return;
    }
  set_taken (pool, offset, event->size_bytes, 1);
  g_hash_table_insert (pool->offsets, GSIZE_TO_POINTER (block + 1),
                       GSIZE_TO_POINTER (offset + 1));
}

static void
take_back (Pool *pool, TesseraFollower *follower, const TesseraEvent *event, gsize block)
{
  gsize offset = GPOINTER_TO_SIZE (
      g_hash_table_lookup (pool->offsets, GSIZE_TO_POINTER (block + 1)));

  if (offset == 0)
    return;
  set_taken (pool, offset - 1, event->size_bytes, 0);
}

/* Follows @plan with the requests of @c's trace. */
static TesseraFollowerStats
follow (const TesseraPlan *plan, const PlanCase *c, size_t *out_static_misses)
{
  Pool pool = { g_hash_table_new (NULL, NULL), g_byte_array_new () };
  TesseraFollower *follower;
  size_t step = 0;

  g_byte_array_set_size (pool.taken, (guint) (tessera_plan_pool_bytes (plan) / 512));
  memset (pool.taken->data, 0, pool.taken->len);
  OK (tessera_follower_new (plan, &follower));
  tessera_follower_set_hook (follower, &(TesseraFollowerHook){ take, &pool });
  for (uint32_t i = 0; i < c->trace->n_events; i++)
    {
      const TesseraEvent *event = &c->trace->events[i];

      if (step < c->structure->n_steps && c->structure->steps[step].begin_index == i)
        {
          tessera_follower_step (follower);
          step++;
        }
      if (event->action == TESSERA_ALLOC)
        serve (&pool, follower, event, c->blocks->block_of_event[i]);
      else if (event->action == TESSERA_FREE_COMPLETED)
        take_back (&pool, follower, event, c->blocks->block_of_event[i]);
    }
  tessera_follower_free (follower);
  *out_static_misses = pool.n_static_misses;
  g_hash_table_unref (pool.offsets);
  g_byte_array_unref (pool.taken);
  return pool.stats;
}

/* With the trace's own requests everything hits; with others nothing overlaps, and where
 * sizes tell planned requests from dynamic ones all planned ones hit. */
static void
test_follows (void)
{
  for (uint32_t seed = 0; seed < N_SEEDS; seed++)
    {
      gboolean may_be_equal = seed % 2;
      g_auto (PlanCase) c =
          plan_case_new (test_experts_new (seed, may_be_equal, 5, 1), &plan_all_steps);
      g_auto (PlanCase) other =
          plan_case_look (test_experts_new (100 + seed, may_be_equal, 7, 1));
      size_t n_static_misses;
      TesseraFollowerStats stats = follow (c.plan, &c, &n_static_misses);

      g_test_message ("seed %u, own run: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
                      " misses",
                      seed, stats.hits, stats.misses);
      g_assert_cmpuint (stats.misses * 50, <=, stats.hits);
      g_assert_cmpuint (stats.hits_dynamic, >, 0);
      stats = follow (c.plan, &other, &n_static_misses);
      g_test_message ("another run: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
                      " misses, of them planned %zu",
                      stats.hits, stats.misses, n_static_misses);
      g_assert_cmpuint (stats.misses * 5, <=, stats.hits);
      if (!may_be_equal)
        g_assert_cmpuint (n_static_misses, ==, 0);
    }
}

/* A step of two lengths may end with a room, for a size that no law gives. */
static void
test_room_on_top (void)
{
  g_auto (PlanCase) c =
      plan_case_new (test_experts_new (1, FALSE, 4, 1), &plan_all_steps);
  TesseraPlan *plan = c.plan;
  TesseraLaw law;
  TesseraError error = { 0 };
  size_t on_top = 0;

  while (on_top < plan->n_rooms && plan->rooms[on_top].end_bytes < plan->height_bytes)
    on_top++;
  g_assert_cmpuint (on_top, <, plan->n_rooms);
  plan->height_bytes += 512;
  for (size_t i = 0; i < plan->n_regions; i++)
    {
      plan->regions[i].begin_bytes += 512;
      plan->regions[i].end_bytes += 512;
    }
  plan->slot_digest = tessera_plan_digest (plan);
  GIVES (TESSERA_REFUSED, tessera_check_plan (plan, NULL, &law, &error));
  g_assert_cmpint (law, ==, TESSERA_LAW_HEIGHT);
  plan->rooms[on_top].end_bytes += 512;
  plan->slot_digest = tessera_plan_digest (plan);
  OK (tessera_check_plan (plan, NULL, &law, &error));
}

/* A slot of a private pool lies above all else, by itself, and is not there while a room
 * is in use: the room may not lie there all the same. */
static void
test_room_of_another_pool (void)
{
  g_auto (PlanCase) c =
      plan_case_new (test_experts_new (1, FALSE, 4, 1), &plan_all_steps);
  TesseraPlan *plan = c.plan;
  TesseraLaw law;
  TesseraError error = { 0 };
  size_t other = 0, r = 0;

  for (gboolean is_found = FALSE; !is_found;)
    {
      const TesseraRoom *room = &plan->rooms[r];
      const TesseraSlot *slot = &plan->slots[other];

      g_assert_cmpuint (r, <, plan->n_rooms);
      is_found = slot->wraps == 0 && room->died_next == 0 &&
                 (slot->died <= room->born || room->died <= slot->born);
      if (!is_found && ++other == plan->n_slots)
        {
          other = 0;
          r++;
        }
    }
  plan->slots[other].pool = 1;
  plan->slots[other].offset_bytes = plan->height_bytes;
  const uint64_t n_bytes = plan->slots[other].block_bytes;
  plan->height_bytes += n_bytes;
  for (size_t i = 0; i < plan->n_regions; i++)
    {
      plan->regions[i].begin_bytes += n_bytes;
      plan->regions[i].end_bytes += n_bytes;
    }
  plan->slot_digest = tessera_plan_digest (plan);
  OK (tessera_check_plan (plan, NULL, &law, &error));
  plan->rooms[r].begin_bytes = plan->height_bytes - n_bytes;
  plan->rooms[r].end_bytes = plan->height_bytes;
  plan->slot_digest = tessera_plan_digest (plan);
  GIVES (TESSERA_REFUSED, tessera_check_plan (plan, NULL, &law, &error));
  g_assert_cmpstr (tessera_law_name (law), ==, "rooms");
}

/* Breaks the plan in one way; FALSE: not possible. */
typedef gboolean (*Breaker) (TesseraPlan *plan);

static gboolean
break_order (TesseraPlan *plan)
{
  TesseraRoom room = plan->rooms[0];

  plan->rooms[0] = plan->rooms[1];
  plan->rooms[1] = room;
  return TRUE;
}

static gboolean
break_before (TesseraPlan *plan)
{
  const TesseraSection *section = &plan->sections[plan->rooms[0].section];

  plan->rooms[0].before = section->first_slot + section->n_slots + 1;
  return TRUE;
}

static gboolean
break_birth (TesseraPlan *plan)
{
  TesseraRoom *room = &plan->rooms[plan->n_rooms / 2];

  room->born = room->died = plan->sections[room->section].end;
  return TRUE;
}

static gboolean
break_height (TesseraPlan *plan)
{
  plan->rooms[plan->n_rooms / 2].end_bytes = plan->height_bytes + 512;
  return TRUE;
}

/* All of the pool: some slot is there in the meantime. */
static gboolean
break_range (TesseraPlan *plan)
{
  TesseraRoom *room = &plan->rooms[plan->n_rooms / 2];

  room->begin_bytes = 0;
  room->end_bytes = plan->height_bytes;
  return TRUE;
}

/* A little more than the largest range. */
static gboolean
break_edge (TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      TesseraRoom *room = &plan->rooms[i];

      if (room->begin_bytes > 0 && room->end_bytes > room->begin_bytes)
        {
          room->begin_bytes -= 512;
          return TRUE;
        }
    }
  return FALSE;
}

static gboolean
break_next (TesseraPlan *plan)
{
  plan->rooms[plan->n_rooms - 1].died_next = plan->n_positions;
  return TRUE;
}

static gboolean
break_stream (TesseraPlan *plan)
{
  plan->rooms[plan->n_rooms - 1].stream = 7;
  return TRUE;
}

static gboolean
break_region (TesseraPlan *plan)
{
  if (plan->n_regions == 0)
    return FALSE;
  plan->regions[0].begin_bytes -= 512;
  return TRUE;
}

static gboolean
break_region_twice (TesseraPlan *plan)
{
  uint64_t end_bytes = tessera_plan_pool_bytes (plan);
  TesseraRegion *regions = g_renew (TesseraRegion, plan->regions, plan->n_regions + 2);

  plan->regions = regions;
  for (int i = 0; i < 2; i++)
    regions[plan->n_regions++] = (TesseraRegion){ end_bytes, end_bytes, 0, 0 };
  return TRUE;
}

static void
test_mutations (void)
{
  static const Breaker breakers[] = {
    break_order, break_before, break_birth,  break_height, break_range,
    break_edge,  break_next,   break_stream, break_region, break_region_twice,
  };
  size_t n_broken[G_N_ELEMENTS (breakers)] = { 0 };

  for (uint32_t seed = 0; seed < 6; seed++)
    for (size_t k = 0; k < G_N_ELEMENTS (breakers); k++)
      {
        g_auto (PlanCase) c =
            plan_case_new (test_experts_new (seed, FALSE, 4, 1), &plan_all_steps);
        TesseraLaw law = TESSERA_LAW_NONE;
        TesseraError error = { 0 };

        if (breakers[k](c.plan))
          {
            n_broken[k]++;
            c.plan->slot_digest = tessera_plan_digest (c.plan);
            GIVES (TESSERA_REFUSED, tessera_check_plan (c.plan, c.trace, &law, &error));
            g_assert_cmpstr (tessera_law_name (law), ==, "rooms");
          }
      }
  for (size_t k = 0; k < G_N_ELEMENTS (breakers); k++)
    if (breakers[k] != break_region)
      g_assert_cmpuint (n_broken[k], >, 0);
}

/* An edit of the kind about the first, or about all, blocks that do (not) differ. */
static TesseraEdit
edit_of (const PlanCase *c, TesseraEditKind kind, gboolean is_dynamic, gboolean is_one)
{
  TesseraEdit edit = { .kind = kind, .name = g_strdup ("mine") };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.what.blocks = g_new0 (uint32_t, c->blocks->n_blocks);
  for (uint32_t i = 0; i < c->blocks->n_blocks; i++)
    {
      g_autofree uint8_t *selected = g_new0 (uint8_t, c->blocks->n_blocks);

      selected[i] = 1;
      TesseraEditReach reach =
          tessera_edit_reach (c->trace, c->blocks, c->structure, selected);
      g_assert_cmpuint (reach.n_dynamic + reach.n_placed, <=, 1);
      if ((is_dynamic ? reach.n_dynamic : reach.n_placed) > 0 &&
          (edit.what.n_blocks == 0 || !is_one))
        edit.what.blocks[edit.what.n_blocks++] = i;
    }
  g_assert_cmpuint (edit.what.n_blocks, >, 0);
  return edit;
}

static TesseraStatus
plan_with (const PlanCase *c, const TesseraEdit *edit, char *text, TesseraPlan **out_plan)
{
  TesseraEditConflict conflict;
  TesseraError error = { 0 };
  TesseraPlanOptions options = { .edits = edit,
                                 .n_edits = 1,
                                 .out_conflict = &conflict,
                                 .first_step = -1,
                                 .last_step = -1 };
  TesseraStatus status =
      tessera_plan_trace (c->trace, c->blocks, c->structure, &options, &error, out_plan);

  g_assert_true (status != TESSERA_REFUSED ||
                 (conflict.first == 0 && conflict.second == 0));
  g_strlcpy (text, error.text, sizeof error.text);
  return status;
}

/* What has no slot can't be held or left out: a plan that says so is better than one that
 * passes over it. Where an edit is about others as well it holds for these. */
static void
test_edits_of_dynamic_requests (void)
{
  static const TesseraEditKind kinds[] = { TESSERA_EDIT_DYNAMIC, TESSERA_EDIT_PIN,
                                           TESSERA_EDIT_TOGETHER, TESSERA_EDIT_APART };
  g_auto (PlanCase) c =
      plan_case_new (test_experts_new (3, FALSE, 5, 1), &plan_all_steps);
  char text[TESSERA_ERROR_TEXT_BYTES];
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraEdit edit;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      edit = edit_of (&c, kinds[i], TRUE, FALSE);
      GIVES (TESSERA_REFUSED, plan_with (&c, &edit, text, &plan));
      g_assert_nonnull (strstr (text, "\"mine\" can't hold"));
      g_assert_nonnull (strstr (text, "differ from step to step"));
      tessera_edit_clear (&edit);
    }
  edit = edit_of (&c, TESSERA_EDIT_DYNAMIC, FALSE, TRUE);
  edit.what.n_blocks = c.blocks->n_blocks;
  for (uint32_t i = 0; i < c.blocks->n_blocks; i++)
    edit.what.blocks[i] = i;
  edit.what.least_bytes = c.blocks->blocks[c.blocks->n_blocks / 2].size_bytes;
  OK (plan_with (&c, &edit, text, &plan));
  g_assert_cmpuint (plan->n_unplanned, >, 0);
  g_assert_cmpuint (plan->n_rooms, >, 0);
  g_assert_true (plan->checked);
  tessera_edit_clear (&edit);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/dynamic/folds", test_folds);
  g_test_add_func ("/planner/dynamic/largest", test_largest);
  g_test_add_func ("/planner/dynamic/follows", test_follows);
  g_test_add_func ("/planner/dynamic/mutations", test_mutations);
  g_test_add_func ("/planner/dynamic/room-on-top", test_room_on_top);
  g_test_add_func ("/planner/dynamic/room-of-another-pool", test_room_of_another_pool);
  g_test_add_func ("/planner/dynamic/edits", test_edits_of_dynamic_requests);
  return g_test_run ();
}
