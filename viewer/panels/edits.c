/*
 * The history: what was edited, in words; how far it is undone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "edits/edits.h"

/* Of what wraps: else the panel would be as wide as its longest line. */
#define WIDTH_CHARS 24

typedef struct
{
  TesseraPanel panel;
  GtkWidget *change;
  GtkWidget *list; /* GtkListBox: the beginning, then an edit a row */
  size_t n_rows;   /* of edits */
  GtkWidget *hint;
} Edits;

char *
tessera_describe_change (TesseraDocument *document)
{
  const TesseraFollowed *planned = document->planned;
  const uint64_t former = document->former_bytes;
  const char *before = TESSERA_SIZE (former);
  uint64_t peak, beside;
  GString *text;

  if (planned == NULL || former == 0 || document->conflict.first != TESSERA_NONE)
    return NULL;
  if (planned->request.generation != document->request.generation)
    return g_strdup_printf ("Peak reserved %s before the change; %s", before,
                            document->jobs[TESSERA_WORK_PLAN] != NULL
                                ? "planning…"
                                : "not planned again yet");
  peak = tessera_followed_peak_bytes (planned, &beside);
  text = g_string_new ("Peak reserved ");
  /* By less than what both are written with. */
  if (!g_str_equal (before, TESSERA_SIZE (peak)))
    g_string_append_printf (text, "%s → ", before);
  g_string_append (text, TESSERA_SIZE (peak));
  if (planned->request.is_preview)
    g_string_append (text, " (preview)");
  else if (planned->plan->cut_short)
    g_string_append (text, " (cut short)");
  if (former == peak)
    g_string_append (text, ", as before");
  else
    g_string_append_printf (text, ", the change %s %s", former > peak ? "wins" : "costs",
                            TESSERA_SIZE (MAX (former, peak) - MIN (former, peak)));
  if (beside != 0)
    g_string_append_printf (text, "; %s of it outside the pool", TESSERA_SIZE (beside));
  g_string_append_printf (text, "; bound %s",
                          TESSERA_SIZE (tessera_document_bound (document)));
  return g_string_free (text, FALSE);
}

/* --- an edit: its number, its name, a button to change that ----------------------- */

typedef struct
{
  Edits *edits;
  GtkWidget *row;
  GtkWidget *number;
  GtkWidget *name;
  GtkWidget *rename; /* GtkMenuButton */
  GtkWidget *entry;  /* of its popover */
} Row;

static const char row_key[] = "row";

static Row *
row_of (GtkWidget *widget)
{
  return g_object_get_data (
      G_OBJECT (gtk_widget_get_ancestor (widget, GTK_TYPE_LIST_BOX_ROW)), row_key);
}

/* Of the edit. */
static size_t
index_of (const Row *self)
{
  return (size_t) gtk_list_box_row_get_index (GTK_LIST_BOX_ROW (self->row)) - 1;
}

static void
on_entry_activate (Row *self)
{
  tessera_document_rename_edit (self->edits->panel.document, index_of (self),
                                gtk_editable_get_text (GTK_EDITABLE (self->entry)));
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->rename));
}

static void
show_old_name (Row *self)
{
  const char *name = gtk_widget_get_tooltip_text (self->name);

  gtk_editable_set_text (GTK_EDITABLE (self->entry), name != NULL ? name : "");
}

static gboolean
on_rename (GtkWidget *row, GVariant *arguments, gpointer unused)
{
  gtk_menu_button_popup (GTK_MENU_BUTTON (row_of (row)->rename));
  return TRUE;
}

static void
make_rename (Row *self)
{
  GtkWidget *popover = gtk_popover_new ();

  self->entry = tessera_named (gtk_entry_new (), "edit-name");
  gtk_editable_set_width_chars (GTK_EDITABLE (self->entry), WIDTH_CHARS);
  tessera_set_accessible_label (self->entry, "Name of the edit");
  gtk_popover_set_child (GTK_POPOVER (popover), self->entry);
  self->rename = g_object_new (
      GTK_TYPE_MENU_BUTTON, "icon-name", "document-edit-symbolic", "popover", popover,
      "tooltip-text", "Rename (F2)", "has-frame", FALSE, "valign", GTK_ALIGN_START, NULL);
  gtk_widget_add_css_class (self->rename, "small");
  tessera_set_accessible_label (self->rename, "Rename (F2)");
  g_signal_connect_swapped (popover, "show", G_CALLBACK (show_old_name), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_entry_activate),
                            self);
}

static void
show_row (Row *self)
{
  TesseraDocument *document = self->edits->panel.document;
  size_t n_edits, index = index_of (self);
  gboolean stands = index < tessera_document_n_standing (document);
  const TesseraEdit *edit = &tessera_history_get (document->history, &n_edits)[index];
  g_autofree char *words = tessera_edit_describe (edit);

  tessera_label_set (self->number, "%zu", index + 1);
  tessera_name_set (self->name, edit->name);
  tessera_set_tip_of (self->row, "%s\n%s", words,
                      stands ? "Undo what comes after it" : "Redo up to here");
  tessera_set_class (self->row, "undone", !stands);
  tessera_set_class (self->row, "conflict",
                     index == document->conflict.first ||
                         index == document->conflict.second);
}

