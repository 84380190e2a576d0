/*
 * The window's parts, put together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/curves.h"
#include "viewer/panels/panels.h"
#include "viewer/kit/kit.h"
#include "viewer/window/window-private.h"

#define LEFT_LEAST_WIDTH 228
#define MESSAGE_CHARS 40

static GtkWidget *
icon_button_new (const char *icon, const char *action, const char *tooltip)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), action);
  gtk_widget_set_tooltip_text (button, tooltip);
  tessera_set_accessible_label (button, tooltip);
  return button;
}

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
plans_new (GtkWidget *plan)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  gtk_box_append (GTK_BOX (box), plan);
  gtk_box_append (GTK_BOX (box), menu_button_new ("plan-menu", "How to plan"));
  return box;
}

static GtkWidget *
header_new (TesseraWindow *self)
{
  GtkWidget *header = gtk_header_bar_new ();
  GtkWidget *open = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget *open_button = gtk_button_new_with_label ("Open");
  GtkWidget *titles = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *main_menu = menu_button_new ("main-menu", "Menu");
  GtkWidget *export = gtk_button_new_with_label ("Export plan");
  GtkWidget *plan = gtk_button_new_with_label ("Plan");

  gtk_actionable_set_action_name (GTK_ACTIONABLE (open_button), "win.open");
  gtk_widget_set_tooltip_text (open_button,
                               "Open a snapshot, a trace or a plan (Ctrl+O)");
  self->recent_menu = gtk_menu_button_new ();
  gtk_widget_set_tooltip_text (self->recent_menu, "Recent files");
  tessera_set_accessible_label (self->recent_menu, "Recent files");
  gtk_widget_add_css_class (open, "linked");
  gtk_box_append (GTK_BOX (open), open_button);
  gtk_box_append (GTK_BOX (open), self->recent_menu);
  self->left_menu = menu_button_new ("left-menu", "Whose layout is on the left");
  self->title = tessera_label_new ("", "title");
  self->subtitle = tessera_label_new ("", "subtitle");
  gtk_label_set_xalign (GTK_LABEL (self->title), 0.5);
  gtk_label_set_xalign (GTK_LABEL (self->subtitle), 0.5);
  gtk_label_set_ellipsize (GTK_LABEL (self->title), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_set_name (self->title, "title");
  gtk_widget_set_valign (titles, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (titles), self->title);
  gtk_box_append (GTK_BOX (titles), self->subtitle);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (plan), "win.plan");
  gtk_widget_set_name (plan, "plan-button");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (export), "win.export-plan");
  gtk_widget_add_css_class (export, "suggested-action");
  gtk_widget_set_name (export, "export-button");
  gtk_menu_button_set_icon_name (GTK_MENU_BUTTON (main_menu), "open-menu-symbolic");
  gtk_menu_button_set_primary (GTK_MENU_BUTTON (main_menu), TRUE);
  gtk_header_bar_set_title_widget (GTK_HEADER_BAR (header), titles);
  gtk_header_bar_pack_start (GTK_HEADER_BAR (header), open);
  gtk_header_bar_pack_start (GTK_HEADER_BAR (header), self->left_menu);
  gtk_header_bar_pack_start (GTK_HEADER_BAR (header),
                             tessera_devices_new (self->document));
  gtk_header_bar_pack_start (GTK_HEADER_BAR (header), edit_button_new (self));
  gtk_header_bar_pack_end (GTK_HEADER_BAR (header), main_menu);
  gtk_header_bar_pack_end (GTK_HEADER_BAR (header), export);
  self->plan_button = plan;
  self->export_button = export;
  gtk_header_bar_pack_end (GTK_HEADER_BAR (header), plans_new (plan));
  gtk_header_bar_pack_end (GTK_HEADER_BAR (header),
                           toggle_new ("tessera-table-symbolic", "win.table", NULL,
                                       "Table of blocks (Ctrl+T)"));
  gtk_header_bar_pack_end (GTK_HEADER_BAR (header), arrange_new ());
  return header;
}

static GtkWidget *
message_new (TesseraWindow *self)
{
  GtkWidget *close = icon_button_new ("window-close-symbolic", "win.dismiss", "Dismiss");

  self->message = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  self->message_text = tessera_sentence_new ("", NULL);
  /* Else GTK lays it out as narrow as a character as well. */
  gtk_label_set_width_chars (GTK_LABEL (self->message_text), MESSAGE_CHARS);
  gtk_label_set_selectable (GTK_LABEL (self->message_text), TRUE);
  gtk_widget_set_hexpand (self->message_text, TRUE);
  gtk_widget_set_name (self->message_text, "message");
  gtk_widget_add_css_class (close, "flat");
  gtk_widget_set_valign (close, GTK_ALIGN_CENTER);
  self->conflict_undo = gtk_button_new_with_label ("Undo the last");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->conflict_undo), "win.undo");
  gtk_widget_set_name (self->conflict_undo, "conflict-undo");
  self->conflict_show = gtk_button_new_with_label ("Show the other");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->conflict_show),
                                  "win.show-conflict");
  gtk_widget_set_name (self->conflict_show, "conflict-show");
  gtk_box_append (GTK_BOX (self->message), self->message_text);
  gtk_box_append (GTK_BOX (self->message), self->conflict_undo);
  gtk_box_append (GTK_BOX (self->message), self->conflict_show);
  gtk_box_append (GTK_BOX (self->message), close);
  gtk_widget_set_visible (self->message, FALSE);
  return self->message;
}

