/*
 * Edits through the window: the menu, the bar, the history, the message of a conflict.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/test-window.h"
#include "viewer/kit/kit.h"

#include <glib/gstdio.h>
#include <string.h>

static void
set_up (TestView *f, gconstpointer unused)
{
  test_view_set_up (f, NULL);
  test_window_open (f->window, f->path);
}

static void
type (TestView *f, const char *text)
{
  gtk_editable_set_text (GTK_EDITABLE (test_view_find (f, "edit-entry")), text);
}

static void
apply (TestView *f)
{
  g_signal_emit_by_name (test_view_find (f, "edit-apply"), "clicked");
  test_window_settle (f->window);
}

static const TesseraEdit *
last_edit (TestView *f)
{
  size_t n_standing = tessera_document_n_standing (f->document), n;

  g_assert_cmpuint (n_standing, >, 0);
  return &tessera_history_get (f->document->history, &n)[n_standing - 1];
}

/* The label of an item of the menu, "win.edit-cap", and the heading that stands above it or
 * above the section before. */
static void
find_item (GMenuModel *menu, const char *action, char **out_label, char **out_heading)
{
  *out_label = *out_heading = NULL;
  for (int i = 0; *out_label == NULL && i < g_menu_model_get_n_items (menu); i++)
    {
      g_autoptr (GMenuModel) section =
          g_menu_model_get_item_link (menu, i, G_MENU_LINK_SECTION);

      if (*out_heading == NULL)
        g_menu_model_get_item_attribute (menu, i, "label", "s", out_heading);
      for (int k = 0; *out_label == NULL && k < g_menu_model_get_n_items (section); k++)
        {
          g_autofree char *name = NULL;

          g_assert_true (
              g_menu_model_get_item_attribute (section, k, "action", "s", &name));
          if (g_str_equal (name, action))
            g_menu_model_get_item_attribute (section, k, "label", "s", out_label);
        }
    }
  g_assert_nonnull (*out_label);
}

/* What cannot be done says why; what can says nothing. */
static void
test_reasons (TestView *f, gconstpointer unused)
{
  GtkWidget *button = test_view_find (f, "edit-button");
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  for (int round = 0; round < 3; round++)
    {
      if (round == 1)
        test_view_act (f, "next-block");
      if (round == 2)
        test_view_do (f, "select-all");
      gtk_menu_button_popup (GTK_MENU_BUTTON (button));
      GtkWidget *popover =
          GTK_WIDGET (gtk_menu_button_get_popover (GTK_MENU_BUTTON (button)));
      WAIT (gtk_widget_get_mapped (popover), 5000);
      for (size_t i = 0; i < n; i++)
        {
          g_autofree char *action = g_strconcat ("win.", commands[i].action, NULL);
          g_autofree char *label = NULL, *heading = NULL;
          gboolean is_on = test_view_is_enabled (f, commands[i].action);

          find_item (gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (button)), action,
                     &label, &heading);
          g_assert_cmpint (is_on, ==,
                           tessera_document_why_no_edit (f->document, commands[i].kind,
                                                         commands[i].by) == NULL);
          g_assert_true (g_str_has_prefix (label, commands[i].title));
          /* A reason of its own, or that of nearly all. */
          g_assert_cmpint (strchr (label, ':') == NULL, ==, is_on || heading != NULL);
          g_assert_cmpstr (heading, ==,
                           round == 0 ? "Select the blocks it is about first" : NULL);
          if (round == 0)
            g_assert_cmpint (is_on, ==, commands[i].kind == TESSERA_EDIT_CAP);
        }
      gtk_menu_button_popdown (GTK_MENU_BUTTON (button));
      WAIT (!gtk_widget_get_mapped (popover), 5000);
    }
}

