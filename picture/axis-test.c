/*
 * Axes, and curves folded along them: no event without width, no peak without a column.
 * Words on a picture: each is where it wants to be, or near, or not there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/axis.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "picture/made-layout.h"
#include "picture/marks.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraAxis, tessera_axis_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MadeLayout, made_layout_free)

#define SEED 4711
#define WIDTH 370
#define HEIGHT 120

static TesseraAxis *
axis_of (const MadeLayout *made, TesseraAxisKind kind)
{
  TesseraAxis *axis = tessera_axis_new (&made->trace, &made->blocks, kind);
  g_assert_cmpfloat (axis->at[0], ==, 0.0);
  g_assert_cmpfloat (axis->at[axis->n_events], ==, 1.0);
  for (uint32_t i = 0; i < axis->n_events; i++)
    g_assert_cmpfloat (axis->at[i], <, axis->at[i + 1]);
  return axis;
}

static double
width_of (const TesseraAxis *axis, uint32_t event)
{
  return axis->at[event + 1] - axis->at[event];
}

/* Two blocks of 100 and 300 bytes, both come and go; one more was there at the start, one
 * request fails: widths are in proportion beside the small share that all have. */
static void
test_bytes_moved (void)
{
  g_autoptr (MadeLayout) made = made_layout_new (10, 4, 0);
  made_layout_set (made, 0, 0, 5000, 0, 10);
  made->blocks.blocks[0].flags = TESSERA_AT_START | TESSERA_AT_END;
  made_layout_set (made, 1, 0, 100, 1, 3);
  made_layout_set (made, 2, 0, 300, 2, 8);
  made_layout_set (made, 3, 0, 200, 5, 6);
  made->blocks.blocks[3].flags = TESSERA_FAILED;
  g_autoptr (TesseraAxis) axis = axis_of (made, TESSERA_AXIS_BYTES_MOVED);
  static const double bytes[10] = { 0, 100, 300, 100, 0, 200, 0, 0, 300, 0 };
  for (uint32_t i = 0; i < 10; i++)
    {
      double want = (bytes[i] + 1000.0 / 500.0) / (1000.0 + 1000.0 / 50.0);
      g_assert_cmpfloat (fabs (width_of (axis, i) - want), <, 1e-12);
    }
}

static void
test_events_and_time (void)
{
  g_autoptr (MadeLayout) made = made_layout_new (5, 0, 0);
  static const int64_t at_ns[5] = { 100, 200, 150, 200, 500 };
  for (int i = 0; i < 5; i++)
    made->trace.events[i].at_ns = at_ns[i];
  TesseraAxis *axis = axis_of (made, TESSERA_AXIS_EVENTS);
  g_assert_cmpfloat (fabs (width_of (axis, 3) - 0.2), <, 1e-12);
  tessera_axis_free (axis);

  axis = axis_of (made, TESSERA_AXIS_TIME); /* the trace has no time */
  g_assert_cmpint (axis->kind, ==, TESSERA_AXIS_EVENTS);
  tessera_axis_free (axis);

  made->trace.has_time = true;
  axis = axis_of (made, TESSERA_AXIS_TIME);
  g_assert_cmpint (axis->kind, ==, TESSERA_AXIS_TIME);
  static const double widths[5] = { 100, 0, 0, 300, 0 };
  for (uint32_t i = 0; i < 5; i++)
    {
      double want = (widths[i] + 400.0 / 250.0) / (400.0 + 400.0 / 50.0);
      g_assert_cmpfloat (fabs (width_of (axis, i) - want), <, 1e-12);
    }
  tessera_axis_free (axis);
}

static void
test_event_at (void)
{
  g_test_message ("seed %d", SEED);
  uint64_t state = SEED;
  g_autoptr (MadeLayout) made = made_layout_random (500, SEED);
  g_autoptr (TesseraAxis) axis = axis_of (made, TESSERA_AXIS_BYTES_MOVED);
  for (uint32_t i = 0; i < axis->n_events; i++)
    g_assert_cmpuint (tessera_axis_event_at (axis, axis->at[i]), ==, i);
  for (int round = 0; round < 1000; round++)
    {
      double position = (double) (made_random (&state) % 1000003) / 1000003.0;
      uint32_t event = tessera_axis_event_at (axis, position);
      g_assert_true (axis->at[event] <= position && position < axis->at[event + 1]);
    }
  g_assert_cmpuint (tessera_axis_event_at (axis, -1.0), ==, 0);
  g_assert_cmpuint (tessera_axis_event_at (axis, 2.0), ==, axis->n_events - 1);
}

static void
test_empty (void)
{
  g_autoptr (MadeLayout) made = made_layout_new (0, 0, 0);
  uint64_t low[3], high[3] = { 9, 9, 9 };
  g_autoptr (TesseraAxis) axis =
      tessera_axis_new (&made->trace, &made->blocks, TESSERA_AXIS_BYTES_MOVED);
  g_assert_cmpuint (tessera_axis_event_at (axis, 0.5), ==, 0);
  tessera_fold_columns (NULL, axis, 3, low, high);
  g_assert_cmpuint (low[2], ==, 0);
  g_assert_cmpuint (high[2], ==, 0);
}

/* ---- curves -------------------------------------------------------------------------
 */

/* Against looking at every event that is in force somewhere in a column. */
static void
test_columns (void)
{
  g_test_message ("seed %d", SEED);
  uint64_t state = SEED, low[60], high[60];
  for (int round = 0; round < 60; round++)
    {
      g_autoptr (MadeLayout) made =
          made_layout_random (1 + made_random (&state) % 700, SEED + round);
      g_autoptr (TesseraAxis) axis = axis_of (made, TESSERA_AXIS_BYTES_MOVED);
      uint32_t n = axis->n_events, n_columns = 1 + (uint32_t) (made_random (&state) % 60);
      g_autofree uint64_t *values = g_new (uint64_t, n);
      for (uint32_t i = 0; i < n; i++)
        values[i] = made_random (&state) % 1000;
      tessera_fold_columns (values, axis, n_columns, low, high);
      for (uint32_t c = 0; c < n_columns; c++)
        {
          uint64_t want_low = UINT64_MAX, want_high = 0;
          for (uint32_t i = 0; i < n; i++)
            if (axis->at[i] * n_columns < c + 1 && axis->at[i + 1] * n_columns > c)
              {
                want_low = MIN (want_low, values[i]);
                want_high = MAX (want_high, values[i]);
              }
          g_assert_cmpuint (low[c], ==, want_low);
          g_assert_cmpuint (high[c], ==, want_high);
        }
    }
}

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
      g_autoptr (GRand) random = g_rand_new_with_seed (seed);
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
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/axis/bytes-moved", test_bytes_moved);
  g_test_add_func ("/axis/events-and-time", test_events_and_time);
  g_test_add_func ("/axis/event-at", test_event_at);
  g_test_add_func ("/axis/empty", test_empty);
  g_test_add_func ("/curves/columns", test_columns);
  g_test_add_func ("/labels/stays-where-it-wants", test_stays_where_it_wants);
  g_test_add_func ("/labels/stays-inside", test_stays_inside);
  g_test_add_func ("/labels/makes-way", test_makes_way);
  g_test_add_func ("/labels/many", test_many);
  return g_test_run ();
}
