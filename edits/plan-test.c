/*
 * What edits do to plans: each kind, conflicts, random histories undone and redone, and
 * the checker's laws of edits broken one by one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include <string.h>

#include "allocator/follow.h"
#include "edits/query.h"
#include "edits/test-edits.h"
#include "planner/check.h"
#include "planner/test-traces.h"
#include "tests/fail_alloc.h"

#define MIB (UINT64_C (1) << 20)

/* Of the loop: a parameter, the first layer's activation, all activations. */
#define PARAMETERS "class=persistent"
#define FIRST "size=8192"
#define ACTIVATIONS "size>=8192 phase=forward"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraHistory *history;
  TesseraPlanOptions options;
  TesseraEditConflict conflict;
  TesseraError error;
} Scene;

static void
scene_open (Scene *scene, TesseraTrace *trace)
{
  *scene = (Scene){ .trace = trace, .history = tessera_history_new () };
  scene->options = (TesseraPlanOptions){ .first_step = -1, .last_step = -1 };
  g_assert_cmpint (tessera_blocks_new (trace, &scene->blocks), ==, TESSERA_OK);
  g_assert_cmpint (tessera_structure_new (trace, scene->blocks, &scene->structure), ==,
                   TESSERA_OK);
}

static void
scene_begin (Scene *scene, gconstpointer data)
{
  scene_open (scene, test_trace_loop (4, 5, true));
}

static void
scene_end (Scene *scene, gconstpointer data)
{
  tessera_history_free (scene->history);
  tessera_structure_free (scene->structure);
  tessera_blocks_free (scene->blocks);
  tessera_trace_free (scene->trace);
}

static TesseraSelector
selector_of (const char *query)
{
  TesseraSelector selector;
  char *finding = NULL;

  if (!tessera_query_parse (query, &selector, &finding))
    g_error ("%s", finding);
  return selector;
}

static TesseraEdit *
add (Scene *scene, TesseraEditKind kind, const char *what, uint64_t at)
{
  TesseraEdit edit = { .kind = kind, .what = selector_of (what), .at = at };
  size_t n;

  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("%d of %s", kind, what);
  tessera_history_add (scene->history, &edit);
  return (TesseraEdit *) &tessera_history_get (scene->history,
                                               &n)[n - 1]; /* ours to finish */
}

static void
add_apart (Scene *scene, const char *what, const char *with)
{
  TesseraEdit *edit = add (scene, TESSERA_EDIT_APART, what, 0);

  edit->has_with = with != NULL;
  if (with != NULL)
    edit->with = selector_of (with);
}

static void
add_group (Scene *scene, TesseraEditKind kind, const char *what, const char *group)
{
  add (scene, kind, what, 0)->group = g_strdup (group);
}

static TesseraStatus
try_plan (Scene *scene, TesseraPlan **out_plan)
{
  scene->error = (TesseraError){ 0 };
  scene->options.edits = tessera_history_get (scene->history, &scene->options.n_edits);
  scene->options.out_conflict = &scene->conflict;
  return tessera_plan_trace (scene->trace, scene->blocks, scene->structure,
                             &scene->options, &scene->error, out_plan);
}

static TesseraPlan *
plan (Scene *scene)
{
  TesseraPlan *made;

  if (try_plan (scene, &made) != TESSERA_OK)
    g_error ("%s", scene->error.text);
  g_assert_true (made->checked);
  return made;
}

static uint64_t
digest (Scene *scene)
{
  TesseraPlan *made = plan (scene);
  uint64_t found = made->slot_digest;

  tessera_plan_free (made);
  return found;
}

/* By block, ungrouped. */
static guint8 *
select_blocks (const Scene *scene, const char *query)
{
  guint8 *selected = g_new0 (guint8, scene->blocks->n_blocks + 1);
  TesseraSelector selector = selector_of (query);

  g_assert_cmpint (tessera_select (&selector, scene->trace, scene->blocks,
                                   scene->structure, NULL, 0, selected),
                   ==, TESSERA_OK);
  tessera_selector_clear (&selector);
  return selected;
}

static gsize
count_slots (const Scene *scene, const TesseraPlan *made, const char *query)
{
  g_autofree guint8 *selected = select_blocks (scene, query);
  gsize n = 0;

  for (gsize i = 0; i < made->n_slots; i++)
    n += selected[made->slots[i].block];
  return n;
}

