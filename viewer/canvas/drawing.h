/*
 * What is drawn of a document beside the canvases: lanes, ruler, curves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/kit/kit.h"

typedef struct
{
  GtkWidget parent_instance;

  TesseraDocument *document; /* owned */
} TesseraDrawing;

typedef struct
{
  GtkWidgetClass parent_class;
} TesseraDrawingClass;

#define TESSERA_TYPE_DRAWING (tessera_drawing_get_type ())
GType tessera_drawing_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraDrawing, g_object_unref)

/* One of @type, which hears of all changes, from now on. */
GtkWidget *
tessera_drawing_new (GType type, TesseraDocument *document, TesseraChangedFunc changed);
