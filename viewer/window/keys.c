/*
 * Keys: which action each of them is, and the window that lists them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

#include <string.h>

/* Who hears a key. */
typedef enum
{
  ON_CANVASES, /* keys without modifiers, which must not steal letters from text fields */
  ON_PAGE,     /* behind what fields and selected words make of it */
  EVERYWHERE,
  BY_ITSELF, /* a widget has it: it is only listed */
  /* Not a key: here the edits by hand are listed, those of groups and classes or all others. */
  EDITS_OF_GROUPS,
  OTHER_EDITS
} Where;

typedef struct
{
  const char *title;  /* NULL: listed with the key above. Alone it begins a group */
  const char *action; /* with its target */
  const char *keys;   /* "plus|equal": any of them; the first is listed */
  Where where;
} Key;

static const Key keys[] = {
  /* As other programs have it too: not listed. */
  { NULL, "win.zoom-in", "<Control>plus|<Control>equal", EVERYWHERE },
  { NULL, "win.zoom-out", "<Control>minus", EVERYWHERE },
  { NULL, "win.fit", "<Control>0", EVERYWHERE },

  { "Move and zoom" },
  { "Move", "win.pan-left", "Left" },
  { NULL, "win.pan-right", "Right" },
  { NULL, "win.pan-up", "Up" },
  { NULL, "win.pan-down", "Down" },
  { "Move, with the other hand", "win.pan-left", "a" },
  { NULL, "win.pan-right", "d" },
  { NULL, "win.pan-up", "w" },
  { NULL, "win.pan-down", "s" },
  { "Zoom in, zoom out", "win.zoom-in", "plus|equal|KP_Add" },
  { NULL, "win.zoom-out", "minus|KP_Subtract" },
  { "Show the whole run", "win.fit", "0|KP_0" },
  { "Go to the beginning, to the end", "win.go-begin", "Home" },
  { NULL, "win.go-end", "End" },
  { "Show the peak of reserved", "win.go-peak", "k" },
  { "Show the step that failed", "win.go-failure", "f" },
  { "Select what keeps the largest hole open", "win.go-hole", "h" },

  { "Blocks" },
  { "Next, previous block in time", "win.next-block", "n" },
  { NULL, "win.previous-block", "p" },
  { "Take the next, the previous one too", "win.next-block-too", "<Shift>n" },
  { NULL, "win.previous-block-too", "<Shift>p" },
  { "Select the whole group", "win.select-group", "g" },
  { "Select all similar to it", "win.select-similar", "m" },
  { "Select all alive at the moment", "win.select-alive", "l" },
  { "Select all in sight", "win.select-sight", "v" },
  { "Select all", "win.select-all", "<Control>a" },
  { "Select nothing, back to the verdict's moment", "win.clear", "Escape" },
  { "What can be done with the selection", "win.ask", "<Shift>F10|Menu" },
  { "Copy what is selected as text", "win.copy", "<Control>c", ON_PAGE },

  { "Panels" },
  { "Table of blocks", "win.table", "<Control>t|F9", EVERYWHERE },
  { "What is selected", "win.side::block", "<Control>i", EVERYWHERE },
  { "Groups", "win.side::groups", "<Control>b", EVERYWHERE },
  { "Look for blocks", "win.find", "<Control>f", EVERYWHERE },
  { "The history of edits", "win.side::edits", "<Control>h", EVERYWHERE },
  { "Rename an edit of the history", NULL, "F2", BY_ITSELF },
  { "Plans side by side", "win.side::plans", "<Control>j", EVERYWHERE },
  { "Show what moved between two plans", "win.difference", "x" },

  { "Layouts" },
  { "PyTorch as recorded", "win.left::recorded", "<Control>1", EVERYWHERE },
  { "Native, simulated", "win.left::native", "<Control>2", EVERYWHERE },
  { "Expandable segments, simulated", "win.left::expandable", "<Control>3", EVERYWHERE },
  { "Plan", "win.plan", "<Control>p", EVERYWHERE },
  { "Export the plan", "win.export-plan", "<Control>e", EVERYWHERE },
  { "Save a picture", "win.save-picture", "<Control>s", EVERYWHERE },

  { "Groups" },
  { .where = EDITS_OF_GROUPS },

  { "Places" },
  { "To the next free place on the plan", "win.pin-up", "<Alt>Up" },
  { NULL, "win.pin-down", "<Alt>Down" },
  { "To the next place, also one that pushes", "win.pin-up-push", "<Alt><Shift>Up" },
  { NULL, "win.pin-down-push", "<Alt><Shift>Down" },
  { "Pin it there", "win.pin-here", "Return|KP_Enter" },
  { .where = OTHER_EDITS },
  { "Undo", "win.undo", "<Control>z", EVERYWHERE },
  { "Redo", "win.redo", "<Control><Shift>z", EVERYWHERE },

  { "Application" },
  { "Open", "win.open", "<Control>o", EVERYWHERE },
  { "New window", "app.new-window", "<Control>n", EVERYWHERE },
  { "Close the file", "win.close-file", "<Control>w", EVERYWHERE },
  { "Dark or light", "win.dark", "<Control>d", EVERYWHERE },
  { "This list", "win.show-help-overlay", "<Control>question|<Control>F1", EVERYWHERE },
  { "Quit", "app.quit", "<Control>q", EVERYWHERE },
};

