/*
 * The window: one document and everything that shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas.h"
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/window/window-private.h"

#include "cli/command.h"

/* Of what is said, in one line of it. */
#define SAID_CHARS 80

G_DEFINE_TYPE (TesseraWindow, tessera_window, ADW_TYPE_APPLICATION_WINDOW)

/* --- what is in it ------------------------------------------------------------------- */

/* As it is when it opens. */
static void
make_edit_menu (GtkMenuButton *button, gpointer document)
{
  g_autoptr (GMenuModel) menu = tessera_edit_menu_model (document);

  gtk_menu_button_set_menu_model (button, menu);
}

static void
make_device_menu (GtkMenuButton *button, gpointer document)
{
  const TesseraTrace *trace = TESSERA_DOCUMENT (document)->data->trace;
  g_autoptr (GMenu) menu = g_menu_new ();

  for (size_t i = 0; i < trace->n_devices; i++)
    {
      uint32_t device = trace->devices[i].device;
      g_autofree char *title = g_strdup_printf ("Device %u", device);
      g_autofree char *action = g_strdup_printf ("win.device(uint32 %u)", device);

      g_menu_append (menu, title, action);
    }
  gtk_menu_button_set_menu_model (button, G_MENU_MODEL (menu));
}

static void
add_side (TesseraWindow *self, GtkWidget *view, const char *name, const char *title)
{
  GtkWidget *page = view;

  gtk_widget_add_css_class (view, "panel");
  /* The tree scrolls by itself. */
  if (view != self->groups)
    {
      page = gtk_scrolled_window_new ();
      gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (page), GTK_POLICY_NEVER,
                                      GTK_POLICY_AUTOMATIC);
      gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (page), view);
      gtk_widget_set_size_request (page, 256, -1);
    }
  gtk_stack_add_titled (GTK_STACK (self->side), page, name, title);
}

static void
add_sides (TesseraWindow *self)
{
  self->groups = tessera_groups_view_new (self->document);
  self->edits = tessera_edits_view_new (self->document);
  add_side (self, tessera_inspector_new (self->document), "block", "Block");
  add_side (self, self->groups, "groups", "Groups");
  add_side (self, self->edits, "edits", "Edits");
  add_side (self, tessera_plans_view_new (self->document), "plans", "Plans");
}

static void
add_centre (TesseraWindow *self, GtkBuilder *builder)
{
  GtkBox *centre = GTK_BOX (gtk_builder_get_object (builder, "centre"));

  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      GtkWidget *pane = tessera_pane_new (self->document, (TesseraSide) side);

      self->canvases[side] = tessera_pane_get_canvas (pane);
      gtk_box_append (GTK_BOX (self->panes), pane);
    }
  self->edit_bar = tessera_edit_bar_new (self->document);
  gtk_box_prepend (centre, self->edit_bar);
  gtk_box_append (GTK_BOX (gtk_builder_get_object (builder, "curves")),
                  tessera_curves_view_new (self->document));
  gtk_box_append (centre, tessera_status_bar_new (self->document));
  tessera_window_add_keys (self, GTK_WIDGET (centre));
}

