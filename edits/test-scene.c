/*
 * Traces, edits and plans for tests: see test-scene.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-scene.h"

#include "tests/allocator/followed.h"
#include "edits/edits.h"
#include "planner/test-traces.h"

TestScene
test_scene_new (TesseraTrace *trace)
{
  TestScene scene = { .trace = trace,
                      .blocks = tessera_blocks_new (trace),
                      .history = tessera_history_new () };

  scene.structure = tessera_structure_new (trace, scene.blocks);
  scene.options = (TesseraPlanOptions){ .first_step = -1,
                                        .last_step = -1,
                                        .work_budget = 1 << 16 }; /* they are small */
  return scene;
}

void
test_scene_begin (TestScene *scene, gconstpointer data)
{
  *scene = test_scene_new (test_trace_loop (4, 5, true));
}

void
test_scene_end (TestScene *scene, gconstpointer data)
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

TesseraEdit *
test_add (TestScene *scene, TesseraEditKind kind, const char *what, uint64_t at)
{
  TesseraEdit edit = { .kind = kind, .what = selector_of (what), .at = at };
  size_t n;

  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("%d of %s", kind, what);
  tessera_history_add (scene->history, &edit);
  return (TesseraEdit *) &tessera_history_get (scene->history,
                                               &n)[n - 1]; /* ours to finish */
}

void
test_add_apart (TestScene *scene, const char *what, const char *with)
{
  TesseraEdit *edit = test_add (scene, TESSERA_EDIT_APART, what, 0);

  edit->has_with = with != NULL;
  if (with != NULL)
    edit->with = selector_of (with);
}

void
test_add_group (TestScene *scene,
                TesseraEditKind kind,
                const char *what,
                const char *group)
{
  test_add (scene, kind, what, 0)->group = g_strdup (group);
}

TesseraStatus
test_try_plan (TestScene *scene, TesseraPlan **out_plan)
{
  scene->error = (TesseraError){ 0 };
  scene->options.edits = tessera_history_get (scene->history, &scene->options.n_edits);
  scene->options.out_conflict = &scene->conflict;
  return tessera_plan_trace (scene->trace, scene->blocks, scene->structure,
                             &scene->options, &scene->error, out_plan);
}

TesseraPlan *
test_plan (TestScene *scene)
{
  TesseraPlan *made;

  if (test_try_plan (scene, &made) != TESSERA_OK)
    g_error ("%s", scene->error.text);
  g_assert_true (made->checked);
  return made;
}

uint64_t
test_digest (TestScene *scene)
{
  g_autoptr (TesseraPlan) made = test_plan (scene);

  return made->slot_digest;
}

guint8 *
test_select_blocks (const TestScene *scene, const char *query)
{
  guint8 *selected = g_new0 (guint8, scene->blocks->n_blocks + 1);
  TesseraSelector selector = selector_of (query);

  tessera_select (&selector, scene->trace, scene->blocks, scene->structure, NULL, 0,
                  selected);
  tessera_selector_clear (&selector);
  return selected;
}

gsize
test_count_slots (const TestScene *scene, const TesseraPlan *made, const char *query)
{
  g_autofree guint8 *selected = test_select_blocks (scene, query);
  gsize n = 0;

  for (gsize i = 0; i < made->n_slots; i++)
    n += selected[made->slots[i].block];
  return n;
}

/* @missed: by block, or NULL. */
static TesseraFollowerStats
follow (const TestScene *scene, const TesseraPlan *made, guint8 *missed)
{
  g_autofree guint64 *offsets = g_new0 (guint64, scene->blocks->n_blocks + 1);
  g_autoptr (Followed) follower = followed_new (made);

  for (guint32 i = 0; i < scene->trace->n_events; i++)
    {
      const TesseraEvent *event = &scene->trace->events[i];
      guint32 block = scene->blocks->block_of_event[i];

      if (event->action == TESSERA_ALLOC &&
          !followed_malloc (follower, event->size_bytes, event->stream, event->pool,
                            &offsets[block], NULL))
        {
          offsets[block] = G_MAXUINT64;
          if (missed != NULL)
            missed[block] = 1;
        }
      if (event->action == TESSERA_FREE_COMPLETED && offsets[block] != G_MAXUINT64)
        g_assert_true (followed_free_at (follower, offsets[block]));
    }
  return follower->stats;
}

uint64_t
test_follow (const TestScene *scene, const TesseraPlan *made)
{
  return follow (scene, made, NULL).misses;
}

guint8 *
test_find_missed (const TestScene *scene, const TesseraPlan *made)
{
  guint8 *missed = g_new0 (guint8, scene->blocks->n_blocks + 1);
  TesseraFollowerStats stats = follow (scene, made, missed);

  g_assert_cmpuint (stats.misses, ==, stats.misses_planned);
  return missed;
}
