/*
 * The groups that the planner keeps together, largest first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups.h"

#include "viewer/document/describe.h"
#include "viewer/window/ui.h"

#include <stdlib.h>

/* The largest; the table finds the others. */
#define MOST_GROUPS 100

struct _TesseraGroupsView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *list; /* GtkListBox */
  GtkWidget *note;
};

G_DEFINE_TYPE (TesseraGroupsView, tessera_groups_view, GTK_TYPE_BOX)

static const char *
kind_name (uint8_t kind)
{
  static const char *const names[] = { "persistent", "HomoPhase", "HomoSize", "HomoLayer",
                                       "by hand" };

  return kind < G_N_ELEMENTS (names) ? names[kind] : "";
}

static GtkWidget *
row_new (TesseraData *data, uint32_t index)
{
  const TesseraGroup *group = &data->groups[index];
  g_autofree char *height = tessera_describe_bytes (group->height_bytes);
  g_autofree char *count = tessera_describe_count (group->n_blocks);
  g_autofree char *facts = g_strdup_printf ("%s · %s block%s", kind_name (group->kind),
                                            count, group->n_blocks == 1 ? "" : "s");
  g_autofree char *tip = g_strdup_printf ("%s\nfills %.0f %% of its height × time",
                                          group->name, group->time_memory_product * 100);
  GtkWidget *grid = gtk_grid_new ();
  GtkWidget *name = tessera_label_new (group->name, NULL);
  GtkWidget *amount = tessera_label_new (height, "figure");

  gtk_widget_set_hexpand (name, TRUE);
  gtk_label_set_ellipsize (GTK_LABEL (amount), PANGO_ELLIPSIZE_NONE);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 8);
  gtk_grid_attach (GTK_GRID (grid), name, 0, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), amount, 1, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), tessera_label_new (facts, "quiet"), 0, 1, 2, 1);
  gtk_widget_set_tooltip_text (grid, tip);
  g_object_set_data (G_OBJECT (grid), "group", GUINT_TO_POINTER (index));
  return grid;
}

static int
compare_heights (const void *a, const void *b, void *user)
{
  const TesseraGroup *groups = user;
  uint64_t x = groups[*(const uint32_t *) a].height_bytes;
  uint64_t y = groups[*(const uint32_t *) b].height_bytes;

  return (x < y) - (x > y);
}

static void
rebuild (TesseraGroupsView *self)
{
  TesseraData *data = self->document->data;
  uint32_t n = data != NULL ? (uint32_t) data->n_groups : 0;
  g_autofree uint32_t *order = g_new (uint32_t, MAX (n, 1));
  g_autofree char *count = tessera_describe_count (n);
  g_autofree char *text = NULL;
  GtkListBoxRow *row;

  while ((row = gtk_list_box_get_row_at_index (GTK_LIST_BOX (self->list), 0)) != NULL)
    gtk_list_box_remove (GTK_LIST_BOX (self->list), GTK_WIDGET (row));
  for (uint32_t i = 0; i < n; i++)
    order[i] = i;
  if (n > 0)
    qsort_r (order, n, sizeof *order, compare_heights, data->groups);
  for (uint32_t i = 0; i < MIN (n, MOST_GROUPS); i++)
    gtk_list_box_append (GTK_LIST_BOX (self->list), row_new (data, order[i]));
  text = n > MOST_GROUPS
             ? g_strdup_printf ("The %d largest of %s groups", MOST_GROUPS, count)
             : g_strdup_printf ("%s groups", count);
  gtk_label_set_text (GTK_LABEL (self->note), text);
}

static void
on_row_activated (GtkListBox *list, GtkListBoxRow *row, TesseraGroupsView *self)
{
  GtkWidget *child = gtk_list_box_row_get_child (row);
  TesseraDocument *document = self->document;
  uint32_t group = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (child), "group"));

  for (size_t i = 0; i < document->data->blocks->n_blocks; i++)
    if (document->data->blocks->blocks[i].group == group)
      {
        tessera_document_show_alone (document, TESSERA_COLOUR_GROUP, (uint32_t) i);
        return;
      }
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  if (what & TESSERA_CHANGED_TRACE)
    rebuild (user);
}

static void
tessera_groups_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_GROUPS_VIEW (object)->document);
  G_OBJECT_CLASS (tessera_groups_view_parent_class)->dispose (object);
}

static void
tessera_groups_view_class_init (TesseraGroupsViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_groups_view_dispose;
}

static void
tessera_groups_view_init (TesseraGroupsView *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 6);
  self->note = tessera_heading_new ("");
  self->list = gtk_list_box_new ();
  gtk_list_box_set_selection_mode (GTK_LIST_BOX (self->list), GTK_SELECTION_NONE);
  gtk_widget_set_name (self->list, "groups");
  tessera_set_accessible_label (self->list, "Groups, largest first");
  g_signal_connect (self->list, "row-activated", G_CALLBACK (on_row_activated), self);
  gtk_box_append (GTK_BOX (self), self->note);
  gtk_box_append (GTK_BOX (self), self->list);
}

GtkWidget *
tessera_groups_view_new (TesseraDocument *document)
{
  TesseraGroupsView *self = g_object_new (TESSERA_TYPE_GROUPS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
