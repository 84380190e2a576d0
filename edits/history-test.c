/*
 * Tests of edits' history, JSON and storage, of selectors as text and of rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"

#include <glib/gstdio.h>
#include <string.h>

#include "db/store.h"
#include "edits/test-edits.h"
#include "edits/test-scene.h"
#include "planner/groups.h"
#include "planner/test-traces.h"

static TesseraHistory *
one_of_each (void)
{
  TesseraHistory *history = tessera_history_new ();

  for (TesseraEditKind kind = TESSERA_EDIT_MERGE; kind <= TESSERA_EDIT_CAP; kind++)
    {
      TesseraEdit edit = test_edit_of_kind (kind);

      tessera_history_add (history, &edit);
      g_assert_null (edit.name);
    }
  return history;
}

static void
assert_equal (const TesseraHistory *a, const TesseraHistory *b)
{
  size_t n_a, n_b;
  const TesseraEdit *of_a = tessera_history_get (a, &n_a);
  const TesseraEdit *of_b = tessera_history_get (b, &n_b);

  g_assert_cmpuint (n_a, ==, n_b);
  g_assert_cmpuint (tessera_history_get_n_standing (a), ==,
                    tessera_history_get_n_standing (b));
  for (size_t i = 0; i < n_a; i++)
    test_edits_assert_equal (&of_a[i], &of_b[i]);
}

static void
test_undo (void)
{
  g_autoptr (TesseraHistory) history = one_of_each (), copy = NULL;
  TesseraEdit edit = test_edit_of_kind (TESSERA_EDIT_CAP);
  size_t n_edits;

  g_assert_false (tessera_history_redo (history));
  for (size_t i = TESSERA_EDIT_CAP; i-- > 3;)
    {
      g_assert_true (tessera_history_undo (history));
      g_assert_cmpuint (tessera_history_get_n_standing (history), ==, i);
      g_assert_true (tessera_history_get (history, NULL)[i].is_undone);
    }
  copy = tessera_history_copy (history);
  assert_equal (history, copy);
  g_assert_true (tessera_history_redo (history));
  g_assert_cmpuint (tessera_history_get_n_standing (history), ==, 4);
  g_assert_false (tessera_history_get (history, NULL)[3].is_undone);
  tessera_history_add (history, &edit);
  tessera_history_get (history, &n_edits);
  g_assert_cmpuint (n_edits, ==, 5);
  g_assert_false (tessera_history_redo (history));
  tessera_history_go (history, 0);
  g_assert_false (tessera_history_undo (history));
  tessera_history_go (history, 1000);
  g_assert_cmpuint (tessera_history_get_n_standing (history), ==, 5);
  tessera_history_rename (history, 4, "other");
  g_assert_cmpstr (tessera_history_get (history, NULL)[4].name, ==, "other");
  tessera_history_go (history, 0);
  g_assert_cmpuint (tessera_history_get_n_standing (copy), ==, 3);
}

static void
test_json (void)
{
  g_autoptr (TesseraHistory) history = one_of_each (), read = NULL;
  g_autofree char *text = NULL;
  TesseraError error = { 0 };

  tessera_history_go (history, 8);
  text = tessera_history_to_json (history);
  read = tessera_history_from_json (text, -1, "it", &error);
  g_assert_cmpstr (error.text, ==, "");
  assert_equal (history, read);
}

/* A single quote stands for a double one, which is a nuisance in C. */
#define DYNAMIC(more) "[{'kind': 'dynamic', 'name': '', " more "}]"
#define CAP(more) "[{'kind': 'cap', 'name': '', " more "}]"

