/*
 * Many boxes as one picture. See box-image.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/box-image.h"

#include <math.h>

struct TesseraBoxImage
{
  int width, height; /* pixels */
  int scale;
  cairo_surface_t *surface; /* its pixels are its own: what is drawn takes them along, of
                               others cairo makes a copy */
  uint32_t *pixels;
};

/* [begin, end) in pixels of the image. */
typedef struct
{
  int begin, end;
} Range;

TesseraBoxImage *
tessera_box_image_new (int width, int height, int scale)
{
  TesseraBoxImage *self = g_new (TesseraBoxImage, 1);

  *self = (TesseraBoxImage){ .width = width * scale,
                             .height = height * scale,
                             .scale = scale };
  self->surface =
      cairo_image_surface_create (CAIRO_FORMAT_ARGB32, self->width, self->height);
  self->pixels = (uint32_t *) (void *) cairo_image_surface_get_data (self->surface);
  return self;
}

void
tessera_box_image_free (TesseraBoxImage *self)
{
  cairo_surface_destroy (self->surface);
  g_free (self);
}

static Range
range_of (double from, double size, int scale, int end)
{
  double begin = round (from * scale);
  double least_end = MAX (round ((from + size) * scale), begin + 1);

  return (Range){ (int) CLAMP (begin, 0, end), (int) CLAMP (least_end, 0, end) };
}

/* A colour of a part of 255: of all four bytes. */
static uint32_t
weaken (uint32_t pixel, uint32_t part)
{
  uint32_t even = (pixel & 0x00ff00ff) * part + 0x00800080;
  uint32_t odd = (pixel >> 8 & 0x00ff00ff) * part + 0x00800080;

  even = (even + (even >> 8 & 0x00ff00ff)) >> 8 & 0x00ff00ff;
  odd = (odd + (odd >> 8 & 0x00ff00ff)) & 0xff00ff00;
  return even | odd;
}

void
tessera_box_image_fill (TesseraBoxImage *self,
                        const TesseraBox *box,
                        uint32_t rgb,
                        double alpha)
{
  Range across = range_of (box->x, box->width, self->scale, self->width);
  Range down = range_of (box->y, box->height, self->scale, self->height);
  uint32_t part = (uint32_t) round (CLAMP (alpha, 0, 1) * 255);
  uint32_t ink = weaken (0xff000000 | rgb, part);

  for (int y = down.begin; y < down.end; y++)
    {
      uint32_t *row = self->pixels + (size_t) y * (size_t) self->width;

      for (int x = across.begin; x < across.end; x++)
        row[x] = part == 255 ? ink : ink + weaken (row[x], 255 - part);
    }
}

void
tessera_box_image_outline (TesseraBoxImage *self, const TesseraBox *box, uint32_t rgb)
{
  const TesseraBox sides[] = {
    { box->x, box->y, box->width, 1 },
    { box->x, box->y + box->height - 1, box->width, 1 },
    { box->x, box->y, 1, box->height },
    { box->x + box->width - 1, box->y, 1, box->height },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (sides); i++)
    tessera_box_image_fill (self, &sides[i], rgb, 1);
}

uint32_t
tessera_box_image_get_pixel (const TesseraBoxImage *self, int x, int y)
{
  return self->pixels[(size_t) y * (size_t) self->width + (size_t) x];
}

void
tessera_box_image_draw (TesseraBoxImage *self, GtkSnapshot *snapshot)
{
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) (self->width / self->scale),
                                     (float) (self->height / self->scale)));

  cairo_surface_mark_dirty (self->surface);
  cairo_surface_set_device_scale (self->surface, self->scale, self->scale);
  cairo_set_source_surface (cr, self->surface, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  tessera_box_image_free (self);
}
