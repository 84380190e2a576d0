/*
 * Everything that can be done, as actions: menus, keys, buttons and tests use the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas.h"
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/window/window-private.h"

/* Steps of the keyboard: a share of what is shown, and a factor. */
#define KEY_PAN 0.15
#define KEY_ZOOM 1.4

/* What an action needs to be on. */
enum
{
  NEEDS_TRACE = 1 << 0,
  NEEDS_LEAD = 1 << 1, /* a block that leads the selection */
  NEEDS_SELECTION = 1 << 2,
  NEEDS_PLAN = 1 << 3,
  NEEDS_NO_PLANNING = 1 << 4,
  NEEDS_EXPORT = 1 << 5, /* there is a plan to be exported */
  NEEDS_NO_SAVING = 1 << 6,
  NEEDS_FAILURE = 1 << 7,
  NEEDS_DIFFERENCE = 1 << 8,
  NEEDS_WORK = 1 << 9,
  NEEDS_PROPOSAL = 1 << 10,
  NEEDS_EDITS = 1 << 11,
  NEEDS_STANDING = 1 << 12, /* edits */
  NEEDS_UNDONE = 1 << 13,
  NEEDS_CONFLICT = 1 << 14,
  NEEDS_HOLE = 1 << 15
};

typedef struct
{
  const char *name;
  guint needs;
  const char *type; /* of its parameter; NULL: it has none */
  void (*act) (TesseraWindow *self, TesseraDocument *document, GVariant *parameter);
  void (*of_document) (TesseraDocument *document); /* instead: nothing else is needed */
} Action;

#define DO(name, statement)                                                              \
  static void do_##name (TesseraWindow *self, TesseraDocument *document,                 \
                         GVariant *parameter)                                            \
  {                                                                                      \
    statement;                                                                           \
  }

static GSimpleAction *
action_of (TesseraWindow *self, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), name));
}

/* --- looking around ----------------------------------------------------------------- */

/* The side that has the focus, else the left one. */
static TesseraSide
side_of_focus (TesseraWindow *self)
{
  return gtk_widget_has_focus (self->canvases[TESSERA_SIDE_RIGHT]) ? TESSERA_SIDE_RIGHT
                                                                   : TESSERA_SIDE_LEFT;
}

/* What is selected stays where it is seen, else the middle of the picture. */
static void
zoom (TesseraWindow *self, double factor)
{
  const TesseraDocument *document = self->document;
  const TesseraView *v = &document->view;
  const TesseraSheet *sheet = document->sheets[side_of_focus (self)];
  TesseraView at;

  if (sheet == NULL || document->selected == TESSERA_NONE ||
      !tessera_scene_block_rect (sheet->scene, document->selected, &at) ||
      at.t1 <= v->t0 || at.t0 >= v->t1 || at.y1 <= v->y0 || at.y0 >= v->y1)
    at = *v;
  tessera_document_zoom (self->document, factor, factor,
                         (MAX (at.t0, v->t0) + MIN (at.t1, v->t1)) / 2,
                         (MAX (at.y0, v->y0) + MIN (at.y1, v->y1)) / 2);
}

DO (zoom_in, zoom (self, KEY_ZOOM))
DO (zoom_out, zoom (self, 1 / KEY_ZOOM))
DO (pan_left, tessera_document_pan (document, -KEY_PAN, 0))
DO (pan_right, tessera_document_pan (document, KEY_PAN, 0))
DO (pan_up, tessera_document_pan (document, 0, KEY_PAN))
DO (pan_down, tessera_document_pan (document, 0, -KEY_PAN))
DO (go_begin, tessera_document_pan (document, -1e12, 0))
DO (go_end, tessera_document_pan (document, 1e12, 0))

static void
go_to_failure (TesseraDocument *document)
{
  const TesseraLayout *layout = document->sheets[TESSERA_SIDE_LEFT]->layout;

  tessera_document_show_step (document, layout->ooms[layout->n_ooms - 1].event_index);
}

