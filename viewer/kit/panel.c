/*
 * What panels are made of: a box with what belongs to it, facts, blocks to go to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"

#define SIZE_CHARS 9

static const char panel_key[] = "panel";

/* --- a panel ---------------------------------------------------------------------- */

static void
panel_free (gpointer user)
{
  TesseraPanel *panel = user;

  g_clear_object (&panel->document);
  if (panel->clear != NULL)
    panel->clear (panel);
  g_free (panel);
}

gpointer
tessera_panel_new_on (GtkWidget *box,
                      size_t n_bytes,
                      TesseraDocument *document,
                      const char *name,
                      GDestroyNotify clear)
{
  TesseraPanel *panel = g_malloc0 (n_bytes);

  panel->box = box;
  panel->document = g_object_ref (document);
  panel->clear = clear;
  gtk_widget_set_name (panel->box, name);
  g_object_set_data_full (G_OBJECT (panel->box), panel_key, panel, panel_free);
  return panel;
}

gpointer
tessera_panel_new (size_t n_bytes,
                   TesseraDocument *document,
                   const char *name,
                   int spacing,
                   GDestroyNotify clear)
{
  return tessera_panel_new_on (gtk_box_new (GTK_ORIENTATION_VERTICAL, spacing), n_bytes,
                               document, name, clear);
}

gpointer
tessera_panel_of (GtkWidget *box)
{
  return g_object_get_data (G_OBJECT (box), panel_key);
}

GtkWidget *
tessera_panel_watch (gpointer panel, TesseraChangedFunc changed)
{
  TesseraPanel *self = panel;
  GClosure *closure = g_cclosure_new (G_CALLBACK (changed), panel, NULL);

  g_object_watch_closure (G_OBJECT (self->box), closure);
  g_signal_connect_closure (self->document, "changed", closure, FALSE);
  changed (self->document, TESSERA_CHANGED_ALL, panel);
  return self->box;
}

void
tessera_panel_add (gpointer panel, ...)
{
  va_list children;

  va_start (children, panel);
  for (GtkWidget *child; (child = va_arg (children, GtkWidget *)) != NULL;)
    gtk_box_append (GTK_BOX (((TesseraPanel *) panel)->box), child);
  va_end (children);
}

/* --- facts ------------------------------------------------------------------------ */

GtkWidget *
tessera_grid_new (int column_spacing, int row_spacing)
{
  return g_object_new (GTK_TYPE_GRID, "column-spacing", column_spacing, "row-spacing",
                       row_spacing, NULL);
}

void
tessera_grid_add (GtkWidget *grid, int row, ...)
{
  int column = 0;
  va_list cells;

  va_start (cells, row);
  for (GtkWidget *cell; (cell = va_arg (cells, GtkWidget *)) != NULL; column++)
    gtk_grid_attach (GTK_GRID (grid), cell, column, row, 1, 1);
  va_end (cells);
}

void
tessera_grid_show (GtkWidget *grid, int row, gboolean is_seen)
{
  GtkWidget *cell;

  for (int i = 0; (cell = gtk_grid_get_child_at (GTK_GRID (grid), i, row)) != NULL; i++)
    gtk_widget_set_visible (cell, is_seen);
}

GtkWidget *
tessera_facts_new (TesseraFact *facts, const char *const *names, int n, int most_lines)
{
  GtkWidget *grid = tessera_grid_new (12, 4);

  for (int i = 0; i < n; i++)
    {
      facts[i].name = tessera_label_new (names[i], "quiet");
      facts[i].value = tessera_name_new ("fact", NULL, most_lines);
      gtk_widget_set_valign (facts[i].name, GTK_ALIGN_START);
      gtk_widget_set_hexpand (facts[i].value, TRUE);
      tessera_grid_add (grid, i, facts[i].name, facts[i].value, NULL);
    }
  return grid;
}

void
tessera_fact_set (TesseraFact *fact, char *text)
{
  gboolean is_known = text != NULL && *text != '\0';

  gtk_widget_set_visible (fact->name, is_known);
  gtk_widget_set_visible (fact->value, is_known);
  if (is_known)
    tessera_name_set (fact->value, text);
  g_free (text);
}

GtkWidget *
tessera_number_new (const char *name, const char *css_classes)
{
  GtkWidget *label = tessera_label_new ("", css_classes);

  gtk_label_set_xalign (GTK_LABEL (label), 1);
  return tessera_named (label, name);
}

/* --- blocks to go to -------------------------------------------------------------- */

static const char block_key[] = "block";

gboolean
tessera_wants_more (GtkWidget *row)
{
  GdkSeat *seat = gdk_display_get_default_seat (gtk_widget_get_display (row));
  GdkDevice *keyboard = seat != NULL ? gdk_seat_get_keyboard (seat) : NULL;

  return keyboard != NULL && (gdk_device_get_modifier_state (keyboard) &
                              (GDK_CONTROL_MASK | GDK_SHIFT_MASK)) != 0;
}

static void
on_block_clicked (GtkWidget *row, TesseraDocument *document)
{
  uint32_t block = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (row), block_key));

  tessera_document_select_blocks (
      document, &block, 1,
      tessera_wants_more (row) ? TESSERA_SELECT_TURN : TESSERA_SELECT_ONLY, block);
  tessera_document_reveal (document, block);
}

static GtkWidget *
block_row_new (TesseraDocument *document)
{
  GtkWidget *row = gtk_button_new ();
  GtkWidget *size = tessera_number_new ("size", "figure");
  GtkWidget *words = tessera_name_new ("source", "quiet", 4);

  gtk_label_set_width_chars (GTK_LABEL (size), SIZE_CHARS);
  gtk_widget_set_valign (size, GTK_ALIGN_START);
  gtk_widget_set_hexpand (words, TRUE);
  gtk_button_set_child (GTK_BUTTON (row), tessera_row_new (10, size, words, NULL));
  gtk_widget_set_css_classes (row,
                              (const char *[]){ "flat", "small", "legend-row", NULL });
  g_signal_connect_object (row, "clicked", G_CALLBACK (on_block_clicked), document, 0);
  return row;
}

GtkWidget *
tessera_links_new (TesseraDocument *document, const char *heading, int n_rows)
{
  GtkWidget *blocks = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *head = tessera_heading_new (heading);

  gtk_widget_set_margin_bottom (head, 4);
  gtk_box_append (GTK_BOX (blocks), head);
  for (int i = 0; i < n_rows; i++)
    gtk_box_append (GTK_BOX (blocks), block_row_new (document));
  tessera_links_begin (blocks);
  return blocks;
}

void
tessera_links_begin (GtkWidget *blocks)
{
  for (GtkWidget *child = gtk_widget_get_first_child (blocks); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    gtk_widget_set_visible (child, FALSE);
}

void
tessera_links_add (GtkWidget *blocks, uint32_t block, uint64_t bytes, const char *words)
{
  GtkWidget *head = gtk_widget_get_first_child (blocks);
  GtkWidget *row = gtk_widget_get_next_sibling (head), *size;

  while (gtk_widget_get_visible (row))
    row = gtk_widget_get_next_sibling (row);
  size = gtk_widget_get_first_child (gtk_button_get_child (GTK_BUTTON (row)));
  g_object_set_data (G_OBJECT (row), block_key, GUINT_TO_POINTER (block));
  tessera_label_set (size, "%s", TESSERA_SIZE (bytes));
  tessera_name_write (gtk_widget_get_next_sibling (size), words);
  tessera_set_tip (row, words);
  gtk_widget_set_visible (head, TRUE);
  gtk_widget_set_visible (row, TRUE);
}
