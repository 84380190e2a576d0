/*
 * Everything that can be done, as actions: menus, keys, buttons and tests use the same.
 * Those with a state are in window-switches.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"
#include "viewer/window/window-private.h"

/* Steps of the keyboard: a share of what is shown, and a factor. */
#define KEY_PAN 0.15
#define KEY_ZOOM 1.4

#define SIMPLE(name, statement)                                                          \
  static void on_##name (GSimpleAction *action, GVariant *parameter, gpointer user)      \
  {                                                                                      \
    TesseraWindow *self = user;                                                          \
    statement;                                                                           \
  }

static void
go_to_failure (TesseraWindow *self)
{
  const TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];

  if (sheet != NULL && sheet->layout->n_ooms > 0)
    tessera_document_go_to (self->document,
                            sheet->layout->ooms[sheet->layout->n_ooms - 1].event_index);
}

static void
go_to_peak (TesseraWindow *self)
{
  const TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];

  if (sheet != NULL)
    tessera_document_go_to (self->document, sheet->layout->peak_reserved_index);
}

static void
clear_choice (TesseraWindow *self)
{
  /* What is in the hand is put back first. */
  if (tessera_document_is_proposing (self->document))
    {
      tessera_document_drop_proposal (self->document);
      return;
    }
  tessera_document_select (self->document, TESSERA_NONE);
  tessera_document_reset_moment (self->document);
}

static void
go_to_edge (TesseraWindow *self, gboolean end)
{
  tessera_document_pan (self->document, end ? 1e12 : -1e12, 0);
}

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

SIMPLE (open, tessera_window_choose_file (self))
SIMPLE (close_file, tessera_document_close (self->document))
SIMPLE (plan, tessera_document_plan (self->document))
SIMPLE (plan_on, tessera_document_go_on (self->document))
SIMPLE (cancel, tessera_document_cancel (self->document))
SIMPLE (export_plan, tessera_window_choose_plan_target (self))
SIMPLE (export_plan_to,
        tessera_window_export_plan (self, g_variant_get_string (parameter, NULL)))
SIMPLE (save_picture, tessera_window_choose_picture_target (self, ".png"))
SIMPLE (save_report, tessera_window_choose_picture_target (self, ".html"))
SIMPLE (save_picture_to,
        tessera_window_save_picture (self, g_variant_get_string (parameter, NULL)))
SIMPLE (dismiss, tessera_window_say (self, "", FALSE))
SIMPLE (zoom_in, zoom (self, KEY_ZOOM))
SIMPLE (zoom_out, zoom (self, 1 / KEY_ZOOM))
SIMPLE (fit, tessera_document_fit (self->document))
SIMPLE (pan_left, tessera_document_pan (self->document, -KEY_PAN, 0))
SIMPLE (pan_right, tessera_document_pan (self->document, KEY_PAN, 0))
SIMPLE (pan_up, tessera_document_pan (self->document, 0, KEY_PAN))
SIMPLE (pan_down, tessera_document_pan (self->document, 0, -KEY_PAN))
SIMPLE (go_begin, go_to_edge (self, FALSE))
SIMPLE (go_end, go_to_edge (self, TRUE))
SIMPLE (go_peak, go_to_peak (self))
SIMPLE (go_failure, go_to_failure (self))
SIMPLE (next_block, tessera_document_select_next (self->document, 1))
SIMPLE (previous_block, tessera_document_select_next (self->document, -1))
SIMPLE (next_block_too, tessera_document_select_next_too (self->document, 1))
SIMPLE (previous_block_too, tessera_document_select_next_too (self->document, -1))
SIMPLE (select_group,
        tessera_document_select_group_of (self->document, self->document->selected))
SIMPLE (select_similar,
        tessera_document_select_similar (self->document, self->document->selected))
SIMPLE (select_alive,
        tessera_document_select_alive (self->document,
                                       self->document->moment,
                                       TESSERA_SELECT_ONLY))