static const struct
{
  const char *text, *sentence;
} bad[] = {
  { "", "it is empty, not a list of edits in JSON" },
  { "[", "*not JSON*" },
  { "{}", "it is not an array*" },
  { "[1]", "it: edit 1, an edit is not an object" },
  { "[{}]", "it: edit 1, \"kind\" is missing" },
  { "[{'kind': 3, 'name': ''}]", "*\"kind\" is not a text" },
  { "[{'kind': 'melt', 'name': ''}]", "*\"kind\" is \"melt\", which is unknown" },
  { "[{'kind': 'dynamic'}]", "*\"name\" is missing" },
  { "[{'kind': 'dynamic', 'name': 'a\\nb'}]", "*\"name\" is not one line*" },
  { "[{'kind': 'cap', 'name': ''}]", "*\"pool_bytes\" is missing" },
  { CAP ("'pool_bytes': -1"), "*\"pool_bytes\" is -1*" },
  { CAP ("'pool_bytes': 1.5"), "*not a whole number" },
  { CAP ("'pool_bytes': 99999999999999999999"), "*\"pool_bytes\" is -1*" },
  { CAP ("'pool_bytes': 1, 'what': {}"), "*kind cap has no member \"what\"" },
  { DYNAMIC ("'wath': {}"), "*no member \"wath\"" },
  { DYNAMIC ("'what': []"), "*\"what\" is not an object" },
  { DYNAMIC ("'what': {'fase': 'x'}"), "*no member \"fase\"" },
  { DYNAMIC ("'what': {'blocks': [2, 2]}"), "*\"blocks\" do not ascend" },
  { DYNAMIC ("'what': {'blocks': [4294967295]}"), "*\"blocks\" is 4294967295*" },
  { DYNAMIC ("'what': {'blocks': 3}"), "*\"blocks\" is not an array" },
  { DYNAMIC ("'what': {'names': []}"), "*\"names\" does not name each of*" },
  { DYNAMIC ("'what': {'blocks': [1, 2], 'names': ['1 #0']}"),
    "*\"names\" does not name each of*" },
  { DYNAMIC ("'what': {'blocks': [1], 'names': ['1 0']}"),
    "*begins with bytes #ordinal" },
  { DYNAMIC ("'what': {'blocks': [1], 'names': [3]}"), "*\"names\" is not a text" },
  { DYNAMIC ("'what': {'blocks': [1], 'names': ['1 #0 step x']}"),
    "*whose step is no number" },
  { DYNAMIC ("'what': {'blocks': [1], 'names': ['1 #0 step 3 fase x']}"),
    "*at its end is no phase" },
  { DYNAMIC ("'what': {'blocks': [1], 'names': ['18446744073709551616 #0']}"),
    "*begins with bytes #ordinal" },
  { DYNAMIC ("'what': {'class': 'odd'}"), "*\"class\" is \"odd\", which is unknown" },
  { "[{'kind': 'split', 'name': '', 'by': 'at'}]", "*\"at_index\" is missing" },
  { "[{'kind': 'split', 'name': '', 'by': 'size', 'at_index': 3}]",
    "*\"at_index\" goes with*" },
  { "[{'kind': 'group', 'name': '', 'group': ''}]", "*\"group\" is empty" },
  { "[{'kind': 'pin', 'name': '', 'offset_bytes': 0, 'shape': [0]}]",
    "*\"shape\" does not give one distance*" },
  { DYNAMIC ("'is_undone': 1"), "*\"is_undone\" is neither*" },
  { "[{'kind': 'dynamic', 'name': 'a', 'is_undone': true}, {'kind': 'dynamic', 'name': "
    "'b'}]",
    "it: edit 2 stands behind one that is undone" },
  { "[[[[[[[[[[[[[[[[[[[[", "*not a list of edits*" },
  { "/* ' */ []", "*not a list of edits*" },
  { "]", "*not JSON*" },
  { CAP ("'pool_bytes': 0x10"), "*not a list of edits*" },
  { CAP ("'pool_bytes': 010"), "*not a list of edits*" },
  { "[{'kind': 'dynamic', 'name': '',\n'what': {'blocks': [1]}, 'what': {}}]",
    "it, in line 2, \"what\" comes twice: leave one of both out" },
  { DYNAMIC ("'what': {'step': 1, 'step': 2}"), "it, in line 1, \"step\" comes twice*" },
  { "['\xff']", "it is not text in UTF-8" },
};

static void
test_hostile_json (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      TesseraError error = { 0 };
      g_autofree char *text = g_strdelimit (g_strdup (bad[i].text), "'", '"');

      g_assert_null (tessera_history_from_json (text, -1, "it", &error));
      if (!g_pattern_match_simple (bad[i].sentence, error.text))
        g_error ("%s: expected %s, found %s", bad[i].text, bad[i].sentence, error.text);
      g_assert_cmpint (error.status, ==, TESSERA_BAD_INPUT);
    }
}

/* Saves, loads, undoes, saves and loads again; ends with an empty history. */
static void
check_storage (const char *path)
{
  g_autoptr (TesseraHistory) history = one_of_each (), found = NULL, again = NULL,
                             none = NULL;
  TesseraError error = { 0 };
  size_t n_edits;

  none = tessera_history_load (path, &error);
  g_assert_cmpstr (error.text, ==, "");
  tessera_history_get (none, &n_edits);
  g_assert_cmpuint (n_edits, ==, 0);
  OK (tessera_history_save (history, path, &error));
  found = tessera_history_load (path, &error);
  g_assert_cmpstr (error.text, ==, "");
  assert_equal (history, found);
  tessera_history_go (found, 4);
  OK (tessera_history_save (found, path, &error));
  again = tessera_history_load (path, &error);
  assert_equal (found, again);
  OK (tessera_history_save (none, path, &error));
  g_assert_cmpstr (error.text, ==, "");
}

