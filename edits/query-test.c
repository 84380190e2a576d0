/*
 * Tests of selectors as text, and of the rules found for blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"

#include <string.h>

#include "edits/test-edits.h"
#include "edits/test-scene.h"
#include "planner/groups.h"
#include "planner/test-traces.h"

static void
test_texts (void)
{
  static const char *const texts[] = {
    "",
    "size>=1MiB",
    "size=1536",
    "size>=512 size<=3GiB life>=2 life<=99",
    "phase=backward died=optimizer module=*mlp* source=train.py:12 class=transient",
    "group=\"forward -> backward, step 1\" step=3 stream=1 ordinal=0 alive=12345",
    "module=\"a \\\"b\\\" \\\\c\"",
  };
  TesseraEdit edit = test_edit_of_kind (TESSERA_EDIT_DYNAMIC);
  TesseraSelector read;
  char *error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      TesseraSelector selector;
      g_autofree char *found = NULL;

      g_assert_true (tessera_query_parse (texts[i], &selector, &error));
      found = tessera_query_format (&selector);
      g_assert_cmpstr (found, ==, texts[i]);
      tessera_selector_clear (&selector);
    }
  g_clear_pointer (&edit.what.blocks, g_free);
  edit.what.n_blocks = 0;
  {
    g_autofree char *text = tessera_query_format (&edit.what);

    g_assert_true (tessera_query_parse (text, &read, &error));
    test_selectors_assert_equal (&edit.what, &read);
  }
  tessera_selector_clear (&read);
  tessera_edit_clear (&edit);
}

static void
test_ways_to_say_it (void)
{
  static const char *const pairs[][2] = {
    { "size>1023", "size>=1KiB" },
    { "size<1KiB", "size<=1023" },
    { "size=1.5MiB", "size=1536KiB" },
    { "size = 1.5 MiB", "size=1536KiB" },
    { "size>= 2 GiB phase = forward", "size>=2GiB phase=forward" },
    { "size>=1 phase=a", "size>=1 phase=a" },
    { "size<2 TB life < 9 size>=1 GB", "size>=1000000000 size<=1999999999999 life<=8" },
    { "size>=24gb", "size>=23437500KiB" },
    { " \t size>=4096B  ", "size>=4KiB" },
    { "size>=1 size>=2", "size>=2" },
    { "life<100", "life<=99" },
    { "size<9 size<5", "size<=4" },
    { "phase=\"a\"\"b\"", "phase=ab" },
    { "blocks=7,3-5,4", "4 blocks" },
    { "blocks=4-9,0-99,3,4294967294,50-60", "101 blocks" },
    { "size>=0", "" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autofree char *error = NULL, *found = NULL;
      TesseraSelector selector;

      g_assert_true (tessera_query_parse (pairs[i][0], &selector, &error));
      found = tessera_query_format (&selector);
      g_assert_cmpstr (found, ==, pairs[i][1]);
      tessera_selector_clear (&selector);
    }
}

static void
test_refusals (void)
{
  static const char *const pairs[][2] = {
    { "big", "*\"big\" is no condition*" },
    { "size", "*is no condition*" },
    { "fase=x", "*no condition \"fase\": it is one of size*" },
    { "=3", "*no condition \"\": *" },
    { "size=big", "size takes bytes*\"big\"" },
    { "size=-1", "size takes bytes*" },
    { "size=1 forward", "size takes bytes*\"1forward\"" },
    { "phase= life<3", "phase takes a text*" },
    { "size=99999999999999999999", "size takes bytes*" },
    { "size=9000000TiB", "size takes bytes*" },
    { "size>=5 size<=3", "no block is of such a size*" },
    { "size<1 size<0", "no block is of such a size*" },
    { "life=x", "life takes*" },
    { "life>5 life<3", "no block lives so*" },
    { "phase>=x", "phase takes = only" },
    { "phase=", "phase takes a text*" },
    { "phase=\"x", "*has no end*" },
    { "step=-1", "step takes a number*" },
    { "stream=65536", "stream takes a number*" },
    { "ordinal=4294967295", "ordinal takes a number*" },
    { "class=odd", "class takes*" },
    { "blocks=", "blocks takes numbers*" },
    { "blocks=5-3", "blocks takes numbers*" },
    { "blocks=0-4000000000", "blocks takes numbers of at most*" },
    { "blocks=0-9000000,5,9000001-18000001", "blocks takes numbers of at most*" },
    { "blocks=1 blocks=2", "blocks is there twice*" },
    { "phase=forward size>1 phase=backward", "phase is there twice*" },
    { "phase=\xff", "phase takes a text*" },
    { "phase=\"a\fb\"", "phase takes a text*" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autofree char *error = NULL;
      TesseraSelector selector;

      g_assert_false (tessera_query_parse (pairs[i][0], &selector, &error));
      if (!g_pattern_match_simple (pairs[i][1], error))
        g_error ("%s: expected %s, found %s", pairs[i][0], pairs[i][1], error);
      g_assert_null (selector.phase);
    }
}

static void
test_sentences (void)
{
  static const char *const sentences[] = {
    [TESSERA_EDIT_PIN] = "Pin 3 blocks * at 1.00 KiB",
    [TESSERA_EDIT_APART] = "Keep 3 blocks * apart from phase=optimizer",
    [TESSERA_EDIT_SPLIT] = "Split the groups of 3 blocks * at event 1024",
    [TESSERA_EDIT_CAP] = "Cap the pool at 1.00 KiB",
    [TESSERA_EDIT_MOVE] = "Move 3 blocks * to \"mine\"",
  };

  for (TesseraEditKind kind = TESSERA_EDIT_MERGE; kind <= TESSERA_EDIT_CAP; kind++)
    {
      TesseraEdit edit = test_edit_of_kind (kind);
      g_autofree char *text = tessera_edit_describe (&edit);

      g_assert_cmpstr (text, !=, "");
      if (sentences[kind] != NULL && !g_pattern_match_simple (sentences[kind], text))
        g_error ("expected %s, found %s", sentences[kind], text);
      tessera_edit_clear (&edit);
    }
}

typedef struct
{
  TestScene base;
  TesseraGroup *groups;
  size_t n_groups;
} Scene;

static void
scene_begin (Scene *scene, TesseraTrace *trace)
{
  test_scene_open (&scene->base, trace);
  tessera_group_blocks (trace, scene->base.blocks, scene->base.structure, &scene->groups,
                        &scene->n_groups);
}

static void
scene_end (Scene *scene)
{
  tessera_groups_free (scene->groups, scene->n_groups);
  test_scene_end (&scene->base, NULL);
}

/* By block; *out_n: how many are. */
static guint8 *
select_blocks (const Scene *scene, const TesseraSelector *selector, gsize *out_n)
{
  const TestScene *base = &scene->base;
  guint8 *selected = g_new0 (guint8, base->blocks->n_blocks + 1);

  tessera_select (selector, base->trace, base->blocks, base->structure, scene->groups,
                  scene->n_groups, selected);
  *out_n = 0;
  for (gsize i = 0; i < base->blocks->n_blocks; i++)
    *out_n += selected[i];
  return selected;
}

