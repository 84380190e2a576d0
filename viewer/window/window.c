/*
 * The window: one document and everything that shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window.h"

#include "cli/command.h"
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/window/window-private.h"

G_DEFINE_TYPE (TesseraWindow, tessera_window, GTK_TYPE_APPLICATION_WINDOW)

TesseraDocument *
tessera_window_get_document (TesseraWindow *self)
{
  return self->document;
}

void
tessera_window_open (TesseraWindow *self, GFile *file)
{
  g_autofree char *path = g_file_get_path (file);

  if (path == NULL)
    {
      tessera_window_say (self, "Only files on this computer can be opened.", TRUE);
      return;
    }
  tessera_document_open (self->document, path);
}

gboolean
tessera_window_is_settled (TesseraWindow *self)
{
  if (tessera_document_is_busy (self->document))
    return FALSE;
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    if (!tessera_canvas_is_complete (TESSERA_CANVAS (self->canvases[i])))
      return FALSE;
  return (!gtk_widget_get_mapped (self->groups) ||
          tessera_groups_view_is_settled (self->groups)) &&
         (!gtk_widget_get_mapped (self->table_panel) ||
          tessera_table_is_settled (self->table_panel));
}

void
tessera_window_say (TesseraWindow *self, const char *sentence, gboolean is_error)
{
  gtk_label_set_text (GTK_LABEL (self->message_text), sentence);
  gtk_widget_set_css_classes (
      self->message,
      (const char *[]){ "message", is_error ? "message-error" : "message-info", NULL });
  gtk_widget_set_visible (self->message, *sentence != '\0');
  gtk_widget_set_visible (self->conflict_undo, FALSE);
  gtk_widget_set_visible (self->conflict_show, FALSE);
}

const char *
tessera_window_get_said (TesseraWindow *self)
{
  return gtk_label_get_text (GTK_LABEL (self->message_text));
}

static char *
describe_file (TesseraDocument *document)
{
  const TesseraTrace *trace = document->data->trace;
  g_autofree char *blocks =
      tessera_describe_counted (document->data->blocks->n_blocks, "block");
  size_t n_steps = document->data->structure->n_steps;
  GString *text = g_string_new (NULL);

  if (trace->device_bytes != 0)
    {
      g_autofree char *device = tessera_describe_bytes (trace->device_bytes);

      g_string_append_printf (text, "%s device · ", device);
    }
  if (n_steps > 0)
    g_string_append_printf (text, "%zu step%s · ", n_steps, n_steps == 1 ? "" : "s");
  g_string_append (text, blocks);
  return g_string_free (text, FALSE);
}

static void
show_title (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  g_autofree char *base =
      document->path != NULL ? g_path_get_basename (document->path) : NULL;
  g_autofree char *facts = document->data != NULL ? describe_file (document) : NULL;
  const char *shown = base != NULL ? cli_shown (base) : NULL;
  g_autofree char *window_title =
      shown != NULL ? g_strdup_printf ("%s – Tessera", shown) : g_strdup ("Tessera");

  gtk_window_set_title (GTK_WINDOW (self), window_title);
  gtk_label_set_text (GTK_LABEL (self->title), shown != NULL ? shown : "Tessera");
  tessera_set_tip (self->title,
                   document->path != NULL ? cli_shown (document->path) : NULL);
  gtk_label_set_text (GTK_LABEL (self->subtitle), facts != NULL ? facts : "");
  gtk_widget_set_visible (self->subtitle, facts != NULL);
}

static void
show_page (TesseraWindow *self)
{
  GtkStack *stack = GTK_STACK (self->stack);

  if (g_str_equal (gtk_stack_get_visible_child_name (stack), "main"))
    return;
  gtk_stack_set_visible_child_name (stack, "main");
  gtk_widget_grab_focus (self->canvases[TESSERA_SIDE_LEFT]);
}

static void
show_state (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  gboolean loading = document->jobs[TESSERA_WORK_LOAD] != NULL;
  g_autofree char *base = NULL;
  g_autofree char *text = NULL;

  if (document->data != NULL)
    show_page (self);
  else
    gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                      loading ? "loading" : "empty");
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->loading_progress),
                                 document->fractions[TESSERA_WORK_LOAD]);
  if (!loading || document->path == NULL)
    return;
  base = g_path_get_basename (document->path);
  text = g_strdup_printf ("Opening %s", cli_shown (base));
  gtk_label_set_text (GTK_LABEL (self->loading_text), text);
}

/* An error is taken from the document as soon as the window has said it. */
static void
show_error (TesseraWindow *self)
{
  g_autofree char *sentence = g_steal_pointer (&self->document->error);

  if (sentence == NULL)
    return;
  tessera_window_say (self, sentence, TRUE);
  tessera_window_show_conflict (self);
  if (self->document->data == NULL)
    g_clear_pointer (&self->document->path, g_free);
}

