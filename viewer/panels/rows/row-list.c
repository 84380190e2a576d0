/*
 * The rows of a column view, which stay while what they show changes. See row-list.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list.h"

#include "viewer/window/ui.h"

/* Making a row of eight cells takes 0.2 to 0.3 ms, destroying it half of that, writing it
 * a tenth; where it is selected or no more GTK styles all of it anew, 0.7 ms. */
#define MOST_MADE 10
#define MOST_DESTROYED 25
#define MOST_WRITTEN 25
#define MOST_TOLD 6
/* No row is lower, in pixels. */
#define LEAST_ROW_HEIGHT 20

struct _TesseraRowList
{
  GObject parent_instance;

  const TesseraRowListKind *kind;
  gpointer user;
  GtkColumnView *view; /* NULL: it has gone */
  guint n_rows;        /* that there are */
  guint n_shown;       /* that the view knows of */
  guint tick;          /* 0: nothing is left to do */
  GHashTable *bound;   /* GtkListItem to its column */
  GHashTable *stale;   /* of these: what is to be written in a later frame */
  gboolean reselects;  /* rows out of sight are to be told whether they are selected */
  guint sight_begin, sight_end; /* rows that are seen, and as many around */
  guint goes_to;                /* while it makes the view scroll: to there; else
                                   GTK_INVALID_LIST_POSITION */
  GtkAdjustment *adjustment;    /* the view's; NULL: none */
  gboolean has_scrolled;        /* since the last frame */
  GdkFrameClock *clock;         /* whose end of a frame is waited for; NULL: none */
};

/* --- a list ----------------------------------------------------------------------- */

static GType
get_item_type (GListModel *model)
{
  return G_TYPE_OBJECT;
}

static guint
get_n_items (GListModel *model)
{
  return TESSERA_ROW_LIST (model)->n_shown;
}

static gpointer
get_item (GListModel *model, guint position)
{
  return position < TESSERA_ROW_LIST (model)->n_shown ? g_object_new (G_TYPE_OBJECT, NULL)
                                                      : NULL;
}

static void
init_list_model (GListModelInterface *interface)
{
  interface->get_item_type = get_item_type;
  interface->get_n_items = get_n_items;
  interface->get_item = get_item;
}

/* --- what is selected ------------------------------------------------------------- */

static gboolean
is_selected (GtkSelectionModel *model, guint position)
{
  TesseraRowList *self = TESSERA_ROW_LIST (model);

  return position < self->n_rows && self->kind->is_selected (self->user, position);
}

static GtkBitset *
get_selection_in_range (GtkSelectionModel *model, guint position, guint n)
{
  GtkBitset *rows = gtk_bitset_new_empty ();

  for (guint i = position; i < position + n; i++)
    if (is_selected (model, i))
      gtk_bitset_add (rows, i);
  return rows;
}

static gboolean
choose (GtkSelectionModel *model, guint position, guint n, TesseraSelectHow how)
{
  TesseraRowList *self = TESSERA_ROW_LIST (model);

  if (position >= self->n_rows && n > 0)
    return FALSE;
  self->kind->choose (self->user, position,
                      MIN (n, self->n_rows - MIN (position, self->n_rows)), how);
  return TRUE;
}

static gboolean
select_range (GtkSelectionModel *model, guint position, guint n, gboolean unselect_rest)
{
  return choose (model, position, n,
                 unselect_rest ? TESSERA_SELECT_ONLY : TESSERA_SELECT_MORE);
}

static gboolean
select_item (GtkSelectionModel *model, guint position, gboolean unselect_rest)
{
  return select_range (model, position, 1, unselect_rest);
}

static gboolean
unselect_range (GtkSelectionModel *model, guint position, guint n)
{
  return choose (model, position, n, TESSERA_SELECT_LESS);
}

static gboolean
unselect_item (GtkSelectionModel *model, guint position)
{
  return unselect_range (model, position, 1);
}

static gboolean
select_all (GtkSelectionModel *model)
{
  return select_range (model, 0, TESSERA_ROW_LIST (model)->n_rows, TRUE);
}

static gboolean
unselect_all (GtkSelectionModel *model)
{
  return select_range (model, 0, 0, TRUE);
}