/* --- as they are heard --------------------------------------------------------------- */

static void
add_keys (GtkWidget *widget, Where where)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  for (size_t i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].action != NULL && keys[i].where == where)
      gtk_shortcut_controller_add_shortcut (
          GTK_SHORTCUT_CONTROLLER (controller),
          gtk_shortcut_new (gtk_shortcut_trigger_parse_string (keys[i].keys),
                            gtk_named_action_new (keys[i].action)));
  gtk_widget_add_controller (widget, controller);
}

void
tessera_app_add_keys (GtkApplication *app)
{
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  for (size_t i = 0; i < G_N_ELEMENTS (keys); i++)
    if (keys[i].where == EVERYWHERE && keys[i].action != NULL)
      {
        g_auto (GStrv) any = g_strsplit (keys[i].keys, "|", -1);

        gtk_application_set_accels_for_action (app, keys[i].action,
                                               (const char *const *) any);
      }
  for (size_t i = 0; i < n; i++)
    {
      g_autofree char *action = g_strconcat ("win.", commands[i].action, NULL);

      gtk_application_set_accels_for_action (
          app, action, (const char *const[]){ commands[i].key, NULL });
    }
}

/* --- as they are listed -------------------------------------------------------------- */

static gboolean
begins_group (const Key *key)
{
  return key->title != NULL && key->keys == NULL;
}

/* What GtkBuilder does: in GTK 4.8 nothing else can. */
static void
add_child (gpointer parent, gpointer child)
{
  GTK_BUILDABLE_GET_IFACE (parent)->add_child (parent, NULL, child, NULL);
}

static void
list_key (GObject *group, const char *title, const char *shown)
{
  add_child (group, g_object_new (GTK_TYPE_SHORTCUTS_SHORTCUT, "title", title,
                                  "accelerator", shown, NULL));
}

static void
list_edits (GObject *group, gboolean are_of_groups)
{
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  for (size_t i = 0; i < n; i++)
    {
      const char *title = commands[i].title;
      g_autofree char *shown = g_strndup (title, strcspn (title, "\xe2"));

      if (tessera_edits_are_of_groups (&(TesseraEdit){ .kind = commands[i].kind }, 1) ==
          are_of_groups)
        list_key (group, shown, commands[i].key);
    }
}

/* Returns: the first key that is not in the row of the list. */
static size_t
list_row (GObject *group, size_t i)
{
  const char *title = keys[i].title;
  g_autoptr (GString) shown = g_string_new (NULL);

  for (; i < G_N_ELEMENTS (keys) && keys[i].keys != NULL &&
         (shown->len == 0 || keys[i].title == NULL);
       i++)
    g_string_append_printf (shown, "%s%.*s", shown->len > 0 ? " " : "",
                            (int) strcspn (keys[i].keys, "|"), keys[i].keys);
  list_key (group, title, shown->str);
  return i;
}

/* Returns: where the next group begins. */
static size_t
list_group (GObject *section, size_t i)
{
  GObject *group =
      g_object_new (GTK_TYPE_SHORTCUTS_GROUP, "title", keys[i++].title, NULL);

  while (i < G_N_ELEMENTS (keys) && !begins_group (&keys[i]))
    if (keys[i].where == EDITS_OF_GROUPS || keys[i].where == OTHER_EDITS)
      list_edits (group, keys[i++].where == EDITS_OF_GROUPS);
    else
      i = list_row (group, i);
  add_child (section, group);
  return i;
}

static void
list_keys (GtkApplicationWindow *window)
{
  GObject *list = g_object_new (GTK_TYPE_SHORTCUTS_WINDOW, "modal", TRUE, NULL);
  GObject *section = g_object_new (GTK_TYPE_SHORTCUTS_SECTION, "section-name", "keys",
                                   "max-height", 12, NULL);
  size_t i = 0;

  while (!begins_group (&keys[i]))
    i++;
  while (i < G_N_ELEMENTS (keys))
    i = list_group (section, i);
  add_child (list, section);
  gtk_application_window_set_help_overlay (window, GTK_SHORTCUTS_WINDOW (list));
}

void
tessera_window_add_keys (TesseraWindow *self, GtkWidget *canvases)
{
  add_keys (canvases, ON_CANVASES);
  add_keys (self->above_table, ON_PAGE);
  list_keys (GTK_APPLICATION_WINDOW (self));
}