/* Each command that asks, with a value it refuses and one it takes. */
static void
test_bar (TestView *f, gconstpointer unused)
{
  static const struct
  {
    const char *action, *bad, *good;
    TesseraEditKind kind;
  } cases[] = {
    { "edit-group", "", "mine", TESSERA_EDIT_GROUP },
    { "edit-merge", "", "both", TESSERA_EDIT_MERGE },
    { "edit-pin", "4 MiBs of it", "4 MiB", TESSERA_EDIT_PIN },
    { "edit-apart", "colour=red", "size>=2MiB", TESSERA_EDIT_APART },
    { "edit-class", NULL, NULL, TESSERA_EDIT_CLASS },
    { "edit-cap", "0", "64 MiB", TESSERA_EDIT_CAP },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      if (cases[i].kind == TESSERA_EDIT_MERGE)
        test_view_act (f, "select-all");
      else
        tessera_document_select (f->document, 0);
      test_window_settle (f->window);
      test_view_act (f, cases[i].action);
      g_assert_true (gtk_widget_get_mapped (test_view_find (f, "edit-bar")));
      test_window_settle (f->window);
      if (cases[i].bad != NULL)
        {
          type (f, cases[i].bad);
          g_assert_false (gtk_widget_get_sensitive (test_view_find (f, "edit-apply")));
          type (f, cases[i].good);
        }
      g_assert_true (gtk_widget_get_sensitive (test_view_find (f, "edit-apply")));
      g_assert_cmpstr (test_view_text (f, "edit-what"), !=, "");
      apply (f);
      g_assert_false (gtk_widget_get_visible (test_view_find (f, "edit-bar")));
      g_assert_cmpint (last_edit (f)->kind, ==, cases[i].kind);
      test_view_do (f, "undo");
      g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 0);
      g_assert_true (test_view_is_enabled (f, "redo"));
    }
}

/* The rule is told before it is made; without it the edit is of these blocks. */
static void
test_rule_or_blocks (TestView *f, gconstpointer unused)
{
  for (int by_rule = 0; by_rule < 2; by_rule++)
    {
      tessera_document_select (f->document, 1);
      test_view_do (f, "edit-pin");
      g_assert_nonnull (strstr (test_view_text (f, "edit-what"), "size=2MiB"));
      gtk_check_button_set_active (GTK_CHECK_BUTTON (test_view_find (f, "edit-by-rule")),
                                   by_rule);
      type (f, "4 MiB");
      apply (f);
      g_assert_cmpint (last_edit (f)->what.blocks == NULL, ==, by_rule);
    }
}

/* A bar that is left changes nothing, and gives the focus back. */
static void
test_bar_is_left (TestView *f, gconstpointer unused)
{
  GtkWidget *canvas = test_view_find (f, "canvas-right");

  tessera_document_select (f->document, 0);
  gtk_widget_grab_focus (canvas);
  test_view_act (f, "edit-cap");
  type (f, "4 MiB");
  g_signal_emit_by_name (test_view_find (f, "edit-cancel"), "clicked");
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 0);
  g_assert_true (gtk_widget_has_focus (canvas));
  test_view_act (f, "edit-cap");
  tessera_document_select (f->document, 1);
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "edit-bar")));
}

static GtkListBoxRow *
row (TestView *f, int index)
{
  return gtk_list_box_get_row_at_index (GTK_LIST_BOX (test_view_find (f, "edits")),
                                        index);
}

static void
test_history (TestView *f, gconstpointer unused)
{
  g_assert_true (gtk_widget_get_visible (test_view_find (f, "edits-empty")));
  tessera_document_select (f->document, 1);
  test_view_do (f, "edit-dynamic");
  tessera_document_select (f->document, 0);
  test_view_do (f, "edit-split-size");
  g_assert_nonnull (row (f, 2));
  g_assert_null (row (f, 3));
  g_assert_nonnull (strstr (test_view_text (f, "title-right"), "2 edits"));
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "edits-empty")));
  /* A click goes there, back and forth. */
  g_signal_emit_by_name (test_view_find (f, "edits"), "row-activated", row (f, 0));
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 0);
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (row (f, 1)), "undone"));
  g_signal_emit_by_name (test_view_find (f, "edits"), "row-activated", row (f, 2));
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 2);
  g_assert_false (gtk_widget_has_css_class (GTK_WIDGET (row (f, 2)), "undone"));
  /* By its own entry, which has the name that it had. */
  {
    GtkWidget *entry = test_find (GTK_WIDGET (row (f, 2)), "edit-name");

    gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "edits");
    gtk_popover_popup (GTK_POPOVER (gtk_widget_get_ancestor (entry, GTK_TYPE_POPOVER)));
    WAIT (gtk_widget_get_mapped (entry), 5000);
    g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==,
                     last_edit (f)->name);
    gtk_editable_set_text (GTK_EDITABLE (entry), "mine alone");
    g_signal_emit_by_name (entry, "activate");
  }
  test_window_settle (f->window);
  g_assert_cmpstr (last_edit (f)->name, ==, "mine alone");
}

