/*
 * The columns of the tree of groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-cells.h"

#include "viewer/document/describe.h"
#include "viewer/panels/rows/cell.h"
#include "viewer/panels/sorting.h"

#include <string.h>

struct TesseraGroupCells
{
  TesseraCellKind *kinds[TESSERA_N_TREE_COLUMNS];
  TesseraCellKind *reasons;
};

static const struct
{
  const char *title;
  const char *tip;
  int n_chars; /* that it has room for at least */
} columns[TESSERA_N_TREE_COLUMNS] = {
  [TESSERA_TREE_NAME] = { "Group", "Lifetime class, group, block", 12 },
  [TESSERA_TREE_HEIGHT] = { "Height",
                            "Of a group laid out by itself; of a class, and of part of a "
                            "group, the most bytes alive at once",
                            9 },
  [TESSERA_TREE_PEAK] = { "Peak",
                          "Share of the bytes alive where most is alive in the trace",
                          5 },
  [TESSERA_TREE_BYTES] = { "Bytes", "Asked for, of all its blocks", 9 },
  [TESSERA_TREE_FILLED] = { "Filled",
                            "Time-memory product: share of height × time in use", 4 },
};

static const TesseraGroupRow *
row_of (const TesseraGrouping *grouping, const TesseraNode *node)
{
  return node->kind == TESSERA_NODE_CLASS ? &grouping->classes[node->index]
                                          : &grouping->rows[node->index];
}

/* Its class stands above it already. */
static const char *
short_name (TesseraData *data, uint32_t place)
{
  const char *name = tessera_place_name (data, place);
  const char *class = place < data->n_groups
                          ? tessera_class_name (data->groups[place].lifetime_class)
                          : "";

  if (*class != '\0' && g_str_has_prefix (name, class) &&
      g_str_has_prefix (name + strlen (class), ", "))
    return name + strlen (class) + 2;
  return name;
}

/* Groups made by hand may have blocks of more than one. */
static const char *
class_name (uint32_t lifetime_class)
{
  return lifetime_class == 0 ? "several classes"
                             : tessera_class_name ((uint8_t) lifetime_class);
}

static char *
name_of (const TesseraGrouping *grouping, const TesseraNode *node)
{
  TesseraData *data = grouping->data;
  g_autofree char *n = NULL;

  if (node->kind == TESSERA_NODE_MORE)
    {
      n = tessera_describe_count (node->index);
      return g_strdup_printf ("%s more: Enter lists them", n);
    }
  if (node->kind == TESSERA_NODE_BLOCK)
    {
      g_autofree char *source = tessera_describe_source (data, node->index);

      n = tessera_describe_count (node->index);
      return *source != '\0' ? g_strdup_printf ("%s · %s", n, source)
                             : g_strdup_printf ("block %s", n);
    }
  n = tessera_describe_count (row_of (grouping, node)->n_blocks);
  return g_strdup_printf ("%s (%s)",
                          node->kind == TESSERA_NODE_CLASS
                              ? class_name (node->index)
                              : short_name (data, node->index),
                          n);
}

static char *
describe_share (uint64_t bytes, uint64_t bound_bytes)
{
  return g_strdup_printf ("%.1f %%",
                          100.0 * (double) bytes / (double) MAX (bound_bytes, 1));
}

static char *
cell_of_block (TesseraData *data, uint32_t block, TesseraTreeColumn column)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  switch (column)
    {
    case TESSERA_TREE_HEIGHT:
      return tessera_describe_bytes (b->block_bytes);
    case TESSERA_TREE_BYTES:
      return tessera_describe_bytes (b->size_bytes);
    case TESSERA_TREE_PEAK:
      if (b->born_index > data->bound_index || b->died_index <= data->bound_index)
        return g_strdup ("–");
      return describe_share (b->block_bytes, data->bound_bytes);
    default:
      return g_strdup ("");
    }
}

static char *
cell_of_row (const TesseraGrouping *grouping,
             const TesseraNode *node,
             TesseraTreeColumn column)
{
  const TesseraGroupRow *row = row_of (grouping, node);

  switch (column)
    {
    case TESSERA_TREE_HEIGHT:
      return tessera_describe_bytes (row->height_bytes);
    case TESSERA_TREE_BYTES:
      return tessera_describe_bytes (row->size_bytes);
    case TESSERA_TREE_PEAK:
      return describe_share (row->peak_bytes, grouping->data->bound_bytes);
    case TESSERA_TREE_FILLED:
      return g_strdup_printf ("%.0f %%", row->filled * 100);
    default:
      return g_strdup ("");
    }
}

/* Below the name: why these blocks are together, how long a block lives. */
static char *
reason_of (const TesseraGrouping *grouping, const TesseraNode *node)
{
  if (node->kind == TESSERA_NODE_BLOCK)
    return tessera_describe_life (grouping->data, node->index);
  if (node->kind == TESSERA_NODE_GROUP)
    return g_strdup (tessera_place_reason (grouping->data, node->index));
  return g_strdup ("");
}