/* Three steps of four layers: 4 parameters, then of each step a batch, 4 activations and
 * a loss. */
static void
test_select (void)
{
  static const struct
  {
    const char *query;
    gsize n;
  } cases[] = {
    { "", 4 + 3 * 6 },
    { "class=persistent", 4 },
    { "size=1000", 3 },
    { "size=8192", 3 },
    { "size=8192 step=1", 1 },
    { "size=8192 ordinal=0", 3 },
    { "size=8192 ordinal=1", 0 },
    { "size>=8192 step=1 phase=forward", 4 },
    { "size>=8192 step=1 phase=for*d died=backward", 4 },
    { "phase=for", 0 },
    { "stream=1", 0 },
    { "blocks=0,2,99", 2 },
    { "blocks=0,2 size>=5120", 1 },
    { "alive=3", 4 },
    { "module=*", 0 },
    { "group=*persistent*", 4 },
  };
  Scene scene;

  scene_begin (&scene, test_trace_loop (3, 4, true));
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *error = NULL;
      g_autofree guint8 *selected = NULL;
      TesseraSelector selector;
      gsize n;

      g_assert_true (tessera_query_parse (cases[i].query, &selector, &error));
      selected = select_blocks (&scene, &selector, &n);
      if (n != cases[i].n)
        g_error ("%s selects %zu blocks, not %zu", cases[i].query, n, cases[i].n);
      tessera_selector_clear (&selector);
    }
  scene_end (&scene);
}

/* A rule means exactly the chosen; what it looks at least is what another run has. */
static void
test_rules (void)
{
  Scene scene;
  const TestScene *base = &scene.base;
  g_autoptr (GRand) random = g_rand_new_with_seed (11);
  gsize n_rules = 0;

  scene_begin (&scene, test_trace_loop (4, 5, true));
  for (guint round = 0; round < 300; round++)
    {
      guint32 chosen[8];
      guint32 n = (guint32) g_rand_int_range (random, 1, 4), first;
      g_autofree guint8 *selected = NULL;
      TesseraSelector selector;
      gboolean is_rule;
      gsize n_selected;

      first = (guint32) g_rand_int_range (random, 0,
                                          (gint32) (base->blocks->n_blocks - 4 * 7));
      for (guint32 i = 0; i < n; i++)
        chosen[i] = first + i * 7; /* a step has seven */
      is_rule =
          tessera_query_rule_for (base->trace, base->blocks, base->structure,
                                  scene.groups, scene.n_groups, chosen, n, &selector);
      g_assert_cmpint (is_rule, ==, selector.blocks == NULL);
      selected = select_blocks (&scene, &selector, &n_selected);
      g_assert_cmpuint (n_selected, ==, n);
      for (guint32 i = 0; i < n; i++)
        g_assert_true (selected[chosen[i]]);
      n_rules += is_rule;
      tessera_selector_clear (&selector);
    }
  g_assert_cmpuint (n_rules, >, 50);
  scene_end (&scene);
}

static void
test_similar (void)
{
  Scene scene;
  g_autofree guint8 *selected = NULL;
  TesseraSelector selector;
  guint32 of_first_step = 4 + 1; /* after four parameters and the batch */
  gsize n;

  scene_begin (&scene, test_trace_loop (3, 4, true));
  tessera_query_similar (scene.base.trace, scene.base.blocks, scene.base.structure,
                         of_first_step, &selector);
  selected = select_blocks (&scene, &selector, &n);
  g_assert_cmpuint (n, ==, 3);
  g_assert_true (selected[of_first_step]);
  tessera_selector_clear (&selector);
  scene_end (&scene);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/edits/query/texts", test_texts);
  g_test_add_func ("/edits/query/ways-to-say-it", test_ways_to_say_it);
  g_test_add_func ("/edits/query/refusals", test_refusals);
  g_test_add_func ("/edits/query/sentences", test_sentences);
  g_test_add_func ("/edits/query/select", test_select);
  g_test_add_func ("/edits/query/rules", test_rules);
  g_test_add_func ("/edits/query/similar", test_similar);
  return g_test_run ();
}
