/*
 * Frame times of a canvas of 1200 x 800 while it is panned and zoomed, at 100 k, 1 M and
 * (with room for it) 10 M blocks; zoomed again with half of them selected.
 *
 * For each: the interval between frames, and the main thread's processor time in one.
 * 60 frames a second are an interval of 16.7 ms.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"
#include "viewer/canvas/canvas.h"
#include "viewer/model/document-private.h"
#include "viewer/test-window.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 1200
#define HEIGHT 800
#define N_FRAMES 240
/* What one block costs while all is built: blocks, layout, scene and colours. */
#define BYTES_A_BLOCK 400

typedef struct
{
  TesseraDocument *document;
  gboolean zooming;
  int n_frames;
  gint64 last_us;
  double intervals_ms[N_FRAMES];
  double cpu_ms[N_FRAMES];
  double cpu_begin_ms;
} Run;

static double
cpu_now_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static gboolean
on_tick (GtkWidget *canvas, GdkFrameClock *clock, gpointer user)
{
  Run *run = user;
  gint64 now_us = g_get_monotonic_time ();
  double phase = run->n_frames / (double) N_FRAMES * 2 * G_PI;

  if (run->last_us != 0)
    {
      run->intervals_ms[run->n_frames] = (double) (now_us - run->last_us) / 1e3;
      run->cpu_ms[run->n_frames] = cpu_now_ms () - run->cpu_begin_ms;
      run->n_frames++;
    }
  run->last_us = now_us;
  run->cpu_begin_ms = cpu_now_ms ();
  if (run->n_frames == N_FRAMES)
    return G_SOURCE_REMOVE;
  /* Out and in once, from everything to a thousandth; or to and fro at sixteen times. */
  if (run->zooming)
    {
      double span = pow (1000, -(1 - cos (phase)) / 2),
             world = run->document->world_bytes;

      tessera_document_set_view (run->document,
                                 &(TesseraView){ 0.4 * (1 - span), 0.4 + 0.6 * span,
                                                 0.3 * world * (1 - span),
                                                 world * (0.3 + 0.7 * span) });
    }
  else
    tessera_document_pan (run->document, sin (phase) * 0.03, cos (phase) * 0.01);
  return G_SOURCE_CONTINUE;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
measure (TesseraDocument *document,
         GtkWidget *canvas,
         const char *name,
         size_t n_blocks,
         gboolean zooming)
{
  Run run = { .document = document, .zooming = zooming };

  tessera_document_fit (document);
  if (!zooming)
    tessera_document_zoom (document, 16, 4, 0.5, document->world_bytes / 2);
  gtk_widget_add_tick_callback (canvas, on_tick, &run, NULL);
  WAIT (run.n_frames == N_FRAMES, SLOW_MS);
  qsort (run.intervals_ms, N_FRAMES, sizeof (double), compare_doubles);
  qsort (run.cpu_ms, N_FRAMES, sizeof (double), compare_doubles);
  g_print ("%10zu blocks  %-5s interval median %5.1f p95 %5.1f max %6.1f ms   "
           "main thread median %4.1f p95 %4.1f ms\n",
           n_blocks, name, run.intervals_ms[N_FRAMES / 2],
           run.intervals_ms[N_FRAMES * 95 / 100], run.intervals_ms[N_FRAMES - 1],
           run.cpu_ms[N_FRAMES / 2], run.cpu_ms[N_FRAMES * 95 / 100]);
}

/* A session around a made-up layout. It is never taken down: the process ends. */
static TesseraDocument *
made_document (size_t n_blocks)
{
  MadeLayout *made = made_layout_random (n_blocks, 1);
  TesseraDocument *document = tessera_document_new ();
  TesseraData *data = g_atomic_rc_box_new0 (TesseraData);
  TesseraSheet *sheet = g_atomic_rc_box_new0 (TesseraSheet);

  g_mutex_init (&data->lock);
  data->trace = &made->trace;
  data->blocks = &made->blocks;
  data->structure = g_new0 (TesseraStructure, 1);
  /* All of one category, by which blocks are called that nothing else is known of. */
  data->whose = (TesseraWhose){ .trace = data->trace,
                                .blocks = data->blocks,
                                .structure = data->structure,
                                .categories = g_new0 (uint8_t, n_blocks),
                                .origins.stacks = g_new (uint32_t, n_blocks) };
  memset (data->whose.origins.stacks, 0xff, n_blocks * sizeof (uint32_t));
  sheet->data = data;
  sheet->layout = &made->layout;
  sheet->axis = tessera_data_get_axis (data, TESSERA_AXIS_EVENTS);
  sheet->scene = tessera_scene_new (data->blocks, sheet->layout, sheet->axis);
  document->data = data;
  document->sheets[TESSERA_SIDE_LEFT] = sheet;
  document->world_bytes = (double) tessera_scene_height_bytes (sheet->scene);
  tessera_document_fit (document);
  tessera_document_refresh_paint (document);
  WAIT (document->paint != NULL, SLOW_MS);
  return document;
}

/* What the click on a moment costs its worker. */
static void
measure_moment (TesseraDocument *document, size_t n_blocks)
{
  const TesseraLayout *layout = document->sheets[TESSERA_SIDE_LEFT]->layout;
  double least_ms = HUGE_VAL;

  for (int pass = 0; pass < 5; pass++)
    {
      TesseraMoment moment;
      double begin_ms = cpu_now_ms ();

      tessera_moment_at (document->data, layout, document->paint, layout->n_events - 1,
                         &moment);
      least_ms = MIN (least_ms, cpu_now_ms () - begin_ms);
    }
  g_print ("%10zu blocks  parts and largest blocks of the last moment %.1f ms\n",
           n_blocks, least_ms);
}

/* What it costs the main thread to select every other block, and then one more. */
static void
measure_selection (TesseraDocument *document, size_t n_blocks)
{
  g_autofree uint32_t *blocks = g_new (uint32_t, n_blocks);
  double all_ms = HUGE_VAL, one_ms = HUGE_VAL;

  for (size_t i = 0; i < n_blocks / 2; i++)
    blocks[i] = (uint32_t) (2 * i);
  for (int pass = 0; pass < 5; pass++)
    {
      double begin_ms = cpu_now_ms ();

      tessera_document_select_blocks (document, blocks, n_blocks / 2, TESSERA_SELECT_ONLY,
                                      0);
      all_ms = MIN (all_ms, cpu_now_ms () - begin_ms);
      begin_ms = cpu_now_ms ();
      tessera_document_select_toggle (document, 1);
      one_ms = MIN (one_ms, cpu_now_ms () - begin_ms);
    }
  g_print ("%10zu blocks  half of them selected in %.1f ms, one more in %.1f ms\n",
           n_blocks, all_ms, one_ms);
}

static void
bench (size_t n_blocks)
{
  gint64 begin_us = g_get_monotonic_time ();
  TesseraDocument *document = made_document (n_blocks);
  GtkWidget *canvas = tessera_canvas_new (document, TESSERA_SIDE_LEFT);
  GtkWidget *window = gtk_window_new ();

  g_print ("%10zu blocks  made, indexed and coloured in %.2f s\n", n_blocks,
           (double) (g_get_monotonic_time () - begin_us) / 1e6);
  measure_moment (document, n_blocks);
  gtk_widget_set_size_request (canvas, WIDTH, HEIGHT);
  gtk_window_set_child (GTK_WINDOW (window), canvas);
  gtk_window_set_decorated (GTK_WINDOW (window), FALSE);
  gtk_window_present (GTK_WINDOW (window));
  WAIT (tessera_canvas_is_complete (canvas), SLOW_MS);
  measure (document, canvas, "pan", n_blocks, FALSE);
  measure (document, canvas, "zoom", n_blocks, TRUE);
  measure_selection (document, n_blocks);
  measure (document, canvas, "lit", n_blocks, TRUE);
  gtk_window_destroy (GTK_WINDOW (window));
}

int
main (int argc, char **argv)
{
  static const size_t sizes[] = { 100000, 1000000, 10000000 };
  const double free_bytes =
      (double) sysconf (_SC_AVPHYS_PAGES) * (double) sysconf (_SC_PAGESIZE);

  mallopt (M_MMAP_THRESHOLD, 256 << 20);
  mallopt (M_TRIM_THRESHOLD, 512 << 20);
  if (!test_init_display (&argc, &argv))
    return 0;
  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    if ((double) sizes[i] * BYTES_A_BLOCK < free_bytes)
      bench (sizes[i]);
    else
      g_print ("%10zu blocks  left out: %.1f GB of memory are free\n", sizes[i],
               free_bytes / 1e9);
  return 0;
}