static char *
cell_of (const TesseraGrouping *grouping,
         const TesseraNode *node,
         TesseraTreeColumn column)
{
  if (node->kind == TESSERA_NODE_MORE)
    return g_strdup ("");
  if (node->kind == TESSERA_NODE_BLOCK)
    return cell_of_block (grouping->data, node->index, column);
  return cell_of_row (grouping, node, column);
}

/* --- widgets ---------------------------------------------------------------------- */

TesseraGroupCells *
tessera_group_cells_new (void)
{
  TesseraGroupCells *self = g_new0 (TesseraGroupCells, 1);

  for (int i = 0; i < TESSERA_N_TREE_COLUMNS; i++)
    self->kinds[i] = tessera_cell_kind_new (
        &(TesseraCellLook){ .css_class = i == TESSERA_TREE_NAME ? NULL : "figure",
                            .n_chars = columns[i].n_chars,
                            .most_lines = i == TESSERA_TREE_NAME ? 4 : 1,
                            .is_number = i != TESSERA_TREE_NAME,
                            .has_tip = i == TESSERA_TREE_NAME });
  self->reasons = tessera_cell_kind_new (
      &(TesseraCellLook){ .css_class = "reason", .n_chars = 8, .most_lines = 3 });
  return self;
}

void
tessera_group_cells_free (TesseraGroupCells *self)
{
  for (int i = 0; i < TESSERA_N_TREE_COLUMNS; i++)
    tessera_cell_kind_unref (self->kinds[i]);
  tessera_cell_kind_unref (self->reasons);
  g_free (self);
}

/* Its name and, below, its reason. */
static GtkWidget *
names_new (TesseraGroupCells *self)
{
  GtkWidget *expander = gtk_tree_expander_new ();
  GtkWidget *names = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *name = tessera_cell_new (self->kinds[TESSERA_TREE_NAME]);

  gtk_widget_set_name (name, "cell");
  /* All of its column, which is all that expands. */
  gtk_widget_set_hexpand (names, TRUE);
  gtk_widget_set_hexpand (expander, FALSE);
  gtk_box_append (GTK_BOX (names), name);
  gtk_box_append (GTK_BOX (names), tessera_cell_new (self->reasons));
  gtk_tree_expander_set_child (GTK_TREE_EXPANDER (expander), names);
  return expander;
}

GtkWidget *
tessera_group_cells_make (TesseraGroupCells *self, TesseraTreeColumn column)
{
  return column == TESSERA_TREE_NAME ? names_new (self)
                                     : tessera_cell_new (self->kinds[column]);
}

static void
show_names (GtkTreeExpander *expander,
            GtkTreeListRow *row,
            const char *name_text,
            const char *reason_text)
{
  GtkWidget *names = gtk_tree_expander_get_child (expander);
  GtkWidget *name = gtk_widget_get_first_child (names);
  GtkWidget *reason = gtk_widget_get_next_sibling (name);

  gtk_tree_expander_set_list_row (expander, row);
  /* Its arrow stands beside the first line. */
  for (GtkWidget *w = gtk_widget_get_first_child (GTK_WIDGET (expander)); w != names;
       w = gtk_widget_get_next_sibling (w))
    gtk_widget_set_valign (w, GTK_ALIGN_START);
  tessera_cell_set_text (TESSERA_CELL (name), name_text);
  tessera_cell_set_text (TESSERA_CELL (reason), reason_text);
  gtk_widget_set_visible (reason, *reason_text != '\0');
}

void
tessera_group_cells_show (GtkWidget *cell,
                          const TesseraGrouping *grouping,
                          GtkTreeListRow *row,
                          TesseraTreeColumn column)
{
  g_autoptr (TesseraNode) node = row != NULL ? gtk_tree_list_row_get_item (row) : NULL;
  g_autofree char *text = NULL;

  if (column != TESSERA_TREE_NAME)
    {
      text = node != NULL ? cell_of (grouping, node, column) : g_strdup ("");
      tessera_cell_set_text (TESSERA_CELL (cell), text);
      return;
    }
  text = node != NULL ? name_of (grouping, node) : g_strdup ("");
  {
    g_autofree char *reason = node != NULL ? reason_of (grouping, node) : g_strdup ("");

    show_names (GTK_TREE_EXPANDER (cell), row, text, reason);
  }
}

void
tessera_group_cells_add (TesseraRowList *rows, GtkColumnView *view)
{
  for (int i = 0; i < TESSERA_N_TREE_COLUMNS; i++)
    {
      GtkColumnViewColumn *column =
          tessera_row_list_add_column (rows, columns[i].title, i);

      tessera_sorting_add (column, i);
      gtk_column_view_column_set_resizable (column, TRUE);
      gtk_column_view_column_set_expand (column, i == TESSERA_TREE_NAME);
      if (i == TESSERA_TREE_HEIGHT)
        gtk_column_view_sort_by_column (view, column, GTK_SORT_DESCENDING);
    }
}
