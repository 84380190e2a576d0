/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/box-image.h"

#define BLUE 0x3366cc

static void
test_nearest_pixels (void)
{
  TesseraBoxImage *image = tessera_box_image_new (8, 6, 1);

  tessera_box_image_fill (image, &(TesseraBox){ 1.4, 2.6, 3, 2 }, BLUE, 1);
  for (int y = 0; y < 6; y++)
    for (int x = 0; x < 8; x++)
      g_assert_cmphex (tessera_box_image_get_pixel (image, x, y), ==,
                       x >= 1 && x < 4 && y >= 3 && y < 5 ? 0xff000000 | BLUE : 0);
  tessera_box_image_free (image);
}

/* None vanishes, however thin; none is drawn outside. */
static void
test_edges (void)
{
  TesseraBoxImage *image = tessera_box_image_new (4, 4, 2);

  tessera_box_image_fill (image, &(TesseraBox){ 1, 1, 0.01, 0.01 }, BLUE, 1);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 2, 2), ==, 0xff000000 | BLUE);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 3, 2), ==, 0);
  tessera_box_image_fill (image, &(TesseraBox){ -100, -100, 99, 300 }, BLUE, 1);
  tessera_box_image_fill (image, &(TesseraBox){ 50, 1, 1e9, 1 }, BLUE, 1);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 0, 0), ==, 0);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 7, 2), ==, 0);
  tessera_box_image_fill (image, &(TesseraBox){ -1e9, -1e9, 2e9, 2e9 }, BLUE, 1);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 0, 0), ==, 0xff000000 | BLUE);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 7, 7), ==, 0xff000000 | BLUE);
  tessera_box_image_free (image);
}

static void
test_one_over_another (void)
{
  TesseraBoxImage *image = tessera_box_image_new (2, 1, 1);
  const TesseraBox all = { 0, 0, 2, 1 }, first = { 0, 0, 1, 1 };

  tessera_box_image_fill (image, &all, 0xffffff, 1);
  tessera_box_image_fill (image, &first, 0x000000, 0.4);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 0, 0), ==, 0xff999999);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 1, 0), ==, 0xffffffff);
  tessera_box_image_free (image);
  image = tessera_box_image_new (1, 1, 1);
  tessera_box_image_fill (image, &first, 0xff0080, 0.2);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 0, 0), ==, 0x3333001a);
  tessera_box_image_free (image);
}

static void
test_outline (void)
{
  TesseraBoxImage *image = tessera_box_image_new (5, 5, 2);
  int n = 0;

  tessera_box_image_outline (image, &(TesseraBox){ 0, 0, 5, 5 }, BLUE);
  for (int y = 0; y < 10; y++)
    for (int x = 0; x < 10; x++)
      n += tessera_box_image_get_pixel (image, x, y) != 0;
  /* Two pixels thick, at twice the scale. */
  g_assert_cmpint (n, ==, 10 * 10 - 6 * 6);
  g_assert_cmphex (tessera_box_image_get_pixel (image, 2, 2), ==, 0);
  tessera_box_image_free (image);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/box-image/nearest-pixels", test_nearest_pixels);
  g_test_add_func ("/box-image/edges", test_edges);
  g_test_add_func ("/box-image/one-over-another", test_one_over_another);
  g_test_add_func ("/box-image/outline", test_outline);
  return g_test_run ();
}