/* Rows of @mask become as @wanted says, run by run. */
static gboolean
set_selection (GtkSelectionModel *model, GtkBitset *wanted, GtkBitset *mask)
{
  GtkBitsetIter iter;
  guint position, first = 0, n = 0;
  gboolean is_wanted = FALSE;

  for (gboolean more = gtk_bitset_iter_init_first (&iter, mask, &position); more;
       more = gtk_bitset_iter_next (&iter, &position))
    {
      gboolean is_in = gtk_bitset_contains (wanted, position);

      if (n > 0 && position == first + n && is_in == is_wanted)
        {
          n++;
          continue;
        }
      if (n > 0)
        choose (model, first, n, is_wanted ? TESSERA_SELECT_MORE : TESSERA_SELECT_LESS);
      first = position;
      n = 1;
      is_wanted = is_in;
    }
  if (n > 0)
    choose (model, first, n, is_wanted ? TESSERA_SELECT_MORE : TESSERA_SELECT_LESS);
  return TRUE;
}

static void
init_selection_model (GtkSelectionModelInterface *interface)
{
  interface->is_selected = is_selected;
  interface->get_selection_in_range = get_selection_in_range;
  interface->select_item = select_item;
  interface->unselect_item = unselect_item;
  interface->select_range = select_range;
  interface->unselect_range = unselect_range;
  interface->select_all = select_all;
  interface->unselect_all = unselect_all;
  interface->set_selection = set_selection;
}

G_DEFINE_TYPE_WITH_CODE (TesseraRowList,
                         tessera_row_list,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model)
                             G_IMPLEMENT_INTERFACE (GTK_TYPE_SELECTION_MODEL,
                                                    init_selection_model))

/* --- cells ------------------------------------------------------------------------ */

static void
show (TesseraRowList *self, GtkListItem *item, int column)
{
  guint position = gtk_list_item_get_position (item);

  self->kind->show (self->user, gtk_list_item_get_child (item),
                    position < self->n_rows ? position : GTK_INVALID_LIST_POSITION,
                    column);
}

static int
column_of (GtkSignalListItemFactory *factory)
{
  return GPOINTER_TO_INT (g_object_get_data (G_OBJECT (factory), "column"));
}

static void
on_setup (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  gtk_list_item_set_child (item, self->kind->make (self->user, column_of (factory)));
}

static gboolean
is_near (TesseraRowList *self, guint position)
{
  guint page = (guint) gtk_widget_get_height (GTK_WIDGET (self->view)) / LEAST_ROW_HEIGHT;

  return position + page >= self->goes_to && position <= self->goes_to + page;
}

static void queue_rest (TesseraRowList *self);
static void note_frame (TesseraRowList *self);

/* Where the view goes far, GTK binds its 200 rows, of which few will be in sight. */
static void
on_bind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_insert (self->bound, item, GINT_TO_POINTER (column_of (factory)));
  if (self->goes_to == GTK_INVALID_LIST_POSITION ||
      is_near (self, gtk_list_item_get_position (item)))
    show (self, item, column_of (factory));
  else
    {
      g_hash_table_add (self->stale, item);
      queue_rest (self);
    }
}

static void
on_unbind (GtkSignalListItemFactory *factory, GtkListItem *item, TesseraRowList *self)
{
  g_hash_table_remove (self->bound, item);
  g_hash_table_remove (self->stale, item);
}

GtkColumnViewColumn *
tessera_row_list_add_column (TesseraRowList *self, const char *title, int column)
{
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();
  GtkColumnViewColumn *added = gtk_column_view_column_new (title, factory);

  g_object_set_data (G_OBJECT (factory), "column", GINT_TO_POINTER (column));
  g_signal_connect_object (factory, "setup", G_CALLBACK (on_setup), self, 0);
  g_signal_connect_object (factory, "bind", G_CALLBACK (on_bind), self, 0);
  g_signal_connect_object (factory, "unbind", G_CALLBACK (on_unbind), self, 0);
  gtk_column_view_append_column (self->view, added);
  g_object_unref (added); /* the view's */
  return added;
}

/* --- rows ------------------------------------------------------------------------- */

/* One above the last row that has widgets. */
static guint
end_of_bound (TesseraRowList *self)
{
  GHashTableIter iter;
  gpointer item;
  guint end = 0;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    end = MAX (end, gtk_list_item_get_position (item) + 1);
  return end;
}

static void
change (TesseraRowList *self, guint position, guint n_removed, guint n_added)
{
  self->n_shown = self->n_shown - n_removed + n_added;
  g_list_model_items_changed (G_LIST_MODEL (self), position, n_removed, n_added);
}

/* Rows without widgets cost nothing. */
static void
take_a_step (TesseraRowList *self)
{
  guint end = end_of_bound (self);

  if (self->n_shown < self->n_rows)
    {
      guint n = self->n_rows - self->n_shown;

      if (end >= self->n_shown)
        n = MIN (n, MOST_MADE);
      change (self, self->n_shown, 0, n);
      return;
    }
  end = MAX (end, self->n_rows);
  if (end < self->n_shown)
    change (self, end, self->n_shown - end, 0);
  else if (self->n_shown > self->n_rows)
    {
      guint n = MIN (self->n_shown - self->n_rows, MOST_DESTROYED);

      change (self, self->n_shown - n, n, 0);
    }
}

