/*
 * What the files of the window share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/window/window.h"

struct _TesseraWindow
{
  AdwApplicationWindow parent_instance;

  TesseraDocument *document;
  AdwWindowTitle *title;
  GtkWidget *left_menu; /* which simulation */
  GtkWidget *devices;   /* of the file, where it has several */
  GtkWidget *axis_menu;
  GtkWidget *recent_menu;
  AdwToastOverlay *toasts;
  AdwToast *toast;         /* what is said; NULL: nothing */
  GtkWidget *said;         /* its words, of the toast */
  gboolean is_of_conflict; /* it has the buttons for edits that conflict */
  GtkWidget *stack;        /* empty, loading, main */
  AdwStatusPage *loading;
  GtkWidget *loading_progress;
  GtkWidget *panes; /* both canvases */
  GtkWidget *table_panel;
  GtkWidget *above_table; /* GtkPaned of all other panels and the table */
  GtkWidget *canvases[TESSERA_N_SIDES];
  GtkFileChooserNative *chooser; /* while one is open */
  GtkWidget *edit_bar;
  GtkWidget *side;   /* GtkStack of the panels on the right */
  GtkWidget *edits;  /* the history, one of them */
  GtkWidget *groups; /* the tree, another */
  GtkWidget *plan_button, *export_button;
};

/* A filter, a head and three rows. */
#define TESSERA_TABLE_LEAST_HEIGHT 126

/* actions.c */
void tessera_window_add_actions (TesseraWindow *self);
/* What is on, what is chosen, and what buttons say of it. */
void tessera_window_update_actions (TesseraWindow *self);

/* keys.c */
void tessera_app_add_keys (GtkApplication *app);
/* Those of the canvases and of the page that they are on; and the window that lists all. */
void tessera_window_add_keys (TesseraWindow *self, GtkWidget *canvases);

/* files.c */
typedef enum
{
  TESSERA_FILE_TO_OPEN,
  TESSERA_FILE_FOR_PLAN,
  TESSERA_FILE_FOR_PICTURE,
  TESSERA_FILE_FOR_REPORT,
  TESSERA_FILE_OF_EDITS,
  TESSERA_FILE_FOR_EDITS
} TesseraFileUse;

/* Asks for a file, and does with it what is asked for. */
void tessera_window_choose (TesseraWindow *self, TesseraFileUse use);
/* A picture or a report, as the name ends. */
void tessera_window_save_picture (TesseraWindow *self, const char *path);
void tessera_window_watch_recent (TesseraWindow *self);
void tessera_window_accept_drops (TesseraWindow *self);
