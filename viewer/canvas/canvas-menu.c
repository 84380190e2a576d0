/*
 * What can be done with the selected blocks, as a menu where they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/model/document.h"

static void
make_menu (TesseraCanvas *self)
{
  g_autoptr (GtkBuilder) builder =
      gtk_builder_new_from_resource ("/org/tessera/Viewer/menus.ui");

  g_autoptr (GMenuModel) edits = tessera_edit_menu_model ();
  GMenu *menu = G_MENU (gtk_builder_get_object (builder, "block-menu"));

  g_menu_append_submenu (menu, "Edit the plan", edits);
  self->menu = gtk_popover_menu_new_from_model (G_MENU_MODEL (menu));
  gtk_popover_set_has_arrow (GTK_POPOVER (self->menu), FALSE);
  gtk_widget_set_halign (self->menu, GTK_ALIGN_START);
  gtk_widget_set_name (self->menu, "block-menu");
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->menu),
                                  GTK_ACCESSIBLE_PROPERTY_LABEL, "Selected blocks", -1);
  gtk_widget_set_parent (self->menu, GTK_WIDGET (self));
}

void
tessera_canvas_pop_menu_up (TesseraCanvas *self, double x, double y)
{
  if (self->menu == NULL)
    make_menu (self);
  gtk_popover_set_pointing_to (GTK_POPOVER (self->menu),
                               &(GdkRectangle){ (int) x, (int) y, 1, 1 });
  gtk_popover_popup (GTK_POPOVER (self->menu));
}