/* So is what was done. */
static void
show_notice (TesseraWindow *self)
{
  g_autofree char *sentence = g_steal_pointer (&self->document->notice);

  if (sentence != NULL)
    tessera_window_say (self, sentence, FALSE);
}

static void
remember (TesseraWindow *self)
{
  g_autoptr (GFile) file = NULL;
  g_autofree char *uri = NULL;

  if (self->document->data == NULL || self->document->path == NULL)
    return;
  file = g_file_new_for_path (self->document->path);
  uri = g_file_get_uri (file);
  gtk_recent_manager_add_item (gtk_recent_manager_get_default (), uri);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraWindow *self = user;

  /* What was said of the last file, or of edits that conflicted, is over. */
  if (((what & TESSERA_CHANGED_TRACE) && document->data != NULL) ||
      ((what & TESSERA_CHANGED_EDITS) && document->conflict.first == TESSERA_NONE &&
       gtk_widget_get_visible (self->conflict_undo)))
    tessera_window_say (self, "", FALSE);
  if (what & TESSERA_CHANGED_WORK)
    {
      show_error (self);
      show_notice (self);
    }
  if (what & TESSERA_CHANGED_COLOUR)
    {
      if (document->dark)
        gtk_widget_add_css_class (GTK_WIDGET (self), "dark");
      else
        gtk_widget_remove_css_class (GTK_WIDGET (self), "dark");
    }
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_WORK))
    {
      show_state (self);
      show_title (self);
    }
  if ((what & TESSERA_CHANGED_TRACE) && document->data != NULL)
    {
      remember (self);
      gtk_widget_grab_focus (self->canvases[TESSERA_SIDE_LEFT]);
    }
  if (what &
      ~(guint) (TESSERA_CHANGED_VIEW | TESSERA_CHANGED_HOVER | TESSERA_CHANGED_MOMENT))
    tessera_window_update_actions (self);
}

static void
tessera_window_dispose (GObject *object)
{
  TesseraWindow *self = TESSERA_WINDOW (object);

  if (self->recent_handler != 0)
    g_clear_signal_handler (&self->recent_handler, gtk_recent_manager_get_default ());
  g_clear_object (&self->chooser);
  if (self->document != NULL)
    {
      g_signal_handlers_disconnect_by_func (self->document, on_changed, self);
      tessera_document_close (self->document);
    }
  g_clear_object (&self->document);
  G_OBJECT_CLASS (tessera_window_parent_class)->dispose (object);
}

static void
tessera_window_class_init (TesseraWindowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_window_dispose;
}

static void
tessera_window_init (TesseraWindow *self)
{
  self->document = tessera_document_new ();
  tessera_window_add_actions (self);
  tessera_window_build (self);
  tessera_window_watch_recent (self);
  tessera_window_accept_drops (self);
  tessera_window_follow_look (self);
  gtk_window_set_default_size (GTK_WINDOW (self), 1360, 860);
  gtk_window_set_icon_name (GTK_WINDOW (self), "org.tessera.Viewer");
  gtk_widget_set_name (GTK_WIDGET (self), "window");
}

GtkWidget *
tessera_window_new (GtkApplication *application)
{
  TesseraWindow *self =
      g_object_new (TESSERA_TYPE_WINDOW, "application", application, NULL);

  tessera_watch (self->document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
