/*
 * Room for one widget, which asks for the same room whatever is in it. See still.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/still.h"

struct _TesseraStill
{
  GtkWidget parent_instance;

  GtkWidget *child;
  int width, height;
};

G_DEFINE_TYPE (TesseraStill, tessera_still, GTK_TYPE_WIDGET)

static GtkSizeRequestMode
get_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_CONSTANT_SIZE;
}

static void
measure (GtkWidget *widget,
         GtkOrientation orientation,
         int for_size,
         int *least,
         int *natural,
         int *least_baseline,
         int *natural_baseline)
{
  TesseraStill *self = TESSERA_STILL (widget);

  *least = *natural =
      orientation == GTK_ORIENTATION_HORIZONTAL ? self->width : self->height;
  *least_baseline = *natural_baseline = -1;
}

static void
allocate (GtkWidget *widget, int width, int height, int baseline)
{
  gtk_widget_allocate (TESSERA_STILL (widget)->child, width, height, baseline, NULL);
}

static void
tessera_still_dispose (GObject *object)
{
  g_clear_pointer (&TESSERA_STILL (object)->child, gtk_widget_unparent);
  G_OBJECT_CLASS (tessera_still_parent_class)->dispose (object);
}

static void
tessera_still_class_init (TesseraStillClass *class)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (class);

  G_OBJECT_CLASS (class)->dispose = tessera_still_dispose;
  widget_class->get_request_mode = get_request_mode;
  widget_class->measure = measure;
  widget_class->size_allocate = allocate;
}

static void
tessera_still_init (TesseraStill *self)
{
}

GtkWidget *
tessera_still_new (GtkWidget *child, int width, int height)
{
  TesseraStill *self = g_object_new (TESSERA_TYPE_STILL, NULL);

  self->child = child;
  self->width = width;
  self->height = height;
  gtk_widget_set_parent (child, GTK_WIDGET (self));
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  return GTK_WIDGET (self);
}