static GtkWidget *
wrapped_label_new (const char *text, const char *css_class)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_wrap (GTK_LABEL (label), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (label), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_max_width_chars (GTK_LABEL (label), 64);
  gtk_label_set_justify (GTK_LABEL (label), GTK_JUSTIFY_CENTER);
  gtk_widget_add_css_class (label, css_class);
  return label;
}

static GtkWidget *
empty_page_new (void)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *picture = gtk_image_new_from_icon_name ("org.tessera.Viewer");
  GtkWidget *open = gtk_button_new_with_label ("Open a snapshot");
  GtkWidget *code;

  gtk_image_set_pixel_size (GTK_IMAGE (picture), 112);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (open), "win.open");
  gtk_widget_set_css_classes (open, (const char *[]){ "suggested-action", "pill", NULL });
  gtk_widget_set_halign (open, GTK_ALIGN_CENTER);
  gtk_widget_set_name (open, "empty-open");
  gtk_box_append (GTK_BOX (box), picture);
  gtk_box_append (GTK_BOX (box),
                  wrapped_label_new ("Why does GPU memory run out?", "empty-title"));
  gtk_box_append (
      GTK_BOX (box),
      wrapped_label_new ("Open a memory snapshot of PyTorch, or drop one here. Tessera "
                         "says why memory is wasted and where, and lays the same blocks "
                         "better.",
                         "empty-text"));
  gtk_box_append (GTK_BOX (box), open);
  gtk_box_append (
      GTK_BOX (box),
      wrapped_label_new ("To make one, add to the training script:", "empty-text"));
  code = gtk_label_new ("torch.cuda.memory._record_memory_history(stacks=\"python\")\n"
                        "…  # from before the first CUDA tensor, for a few steps\n"
                        "torch.cuda.memory._dump_snapshot(\"run.pickle\")");
  gtk_label_set_selectable (GTK_LABEL (code), TRUE);
  gtk_widget_set_focusable (code, FALSE);
  gtk_widget_add_css_class (code, "empty-code");
  gtk_widget_set_halign (code, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), code);
  gtk_widget_set_halign (box, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (box, GTK_ALIGN_CENTER);
  gtk_widget_set_name (box, "empty");
  return box;
}