SIMPLE (select_sight,
        tessera_document_select_in (self->document,
                                    side_of_focus (self),
                                    &self->document->view,
                                    TESSERA_SELECT_ONLY))
SIMPLE (keep_plan, tessera_document_keep_plan (self->document))
SIMPLE (select_difference, tessera_document_select_difference (self->document))
SIMPLE (select_all, tessera_document_select_all (self->document))
SIMPLE (copy, tessera_window_copy (self))
SIMPLE (ask, tessera_canvas_ask (TESSERA_CANVAS (self->canvases[side_of_focus (self)])))
SIMPLE (clear, clear_choice (self))
SIMPLE (show_all, tessera_document_show_all (self->document))

static void
on_open_path (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  g_autoptr (GFile) file =
      g_file_new_for_commandline_arg (g_variant_get_string (parameter, NULL));

  tessera_window_open (user, file);
}

static void
on_select (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;
  uint32_t block = g_variant_get_uint32 (parameter);

  if (self->document->data != NULL && block < self->document->data->blocks->n_blocks)
    tessera_document_select (self->document, block);
}

static void
on_select_query (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;
  g_autofree char *error = NULL;

  if (!tessera_document_select_query (self->document,
                                      g_variant_get_string (parameter, NULL),
                                      TESSERA_SELECT_ONLY, &error))
    tessera_window_say (self, error, TRUE);
}

static void
on_query (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;

  g_action_group_activate_action (G_ACTION_GROUP (self), "side",
                                  g_variant_new_string ("groups"));
  tessera_document_set_query (self->document, g_variant_get_string (parameter, NULL));
}

static void
on_device (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;

  tessera_document_set_device (self->document, g_variant_get_uint32 (parameter));
}

static void
on_show_left (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_show_kept (TESSERA_WINDOW (user)->document, TESSERA_SIDE_LEFT,
                              g_variant_get_uint32 (parameter));
}

static void
on_show_right (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_show_kept (TESSERA_WINDOW (user)->document, TESSERA_SIDE_RIGHT,
                              g_variant_get_uint32 (parameter));
}

/* To where queries are typed. */
static void
on_find (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;

  g_action_group_activate_action (G_ACTION_GROUP (self), "side",
                                  g_variant_new_string ("groups"));
  gtk_widget_child_focus (gtk_stack_get_visible_child (GTK_STACK (self->side)),
                          GTK_DIR_TAB_FORWARD);
}

static const GActionEntry entries[] = {
  { "open", on_open },
  { "open-path", on_open_path, "s" },
  { "close-file", on_close_file },
  { "plan", on_plan },
  { "plan-on", on_plan_on },
  { "cancel", on_cancel },
  { "export-plan", on_export_plan },
  { "export-plan-to", on_export_plan_to, "s" },
  { "save-picture", on_save_picture },
  { "save-report", on_save_report },
  { "save-picture-to", on_save_picture_to, "s" },
  { "dismiss", on_dismiss },
  { "zoom-in", on_zoom_in },
  { "zoom-out", on_zoom_out },
  { "fit", on_fit },
  { "pan-left", on_pan_left },
  { "pan-right", on_pan_right },
  { "pan-up", on_pan_up },
  { "pan-down", on_pan_down },
  { "go-begin", on_go_begin },
  { "go-end", on_go_end },
  { "go-peak", on_go_peak },
  { "go-failure", on_go_failure },
  { "next-block", on_next_block },
  { "previous-block", on_previous_block },
  { "next-block-too", on_next_block_too },
  { "previous-block-too", on_previous_block_too },
  { "select-group", on_select_group },
  { "select-similar", on_select_similar },
  { "select-query", on_select_query, "s" },
  { "query", on_query, "s" },
  { "select-alive", on_select_alive },
  { "select-sight", on_select_sight },
  { "select-all", on_select_all },
  { "keep-plan", on_keep_plan },
  { "select-difference", on_select_difference },
  { "show-left", on_show_left, "u" },
  { "show-right", on_show_right, "u" },
  { "ask", on_ask },
  { "copy", on_copy },
  { "clear", on_clear },
  { "show-all", on_show_all },
  { "select", on_select, "u" },
  { "device", on_device, "u" },
  { "find", on_find },
};

