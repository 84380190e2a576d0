/*
 * The keys of the canvases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

/* Keys without modifiers, which must not steal letters from the text fields: they belong
 * to the part of the window that holds the canvases. */
void
tessera_window_add_shortcuts (TesseraWindow *self, GtkWidget *canvases)
{
  static const struct
  {
    const char *keys;
    const char *action;
  } shortcuts[] = {
    { "Left|a", "win.pan-left" },
    { "Right|d", "win.pan-right" },
    { "Up|w", "win.pan-up" },
    { "Down|s", "win.pan-down" },
    { "plus|equal|KP_Add", "win.zoom-in" },
    { "minus|KP_Subtract", "win.zoom-out" },
    { "0|KP_0", "win.fit" },
    { "Home", "win.go-begin" },
    { "End", "win.go-end" },
    { "n", "win.next-block" },
    { "p", "win.previous-block" },
    { "<Shift>n", "win.next-block-too" },
    { "<Shift>p", "win.previous-block-too" },
    { "g", "win.select-group" },
    { "m", "win.select-similar" },
    { "l", "win.select-alive" },
    { "v", "win.select-sight" },
    { "x", "win.difference" },
    { "<Control>a", "win.select-all" },
    { "Menu|<Shift>F10", "win.ask" },
    { "k", "win.go-peak" },
    { "h", "win.go-hole" },
    { "<Alt>Up", "win.pin-up" },
    { "<Alt>Down", "win.pin-down" },
    { "<Alt><Shift>Up", "win.pin-up-push" },
    { "<Alt><Shift>Down", "win.pin-down-push" },
    { "Return|KP_Enter", "win.pin-here" },
    { "f", "win.go-failure" },
    { "Escape", "win.clear" },
  };
  GtkEventController *controller = gtk_shortcut_controller_new ();

  for (size_t i = 0; i < G_N_ELEMENTS (shortcuts); i++)
    gtk_shortcut_controller_add_shortcut (
        GTK_SHORTCUT_CONTROLLER (controller),
        gtk_shortcut_new (gtk_shortcut_trigger_parse_string (shortcuts[i].keys),
                          gtk_named_action_new (shortcuts[i].action)));
  gtk_widget_add_controller (canvases, controller);
}

/* Behind what fields and selected words make of it. */
void
tessera_window_add_copy_key (GtkWidget *page)
{
  GtkEventController *controller = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (controller),
      gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("<Control>c"),
                        gtk_named_action_new ("win.copy")));
  gtk_widget_add_controller (page, controller);
}
