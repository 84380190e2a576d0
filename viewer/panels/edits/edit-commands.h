/*
 * What can be done to the plan by hand: one table for actions, menus, keys and help.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gio/gio.h>

typedef struct
{
  const char *action; /* of the window, without "win." */
  const char *title;  /* ends in … where a value is asked for */
  const char *key;    /* accelerator */
  TesseraEditKind kind;
  TesseraSplitBy by;
  gboolean asks;   /* for a value, in the edit bar */
  gboolean begins; /* a section of the menu */
} TesseraEditCommand;

const TesseraEditCommand *tessera_edit_commands (size_t *out_n_commands);
/* The same as a menu of the window's actions: (transfer full). */
GMenuModel *tessera_edit_menu_model (void);