static GtkWidget *
row_new (Edits *edits)
{
  Row *self = g_new0 (Row, 1);

  self->edits = edits;
  self->row = gtk_list_box_row_new ();
  self->number = tessera_label_new ("", "quiet figure");
  self->name = tessera_name_new ("edit-title", NULL, 6);
  gtk_label_set_max_width_chars (GTK_LABEL (self->name), WIDTH_CHARS);
  gtk_widget_set_hexpand (self->name, TRUE);
  make_rename (self);
  gtk_widget_set_valign (self->number, GTK_ALIGN_START);
  gtk_list_box_row_set_child (
      GTK_LIST_BOX_ROW (self->row),
      tessera_row_new (8, self->number, self->name, self->rename, NULL));
  g_object_set_data_full (G_OBJECT (self->row), row_key, self, g_free);
  tessera_add_key (self->row, "F2", on_rename);
  return self->row;
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

/* --- the list --------------------------------------------------------------------- */

static GtkListBoxRow *
row_at (Edits *self, size_t position)
{
  return gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), (int) position);
}

/* Rows stay, each the place of an edit: what stands in them is written anew. */
static void
show_rows (Edits *self)
{
  size_t n = tessera_document_n_edits (self->panel.document);

  for (; self->n_rows < n; self->n_rows++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), row_new (self));
  for (; self->n_rows > n; self->n_rows--)
    gtk_list_box_remove (GTK_LIST_BOX (self->list),
                         GTK_WIDGET (row_at (self, self->n_rows)));
  for (size_t i = 1; i <= n; i++)
    show_row (row_of (GTK_WIDGET (row_at (self, i))));
  gtk_widget_set_visible (self->list, n > 0);
  gtk_widget_set_visible (self->hint, n == 0);
  gtk_list_box_select_row (
      GTK_LIST_BOX (self->list),
      row_at (self, tessera_document_n_standing (self->panel.document)));
}

void
tessera_edits_view_show (GtkWidget *view, size_t index)
{
  Edits *self = tessera_panel_of (view);

  if (index < self->n_rows)
    gtk_widget_grab_focus (GTK_WIDGET (row_at (self, index + 1)));
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, Edits *self)
{
  tessera_document_go_to_edits (self->panel.document,
                                (size_t) gtk_list_box_row_get_index (row));
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Edits *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_EDITS |
              TESSERA_CHANGED_WORK))
    {
      g_autofree char *change = tessera_describe_change (document);

      gtk_label_set_text (GTK_LABEL (self->change), change != NULL ? change : "");
      gtk_widget_set_visible (self->change, change != NULL);
    }
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_EDITS))
    show_rows (self);
}

/* GTK holds on to a row that had the focus in it, if it goes with its list. */
static void
on_destroy (GtkWidget *box, Edits *self)
{
  for (; self->n_rows > 0; self->n_rows--)
    gtk_list_box_remove (GTK_LIST_BOX (self->list),
                         GTK_WIDGET (row_at (self, self->n_rows)));
}

static GtkWidget *
button_new (const char *icon, const char *action, const char *tip)
{
  return tessera_button_new (icon, action, NULL, NULL, tip);
}

static GtkWidget *
sentence_new (const char *name, const char *text, const char *css_class)
{
  GtkWidget *sentence = tessera_sentence_new (text, css_class);

  gtk_label_set_max_width_chars (GTK_LABEL (sentence), WIDTH_CHARS);
  return tessera_named (sentence, name);
}

GtkWidget *
tessera_edits_view_new (TesseraDocument *document)
{
  Edits *self = tessera_panel_new (sizeof *self, document, "edits-panel", 10, NULL);
  GtkWidget *buttons = tessera_row_new (
      0, button_new ("edit-undo-symbolic", "win.undo", "Undo (Ctrl+Z)"),
      button_new ("edit-redo-symbolic", "win.redo", "Redo (Ctrl+Shift+Z)"),
      button_new ("document-open-symbolic", "win.open-edits", "Add edits from a file"),
      button_new ("document-save-symbolic", "win.save-edits",
                  "Write the edits to a file"),
      NULL);

  gtk_widget_add_css_class (buttons, "linked");
  self->change = sentence_new ("edits-change", "", NULL);
  self->hint = sentence_new (
      "edits-empty",
      "Nothing is edited. Select blocks, then choose from the menu Edit, or drag what is "
      "selected up or down on the plan. Each edit is kept with the trace and planned "
      "at once.",
      "quiet");
  self->list = tessera_named (gtk_list_box_new (), "edits");
  gtk_widget_add_css_class (self->list, "edits");
  tessera_set_accessible_label (self->list, "Edits, oldest first");
  g_signal_connect (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  g_signal_connect (self->panel.box, "destroy", G_CALLBACK (on_destroy), self);
  gtk_list_box_append (GTK_LIST_BOX (self->list), beginning_new ());
  tessera_panel_add (self, buttons, self->change, self->hint, self->list, NULL);
  return tessera_panel_watch (self, on_changed);
}
