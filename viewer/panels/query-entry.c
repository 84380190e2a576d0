/*
 * The field that queries are typed into.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/private.h"

#include <string.h>

#define WIDTH_CHARS 50

typedef struct
{
  TesseraPanel panel;
  GtkWidget *entry;
  GtkWidget *help; /* menu button */
  GtkWidget *error;
  GtkWidget *count;
  GtkWidget *select;
} Query;

static const struct
{
  const char *example;
  const char *meaning;
} conditions[] = {
  { "size>=1MiB", "bytes asked for: < <= = >= >" },
  { "life<100", "events from birth to death" },
  { "phase=backward", "phase of birth, or one around it" },
  { "died=optimizer", "phase of death" },
  { "module=*mlp*", "module of birth; * is any text" },
  { "class=transient", "persistent, scoped, transient, dynamic" },
  { "group=\"forward*\"", "name of its group" },
  { "step=3", "step of birth" },
  { "stream=1", "stream" },
  { "source=train.py:12", "line, file or function of its stack" },
  { "alive=12345", "alive at this event" },
  { "ordinal=0", "place among its equals in a step" },
  { "blocks=3,7-9", "just these, by number" },
};

static const char *
text_of (Query *self)
{
  return gtk_editable_get_text (GTK_EDITABLE (self->entry));
}

static void
on_search (Query *self)
{
  tessera_document_set_query (self->panel.document, text_of (self));
}

static void
on_select (Query *self)
{
  if (*text_of (self) != '\0')
    tessera_document_select_query (self->panel.document, text_of (self));
}

static void
on_stop (Query *self)
{
  gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
}

/* Puts an example behind what is there, its value selected to be written over. */
static void
on_example (GtkButton *button, Query *self)
{
  const char *example = gtk_widget_get_name (GTK_WIDGET (button));
  const char *before = text_of (self);
  gboolean is_apart = *before == '\0' || g_str_has_suffix (before, " ");
  g_autofree char *text = g_strconcat (before, is_apart ? "" : " ", example, NULL);
  int end = (int) g_utf8_strlen (text, -1);
  int n_value = (int) strlen (example) - (int) strcspn (example, "<>=");

  n_value -= (int) strspn (example + strcspn (example, "<>="), "<>=");
  gtk_menu_button_popdown (GTK_MENU_BUTTON (self->help));
  gtk_editable_set_text (GTK_EDITABLE (self->entry), text);
  gtk_widget_grab_focus (self->entry);
  gtk_editable_select_region (GTK_EDITABLE (self->entry), end - n_value, end);
}

static void
show_count (Query *self)
{
  const TesseraGrouping *grouping = self->panel.document->grouping;
  gboolean is_query = self->panel.document->query != NULL;
  const char *all;
  uint32_t n_groups = 0;

  gtk_widget_set_visible (self->select, is_query);
  if (grouping == NULL)
    {
      tessera_label_set (self->count, "%s", "");
      return;
    }
  for (size_t i = 0; i < grouping->data->n_groups; i++)
    n_groups += grouping->rows[i].n_blocks > 0;
  all = TESSERA_COUNTED (grouping->data->blocks->n_blocks, "block");
  if (is_query)
    tessera_label_set (self->count, "%s of %s",
                       TESSERA_COUNT (grouping->begin[grouping->n_places]), all);
  else
    tessera_label_set (self->count, "%s, %s", TESSERA_COUNTED (n_groups, "group"), all);
  gtk_widget_set_sensitive (self->select, grouping->begin[grouping->n_places] > 0);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Query *self = user;
  const char *error = document->query_error;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS)))
    return;
  if (what & TESSERA_CHANGED_TRACE)
    on_stop (self);
  gtk_label_set_text (GTK_LABEL (self->error), error != NULL ? error : "");
  gtk_widget_set_visible (self->error, error != NULL);
  tessera_set_class (self->entry, "error", error != NULL);
  gtk_accessible_update_state (
      GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_STATE_INVALID,
      error != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
  show_count (self);
}

static GtkWidget *
help_new (Query *self)
{
  GtkWidget *popover = gtk_popover_new ();
  GtkWidget *grid = tessera_grid_new (8, 0);
  GtkWidget *head =
      tessera_heading_new ("Conditions. Of several, with blanks between, all must hold");

  gtk_widget_add_css_class (head, "conditions-head");
  gtk_grid_attach (GTK_GRID (grid), head, 0, 0, 2, 1);
  for (size_t i = 0; i < G_N_ELEMENTS (conditions); i++)
    {
      const char *example = conditions[i].example;
      GtkWidget *button =
          tessera_button_new (example, NULL, example, "flat small legend-row", NULL);

      gtk_label_set_xalign (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (button))), 0);
      g_signal_connect (button, "clicked", G_CALLBACK (on_example), self);
      tessera_grid_add (grid, (int) i + 1, button,
                        tessera_label_new (conditions[i].meaning, "quiet"), NULL);
    }
  gtk_popover_set_child (GTK_POPOVER (popover), grid);
  self->help = g_object_new (GTK_TYPE_MENU_BUTTON, "icon-name", "tessera-help-symbolic",
                             "popover", popover, "tooltip-text", "What can be asked",
                             "name", "query-help", NULL);
  tessera_set_accessible_label (self->help, "What can be asked");
  return self->help;
}

GtkWidget *
tessera_query_entry_new (TesseraDocument *document)
{
  Query *self = tessera_panel_new (sizeof *self, document, "query", 4, NULL);
  GtkWidget *top;

  /* The panel is as wide as this, in any size of text, and the tree has room. */
  self->entry = g_object_new (
      GTK_TYPE_SEARCH_ENTRY, "name", "group-query", "placeholder-text",
      "size>=1MiB phase=forward", "hexpand", TRUE, "width-chars", WIDTH_CHARS,
      "tooltip-text", "Shows groups with blocks like these; Enter selects them", NULL);
  tessera_set_accessible_label (self->entry, "Blocks to look for");
  top = tessera_row_new (0, self->entry, help_new (self), NULL);
  gtk_widget_add_css_class (top, "linked");
  self->error = tessera_named (tessera_sentence_new ("", "query-error"), "query-error");
  self->count = tessera_named (tessera_label_new ("", "quiet"), "group-count");
  gtk_widget_set_hexpand (self->count, TRUE);
  self->select = tessera_button_new ("Select matches", NULL, "select-matches", "small",
                                     "Select all blocks that match (Enter)");
  tessera_panel_add (self, top, self->error,
                     tessera_row_new (6, self->count, self->select, NULL), NULL);
  g_signal_connect_swapped (self->entry, "search-changed", G_CALLBACK (on_search), self);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_select), self);
  g_signal_connect_swapped (self->entry, "stop-search", G_CALLBACK (on_stop), self);
  g_signal_connect_swapped (self->select, "clicked", G_CALLBACK (on_select), self);
  return tessera_panel_watch (self, on_changed);
}
