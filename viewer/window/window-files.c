/*
 * Files in and out of the window: choosing, dropping, recent ones, plans and pictures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/window/window-private.h"

#include <string.h>

/* Recent files in the menu. */
#define MOST_RECENT 8

typedef void (*Chosen) (TesseraWindow *self, GFile *file);

static void
on_response (GtkNativeDialog *chooser, int response, TesseraWindow *self)
{
  Chosen chosen = (Chosen) g_object_get_data (G_OBJECT (chooser), "chosen");
  g_autoptr (GFile) file = NULL;

  if (response == GTK_RESPONSE_ACCEPT)
    file = gtk_file_chooser_get_file (GTK_FILE_CHOOSER (chooser));
  /* The chooser must live up to its answer; no longer. */
  g_clear_object (&self->chooser);
  if (file != NULL)
    chosen (self, file);
}

static void
choose (TesseraWindow *self,
        const char *title,
        GtkFileChooserAction action,
        const char *accept,
        const char *name,
        Chosen chosen)
{
  g_autoptr (GFile) folder = NULL;

  g_clear_object (&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new (title, GTK_WINDOW (self), action, accept, "Cancel");
  if (self->document->path != NULL)
    {
      g_autoptr (GFile) open = g_file_new_for_path (self->document->path);

      folder = g_file_get_parent (open);
    }
  if (folder != NULL)
    gtk_file_chooser_set_current_folder (GTK_FILE_CHOOSER (self->chooser), folder, NULL);
  if (name != NULL)
    gtk_file_chooser_set_current_name (GTK_FILE_CHOOSER (self->chooser), name);
  g_object_set_data (G_OBJECT (self->chooser), "chosen", (gpointer) chosen);
  g_signal_connect (self->chooser, "response", G_CALLBACK (on_response), self);
  gtk_native_dialog_set_modal (GTK_NATIVE_DIALOG (self->chooser), TRUE);
  gtk_native_dialog_show (GTK_NATIVE_DIALOG (self->chooser));
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
add_filter (TesseraWindow *self, const char *name, const char *const *patterns)
{
  GtkFileFilter *filter = gtk_file_filter_new ();

  gtk_file_filter_set_name (filter, name);
  for (; *patterns != NULL; patterns++)
    gtk_file_filter_add_pattern (filter, *patterns);
  gtk_file_chooser_add_filter (GTK_FILE_CHOOSER (self->chooser), filter);
  g_object_unref (filter);
}

void
tessera_window_choose_file (TesseraWindow *self)
{
  static const char *const traces[] = { "*.pickle", "*.pickle.gz", "*.pkl", "*.pkl.gz",
                                        "*.tsr",    "*.tsp",       "*.csv", NULL };
  static const char *const all[] = { "*", NULL };

  choose (self, "Open a snapshot or trace", GTK_FILE_CHOOSER_ACTION_OPEN, "Open", NULL,
          tessera_window_open);
  add_filter (self, "Snapshots, traces, plans", traces);
  add_filter (self, "All files", all);
}

/* --- plans and pictures
 * ------------------------------------------------------------------ */

void
tessera_window_export_plan (TesseraWindow *self, const char *path)
{
  tessera_document_save (self->document, TESSERA_SAVE_PLAN, FALSE, path);
}

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
plan_target_chosen (TesseraWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    tessera_window_export_plan (self, path);
}

static void
picture_target_chosen (TesseraWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    tessera_window_save_picture (self, path);
}

void
tessera_window_choose_plan_target (TesseraWindow *self)
{
  g_autofree char *name = sibling_name (self, ".tsp");

  choose (self, "Export the plan", GTK_FILE_CHOOSER_ACTION_SAVE, "Export", name,
          plan_target_chosen);
}

void
tessera_window_choose_picture_target (TesseraWindow *self, const char *suffix)
{
  g_autofree char *name = sibling_name (self, suffix);

  choose (self, "Save a picture (.png, .svg) or a report (.html)",
          GTK_FILE_CHOOSER_ACTION_SAVE, "Save", name, picture_target_chosen);
}

/* --- edits ------------------------------------------------------------------------- */

static void
edits_source_chosen (TesseraWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    tessera_document_load_edits (self->document, path);
}

static void
edits_target_chosen (TesseraWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path != NULL)
    tessera_document_save_edits (self->document, path);
}

void
tessera_window_choose_edits (TesseraWindow *self, gboolean to_write)
{
  static const char *const json[] = { "*.json", NULL };
  g_autofree char *name = to_write ? sibling_name (self, ".edits.json") : NULL;

  if (to_write)
    choose (self, "Write the edits", GTK_FILE_CHOOSER_ACTION_SAVE, "Write", name,
            edits_target_chosen);
  else
    choose (self, "Add edits from a file", GTK_FILE_CHOOSER_ACTION_OPEN, "Add", NULL,
            edits_source_chosen);
  add_filter (self, "Edits (JSON)", json);
}

/* --- recent files
 * -------------------------------------------------------------------------- */

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
tessera_window_copy (TesseraWindow *self)
{
  g_autofree char *text = tessera_copy_text (self->document);

  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), text);
}

void
tessera_window_watch_recent (TesseraWindow *self)
{
  GtkRecentManager *manager = gtk_recent_manager_get_default ();

  self->recent_handler =
      g_signal_connect (manager, "changed", G_CALLBACK (show_recent), self);
  show_recent (manager, self);
}

/* --- dropping
 * -------------------------------------------------------------------------------- */

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
