/*
 * What a row list leaves to other frames: rows that are made and destroyed a few at a
 * time, cells out of sight.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-list-private.h"

#include "viewer/panels/rows/row-turns.h"

/* Making a row of eight cells takes 0.2 to 0.3 ms, and as much again to style it;
 * destroying it half of that, writing it a tenth. */
/* That GTK keeps, from the one on that is on top. */
#define N_KEPT 200
#define MOST_MADE 6
#define MOST_DESTROYED 25
/* For those that go GTK makes others, before all there are, and lays all out. */
#define MOST_REPLACED 2
#define MOST_WRITTEN 25

/* --- rows ------------------------------------------------------------------------- */

static void
change (TesseraRowList *self, guint position, guint n_removed, guint n_added)
{
  self->fresh = g_ptr_array_new ();
  self->n_shown = self->n_shown - n_removed + n_added;
  g_list_model_items_changed (G_LIST_MODEL (self), position, n_removed, n_added);
  tessera_row_list_style (self->fresh);
  g_clear_pointer (&self->fresh, g_ptr_array_unref);
}

/* Of rows before @end some have no widgets. */
static gboolean
has_rows_to_make (TesseraRowList *self, guint end)
{
  guint n_columns = g_list_model_get_n_items (gtk_column_view_get_columns (self->view));

  return g_hash_table_size (self->bound) / MAX (n_columns, 1) < end;
}

/* Rows without widgets cost nothing. */
void
tessera_row_list_take_a_step (TesseraRowList *self)
{
  guint end = tessera_row_list_end_of_bound (self);

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
      guint most = has_rows_to_make (self, end) ? MOST_REPLACED : MOST_DESTROYED;
      guint n = MIN (self->n_shown - self->n_rows, most);

      change (self, self->n_shown - n, n, 0);
    }
}

/* --- frames ----------------------------------------------------------------------- */

gboolean
tessera_row_list_has_rest (TesseraRowList *self)
{
  return self->n_shown != self->n_rows || g_hash_table_size (self->stale) > 0 ||
         self->reselects;
}

/* All that is in sight, @most of the rest. */
static void
write_rows (TesseraRowList *self, guint most)
{
  tessera_row_list_write_stale (self, most);
  if (self->reselects)
    tessera_row_list_tell_selected (self, G_MAXUINT, most);
}

void
tessera_row_list_come_into_sight (TesseraRowList *self)
{
  write_rows (self, G_MAXUINT);
  tessera_row_list_queue_rest (self);
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
  self->has_worked = FALSE;
  tessera_row_list_note_seen (self);
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

gboolean
tessera_row_list_may_work (TesseraRowList *self)
{
  if (self->view != NULL &&
      !tessera_row_turns_take (gtk_widget_get_frame_clock (GTK_WIDGET (self->view)),
                               self))
    return FALSE;
  self->has_worked = TRUE;
  return TRUE;
}

/* The row that the view has to go to, so that GTK keeps as few rows as can be that go: it
 * takes their widgets along for others. Where none is seen that stays, up to those that
 * do; else one that is seen, at which GTK keeps the rows before it: nothing moves.
 * GTK_INVALID_LIST_POSITION: none. */
static guint
row_to_go_to (TesseraRowList *self)
{
  guint begin, end;

  if (self->has_followed || self->n_shown <= self->n_rows ||
      tessera_row_list_end_of_bound (self) <= self->n_rows ||
      !tessera_row_list_find_sight (self, &begin, &end) || begin == 0)
    return GTK_INVALID_LIST_POSITION;
  if (begin >= self->n_rows)
    return MAX (self->n_rows, N_KEPT) - N_KEPT;
  /* The last one may be seen in part. */
  return MAX (begin, MIN (MAX (end, 2) - 2, self->n_rows - 1));
}

/* One of them a frame: each is a frame's work. */
static void
work (TesseraRowList *self)
{
  GListModel *columns = gtk_column_view_get_columns (self->view);
  guint goes_to = row_to_go_to (self);

  if (goes_to != GTK_INVALID_LIST_POSITION)
    {
      self->has_followed = TRUE;
      tessera_row_list_go_to (self, goes_to);
    }
  else if (self->reselects_in_sight)
    {
      tessera_row_list_write_stale (self, 0);
      tessera_row_list_tell_selected (self, TESSERA_MOST_ROWS_TOLD,
                                      TESSERA_MOST_ROWS_TOLD);
    }
  else if (g_hash_table_size (self->stale) > 0)
    tessera_row_list_write_stale (self,
                                  MOST_WRITTEN * g_list_model_get_n_items (columns));
  else if (self->n_shown != self->n_rows)
    tessera_row_list_take_a_step (self);
  else if (self->reselects)
    tessera_row_list_tell_selected (self, TESSERA_MOST_ROWS_TOLD, TESSERA_MOST_ROWS_TOLD);
}

static gboolean
on_tick (GtkWidget *view, GdkFrameClock *clock, gpointer user)
{
  TesseraRowList *self = user;

  note_frame (self);
  if (self->has_scrolled)
    write_rows (self, 0);
  else if (!self->has_worked && tessera_row_list_may_work (self))
    work (self);
  if (tessera_row_list_has_rest (self) && gtk_widget_get_mapped (view))
    return G_SOURCE_CONTINUE;
  self->tick = 0;
  return G_SOURCE_REMOVE;
}

/* What nobody sees can wait until it is seen. */
void
tessera_row_list_queue_rest (TesseraRowList *self)
{
  if (!tessera_row_list_has_rest (self) || self->tick != 0 || self->view == NULL ||
      !gtk_widget_get_mapped (GTK_WIDGET (self->view)))
    return;
  tessera_row_list_note_seen (self);
  note_frame (self);
  self->tick =
      gtk_widget_add_tick_callback (GTK_WIDGET (self->view), on_tick, self, NULL);
}

/* --- scrolling -------------------------------------------------------------------- */

static void
forget_adjustment (TesseraRowList *self)
{
  if (self->adjustment != NULL)
    g_signal_handlers_disconnect_by_data (self->adjustment, self);
  g_clear_object (&self->adjustment);
}

void
tessera_row_list_watch_scrolling (TesseraRowList *self)
{
  GtkAdjustment *adjustment =
      gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (self->view));

  forget_adjustment (self);
  if (adjustment == NULL)
    return;
  self->adjustment = g_object_ref (adjustment);
  g_signal_connect_swapped (adjustment, "value-changed", G_CALLBACK (on_scrolled), self);
}

void
tessera_row_list_forget_frames (TesseraRowList *self)
{
  forget_adjustment (self);
  forget_clock (self);
}
