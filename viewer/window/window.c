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

#define LEFT_LEAST_WIDTH 228
/* A title, lanes and a layout; the rest is a scroll away. */
#define CENTRE_LEAST_HEIGHT 160
/* Of what is said, in one line of it. */
#define SAID_CHARS 80

G_DEFINE_TYPE (TesseraWindow, tessera_window, ADW_TYPE_APPLICATION_WINDOW)

/* --- the header ---------------------------------------------------------------------- */

static GtkWidget *
menu_button_new (const char *menu_id, const char *tooltip)
{
  g_autoptr (GtkBuilder) builder =
      gtk_builder_new_from_resource ("/org/tessera/Viewer/menus.ui");
  GtkWidget *button = gtk_menu_button_new ();

  gtk_menu_button_set_menu_model (
      GTK_MENU_BUTTON (button), G_MENU_MODEL (gtk_builder_get_object (builder, menu_id)));
  gtk_widget_set_tooltip_text (button, tooltip);
  tessera_set_accessible_label (button, tooltip);
  gtk_widget_set_name (button, menu_id);
  return button;
}

/* A toggle that follows its action: pressed when the action's state is @target, or true.
 */
static GtkWidget *
toggle_new (const char *icon, const char *action, const char *target, const char *tooltip)
{
  GtkWidget *toggle = gtk_toggle_button_new ();

  gtk_button_set_icon_name (GTK_BUTTON (toggle), icon);
  if (target != NULL)
    gtk_actionable_set_action_target (GTK_ACTIONABLE (toggle), "s", target);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (toggle), action);
  gtk_widget_set_tooltip_text (toggle, tooltip);
  tessera_set_accessible_label (toggle, tooltip);
  return toggle;
}

static GtkWidget *
arrange_new (void)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  gtk_box_append (GTK_BOX (box), toggle_new ("tessera-side-symbolic", "win.arrange",
                                             "side", "Side by side"));
  gtk_box_append (GTK_BOX (box), toggle_new ("tessera-stacked-symbolic", "win.arrange",
                                             "stacked", "One above the other"));
  return box;
}

/* The menu says itself why an item is off, so it can always be opened. */
static GtkWidget *
edit_button_new (TesseraWindow *self)
{
  GtkWidget *button = gtk_menu_button_new ();

  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), "Edit");
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button),
                               tessera_edit_menu_new (self->document));
  gtk_widget_set_tooltip_text (button, "Change the plan by hand");
  gtk_widget_set_name (button, "edit-button");
  return button;
}

static GtkWidget *
button_new (const char *label, const char *action, const char *name)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_set_name (button, name);
  return button;
}

static GtkWidget *
linked_new (GtkWidget *first, GtkWidget *second)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  gtk_box_append (GTK_BOX (box), first);
  gtk_box_append (GTK_BOX (box), second);
  return box;
}

static GtkWidget *
open_buttons_new (TesseraWindow *self)
{
  GtkWidget *open = button_new ("Open", "win.open", "open-button");

  gtk_widget_set_tooltip_text (open, "Open a snapshot, a trace or a plan (Ctrl+O)");
  self->recent_menu = gtk_menu_button_new ();
  gtk_widget_set_tooltip_text (self->recent_menu, "Recent files");
  tessera_set_accessible_label (self->recent_menu, "Recent files");
  return linked_new (open, self->recent_menu);
}

static GtkWidget *
header_new (TesseraWindow *self)
{
  GtkWidget *widget = adw_header_bar_new ();
  AdwHeaderBar *header = ADW_HEADER_BAR (widget);
  GtkWidget *title = adw_window_title_new ("", "");
  GtkWidget *main_menu = menu_button_new ("main-menu", "Menu");

  self->title = ADW_WINDOW_TITLE (title);
  gtk_widget_set_name (title, "title");
  self->left_menu = menu_button_new ("left-menu", "Whose layout is on the left");
  self->plan_button = button_new ("Plan", "win.plan", "plan-button");
  self->export_button = button_new ("Export plan", "win.export-plan", "export-button");
  gtk_widget_add_css_class (self->export_button, "suggested-action");
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (main_menu), "open-menu-symbolic");
  gtk_menu_button_set_primary (GTK_MENU_BUTTON (main_menu), TRUE);
  adw_header_bar_set_title_widget (header, title);
  adw_header_bar_pack_start (header, open_buttons_new (self));
  adw_header_bar_pack_start (header, self->left_menu);
  adw_header_bar_pack_start (header, tessera_devices_new (self->document));
  adw_header_bar_pack_start (header, edit_button_new (self));
  adw_header_bar_pack_end (header, main_menu);
  adw_header_bar_pack_end (header, self->export_button);
  adw_header_bar_pack_end (
      header,
      linked_new (self->plan_button, menu_button_new ("plan-menu", "How to plan")));
  adw_header_bar_pack_end (header, toggle_new ("tessera-table-symbolic", "win.table",
                                               NULL, "Table of blocks (Ctrl+T)"));
  adw_header_bar_pack_end (header, arrange_new ());
  return widget;
}

