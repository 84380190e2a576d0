/*
 * What is drawn of a document beside the canvases: lanes, ruler, curves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/drawing.h"

G_DEFINE_ABSTRACT_TYPE (TesseraDrawing, tessera_drawing, GTK_TYPE_WIDGET)

static void
tessera_drawing_dispose (GObject *object)
{
  g_clear_object (&((TesseraDrawing *) object)->document);
  G_OBJECT_CLASS (tessera_drawing_parent_class)->dispose (object);
}

static void
tessera_drawing_class_init (TesseraDrawingClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_drawing_dispose;
  gtk_widget_class_set_accessible_role (GTK_WIDGET_CLASS (class),
                                        GTK_ACCESSIBLE_ROLE_IMG);
}

static void
tessera_drawing_init (TesseraDrawing *self)
{
}

GtkWidget *
tessera_drawing_new (GType type, TesseraDocument *document, TesseraChangedFunc changed)
{
  TesseraDrawing *self = g_object_new (type, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), changed);
  return GTK_WIDGET (self);
}
