/*
 * A text in a cell of a list: what GtkLabel is, where hundreds are made, changed and
 * measured at once and twenty are seen. It is measured without being laid out
 * (text-widths.h), laid out when it is drawn, and a text that it has already costs
 * nothing.
 *
 * To whom it is read out it is a label, and a tooltip has all of its text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

/* What the cells of a column have in common. */
typedef struct TesseraCellKind TesseraCellKind;

typedef struct
{
  const char *css_class; /* (nullable) */
  int n_chars;           /* that it has room for at least */
  int most_lines;        /* 1: as wide as its text; else broken where names may be, the
                            last line ellipsized in its middle */
  gboolean is_number;    /* at the end of its cell, digits of one width */
  gboolean has_tip;
} TesseraCellLook;

/* @look is copied; its strings are not. */
TesseraCellKind *tessera_cell_kind_new (const TesseraCellLook *look);
void tessera_cell_kind_unref (TesseraCellKind *kind);

#define TESSERA_TYPE_CELL (tessera_cell_get_type ())
G_DECLARE_FINAL_TYPE (TesseraCell, tessera_cell, TESSERA, CELL, GtkWidget)

GtkWidget *tessera_cell_new (TesseraCellKind *kind);
void tessera_cell_set_text (TesseraCell *self, const char *text);
const char *tessera_cell_get_text (TesseraCell *self);
/* As it is drawn, and where. (transfer full) */
PangoLayout *tessera_cell_lay_out (TesseraCell *self, int *out_x);