static GtkWidget *
loading_page_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *cancel = gtk_button_new_with_label ("Cancel");

  self->loading_text = wrapped_label_new ("", "empty-title");
  self->loading_progress = gtk_progress_bar_new ();
  tessera_set_accessible_label (self->loading_progress, "Opening");
  gtk_widget_set_size_request (self->loading_progress, 320, -1);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (cancel), "win.cancel");
  gtk_widget_set_halign (cancel, GTK_ALIGN_CENTER);
  gtk_box_append (GTK_BOX (box), self->loading_text);
  gtk_box_append (GTK_BOX (box), self->loading_progress);
  gtk_box_append (GTK_BOX (box), cancel);
  gtk_widget_set_halign (box, GTK_ALIGN_CENTER);
  gtk_widget_set_valign (box, GTK_ALIGN_CENTER);
  return box;
}

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

      self->canvases[side] = GTK_WIDGET (tessera_pane_get_canvas (TESSERA_PANE (pane)));
      gtk_box_append (GTK_BOX (self->panes), pane);
    }
  self->edit_bar = tessera_edit_bar_new (self->document);
  gtk_box_append (GTK_BOX (top), self->edit_bar);
  gtk_box_append (GTK_BOX (top), self->panes);
  gtk_box_append (GTK_BOX (top), curves_panel_new (self));
  gtk_box_append (GTK_BOX (top), tessera_status_bar_new (self->document));
  gtk_widget_add_css_class (top, "centre");
  tessera_window_add_shortcuts (self, top);
  /* With the table, a bar and a message all open a low screen has no room for every part
   * at its least height. */
  scrolled = scrolled_new (top, -1);
  gtk_scrolled_window_set_min_content_height (GTK_SCROLLED_WINDOW (scrolled),
                                              TESSERA_CENTRE_LEAST_HEIGHT);
  return scrolled;
}

static GtkWidget *
left_panel_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 14);
  GtkWidget *scrolled;

  self->legend = tessera_legend_new (self->document);
  gtk_box_append (GTK_BOX (box), self->legend);
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (box), tessera_parts_view_new (self->document));
  gtk_widget_add_css_class (box, "panel");
  scrolled = scrolled_new (box, LEFT_LEAST_WIDTH);
  gtk_widget_add_css_class (scrolled, "panel-side");
  return scrolled;
}

static GtkWidget *
right_panel_new (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *stack = gtk_stack_new ();
  GtkWidget *switcher = gtk_stack_switcher_new ();
  GtkWidget *inspector = tessera_inspector_new (self->document);
  GtkWidget *groups = tessera_groups_view_new (self->document);
  GtkWidget *plans = tessera_plans_view_new (self->document);

  gtk_widget_add_css_class (inspector, "panel");
  gtk_widget_add_css_class (groups, "panel");
  gtk_widget_set_name (groups, "groups-panel");
  self->groups = groups;
  self->edits = tessera_edits_view_new (self->document);
  gtk_widget_add_css_class (self->edits, "panel");
  self->side = stack;
  gtk_stack_add_titled (GTK_STACK (stack), scrolled_new (inspector, 256), "block",
                        "Block");
  /* The tree scrolls by itself. */
  gtk_stack_add_titled (GTK_STACK (stack), groups, "groups", "Groups");
  gtk_stack_add_titled (GTK_STACK (stack), scrolled_new (self->edits, 256), "edits",
                        "Edits");
  gtk_widget_add_css_class (plans, "panel");
  gtk_stack_add_titled (GTK_STACK (stack), scrolled_new (plans, 256), "plans", "Plans");
  gtk_stack_set_hhomogeneous (GTK_STACK (stack), FALSE);
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (stack));
  gtk_widget_set_halign (switcher, GTK_ALIGN_FILL);
  gtk_box_set_homogeneous (GTK_BOX (box), FALSE);
  gtk_widget_add_css_class (switcher, "panel-switcher");
  gtk_widget_set_vexpand (stack, TRUE);
  gtk_widget_add_css_class (box, "panel-side");
  gtk_box_append (GTK_BOX (box), switcher);
  gtk_box_append (GTK_BOX (box), stack);
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

void
tessera_window_build (TesseraWindow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack), empty_page_new (), "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), loading_page_new (self), "loading");
  gtk_stack_add_named (GTK_STACK (self->stack), main_page_new (self), "main");
  gtk_stack_set_hhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_stack_set_vhomogeneous (GTK_STACK (self->stack), FALSE);
  gtk_widget_set_vexpand (self->stack, TRUE);
  gtk_window_set_titlebar (GTK_WINDOW (self), header_new (self));
  gtk_box_append (GTK_BOX (box), message_new (self));
  gtk_box_append (GTK_BOX (box), tessera_headline_new (self->document));
  gtk_box_append (GTK_BOX (box), self->stack);
  gtk_window_set_child (GTK_WINDOW (self), box);
}
