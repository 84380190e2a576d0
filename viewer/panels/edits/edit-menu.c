/*
 * The menu of edits: of the header bar, and under the pointer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/edits/edit-menu.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

#define MOST_ITEMS 24

typedef struct
{
  TesseraDocument *document;
  GtkWidget *items[MOST_ITEMS]; /* by command */
} Menu;

static void
menu_free (gpointer user)
{
  Menu *menu = user;

  g_object_unref (menu->document);
  g_free (menu);
}

/* An action that is off leaves no word: whoever asks why is told here. */
static void
show_reasons (Menu *menu)
{
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  for (size_t i = 0; i < n; i++)
    tessera_set_tip (
        menu->items[i],
        tessera_document_why_no_edit (menu->document, commands[i].kind, commands[i].by));
}

static void
on_clicked (GtkButton *button, GtkPopover *popover)
{
  gtk_popover_popdown (popover);
}

static GtkWidget *
item_new (GtkWidget *popover, const char *title, const char *action, const char *key)
{
  GtkWidget *button = gtk_button_new ();
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 24);
  GtkWidget *name = tessera_label_new (title, NULL);
  g_autofree char *detailed = g_strconcat ("win.", action, NULL);
  g_autofree char *key_text = NULL;
  GdkModifierType modifiers;
  guint value;

  gtk_widget_set_hexpand (name, TRUE);
  gtk_box_append (GTK_BOX (row), name);
  if (gtk_accelerator_parse (key, &value, &modifiers))
    {
      GtkWidget *label;

      key_text = gtk_accelerator_get_label (value, modifiers);
      label = tessera_label_new (key_text, "quiet");
      gtk_box_append (GTK_BOX (row), label);
    }
  gtk_button_set_child (GTK_BUTTON (button), row);
  gtk_button_set_has_frame (GTK_BUTTON (button), FALSE);
  gtk_widget_add_css_class (button, "menu-item");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button), detailed);
  gtk_widget_set_name (button, action);
  tessera_set_accessible_label (button, title);
  g_signal_connect (button, "clicked", G_CALLBACK (on_clicked), popover);
  return button;
}

static void
on_show (GtkWidget *popover, Menu *menu)
{
  show_reasons (menu);
}

GtkWidget *
tessera_edit_menu_new (TesseraDocument *document)
{
  GtkWidget *popover = gtk_popover_new ();
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  Menu *menu = g_new0 (Menu, 1);
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  g_assert (n <= MOST_ITEMS);
  menu->document = g_object_ref (document);
  gtk_box_append (GTK_BOX (box), item_new (popover, "Undo", "undo", "<Control>z"));
  gtk_box_append (GTK_BOX (box), item_new (popover, "Redo", "redo", "<Control><Shift>z"));
  gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  for (size_t i = 0; i < n; i++)
    {
      if (commands[i].begins)
        gtk_box_append (GTK_BOX (box), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
      menu->items[i] =
          item_new (popover, commands[i].title, commands[i].action, commands[i].key);
      gtk_box_append (GTK_BOX (box), menu->items[i]);
    }
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  gtk_popover_set_has_arrow (GTK_POPOVER (popover), FALSE);
  gtk_widget_add_css_class (popover, "edit-menu");
  g_object_set_data_full (G_OBJECT (popover), "menu", menu, menu_free);
  g_signal_connect (popover, "show", G_CALLBACK (on_show), menu);
  show_reasons (menu);
  return popover;
}
