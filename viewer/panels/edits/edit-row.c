/*
 * An edit in the list of edits. See edit-row.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/edits/edit-row.h"

#include "edits/edits.h"
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

struct _TesseraEditRow
{
  GtkListBoxRow parent_instance;

  TesseraDocument *document;
  size_t index;
  GtkWidget *number;
  GtkWidget *name; /* GtkStack: as it is, or an entry */
};

G_DEFINE_TYPE (TesseraEditRow, tessera_edit_row, GTK_TYPE_LIST_BOX_ROW)

/* --- its name -------------------------------------------------------------------------
 */

static TesseraEditRow *
row_of (GtkWidget *widget)
{
  return TESSERA_EDIT_ROW (gtk_widget_get_ancestor (widget, TESSERA_TYPE_EDIT_ROW));
}

static void
end_rename (GtkWidget *entry, gboolean keep)
{
  TesseraEditRow *self = row_of (entry);
  g_autofree char *text = g_strdup (gtk_editable_get_text (GTK_EDITABLE (entry)));

  if (g_str_equal (gtk_stack_get_visible_child_name (GTK_STACK (self->name)), "name"))
    return;
  gtk_stack_set_visible_child_name (GTK_STACK (self->name), "name");
  gtk_widget_grab_focus (GTK_WIDGET (self));
  if (keep)
    tessera_document_rename_edit (self->document, self->index, text);
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
begin_rename (TesseraEditRow *self)
{
  GtkStack *stack = GTK_STACK (self->name);
  GtkWidget *entry = gtk_stack_get_child_by_name (stack, "entry");

  gtk_editable_set_text (GTK_EDITABLE (entry),
                         tessera_get_tip (gtk_stack_get_child_by_name (stack, "name")));
  gtk_stack_set_visible_child_name (stack, "entry");
  gtk_widget_grab_focus (entry);
}

static void
on_rename_clicked (GtkWidget *button, gpointer unused)
{
  begin_rename (row_of (button));
}

static gboolean
on_rename (GtkWidget *row, GVariant *arguments, gpointer unused)
{
  begin_rename (TESSERA_EDIT_ROW (row));
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

  gtk_label_set_max_width_chars (GTK_LABEL (label), TESSERA_EDITS_WIDTH_CHARS);
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

/* --- what it shows ---------------------------------------------------------------- */

static void
set_class (GtkWidget *row, const char *css_class, gboolean has_it)
{
  if (has_it)
    gtk_widget_add_css_class (row, css_class);
  else
    gtk_widget_remove_css_class (row, css_class);
}

void
tessera_edit_row_show (TesseraEditRow *self, size_t index)
{
  const TesseraDocument *document = self->document;
  gboolean stands = index < tessera_document_n_standing (self->document);
  size_t n_edits;
  const TesseraEdit *edit = &tessera_history_get (document->history, &n_edits)[index];
  g_autofree char *words = tessera_edit_describe (edit);
  g_autofree char *number = g_strdup_printf ("%zu", index + 1);
  g_autofree char *tip = g_strdup_printf (
      "%s\n%s", words, stands ? "Undo what comes after it" : "Redo up to here");

  self->index = index;
  gtk_label_set_text (GTK_LABEL (self->number), number);
  write_name (GTK_STACK (self->name), edit->name);
  tessera_set_tip (GTK_WIDGET (self), tip);
  set_class (GTK_WIDGET (self), "undone", !stands);
  set_class (GTK_WIDGET (self), "conflict",
             index == document->conflict.first || index == document->conflict.second);
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_edit_row_dispose (GObject *object)
{
  g_clear_object (&TESSERA_EDIT_ROW (object)->document);
  G_OBJECT_CLASS (tessera_edit_row_parent_class)->dispose (object);
}

static void
tessera_edit_row_class_init (TesseraEditRowClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_edit_row_dispose;
}

static void
tessera_edit_row_init (TesseraEditRow *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);

  self->number = tessera_label_new ("", "quiet figure");
  self->name = name_new ();
  gtk_widget_set_valign (self->number, GTK_ALIGN_START);
  gtk_box_append (GTK_BOX (box), self->number);
  gtk_box_append (GTK_BOX (box), self->name);
  gtk_box_append (GTK_BOX (box), rename_button_new ());
  gtk_list_box_row_set_child (GTK_LIST_BOX_ROW (self), box);
  add_key (GTK_WIDGET (self), "F2", on_rename);
}

GtkWidget *
tessera_edit_row_new (TesseraDocument *document)
{
  TesseraEditRow *self = g_object_new (TESSERA_TYPE_EDIT_ROW, NULL);

  self->document = g_object_ref (document);
  return GTK_WIDGET (self);
}
