/*
 * What the files of row lists share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/panels/rows/row-list.h"

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
  GPtrArray *fresh;    /* of these: bound while rows are made or destroyed; else NULL */
  gboolean reselects;  /* rows are to be told whether they are selected */
  gboolean reselects_in_sight;  /* and are seen */
  guint sight_begin, sight_end; /* rows that are seen, and as many around */
  guint goes_to;                /* while it makes the view scroll: to there; else
                                   GTK_INVALID_LIST_POSITION */
  gboolean goes_up, goes_down;  /* and that was out of sight: it comes to the edge */
  GtkAdjustment *adjustment;    /* the view's; NULL: none */
  gboolean has_scrolled;        /* since the last frame */
  double seen_value;            /* of the adjustment, in the last frame */
  guint seen_begin, seen_end;   /* rows that were seen in it */
  gboolean has_worked;          /* likewise: its next tick has no more work */
  gboolean has_followed; /* scrolled to the rows that stay, since there are so few */
  GdkFrameClock *clock;  /* whose end of a frame is waited for; NULL: none */
};

/* row-list.c */
void tessera_row_list_go_to (TesseraRowList *self, guint position);
/* row-select.c: the list as what GTK asks what is selected, and tells what is chosen. */
void tessera_row_list_init_selection (GtkSelectionModelInterface *interface);
/* So many rows are told at once whether they are selected, where nobody scrolls. */
#define TESSERA_MOST_ROWS_TOLD 10
/* Tells GTK which rows became other: of those in sight @most_in_sight, then, up to @most
 * in all, of the others. */
void
tessera_row_list_tell_selected (TesseraRowList *self, guint most_in_sight, guint most);
/* row-cells.c */
/* One above the last row that has widgets. */
guint tessera_row_list_end_of_bound (TesseraRowList *self);
/* Which rows are seen: [begin, end). FALSE: none is, or they are not laid out yet. */
gboolean
tessera_row_list_find_sight (TesseraRowList *self, guint *out_begin, guint *out_end);
/* A frame has been drawn: from now on the view may scroll. */
void tessera_row_list_note_seen (TesseraRowList *self);
/* GTK_LIST_ITEMs of a column of rows that were put before others: their styles, and
 * nobody else's. */
void tessera_row_list_style (GPtrArray *items);
gboolean tessera_row_list_is_in_sight (TesseraRowList *self, GtkListItem *item);
/* Writes what is to be written: all that is in sight or near where the view goes, @most
 * of the rest. */
void tessera_row_list_write_stale (TesseraRowList *self, guint most);
/* row-steps.c: what is left to other frames. */
gboolean tessera_row_list_has_rest (TesseraRowList *self);
void tessera_row_list_queue_rest (TesseraRowList *self);
/* Whether the work of the frame that comes is this list's, not another's of the same
 * window; then that is its work. */
gboolean tessera_row_list_may_work (TesseraRowList *self);
/* Makes or destroys some rows. */
void tessera_row_list_take_a_step (TesseraRowList *self);
/* The view is seen again: nothing that could be seen is left to other frames. */
void tessera_row_list_come_into_sight (TesseraRowList *self);
/* Hears where the view scrolls by itself, from now on. */
void tessera_row_list_watch_scrolling (TesseraRowList *self);
void tessera_row_list_forget_frames (TesseraRowList *self);
