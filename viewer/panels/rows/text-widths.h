/*
 * How wide a text is and how many lines it takes, without laying it out.
 *
 * GTK measures every row of a list that it keeps, 200 of them, to show twenty; laying
 * their texts out takes longer than ten frames. Here a text is the sum of its characters,
 * each laid out once. Kerning and ligatures are not seen, so a line is taken for a little
 * narrower than it is: a text gets a line too many rather than one too few.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <pango/pango.h>

typedef struct TesseraTextWidths TesseraTextWidths;

/* As a layout of @context with @attributes (nullable) would have it. */
TesseraTextWidths *tessera_text_widths_new (PangoContext *context,
                                            PangoAttrList *attributes);
void tessera_text_widths_free (TesseraTextWidths *self); /* NULL is fine */
/* Whether it was made with a context like that. */
gboolean tessera_text_widths_suits (const TesseraTextWidths *self, PangoContext *context);
/* In pixels, rounded up: of a line of text, of one of @n_chars digits or letters. */
int tessera_text_widths_of (TesseraTextWidths *self, const char *text);
int tessera_text_widths_of_chars (const TesseraTextWidths *self, int n_chars);
/* Of a line, in pixels. */
int tessera_text_widths_height (const TesseraTextWidths *self);
/* Broken behind blanks and TESSERA_MAY_BREAK, and inside of words that are longer than
 * @width_pixels. At least 1. */
int tessera_text_widths_count_lines (TesseraTextWidths *self,
                                     const char *text,
                                     int width_pixels);
