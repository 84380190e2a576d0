/*
 * Words on a picture: each is where it wants to be, or near, or not there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/marks.h"

#include <glib.h>
#include <math.h>

#define WIDTH 370
#define HEIGHT 120

static void
assert_at (const TesseraArea *box, double x, double y)
{
  g_assert_cmpfloat (box->x, ==, x);
  g_assert_cmpfloat (box->y, ==, y);
}

static void
test_stays_where_it_wants (void)
{
  TesseraLabels labels = { WIDTH, HEIGHT };
  TesseraArea box = (TesseraArea){ 7, 20, 80, 14 };

  g_assert_true (tessera_labels_place (&labels, &box, 0));
  assert_at (&box, 7, 20);
}

static void
test_stays_inside (void)
{
  TesseraLabels labels = { WIDTH, HEIGHT };
  TesseraArea box = (TesseraArea){ 350, -9, 80, 14 };

  g_assert_true (tessera_labels_place (&labels, &box, 0));
  assert_at (&box, WIDTH - 80, 0);
  box = (TesseraArea){ 0, 0, 80, HEIGHT + 1 };
  g_assert_false (tessera_labels_place (&labels, &box, 1000));
}

/* Down to below the line, since above is less room than it needs. */
static void
test_makes_way (void)
{
  TesseraLabels labels = { WIDTH, HEIGHT };
  TesseraArea box = (TesseraArea){ 7, 6, 80, 14 };

  tessera_labels_avoid (&labels, (TesseraArea){ 0, 12, WIDTH, 2 });
  g_assert_true (tessera_labels_place (&labels, &box, 30));
  assert_at (&box, 7, 16);
  /* What may not move is left out, and then takes no room. */
  box = (TesseraArea){ 40, 16, 80, 14 };
  g_assert_false (tessera_labels_place (&labels, &box, 0));
  box = (TesseraArea){ 200, 16, 80, 14 };
  g_assert_true (tessera_labels_place (&labels, &box, 0));
}

static void
test_many (void)
{
  for (guint32 seed = 1; seed <= 300; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed);
      TesseraLabels labels = { WIDTH, HEIGHT };
      unsigned n_left_out = 0;

      for (int i = 0; i < 60; i++)
        {
          TesseraArea box = (TesseraArea){ g_rand_int_range (random, -20, WIDTH),
                                           g_rand_int_range (random, -20, HEIGHT),
                                           g_rand_int_range (random, 30, 120), 14 };

          n_left_out += !tessera_labels_place (&labels, &box, HEIGHT);
        }
      g_assert_cmpuint (labels.n_taken + n_left_out, ==, 60);
      g_assert_cmpuint (n_left_out, >, 0);
      for (unsigned i = 0; i < labels.n_taken; i++)
        {
          g_assert_cmpfloat (labels.taken[i].y, >=, 0);
          g_assert_cmpfloat (labels.taken[i].y + 14, <=, HEIGHT);
          g_assert_cmpfloat (labels.taken[i].x, >=, 0);
          for (unsigned k = 0; k < i; k++)
            if (fabs (labels.taken[i].y - labels.taken[k].y) < 14 &&
                labels.taken[i].x < labels.taken[k].x + labels.taken[k].width &&
                labels.taken[k].x < labels.taken[i].x + labels.taken[i].width)
              g_error ("seed %u: labels %u and %u overlap", seed, k, i);
        }
      g_rand_free (random);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/labels/stays-where-it-wants", test_stays_where_it_wants);
  g_test_add_func ("/labels/stays-inside", test_stays_inside);
  g_test_add_func ("/labels/makes-way", test_makes_way);
  g_test_add_func ("/labels/many", test_many);
  return g_test_run ();
}