DO (go_peak,
    tessera_document_show_step (
        document, document->sheets[TESSERA_SIDE_LEFT]->layout->peak_reserved_index))

/* --- choosing blocks ---------------------------------------------------------------- */

static void
select_block (TesseraDocument *document, uint32_t block)
{
  if (document->data != NULL && block < document->data->blocks->n_blocks)
    tessera_document_select (document, block);
}

/* What is in the hand is put back first. */
static void
clear_choice (TesseraDocument *document)
{
  if (tessera_document_is_proposing (document))
    {
      tessera_document_drop_proposal (document);
      return;
    }
  tessera_document_select (document, TESSERA_NONE);
  tessera_document_reset_moment (document);
}

/* To where queries are typed. */
static void
find_query (TesseraWindow *self)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->side), "groups");
  gtk_widget_child_focus (gtk_stack_get_visible_child (GTK_STACK (self->side)),
                          GTK_DIR_TAB_FORWARD);
}

static void
copy_selection (TesseraWindow *self)
{
  g_autofree char *text = tessera_copy_text (self->document);

  if (text != NULL)
    gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (self)), text);
}

DO (next_block, tessera_document_select_next (document, 1, TESSERA_SELECT_ONLY))
DO (previous_block, tessera_document_select_next (document, -1, TESSERA_SELECT_ONLY))
DO (next_block_too, tessera_document_select_next (document, 1, TESSERA_SELECT_MORE))
DO (previous_block_too, tessera_document_select_next (document, -1, TESSERA_SELECT_MORE))
DO (select, select_block (document, g_variant_get_uint32 (parameter)))
DO (select_group, tessera_document_select_group_of (document, document->selected))
DO (select_similar, tessera_document_select_similar (document, document->selected))
DO (select_alive,
    tessera_document_select_alive (document, document->moment, TESSERA_SELECT_ONLY))
DO (select_sight,
    tessera_document_select_in (
        document, side_of_focus (self), &document->view, TESSERA_SELECT_ONLY))
DO (find, find_query (self))
DO (copy, copy_selection (self))
DO (ask, tessera_canvas_ask (self->canvases[side_of_focus (self)]))

/* --- files, plans ------------------------------------------------------------------- */

static void
open_path (TesseraWindow *self, const char *path)
{
  g_autoptr (GFile) file = g_file_new_for_commandline_arg (path);

  tessera_window_open (self, file);
}

DO (open, tessera_window_choose (self, TESSERA_FILE_TO_OPEN))
DO (open_path, open_path (self, g_variant_get_string (parameter, NULL)))
DO (plan, tessera_document_plan (document, FALSE))
DO (forget_plan,
    tessera_document_forget_kept (document, g_variant_get_uint32 (parameter)))
DO (export_plan, tessera_window_choose (self, TESSERA_FILE_FOR_PLAN))
DO (save_picture, tessera_window_choose (self, TESSERA_FILE_FOR_PICTURE))
DO (save_report, tessera_window_choose (self, TESSERA_FILE_FOR_REPORT))
DO (save_picture_to,
    tessera_window_save_picture (self, g_variant_get_string (parameter, NULL)))
DO (open_edits, tessera_window_choose (self, TESSERA_FILE_OF_EDITS))
DO (save_edits, tessera_window_choose (self, TESSERA_FILE_FOR_EDITS))
DO (dismiss, tessera_window_say (self, "", FALSE))

/* --- edits -------------------------------------------------------------------------- */

static void
show_conflict (TesseraWindow *self)
{
  const TesseraEditConflict *conflict = &self->document->conflict;
  uint32_t other = MIN (conflict->first, conflict->second);

  gtk_stack_set_visible_child_name (GTK_STACK (self->side), "edits");
  tessera_edits_view_show (self->edits, other);
  tessera_document_select_edit (self->document, other);
}

