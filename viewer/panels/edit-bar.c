/*
 * Asks for the value of an edit, above the canvases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "db/size-text.h"
#include "edits/edits.h"

#include <math.h>
#include <string.h>

typedef struct
{
  TesseraPanel panel;
  const TesseraEditCommand *command; /* NULL: closed */
  GtkWidget *title;
  GtkWidget *what;
  GtkWidget *by_rule;
  GtkWidget *caption;
  GtkWidget *entry;
  GtkWidget *choice;
  GtkWidget *problem;
  GtkWidget *apply;
  GWeakRef came_from; /* who had the focus, and gets it back */
} Bar;

/* Fills the edit from the text. Returns: what is wrong with it (g_free()), or NULL. */
typedef char *(*Fill) (Bar *self, const char *text, TesseraEdit *edit);

static gboolean
has_group (TesseraDocument *document, const char *name)
{
  const TesseraData *data = document->data;

  for (size_t i = 0; data != NULL && i < data->n_groups; i++)
    if (g_str_equal (data->groups[i].name, name))
      return TRUE;
  return FALSE;
}

static char *
fill_name (Bar *self, const char *text, TesseraEdit *edit)
{
  if (*text == '\0')
    return g_strdup ("A group has a name");
  if (edit->kind == TESSERA_EDIT_GROUP && has_group (self->panel.document, text))
    return g_strdup ("There is a group of this name: move to it, or choose another name");
  edit->group = g_strdup (text);
  return NULL;
}

static char *
fill_offset (Bar *self, const char *text, TesseraEdit *edit)
{
  const TesseraPlan *plan =
      self->panel.document->planned != NULL ? self->panel.document->planned->plan : NULL;
  uint32_t alignment = plan != NULL ? MAX (plan->alignment_bytes, 1) : 512;

  if (*text == '\0' || !tessera_parse_bytes (text, &edit->at))
    return g_strdup ("An offset into the pool, such as 1.5 GiB or 512 MiB");
  if (edit->at % alignment != 0)
    return g_strdup_printf ("Offsets are multiples of %u bytes", alignment);
  return NULL;
}

static char *
fill_cap (Bar *self, const char *text, TesseraEdit *edit)
{
  if (*text == '\0' || !tessera_parse_bytes (text, &edit->at) || edit->at == 0)
    return g_strdup ("A size of the pool, such as 2 GiB");
  return NULL;
}

static char *
fill_apart (Bar *self, const char *text, TesseraEdit *edit)
{
  char *error = NULL;

  if (*text == '\0')
    return NULL;
  edit->has_with = tessera_query_parse (text, &edit->with, &error);
  return error;
}

static char *
fill_class (Bar *self, const char *text, TesseraEdit *edit)
{
  edit->lifetime_class =
      (uint8_t) (1 + gtk_drop_down_get_selected (GTK_DROP_DOWN (self->choice)));
  return NULL;
}

static char *
fill_group (Bar *self, const char *text, TesseraEdit *edit)
{
  GtkStringObject *chosen =
      gtk_drop_down_get_selected_item (GTK_DROP_DOWN (self->choice));

  if (chosen == NULL)
    return g_strdup ("There is no group to move to");
  edit->group = g_strdup (gtk_string_object_get_string (chosen));
  return NULL;
}

static const struct
{
  TesseraEditKind kind;
  const char *caption;
  const char *hint;
  Fill fill;
  gboolean is_choice;
} asked[] = {
  { TESSERA_EDIT_GROUP, "name", "attention, layers 0-7", fill_name, FALSE },
  { TESSERA_EDIT_MERGE, "name", "of what they become", fill_name, FALSE },
  { TESSERA_EDIT_MOVE, "group", NULL, fill_group, TRUE },
  { TESSERA_EDIT_PIN, "offset", "1.5 GiB", fill_offset, FALSE },
  { TESSERA_EDIT_APART, "from", "each other; or: size>=1MiB", fill_apart, FALSE },
  { TESSERA_EDIT_CLASS, "class", NULL, fill_class, TRUE },
  { TESSERA_EDIT_CAP, "at most", "2 GiB", fill_cap, FALSE },
};

static size_t
asked_of (TesseraEditKind kind)
{
  size_t i = 0;

  while (i < G_N_ELEMENTS (asked) - 1 && asked[i].kind != kind)
    i++;
  return i;
}

/* --- what it is about ------------------------------------------------------------- */

