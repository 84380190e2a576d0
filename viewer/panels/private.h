/*
 * What the panels share: lists of blocks, the rows of a table, the tree of groups. For
 * this folder and its tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/kit/kit.h"
#include "viewer/model/document.h"

#include <gtk/gtk.h>

/* --- what a column view shows, row by row ----------------------------------------- */

#define TESSERA_MOST_COLUMNS 8

/* How many rows there are, what their cells say, which are selected, and by which column
 * they are sorted. Nothing is kept of them: a row's item is made when the view wants one,
 * and whoever made the list is asked, row by row, what is selected. GtkMultiSelection
 * would make and keep an object of each row that is selected, which for a million takes
 * longer than many frames. */
typedef struct
{
  const char *name, *title; /* of the view */
  const char *empty;        /* said where there are no rows */
  struct
  {
    const char *title;
    int n_chars; /* that it has room for at least */
    gboolean is_number, is_wide;
  } columns[TESSERA_MOST_COLUMNS]; /* all that have a title */
  int first; /* sorted by it, the most on top, until one is chosen */
  char *(*text) (gpointer user, guint position, int column);
  /* Of the first column, where its cells are more than a text; else NULL. */
  GtkWidget *(*make) (gpointer user);
  void (*show) (gpointer user, GtkWidget *cell, guint position);
  void (*activate) (gpointer user, guint position); /* or NULL */
  gboolean (*is_selected) (gpointer user, guint position);
  /* Marks the blocks that a row stands for, in a byte for each. Returns: which of them is to
   * lead where the row is chosen last, or TESSERA_NONE. */
  uint32_t (*mark) (gpointer user, guint position, uint8_t *is_in);
  gboolean reveals; /* shows the block that leads when rows are chosen */
  void (*sort) (gpointer user, int column, gboolean down); /* or NULL */
} TesseraRowModelKind;

#define TESSERA_TYPE_ROW_MODEL (tessera_row_model_get_type ())
G_DECLARE_FINAL_TYPE (TesseraRowModel, tessera_row_model, TESSERA, ROW_MODEL, GObject)

/* A panel that is such a list has this first. */
typedef struct
{
  TesseraPanel panel;
  TesseraRowModel *rows;
  GtkWidget *note;      /* the view, and what is said where it is empty */
  gboolean is_choosing; /* what is selected becomes other, since rows are chosen */
} TesseraListPanel;

/* Makes the view and its rows, for as long as the panel's box is there. */
void tessera_list_panel_make (TesseraListPanel *panel, const TesseraRowModelKind *kind);
/* So many rows from now on, and all may say something else than before. @is_known: else
 * there are none yet. */
void
tessera_row_model_set_length (TesseraRowModel *self, guint n_rows, gboolean is_known);
/* What is selected became other, or what the rows say: all that are there are written
 * anew. */
void tessera_row_model_refresh (TesseraRowModel *self);
/* Scrolls there, as soon as the view has its size; GTK_INVALID_LIST_POSITION: stays. */
void tessera_row_model_scroll_to (TesseraRowModel *self, guint position);

/* --- lifetime classes, their groups, their blocks --------------------------------- */

typedef enum
{
  TESSERA_TREE_NAME,   /* of blocks: by birth */
  TESSERA_TREE_HEIGHT, /* of blocks: with rounding */
  TESSERA_TREE_PEAK,
  TESSERA_TREE_BYTES,
  TESSERA_TREE_FILLED, /* of blocks: how long they live */
  TESSERA_N_TREE_COLUMNS
} TesseraTreeColumn;

typedef enum
{
  TESSERA_NODE_CLASS,
  TESSERA_NODE_GROUP, /* or blocks of a class that are in none */
  TESSERA_NODE_BLOCK
} TesseraNodeKind;

typedef struct
{
  TesseraNodeKind kind;
  uint32_t index; /* of the grouping's row, or a block */
} TesseraNode;

/* What is told of a node in numbers: of a block its own, and for filled how long it lives. */
TesseraGroupRow tessera_node_row (const TesseraGrouping *grouping, TesseraNode node);

typedef struct
{
  TesseraGrouping *grouping;
  TesseraTreeColumn column; /* to sort by */
  gboolean down;
  GArray *rows;     /* TesseraNode: that are seen, from top to bottom */
  uint8_t *is_open; /* as the grouping's rows */
} TesseraGroupTree;

/* @like: (nullable): what is open in it is open; else classes are: their groups are seen.
 * (transfer full) */
TesseraGroupTree *tessera_group_tree_new (TesseraGrouping *grouping,
                                          const TesseraGroupTree *like,
                                          TesseraTreeColumn column,
                                          gboolean down);
void tessera_group_tree_free (TesseraGroupTree *tree); /* NULL is fine */
gboolean tessera_group_tree_is_open (const TesseraGroupTree *tree, TesseraNode node);
/* Returns: whether it was not so before: then there are other rows. */
gboolean
tessera_group_tree_set_open (TesseraGroupTree *tree, TesseraNode node, gboolean open);
/* The row of a node, which is opened to on the way; G_MAXUINT: it is not there. */
guint
tessera_group_tree_open_to (TesseraGroupTree *tree, TesseraNodeKind kind, uint32_t index);

/* What the view of groups shows; NULL: nothing. */
TesseraGroupTree *tessera_groups_view_get_tree (GtkWidget *view);

/* --- the field that queries are typed into ---------------------------------------- */

/* Filters the groups while typing, Enter selects what matches. Below it stands why a
 * query is none; beside it what can be asked. */
GtkWidget *tessera_query_entry_new (TesseraDocument *document);