DO (pin_up, tessera_document_propose_next (document, 1, FALSE))
DO (pin_down, tessera_document_propose_next (document, -1, FALSE))
DO (pin_up_push, tessera_document_propose_next (document, 1, TRUE))
DO (pin_down_push, tessera_document_propose_next (document, -1, TRUE))
DO (pin_at, tessera_document_pin_at (document, g_variant_get_uint64 (parameter), TRUE))
DO (show_conflict, show_conflict (self))

static void
on_edit (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;
  const char *name = g_action_get_name (G_ACTION (action));
  size_t n, i = 0;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);
  TesseraEdit edit;

  while (!g_str_equal (commands[i].action, name))
    i++;
  if (commands[i].asks)
    {
      tessera_edit_bar_ask (self->edit_bar, &commands[i]);
      return;
    }
  edit = tessera_edit_of (commands[i].kind);
  edit.by = commands[i].by;
  if (edit.by == TESSERA_SPLIT_AT)
    edit.at = self->document->moment;
  tessera_document_edit_selection (self->document, &edit, TRUE);
}

/* --- all of them -------------------------------------------------------------------- */

static const Action actions[] = {
  { "open", 0, NULL, do_open },
  { "open-path", 0, "s", do_open_path },
  { "close-file", NEEDS_TRACE, .of_document = tessera_document_close },
  { "plan", NEEDS_TRACE | NEEDS_NO_PLANNING, NULL, do_plan },
  { "cancel", NEEDS_WORK, .of_document = tessera_document_cancel },
  { "export-plan", NEEDS_EXPORT, NULL, do_export_plan },
  { "save-picture", NEEDS_TRACE | NEEDS_NO_SAVING, NULL, do_save_picture },
  { "save-report", NEEDS_EXPORT, NULL, do_save_report },
  { "save-picture-to", NEEDS_TRACE | NEEDS_NO_SAVING, "s", do_save_picture_to },
  { "dismiss", 0, NULL, do_dismiss },
  { "zoom-in", NEEDS_TRACE, NULL, do_zoom_in },
  { "zoom-out", NEEDS_TRACE, NULL, do_zoom_out },
  { "fit", NEEDS_TRACE, .of_document = tessera_document_fit },
  { "pan-left", NEEDS_TRACE, NULL, do_pan_left },
  { "pan-right", NEEDS_TRACE, NULL, do_pan_right },
  { "pan-up", NEEDS_TRACE, NULL, do_pan_up },
  { "pan-down", NEEDS_TRACE, NULL, do_pan_down },
  { "go-begin", NEEDS_TRACE, NULL, do_go_begin },
  { "go-end", NEEDS_TRACE, NULL, do_go_end },
  { "go-peak", NEEDS_TRACE, NULL, do_go_peak },
  { "go-failure", NEEDS_FAILURE, .of_document = go_to_failure },
  { "go-hole", NEEDS_HOLE, .of_document = tessera_document_select_hole_keeper },
  { "next-block", NEEDS_TRACE, NULL, do_next_block },
  { "previous-block", NEEDS_TRACE, NULL, do_previous_block },
  { "next-block-too", NEEDS_TRACE, NULL, do_next_block_too },
  { "previous-block-too", NEEDS_TRACE, NULL, do_previous_block_too },
  { "select", 0, "u", do_select },
  { "select-group", NEEDS_LEAD, NULL, do_select_group },
  { "select-similar", NEEDS_LEAD, NULL, do_select_similar },
  { "select-alive", NEEDS_TRACE, NULL, do_select_alive },
  { "select-sight", NEEDS_TRACE, NULL, do_select_sight },
  { "select-all", NEEDS_TRACE, .of_document = tessera_document_select_all },
  { "select-difference", NEEDS_DIFFERENCE,
    .of_document = tessera_document_select_difference },
  { "clear", NEEDS_TRACE, .of_document = clear_choice },
  { "find", NEEDS_TRACE, NULL, do_find },
  { "copy", NEEDS_SELECTION, NULL, do_copy },
  { "ask", NEEDS_TRACE, NULL, do_ask },
  { "show-all", 0, .of_document = tessera_document_show_all },
  { "keep-plan", NEEDS_PLAN, .of_document = tessera_document_keep_plan },
  { "forget-plan", 0, "u", do_forget_plan },
  { "undo", NEEDS_STANDING, .of_document = tessera_document_undo },
  { "redo", NEEDS_UNDONE, .of_document = tessera_document_redo },
  { "pin-up", NEEDS_SELECTION | NEEDS_PLAN, NULL, do_pin_up },
  { "pin-down", NEEDS_SELECTION | NEEDS_PLAN, NULL, do_pin_down },
  { "pin-up-push", NEEDS_SELECTION | NEEDS_PLAN, NULL, do_pin_up_push },
  { "pin-down-push", NEEDS_SELECTION | NEEDS_PLAN, NULL, do_pin_down_push },
  { "pin-here", NEEDS_PROPOSAL, .of_document = tessera_document_accept_proposal },
  { "pin-at", 0, "t", do_pin_at },
  { "show-conflict", NEEDS_CONFLICT, NULL, do_show_conflict },
  { "open-edits", NEEDS_TRACE, NULL, do_open_edits },
  { "save-edits", NEEDS_EDITS, NULL, do_save_edits },
};

