/*
 * The history: what was edited, in words; how far it is undone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/edits/edits.h"

#include "edits/query.h"
#include "viewer/document/describe.h"
#include "viewer/document/edits/document-edit.h"
#include "viewer/window/ui.h"

/* Of what wraps: else the panel would be as wide as its longest line. */
#define WIDTH_CHARS 24

struct _TesseraEditsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *change;
  GtkWidget *list; /* GtkListBox: the beginning, then an edit a row */
  GtkWidget *hint;
};

G_DEFINE_TYPE (TesseraEditsView, tessera_edits_view, GTK_TYPE_BOX)

char *
tessera_describe_change (TesseraDocument *document)
{
  const TesseraFollowed *planned = document->planned;
  uint64_t former = document->former_bytes, peak, beside, difference;
  g_autofree char *before = NULL, *after = NULL, *bound = NULL;
  GString *text;

  if (planned == NULL || former == 0 || document->conflict.first != TESSERA_NONE)
    return NULL;
  if (planned->request.generation != document->request.generation)
    {
      before = tessera_describe_bytes (former);
      return g_strdup_printf ("Peak %s before the change; %s", before,
                              document->jobs[TESSERA_WORK_PLAN] != NULL
                                  ? "planning…"
                                  : "not planned again yet");
    }
  peak = tessera_followed_peak_bytes (planned, &beside);
  before = tessera_describe_bytes (former);
  after = tessera_describe_bytes (peak);
  bound = tessera_describe_bytes (document->needs.bound_bytes);
  difference = former > peak ? former - peak : peak - former;
  text = g_string_new ("Peak ");
  /* By less than what is told of both. */
  if (!g_str_equal (before, after))
    g_string_append_printf (text, "%s → ", before);
  g_string_append (text, after);
  if (planned->request.is_preview)
    g_string_append (text, " (preview)");
  else if (planned->plan->cut_short != TESSERA_CUT_NOT)
    g_string_append (text, " (cut short)");
  if (difference == 0)
    g_string_append (text, ", as before");
  else
    {
      g_autofree char *bytes = tessera_describe_bytes (difference);

      g_string_append_printf (text, ", the change %s %s",
                              former > peak ? "wins" : "costs", bytes);
    }
  if (beside != 0)
    {
      g_autofree char *bytes = tessera_describe_bytes (beside);

      g_string_append_printf (text, "; %s of it outside the pool", bytes);
    }
  g_string_append_printf (text, "; bound %s", bound);
  return g_string_free (text, FALSE);
}

/* --- a row ----------------------------------------------------------------------------
 */

/* Where a row keeps its GtkStack. */
static const char name_key[] = "name";

static TesseraEditsView *
view_of (GtkWidget *widget)
{
  return TESSERA_EDITS_VIEW (gtk_widget_get_ancestor (widget, TESSERA_TYPE_EDITS));
}

static guint
index_of (GtkWidget *widget)
{
  GtkWidget *row = gtk_widget_get_ancestor (widget, GTK_TYPE_LIST_BOX_ROW);

  /* The first row is the beginning. */
  return (guint) gtk_list_box_row_get_index (GTK_LIST_BOX_ROW (row)) - 1;
}

static void
end_rename (GtkWidget *entry, gboolean keep)
{
  GtkWidget *stack = gtk_widget_get_parent (entry);
  GtkWidget *row = gtk_widget_get_ancestor (entry, GTK_TYPE_LIST_BOX_ROW);
  g_autofree char *text = g_strdup (gtk_editable_get_text (GTK_EDITABLE (entry)));

  if (g_str_equal (gtk_stack_get_visible_child_name (GTK_STACK (stack)), "name"))
    return;
  gtk_stack_set_visible_child_name (GTK_STACK (stack), "name");
  gtk_widget_grab_focus (row);
  if (keep)
    tessera_document_rename_edit (view_of (entry)->document, index_of (entry), text);
}

static void
on_entry_activate (GtkWidget *entry, gpointer unused)
{
  end_rename (entry, TRUE);
}

static gboolean
on_entry_escape (GtkWidget *entry, GVariant *arguments, gpointer unused)
{
  end_rename (entry, FALSE);
  return TRUE;
}

static void
begin_rename (GtkWidget *row)
{
  GtkWidget *stack = g_object_get_data (G_OBJECT (row), name_key);
  GtkWidget *entry;

  if (stack == NULL)
    return;
  entry = gtk_stack_get_child_by_name (GTK_STACK (stack), "entry");
  gtk_editable_set_text (
      GTK_EDITABLE (entry),
      tessera_get_tip (gtk_stack_get_child_by_name (GTK_STACK (stack), "name")));
  gtk_stack_set_visible_child_name (GTK_STACK (stack), "entry");
  gtk_widget_grab_focus (entry);
}

