/*
 * The history: what was edited, in words; how far it is undone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/edits/edits.h"

#include "viewer/model/document.h"
#include "viewer/panels/edits/edit-row.h"
#include "viewer/kit/kit.h"

/* At most in the list: GTK makes, styles and lays out every row, seen or not, for 1 ms
 * each in all. */
#define MOST_ROWS 40

struct _TesseraEditsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *change;
  GtkWidget *earlier; /* buttons: there are more than are in the list */
  GtkWidget *later;
  GtkWidget *list; /* GtkListBox: the beginning, then an edit a row */
  size_t first;    /* edit in it */
  size_t n_rows;   /* made; at least as many as are wanted */
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
      return g_strdup_printf ("Peak reserved %s before the change; %s", before,
                              document->jobs[TESSERA_WORK_PLAN] != NULL
                                  ? "planning…"
                                  : "not planned again yet");
    }
  peak = tessera_followed_peak_bytes (planned, &beside);
  before = tessera_describe_bytes (former);
  after = tessera_describe_bytes (peak);
  bound = tessera_describe_bytes (tessera_document_bound (document));
  difference = former > peak ? former - peak : peak - former;
  text = g_string_new ("Peak reserved ");
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

static size_t
n_rows_wanted (TesseraEditsView *self)
{
  size_t n_edits = tessera_document_n_edits (self->document);

  return MIN (n_edits - MIN (self->first, n_edits), MOST_ROWS);
}

/* The row of the edit @index, which is one of those in the list. */
static GtkListBoxRow *
row_of (TesseraEditsView *self, size_t index)
{
  return gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list),
                                        (int) (index - self->first) + 1);
}

static void
make_rows (TesseraEditsView *self)
{
  for (size_t n = n_rows_wanted (self); self->n_rows < n; self->n_rows++)
    {
      GtkWidget *row = tessera_edit_row_new (self->document);

      tessera_edit_row_show (TESSERA_EDIT_ROW (row), self->first + self->n_rows);
      gtk_list_box_append (GTK_LIST_BOX (self->list), row);
    }
}

static void
show_standing (TesseraEditsView *self)
{
  size_t n = tessera_document_n_standing (self->document);
  GtkListBox *list = GTK_LIST_BOX (self->list);

  if (n == 0 || (n > self->first && n <= self->first + self->n_rows))
    gtk_list_box_select_row (list, n == 0 ? gtk_list_box_get_row_at_index (list, 0)
                                          : row_of (self, n - 1));
  else
    gtk_list_box_unselect_all (list);
}

static void
write_more (GtkWidget *button, size_t n, const char *where)
{
  g_autofree char *text = g_strdup_printf ("%zu %s edit%s", n, where, n == 1 ? "" : "s");

  gtk_button_set_label (GTK_BUTTON (button), text);
  gtk_widget_set_visible (button, n > 0);
}

/* Rows stay, each the place of an edit: what stands in them is written anew. To destroy
 * forty takes 10 ms: those that nothing stands in are hidden. */
static void
refresh (TesseraEditsView *self)
{
  size_t n_edits = tessera_document_n_edits (self->document), n;
  GtkListBox *list = GTK_LIST_BOX (self->list);

  n = n_rows_wanted (self);
  gtk_widget_set_visible (self->list, n_edits > 0);
  gtk_widget_set_visible (self->hint, n_edits == 0);
  gtk_widget_set_visible (GTK_WIDGET (gtk_list_box_get_row_at_index (list, 0)),
                          self->first == 0);
  write_more (self->earlier, self->first, "earlier");
  write_more (self->later, n_edits - self->first - n, "later");
  for (size_t i = 0; i < self->n_rows; i++)
    {
      GtkListBoxRow *row = row_of (self, self->first + i);

      gtk_widget_set_visible (GTK_WIDGET (row), i < n);
      if (i < n)
        tessera_edit_row_show (TESSERA_EDIT_ROW (row), self->first + i);
    }
  make_rows (self);
  show_standing (self);
}

/* The list shows @index, and what is around it where it did not before. */
static void
go_to (TesseraEditsView *self, size_t index)
{
  size_t n_edits = tessera_document_n_edits (self->document);
  size_t last = n_edits - MIN (n_edits, MOST_ROWS);

  if (index < self->first || index >= self->first + MOST_ROWS)
    self->first = index - MIN (index, MOST_ROWS / 2);
  self->first = MIN (self->first, last);
}

