/*
 * All blocks in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/private.h"

#include "db/size-text.h"

typedef struct
{
  TesseraListPanel base;
  TesseraBlockFilter filter; /* its text is ours */
  GArray *list;              /* of blocks that are shown; NULL: none yet */
  gboolean is_asked;         /* for one of what there is now */
  GtkWidget *text;
  GtkWidget *least;
  GtkWidget *most;
  GtkWidget *count;
} Table;

static uint32_t
block_at (const Table *self, guint position)
{
  return g_array_index (self->list, uint32_t, position);
}

static char *
cell_text (gpointer user, guint position, int column)
{
  TesseraData *data = ((Table *) user)->base.panel.document->data;
  uint32_t block = block_at (user, position);

  switch ((TesseraColumn) column)
    {
    case TESSERA_COLUMN_SIZE:
      return g_strdup (TESSERA_SIZE (data->blocks->blocks[block].size_bytes));
    case TESSERA_COLUMN_LIFE:
      return tessera_describe_life (data, block);
    case TESSERA_COLUMN_CLASS:
      return g_strdup (tessera_class_name (data->blocks->blocks[block].lifetime_class));
    case TESSERA_COLUMN_PHASES:
      return tessera_describe_phases (data, block);
    case TESSERA_COLUMN_ADDRESS:
      return tessera_describe_address (data, block);
    case TESSERA_COLUMN_GROUP:
      return tessera_describe_group (data, block);
    case TESSERA_COLUMN_SOURCE:
      return tessera_describe_owner (data, TESSERA_BY_LINE, block);
    default:
      return g_strdup (TESSERA_COUNT (block));
    }
}

/* --- rows ------------------------------------------------------------------------- */

static gboolean
is_selected (gpointer user, guint position)
{
  Table *self = user;

  return tessera_selection_has (self->base.panel.document->selection,
                                block_at (self, position));
}

/* It leads: that is where the person clicked. */
static uint32_t
mark (gpointer user, guint position, uint8_t *is_in)
{
  uint32_t block = block_at (user, position);

  is_in[block] = 1;
  return block;
}

static void
show_count (Table *self)
{
  guint n = self->list != NULL ? self->list->len : 0;
  size_t n_all = self->base.panel.document->data != NULL
                     ? self->base.panel.document->data->blocks->n_blocks
                     : 0;

  tessera_label_set (self->count, "%s%s%s", n != n_all ? TESSERA_COUNT (n) : "",
                     n != n_all ? " of " : "", TESSERA_COUNTED (n_all, "block"));
}

/* To the block that leads, where it is in the list. */
static void
scroll_to_lead (Table *self)
{
  uint32_t lead = self->base.panel.document->selected;

  tessera_row_model_scroll_to (self->base.rows,
                               self->list != NULL && lead != TESSERA_NONE
                                   ? tessera_block_list_find (self->list, lead)
                                   : GTK_INVALID_LIST_POSITION);
}

static void
take_list (Table *self)
{
  GArray *list = self->base.panel.document->list;

  if (list == self->list)
    return;
  g_clear_pointer (&self->list, g_array_unref);
  self->list = list != NULL ? g_array_ref (list) : NULL;
  tessera_row_model_set_length (self->base.rows, list != NULL ? list->len : 0,
                                list != NULL);
  show_count (self);
  scroll_to_lead (self);
}

static void
ask (Table *self)
{
  self->is_asked = gtk_widget_get_mapped (self->base.panel.box);
  if (self->is_asked)
    tessera_document_list_blocks (self->base.panel.document, &self->filter);
}

static void
sort (gpointer user, int column, gboolean down)
{
  Table *self = user;

  self->filter.column = (TesseraColumn) column;
  self->filter.down = down;
  ask (self);
}

