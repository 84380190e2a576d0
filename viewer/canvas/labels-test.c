/*
 * Words on a picture: each is where it wants to be, or near, or not there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <glib.h>

#define WIDTH 370
#define HEIGHT 120

static void
assert_at (const graphene_rect_t *box, float x, float y)
{
  g_assert_cmpfloat (box->origin.x, ==, x);
  g_assert_cmpfloat (box->origin.y, ==, y);
}

static void
test_stays_where_it_wants (void)
{
  TesseraLabels labels;
  graphene_rect_t box = GRAPHENE_RECT_INIT (7, 20, 80, 14);

  tessera_labels_begin (&labels, WIDTH, HEIGHT);
  g_assert_true (tessera_labels_place (&labels, &box, 0));
  assert_at (&box, 7, 20);
}

static void
test_stays_inside (void)
{
  TesseraLabels labels;
  graphene_rect_t box = GRAPHENE_RECT_INIT (350, -9, 80, 14);

  tessera_labels_begin (&labels, WIDTH, HEIGHT);
  g_assert_true (tessera_labels_place (&labels, &box, 0));
  assert_at (&box, WIDTH - 80, 0);
  box = GRAPHENE_RECT_INIT (0, 0, 80, HEIGHT + 1);
  g_assert_false (tessera_labels_place (&labels, &box, 1000));
}

/* Down to below the line, since above is less room than it needs. */
static void
test_makes_way (void)
{
  TesseraLabels labels;
  graphene_rect_t box = GRAPHENE_RECT_INIT (7, 6, 80, 14);

  tessera_labels_begin (&labels, WIDTH, HEIGHT);
  tessera_labels_avoid (&labels, &GRAPHENE_RECT_INIT (0, 12, WIDTH, 2));
  g_assert_true (tessera_labels_place (&labels, &box, 30));
  assert_at (&box, 7, 16);
  /* What may not move is left out, and then takes no room. */
  box = GRAPHENE_RECT_INIT (40, 16, 80, 14);
  g_assert_false (tessera_labels_place (&labels, &box, 0));
  box = GRAPHENE_RECT_INIT (200, 16, 80, 14);
  g_assert_true (tessera_labels_place (&labels, &box, 0));
}

static void
test_many (void)
{
  for (guint32 seed = 1; seed <= 300; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed);
      TesseraLabels labels;
      unsigned n_left_out = 0;

      tessera_labels_begin (&labels, WIDTH, HEIGHT);
      for (int i = 0; i < 60; i++)
        {
          graphene_rect_t box =
              GRAPHENE_RECT_INIT ((float) g_rand_int_range (random, -20, WIDTH),
                                  (float) g_rand_int_range (random, -20, HEIGHT),
                                  (float) g_rand_int_range (random, 30, 120), 14);

          n_left_out += !tessera_labels_place (&labels, &box, HEIGHT);
        }
      g_assert_cmpuint (labels.n_taken + n_left_out, ==, 60);
      g_assert_cmpuint (n_left_out, >, 0);
      for (unsigned i = 0; i < labels.n_taken; i++)
        {
          g_assert_cmpfloat (labels.taken[i].origin.y, >=, 0);
          g_assert_cmpfloat (labels.taken[i].origin.y + 14, <=, HEIGHT);
          g_assert_cmpfloat (labels.taken[i].origin.x, >=, 0);
          for (unsigned k = 0; k < i; k++)
            if (graphene_rect_intersection (&labels.taken[i], &labels.taken[k], NULL))
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