static void
test_pin (Scene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = select_blocks (scene, FIRST);
  uint64_t before = digest (scene);
  TesseraPlan *made;
  gsize n = 0;

  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  made = plan (scene);
  g_assert_cmpuint (made->slot_digest, !=, before);
  for (gsize i = 0; i < made->n_slots; i++)
    if (selected[made->slots[i].block])
      {
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, MIB);
        n++;
      }
  g_assert_cmpuint (n, >=, 1);
  g_assert_cmpuint (made->height_bytes, ==, MIB + 8192);
  tessera_plan_free (made);
  g_assert_true (tessera_history_undo (scene->history));
  g_assert_cmpuint (digest (scene), ==, before);
}

/* A block of any step means the slot that all of them have. */
static void
test_pin_in_any_step (Scene *scene, gconstpointer data)
{
  uint64_t wanted;

  add (scene, TESSERA_EDIT_PIN, FIRST " step=0", MIB);
  wanted = digest (scene);
  for (guint step = 1; step < 4; step++)
    {
      g_autofree char *query = g_strdup_printf (FIRST " step=%u", step);

      tessera_history_clear (scene->history);
      add (scene, TESSERA_EDIT_PIN, query, MIB);
      g_assert_cmpuint (digest (scene), ==, wanted);
    }
}

static void
test_pin_with_shape (Scene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = select_blocks (scene, ACTIVATIONS " step=0");
  TesseraEdit *edit = add (scene, TESSERA_EDIT_PIN, "", 2 * MIB);
  TesseraPlan *made;
  gsize n = 0;

  edit->what.blocks = g_new0 (guint32, scene->blocks->n_blocks);
  edit->shape = g_new0 (guint64, scene->blocks->n_blocks);
  for (guint32 i = 0; i < scene->blocks->n_blocks; i++)
    if (selected[i])
      {
        edit->shape[n] = n * 64 * 1024;
        edit->what.blocks[n++] = i;
      }
  edit->what.n_blocks = n;
  g_assert_cmpuint (n, ==, 5);
  made = plan (scene);
  for (gsize k = 0; k < n; k++)
    for (gsize i = 0; i < made->n_slots; i++)
      if (made->slots[i].block == edit->what.blocks[k])
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, 2 * MIB + k * 64 * 1024);
  tessera_plan_free (made);
}

/* Wherever one of them is pinned, the others come along. */
static void
test_together (Scene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = select_blocks (scene, ACTIVATIONS " step=0");
  g_autofree guint64 *distances = NULL;

  add (scene, TESSERA_EDIT_TOGETHER, ACTIVATIONS, 0);
  for (guint round = 0; round < 3; round++)
    {
      TesseraPlan *made;
      guint64 base = 0;
      gboolean is_first = TRUE;

      if (round > 0)
        add (scene, TESSERA_EDIT_PIN, FIRST, round * MIB);
      made = plan (scene);
      if (distances == NULL)
        distances = g_new0 (guint64, made->n_slots);
      for (gsize i = 0; i < made->n_slots; i++)
        if (selected[made->slots[i].block])
          {
            if (is_first)
              base = made->slots[i].offset_bytes;
            is_first = FALSE;
            if (round == 0)
              distances[i] = made->slots[i].offset_bytes - base;
            g_assert_cmpuint (made->slots[i].offset_bytes - base, ==, distances[i]);
          }
      tessera_plan_free (made);
      if (round > 0)
        tessera_history_undo (scene->history);
    }
}

static gboolean
share_an_address (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->offset_bytes < b->offset_bytes + b->block_bytes &&
         b->offset_bytes < a->offset_bytes + a->block_bytes;
}

static void
assert_apart (const Scene *scene, const TesseraPlan *made, const char *a, const char *b)
{
  g_autofree guint8 *of_a = select_blocks (scene, a), *of_b = select_blocks (scene, b);

  for (gsize i = 0; i < made->n_slots; i++)
    for (gsize k = 0; k < made->n_slots; k++)
      if (i != k && of_a[made->slots[i].block] && of_b[made->slots[k].block])
        g_assert_false (share_an_address (&made->slots[i], &made->slots[k]));
}