/* --- nothing open yet ---------------------------------------------------------------- */

static GtkWidget *
empty_page_new (void)
{
  GtkWidget *page = adw_status_page_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *open = button_new ("Open a snapshot", "win.open", "empty-open");
  GtkWidget *how = gtk_label_new ("To make one, add to the training script:");
  GtkWidget *code =
      gtk_label_new ("torch.cuda.memory._record_memory_history(stacks=\"python\")\n"
                     "…  # from before the first CUDA tensor, for a few steps\n"
                     "torch.cuda.memory._dump_snapshot(\"run.pickle\")");

  adw_status_page_set_icon_name (ADW_STATUS_PAGE (page), TESSERA_APPLICATION_ID);
  adw_status_page_set_title (ADW_STATUS_PAGE (page), "Why does GPU memory run out?");
  adw_status_page_set_description (
      ADW_STATUS_PAGE (page),
      "Open a memory snapshot of PyTorch, or drop one here. Tessera says why memory is "
      "wasted and where, and lays the same blocks better.");
  gtk_widget_set_css_classes (open, (const char *[]){ "suggested-action", "pill", NULL });
  gtk_widget_set_halign (open, GTK_ALIGN_CENTER);
  gtk_label_set_wrap (GTK_LABEL (how), TRUE);
  gtk_label_set_selectable (GTK_LABEL (code), TRUE);
  gtk_widget_set_focusable (code, FALSE);
  gtk_widget_add_css_class (code, "empty-code");
  gtk_widget_set_halign (code, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), open);
  gtk_box_append (GTK_BOX (box), how);
  gtk_box_append (GTK_BOX (box), code);
  adw_status_page_set_child (ADW_STATUS_PAGE (page), box);
  gtk_widget_set_name (page, "empty");
  return page;
}

static GtkWidget *
loading_page_new (TesseraWindow *self)
{
  GtkWidget *page = adw_status_page_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *cancel = button_new ("Cancel", "win.cancel", "loading-cancel");

  self->loading = ADW_STATUS_PAGE (page);
  self->loading_progress = gtk_progress_bar_new ();
  tessera_set_accessible_label (self->loading_progress, "Opening");
  gtk_widget_set_halign (cancel, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), self->loading_progress);
  gtk_box_append (GTK_BOX (box), cancel);
  adw_status_page_set_child (self->loading, box);
  return page;
}

/* --- what shows a trace -------------------------------------------------------------- */

static GtkWidget *
key_new (const char *name, const char *css_class)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 5);
  GtkWidget *mark = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget *label;

  gtk_widget_set_css_classes (mark, (const char *[]){ "curve-key", css_class, NULL });
  gtk_widget_set_valign (mark, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), mark);
  label = tessera_label_new (name, "quiet");
  gtk_box_append (GTK_BOX (box), label);
  return box;
}

static GtkWidget *
curves_panel_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 4);
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *title = tessera_label_new ("Memory", "pane-title");
  GtkWidget *gap = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  self->axis_menu = menu_button_new ("axis-menu", "What the time axis measures");
  gtk_widget_add_css_class (self->axis_menu, "small");
  gtk_menu_button_set_has_frame (GTK_MENU_BUTTON (self->axis_menu), FALSE);
  gtk_widget_set_hexpand (gap, TRUE);
  gtk_box_append (GTK_BOX (head), title);
  gtk_box_append (GTK_BOX (head), key_new ("reserved", "key-reserved"));
  gtk_box_append (GTK_BOX (head), key_new ("allocated", "key-allocated"));
  gtk_box_append (GTK_BOX (head), key_new ("live", "key-live"));
  gtk_box_append (GTK_BOX (head), key_new ("bound", "key-bound"));
  gtk_box_append (GTK_BOX (head), gap);
  gtk_box_append (GTK_BOX (head), self->axis_menu);
  gtk_box_append (GTK_BOX (box), head);
  gtk_box_append (GTK_BOX (box), tessera_curves_view_new (self->document));
  return box;
}

