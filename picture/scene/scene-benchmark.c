/*
 * How long scenes of 100 k, 1 M and 10 M blocks take to build, draw and ask. CPU time of
 * one thread; the last column compares with one memset of the picture's floats, measured
 * in the same run, so that figures of different machines can be compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"
#include "picture/scene.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 1200
#define HEIGHT 800
#define ROUNDS 5

static double
cpu_ms (void)
{
  struct timespec now;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static double
baseline_ms (void)
{
  size_t n = (size_t) WIDTH * HEIGHT * 16;
  char *floats = g_malloc (n);
  double from = cpu_ms ();
  for (int i = 0; i < ROUNDS; i++)
    {
      memset (floats, i, n);
      __asm__ volatile("" : : "r"(floats) : "memory");
    }
  g_free (floats);
  return (cpu_ms () - from) / ROUNDS;
}

static void
time_view (const TesseraScene *scene,
           const TesseraInk *ink,
           const char *name,
           double t_zoom,
           double y_zoom,
           double baseline)
{
  double top = (double) tessera_scene_height_bytes (scene);
  uint32_t *pixels = g_new (uint32_t, WIDTH * HEIGHT);
  double from = cpu_ms ();
  for (int i = 0; i < ROUNDS; i++)
    {
      double t = (1.0 - 1.0 / t_zoom) * (i + 0.5) / ROUNDS;
      double y = (1.0 - 1.0 / y_zoom) * (i + 0.5) / ROUNDS;
      TesseraView view = { t, t + 1.0 / t_zoom, y * top, (y + 1.0 / y_zoom) * top };
      tessera_scene_render (scene, &view, ink, pixels, WIDTH, WIDTH, HEIGHT, 0, 0);
    }
  double ms = (cpu_ms () - from) / ROUNDS;
  printf ("  %-10s %8.2f ms  %6.1f memsets\n", name, ms, ms / baseline);
  g_free (pixels);
}

static void
time_hits (const TesseraScene *scene)
{
  enum
  {
    N = 1000
  };
  uint64_t state = 99, n_hit = 0;
  double top = (double) tessera_scene_height_bytes (scene), from = cpu_ms ();
  for (int i = 0; i < N; i++)
    {
      double t = (double) (made_random (&state) % 100000) / 100000.0;
      double y = (double) (made_random (&state) % 100000) / 100000.0 * top;
      n_hit += tessera_scene_block_at (scene, t, y) != TESSERA_NONE;
    }
  double us = (cpu_ms () - from) * 1e3 / N;
  printf ("  %-10s %8.2f us  (%.0f %% hit)\n", "hit test", us,
          100.0 * (double) n_hit / N);
}

static void
time_scene (size_t n_blocks, double baseline)
{
  MadeLayout *made = made_layout_random (n_blocks, 5);
  TesseraAxis *axis = tessera_axis_new (&made->trace, &made->blocks, TESSERA_AXIS_EVENTS);
  double from = cpu_ms ();
  TesseraScene *scene = tessera_scene_new (&made->blocks, &made->layout, axis);
  printf ("%zu blocks, %zu segments\n", n_blocks, made->layout.n_spans);
  printf ("  %-10s %8.2f ms\n", "build", cpu_ms () - from);
  static const uint32_t colours[] = { 0x4477aa, 0x66ccee, 0xddaa33, 0xaa3377 };
  uint32_t *rgb = g_new (uint32_t, n_blocks);
  for (size_t i = 0; i < n_blocks; i++)
    rgb[i] = colours[made->layout.block_bytes[i] >> 12 & 3];
  TesseraInk ink = { rgb, NULL, 0xffffff, 0xeeeeee, 0xcccccc, 0xaaaaaa };
  time_view (scene, &ink, "everything", 1, 1, baseline);
  time_view (scene, &ink, "4 x 4", 4, 4, baseline);
  time_view (scene, &ink, "time 100 x", 100, 1, baseline);
  time_view (scene, &ink, "100 x 100", 100, 100, baseline);
  time_hits (scene);
  g_free (rgb);
  tessera_scene_free (scene);
  tessera_axis_free (axis);
  made_layout_free (made);
}

int
main (int argc, char **argv)
{
  double baseline = baseline_ms ();
  printf ("%d x %d pixels; one memset %.2f ms\n", WIDTH, HEIGHT, baseline);
  time_scene (100000, baseline);
  time_scene (1000000, baseline);
  time_scene (10000000, baseline);
  return 0;
}
