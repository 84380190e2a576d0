/*
 * What can be done to the plan by hand: one table for actions, menus, keys and help.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

static const TesseraEditCommand commands[] = {
  { "edit-group", "New group…", "<Control>g", TESSERA_EDIT_GROUP, 0, TRUE, FALSE },
  { "edit-move", "Move to group…", "<Control><Shift>g", TESSERA_EDIT_MOVE, 0, TRUE,
    FALSE },
  { "edit-merge", "Merge groups…", "<Control>m", TESSERA_EDIT_MERGE, 0, TRUE, FALSE },
  { "edit-split-phase", "Split by phase", "<Alt>1", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_PHASE, FALSE, TRUE },
  { "edit-split-size", "Split by size", "<Alt>2", TESSERA_EDIT_SPLIT, TESSERA_SPLIT_SIZE,
    FALSE, FALSE },
  { "edit-split-module", "Split by module", "<Alt>3", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_MODULE, FALSE, FALSE },
  { "edit-split-step", "Split by step", "<Alt>4", TESSERA_EDIT_SPLIT, TESSERA_SPLIT_STEP,
    FALSE, FALSE },
  { "edit-split-at", "Split at the moment", "<Alt>5", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_AT, FALSE, FALSE },
  { "edit-pin", "Pin at an offset…", "<Control><Shift>p", TESSERA_EDIT_PIN, 0, TRUE,
    TRUE },
  { "edit-together", "Keep together", "<Control>k", TESSERA_EDIT_TOGETHER, 0, FALSE,
    FALSE },
  { "edit-apart", "Keep apart…", "<Control><Shift>k", TESSERA_EDIT_APART, 0, TRUE,
    FALSE },
  { "edit-dynamic", "Leave to the dynamic allocator", "<Control>u", TESSERA_EDIT_DYNAMIC,
    0, FALSE, TRUE },
  { "edit-class", "Change class…", "<Control>l", TESSERA_EDIT_CLASS, 0, TRUE, FALSE },
  { "edit-cap", "Cap the pool…", "<Control><Shift>l", TESSERA_EDIT_CAP, 0, TRUE, FALSE },
};

const TesseraEditCommand *
tessera_edit_commands (size_t *out_n_commands)
{
  *out_n_commands = G_N_ELEMENTS (commands);
  return commands;
}

GMenuModel *
tessera_edit_menu_model (void)
{
  GMenu *menu = g_menu_new ();
  GMenu *section = g_menu_new ();

  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      g_autofree char *action = g_strconcat ("win.", commands[i].action, NULL);

      if (commands[i].begins)
        {
          g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
          g_object_unref (section);
          section = g_menu_new ();
        }
      g_menu_append (section, commands[i].title, action);
    }
  g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
  g_object_unref (section);
  return G_MENU_MODEL (menu);
}