static void
test_storage (void)
{
  g_autofree char *folder = g_dir_make_tmp ("edits-XXXXXX", NULL);
  g_autofree char *trace_path = g_build_filename (folder, "a.tsr", NULL);
  g_autofree char *other_path = g_build_filename (folder, "a.pickle", NULL);
  g_autofree char *beside = g_strconcat (other_path, ".edits.json", NULL);
  g_autoptr (TesseraTrace) trace = test_trace_loop (3, 4, true);
  TesseraError error = { 0 };

  OK (tessera_trace_save (trace, trace_path, NULL, NULL));
  g_assert_true (g_file_set_contents (other_path, "a snapshot", -1, NULL));
  check_storage (trace_path);
  check_storage (other_path);
  g_assert_false (g_file_test (beside, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_set_contents (beside, "[{]", -1, NULL));
  g_assert_null (tessera_history_load (other_path, &error));
  g_assert_nonnull (strstr (error.text, "a.pickle.edits.json"));
  g_unlink (beside);
  g_unlink (other_path);
  g_unlink (trace_path);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

/* More than anybody edits is refused before it takes memory. */
static void
test_too_much_json (void)
{
  GString *text = g_string_new ("[");
  TesseraError error = { 0 };

  for (guint i = 0; i < 4000000; i++)
    g_string_append (text, "1,");
  g_string_append (text, "1]");
  g_assert_null (tessera_history_from_json (text->str, (gssize) text->len, "it", &error));
  g_assert_cmpstr (error.text, ==, "it has more than 4 million values");
  g_string_free (text, TRUE);
}

/* A label is cut; a rule that could not be read again is not written, since all others
 * would be lost with it. */
static void
test_what_is_kept_is_read (void)
{
  g_autofree char *folder = g_dir_make_tmp ("edits-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.pickle", NULL);
  g_autofree char *beside = g_strconcat (path, ".edits.json", NULL);
  g_autofree char *long_text = g_strnfill (1025, 'n');
  g_autoptr (TesseraHistory) history = one_of_each (), found = NULL, older = NULL;
  TesseraEdit edit = test_edit_of_kind (TESSERA_EDIT_GROUP);
  TesseraError error = { 0 };

  g_assert_true (g_file_set_contents (path, "a snapshot", -1, NULL));
  tessera_history_rename (history, 0, long_text);
  tessera_history_rename (history, 1, "two\nlines \xc2\x85");
  OK (tessera_history_save (history, path, &error));
  found = tessera_history_load (path, &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_true (g_str_has_suffix (tessera_history_get (found, NULL)[0].name, "n\u2026"));
  g_assert_cmpstr (tessera_history_get (found, NULL)[1].name, ==, "two lines  ");
  g_free (edit.group);
  edit.group = g_steal_pointer (&long_text);
  tessera_history_add (history, &edit);
  g_assert_cmpint (tessera_history_save (history, path, &error), ==, TESSERA_INVALID);
  g_assert_nonnull (strstr (error.text, "\"group\" is longer than 1024 bytes"));
  error = (TesseraError){ 0 };
  older = tessera_history_load (path, &error);
  g_assert_cmpstr (error.text, ==, "");
  assert_equal (found, older);
  g_unlink (beside);
  g_unlink (path);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

/* Those that stand, and these only. */
static void
test_in_plan (void)
{
  g_autoptr (TesseraHistory) history = one_of_each (), found = NULL;
  TesseraError error = { 0 };
  g_autoptr (TesseraPlan) plan = NULL;
  size_t n_found;

  OK (tessera_plan_new (&plan));
  tessera_history_go (history, 7);
  tessera_history_into_plan (history, plan);
  g_assert_cmpuint (plan->n_edits, ==, 7);
  found = tessera_history_from_plan (plan, "plan", &error);
  g_assert_cmpstr (error.text, ==, "");
  tessera_history_get (found, &n_found);
  g_assert_cmpuint (n_found, ==, 7);
  for (size_t i = 0; i < n_found; i++)
    {
      TesseraEdit wanted;

      tessera_edit_copy (&tessera_history_get (history, NULL)[i], &wanted);
      wanted.created_s = 0;
      test_edits_assert_equal (&wanted, &tessera_history_get (found, NULL)[i]);
      tessera_edit_clear (&wanted);
    }
  plan->edits[2].rule[0] = '[';
  g_assert_null (tessera_history_from_plan (plan, "plan", &error));
  g_assert_true (g_str_has_prefix (error.text, "plan: edit 3"));
  plan->edits[2].rule[0] = '{';
  plan->edits[0].name[0] = '\n';
  error = (TesseraError){ 0 };
  g_assert_null (tessera_history_from_plan (plan, "plan", &error));
  g_assert_cmpstr (error.text, ==, "plan: edit 1, \"name\" is not one line of text");
}

/* ---- Selectors as text, and the rules found for blocks ---- */

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
  scene->base = test_scene_new (trace);
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
  g_test_add_func ("/edits/history/undo", test_undo);
  g_test_add_func ("/edits/history/json", test_json);
  g_test_add_func ("/edits/history/hostile-json", test_hostile_json);
  g_test_add_func ("/edits/history/too-much-json", test_too_much_json);
  g_test_add_func ("/edits/history/storage", test_storage);
  g_test_add_func ("/edits/history/what-is-kept-is-read", test_what_is_kept_is_read);
  g_test_add_func ("/edits/history/in-plan", test_in_plan);
  g_test_add_func ("/edits/query/texts", test_texts);
  g_test_add_func ("/edits/query/ways-to-say-it", test_ways_to_say_it);
  g_test_add_func ("/edits/query/refusals", test_refusals);
  g_test_add_func ("/edits/query/sentences", test_sentences);
  g_test_add_func ("/edits/query/select", test_select);
  g_test_add_func ("/edits/query/rules", test_rules);
  g_test_add_func ("/edits/query/similar", test_similar);
  return g_test_run ();
}