static void
on_rename_clicked (GtkWidget *button, gpointer unused)
{
  begin_rename (gtk_widget_get_ancestor (button, GTK_TYPE_LIST_BOX_ROW));
}

static gboolean
on_row_rename (GtkWidget *row, GVariant *arguments, gpointer unused)
{
  begin_rename (row);
  return TRUE;
}

static void
add_key (GtkWidget *widget, const char *trigger, GtkShortcutFunc pressed)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (gtk_shortcut_trigger_parse_string (trigger),
                        gtk_callback_action_new (pressed, NULL, NULL)));
  gtk_widget_add_controller (widget, controller);
}

static GtkWidget *
name_new (void)
{
  GtkWidget *stack = gtk_stack_new ();
  GtkWidget *label = tessera_name_new ("edit-title", NULL, 6);
  GtkWidget *entry = gtk_entry_new ();

  gtk_label_set_max_width_chars (GTK_LABEL (label), WIDTH_CHARS);
  tessera_set_accessible_label (entry, "Name of the edit");
  gtk_widget_set_name (entry, "edit-name");
  gtk_stack_add_named (GTK_STACK (stack), label, "name");
  gtk_stack_add_named (GTK_STACK (stack), entry, "entry");
  gtk_stack_set_vhomogeneous (GTK_STACK (stack), FALSE);
  gtk_widget_set_hexpand (stack, TRUE);
  g_signal_connect (entry, "activate", G_CALLBACK (on_entry_activate), NULL);
  add_key (entry, "Escape", on_entry_escape);
  return stack;
}

/* What is being typed goes on where the edit is still of the name that it had. */
static void
write_name (GtkStack *stack, const char *name)
{
  GtkWidget *label = gtk_stack_get_child_by_name (stack, "name");
  GtkWidget *entry = gtk_stack_get_child_by_name (stack, "entry");

  if (g_strcmp0 (tessera_get_tip (label), name) == 0)
    return;
  tessera_name_set (label, name);
  tessera_set_tip (label, name);
  gtk_editable_set_text (GTK_EDITABLE (entry), name);
  gtk_stack_set_visible_child (stack, label);
}

static GtkWidget *
rename_button_new (void)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("document-edit-symbolic");

  gtk_button_set_has_frame (GTK_BUTTON (button), FALSE);
  gtk_widget_add_css_class (button, "small");
  gtk_widget_set_valign (button, GTK_ALIGN_START);
  tessera_set_tip (button, "Rename (F2)");
  tessera_set_accessible_label (button, "Rename");
  g_signal_connect (button, "clicked", G_CALLBACK (on_rename_clicked), NULL);
  return button;
}

static GtkWidget *
row_new (size_t index)
{
  GtkWidget *row = gtk_list_box_row_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *name = name_new ();
  g_autofree char *number = g_strdup_printf ("%zu", index + 1);
  GtkWidget *mark = tessera_label_new (number, "quiet figure");

  gtk_widget_set_valign (mark, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), mark);
  gtk_box_append (GTK_BOX (box), name);
  gtk_box_append (GTK_BOX (box), rename_button_new ());
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row), box);
  g_object_set_data (G_OBJECT (row), name_key, name);
  add_key (row, "F2", on_row_rename);
  return row;
}

static void
set_class (GtkWidget *row, const char *css_class, gboolean has_it)
{
  if (has_it)
    gtk_widget_add_css_class (row, css_class);
  else
    gtk_widget_remove_css_class (row, css_class);
}

static void
write_row (GtkWidget *row, const TesseraEdit *edit, gboolean stands, gboolean conflicts)
{
  g_autofree char *words = tessera_edit_describe (edit);
  g_autofree char *tip = g_strdup_printf (
      "%s\n%s", words, stands ? "Undo what comes after it" : "Redo up to here");

  write_name (g_object_get_data (G_OBJECT (row), name_key), edit->name);
  tessera_set_tip (row, tip);
  set_class (row, "undone", !stands);
  set_class (row, "conflict", conflicts);
}

static GtkWidget *
beginning_new (void)
{
  GtkWidget *row = gtk_list_box_row_new ();

  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (row),
                              tessera_label_new ("The plan without edits", "quiet"));
  tessera_set_tip (row, "Undo all");
  return row;
}

/* --- the list -------------------------------------------------------------------------
 */

/* Row @index, which is made where the list ends before it. */
static GtkWidget *
take_row (TesseraEditsView *self, size_t index)
{
  GtkListBox *list = GTK_LIST_BOX (self->list);
  GtkListBoxRow *row = gtk_list_box_get_row_at_index (list, (int) index);

  if (row != NULL)
    return GTK_WIDGET (row);
  gtk_list_box_append (list, index == 0 ? beginning_new () : row_new (index - 1));
  return GTK_WIDGET (gtk_list_box_get_row_at_index (list, (int) index));
}

