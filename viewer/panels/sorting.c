/*
 * Sorting by a click on a column's head, for lists that sort themselves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/sorting.h"

/* Set by the sorters while they are asked; all of this is the main thread's. */
static int probed_column;

static int
probe (gconstpointer a, gconstpointer b, gpointer index)
{
  probed_column = GPOINTER_TO_INT (index);
  return -1;
}

void
tessera_sorting_add (GtkColumnViewColumn *column, int index)
{
  GtkCustomSorter *sorter = gtk_custom_sorter_new (probe, GINT_TO_POINTER (index), NULL);

  gtk_column_view_column_set_sorter (column, GTK_SORTER (sorter));
  g_object_unref (sorter);
}

typedef struct
{
  TesseraSortFunc sort;
  gpointer user;
} Watch;

static void
on_changed (GtkSorter *sorter, GtkSorterChange change, gpointer user)
{
  const Watch *watch = user;
  g_autoptr (GObject) a = g_object_new (G_TYPE_OBJECT, NULL);
  g_autoptr (GObject) b = g_object_new (G_TYPE_OBJECT, NULL);
  GtkOrdering ordering;

  probed_column = -1;
  ordering = gtk_sorter_compare (sorter, a, b);
  if (probed_column >= 0)
    watch->sort (watch->user, probed_column, ordering == GTK_ORDERING_LARGER);
}

static void
watch_free (gpointer watch, GClosure *closure)
{
  g_free (watch);
}

void
tessera_sorting_watch (GtkColumnView *view, TesseraSortFunc sort, gpointer user)
{
  Watch *watch = g_new (Watch, 1);

  *watch = (Watch){ sort, user };
  g_signal_connect_data (gtk_column_view_get_sorter (view), "changed",
                         G_CALLBACK (on_changed), watch, watch_free, 0);
}
