/*
 * Files in and out of the window: choosing, dropping, recent ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

#include <string.h>

/* Recent files in the menu. */
#define MOST_RECENT 8

/* --- choosing --------------------------------------------------------------------- */

static const struct
{
  const char *title, *accept;
  const char *suffix; /* of the name that is proposed; NULL: a file that is there */
  const char *kind;   /* of what is listed, and its names; NULL: all */
  const char *patterns;
} uses[] = {
  [TESSERA_FILE_TO_OPEN] = { "Open a snapshot or trace", "Open", NULL,
                             "Snapshots, traces, plans",
                             "*.pickle|*.pickle.gz|*.pkl|*.pkl.gz|*.tsr|*.tsp|*.csv" },
  [TESSERA_FILE_FOR_PLAN] = { "Export the plan", "Export", ".tsp", NULL, NULL },
  [TESSERA_FILE_FOR_PICTURE] = { "Save a picture (.png, .svg) or a report (.html)",
                                 "Save", ".png", NULL, NULL },
  [TESSERA_FILE_FOR_REPORT] = { "Save a picture (.png, .svg) or a report (.html)", "Save",
                                ".html", NULL, NULL },
  [TESSERA_FILE_OF_EDITS] = { "Add edits from a file", "Add", NULL, "Edits (JSON)",
                              "*.json" },
  [TESSERA_FILE_FOR_EDITS] = { "Write the edits", "Write", ".edits.json", "Edits (JSON)",
                               "*.json" },
};

void
tessera_window_save_picture (TesseraWindow *self, const char *path)
{
  gboolean stacked = gtk_orientable_get_orientation (GTK_ORIENTABLE (self->panes)) ==
                     GTK_ORIENTATION_VERTICAL;

  tessera_document_save (self->document,
                         g_str_has_suffix (path, ".html") ? TESSERA_SAVE_REPORT
                                                          : TESSERA_SAVE_PICTURE,
                         stacked, path);
}

static void
use_file (TesseraWindow *self, TesseraFileUse use, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (use == TESSERA_FILE_TO_OPEN)
    tessera_window_open (self, file);
  else if (path == NULL)
    tessera_window_say (self, "Only files on this computer can be written or read.",
                        TRUE);
  else if (use == TESSERA_FILE_FOR_PLAN)
    tessera_document_save (self->document, TESSERA_SAVE_PLAN, FALSE, path);
  else if (use == TESSERA_FILE_OF_EDITS)
    tessera_document_load_edits (self->document, path);
  else if (use == TESSERA_FILE_FOR_EDITS)
    tessera_document_save_edits (self->document, path);
  else
    tessera_window_save_picture (self, path);
}

static void
on_response (GtkNativeDialog *chooser, int response, TesseraWindow *self)
{
  guint use = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (chooser), "use"));
  g_autoptr (GFile) file = NULL;

  if (response == GTK_RESPONSE_ACCEPT)
    file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser));
  /* The chooser must live up to its answer; no longer. */
  g_clear_object (&self->chooser);
  if (file != NULL)
    use_file (self, use, file);
}

/* "run.pickle.gz" -> "run" + @suffix. */
static char *
sibling_name (TesseraWindow *self, const char *suffix)
{
  g_autofree char *base = self->document->path != NULL
                              ? g_path_get_basename (self->document->path)
                              : g_strdup ("trace");
  char *dot = strchr (base + 1, '.');

  if (dot != NULL)
    *dot = '\0';
  return g_strconcat (base, suffix, NULL);
}

static void
add_filter (GtkFileChooser *chooser, const char *name, const char *patterns)
{
  g_autoptr (GtkFileFilter) filter = gtk_file_filter_new ();
  g_auto (GStrv) each = g_strsplit (patterns, "|", -1);

  gtk_file_filter_set_name (filter, name);
  for (char **pattern = each; *pattern != NULL; pattern++)
    gtk_file_filter_add_pattern (filter, *pattern);
  gtk_file_chooser_add_filter (chooser, filter);
}