/* Random blocks share addresses a lot; what is apart shares none. */
static void
test_apart (void)
{
  const char *small = "size<8KiB", *large = "size>=8KiB";
  Scene scene;
  TesseraPlan *made;
  uint64_t height;

  scene_open (&scene, test_trace_random (5, 300, 1));
  made = plan (&scene);
  height = made->height_bytes;
  tessera_plan_free (made);
  add_apart (&scene, small, large);
  made = plan (&scene);
  assert_apart (&scene, made, small, large);
  g_assert_cmpuint (made->height_bytes, >, height);
  tessera_plan_free (made);
  tessera_history_clear (scene.history);
  add_apart (&scene, large, NULL);
  made = plan (&scene);
  assert_apart (&scene, made, large, large);
  tessera_plan_free (made);
  scene_end (&scene, NULL);
}

/* The trace once more, after the plan. Returns: misses. */
static uint64_t
follow (const Scene *scene, const TesseraPlan *made)
{
  g_autofree guint64 *offsets = g_new0 (guint64, scene->blocks->n_blocks + 1);
  TesseraFollower *follower;
  TesseraFollowerStats stats;

  g_assert_cmpint (tessera_follower_new (made, &follower), ==, TESSERA_OK);
  for (guint32 i = 0; i < scene->trace->n_events; i++)
    {
      const TesseraEvent *event = &scene->trace->events[i];
      guint32 block = scene->blocks->block_of_event[i];

      if (event->action == TESSERA_ALLOC &&
          !tessera_follower_malloc (follower, event->size_bytes, event->stream,
                                    event->pool, &offsets[block], NULL))
        offsets[block] = G_MAXUINT64;
      if (event->action == TESSERA_FREE_COMPLETED && offsets[block] != G_MAXUINT64)
        g_assert_true (tessera_follower_free_at (follower, offsets[block]));
    }
  tessera_follower_get_stats (follower, &stats);
  tessera_follower_free (follower);
  return stats.misses;
}

/* Those left out get no slot, the others keep their ordinals; who follows misses these.
 */
static void
test_dynamic (Scene *scene, gconstpointer data)
{
  TesseraPlan *before = plan (scene), *made;
  gsize n_left = 0;

  g_assert_cmpuint (follow (scene, before), ==, 0);
  add (scene, TESSERA_EDIT_DYNAMIC, "size=9216", 0);
  made = plan (scene);
  g_assert_cmpuint (count_slots (scene, before, "size=9216"), ==, 1);
  g_assert_cmpuint (count_slots (scene, made, "size=9216"), ==, 0);
  g_assert_cmpuint (made->n_slots, ==, before->n_slots - 1);
  for (gsize i = 0, k = 0; i < made->n_slots; i++, k++)
    {
      while (before->slots[k].block != made->slots[i].block)
        k++;
      g_assert_cmpuint (made->slots[i].ordinal, ==, before->slots[k].ordinal);
      n_left++;
    }
  g_assert_cmpuint (n_left, ==, made->n_slots);
  g_assert_cmpuint (follow (scene, made), ==, 4); /* one a step */
  tessera_plan_free (before);
  tessera_plan_free (made);
}

/* Equal requests in one stretch: the second of four has no slot, the others are still the
 * first, third and fourth. */
static void
test_dynamic_among_equals (void)
{
  TesseraTrace *trace = test_trace_new ();
  Scene scene;
  TesseraPlan *made;

  for (guint64 i = 1; i <= 4; i++)
    test_alloc (trace, i << 20, 1024);
  scene_open (&scene, trace);
  add (&scene, TESSERA_EDIT_DYNAMIC, "blocks=1", 0);
  made = plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 3);
  g_assert_cmpuint (made->slots[0].ordinal, ==, 0);
  g_assert_cmpuint (made->slots[1].ordinal, ==, 2);
  g_assert_cmpuint (made->slots[2].ordinal, ==, 3);
  g_assert_cmpuint (follow (&scene, made), ==, 1);
  tessera_plan_free (made);
  scene_end (&scene, NULL);
}