static GtkWidget *
scrolled_new (GtkWidget *child, int width)
{
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), child);
  gtk_widget_set_size_request (scrolled, width, -1);
  return scrolled;
}

static GtkWidget *
centre_new (TesseraWindow *self)
{
  GtkWidget *top = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  GtkWidget *scrolled;

  self->panes = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 14);
  gtk_box_set_homogeneous (GTK_BOX (self->panes), TRUE);
  gtk_widget_set_vexpand (self->panes, TRUE);
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      GtkWidget *pane = tessera_pane_new (self->document, (TesseraSide) side);

      self->canvases[side] = tessera_pane_get_canvas (pane);
      gtk_box_append (GTK_BOX (self->panes), pane);
    }
  self->edit_bar = tessera_edit_bar_new (self->document);
  gtk_box_append (GTK_BOX (top), self->edit_bar);
  gtk_box_append (GTK_BOX (top), self->panes);
  gtk_box_append (GTK_BOX (top), curves_panel_new (self));
  gtk_box_append (GTK_BOX (top), tessera_status_bar_new (self->document));
  gtk_widget_add_css_class (top, "centre");
  tessera_window_add_shortcuts (top);
  /* With the table and a bar open a low screen has no room for every part
   * at its least height. */
  scrolled = scrolled_new (top, -1);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (scrolled),
                                              CENTRE_LEAST_HEIGHT);
  return scrolled;
}

static GtkWidget *
left_panel_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *scrolled;

  gtk_box_append (GTK_BOX (box), tessera_legend_new (self->document));
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (box), tessera_parts_view_new (self->document));
  gtk_widget_add_css_class (box, "panel");
  scrolled = scrolled_new (box, LEFT_LEAST_WIDTH);
  gtk_widget_add_css_class (scrolled, "panel-side");
  return scrolled;
}

static void
add_side (TesseraWindow *self, GtkWidget *view, const char *name, const char *title)
{
  /* The tree scrolls by itself. */
  GtkWidget *page = view == self->groups ? view : scrolled_new (view, 256);

  gtk_widget_add_css_class (view, "panel");
  gtk_stack_add_titled (GTK_STACK (self->side), page, name, title);
}

static GtkWidget *
right_panel_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *switcher = gtk_stack_switcher_new ();

  self->side = gtk_stack_new ();
  self->groups = tessera_groups_view_new (self->document);
  gtk_widget_set_name (self->groups, "groups-panel");
  self->edits = tessera_edits_view_new (self->document);
  add_side (self, tessera_inspector_new (self->document), "block", "Block");
  add_side (self, self->groups, "groups", "Groups");
  add_side (self, self->edits, "edits", "Edits");
  add_side (self, tessera_plans_view_new (self->document), "plans", "Plans");
  gtk_stack_set_hhomogeneous (GTK_STACK (self->side), FALSE);
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (self->side));
  gtk_widget_add_css_class (switcher, "panel-switcher");
  gtk_widget_set_vexpand (self->side, TRUE);
  gtk_widget_add_css_class (box, "panel-side");
  gtk_box_append (GTK_BOX (box), switcher);
  gtk_box_append (GTK_BOX (box), self->side);
  return box;
}

/* The table has more columns than fit between the panels. */
static GtkWidget *
above_table_new (TesseraWindow *self, GtkWidget *above)
{
  GtkWidget *paned = gtk_paned_new (GTK_ORIENTATION_VERTICAL);

  self->table_panel = tessera_table_new (self->document);
  gtk_widget_set_size_request (self->table_panel, -1, TESSERA_TABLE_LEAST_HEIGHT);
  gtk_widget_set_visible (self->table_panel, FALSE);
  gtk_paned_set_start_child (GTK_PANED (paned), above);
  gtk_paned_set_end_child (GTK_PANED (paned), self->table_panel);
  gtk_paned_set_shrink_start_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (paned), FALSE);
  gtk_paned_set_resize_end_child (GTK_PANED (paned), FALSE);
  self->above_table = paned;
  tessera_window_add_copy_key (paned);
  return paned;
}