/* Where what is open lies, with a name like its own. */
static void
propose_place (TesseraWindow *self, GtkFileChooser *chooser, const char *suffix)
{
  if (self->document->path != NULL)
    {
      g_autofree char *folder = g_path_get_dirname (self->document->path);
      g_autoptr (GFile) file = g_file_new_for_path (folder);

      gtk_file_chooser_set_current_folder (chooser, file, NULL);
    }
  if (suffix != NULL)
    {
      g_autofree char *name = sibling_name (self, suffix);

      gtk_file_chooser_set_current_name (chooser, name);
    }
}

void
tessera_window_choose (TesseraWindow *self, TesseraFileUse use)
{
  GtkFileChooser *chooser;

  g_clear_object (&self->chooser);
  self->chooser = gtk_file_chooser_native_new (uses[use].title, GTK_WINDOW (self),
                                               uses[use].suffix != NULL
                                                   ? GTK_FILE_CHOOSER_ACTION_SAVE
                                                   : GTK_FILE_CHOOSER_ACTION_OPEN,
                                               uses[use].accept, "Cancel");
  chooser = GTK_FILE_CHOOSER (self->chooser);
  propose_place (self, chooser, uses[use].suffix);
  if (uses[use].kind != NULL)
    add_filter (chooser, uses[use].kind, uses[use].patterns);
  if (use == TESSERA_FILE_TO_OPEN)
    add_filter (chooser, "All files", "*");
  g_object_set_data (G_OBJECT (chooser), "use", GUINT_TO_POINTER (use));
  g_signal_connect (chooser, "response", G_CALLBACK (on_response), self);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (chooser), TRUE);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (chooser));
}

/* --- recent files ----------------------------------------------------------------- */

static gboolean
is_ours (GtkRecentInfo *info)
{
  return gtk_recent_info_has_application (info, g_get_application_name ()) &&
         gtk_recent_info_is_local (info) && gtk_recent_info_exists (info);
}

static int
compare_visits (gconstpointer a, gconstpointer b)
{
  return g_date_time_compare (gtk_recent_info_get_modified ((GtkRecentInfo *) b),
                              gtk_recent_info_get_modified ((GtkRecentInfo *) a));
}

static void
show_recent (GtkRecentManager *manager, TesseraWindow *self)
{
  g_autoptr (GMenu) menu = g_menu_new ();
  GList *items = g_list_sort (gtk_recent_manager_get_items (manager), compare_visits);
  int n = 0;

  for (GList *i = items; i != NULL && n < MOST_RECENT; i = i->next)
    if (is_ours (i->data))
      {
        g_auto (GStrv) parts =
            g_strsplit (gtk_recent_info_get_display_name (i->data), "_", -1);
        /* A single underscore would be taken for a key to press. */
        g_autofree char *label = g_strjoinv ("__", parts);
        g_autoptr (GMenuItem) item = g_menu_item_new (label, NULL);

        g_menu_item_set_action_and_target (item, "win.open-path", "s",
                                           gtk_recent_info_get_uri (i->data));
        g_menu_append_item (menu, item);
        n++;
      }
  g_list_free_full (items, (GDestroyNotify) gtk_recent_info_unref);
  gtk_menu_button_set_menu_model (GTK_MENU_BUTTON (self->recent_menu),
                                  G_MENU_MODEL (menu));
  gtk_widget_set_sensitive (self->recent_menu, n > 0);
}

void
tessera_window_watch_recent (TesseraWindow *self)
{
  GtkRecentManager *manager = gtk_recent_manager_get_default ();

  g_signal_connect_object (manager, "changed", G_CALLBACK (show_recent), self, 0);
  show_recent (manager, self);
}

/* --- dropping ---------------------------------------------------------------------- */

static gboolean
on_drop (
    GtkDropTarget *target, const GValue *value, double x, double y, TesseraWindow *self)
{
  tessera_window_open (self, g_value_get_object (value));
  return TRUE;
}

void
tessera_window_accept_drops (TesseraWindow *self)
{
  GtkDropTarget *target = gtk_drop_target_new (G_TYPE_FILE, GDK_ACTION_COPY);

  g_signal_connect (target, "drop", G_CALLBACK (on_drop), self);
  gtk_widget_add_controller (GTK_WIDGET (self), GTK_EVENT_CONTROLLER (target));
}