static void
test_class (Scene *scene, gconstpointer data)
{
  g_autofree guint8 *selected = select_blocks (scene, FIRST);
  TesseraPlan *made;

  add (scene, TESSERA_EDIT_CLASS, FIRST, 0)->lifetime_class = TESSERA_CLASS_PERSISTENT;
  made = plan (scene);
  for (gsize i = 0; i < made->n_slots; i++)
    if (selected[made->slots[i].block])
      {
        const TesseraGroup *group = &made->groups[made->slots[i].group];

        g_assert_cmpuint (made->slots[i].lifetime_class, ==, TESSERA_CLASS_PERSISTENT);
        g_assert_cmpuint (group->kind, ==, TESSERA_GROUP_PERSISTENT);
        g_assert_true (g_str_has_prefix (group->name, "persistent, from"));
      }
  tessera_plan_free (made);
}

/* Under any cap there is a plan, with fewer slots the lower it is; those with more bytes
 * x lifetime are kept before others. */
static void
test_cap (void)
{
  Scene scene;
  TesseraPlan *made;
  uint64_t height;
  size_t n_slots;

  scene_open (&scene, test_trace_random (7, 400, 2));
  made = plan (&scene);
  height = made->height_bytes;
  n_slots = made->n_slots;
  tessera_plan_free (made);
  for (guint tenths = 10; tenths > 0; tenths--)
    {
      TesseraPlan *capped;

      tessera_history_clear (scene.history);
      add (&scene, TESSERA_EDIT_CAP, "", height * tenths / 10);
      capped = plan (&scene);
      g_assert_cmpuint (capped->height_bytes, <=, height * tenths / 10);
      g_assert_cmpuint (capped->n_slots, <=, n_slots);
      g_assert_true (tenths == 10 || capped->n_slots < n_slots);
      n_slots = capped->n_slots;
      tessera_plan_free (capped);
    }
  tessera_history_clear (scene.history);
  add (&scene, TESSERA_EDIT_CAP, "", 0);
  made = plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 0);
  tessera_plan_free (made);
  scene_end (&scene, NULL);
}

static void
test_cap_keeps_the_heavy (void)
{
  TesseraTrace *trace = test_trace_new ();
  Scene scene;
  TesseraPlan *made;

  test_alloc (trace, 1 << 20, 4096); /* lives on */
  test_alloc (trace, 2 << 20, 1024); /* light: short and small */
  test_free (trace, 2 << 20, 1024);
  test_alloc (trace, 3 << 20, 8192);
  test_free (trace, 3 << 20, 8192);
  scene_open (&scene, trace);
  add (&scene, TESSERA_EDIT_CAP, "", 4608);
  made = plan (&scene);
  g_assert_cmpuint (made->n_slots, ==, 1);
  g_assert_cmpuint (made->slots[0].block_bytes, ==, 4096);
  tessera_plan_free (made);
  scene_end (&scene, NULL);
}

static const TesseraGroup *
find_group (const TesseraPlan *made, const char *name)
{
  for (gsize i = 0; i < made->n_groups; i++)
    if (strcmp (made->groups[i].name, name) == 0)
      return &made->groups[i];
  return NULL;
}

static gsize
count_grouped (const TesseraPlan *made)
{
  gsize n = 0;

  for (gsize i = 0; i < made->n_groups; i++)
    {
      g_assert_cmpuint (made->groups[i].n_blocks, >, 0);
      n += made->groups[i].n_blocks;
    }
  return n;
}