/* --- in sight first --------------------------------------------------------------- */

/* GTK maps the rows that are seen, and no others. */
static void
find_sight (TesseraRowList *self)
{
  guint begin = G_MAXUINT, end = 0, margin;
  GHashTableIter iter;
  gpointer item;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      GtkWidget *cell = gtk_list_item_get_child (item);
      guint position = gtk_list_item_get_position (item);

      if (cell == NULL || !gtk_widget_get_mapped (cell))
        continue;
      begin = MIN (begin, position);
      end = MAX (end, position + 1);
    }
  margin = end > begin ? (end - begin) / 2 + 2 : 0;
  self->sight_begin = begin < margin ? 0 : begin - margin;
  self->sight_end = end + margin;
  /* Not laid out yet: any may be. */
  if (end == 0)
    self->sight_begin = 0, self->sight_end = G_MAXUINT;
}

static gboolean
is_in_sight (TesseraRowList *self, GtkListItem *item)
{
  guint position = gtk_list_item_get_position (item);

  return position >= self->sight_begin && position < self->sight_end;
}

/* What is to be written: all that is in sight or @near where the view goes, @most of the
 * rest. */
static void
write_stale (TesseraRowList *self, guint most)
{
  GHashTableIter iter;
  gpointer item;

  find_sight (self);
  g_hash_table_iter_init (&iter, self->stale);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      gboolean at_once =
          is_in_sight (self, item) || (self->goes_to != GTK_INVALID_LIST_POSITION &&
                                       is_near (self, gtk_list_item_get_position (item)));

      if (!at_once && most == 0)
        continue;
      most -= !at_once;
      g_hash_table_iter_remove (&iter);
      show (self, item, GPOINTER_TO_INT (g_hash_table_lookup (self->bound, item)));
    }
}

/* GTK binds all cells of a row anew whose selection it is told of, and styles them. */
static void
tell_selected (TesseraRowList *self, guint most)
{
  g_autoptr (GtkBitset) others = gtk_bitset_new_empty ();
  g_autoptr (GtkBitset) seen = gtk_bitset_new_empty ();
  GHashTableIter iter;
  GtkBitsetIter each;
  gpointer item;
  guint position;

  self->reselects = FALSE;
  find_sight (self);
  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, NULL))
    {
      position = gtk_list_item_get_position (item);
      if (!gtk_bitset_add (seen, position) ||
          is_selected (GTK_SELECTION_MODEL (self), position) ==
              gtk_list_item_get_selected (item))
        continue;
      if (is_in_sight (self, item))
        gtk_bitset_add (others, position);
      else if (most > 0)
        {
          gtk_bitset_add (others, position);
          most--;
        }
      else
        self->reselects = TRUE;
    }
  for (gboolean more = gtk_bitset_iter_init_first (&each, others, &position); more;
       more = gtk_bitset_iter_next (&each, &position))
    gtk_selection_model_selection_changed (GTK_SELECTION_MODEL (self), position, 1);
}

static gboolean
has_rest (TesseraRowList *self)
{
  return self->n_shown != self->n_rows || g_hash_table_size (self->stale) > 0 ||
         self->reselects;
}

/* Whoever scrolls may see rows that were out of sight. */
static void
write_all (TesseraRowList *self)
{
  write_stale (self, G_MAXUINT);
  if (self->reselects)
    tell_selected (self, G_MAXUINT);
}

/* Rows are written in the next tick, before they are laid out: the view also tells of
 * what it does while it lays them out, when nothing may be written. */
static void
on_scrolled (TesseraRowList *self)
{
  self->has_scrolled = TRUE;
}

static void
forget_clock (TesseraRowList *self)
{
  if (self->clock != NULL)
    g_signal_handlers_disconnect_by_data (self->clock, self);
  g_clear_object (&self->clock);
}

/* What the view did by itself in this frame is over. */
static void
on_frame_end (TesseraRowList *self)
{
  self->has_scrolled = FALSE;
  forget_clock (self);
}

static void
note_frame (TesseraRowList *self)
{
  GdkFrameClock *clock = gtk_widget_get_frame_clock (GTK_WIDGET (self->view));

  if (self->clock != NULL || clock == NULL)
    return;
  self->clock = g_object_ref (clock);
  g_signal_connect_swapped (clock, "after-paint", G_CALLBACK (on_frame_end), self);
}

