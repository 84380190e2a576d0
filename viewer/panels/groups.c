/*
 * Lifetime classes, the groups that the planner keeps together, and their blocks, as a
 * tree: sort by any column, filter by a query, select both ways.
 *
 * Nothing is counted while nobody looks: the grouping is asked for when the panel is
 * first seen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/private.h"

#include <string.h>

/* From level to level, in pixels: an arrow. */
#define INDENT 16
#define NAME_CHARS 12

typedef struct
{
  TesseraListPanel base;
  TesseraGroupTree *tree; /* NULL: nothing to show */
  TesseraTreeColumn column;
  gboolean down;
} Groups;

/* --- cells ------------------------------------------------------------------------ */

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
class_name (uint8_t lifetime_class)
{
  return lifetime_class == 0 ? "several classes" : tessera_class_name (lifetime_class);
}

static char *
name_of (const TesseraGrouping *grouping, TesseraNode node)
{
  TesseraData *data = grouping->data;
  TesseraGroupRow row = tessera_node_row (grouping, node);
  const char *index = TESSERA_COUNT (node.index);

  if (node.kind == TESSERA_NODE_BLOCK)
    {
      g_autofree char *source =
          tessera_describe_owner (data, TESSERA_BY_LINE, node.index);

      return *source != '\0' ? g_strdup_printf ("%s · %s", index, source)
                             : g_strdup_printf ("block %s", index);
    }
  return g_strdup_printf ("%s (%s)",
                          node.kind == TESSERA_NODE_CLASS
                              ? class_name (row.lifetime_class)
                              : short_name (data, node.index),
                          TESSERA_COUNT (row.n_blocks));
}

/* Below the name: why these blocks are together, how long a block lives. */
static char *
reason_of (const TesseraGrouping *grouping, TesseraNode node)
{
  if (node.kind == TESSERA_NODE_BLOCK)
    return tessera_describe_life (grouping->data, node.index);
  if (node.kind == TESSERA_NODE_GROUP)
    return g_strdup (tessera_place_reason (grouping->data, node.index));
  return g_strdup ("");
}

/* --- widgets ---------------------------------------------------------------------- */

static void toggle (Groups *self, TesseraNode node);

static TesseraNode
node_at (Groups *self, guint position)
{
  return g_array_index (self->tree->rows, TesseraNode, position);
}

static void
on_arrow (GtkGestureClick *click, int n, double x, double y, Groups *self)
{
  GtkWidget *arrow = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (click));

  toggle (self, node_at (self, GPOINTER_TO_UINT (
                                   g_object_get_data (G_OBJECT (arrow), "position"))));
}

/* An arrow and, beside it, the name and its reason below each other. */
static GtkWidget *
make_name (gpointer user)
{
  GtkWidget *arrow = tessera_named (gtk_image_new (), "group-arrow"), *names;
  GtkWidget *name = tessera_name_new ("cell", NULL, 4);
  GtkWidget *reason = tessera_named (tessera_sentence_new ("", "reason"), "line");
  GtkGesture *click = gtk_gesture_click_new ();

  g_signal_connect (click, "released", G_CALLBACK (on_arrow), user);
  gtk_widget_add_controller (arrow, GTK_EVENT_CONTROLLER (click));
  gtk_widget_set_valign (arrow, GTK_ALIGN_START);
  gtk_label_set_width_chars (GTK_LABEL (name), NAME_CHARS);
  gtk_label_set_lines (GTK_LABEL (reason), 2);
  gtk_label_set_ellipsize (GTK_LABEL (reason), PANGO_ELLIPSIZE_END);
  names = tessera_column_new (0, name, reason, NULL);
  /* All of its column, which is all that expands. */
  gtk_widget_set_hexpand (names, TRUE);
  return tessera_row_new (0, arrow, names, NULL);
}