/* No block is lost; a group without blocks is gone. */
static void
test_groups (Scene *scene, gconstpointer data)
{
  TesseraPlan *made = plan (scene);
  gsize n_blocks = count_grouped (made), n_groups = made->n_groups;
  uint64_t before = made->slot_digest;

  tessera_plan_free (made);
  add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  made = plan (scene);
  g_assert_cmpuint (find_group (made, "mine")->n_blocks, ==, 20);
  g_assert_cmpuint (find_group (made, "mine")->kind, ==, TESSERA_GROUP_HAND);
  g_assert_cmpuint (find_group (made, "mine")->height_bytes, ==,
                    5 * 8192 + 1024 * (0 + 1 + 2 + 3 + 4));
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  g_assert_cmpuint (made->slot_digest, ==, before); /* freely packed: no difference */
  tessera_plan_free (made);

  add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  made = plan (scene);
  g_assert_null (find_group (made, "mine"));
  g_assert_cmpuint (find_group (made, "mine, 8192 bytes")->n_blocks, ==, 4);
  g_assert_cmpuint (find_group (made, "mine, 12288 bytes")->n_blocks, ==, 4);
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  tessera_plan_free (made);

  add_group (scene, TESSERA_EDIT_MOVE, PARAMETERS, "mine, 8192 bytes");
  made = plan (scene);
  g_assert_cmpuint (find_group (made, "mine, 8192 bytes")->n_blocks, ==, 4 + 5);
  tessera_plan_free (made);

  add_group (scene, TESSERA_EDIT_MERGE, "group=mine*", "all mine");
  made = plan (scene);
  g_assert_cmpuint (find_group (made, "all mine")->n_blocks, ==, 20 + 5);
  g_assert_cmpuint (count_grouped (made), ==, n_blocks);
  tessera_plan_free (made);

  add (scene, TESSERA_EDIT_SPLIT, "group=\"all mine\"", 0)->by = TESSERA_SPLIT_STEP;
  made = plan (scene);
  g_assert_cmpuint (find_group (made, "all mine, step 2")->n_blocks, ==, 5);
  g_assert_cmpuint (find_group (made, "all mine, no step")->n_blocks, ==, 5);
  tessera_plan_free (made);

  tessera_history_go (scene->history, 0);
  made = plan (scene);
  g_assert_cmpuint (made->n_groups, ==, n_groups);
  tessera_plan_free (made);
}

static void
test_splits (Scene *scene, gconstpointer data)
{
  static const char *const names[] = { [TESSERA_SPLIT_PHASE] = "all, forward",
                                       [TESSERA_SPLIT_MODULE] = "all, no module",
                                       [TESSERA_SPLIT_AT] = "all, before event 20" };

  for (TesseraSplitBy by = TESSERA_SPLIT_PHASE; by <= TESSERA_SPLIT_AT; by++)
    {
      TesseraPlan *made;

      tessera_history_clear (scene->history);
      add_group (scene, TESSERA_EDIT_MERGE, "", "all");
      add (scene, TESSERA_EDIT_SPLIT, FIRST, 20)->by = by;
      made = plan (scene);
      g_assert_null (find_group (made, "all"));
      if (names[by] != NULL)
        g_assert_nonnull (find_group (made, names[by]));
      tessera_plan_free (made);
    }
}

static void
assert_conflict (Scene *scene, guint first, guint second, const char *pattern)
{
  TesseraPlan *made;

  g_assert_cmpint (try_plan (scene, &made), ==, TESSERA_REFUSED);
  g_assert_null (made);
  g_assert_cmpuint (MIN (scene->conflict.first, scene->conflict.second), ==, first);
  g_assert_cmpuint (MAX (scene->conflict.first, scene->conflict.second), ==, second);
  if (!g_pattern_match_simple (pattern, scene->error.text))
    g_error ("expected %s, found %s", pattern, scene->error.text);
  for (guint i = 0; i < 2; i++) /* both are named */
    g_assert_nonnull (
        strstr (scene->error.text,
                tessera_history_get (scene->history, NULL)[i ? second : first].name));
  tessera_history_clear (scene->history);
}

static void
test_conflicts (Scene *scene, gconstpointer data)
{
  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  add (scene, TESSERA_EDIT_CAP, "", 64 * MIB);
  add (scene, TESSERA_EDIT_PIN, FIRST " step=2", 2 * MIB);
  assert_conflict (scene, 0, 2, "*same place to different offsets*");

  add (scene, TESSERA_EDIT_PIN, "size=9216", MIB + 512);
  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  assert_conflict (scene, 0, 1, "*may not share addresses*");

  add (scene, TESSERA_EDIT_PIN, ACTIVATIONS, MIB); /* all at one offset */
  assert_conflict (scene, 0, 0, "*may not share addresses*");

  add (scene, TESSERA_EDIT_PIN, FIRST, MIB + 3);
  assert_conflict (scene, 0, 0, "*multiples of the alignment*");

  add (scene, TESSERA_EDIT_PIN, FIRST, UINT64_C (1) << 62);
  assert_conflict (scene, 0, 0, "*no pool is so large*");

  add (scene, TESSERA_EDIT_CAP, "", MIB);
  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  assert_conflict (scene, 0, 1, "*lies above the cap*");

  add (scene, TESSERA_EDIT_TOGETHER, ACTIVATIONS, 0);
  add (scene, TESSERA_EDIT_CAP, "", 8192);
  assert_conflict (scene, 0, 1, "*more than the pool may*");

  add_group (scene, TESSERA_EDIT_MOVE, FIRST, "nobody's");
  assert_conflict (scene, 0, 0, "*no group of that name*");

  add_apart (scene, ACTIVATIONS, FIRST);
  assert_conflict (scene, 0, 0, "*on both sides*");

  for (guint i = 0; i < 65; i++)
    add_apart (scene, FIRST, NULL);
  assert_conflict (scene, 64, 64, "*64 sets*");
}