/* However many there are: a row each, a click goes there. */
static void
test_many (TestView *f, gconstpointer unused)
{
  const int n = 100;

  for (int i = 0; i < n; i++)
    {
      TesseraEdit edit = tessera_edit_of (TESSERA_EDIT_GROUP);

      edit.group = g_strdup_printf ("group %d.", i + 1);
      edit.what.stream = 0;
      tessera_document_add_edit (f->document, &edit);
    }
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "edits");
  test_window_settle (f->window);
  g_assert_null (row (f, n + 1));
  for (int i = 1; i <= n; i++)
    {
      g_autofree char *name = g_strdup_printf ("group %d.", i);

      g_assert_nonnull (
          strstr (gtk_widget_get_tooltip_text (GTK_WIDGET (row (f, i))), name));
    }
  g_assert_true (gtk_list_box_row_is_selected (row (f, n)));
  g_signal_emit_by_name (test_view_find (f, "edits"), "row-activated", row (f, 41));
  test_window_settle (f->window);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 41);
  g_assert_true (gtk_list_box_row_is_selected (row (f, 41)));
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (row (f, 42)), "undone"));
  test_view_do (f, "undo");
  g_assert_true (gtk_list_box_row_is_selected (row (f, 40)));
}

static void
pin (TestView *f, uint32_t block)
{
  tessera_document_select (f->document, block);
  test_view_act (f, "edit-pin");
  type (f, "8 MiB");
  apply (f);
}

/* Both are named, the other can be shown, and undoing the last takes the message away. */
static void
test_conflict (TestView *f, gconstpointer unused)
{
  pin (f, 0);
  g_assert_false (test_view_sees (f, "conflict-undo"));
  pin (f, 1);
  g_assert_true (test_view_sees (f, "message"));
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "conflict-undo")));
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "conflict-show")));
  for (size_t i = 0; i < 2; i++)
    {
      size_t n;
      const char *name = tessera_history_get (f->document->history, &n)[i].name;

      if (strstr (test_view_text (f, "message"), name) == NULL)
        g_error ("\"%s\" does not name \"%s\"", test_view_text (f, "message"), name);
    }
  g_assert_false (test_view_is_enabled (f, "export-plan"));
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (row (f, 1)), "conflict"));
  g_assert_true (gtk_widget_has_css_class (GTK_WIDGET (row (f, 2)), "conflict"));
  g_signal_emit_by_name (test_view_find (f, "conflict-show"), "clicked");
  WAIT (gtk_widget_get_mapped (test_view_find (f, "edits")), 5000);
  WAIT (gtk_widget_has_focus (GTK_WIDGET (row (f, 1))), 5000);
  test_window_settle (f->window);
  g_assert_true (tessera_selection_has (f->document->selection, 0));
  g_assert_false (tessera_selection_has (f->document->selection, 1));
  g_signal_emit_by_name (test_view_find (f, "conflict-undo"), "clicked");
  test_window_settle (f->window);
  g_assert_false (test_view_sees (f, "message"));
  g_assert_true (test_view_is_enabled (f, "export-plan"));
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
}

