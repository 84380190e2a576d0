/*
 * Actions that have a state: which layout, axis and colours are seen, and how. Menus and
 * buttons show it, so it follows the document, whoever changed that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/window/window-private.h"

static const char *const left_names[] = { "recorded", "native", "expandable" };
static const char *const axis_names[] = { "bytes", "events", "time" };
static const char *const axis_titles[] = { "bytes moved", "event index", "time" };

static int
index_of (const char *const *names, int n, const char *name)
{
  for (int i = 0; i < n; i++)
    if (g_str_equal (names[i], name))
      return i;
  return -1;
}

static void
change_left (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  int kind = index_of (left_names, G_N_ELEMENTS (left_names),
                       g_variant_get_string (state, NULL));

  if (kind >= 0 && ((TesseraLayoutKind) kind != self->document->left_kind ||
                    self->document->left_planned != NULL))
    tessera_document_set_left_kind (self->document, (TesseraLayoutKind) kind);
  tessera_window_update_actions (self);
}

static void
change_axis (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  int kind = index_of (axis_names, G_N_ELEMENTS (axis_names),
                       g_variant_get_string (state, NULL));

  if (kind >= 0)
    tessera_document_set_axis_kind (self->document, (TesseraAxisKind) kind);
  tessera_window_update_actions (self);
}

static void
change_colour (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;

  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    if (g_str_equal (tessera_colour_key_name ((TesseraColourKey) key),
                     g_variant_get_string (state, NULL)))
      tessera_document_set_colour_key (self->document, (TesseraColourKey) key);
  tessera_window_update_actions (self);
}

static void
change_arrange (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  gboolean stacked = g_str_equal (g_variant_get_string (state, NULL), "stacked");

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self->panes),
                                  stacked ? GTK_ORIENTATION_VERTICAL
                                          : GTK_ORIENTATION_HORIZONTAL);
  g_simple_action_set_state (action, state);
}

static void
change_dark (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;

  /* The window follows; under a theme that is dark by itself there is no other. */
  g_object_set (gtk_widget_get_settings (GTK_WIDGET (self)),
                "gtk-application-prefer-dark-theme", g_variant_get_boolean (state), NULL);
  tessera_window_update_actions (self);
}

static void
change_difference (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;

  tessera_document_set_show_difference (self->document, g_variant_get_boolean (state));
  g_simple_action_set_state (action, state);
}

static void
change_table (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;

  int height = gtk_widget_get_height (self->above_table);

  gtk_widget_set_visible (self->table_panel, g_variant_get_boolean (state));
  if (height > 0)
    gtk_paned_set_position (GTK_PANED (self->above_table),
                            height - MAX (TESSERA_TABLE_LEAST_HEIGHT, height / 4));
  g_simple_action_set_state (action, state);
}

static const GActionEntry entries[] = {
  { "difference", NULL, NULL, "false", change_difference },
  { "left", NULL, "s", "'recorded'", change_left },
  { "axis", NULL, "s", "'bytes'", change_axis },
  { "colour", NULL, "s", "'class'", change_colour },
  { "arrange", NULL, "s", "'side'", change_arrange },
  { "dark", NULL, NULL, "false", change_dark },
  { "table", NULL, NULL, "false", change_table },
};

void
tessera_window_add_switches (TesseraWindow *self)
{
  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries),
                                   self);
}

static void
set_state (TesseraWindow *self, const char *name, GVariant *state)
{
  g_simple_action_set_state (
      G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), name)), state);
}

/* GTK makes another child for it each time. */
static void
set_label (GtkWidget *button, const char *text)
{
  if (g_strcmp0 (gtk_menu_button_get_label (GTK_MENU_BUTTON (button)), text) != 0)
    gtk_menu_button_set_label (GTK_MENU_BUTTON (button), text);
}

static void
show_titles (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  g_autofree char *axis = g_strdup_printf ("axis: %s", axis_titles[document->axis_kind]);
  g_autofree char *left_title =
      document->left_planned != NULL
          ? g_strdup ("Left: a plan")
          : g_strdup_printf ("%s: %s",
                             tessera_layout_owner (left != NULL ? left->layout : NULL),
                             document->left_kind == TESSERA_LAYOUT_RECORDED
                                 ? "as recorded"
                                 : left_names[document->left_kind]);

  set_label (self->left_menu, left_title);
  set_label (self->axis_menu, axis);
}

void
tessera_window_update_switches (TesseraWindow *self)
{
  TesseraDocument *document = self->document;

  set_state (self, "left", g_variant_new_string (left_names[document->left_kind]));
  set_state (self, "axis", g_variant_new_string (axis_names[document->axis_kind]));
  set_state (self, "colour",
             g_variant_new_string (tessera_colour_key_name (document->colour_key)));
  set_state (self, "dark", g_variant_new_boolean (document->dark));
  if (self->left_menu != NULL)
    show_titles (self);
}
