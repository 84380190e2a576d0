/*
 * What the files of the window share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/pane.h"
#include "viewer/panels/panels.h"
#include "viewer/window/window.h"

struct _TesseraWindow
{
  GtkApplicationWindow parent_instance;

  TesseraDocument *document;
  GtkWidget *title;
  GtkWidget *subtitle;
  GtkWidget *left_menu; /* which simulation */
  GtkWidget *axis_menu;
  GtkWidget *recent_menu;
  GtkWidget *message;
  GtkWidget *message_text;
  GtkWidget *stack; /* empty, loading, main */
  GtkWidget *loading_text;
  GtkWidget *loading_progress;
  GtkWidget *panes; /* both canvases */
  GtkWidget *table_panel;
  GtkWidget *above_table; /* GtkPaned of all other panels and the table */
  GtkWidget *canvases[TESSERA_N_SIDES];
  GtkFileChooserNative *chooser; /* while one is open */
  gulong recent_handler;
  GtkWidget *edit_bar;
  GtkWidget *side;                          /* GtkStack of the panels on the right */
  GtkWidget *edits;                         /* the history, one of them */
  GtkWidget *groups;                        /* the tree, another */
  GtkWidget *conflict_undo, *conflict_show; /* buttons of the message */
  GtkWidget *plan_button, *export_button;
  GtkWidget *legend;
};

/* A filter, a head and three rows. */
#define TESSERA_TABLE_LEAST_HEIGHT 126
/* A title, lanes and a layout; the rest is a scroll away. */
#define TESSERA_CENTRE_LEAST_HEIGHT 160

/* window-build.c */
void tessera_window_build (TesseraWindow *self);
/* window-actions.c */
void tessera_window_add_actions (TesseraWindow *self);
void tessera_window_update_actions (TesseraWindow *self);
/* window-switches.c */
void tessera_window_add_switches (TesseraWindow *self);
void tessera_window_update_switches (TesseraWindow *self);
/* window-keys.c */
void tessera_window_add_shortcuts (TesseraWindow *self, GtkWidget *canvases);
void tessera_window_add_copy_key (GtkWidget *page);
/* window-look.c: as the desktop's theme is, now and from now on. */
void tessera_window_follow_look (TesseraWindow *self);
/* window-edits.c */
void tessera_window_add_edit_actions (TesseraWindow *self);
void tessera_window_update_edit_actions (TesseraWindow *self);
/* The message's buttons: seen where edits conflict. */
void tessera_window_show_conflict (TesseraWindow *self);
/* window-files.c */
/* Of edits, as JSON: to be written, or to be read. */
void tessera_window_choose_edits (TesseraWindow *self, gboolean to_write);
void tessera_window_choose_file (TesseraWindow *self);
void tessera_window_choose_plan_target (TesseraWindow *self);
/* @suffix: ".png", ".svg" or ".html": of the name that is proposed. */
void tessera_window_choose_picture_target (TesseraWindow *self, const char *suffix);
void tessera_window_export_plan (TesseraWindow *self, const char *path);
void tessera_window_save_picture (TesseraWindow *self, const char *path);
/* What is selected, to the clipboard, as text. */
void tessera_window_copy (TesseraWindow *self);
void tessera_window_watch_recent (TesseraWindow *self);
void tessera_window_accept_drops (TesseraWindow *self);
