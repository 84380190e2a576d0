/*
 * Short ways to make the widgets that the panels are built of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "picture/marks.h"
#include "viewer/model/document.h"

/* @user: the panel that follows the document. */
typedef void (*TesseraChangedFunc) (TesseraDocument *document, guint what, gpointer user);

/* Word joiner and zero-width space: where a name must not and where it may be broken. */
#define TESSERA_NO_BREAK "\xe2\x81\xa0"
#define TESSERA_MAY_BREAK "\xe2\x80\x8b"

/* @css_classes: (nullable): space-separated. Left aligned, one line, as wide as its text:
 * for what is never long. */
GtkWidget *tessera_label_new (const char *text, const char *css_classes);
/* As many lines as it takes. A number and its unit stay on one. */
GtkWidget *tessera_sentence_new (const char *text, const char *css_classes);
/* For names that people give, which have no end: at most @most_lines lines, the last
 * ellipsized in its middle. */
GtkWidget *
tessera_name_new (const char *widget_name, const char *css_classes, int most_lines);
/* With a tooltip that has all of it; the other where what is around it has one. */
void tessera_name_set (GtkWidget *label, const char *text);
void tessera_name_write (GtkWidget *label, const char *text);
/* The text of a GtkLabel. */
void tessera_label_set (GtkWidget *label, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* GtkInscription: a text in a cell of a list, on one line, which asks for the room of
 * @n_chars whatever it says; what is too long is ellipsized in its middle, and a tooltip
 * has all of it. @is_number: at the end of its cell, digits of one width. */
GtkWidget *tessera_cell_new (int n_chars, gboolean is_number);
GtkWidget *tessera_heading_new (const char *text);
GtkWidget *tessera_line_new (void);
/* @widget, called so from now on. */
GtkWidget *tessera_named (GtkWidget *widget, const char *name);
/* Widgets beside, or below, each other; NULL at the end. */
#define tessera_row_new(...) tessera_box_new (GTK_ORIENTATION_HORIZONTAL, __VA_ARGS__)
#define tessera_column_new(...) tessera_box_new (GTK_ORIENTATION_VERTICAL, __VA_ARGS__)
GtkWidget *
tessera_box_new (GtkOrientation orientation, int spacing, ...) G_GNUC_NULL_TERMINATED;
/* A button of a label, or of an icon where that ends in "-symbolic": then it is read out by
 * its tip. All others are (nullable); @css_classes: space-separated, for an icon in place of
 * GTK's own. */
GtkWidget *tessera_button_new (const char *label,
                               const char *action,
                               const char *name,
                               const char *css_classes,
                               const char *tip);
/* @child, and above it, where there is nothing in it, a sentence that says so:
 * tessera_note_show(). */
GtkWidget *tessera_note_new (GtkWidget *child, const char *text);
void tessera_note_show (GtkWidget *note, gboolean is_empty);
/* A little square of colour (0xRRGGBB), hatched with @hatch_rgb unless TESSERA_NONE. */
GtkWidget *tessera_swatch_new (void);
void tessera_swatch_set (GtkWidget *swatch, uint32_t rgb, uint32_t hatch_rgb);
/* A bar of @share (0..1) of its width. */
GtkWidget *tessera_bar_new (void);
void tessera_bar_set (GtkWidget *bar, double share, uint32_t rgb);
void tessera_remove_children (GtkWidget *box);
void tessera_set_accessible_label (GtkWidget *widget, const char *label);

/* As gtk_widget_set_tooltip_text(), which asks the display where the pointer is: not where
 * the text stays. NULL or "": none. */
void tessera_set_tip (GtkWidget *widget, const char *text);
void tessera_set_tip_of (GtkWidget *widget, const char *format, ...) G_GNUC_PRINTF (2, 3);
void tessera_set_class (GtkWidget *widget, const char *css_class, gboolean has_it);
/* @trigger: "F2". */
void tessera_add_key (GtkWidget *widget, const char *trigger, GtkShortcutFunc pressed);

/* --- panels ----------------------------------------------------------------------- */

/* A box of widgets below each other that follows a document, and what belongs to it: a
 * panel's own struct begins with this, and lives as long as the box. */
typedef struct
{
  GtkWidget *box;
  TesseraDocument *document;
  GDestroyNotify clear; /* (nullable): of the panel, when the box has gone */
} TesseraPanel;

/* A panel of @n_bytes, all zero behind its beginning; its box is called @name. */
gpointer tessera_panel_new (size_t n_bytes,
                            TesseraDocument *document,
                            const char *name,
                            int spacing,
                            GDestroyNotify clear);
/* The same of another widget than a box. */
gpointer tessera_panel_new_on (GtkWidget *box,
                               size_t n_bytes,
                               TesseraDocument *document,
                               const char *name,
                               GDestroyNotify clear);
/* The panel of a box. */
gpointer tessera_panel_of (GtkWidget *box);
/* Calls @changed with the panel now, with everything, and at every change while its box
 * lives. Returns: the box. */
GtkWidget *tessera_panel_watch (gpointer panel, TesseraChangedFunc changed);
/* Widgets below what is in it; NULL at the end. */
void tessera_panel_add (gpointer panel, ...) G_GNUC_NULL_TERMINATED;

/* A name, and what is known of it. */
typedef struct
{
  GtkWidget *name, *value;
} TesseraFact;

GtkWidget *tessera_grid_new (int column_spacing, int row_spacing);
/* Widgets beside each other in a row of a grid; NULL at the end. */
void tessera_grid_add (GtkWidget *grid, int row, ...) G_GNUC_NULL_TERMINATED;
void tessera_grid_show (GtkWidget *grid, int row, gboolean is_seen);
/* A grid of @n facts, each of at most @most_lines lines. */
GtkWidget *
tessera_facts_new (TesseraFact *facts, const char *const *names, int n, int most_lines);
/* @text: (transfer full) (nullable): where it is empty the fact is not seen. */
void tessera_fact_set (TesseraFact *fact, char *text);
/* A label of a number, at the end of its room. */
GtkWidget *tessera_number_new (const char *name, const char *css_classes);

/* Blocks with their sizes below a heading, as buttons: one that is pressed is selected,
 * with Control or Shift together with what is, and comes into sight. Not seen while it is
 * empty. @n_rows: at most. */
GtkWidget *tessera_links_new (TesseraDocument *document, const char *heading, int n_rows);
/* Empty from now on; then each that is to be in it. */
void tessera_links_begin (GtkWidget *blocks);
void
tessera_links_add (GtkWidget *blocks, uint32_t block, uint64_t bytes, const char *words);
/* Whether Control or Shift is held while something is pressed. */
gboolean tessera_wants_more (GtkWidget *pressed);

/* --- what every drawing uses --------------------------------------------------------- */

/* Coordinates are logical pixels. */

/* A pen (picture/marks.h) of a widget, with its font. */
typedef struct
{
  TesseraPen base;
  GtkWidget *widget;
  GtkSnapshot *snapshot;
  GHashTable
      *layouts; /* PangoLayout by what they are of, while the font is that of ... */
  guint serial;
} TesseraWidgetPen;

/* An image, which it takes over, pixel by pixel. */
GskRenderNode *tessera_image_node (cairo_surface_t *image, int width, int height);

/* What a widget draws, and its size in logical pixels. */
typedef struct
{
  void (*draw) (gpointer drawing, TesseraWidgetPen *pen, int width, int height);
  int least_width, least_height;
  int width, height; /* where there is room */
} TesseraDrawingKind;

/* A panel whose box is a widget that draws itself, cut to its place, and shows where the
 * focus is. */
gpointer tessera_drawing_new (size_t n_bytes,
                              TesseraDocument *document,
                              const char *name,
                              const TesseraDrawingKind *kind,
                              GDestroyNotify clear);
