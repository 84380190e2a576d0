/*
 * Tests of edits' history, JSON and storage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"

#include <glib/gstdio.h>
#include <string.h>

#include "db/store.h"
#include "edits/test-edits.h"
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
  g_assert_cmpint (tessera_history_save (history, path, &error), ==, TESSERA_OK);
  found = tessera_history_load (path, &error);
  g_assert_cmpstr (error.text, ==, "");
  assert_equal (history, found);
  tessera_history_go (found, 4);
  g_assert_cmpint (tessera_history_save (found, path, &error), ==, TESSERA_OK);
  again = tessera_history_load (path, &error);
  assert_equal (found, again);
  g_assert_cmpint (tessera_history_save (none, path, &error), ==, TESSERA_OK);
  g_assert_cmpstr (error.text, ==, "");
}

static void
test_storage (void)
{
  g_autofree char *folder = g_dir_make_tmp ("edits-XXXXXX", NULL);
  g_autofree char *trace_path = g_build_filename (folder, "a.tsr", NULL);
  g_autofree char *other_path = g_build_filename (folder, "a.pickle", NULL);
  g_autofree char *beside = g_strconcat (other_path, ".edits.json", NULL);
  TesseraTrace *trace = test_trace_loop (3, 4, true);
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_trace_save (trace, trace_path, NULL, NULL), ==, TESSERA_OK);
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
  tessera_trace_free (trace);
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
  g_assert_cmpint (tessera_history_save (history, path, &error), ==, TESSERA_OK);
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
  TesseraPlan *plan;
  size_t n_found;

  g_assert_cmpint (tessera_plan_new (&plan), ==, TESSERA_OK);
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
  g_assert_true (tessera_history_goes_on (history, plan));
  tessera_history_go (history, 6);
  g_assert_false (tessera_history_goes_on (history, plan));
  tessera_history_go (history, 8);
  g_assert_true (tessera_history_goes_on (history, plan));
  plan->edits[2].rule[0] = '[';
  g_assert_false (tessera_history_goes_on (history, plan));
  g_assert_null (tessera_history_from_plan (plan, "plan", &error));
  g_assert_true (g_str_has_prefix (error.text, "plan: edit 3"));
  plan->edits[2].rule[0] = '{';
  plan->edits[0].name[0] = '\n';
  error = (TesseraError){ 0 };
  g_assert_null (tessera_history_from_plan (plan, "plan", &error));
  g_assert_cmpstr (error.text, ==, "plan: edit 1, \"name\" is not one line of text");
  tessera_plan_free (plan);
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
  return g_test_run ();
}