/* Two that live one after the other may lie at one place, unless they are kept apart. */
static void
test_conflict_of_pins_kept_apart (void)
{
  TesseraTrace *trace = test_trace_new ();
  Scene scene;

  test_alloc (trace, 1 << 20, 1024);
  test_free (trace, 1 << 20, 1024);
  test_alloc (trace, 2 << 20, 2048);
  test_free (trace, 2 << 20, 2048);
  scene_open (&scene, trace);
  add (&scene, TESSERA_EDIT_PIN, "size=1024", 512);
  add (&scene, TESSERA_EDIT_PIN, "size=2048", 512);
  tessera_plan_free (plan (&scene));
  add_apart (&scene, "size=1024", "size=2048");
  assert_conflict (&scene, 0, 2, "*to be kept apart*");
  scene_end (&scene, NULL);
}

/* Edits made for one trace, applied to a longer one of the same program. */
static void
test_other_trace (Scene *scene, gconstpointer data)
{
  Scene other;
  TesseraPlan *made;
  g_autofree char *text = NULL;
  gsize n = 0;

  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  add (scene, TESSERA_EDIT_DYNAMIC, "size=10240 phase=forward ordinal=0", 0);
  tessera_plan_free (plan (scene));
  text = tessera_history_to_json (scene->history);
  scene_open (&other, test_trace_loop (7, 6, true));
  tessera_history_free (other.history);
  other.history = tessera_history_from_json (text, -1, "it", NULL);
  made = plan (&other);
  for (gsize i = 0; i < made->n_slots; i++)
    if (made->slots[i].size_bytes == 8192)
      {
        g_assert_cmpuint (made->slots[i].offset_bytes, ==, MIB);
        n++;
      }
  g_assert_cmpuint (n, ==, 1);
  g_assert_cmpuint (count_slots (&other, made, "size=10240"), ==, 0);
  g_assert_cmpuint (follow (&other, made), ==, 7);
  tessera_plan_free (made);
  scene_end (&other, NULL);
}

/* Random edits until one is refused, which is dropped; undone and redone in part as they
 * come. Undone completely they give the first plan, redone the last. */
static void
play_history (Scene *scene, guint32 seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  uint64_t first = digest (scene), last = first;
  guint n_edits = (guint) g_rand_int_range (random, 1, 8);
  size_t n_standing;

  for (guint i = 0; i < n_edits; i++)
    {
      TesseraEdit edit = test_edit_random (random, scene->blocks);
      TesseraPlan *made;
      TesseraStatus status;

      tessera_history_add (scene->history, &edit);
      status = try_plan (scene, &made);
      if (status == TESSERA_REFUSED)
        {
          g_assert_cmpuint (scene->conflict.first, <,
                            tessera_history_get_n_standing (scene->history));
          g_assert_cmpuint (scene->conflict.second, <,
                            tessera_history_get_n_standing (scene->history));
          tessera_history_undo (scene->history);
        }
      else
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          last = made->slot_digest;
          tessera_plan_free (made);
        }
    }
  n_standing = tessera_history_get_n_standing (scene->history);
  while (tessera_history_undo (scene->history))
    ;
  g_assert_cmpuint (digest (scene), ==, first);
  tessera_history_go (scene->history, n_standing);
  g_assert_cmpuint (digest (scene), ==, last);
}