static void
append_labels (GtkWidget *widget, GString *text)
{
  if (GTK_IS_LABEL (widget) && gtk_widget_get_mapped (widget))
    g_string_append_printf (text, "%s|", gtk_label_get_text (GTK_LABEL (widget)));
  if (GTK_IS_INSCRIPTION (widget) && gtk_widget_get_mapped (widget))
    g_string_append_printf (text, "%s|",
                            gtk_inscription_get_text (GTK_INSCRIPTION (widget)));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    append_labels (child, text);
}

/* Whether a row of the tree reads so; * is anything. */
static gboolean
has_group_row (TestView *f, const char *pattern)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *anywhere = g_strdup_printf ("*|%s*", pattern);

  append_labels (test_view_find (f, "groups"), text);
  return g_pattern_match_simple (anywhere, text->str);
}

/* A group that was made by hand is seen at once, with its height, its share of the peak,
 * its bytes and its reason; undone it is gone. So do the inspector, the names that are
 * offered to move to, and the table. */
static void
test_groups_are_seen (TestView *f, gconstpointer unused)
{
  static const uint32_t a_b[] = { 0, 1 };
  const char *row_of_mine = "mine (2)|made by hand|3.00 MiB|100.0 %|3.00 MiB|*%|";

  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "groups");
  test_window_settle (f->window);
  g_assert_false (has_group_row (f, "mine (2)"));
  tessera_document_select_blocks (f->document, a_b, 2, TESSERA_SELECT_ONLY, 0);
  test_view_act (f, "edit-group");
  type (f, "mine");
  gtk_check_button_set_active (GTK_CHECK_BUTTON (test_view_find (f, "edit-by-rule")),
                               FALSE);
  apply (f);
  WAIT (has_group_row (f, row_of_mine), 5000);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 2);
  tessera_document_select (f->document, 2);
  test_view_act (f, "edit-group");
  type (f, "mine"); /* there is one */
  g_assert_false (gtk_widget_get_sensitive (test_view_find (f, "edit-apply")));
  g_signal_emit_by_name (test_view_find (f, "edit-cancel"), "clicked");
  test_view_do (f, "undo");
  WAIT (!has_group_row (f, "mine (2)"), 5000);
  test_view_do (f, "redo");
  WAIT (has_group_row (f, row_of_mine), 5000);
  /* One of its blocks is of another class now. */
  {
    TesseraEdit made = tessera_edit_of (TESSERA_EDIT_CLASS);

    made.lifetime_class = TESSERA_CLASS_DYNAMIC;
    tessera_document_select (f->document, 0);
    tessera_document_edit_selection (f->document, &made, FALSE);
    test_window_settle (f->window);
    made = tessera_edit_of (TESSERA_EDIT_MOVE);
    made.group = strdup ("mine");
    tessera_document_edit_selection (f->document, &made, FALSE);
    test_window_settle (f->window);
  }
  WAIT (has_group_row (f, "several classes (2)|"), 5000);
  WAIT (has_group_row (f, row_of_mine), 5000);
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "block");
  test_window_settle (f->window);
  {
    g_autoptr (GString) text = g_string_new (NULL);

    append_labels (test_view_find (f, "inspector"), text);
    g_assert_nonnull (strstr (text->str, "|mine|"));
  }
}

static void
test_strategy (TestView *f, gconstpointer unused)
{
  static const char *const names[] = { "stalloc", "free" };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window), "win.strategy",
                                                 "s", names[i]));
      g_assert_false (tessera_document_is_plan_current (f->document));
      test_window_settle (f->window);
      g_assert_true (tessera_document_is_plan_current (f->document));
      g_assert_cmpint (f->document->planned->request.strategy, ==,
                       f->document->request.strategy);
    }
}

static gboolean
shows (TestView *f, const char *name, const char *words)
{
  return strstr (test_view_text (f, name), words) != NULL;
}