/* Of a block it takes its room. */
static void
show_arrow (Groups *self, GtkWidget *arrow, guint position)
{
  TesseraNode node = node_at (self, position);
  gboolean is_open = tessera_group_tree_is_open (self->tree, node);

  g_object_set_data (G_OBJECT (arrow), "position", GUINT_TO_POINTER (position));
  gtk_image_set_from_icon_name (GTK_IMAGE (arrow),
                                is_open ? "pan-down-symbolic" : "pan-end-symbolic");
  gtk_widget_set_margin_start (arrow, (int) node.kind * INDENT);
  gtk_widget_set_opacity (arrow, node.kind == TESSERA_NODE_BLOCK ? 0 : 1);
  gtk_accessible_update_state (GTK_ACCESSIBLE (arrow), GTK_ACCESSIBLE_STATE_EXPANDED,
                               is_open, -1);
}

static void
show_name (gpointer user, GtkWidget *cell, guint position)
{
  Groups *self = user;
  TesseraNode node = node_at (self, position);
  g_autofree char *text = name_of (self->tree->grouping, node);
  g_autofree char *reason_text = reason_of (self->tree->grouping, node);
  GtkWidget *name = gtk_widget_get_first_child (gtk_widget_get_last_child (cell));
  GtkWidget *reason = gtk_widget_get_next_sibling (name);

  show_arrow (self, gtk_widget_get_first_child (cell), position);
  tessera_name_set (name, text);
  gtk_label_set_text (GTK_LABEL (reason), reason_text);
  tessera_set_tip (reason, reason_text);
  gtk_widget_set_visible (reason, *reason_text != '\0');
}

static char *
cell_text (gpointer user, guint position, int column)
{
  Groups *self = user;
  const TesseraGrouping *grouping = self->tree->grouping;
  TesseraNode node = node_at (self, position);
  gboolean is_block = node.kind == TESSERA_NODE_BLOCK;
  TesseraGroupRow row = tessera_node_row (grouping, node);

  switch ((TesseraTreeColumn) column)
    {
    case TESSERA_TREE_HEIGHT:
      return g_strdup (TESSERA_SIZE (row.height_bytes));
    case TESSERA_TREE_BYTES:
      return g_strdup (TESSERA_SIZE (row.size_bytes));
    case TESSERA_TREE_PEAK:
      return is_block && row.peak_bytes == 0
                 ? g_strdup ("–")
                 : g_strdup_printf ("%.1f %%",
                                    100.0 * (double) row.peak_bytes /
                                        (double) MAX (grouping->data->bound_bytes, 1));
    case TESSERA_TREE_FILLED:
      return is_block ? g_strdup ("") : g_strdup_printf ("%.0f %%", row.filled * 100);
    default:
      return g_strdup ("");
    }
}

/* --- rows to blocks --------------------------------------------------------------- */

static void
mark_place (const TesseraGrouping *grouping, uint32_t place, uint8_t *is_in)
{
  for (uint32_t i = grouping->begin[place]; i < grouping->begin[place + 1]; i++)
    is_in[grouping->blocks[i]] = 1;
}

/* A block that stands in a row of its own leads. */
static uint32_t
mark (gpointer user, guint position, uint8_t *is_in)
{
  Groups *self = user;
  const TesseraGrouping *grouping = self->tree->grouping;
  TesseraNode node = node_at (self, position);

  if (node.kind == TESSERA_NODE_BLOCK)
    is_in[node.index] = 1;
  else if (node.kind == TESSERA_NODE_GROUP)
    mark_place (grouping, node.index, is_in);
  else
    for (uint32_t place = 0; place < grouping->n_places; place++)
      if (grouping->rows[place].lifetime_class ==
          grouping->rows[node.index].lifetime_class)
        mark_place (grouping, place, is_in);
  return node.kind == TESSERA_NODE_BLOCK ? node.index : TESSERA_NONE;
}

/* --- blocks to rows --------------------------------------------------------------- */