static void
test_random_histories (void)
{
  guint32 n = g_getenv ("TESSERA_TEST_LONG") != NULL ? 1000 : 100;

  for (guint32 seed = 0; seed < n; seed++)
    {
      Scene scene;

      scene_open (&scene, seed % 2
                              ? test_trace_loop (3, 4, true)
                              : test_trace_random (seed, 60, (guint16) (1 + seed % 3)));
      scene.options.n_threads = 1;
      scene.options.strategy = (TesseraStrategy) (seed % 4);
      scene.options.across_streams = seed % 5 == 0;
      play_history (&scene, seed);
      scene_end (&scene, NULL);
    }
}

static void
test_strategies (void)
{
  Scene scene;
  uint64_t heights[4];

  scene_open (&scene, test_trace_loop (4, 12, true));
  for (guint i = 0; i < 4; i++)
    {
      TesseraPlan *made;

      scene.options.strategy = (TesseraStrategy) i;
      made = plan (&scene);
      heights[i] = made->height_bytes;
      g_assert_cmpuint (made->ungrouped_bytes, ==,
                        i == TESSERA_STRATEGY_FREE ? 0 : heights[TESSERA_STRATEGY_FREE]);
      g_assert_cmpint (strstr (made->strategy, "grouping") != NULL, ==,
                       i != TESSERA_STRATEGY_FREE);
      tessera_plan_free (made);
    }
  g_assert_cmpuint (
      heights[TESSERA_STRATEGY_AUTO], ==,
      MIN (heights[TESSERA_STRATEGY_FREE], heights[TESSERA_STRATEGY_PAPER]));
  scene_end (&scene, NULL);
}

/* Edits hold under any strategy. */
static void
test_paper_with_edits (Scene *scene, gconstpointer data)
{
  scene->options.strategy = TESSERA_STRATEGY_PAPER;
  add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  add_apart (scene, PARAMETERS, "size=9216");
  tessera_plan_free (plan (scene)); /* the checker looks at pins and sets */
}

static void
test_preview (void)
{
  Scene scene;
  TesseraPlan *full, *preview;

  scene_open (&scene, test_trace_random (3, 2000, 1));
  full = plan (&scene);
  scene.options.is_preview = true;
  preview = plan (&scene);
  g_assert_cmpuint (preview->n_slots, ==, full->n_slots);
  g_assert_cmpuint (preview->height_bytes, <=,
                    full->height_bytes + full->height_bytes / 1000);
  tessera_plan_free (full);
  tessera_plan_free (preview);
  scene_end (&scene, NULL);
}

static void
test_no_memory (Scene *scene, gconstpointer data)
{
  add_group (scene, TESSERA_EDIT_GROUP, ACTIVATIONS, "mine");
  add (scene, TESSERA_EDIT_SPLIT, "group=mine", 0)->by = TESSERA_SPLIT_SIZE;
  add_group (scene, TESSERA_EDIT_MERGE, PARAMETERS, "weights");
  add (scene, TESSERA_EDIT_CLASS, "size=4", 0)->lifetime_class = TESSERA_CLASS_SCOPED;
  add (scene, TESSERA_EDIT_PIN, FIRST, MIB);
  add (scene, TESSERA_EDIT_TOGETHER, "size>=10KiB", 0);
  add_apart (scene, PARAMETERS, "size=9216");
  add (scene, TESSERA_EDIT_DYNAMIC, "size=1000 ordinal=0", 0);
  add (scene, TESSERA_EDIT_CAP, "", 2 * MIB);
  scene->options.n_threads = 1;
  for (guint i = 0; i < 2; i++)
    {
      scene->options.strategy = i ? TESSERA_STRATEGY_AUTO : TESSERA_STRATEGY_FREE;
      for (unsigned nth = 1;; nth++)
        {
          long held = tessera_fail_alloc_held ();
          TesseraPlan *made = NULL;
          TesseraStatus status;

          tessera_fail_alloc_at (nth);
          status = try_plan (scene, &made);
          if (!tessera_fail_alloc_stop ())
            {
              g_assert_cmpint (status, ==, TESSERA_OK);
              tessera_plan_free (made);
              break;
            }
          g_assert_true (status == TESSERA_OK || status == TESSERA_NO_MEMORY);
          tessera_plan_free (made);
          g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
        }
    }
}

