/*
 * Many boxes as one picture.
 *
 * A renderer takes 2 us for each box that it is told of: of thousands on their way that is
 * most of a frame. Here they are filled into one image, which is drawn once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

typedef struct
{
  double x, y, width, height; /* logical pixels */
} TesseraBox;

typedef struct TesseraBoxImage TesseraBoxImage;

/* Empty: all can be seen through. @scale: of a logical pixel. */
TesseraBoxImage *tessera_box_image_new (int width, int height, int scale);
/* Over what is there. Boxes go to the nearest pixels; none is less than one wide or high,
 * as far as it is within the image. */
void tessera_box_image_fill (TesseraBoxImage *self,
                             const TesseraBox *box,
                             uint32_t rgb,
                             double alpha);
/* Inside the box, one logical pixel thick. */
void
tessera_box_image_outline (TesseraBoxImage *self, const TesseraBox *box, uint32_t rgb);
/* Of a pixel of the image: premultiplied 0xAARRGGBB. */
uint32_t tessera_box_image_get_pixel (const TesseraBoxImage *self, int x, int y);
/* Draws it at the origin; takes it. */
void tessera_box_image_draw (TesseraBoxImage *self, GtkSnapshot *snapshot);
void tessera_box_image_free (TesseraBoxImage *self);