static GtkWidget *
main_page_new (TesseraWindow *self)
{
  GtkWidget *outer = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);
  GtkWidget *inner = gtk_paned_new (GTK_ORIENTATION_HORIZONTAL);

  gtk_paned_set_start_child (GTK_PANED (inner), centre_new (self));
  gtk_paned_set_end_child (GTK_PANED (inner), right_panel_new (self));
  gtk_paned_set_resize_end_child (GTK_PANED (inner), FALSE);
  gtk_paned_set_shrink_start_child (GTK_PANED (inner), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (inner), FALSE);
  gtk_paned_set_start_child (GTK_PANED (outer), left_panel_new (self));
  gtk_paned_set_end_child (GTK_PANED (outer), inner);
  gtk_paned_set_resize_start_child (GTK_PANED (outer), FALSE);
  gtk_paned_set_shrink_start_child (GTK_PANED (outer), FALSE);
  gtk_paned_set_shrink_end_child (GTK_PANED (outer), FALSE);
  return above_table_new (self, outer);
}

static void
build (TesseraWindow *self)
{
  GtkWidget *all = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *below = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *toasts = adw_toast_overlay_new ();

  self->toasts = ADW_TOAST_OVERLAY (toasts);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), empty_page_new (), "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), loading_page_new (self), "loading");
  gtk_stack_add_named (GTK_STACK (self->stack), main_page_new (self), "main");
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_box_append (GTK_BOX (below), tessera_headline_new (self->document));
  gtk_box_append (GTK_BOX (below), self->stack);
  adw_toast_overlay_set_child (self->toasts, below);
  gtk_widget_set_vexpand (toasts, TRUE);
  gtk_box_append (GTK_BOX (all), header_new (self));
  gtk_box_append (GTK_BOX (all), toasts);
  adw_application_window_set_content (ADW_APPLICATION_WINDOW (self), all);
}

/* --- what is said -------------------------------------------------------------------- */

/* Nothing moves for it: it lies over the window. */
static GtkWidget *
said_new (TesseraWindow *self, const char *sentence)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  const TesseraEditConflict *conflict = &self->document->conflict;

  self->said = tessera_sentence_new (sentence, NULL);
  gtk_label_set_max_width_chars (GTK_LABEL (self->said), SAID_CHARS);
  gtk_label_set_natural_wrap_mode (GTK_LABEL (self->said), GTK_NATURAL_WRAP_NONE);
  gtk_label_set_selectable (GTK_LABEL (self->said), TRUE);
  gtk_widget_set_name (self->said, "message");
  gtk_box_append (GTK_BOX (box), self->said);
  if (self->is_of_conflict)
    gtk_box_append (GTK_BOX (box),
                    button_new ("Undo the last", "win.undo", "conflict-undo"));
  if (self->is_of_conflict && conflict->first != conflict->second)
    gtk_box_append (GTK_BOX (box),
                    button_new ("Show the other", "win.show-conflict", "conflict-show"));
  return box;
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

/* An error is taken from the document as soon as the window has said it. */
static void
show_error (TesseraWindow *self)
{
  g_autofree char *sentence = g_steal_pointer (&self->document->error);

  if (sentence == NULL)
    return;
  tessera_window_say (self, sentence, TRUE);
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
       self->is_of_conflict))
    tessera_window_say (self, "", FALSE);
  if (what & TESSERA_CHANGED_WORK)
    {
      show_error (self);
      show_notice (self);
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
  return (!gtk_widget_get_mapped (self->groups) ||
          tessera_groups_view_is_settled (self->groups)) &&
         (!gtk_widget_get_mapped (self->table_panel) ||
          tessera_table_is_settled (self->table_panel));
}

static void
tessera_window_dispose (GObject *object)
{
  TesseraWindow *self = TESSERA_WINDOW (object);

  g_clear_object (&self->chooser);
  g_clear_object (&self->toast);
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
  build (self);
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

  tessera_watch (self->document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
