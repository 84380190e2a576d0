/*
 * Everything that can be done to the plan by hand, as actions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

#include <string.h>

#include "viewer/model/document.h"
#include "viewer/panels/panels.h"

static const char *const strategies[] = { "free", "stalloc" };

static GSimpleAction *
action_of (TesseraWindow *self, const char *name)
{
  return G_SIMPLE_ACTION (g_action_map_lookup_action (G_ACTION_MAP (self), name));
}

/* --- edits ----------------------------------------------------------------------------
 */

static void
on_command (GSimpleAction *action, GVariant *parameter, gpointer user)
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

static void
on_undo (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_undo (TESSERA_WINDOW (user)->document);
}

static void
on_redo (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_redo (TESSERA_WINDOW (user)->document);
}

/* --- by keys over the plan
 * -------------------------------------------------------------- */

static void
on_propose (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  const char *name = g_action_get_name (G_ACTION (action));

  tessera_document_propose_next (TESSERA_WINDOW (user)->document,
                                 strstr (name, "up") != NULL ? 1 : -1,
                                 strstr (name, "push") != NULL);
}

static void
on_pin_at (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_pin_at (TESSERA_WINDOW (user)->document,
                           g_variant_get_uint64 (parameter), TRUE);
}

static void
on_pin_here (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_accept_proposal (TESSERA_WINDOW (user)->document);
}

/* --- conflicts ------------------------------------------------------------------------
 */

void
tessera_window_show_conflict (TesseraWindow *self)
{
  gboolean any = self->document->conflict.first != TESSERA_NONE;
  gboolean two = any && self->document->conflict.first != self->document->conflict.second;

  gtk_widget_set_visible (self->conflict_undo, any);
  gtk_widget_set_visible (self->conflict_show, two);
}

static void
on_show_conflict (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  TesseraWindow *self = user;
  const TesseraEditConflict *conflict = &self->document->conflict;
  uint32_t other = MIN (conflict->first, conflict->second);

  if (conflict->first == TESSERA_NONE)
    return;
  gtk_stack_set_visible_child_name (GTK_STACK (self->side), "edits");
  tessera_edits_view_show (self->edits, other);
  tessera_document_select_edit (self->document, other);
}

/* --- files ----------------------------------------------------------------------------
 */

static void
on_open_edits (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_window_choose_edits (user, FALSE);
}

static void
on_save_edits (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_window_choose_edits (user, TRUE);
}

static void
on_open_edits_from (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_load_edits (TESSERA_WINDOW (user)->document,
                               g_variant_get_string (parameter, NULL));
}

static void
on_save_edits_to (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_save_edits (TESSERA_WINDOW (user)->document,
                               g_variant_get_string (parameter, NULL));
}

/* --- the plan, the panel --------------------------------------------------------------
 */

static void
change_strategy (GSimpleAction *action, GVariant *state, gpointer user)
{
  const char *name = g_variant_get_string (state, NULL);

  for (size_t i = 0; i < G_N_ELEMENTS (strategies); i++)
    if (g_str_equal (strategies[i], name))
      tessera_document_set_strategy (TESSERA_WINDOW (user)->document,
                                     (TesseraStrategy) i);
}

static void
change_side (GSimpleAction *action, GVariant *state, gpointer user)
{
  TesseraWindow *self = user;
  const char *name = g_variant_get_string (state, NULL);

  if (gtk_stack_get_child_by_name (GTK_STACK (self->side), name) != NULL)
    gtk_stack_set_visible_child_name (GTK_STACK (self->side), name);
}

static void
on_go_hole (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  tessera_document_select_hole_keeper (TESSERA_WINDOW (user)->document);
}

static const GActionEntry entries[] = {
  { "undo", on_undo },
  { "redo", on_redo },
  { "pin-up", on_propose },
  { "pin-down", on_propose },
  { "pin-up-push", on_propose },
  { "pin-down-push", on_propose },
  { "pin-here", on_pin_here },
  { "pin-at", on_pin_at, "t" },
  { "show-conflict", on_show_conflict },
  { "open-edits", on_open_edits },
  { "save-edits", on_save_edits },
  { "open-edits-from", on_open_edits_from, "s" },
  { "save-edits-to", on_save_edits_to, "s" },
  { "go-hole", on_go_hole },
  { "strategy", NULL, "s", "'free'", change_strategy },
  { "side", NULL, "s", "'block'", change_side },
};

void
tessera_window_add_edit_actions (TesseraWindow *self)
{
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  g_action_map_add_action_entries (G_ACTION_MAP (self), entries, G_N_ELEMENTS (entries),
                                   self);
  for (size_t i = 0; i < n; i++)
    {
      const GActionEntry entry = { .name = commands[i].action, .activate = on_command };

      g_action_map_add_action_entries (G_ACTION_MAP (self), &entry, 1, self);
    }
}

void
tessera_window_update_edit_actions (TesseraWindow *self)
{
  TesseraDocument *document = self->document;
  size_t n, n_standing = tessera_document_n_standing (document);
  size_t n_edits = tessera_document_n_edits (document);
  const TesseraEditCommand *commands = tessera_edit_commands (&n);
  gboolean can_move = document->selection != NULL && document->planned != NULL;
  static const char *const moves[] = { "pin-up", "pin-down", "pin-up-push",
                                       "pin-down-push" };

  for (size_t i = 0; i < n; i++)
    g_simple_action_set_enabled (action_of (self, commands[i].action),
                                 tessera_document_why_no_edit (document, commands[i].kind,
                                                               commands[i].by) == NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (moves); i++)
    g_simple_action_set_enabled (action_of (self, moves[i]), can_move);
  g_simple_action_set_enabled (action_of (self, "pin-here"),
                               document->proposal.landings != NULL);
  g_simple_action_set_enabled (action_of (self, "undo"), n_standing > 0);
  g_simple_action_set_enabled (action_of (self, "redo"), n_standing < n_edits);
  g_simple_action_set_enabled (action_of (self, "show-conflict"),
                               document->conflict.first != TESSERA_NONE);
  g_simple_action_set_enabled (action_of (self, "open-edits"), document->data != NULL);
  g_simple_action_set_enabled (action_of (self, "save-edits"), n_edits > 0);
  g_simple_action_set_enabled (action_of (self, "go-hole"),
                               document->told.parts.largest_hole_bytes != 0);
  g_simple_action_set_state (
      action_of (self, "strategy"),
      g_variant_new_string (strategies[document->request.strategy]));
}