static void
add_panels (TesseraWindow *self, GtkBuilder *builder)
{
  GtkBox *left = GTK_BOX (gtk_builder_get_object (builder, "left-panel"));

  gtk_menu_button_set_create_popup_func (GTK_MENU_BUTTON (self->devices),
                                         make_device_menu, self->document, NULL);
  gtk_menu_button_set_create_popup_func (
      GTK_MENU_BUTTON (gtk_builder_get_object (builder, "edit-button")), make_edit_menu,
      self->document, NULL);
  gtk_box_prepend (GTK_BOX (gtk_builder_get_object (builder, "below")),
                   tessera_headline_new (self->document));
  gtk_box_append (left, tessera_legend_new (self->document));
  gtk_box_append (left, gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (left, tessera_parts_view_new (self->document));
  add_centre (self, builder);
  add_sides (self);
  self->table_panel = tessera_table_new (self->document);
  gtk_widget_set_size_request (self->table_panel, -1, TESSERA_TABLE_LEAST_HEIGHT);
  gtk_widget_set_visible (self->table_panel, FALSE);
  gtk_paned_set_end_child (GTK_PANED (self->above_table), self->table_panel);
}

static void
build (TesseraWindow *self)
{
  g_autoptr (GtkBuilder) builder =
      gtk_builder_new_from_resource ("/org/tessera/Viewer/menus.ui");
  const struct
  {
    const char *id;
    gpointer place;
  } parts[] = { { "title", &self->title },
                { "toasts", &self->toasts },
                { "loading", &self->loading },
                { "left-button", &self->left_menu },
                { "devices", &self->devices },
                { "axis-button", &self->axis_menu },
                { "recent-menu", &self->recent_menu },
                { "plan-button", &self->plan_button },
                { "export-button", &self->export_button },
                { "stack", &self->stack },
                { "loading-progress", &self->loading_progress },
                { "panes", &self->panes },
                { "above-table", &self->above_table },
                { "side", &self->side } };
  g_autoptr (GError) error = NULL;

  if (!gtk_builder_add_from_resource (builder, "/org/tessera/Viewer/window.ui", &error))
    g_error ("%s", error->message);
  for (size_t i = 0; i < G_N_ELEMENTS (parts); i++)
    *(gpointer *) parts[i].place = gtk_builder_get_object (builder, parts[i].id);
  add_panels (self, builder);
  adw_application_window_set_content (
      ADW_APPLICATION_WINDOW (self),
      GTK_WIDGET (gtk_builder_get_object (builder, "content")));
}

/* --- what is said -------------------------------------------------------------------- */

/* Nothing moves for it: it lies over the window. */
static GtkWidget *
said_new (TesseraWindow *self, const char *sentence)
{
  const TesseraEditConflict *conflict = &self->document->conflict;
  GtkWidget *undo = NULL, *show = NULL;

  self->said = tessera_named (tessera_sentence_new (sentence, NULL), "message");
  g_object_set (self->said, "max-width-chars", SAID_CHARS, "natural-wrap-mode",
                GTK_NATURAL_WRAP_NONE, "selectable", TRUE, NULL);
  if (self->is_of_conflict)
    undo = tessera_button_new ("Undo the last", "win.undo", "conflict-undo", NULL, NULL);
  if (self->is_of_conflict && conflict->first != conflict->second)
    show = tessera_button_new ("Show the other", "win.show-conflict", "conflict-show",
                               NULL, NULL);
  return tessera_row_new (8, self->said, undo, show, NULL);
}

static void
on_dismissed (AdwToast *toast, TesseraWindow *self)
{
  if (self->toast != toast)
    return;
  gtk_widget_set_name (self->said, "message-that-goes");
  self->said = NULL;
  self->is_of_conflict = FALSE;
  g_clear_object (&self->toast);
}

void
tessera_window_say (TesseraWindow *self, const char *sentence, gboolean is_error)
{
  if (self->toast != NULL)
    adw_toast_dismiss (self->toast);
  if (*sentence == '\0')
    return;
  self->toast = g_object_ref (adw_toast_new (""));
  self->is_of_conflict = is_error && self->document->conflict.first != TESSERA_NONE;
  adw_toast_set_custom_title (self->toast, said_new (self, sentence));
  if (is_error)
    adw_toast_set_timeout (self->toast, 0);
  g_signal_connect_object (self->toast, "dismissed", G_CALLBACK (on_dismissed), self, 0);
  adw_toast_overlay_add_toast (self->toasts, self->toast);
}

const char *
tessera_window_get_said (TesseraWindow *self)
{
  return self->said != NULL ? gtk_label_get_text (GTK_LABEL (self->said)) : "";
}

/* --- what the document is at --------------------------------------------------------- */

static char *
describe_file (TesseraDocument *document)
{
  const TesseraData *data = document->data;
  GString *text = g_string_new (NULL);

  if (data->trace->device_bytes != 0)
    g_string_append_printf (text, "%s device · ",
                            TESSERA_SIZE (data->trace->device_bytes));
  if (data->structure->n_steps > 0)
    g_string_append_printf (text, "%s · ",
                            TESSERA_COUNTED (data->structure->n_steps, "step"));
  g_string_append (text, TESSERA_COUNTED (data->blocks->n_blocks, "block"));
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
  adw_window_title_set_title (self->title, shown != NULL ? shown : "Tessera");
  adw_window_title_set_subtitle (self->title, facts != NULL ? facts : "");
  tessera_set_tip (GTK_WIDGET (self->title),
                   document->path != NULL ? cli_shown (document->path) : NULL);
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
  g_autofree char *base = NULL, *text = NULL;

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
  adw_status_page_set_title (self->loading, text);
}

/* What went wrong or was done is taken from the document as soon as the window has said
 * it. */
static void
show_sentences (TesseraWindow *self)
{
  g_autofree char *error = g_steal_pointer (&self->document->error);
  g_autofree char *notice = g_steal_pointer (&self->document->notice);

  if (error != NULL)
    tessera_window_say (self, error, TRUE);
  if (error != NULL && self->document->data == NULL)
    g_clear_pointer (&self->document->path, g_free);
  if (notice != NULL)
    tessera_window_say (self, notice, FALSE);
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
       self->is_of_conflict))
    tessera_window_say (self, "", FALSE);
  if (what & TESSERA_CHANGED_WORK)
    show_sentences (self);
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

/* Canvases go by what is there to be seen, whoever chose it: the desktop or the menu. */
static void
on_look (TesseraWindow *self)
{
  tessera_document_set_dark (
      self->document, adw_style_manager_get_dark (adw_style_manager_get_default ()));
}

/* --- a window ------------------------------------------------------------------------ */

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
    if (!tessera_canvas_is_complete (self->canvases[i]))
      return FALSE;
  return tessera_list_is_settled (self->groups) &&
         tessera_list_is_settled (self->table_panel);
}

static void
tessera_window_dispose (GObject *object)
{
  TesseraWindow *self = TESSERA_WINDOW (object);

  g_clear_object (&self->chooser);
  g_clear_object (&self->toast);
  /* They hold on to what is in the window. */
  g_action_map_remove_action (G_ACTION_MAP (self), "arrange");
  g_action_map_remove_action (G_ACTION_MAP (self), "side");
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
  build (self);
  tessera_window_add_actions (self);
  tessera_window_watch_recent (self);
  tessera_window_accept_drops (self);
  g_signal_connect_object (adw_style_manager_get_default (), "notify::dark",
                           G_CALLBACK (on_look), self, G_CONNECT_SWAPPED);
  on_look (self);
  gtk_window_set_default_size (GTK_WINDOW (self), 1360, 860);
  gtk_window_set_icon_name (GTK_WINDOW (self), TESSERA_APPLICATION_ID);
  gtk_widget_set_name (GTK_WIDGET (self), "window");
}

GtkWidget *
tessera_window_new (GtkApplication *application)
{
  TesseraWindow *self =
      g_object_new (TESSERA_TYPE_WINDOW, "application", application, NULL);

  g_signal_connect_object (self->document, "changed", G_CALLBACK (on_changed), self, 0);
  on_changed (self->document, TESSERA_CHANGED_ALL, self);
  return GTK_WIDGET (self);
}