static void
on_action (GSimpleAction *simple, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;
  const char *name = g_action_get_name (G_ACTION (simple));
  const Action *action = actions;

  while (!g_str_equal (action->name, name))
    action++;
  if (action->of_document != NULL)
    action->of_document (self->document);
  else
    action->act (self, self->document, parameter);
}

static guint
what_there_is (TesseraDocument *document)
{
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  size_t n_standing = tessera_document_n_standing (document);
  size_t n_edits = tessera_document_n_edits (document);
  const struct
  {
    guint need;
    gboolean is_there;
  } needs[] = {
    { NEEDS_TRACE, document->data != NULL },
    { NEEDS_LEAD, document->selected != TESSERA_NONE },
    { NEEDS_SELECTION, document->selection != NULL },
    { NEEDS_PLAN, document->planned != NULL },
    { NEEDS_NO_PLANNING, document->jobs[TESSERA_WORK_PLAN] == NULL },
    { NEEDS_EXPORT, tessera_document_why_no_export (document) == NULL },
    { NEEDS_NO_SAVING, document->jobs[TESSERA_WORK_SAVE] == NULL },
    { NEEDS_FAILURE, left != NULL && left->layout->n_ooms > 0 },
    { NEEDS_DIFFERENCE, document->difference != NULL },
    { NEEDS_WORK, tessera_document_is_busy (document) },
    { NEEDS_PROPOSAL, document->proposal.landings != NULL },
    { NEEDS_EDITS, n_edits > 0 },
    { NEEDS_STANDING, n_standing > 0 },
    { NEEDS_UNDONE, n_standing < n_edits },
    { NEEDS_CONFLICT, document->conflict.first != TESSERA_NONE },
    { NEEDS_HOLE, document->described.parts.largest_hole_bytes != 0 },
  };
  guint there = 0;

  for (size_t i = 0; i < G_N_ELEMENTS (needs); i++)
    if (needs[i].is_there)
      there |= needs[i].need;
  return there;
}

/* --- actions with a state ------------------------------------------------------------ */

/* Menus and buttons show it, so it follows the document, whoever changed that. */

static const char *const left_names[] = { "recorded", "native", "expandable", NULL };
static const char *const axis_names[] = { "bytes", "events", "time", NULL };
static const char *const axis_titles[] = { "bytes moved", "event index", "time" };
static const char *const strategies[] = { "free", "stalloc", NULL };

/* -1: none is called so. */
static int
index_of (const char *const *names, GVariant *name)
{
  for (int i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], g_variant_get_string (name, NULL)))
      return i;
  return -1;
}