static void
show_what (Bar *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraRule *rule = document->rule;
  const char *blocks = TESSERA_COUNTED (tessera_document_n_selected (document), "block");
  g_autofree char *text = NULL;

  if (self->command == NULL)
    return;
  if (self->command->kind == TESSERA_EDIT_CAP)
    text = g_strdup ("The pool of the plan. What does not fit is served by the dynamic "
                     "allocator.");
  else if (rule == NULL)
    text = g_strdup_printf ("%s; looking for a rule…", blocks);
  else if (rule->is_rule)
    text = g_strdup_printf ("%s: %s", blocks,
                            *rule->text != '\0' ? rule->text : "all there are");
  else
    text = g_strdup_printf (
        "%s; no rule selects just these: the edit holds for this trace", blocks);
  tessera_name_set (self->what, text);
  gtk_widget_set_visible (self->by_rule, self->command->kind != TESSERA_EDIT_CAP &&
                                             rule != NULL && rule->is_rule);
}

static void
offer (Bar *self)
{
  const TesseraData *data = self->panel.document->data;
  g_autoptr (GtkStringList) names = gtk_string_list_new (NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  if (self->command->kind == TESSERA_EDIT_CLASS)
    for (uint8_t class = TESSERA_CLASS_PERSISTENT; class <= TESSERA_CLASS_DYNAMIC;
         class ++)
      gtk_string_list_append (names, tessera_class_name (class));
  else
    for (size_t i = 0; data != NULL && i < data->n_groups; i++)
      if (g_hash_table_add (seen, data->groups[i].name))
        gtk_string_list_append (names, data->groups[i].name);
  gtk_drop_down_set_model (GTK_DROP_DOWN (self->choice), G_LIST_MODEL (names));
}

/* --- the value -------------------------------------------------------------------- */

/* Returns: what is wrong, or NULL. */
static char *
fill (Bar *self, TesseraEdit *edit)
{
  g_autofree char *text =
      g_strstrip (g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->entry))));

  *edit = tessera_edit_of (self->command->kind);
  edit->by = self->command->by;
  return asked[asked_of (self->command->kind)].fill (self, text, edit);
}

static void
check (Bar *self)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  g_autofree char *problem = NULL;
  TesseraEdit edit;

  if (self->command == NULL)
    return;
  problem = fill (self, &edit);
  tessera_edit_clear (&edit);
  tessera_label_set (self->problem, "%s", problem != NULL ? problem : "");
  /* Nothing typed yet is nothing wrong yet. */
  gtk_widget_set_visible (self->problem,
                          problem != NULL &&
                              (*text != '\0' || gtk_widget_get_visible (self->choice)));
  gtk_widget_set_sensitive (self->apply, problem == NULL);
  tessera_set_tip (self->apply, problem);
  tessera_set_class (self->entry, "error", problem != NULL && *text != '\0');
}

static void
close_bar (Bar *self)
{
  g_autoptr (GtkWidget) came_from = NULL;

  if (self->command == NULL)
    return;
  self->command = NULL;
  came_from = g_weak_ref_get (&self->came_from);
  if (came_from != NULL && gtk_widget_get_mapped (came_from))
    gtk_widget_grab_focus (came_from);
  gtk_widget_set_visible (self->panel.box, FALSE);
}

static void
on_apply (Bar *self)
{
  g_autofree char *problem = NULL;
  gboolean by_rule;
  TesseraEdit edit;

  if (self->command == NULL)
    return;
  problem = fill (self, &edit);
  if (problem != NULL)
    {
      tessera_edit_clear (&edit);
      return;
    }
  by_rule = gtk_check_button_get_active (GTK_CHECK_BUTTON (self->by_rule));
  if (self->command->kind == TESSERA_EDIT_CAP)
    tessera_document_add_edit (self->panel.document, &edit);
  else if (self->command->kind == TESSERA_EDIT_PIN)
    {
      tessera_document_pin_at (self->panel.document, edit.at, by_rule);
      tessera_edit_clear (&edit);
    }
  else
    tessera_document_edit_selection (self->panel.document, &edit, by_rule);
  close_bar (self);
}

static gboolean
on_escape (GtkWidget *widget, GVariant *arguments, gpointer unused)
{
  close_bar (tessera_panel_of (widget));
  return TRUE;
}

/* --- open and closed -------------------------------------------------------------- */

static char *
first_text (Bar *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *plan = document->sheets[TESSERA_SIDE_RIGHT];
  const TesseraSelection *selection = document->selection;
  double lowest = INFINITY;
  TesseraView rect;

  if (self->command->kind != TESSERA_EDIT_PIN || plan == NULL || selection == NULL)
    return g_strdup ("");
  /* The pool is at the bottom of the plan's picture. */
  for (size_t i = 0; i < selection->n_blocks; i++)
    if (tessera_scene_block_rect (plan->scene, selection->blocks[i], &rect))
      lowest = MIN (lowest, rect.y0);
  return isfinite (lowest) ? g_strdup_printf ("%.0f B", lowest) : g_strdup ("");
}