/* One of them a frame: each is a frame's work. */
static gboolean
on_tick (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraRowList *self = user;
  GListModel *columns = gtk_column_view_get_columns (self->view);

  note_frame (self);
  if (self->has_scrolled)
    write_all (self);
  else if (g_hash_table_size (self->stale) > 0)
    write_stale (self, MOST_WRITTEN * g_list_model_get_n_items (columns));
  else if (self->n_shown != self->n_rows)
    take_a_step (self);
  else if (self->reselects)
    tell_selected (self, MOST_TOLD);
  if (has_rest (self))
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

static void
queue_rest (TesseraRowList *self)
{
  if (!has_rest (self) || self->tick != 0 || self->view == NULL)
    return;
  self->has_scrolled = FALSE;
  note_frame (self);
  self->tick =
      gtk_widget_add_tick_callback (GTK_WIDGET (self->view), on_tick, self, NULL);
}

static void
forget_adjustment (TesseraRowList *self)
{
  if (self->adjustment != NULL)
    g_signal_handlers_disconnect_by_data (self->adjustment, self);
  g_clear_object (&self->adjustment);
}

static void
on_adjustment (TesseraRowList *self)
{
  GtkAdjustment *adjustment =
      gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (self->view));

  forget_adjustment (self);
  if (adjustment == NULL)
    return;
  self->adjustment = g_object_ref (adjustment);
  g_signal_connect_swapped (adjustment, "value-changed", G_CALLBACK (on_scrolled), self);
}

static void
show_from (TesseraRowList *self, guint from, int column)
{
  GHashTableIter iter;
  gpointer item, of;

  g_hash_table_iter_init (&iter, self->bound);
  while (g_hash_table_iter_next (&iter, &item, &of))
    if ((column < 0 || column == GPOINTER_TO_INT (of)) &&
        gtk_list_item_get_position (item) >= from)
      g_hash_table_add (self->stale, item);
  write_stale (self, 0);
  queue_rest (self);
}

void
tessera_row_list_set_rows (TesseraRowList *self, guint n_rows, guint from)
{
  self->n_rows = n_rows;
  show_from (self, from, -1);
  /* What is seen is full: the rest is work for other frames. */
  if (self->n_shown < MIN (self->n_rows, self->sight_end))
    take_a_step (self);
  tessera_row_list_reselect (self);
  queue_rest (self);
}

void
tessera_row_list_show (TesseraRowList *self, int column)
{
  show_from (self, 0, column);
}

void
tessera_row_list_reselect (TesseraRowList *self)
{
  tell_selected (self, 0);
  queue_rest (self);
}

void
tessera_row_list_scroll_to (TesseraRowList *self, guint position)
{
  if (self->view == NULL)
    return;
  self->goes_to = position;
  tessera_column_view_scroll_to (self->view, position);
  write_stale (self, 0);
  self->goes_to = GTK_INVALID_LIST_POSITION;
}

void
tessera_row_list_close (TesseraRowList *self)
{
  self->n_rows = 0;
}

guint
tessera_row_list_get_n_rows (TesseraRowList *self)
{
  return self->n_rows;
}

gboolean
tessera_row_list_is_settled (TesseraRowList *self)
{
  return !has_rest (self);
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_row_list_finalize (GObject *object)
{
  TesseraRowList *self = TESSERA_ROW_LIST (object);

  g_clear_weak_pointer (&self->view);
  forget_adjustment (self);
  forget_clock (self);
  g_hash_table_unref (self->bound);
  g_hash_table_unref (self->stale);
  G_OBJECT_CLASS (tessera_row_list_parent_class)->finalize (object);
}

static void
tessera_row_list_class_init (TesseraRowListClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_row_list_finalize;
}

static void
tessera_row_list_init (TesseraRowList *self)
{
  self->bound = g_hash_table_new (NULL, NULL);
  self->stale = g_hash_table_new (NULL, NULL);
  self->goes_to = GTK_INVALID_LIST_POSITION;
}

TesseraRowList *
tessera_row_list_new (const TesseraRowListKind *kind, gpointer user, GtkColumnView *view)
{
  TesseraRowList *self = g_object_new (TESSERA_TYPE_ROW_LIST, NULL);

  self->kind = kind;
  self->user = user;
  g_set_weak_pointer (&self->view, view);
  gtk_column_view_set_model (view, GTK_SELECTION_MODEL (self));
  g_signal_connect_object (view, "notify::vadjustment", G_CALLBACK (on_adjustment), self,
                           G_CONNECT_SWAPPED);
  g_signal_connect_object (view, "map", G_CALLBACK (write_all), self, G_CONNECT_SWAPPED);
  on_adjustment (self);
  return self;
}