static void
change_left (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  int kind = index_of (left_names, state);

  if (kind >= 0 && ((TesseraLayoutKind) kind != self->document->left_kind ||
                    self->document->left_planned != NULL))
    tessera_document_set_left_kind (self->document, (TesseraLayoutKind) kind);
  tessera_window_update_actions (self);
}

static void
change_axis (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  int kind = index_of (axis_names, state);

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
change_strategy (GSimpleAction *action, GVariant *state, gpointer user)
{
  int strategy = index_of (strategies, state);

  if (strategy >= 0)
    tessera_document_set_strategy (TESSERA_WINDOW (user)->document,
                                   (TesseraStrategy) strategy);
}

/* Opens the file again. */
static void
change_device (GSimpleAction *action, GVariant *state, gpointer user)
{
  tessera_document_set_device (TESSERA_WINDOW (user)->document,
                               g_variant_get_uint32 (state));
}

static void
change_across (GSimpleAction *action, GVariant *state, gpointer user)
{
  tessera_document_set_streams (TESSERA_WINDOW (user)->document,
                                g_variant_get_boolean (state) ? TESSERA_STREAMS_ACROSS
                                                              : TESSERA_STREAMS_APART);
}

/* A plan that is kept, or TESSERA_NONE: PyTorch's layout, on the left alone. What stands there
 * does not go by another press. */
static void
change_shown (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraDocument *document = TESSERA_WINDOW (user)->document;
  g_autoptr (GVariant) before = g_action_get_state (G_ACTION (action));
  uint32_t index = g_variant_get_uint32 (state);

  if (g_variant_equal (before, state))
    return;
  if (index == TESSERA_NONE)
    tessera_document_set_left_kind (document, document->left_kind);
  else
    tessera_document_show_kept (
        document,
        g_str_equal (g_action_get_name (G_ACTION (action)), "show-left")
            ? TESSERA_SIDE_LEFT
            : TESSERA_SIDE_RIGHT,
        index);
}

/* All windows follow. */
static void
change_dark (GSimpleAction *action, GVariant *state, gpointer user)
{
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                      g_variant_get_boolean (state)
                                          ? ADW_COLOR_SCHEME_FORCE_DARK
                                          : ADW_COLOR_SCHEME_FORCE_LIGHT);
}

static void
change_difference (GSimpleAction *action, GVariant *state, gpointer user)
{
  tessera_document_set_show_difference (TESSERA_WINDOW (user)->document,
                                        g_variant_get_boolean (state));
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

static const GActionEntry switches[] = {
  { "left", NULL, "s", "'recorded'", change_left },
  { "axis", NULL, "s", "'bytes'", change_axis },
  { "colour", NULL, "s", "'category'", change_colour },
  { "strategy", NULL, "s", "'free'", change_strategy },
  { "device", NULL, "u", "uint32 0", change_device },
  { "across", NULL, NULL, "false", change_across },
  { "show-left", NULL, "u", "uint32 0", change_shown },
  { "show-right", NULL, "u", "uint32 0", change_shown },
  { "dark", NULL, NULL, "false", change_dark },
  { "difference", NULL, NULL, "false", change_difference },
  { "table", NULL, NULL, "false", change_table },
};

void
tessera_window_add_actions (TesseraWindow *self)
{
  g_autoptr (GPropertyAction) arrange =
      g_property_action_new ("arrange", self->panes, "orientation");
  g_autoptr (GPropertyAction) side =
      g_property_action_new ("side", self->side, "visible-child-name");
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  g_action_map_add_action (G_ACTION_MAP (self), G_ACTION (arrange));
  g_action_map_add_action (G_ACTION_MAP (self), G_ACTION (side));
  for (size_t i = 0; i < G_N_ELEMENTS (actions); i++)
    {
      const GActionEntry entry = { .name = actions[i].name,
                                   .activate = on_action,
                                   .parameter_type = actions[i].type };

      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
    }
  for (size_t i = 0; i < n; i++)
    {
      const GActionEntry entry = { .name = commands[i].action, .activate = on_edit };

      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
    }
  g_action_map_add_action_entries (G_ACTION_MAP (self), switches, G_N_ELEMENTS (switches),
                                   self);
}

/* --- what is on, what is chosen ------------------------------------------------------ */

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
  const TesseraTrace *trace = document->data != NULL ? document->data->trace : NULL;
  g_autofree char *device =
      g_strdup_printf ("Device %u", trace != NULL ? trace->device : 0);
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
  set_label (self->devices, device);
  gtk_widget_set_visible (self->devices, trace != NULL && trace->n_devices > 1);
  set_label (self->axis_menu, axis);
}

