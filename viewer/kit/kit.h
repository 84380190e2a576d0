/*
 * Short ways to make the widgets that the panels are built of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/model/document.h"

typedef void (*TesseraChangedFunc) (TesseraDocument *document,
                                    guint what,
                                    gpointer widget);

/* Calls @changed now, with everything, and at every change while @widget lives. */
void
tessera_watch (TesseraDocument *document, GtkWidget *widget, TesseraChangedFunc changed);

/* Word joiner and zero-width space: where a name must not and where it may be broken. */
#define TESSERA_NO_BREAK "\xe2\x81\xa0"
#define TESSERA_MAY_BREAK "\xe2\x80\x8b"

/* @css_classes: (nullable): space-separated. Left aligned, one line, as wide as its text:
 * for what is never long. */
GtkWidget *tessera_label_new (const char *text, const char *css_classes);
/* As many lines as it takes. A number and its unit stay on one. */
GtkWidget *tessera_sentence_new (const char *text, const char *css_classes);
/* For names that people give, which have no end: at most @most_lines lines, the last
 * ellipsized in its middle. Whoever makes it gives it, or what is around it, a tooltip
 * with all of it. */
GtkWidget *
tessera_name_new (const char *widget_name, const char *css_classes, int most_lines);
void tessera_name_set (GtkWidget *label, const char *text);
/* GtkInscription: a text in a cell of a list, on one line, which asks for the room of
 * @n_chars whatever it says; what is too long is ellipsized in its middle, and a tooltip
 * has all of it. @is_number: at the end of its cell, digits of one width. */
GtkWidget *tessera_cell_new (int n_chars, gboolean is_number);
GtkWidget *tessera_heading_new (const char *text);
/* @child, and above it, where there is nothing in it, a sentence that says so:
 * tessera_note_show(). */
GtkWidget *tessera_note_new (GtkWidget *child, const char *text);
void tessera_note_show (GtkWidget *note, gboolean is_empty);
/* A little square of colour (0xRRGGBB), hatched with @hatch_rgb unless TESSERA_NONE. */
GtkWidget *tessera_swatch_new (uint32_t rgb, uint32_t hatch_rgb);
void tessera_swatch_set (GtkWidget *swatch, uint32_t rgb, uint32_t hatch_rgb);
/* A bar of @share (0..1) of its width. */
GtkWidget *tessera_bar_new (double share, uint32_t rgb);
void tessera_bar_set (GtkWidget *bar, double share, uint32_t rgb);
void tessera_remove_children (GtkWidget *box);
void tessera_set_accessible_label (GtkWidget *widget, const char *label);

/* What gtk_widget_set_tooltip_text() does, for texts that change: that one asks the
 * display twice where the pointer is, and waits for the answers, which took a tenth of
 * what the window does after an edit. This one tells when it is asked. NULL: none. */
void tessera_set_tip (GtkWidget *widget, const char *text);
/* What a widget's tooltip says, whoever set it; NULL: it has none. The widget's. */
const char *tessera_get_tip (GtkWidget *widget);
/* gtk_widget_set_css_classes() styles a widget anew even where it had just these. */
void tessera_set_classes (GtkWidget *widget, const char *const *classes);
