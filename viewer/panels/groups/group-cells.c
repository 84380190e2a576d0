/*
 * The columns of the tree of groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-cells.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

#include <string.h>

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
                            11 },
  [TESSERA_TREE_PEAK] = { "Peak",
                          "Share of the bytes alive where most is alive in the trace",
                          7 },
  [TESSERA_TREE_BYTES] = { "Bytes", "Asked for, of all its blocks", 11 },
  [TESSERA_TREE_FILLED] = { "Filled",
                            "Time-memory product: share of height × time in use", 6 },
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

/* Its name and, below, its reason. */
static GtkWidget *
names_new (void)
{
  GtkWidget *expander = gtk_tree_expander_new ();
  GtkWidget *names = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *name = tessera_name_new ("cell", NULL, 4), *reason;

  gtk_label_set_width_chars (GTK_LABEL (name), columns[TESSERA_TREE_NAME].n_chars);
  /* All of its column, which is all that expands. */
  gtk_widget_set_hexpand (names, TRUE);
  gtk_widget_set_hexpand (expander, FALSE);
  gtk_box_append (GTK_BOX (names), name);
  reason = tessera_cell_new (8, FALSE);
  gtk_widget_add_css_class (reason, "reason");
  gtk_box_append (GTK_BOX (names), reason);
  gtk_tree_expander_set_child (GTK_TREE_EXPANDER (expander), names);
  return expander;
}

GtkWidget *
tessera_group_cells_make (TesseraTreeColumn column)
{
  return column == TESSERA_TREE_NAME ? names_new ()
                                     : tessera_cell_new (columns[column].n_chars, TRUE);
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
  tessera_name_set (name, name_text);
  gtk_inscription_set_text (GTK_INSCRIPTION (reason), reason_text);
  tessera_set_tip (name, name_text);
  gtk_widget_set_visible (reason, *reason_text != '\0');
}

void
tessera_group_cells_show (GtkWidget *cell,
                          const TesseraGrouping *grouping,
                          GtkTreeListRow *row,
                          TesseraTreeColumn column)
{
  g_autoptr (TesseraNode) node = gtk_tree_list_row_get_item (row);
  g_autofree char *text = column == TESSERA_TREE_NAME ? name_of (grouping, node)
                                                      : cell_of (grouping, node, column);
  g_autofree char *reason = reason_of (grouping, node);

  if (column == TESSERA_TREE_NAME)
    show_names (GTK_TREE_EXPANDER (cell), row, text, reason);
  else
    gtk_inscription_set_text (GTK_INSCRIPTION (cell), text);
}

void
tessera_group_cells_add (TesseraRowModel *rows, GtkColumnView *view)
{
  for (int i = 0; i < TESSERA_N_TREE_COLUMNS; i++)
    {
      GtkColumnViewColumn *column =
          tessera_row_model_add_column (rows, columns[i].title, i);

      gtk_column_view_column_set_expand (column, i == TESSERA_TREE_NAME);
      if (i == TESSERA_TREE_HEIGHT)
        gtk_column_view_sort_by_column (view, column, GTK_SORT_DESCENDING);
    }
}