/* What is known while a plan is made is seen; stopped, the best is kept and says so. */
static void
test_cut_short (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_hard_path ();

  tessera_document_open (f->document, path);
  WAIT (shows (f, "work", "so far, bound 256.00 MiB (+"), SLOW_MS);
  g_assert_true (g_str_has_prefix (test_view_text (f, "work"), "Planning: "));
  g_assert_true (test_view_is_enabled (f, "cancel"));
  test_view_do (f, "cancel");
  g_assert_true (shows (f, "plan-proof", "of the proven bound; cut short by hand"));
  g_assert_true (shows (f, "subtitle-right", "cut short"));
  g_assert_true (test_view_is_enabled (f, "export-plan"));
  test_view_do (f, "plan");
  g_assert_false (shows (f, "plan-proof", "cut short"));
  g_assert_true (shows (f, "subtitle-right", "checked"));
  g_unlink (path);
}

/* "<Control>k\n<Alt>Up <Alt>Down\n": what the window that lists keys shows. */
static void
read_list (GtkWidget *widget, GString *list)
{
  if (GTK_IS_SHORTCUTS_SHORTCUT (widget))
    {
      g_autofree char *shown = NULL, *title = NULL;

      g_object_get (widget, "accelerator", &shown, "title", &title, NULL);
      g_assert_cmpstr (title, !=, "");
      g_string_append_printf (list, "%s\n", shown);
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    read_list (child, list);
}

static gboolean
is_listed (const char *list, const char *key)
{
  g_auto (GStrv) keys = g_strsplit_set (list, " \n", -1);

  return g_strv_contains ((const char *const *) keys, key);
}

/* Whatever has a key is in the list of keys, but for what the canvases' own zoom too. */
static void
check_application_keys (const char *list)
{
  static const char *const zoom[] = { "win.zoom-in", "win.zoom-out", "win.fit", NULL };
  GtkApplication *app = GTK_APPLICATION (g_application_get_default ());
  g_auto (GStrv) actions = gtk_application_list_action_descriptions (app);

  g_assert_cmpuint (g_strv_length (actions), >, 30);
  for (char **action = actions; *action != NULL; action++)
    {
      g_auto (GStrv) keys = gtk_application_get_accels_for_action (app, *action);
      gboolean found = g_strv_contains (zoom, *action) ||
                       g_str_equal (*action, "win.show-help-overlay");

      for (char **key = keys; *key != NULL; key++)
        {
          g_autoptr (GString) written = g_string_new (*key);

          /* As people say it. */
          g_string_replace (written, "<Shift><Control>", "<Control><Shift>", 1);
          found |= is_listed (list, written->str);
        }
      if (!found)
        g_error ("%s has a key that is not in the list of keys", *action);
    }
}

/* Every key is in the list of keys, in a row of its own or with one that goes with it. */
static void
test_keys_are_listed (TestView *f, gconstpointer unused)
{
  static const char *const others[] = {
    "Left",           "w", "plus",       "Home",   "<Shift>p", "x", "F2",
    "<Alt><Shift>Up", "h", "<Control>c", "Escape", "Return"
  };
  g_autoptr (GString) list = g_string_new (NULL);
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  read_list (GTK_WIDGET (gtk_application_window_get_help_overlay (
                 GTK_APPLICATION_WINDOW (f->window))),
             list);
  for (size_t i = 0; i < n; i++)
    if (!is_listed (list->str, commands[i].key))
      g_error ("%s is not in the list of keys", commands[i].key);
  for (size_t i = 0; i < G_N_ELEMENTS (others); i++)
    if (!is_listed (list->str, others[i]))
      g_error ("%s is not in the list of keys", others[i]);
  check_application_keys (list->str);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
#define ADD(name, function)                                                              \
  g_test_add ("/edits/" name, TestView, NULL, set_up, function, test_view_tear_down)
  ADD ("reasons", test_reasons);
  ADD ("bar", test_bar);
  ADD ("rule or blocks", test_rule_or_blocks);
  ADD ("bar is left", test_bar_is_left);
  ADD ("history", test_history);
  ADD ("many", test_many);
  ADD ("conflict", test_conflict);
  ADD ("groups are seen", test_groups_are_seen);
  ADD ("strategy", test_strategy);
  ADD ("cut short", test_cut_short);
  ADD ("keys are listed", test_keys_are_listed);
  return g_test_run ();
}
