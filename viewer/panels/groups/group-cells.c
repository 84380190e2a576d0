/*
 * The columns of the tree of groups.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-cells.h"

#include "viewer/document/describe.h"
#include "viewer/panels/sorting.h"
#include "viewer/window/ui.h"

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
                            9 },
  [TESSERA_TREE_PEAK] = { "Peak", "Share of the bytes alive at the trace's peak", 5 },
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

/* Its name and, below, its reason. */
static GtkWidget *
names_new (void)
{
  GtkWidget *expander = gtk_tree_expander_new ();
  GtkWidget *names = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *name = tessera_name_new ("cell", NULL, 4);

  gtk_label_set_width_chars (GTK_LABEL (name), columns[TESSERA_TREE_NAME].n_chars);
  gtk_box_append (GTK_BOX (names), name);
  gtk_box_append (GTK_BOX (names), tessera_sentence_new ("", "reason"));
  gtk_tree_expander_set_child (GTK_TREE_EXPANDER (expander), names);
  return expander;
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  TesseraTreeColumn column = GPOINTER_TO_INT (user);
  GtkWidget *label;

  if (column == TESSERA_TREE_NAME)
    {
      gtk_list_item_set_child (item, names_new ());
      return;
    }
  label = tessera_label_new ("", "figure");
  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_widget_set_valign (label, GTK_ALIGN_START);
  gtk_label_set_width_chars (GTK_LABEL (label), columns[column].n_chars);
  gtk_list_item_set_child (item, label);
}

static void
show_names (GtkTreeExpander *expander,
            GtkTreeListRow *row,
            const TesseraGrouping *grouping,
            const TesseraNode *node)
{
  GtkWidget *names = gtk_tree_expander_get_child (expander);
  GtkWidget *name = gtk_widget_get_first_child (names);
  GtkWidget *reason = gtk_widget_get_next_sibling (name);
  g_autofree char *name_text = name_of (grouping, node);
  g_autofree char *reason_text = reason_of (grouping, node);

  gtk_tree_expander_set_list_row (expander, row);
  /* Its arrow stands beside the first line. */
  for (GtkWidget *w = gtk_widget_get_first_child (GTK_WIDGET (expander)); w != names;
       w = gtk_widget_get_next_sibling (w))
    gtk_widget_set_valign (w, GTK_ALIGN_START);
  tessera_name_set (name, name_text);
  tessera_cell_set_tip (name, name_text);
  gtk_label_set_text (GTK_LABEL (reason), reason_text);
  gtk_widget_set_visible (reason, *reason_text != '\0');
}

static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  TesseraDocument *document = g_object_get_data (G_OBJECT (factory), "document");
  GtkTreeListRow *row = gtk_list_item_get_item (item);
  g_autoptr (TesseraNode) node = gtk_tree_list_row_get_item (row);
  GtkWidget *child = gtk_list_item_get_child (item);
  g_autofree char *text = NULL;

  if (document->grouping == NULL)
    return;
  if (GTK_IS_TREE_EXPANDER (child))
    {
      show_names (GTK_TREE_EXPANDER (child), row, document->grouping, node);
      return;
    }
  text = cell_of (document->grouping, node, GPOINTER_TO_INT (user));
  gtk_label_set_text (GTK_LABEL (child), text);
}

static void
on_unbind (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer user)
{
  GtkWidget *child = gtk_list_item_get_child (item);

  if (GTK_IS_TREE_EXPANDER (child))
    gtk_tree_expander_set_list_row (GTK_TREE_EXPANDER (child), NULL);
}

void
tessera_group_cells_add (GtkColumnView *view, TesseraDocument *document)
{
  for (int i = 0; i < TESSERA_N_TREE_COLUMNS; i++)
    {
      GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
      GtkColumnViewColumn *column =
          gtk_column_view_column_new (columns[i].title, factory);

      g_object_set_data_full (G_OBJECT (factory), "document", g_object_ref (document),
                              g_object_unref);
      g_signal_connect (factory, "setup", G_CALLBACK (on_setup), GINT_TO_POINTER (i));
      g_signal_connect (factory, "bind", G_CALLBACK (on_bind), GINT_TO_POINTER (i));
      g_signal_connect (factory, "unbind", G_CALLBACK (on_unbind), NULL);
      tessera_sorting_add (column, i);
      gtk_column_view_column_set_resizable (column, TRUE);
      gtk_column_view_column_set_expand (column, i == TESSERA_TREE_NAME);
      gtk_column_view_append_column (view, column);
      if (i == TESSERA_TREE_HEIGHT)
        gtk_column_view_sort_by_column (view, column, GTK_SORT_DESCENDING);
      g_object_unref (column); /* the view's */
    }
}