static GSimpleAction *
action_of (TesseraWindow *self, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), name));
}

/* What is off says why; what is on, what it does. */
static void
tell_why (GtkWidget *button, const char *why, const char *what)
{
  tessera_set_tip (button, why != NULL ? why : what);
}

void
tessera_window_update_actions (TesseraWindow *self)
{
  static const char *const need_trace[] = {
    "close-file",   "plan",           "zoom-in",    "zoom-out",           "fit",
    "pan-left",     "pan-right",      "pan-up",     "pan-down",           "go-begin",
    "go-end",       "go-peak",        "next-block", "previous-block",     "clear",
    "left",         "next-block-too", "find",       "previous-block-too", "select-alive",
    "select-sight", "select-all",     "ask",
  };
  TesseraDocument *document = self->document;
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  gboolean has_trace = document->data != NULL;
  gboolean can_save = document->jobs[TESSERA_WORK_SAVE] == NULL;
  gboolean can_save_plan = tessera_document_why_no_export (document) == NULL;

  for (size_t i = 0; i < G_N_ELEMENTS (need_trace); i++)
    g_simple_action_set_enabled (action_of (self, need_trace[i]), has_trace);
  g_simple_action_set_enabled (action_of (self, "plan"),
                               has_trace && document->jobs[TESSERA_WORK_PLAN] == NULL);
  g_simple_action_set_enabled (action_of (self, "plan-on"),
                               tessera_document_why_no_going_on (document) == NULL);
  g_simple_action_set_enabled (action_of (self, "export-plan"), can_save_plan);
  g_simple_action_set_enabled (action_of (self, "export-plan-to"), can_save_plan);
  g_simple_action_set_enabled (action_of (self, "save-report"), can_save_plan);
  g_simple_action_set_enabled (action_of (self, "save-picture"), has_trace && can_save);
  g_simple_action_set_enabled (action_of (self, "save-picture-to"),
                               has_trace && can_save);
  g_simple_action_set_enabled (action_of (self, "go-failure"),
                               left != NULL && left->layout->n_ooms > 0);
  g_simple_action_set_enabled (action_of (self, "select-group"),
                               document->selected != TESSERA_NONE);
  g_simple_action_set_enabled (action_of (self, "copy"), document->selection != NULL);
  g_simple_action_set_enabled (action_of (self, "keep-plan"), document->planned != NULL);
  g_simple_action_set_enabled (action_of (self, "difference"), document->planned != NULL);
  g_simple_action_set_enabled (action_of (self, "select-difference"),
                               document->difference != NULL);
  g_simple_action_set_enabled (action_of (self, "select-similar"),
                               document->selected != TESSERA_NONE);
  g_simple_action_set_enabled (action_of (self, "cancel"),
                               tessera_document_is_busy (document));
  tessera_window_update_edit_actions (self);
  tessera_window_update_switches (self);
  if (self->export_button == NULL)
    return;
  tell_why (self->export_button, tessera_document_why_no_export (document),
            "Write the plan to a file (Ctrl+E)");
  tell_why (self->plan_button,
            !has_trace                                  ? "Open a trace first"
            : document->jobs[TESSERA_WORK_PLAN] != NULL ? "The plan is being made"
                                                        : NULL,
            "Make the plan again (Ctrl+P)");
}

void
tessera_window_add_actions (TesseraWindow *self)
{
  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries),
                                   self);
  tessera_window_add_switches (self);
  tessera_window_add_edit_actions (self);
}