void
tessera_edits_view_show (TesseraEditsView *self, size_t index)
{
  if (index >= tessera_document_n_edits (self->document))
    return;
  go_to (self, index);
  refresh (self);
  gtk_widget_grab_focus (GTK_WIDGET (row_of (self, index)));
}

static void
on_earlier (GtkWidget *button, TesseraEditsView *self)
{
  self->first -= MIN (self->first, MOST_ROWS);
  refresh (self);
}

static void
on_later (GtkWidget *button, TesseraEditsView *self)
{
  go_to (self, self->first + MOST_ROWS + MOST_ROWS / 2);
  refresh (self);
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, TesseraEditsView *self)
{
  size_t n = (size_t) gtk_list_box_row_get_index (row);

  tessera_document_go_to_edits (self->document, n == 0 ? 0 : self->first + n);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraEditsView *self = user;
  size_t n_standing = tessera_document_n_standing (document);

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_EDITS |
              TESSERA_CHANGED_WORK))
    {
      g_autofree char *change = tessera_describe_change (document);

      gtk_label_set_text (GTK_LABEL (self->change), change != NULL ? change : "");
      gtk_widget_set_visible (self->change, change != NULL);
    }
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_EDITS))
    {
      go_to (self, n_standing - MIN (n_standing, 1));
      refresh (self);
    }
}

static void
tessera_edits_view_dispose (GObject *object)
{
  TesseraEditsView *self = TESSERA_EDITS_VIEW (object);

  /* GTK holds on to a row that had the focus in it, if it goes with its list. */
  for (; self->n_rows > 0; self->n_rows--)
    gtk_list_box_remove (GTK_LIST_BOX (self->list),
                         GTK_WIDGET (gtk_list_box_get_row_at_index (
                             GTK_LIST_BOX (self->list), (int) self->n_rows)));
  g_clear_object (&self->document);
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

static GtkWidget *
more_new (const char *name, GCallback clicked, TesseraEditsView *self)
{
  GtkWidget *button = gtk_button_new_with_label ("");

  gtk_button_set_has_frame (GTK_BUTTON (button), FALSE);
  gtk_widget_add_css_class (button, "small");
  gtk_widget_set_name (button, name);
  g_signal_connect (button, "clicked", clicked, self);
  return button;
}

static void
tessera_edits_view_init (TesseraEditsView *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 10);
  self->change = tessera_sentence_new ("", NULL);
  gtk_label_set_max_width_chars (GTK_LABEL (self->change), TESSERA_EDITS_WIDTH_CHARS);
  gtk_widget_set_name (self->change, "edits-change");
  self->hint = tessera_sentence_new (
      "Nothing is edited. Select blocks, then choose from the menu Edit, or drag what is "
      "selected up or down on the plan. Each edit is kept with the trace and planned "
      "at once.",
      "quiet");
  gtk_label_set_max_width_chars (GTK_LABEL (self->hint), TESSERA_EDITS_WIDTH_CHARS);
  gtk_widget_set_name (self->hint, "edits-empty");
  self->list = gtk_list_box_new ();
  gtk_widget_add_css_class (self->list, "edits");
  gtk_widget_set_name (self->list, "edits");
  tessera_set_accessible_label (self->list, "Edits, oldest first");
  g_signal_connect (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  gtk_list_box_append (GTK_LIST_BOX (self->list), beginning_new ());
  self->earlier = more_new ("edits-earlier", G_CALLBACK (on_earlier), self);
  self->later = more_new ("edits-later", G_CALLBACK (on_later), self);
  gtk_box_append (GTK_BOX (self), buttons_new ());
  gtk_box_append (GTK_BOX (self), self->change);
  gtk_box_append (GTK_BOX (self), self->hint);
  gtk_box_append (GTK_BOX (self), self->earlier);
  gtk_box_append (GTK_BOX (self), self->list);
  gtk_box_append (GTK_BOX (self), self->later);
}

GtkWidget *
tessera_edits_view_new (TesseraDocument *document)
{
  TesseraEditsView *self = g_object_new (TESSERA_TYPE_EDITS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