/* Rows stay, each the place of an edit: what stands in them is written anew. */
static void
refresh (TesseraEditsView *self)
{
  TesseraDocument *document = self->document;
  size_t n_standing = tessera_document_n_standing (document), n_edits = 0;
  const TesseraEdit *edits = document->history != NULL
                                 ? tessera_history_get (document->history, &n_edits)
                                 : NULL;
  GtkListBox *list = GTK_LIST_BOX (self->list);
  GtkListBoxRow *row;

  gtk_widget_set_visible (self->list, n_edits > 0);
  gtk_widget_set_visible (self->hint, n_edits == 0);
  for (size_t i = 0; i < n_edits; i++)
    {
      take_row (self, i);
      write_row (take_row (self, i + 1), &edits[i], i < n_standing,
                 i == document->conflict.first || i == document->conflict.second);
    }
  while ((row = gtk_list_box_get_row_at_index (list, n_edits > 0 ? (int) n_edits + 1
                                                                 : 0)) != NULL)
    gtk_list_box_remove (list, GTK_WIDGET (row));
  if (n_edits > 0)
    gtk_list_box_select_row (list,
                             gtk_list_box_get_row_at_index (list, (int) n_standing));
}

void
tessera_edits_view_show (TesseraEditsView *self, size_t index)
{
  GtkListBoxRow *row =
      gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), (int) index + 1);

  if (row != NULL)
    gtk_widget_grab_focus (GTK_WIDGET (row));
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, TesseraEditsView *self)
{
  tessera_document_go_to_edits (self->document,
                                (size_t) gtk_list_box_row_get_index (row));
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraEditsView *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_EDITS |
              TESSERA_CHANGED_WORK))
    {
      g_autofree char *change = tessera_describe_change (document);

      gtk_label_set_text (GTK_LABEL (self->change), change != NULL ? change : "");
      gtk_widget_set_visible (self->change, change != NULL);
    }
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_EDITS))
    refresh (self);
}

static void
tessera_edits_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_EDITS_VIEW (object)->document);
  G_OBJECT_CLASS (tessera_edits_view_parent_class)->dispose (object);
}

static void
tessera_edits_view_class_init (TesseraEditsViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_edits_view_dispose;
}

static GtkWidget *
buttons_new (void)
{
  static const struct
  {
    const char *icon;
    const char *action;
    const char *tooltip;
  } buttons[] = {
    { "edit-undo-symbolic", "win.undo", "Undo (Ctrl+Z)" },
    { "edit-redo-symbolic", "win.redo", "Redo (Ctrl+Shift+Z)" },
    { "document-open-symbolic", "win.open-edits", "Add edits from a file" },
    { "document-save-symbolic", "win.save-edits", "Write the edits to a file" },
  };
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  gtk_widget_add_css_class (box, "linked");
  for (size_t i = 0; i < G_N_ELEMENTS (buttons); i++)
    {
      GtkWidget *button = gtk_button_new_from_icon_name (buttons[i].icon);

      gtk_actionable_set_action_name (GTK_ACTIONABLE (button), buttons[i].action);
      tessera_set_tip (button, buttons[i].tooltip);
      tessera_set_accessible_label (button, buttons[i].tooltip);
      gtk_box_append (GTK_BOX (box), button);
    }
  return box;
}

static void
tessera_edits_view_init (TesseraEditsView *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 10);
  self->change = tessera_sentence_new ("", NULL);
  gtk_label_set_max_width_chars (GTK_LABEL (self->change), WIDTH_CHARS);
  gtk_widget_set_name (self->change, "edits-change");
  self->hint = tessera_sentence_new (
      "Nothing is edited. Select blocks, then choose from the menu Edit, or drag what is "
      "selected up or down on the plan. Each edit is kept with the trace and planned "
      "at once.",
      "quiet");
  gtk_label_set_max_width_chars (GTK_LABEL (self->hint), WIDTH_CHARS);
  gtk_widget_set_name (self->hint, "edits-empty");
  self->list = gtk_list_box_new ();
  gtk_widget_add_css_class (self->list, "edits");
  gtk_widget_set_name (self->list, "edits");
  tessera_set_accessible_label (self->list, "Edits, oldest first");
  g_signal_connect (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  gtk_box_append (GTK_BOX (self), buttons_new ());
  gtk_box_append (GTK_BOX (self), self->change);
  gtk_box_append (GTK_BOX (self), self->hint);
  gtk_box_append (GTK_BOX (self), self->list);
}

GtkWidget *
tessera_edits_view_new (TesseraDocument *document)
{
  TesseraEditsView *self = g_object_new (TESSERA_TYPE_EDITS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