/* A copy is whole or nothing. */
static void
test_copies_without_memory (void)
{
  for (TesseraEditKind kind = TESSERA_EDIT_MERGE; kind <= TESSERA_EDIT_CAP; kind++)
    {
      TesseraEdit edit = test_edit_of_kind (kind), copy;

      for (unsigned nth = 1;; nth++)
        {
          long held = tessera_fail_alloc_held ();
          TesseraStatus status;

          tessera_fail_alloc_at (nth);
          status = tessera_edit_copy (&edit, &copy);
          if (!tessera_fail_alloc_stop ())
            break;
          g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
          g_assert_null (copy.name);
          g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
        }
      test_edits_assert_equal (&edit, &copy);
      tessera_edit_clear (&copy);
      tessera_edit_clear (&edit);
    }
}

static void
assert_breaks (const TesseraPlan *made, TesseraHold *hold, uint64_t cap, TesseraLaw law)
{
  const TesseraHolds holds = { hold, hold != NULL, NULL };
  TesseraError error = { 0 };
  TesseraLaw found;

  g_assert_cmpint (tessera_check_edits (made, &holds, cap, &found, &error), ==,
                   law == TESSERA_LAW_NONE ? TESSERA_OK : TESSERA_REFUSED);
  g_assert_cmpint (found, ==, law);
  g_assert_cmpint (*error.text != '\0', ==, law != TESSERA_LAW_NONE);
}

/* Each law of edits kept, and broken by moving one slot. */
static void
test_laws (void)
{
  TesseraSlot slots[] = { { .block_bytes = 1024, .offset_bytes = 0, .died = 4 },
                          { .block_bytes = 1024, .offset_bytes = 1024, .died = 4 },
                          { .block_bytes = 2048, .offset_bytes = 4096, .died = 4 } };
  TesseraPlan made = { .slots = slots, .n_slots = 3, .height_bytes = 6144 };
  uint32_t two[] = { 0, 1 }, third[] = { 2 };
  uint64_t offsets[] = { 0, 1024 };
  TesseraHold hold = {
    .kind = TESSERA_EDIT_PIN, .slots = two, .n_slots = 2, .offsets = offsets
  };

  assert_breaks (&made, NULL, 6144, TESSERA_LAW_NONE);
  assert_breaks (&made, NULL, 6143, TESSERA_LAW_CAP);
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[1].offset_bytes = 1536;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_PIN);
  hold.kind = TESSERA_EDIT_TOGETHER;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_TOGETHER);
  slots[0].offset_bytes = 512;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  hold = (TesseraHold){ .kind = TESSERA_EDIT_APART, .slots = two, .n_slots = 2 };
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[0].offset_bytes = 1024;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
  hold.has_with = true; /* among themselves they may */
  hold.with = third;
  hold.n_with = 1;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_NONE);
  slots[2].offset_bytes = 2048;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
  slots[2].offset_bytes = 0;
  assert_breaks (&made, &hold, UINT64_MAX, TESSERA_LAW_APART);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/edits/plan/" path, Scene, NULL, scene_begin, test, scene_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("pin", test_pin);
  ADD ("pin-in-any-step", test_pin_in_any_step);
  ADD ("pin-with-shape", test_pin_with_shape);
  ADD ("together", test_together);
  g_test_add_func ("/edits/plan/apart", test_apart);
  ADD ("dynamic", test_dynamic);
  g_test_add_func ("/edits/plan/dynamic-among-equals", test_dynamic_among_equals);
  ADD ("class", test_class);
  g_test_add_func ("/edits/plan/cap", test_cap);
  g_test_add_func ("/edits/plan/cap-keeps-the-heavy", test_cap_keeps_the_heavy);
  ADD ("groups", test_groups);
  ADD ("splits", test_splits);
  ADD ("conflicts", test_conflicts);
  g_test_add_func ("/edits/plan/pins-kept-apart", test_conflict_of_pins_kept_apart);
  ADD ("other-trace", test_other_trace);
  g_test_add_func ("/edits/plan/random-histories", test_random_histories);
  g_test_add_func ("/edits/plan/strategies", test_strategies);
  ADD ("paper-with-edits", test_paper_with_edits);
  g_test_add_func ("/edits/plan/preview", test_preview);
  ADD ("no-memory", test_no_memory);
  g_test_add_func ("/edits/plan/copies-without-memory", test_copies_without_memory);
  g_test_add_func ("/edits/plan/laws", test_laws);
  return g_test_run ();
}