/* Whether all blocks of a place are selected: the first that is not ends it. */
static gboolean
is_place_whole (Groups *self, uint32_t place)
{
  const TesseraGrouping *grouping = self->tree->grouping;
  const TesseraSelection *selection = self->base.panel.document->selection;
  uint32_t i = grouping->begin[place], end = grouping->begin[place + 1];

  while (i < end && selection->is_in[grouping->blocks[i]])
    i++;
  return i == end;
}

static gboolean
is_class_whole (Groups *self, uint32_t row)
{
  const TesseraGrouping *grouping = self->tree->grouping;
  uint32_t place = 0;

  while (place < grouping->n_places &&
         (grouping->rows[place].lifetime_class != grouping->rows[row].lifetime_class ||
          is_place_whole (self, place)))
    place++;
  return place == grouping->n_places;
}

/* A class, a group where all of it is. */
static gboolean
is_selected (gpointer user, guint position)
{
  Groups *self = user;
  TesseraNode node = node_at (self, position);

  if (self->base.panel.document->selection == NULL)
    return FALSE;
  return node.kind == TESSERA_NODE_BLOCK
             ? tessera_selection_has (self->base.panel.document->selection, node.index)
         : node.kind == TESSERA_NODE_GROUP ? is_place_whole (self, node.index)
                                           : is_class_whole (self, node.index);
}

/* Rows were opened or closed, or say something else. */
static void
show_tree (Groups *self)
{
  tessera_row_model_set_length (self->base.rows,
                                self->tree != NULL ? self->tree->rows->len : 0,
                                self->tree != NULL);
}

static void
toggle (Groups *self, TesseraNode node)
{
  if (tessera_group_tree_set_open (self->tree, node,
                                   !tessera_group_tree_is_open (self->tree, node)))
    show_tree (self);
}

/* Opens the tree at the block that leads, or at its group where all of that is
 * selected. Returns: its row; G_MAXUINT: none. */
static guint
open_to_lead (Groups *self)
{
  uint32_t lead = self->base.panel.document->selected;
  guint row = G_MAXUINT;

  if (lead == TESSERA_NONE)
    return row;
  if (tessera_document_n_selected (self->base.panel.document) == 1)
    row = tessera_group_tree_open_to (self->tree, TESSERA_NODE_BLOCK, lead);
  return row != G_MAXUINT ? row
                          : tessera_group_tree_open_to (
                                self->tree, TESSERA_NODE_GROUP,
                                tessera_place_of (self->tree->grouping->data, lead));
}

static void
follow_selection (Groups *self)
{
  guint row = G_MAXUINT;

  if (self->tree == NULL)
    return;
  if (!self->base.is_choosing && gtk_widget_get_mapped (self->base.panel.box))
    row = open_to_lead (self);
  show_tree (self);
  if (row != G_MAXUINT)
    tessera_row_model_scroll_to (self->base.rows, row);
}

/* --- the tree --------------------------------------------------------------------- */

/* What was open stays open, but for another file's rows. */
static void
rebuild (Groups *self)
{
  TesseraGrouping *grouping = self->base.panel.document->grouping;
  TesseraGroupTree *before = self->tree;
  gboolean is_like = grouping != NULL && before != NULL &&
                     tessera_data_origin (grouping->data) ==
                         tessera_data_origin (before->grouping->data);

  self->tree = grouping != NULL
                   ? tessera_group_tree_new (grouping, is_like ? before : NULL,
                                             self->column, self->down)
                   : NULL;
  tessera_group_tree_free (before);
  show_tree (self);
  follow_selection (self);
}

TesseraGroupTree *
tessera_groups_view_get_tree (GtkWidget *view)
{
  return ((Groups *) tessera_panel_of (view))->tree;
}

static void
sort (gpointer user, int column, gboolean down)
{
  Groups *self = user;

  self->column = (TesseraTreeColumn) column;
  self->down = down;
  rebuild (self);
}