void
tessera_edit_bar_ask (GtkWidget *bar, const TesseraEditCommand *command)
{
  Bar *self = tessera_panel_of (bar);
  size_t which = asked_of (command->kind);
  GtkWidget *focus = gtk_root_get_focus (gtk_widget_get_root (self->panel.box));
  g_autofree char *title = g_strndup (command->title, strcspn (command->title, "\xe2"));
  g_autofree char *text = NULL;

  if (focus != NULL && !gtk_widget_is_ancestor (focus, self->panel.box))
    g_weak_ref_set (&self->came_from, focus);
  self->command = command;
  text = first_text (self);
  tessera_document_seek_rule (self->panel.document);
  gtk_label_set_text (GTK_LABEL (self->title), title);
  gtk_label_set_text (GTK_LABEL (self->caption), asked[which].caption);
  g_object_set (self->entry, "placeholder-text", asked[which].hint, NULL);
  gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
  gtk_widget_set_visible (self->entry, !asked[which].is_choice);
  gtk_widget_set_visible (self->choice, asked[which].is_choice);
  tessera_set_accessible_label (self->entry, asked[which].caption);
  tessera_set_accessible_label (self->choice, asked[which].caption);
  if (asked[which].is_choice)
    offer (self);
  show_what (self);
  check (self);
  gtk_widget_set_visible (self->panel.box, TRUE);
  gtk_widget_grab_focus (asked[which].is_choice ? self->choice : self->entry);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Bar *self = user;

  /* It is about what was selected when it was asked for. */
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION))
    close_bar (self);
  if (what & TESSERA_CHANGED_PROPOSAL)
    show_what (self);
}

static void
bar_clear (gpointer bar)
{
  g_weak_ref_clear (&((Bar *) bar)->came_from);
}

static void
on_choice_setup (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer unused)
{
  gtk_list_item_set_child (item, tessera_name_new ("edit-choice-name", NULL, 1));
}

static void
on_choice_bind (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer unused)
{
  tessera_name_set (gtk_list_item_get_child (item),
                    gtk_string_object_get_string (gtk_list_item_get_item (item)));
}

/* Names of groups have no end. */
static GtkWidget *
choice_new (void)
{
  GtkWidget *choice = gtk_drop_down_new (
      NULL, gtk_property_expression_new (GTK_TYPE_STRING_OBJECT, NULL, "string"));
  g_autoptr (GtkListItemFactory) factory = gtk_signal_list_item_factory_new ();

  g_signal_connect (factory, "setup", G_CALLBACK (on_choice_setup), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (on_choice_bind), NULL);
  gtk_drop_down_set_factory (GTK_DROP_DOWN (choice), factory);
  gtk_drop_down_set_enable_search (GTK_DROP_DOWN (choice), TRUE);
  gtk_widget_set_hexpand (choice, TRUE);
  gtk_widget_set_name (choice, "edit-choice");
  return choice;
}

static GtkWidget *
values_new (Bar *self)
{
  GtkWidget *cancel = tessera_button_new ("Cancel", NULL, "edit-cancel", NULL, NULL);

  self->caption = tessera_label_new ("", "quiet");
  self->entry = tessera_named (gtk_entry_new (), "edit-entry");
  gtk_widget_set_hexpand (self->entry, TRUE);
  self->choice = choice_new ();
  self->apply =
      tessera_button_new ("Apply", NULL, "edit-apply", "suggested-action", NULL);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_apply), self);
  g_signal_connect_swapped (self->entry, "notify::text", G_CALLBACK (check), self);
  g_signal_connect_swapped (self->choice, "notify::selected", G_CALLBACK (check), self);
  g_signal_connect_swapped (self->apply, "clicked", G_CALLBACK (on_apply), self);
  g_signal_connect_swapped (cancel, "clicked", G_CALLBACK (close_bar), self);
  return tessera_row_new (8, self->caption, self->entry, self->choice, cancel,
                          self->apply, NULL);
}

GtkWidget *
tessera_edit_bar_new (TesseraDocument *document)
{
  Bar *self = tessera_panel_new (sizeof *self, document, "edit-bar", 6, bar_clear);

  g_weak_ref_init (&self->came_from, NULL);
  self->title = tessera_label_new ("", "pane-title");
  self->what = tessera_name_new ("edit-what", "quiet", 4);
  gtk_widget_set_hexpand (self->title, TRUE);
  self->by_rule = tessera_named (
      gtk_check_button_new_with_label ("As a rule, for tomorrow's trace too"),
      "edit-by-rule");
  gtk_check_button_set_active (GTK_CHECK_BUTTON (self->by_rule), TRUE);
  self->problem = tessera_named (tessera_sentence_new ("", "problem"), "edit-problem");
  tessera_panel_add (self, tessera_row_new (12, self->title, self->by_rule, NULL),
                     self->what, values_new (self), self->problem, NULL);
  gtk_widget_add_css_class (self->panel.box, "edit-bar");
  gtk_widget_set_visible (self->panel.box, FALSE);
  tessera_add_key (self->panel.box, "Escape", on_escape);
  return tessera_panel_watch (self, on_changed);
}