static const TesseraRowModelKind row_kind = {
  .name = "block-table",
  .title = "Blocks",
  .empty = "No block matches what the fields above say",
  .columns = {
      [TESSERA_COLUMN_BLOCK] = { "Block", 9, TRUE },
      [TESSERA_COLUMN_SIZE] = { "Size", 11, TRUE },
      [TESSERA_COLUMN_LIFE] = { "Life", 22, TRUE },
      [TESSERA_COLUMN_CLASS] = { "Class", 10 },
      [TESSERA_COLUMN_PHASES] = { "Phases", 14, .is_wide = TRUE },
      [TESSERA_COLUMN_SOURCE] = { "Source", 20, .is_wide = TRUE },
      [TESSERA_COLUMN_GROUP] = { "Group", 20, .is_wide = TRUE },
      [TESSERA_COLUMN_ADDRESS] = { "Address", 15, TRUE },
  },
  .first = TESSERA_COLUMN_SIZE,
  .text = cell_text,
  .is_selected = is_selected,
  .mark = mark,
  .reveals = TRUE,
  .sort = sort,
};

/* --- filter ----------------------------------------------------------------------- */

static uint64_t
entered_bytes (GtkWidget *entry, uint64_t otherwise)
{
  const char *text = gtk_editable_get_text (GTK_EDITABLE (entry));
  uint64_t bytes = otherwise;

  tessera_set_class (entry, "error",
                     *text != '\0' && !tessera_parse_bytes (text, &bytes));
  return bytes;
}

static void
on_filter (Table *self)
{
  g_free ((char *) self->filter.text);
  self->filter.text = g_strdup (gtk_editable_get_text (GTK_EDITABLE (self->text)));
  self->filter.least_bytes = entered_bytes (self->least, 0);
  self->filter.most_bytes = entered_bytes (self->most, UINT64_MAX);
  ask (self);
}

static void
on_map (GtkWidget *box, Table *self)
{
  if (!self->is_asked)
    ask (self);
  scroll_to_lead (self);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Table *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_LIST))
    take_list (self);
  /* Edits of groups change what rows say, and which match. */
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS))
    ask (self);
  if (what & TESSERA_CHANGED_SELECTION)
    {
      tessera_row_model_refresh (self->base.rows);
      scroll_to_lead (self);
    }
}

static GtkWidget *
size_entry_new (Table *self, const char *placeholder, const char *name)
{
  GtkWidget *entry = g_object_new (GTK_TYPE_ENTRY, "name", name, "placeholder-text",
                                   placeholder, "width-chars", 10, "max-width-chars", 10,
                                   "tooltip-text", "A size: 512, 20 MiB, 1.5 GiB", NULL);

  tessera_set_accessible_label (entry, placeholder);
  g_signal_connect_swapped (entry, "changed", G_CALLBACK (on_filter), self);
  return entry;
}

static GtkWidget *
filter_bar_new (Table *self)
{
  self->text = g_object_new (GTK_TYPE_SEARCH_ENTRY, "name", "filter-text",
                             "placeholder-text", "Class, phase, group, function or file",
                             "hexpand", TRUE, "max-width-chars", 44, NULL);
  tessera_set_accessible_label (self->text, "Filter blocks by text");
  g_signal_connect_swapped (self->text, "search-changed", G_CALLBACK (on_filter), self);
  self->least = size_entry_new (self, "size from", "filter-least");
  self->most = size_entry_new (self, "size up to", "filter-most");
  self->count = tessera_named (tessera_label_new ("", "quiet"), "block-count");
  return tessera_row_new (6, self->text, self->least, self->most, self->count, NULL);
}

static void
table_clear (gpointer table)
{
  Table *self = table;

  g_clear_object (&self->base.rows);
  g_clear_pointer (&self->list, g_array_unref);
  g_free ((char *) self->filter.text);
}

GtkWidget *
tessera_table_new (TesseraDocument *document)
{
  Table *self = tessera_panel_new (sizeof *self, document, "table-panel", 6, table_clear);

  g_signal_connect (self->base.panel.box, "map", G_CALLBACK (on_map), self);
  self->filter.most_bytes = UINT64_MAX;
  tessera_list_panel_make (&self->base, &row_kind);
  tessera_panel_add (self, filter_bar_new (self), self->base.note, NULL);
  gtk_widget_add_css_class (self->base.panel.box, "table-panel");
  return tessera_panel_watch (self, on_changed);
}