static void
ask (Groups *self)
{
  if (self->base.panel.document->data != NULL &&
      self->base.panel.document->grouping == NULL &&
      self->base.panel.document->jobs[TESSERA_WORK_GROUPS] == NULL &&
      gtk_widget_get_mapped (self->base.panel.box))
    tessera_document_set_query (self->base.panel.document, "");
}

static void
on_map (GtkWidget *box, Groups *self)
{
  ask (self);
  follow_selection (self);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Groups *self = user;

  if ((what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_GROUPS)) &&
      document->grouping != (self->tree != NULL ? self->tree->grouping : NULL))
    rebuild (self);
  if (what & TESSERA_CHANGED_TRACE)
    ask (self);
  if (what & TESSERA_CHANGED_SELECTION)
    follow_selection (self);
}

/* Enter or a double click: opens or closes, shows a block. */
static void
activate (gpointer user, guint position)
{
  Groups *self = user;
  TesseraNode node = node_at (self, position);

  if (node.kind == TESSERA_NODE_BLOCK)
    tessera_document_reveal (self->base.panel.document, node.index);
  else
    toggle (self, node);
}

/* Right and Left open and close what is selected. */
static gboolean
on_key (GtkEventControllerKey *controller,
        guint key,
        guint code,
        GdkModifierType state,
        Groups *self)
{
  gboolean open = key == GDK_KEY_Right || key == GDK_KEY_KP_Right;
  gboolean close = key == GDK_KEY_Left || key == GDK_KEY_KP_Left;
  guint n = self->tree != NULL ? self->tree->rows->len : 0, position = 0;

  if (!(open || close))
    return FALSE;
  while (position < n && !is_selected (self, position))
    position++;
  if (position == n || node_at (self, position).kind == TESSERA_NODE_BLOCK)
    return FALSE;
  if (tessera_group_tree_set_open (self->tree, node_at (self, position), open))
    show_tree (self);
  return TRUE;
}

/* --- all of it -------------------------------------------------------------------- */

static const TesseraRowModelKind row_kind = {
  .name = "groups",
  .title = "Classes, groups and blocks",
  .empty = "No block matches: Escape in the field shows all",
  .columns = {
      [TESSERA_TREE_NAME] = { "Group", NAME_CHARS, .is_wide = TRUE },
      /* Of a group laid out by itself; of a class, and of part of a group, the most bytes
       * alive at once. */
      [TESSERA_TREE_HEIGHT] = { "Height", 11, TRUE },
      /* Share of the bytes alive where most is alive in the trace. */
      [TESSERA_TREE_PEAK] = { "Peak", 7, TRUE },
      /* Asked for, of all its blocks. */
      [TESSERA_TREE_BYTES] = { "Bytes", 11, TRUE },
      /* Time-memory product: share of height x time in use. */
      [TESSERA_TREE_FILLED] = { "Filled", 6, TRUE },
  },
  .first = TESSERA_TREE_HEIGHT,
  .text = cell_text,
  .make = make_name,
  .show = show_name,
  .activate = activate,
  .is_selected = is_selected,
  .mark = mark,
  .sort = sort,
};

static void
groups_clear (gpointer groups)
{
  Groups *self = groups;

  g_clear_object (&self->base.rows);
  tessera_group_tree_free (self->tree);
}

GtkWidget *
tessera_groups_view_new (TesseraDocument *document)
{
  Groups *self =
      tessera_panel_new (sizeof *self, document, "groups-panel", 6, groups_clear);
  GtkEventController *keys = gtk_event_controller_key_new ();

  tessera_list_panel_make (&self->base, &row_kind);
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (on_key), self);
  gtk_widget_add_controller (self->base.note, keys);
  g_signal_connect (self->base.panel.box, "map", G_CALLBACK (on_map), self);
  tessera_panel_add (self, tessera_query_entry_new (document), self->base.note, NULL);
  return tessera_panel_watch (self, on_changed);
}