/* The plan that is asked for, or, where nobody asked, the one that is shown. */
static gboolean
crosses_streams (const TesseraDocument *document)
{
  return document->request.streams == TESSERA_STREAMS_ACROSS ||
         (document->request.streams == TESSERA_STREAMS_AS_KNOWN &&
          document->planned != NULL && document->planned->plan->crosses_streams);
}

/* Of the plans that are kept; behind them: it is none. */
static GVariant *
number_of (const TesseraDocument *document, const TesseraFollowed *followed)
{
  uint32_t i = 0;

  while (i < document->kept->len &&
         ((const TesseraKept *) document->kept->pdata[i])->followed != followed)
    i++;
  return g_variant_new_uint32 (i);
}

static void
show_states (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  const struct
  {
    const char *name, *state;
  } names[] = {
    { "left", left_names[document->left_kind] },
    { "axis", axis_names[document->axis_kind] },
    { "colour", tessera_colour_key_name (document->colour_key) },
    { "strategy", strategies[document->request.strategy] },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    g_simple_action_set_state (action_of (self, names[i].name),
                               g_variant_new_string (names[i].state));
  g_simple_action_set_state (action_of (self, "across"),
                             g_variant_new_boolean (crosses_streams (document)));
  g_simple_action_set_state (
      action_of (self, "device"),
      g_variant_new_uint32 (document->data != NULL ? document->data->trace->device : 0));
  g_simple_action_set_state (action_of (self, "show-left"),
                             document->left_planned != NULL
                                 ? number_of (document, document->left_planned)
                                 : g_variant_new_uint32 (TESSERA_NONE));
  g_simple_action_set_state (action_of (self, "show-right"),
                             number_of (document, document->planned));
  g_simple_action_set_state (action_of (self, "dark"),
                             g_variant_new_boolean (document->dark));
}

/* What is off says why; what is on, what it does. */
static void
show_reasons (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  const char *why_no_export = tessera_document_why_no_export (document);

  tessera_set_tip (self->export_button, why_no_export != NULL
                                            ? why_no_export
                                            : "Write the plan to a file (Ctrl+E)");
  tessera_set_tip (self->plan_button, document->data == NULL ? "Open a trace first"
                                      : document->jobs[TESSERA_WORK_PLAN] != NULL
                                          ? "The plan is being made"
                                          : "Make the plan again (Ctrl+P)");
}

void
tessera_window_update_actions (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  guint there = what_there_is (document);
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  for (size_t i = 0; i < G_N_ELEMENTS (actions); i++)
    g_simple_action_set_enabled (action_of (self, actions[i].name),
                                 (actions[i].needs & ~there) == 0);
  for (size_t i = 0; i < n; i++)
    g_simple_action_set_enabled (action_of (self, commands[i].action),
                                 tessera_document_why_no_edit (document, commands[i].kind,
                                                               commands[i].by) == NULL);
  g_simple_action_set_enabled (action_of (self, "left"), document->data != NULL);
  g_simple_action_set_enabled (action_of (self, "difference"), document->planned != NULL);
  g_simple_action_set_enabled (action_of (self, "across"),
                               tessera_document_has_streams (document));
  show_states (self);
  show_titles (self);
  show_reasons (self);
}
