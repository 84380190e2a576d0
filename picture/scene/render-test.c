/*
 * Pixels: computed by hand for three blocks, by brute force for random scenes, and looked
 * for at every zoom for a block that is much thinner than a pixel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"
#include "picture/scene.h"

#include <glib.h>
#include <math.h>

#define BACKGROUND 0xffffff
#define RESERVED 0xe0e0e0
#define HATCH 0x808080
#define EDGE 0xc00000
#define MISSED 0xff00ff
#define SEED 20240817

static TesseraInk
ink_of (const uint32_t *rgb)
{
  return (TesseraInk){ rgb, NULL, BACKGROUND, RESERVED, HATCH, EDGE, MISSED };
}

/* ---- the reference: doubles, every rectangle against every pixel --------------------
 */

typedef struct
{
  double x0, x1, y0, y1;
} Rect;

static Rect
rect_on_screen (const TesseraView *r, const TesseraView *view, int width, int height)
{
  double sx = width / (view->t1 - view->t0), sy = height / (view->y1 - view->y0);
  return (Rect){ (r->t0 - view->t0) * sx, (r->t1 - view->t0) * sx,
                 (view->y1 - r->y1) * sy, (view->y1 - r->y0) * sy };
}

static double
covered (const Rect *r, int x, int y)
{
  double w = fmin (r->x1, x + 1) - fmax (r->x0, x);
  double h = fmin (r->y1, y + 1) - fmax (r->y0, y);
  return w > 0 && h > 0 ? w * h : 0.0;
}

/* A rim of half a pixel: 0 below a side of 3 pixels, all of it from 8 on. */
static double
rim (const Rect *r, int x, int y)
{
  double side = fmin (r->x1 - r->x0, r->y1 - r->y0);
  double strength = fmin (fmax ((side - 3.0) / 5.0, 0.0), 1.0);
  Rect inside = { r->x0 + 0.5, r->x1 - 0.5, r->y0 + 0.5, r->y1 - 0.5 };
  return strength * (covered (r, x, y) - covered (&inside, x, y));
}

static double
channel (uint32_t rgb, int shift)
{
  return rgb >> shift & 255;
}

typedef struct
{
  double cover[3]; /* reserved, hatched, edge */
  double block, rgb[3];
} Sum;

static void
add_rect (Sum *sums, const Rect *r, int width, int height, bool is_block, uint32_t rgb)
{
  int x0 = MAX (0, (int) floor (r->x0)), x1 = MIN (width, (int) ceil (r->x1));
  int y0 = MAX (0, (int) floor (r->y0)), y1 = MIN (height, (int) ceil (r->y1));
  for (int y = y0; y < y1; y++)
    for (int x = x0; x < x1; x++)
      {
        Sum *sum = &sums[y * width + x];
        double c = covered (r, x, y), edge = rim (r, x, y);
        sum->cover[0] += is_block ? 0 : c;
        sum->cover[2] += is_block ? 0 : edge;
        sum->block += is_block ? c : 0;
        for (int i = 0; is_block && i < 3; i++)
          sum->rgb[i] += (c - 0.3 * edge) * channel (rgb, 16 - 8 * i);
      }
}

static double
pixel_channel (const Sum *sum, int i, int64_t x_plus_y)
{
  static const double lines[6] = { 0.9, 0.3, 0, 0, 0, 0.3 };
  int shift = 16 - 8 * i;
  double reserved = fmin (sum->cover[0], 1.0), edge = fmin (sum->cover[2], 1.0);
  double hatch = fmin (sum->cover[0], 1.0) * lines[((x_plus_y % 6) + 6) % 6];
  double c = channel (BACKGROUND, shift);
  c += (channel (RESERVED, shift) - c) * reserved;
  c += (channel (HATCH, shift) - c) * hatch;
  c += (channel (EDGE, shift) - c) * edge;
  return sum->rgb[i] + c * (1.0 - fmin (sum->block, 1.0));
}

typedef struct
{
  MadeLayout *made;
  TesseraAxis *axis;
  TesseraScene *scene;
  uint32_t *rgb;
} Stage;

/* Takes @made. */
static Stage
stage_of (MadeLayout *made, TesseraAxisKind kind)
{
  Stage stage = { .made = made };
  uint64_t state = SEED;
  stage.axis = tessera_axis_new (&made->trace, &made->blocks, kind);
  stage.scene = tessera_scene_new (&made->blocks, &made->layout, stage.axis);
  stage.rgb = g_new (uint32_t, made->blocks.n_blocks + 1);
  for (size_t i = 0; i < made->blocks.n_blocks; i++)
    stage.rgb[i] = (uint32_t) made_random (&state) & 0xffffff;
  return stage;
}

static void
stage_clear (Stage *stage)
{
  tessera_scene_free (stage->scene);
  tessera_axis_free (stage->axis);
  made_layout_free (stage->made);
  g_free (stage->rgb);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Stage, stage_clear)

static void
add_stage (const Stage *stage, const TesseraView *view, Sum *sums, int width, int height)
{
  const MadeLayout *made = stage->made;
  for (size_t i = 0; i < made->layout.n_spans; i++)
    {
      const TesseraSpan *s = &made->layout.spans[i];
      double y = (double) tessera_scene_y_of (stage->scene, s->addr, s->born_index);
      TesseraView box = { stage->axis->at[s->born_index], stage->axis->at[s->died_index],
                          y, y + (double) s->size_bytes };
      Rect r = rect_on_screen (&box, view, width, height);
      add_rect (sums, &r, width, height, false, 0);
    }
  for (uint32_t i = 0; i < made->blocks.n_blocks; i++)
    {
      TesseraView box;
      g_assert_true (tessera_scene_block_rect (stage->scene, i, &box));
      Rect r = rect_on_screen (&box, view, width, height);
      add_rect (sums, &r, width, height, true, stage->rgb[i]);
    }
}

/* The largest difference of any channel of any pixel. */
static int
worst_difference (
    const Stage *stage, const TesseraView *view, int width, int height, int64_t origin)
{
  g_autofree Sum *sums = g_new0 (Sum, width * height);
  g_autofree uint32_t *pixels = g_new (uint32_t, width * height);
  TesseraInk ink = ink_of (stage->rgb);
  add_stage (stage, view, sums, width, height);
  tessera_scene_render (stage->scene, view, &ink, pixels, (size_t) width, width, height,
                        origin, origin);
  int worst = 0;
  for (int i = 0; i < width * height * 3; i++)
    {
      int at = i / 3, channel_index = i % 3;
      int64_t x_plus_y = 2 * origin + at % width + at / width;
      double want = pixel_channel (&sums[at], channel_index, x_plus_y);
      int have = pixels[at] >> (16 - 8 * channel_index) & 255;
      worst = MAX (worst, (int) fabs (want - have));
    }
  return worst;
}

static void
test_brute_force (void)
{
  g_test_message ("seed %d", SEED);
  uint64_t state = SEED;
  for (int round = 0; round < 6; round++)
    {
      g_auto (Stage) stage =
          stage_of (made_layout_random (400 + 300 * (size_t) round, SEED + round),
                    round % 2 == 0 ? TESSERA_AXIS_BYTES_MOVED : TESSERA_AXIS_EVENTS);
      double height = (double) tessera_scene_height_bytes (stage.scene);
      TesseraView whole = { 0.0, 1.0, 0.0, height };
      g_assert_cmpint (worst_difference (&stage, &whole, 300, 200, 0), <=, 1);
      for (int i = 0; i < 8; i++)
        {
          double zoom = 1.0 / (1 << (made_random (&state) % 10));
          double t = (double) (made_random (&state) % 1000) / 1000.0 * 1.2 - 0.1;
          double y = (double) (made_random (&state) % 1000) / 1000.0 * 1.2 - 0.1;
          TesseraView view = { t, t + zoom, y * height, (y + zoom) * height };
          int64_t origin = (int64_t) (made_random (&state) % 2001) - 1000;
          g_assert_cmpint (worst_difference (&stage, &view, 333, 150, origin), <=, 1);
        }
    }
}

/* ---- three blocks -------------------------------------------------------------------
 */

/* One segment of 8 MiB, 8 events. Block 0: [0, 4) MiB, events 0-4. Block 1: [4, 6), 2-6.
 * Block 2: [0, 2), 6-8. */
static Stage
three_blocks (void)
{
  const uint64_t mib = 1 << 20;
  MadeLayout *made = made_layout_new (8, 3, 1);
  made->layout.spans[0] =
      (TesseraSpan){ .addr = 64 * mib, .size_bytes = 8 * mib, .died_index = 8 };
  made_layout_set (made, 0, 64 * mib, 4 * mib, 0, 4);
  made_layout_set (made, 1, 68 * mib, 2 * mib, 2, 6);
  made_layout_set (made, 2, 64 * mib, 2 * mib, 6, 8);
  Stage stage = stage_of (made, TESSERA_AXIS_EVENTS);
  stage.rgb[0] = 0x4477aa;
  stage.rgb[1] = 0xddaa33;
  stage.rgb[2] = 0x66ccee;
  return stage;
}

static uint32_t
hatched (int x, int y)
{
  static const double lines[6] = { 0.9, 0.3, 0, 0, 0, 0.3 };
  double c = 0xe0 + (0x80 - 0xe0) * lines[(x + y) % 6];
  return (uint32_t) (c + 0.5) * 0x010101u;
}

static void
check_three_blocks (int scale)
{
  g_auto (Stage) stage = three_blocks ();
  TesseraInk ink = ink_of (stage.rgb);
  int width = 80 * scale, height = 80 * scale;
  TesseraView view = { 0.0, 1.0, 0.0, 8 << 20 };
  g_autofree uint32_t *pixels = g_new (uint32_t, width * height);
  g_assert_cmpuint (tessera_scene_height_bytes (stage.scene), ==, 8 << 20);
  tessera_scene_render (stage.scene, &view, &ink, pixels, (size_t) width, width, height,
                        0, 0);
  int n_wrong = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      {
        int mib = (height - 1 - y) / (10 * scale), event = x / (10 * scale);
        int in_x = x % (10 * scale), in_y = y % (10 * scale);
        if (in_x == 0 || in_y == 0 || in_x == 10 * scale - 1 || in_y == 10 * scale - 1)
          continue; /* rims: compared with the reference elsewhere */
        uint32_t want = hatched (x, y);
        if (mib < 4 && event < 4)
          want = stage.rgb[0];
        else if (mib >= 4 && mib < 6 && event >= 2 && event < 6)
          want = stage.rgb[1];
        else if (mib < 2 && event >= 6)
          want = stage.rgb[2];
        n_wrong += pixels[y * width + x] != want;
      }
  g_assert_cmpint (n_wrong, ==, 0);
  g_assert_cmpint (worst_difference (&stage, &view, width, height, 0), <=, 1);
}

static void
test_three_blocks (void)
{
  check_three_blocks (1);
  check_three_blocks (2);
}

/* A block of full height that lives for one of 100,000 events changes its column in
 * proportion, wherever it lies, at every zoom, and covers it once zoomed in. */
static void
test_thin_peak (void)
{
  const uint32_t n = 100000, at = 61803;
  MadeLayout *made = made_layout_new (n, 1, 0);
  made_layout_set (made, 0, 0, 1 << 30, at, at + 1);
  g_auto (Stage) stage = stage_of (made, TESSERA_AXIS_EVENTS);
  stage.rgb[0] = 0x000000;
  TesseraInk ink = ink_of (stage.rgb);
  uint32_t row[500];
  for (double zoom = 1.0; zoom <= 65536.0; zoom *= 2.0)
    {
      double middle = (at + 0.5) / n, half = 0.5 / zoom;
      TesseraView view = { middle - half, middle + half, 0, 1 << 30 };
      tessera_scene_render (stage.scene, &view, &ink, row, 500, 500, 1, 0, 0);
      double dark = 0.0, want = MIN (500.0, 500.0 / n * zoom);
      for (int x = 0; x < 500; x++)
        dark += (255 - (row[x] & 255)) / 255.0;
      g_assert_cmpfloat (fabs (dark - want), <, 0.02 + want * 0.01);
      g_assert_cmpuint (row[250] & 255, <, 255);
    }
}

typedef struct
{
  const Stage *stage;
  uint32_t *pixels;
} Job;

static gpointer
draw_job (gpointer data)
{
  const Job *job = data;
  TesseraInk ink = ink_of (job->stage->rgb);
  double top = (double) tessera_scene_height_bytes (job->stage->scene);
  TesseraView whole = { 0.0, 1.0, 0.0, top };
  tessera_scene_render (job->stage->scene, &whole, &ink, job->pixels, 300, 300, 200, 0,
                        0);
  return NULL;
}

static void
test_threads (void)
{
  g_auto (Stage) stage =
      stage_of (made_layout_random (3000, SEED), TESSERA_AXIS_BYTES_MOVED);
  Job jobs[4];
  GThread *threads[4];
  for (int i = 0; i < 4; i++)
    {
      jobs[i] = (Job){ &stage, g_new0 (uint32_t, 300 * 200) };
      threads[i] = g_thread_new ("draw", draw_job, &jobs[i]);
    }
  for (int i = 0; i < 4; i++)
    g_thread_join (threads[i]);
  for (int i = 0; i < 4; i++)
    {
      g_assert_cmpmem (jobs[i].pixels, 300 * 200 * 4, jobs[0].pixels, 300 * 200 * 4);
      if (i > 0)
        g_free (jobs[i].pixels);
    }
  g_free (jobs[0].pixels);
}

static void
test_filter (void)
{
  g_auto (Stage) stage = three_blocks ();
  const uint8_t shown[3] = { 1, 0, 1 };
  TesseraInk ink = ink_of (stage.rgb);
  ink.block_shown = shown;
  TesseraView view = { 0.0, 1.0, 0.0, 8 << 20 };
  uint32_t pixels[80 * 80];
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  g_assert_cmphex (pixels[60 * 80 + 20], ==, stage.rgb[0]);
  g_assert_cmphex (pixels[30 * 80 + 45], !=, stage.rgb[1]);
  g_assert_cmphex (pixels[30 * 80 + 45], ==, pixels[30 * 80 + 46]); /* no hatching */
}

/* What missed the plan is striped; where it is too small for stripes, it is a spot. */
static void
test_missed (void)
{
  uint8_t is_hit[] = { 1, 0, 0, 0 }, is_left[] = { 0, 0, 0, 0 };
  MadeLayout *made = made_layout_new (8000, 4, 0);
  made_layout_set (made, 0, 0, 10 << 20, 0, 4000);
  made_layout_set (made, 1, 0, 10 << 20, 4000, 8000);
  made_layout_set (made, 2, 10 << 20, 10 << 20, 2000, 2001);
  made_layout_set (made, 3, 10 << 20, 10 << 20, 6000, 8000);
  made->blocks.blocks[3].flags = TESSERA_AT_START;
  made->layout.is_hit = is_hit;
  made->layout.is_left = is_left;
  made->layout.n_misses = 2;
  g_auto (Stage) stage = stage_of (made, TESSERA_AXIS_EVENTS);
  for (int i = 0; i < 4; i++)
    stage.rgb[i] = 0x4477aa;
  TesseraInk ink = ink_of (stage.rgb);
  TesseraView view = { 0.0, 1.0, 0.0, 20 << 20 };
  uint32_t pixels[80 * 80];
  int n_striped[3] = { 0 };
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  for (int x = 5; x < 35; x++)
    {
      n_striped[0] += pixels[60 * 80 + x] != 0x4477aa;
      n_striped[1] += pixels[60 * 80 + 40 + x] != 0x4477aa;
      n_striped[2] += pixels[20 * 80 + 20 + x] == MISSED;
    }
  g_assert_cmpint (n_striped[0], ==, 0);
  g_assert_cmpint (n_striped[1], ==, 15); /* three of six pixels */
  g_assert_cmpint (n_striped[2], ==, 0);
  g_assert_cmphex (pixels[20 * 80 + 70], ==, 0x4477aa); /* was there before the plan */
  for (int x = 0; x < 80; x++)
    n_striped[2] += pixels[20 * 80 + x] == MISSED;
  g_assert_cmpint (n_striped[2], >=, 2);
  ink.block_shown = (const uint8_t[]){ 1, 0, 0, 1 };
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  for (int i = 0; i < 80 * 80; i++)
    g_assert_cmphex (pixels[i], !=, MISSED);
  /* What was to miss is nothing to stripe. */
  ink.block_shown = NULL;
  is_left[1] = 1;
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  for (int x = 5; x < 35; x++)
    g_assert_cmphex (pixels[60 * 80 + 40 + x], ==, 0x4477aa);
  made->layout.is_hit = made->layout.is_left = NULL;
}

/* What is not lit keeps a quarter of its colour; what is lit is seen at any zoom. */
static void
test_lit (void)
{
  const uint8_t lit[] = { 1, 0, 1, 0 };
  MadeLayout *made = made_layout_new (8000, 4, 0);
  made_layout_set (made, 0, 0, 10 << 20, 0, 4000);
  made_layout_set (made, 1, 0, 10 << 20, 4000, 8000);
  made_layout_set (made, 2, (10 << 20) + (5 << 20), 512, 2000, 2001);
  made_layout_set (made, 3, (10 << 20) + (5 << 20), 512, 6000, 6001);
  g_auto (Stage) stage = stage_of (made, TESSERA_AXIS_EVENTS);
  for (int i = 0; i < 4; i++)
    stage.rgb[i] = 0x4060a0;
  TesseraInk ink = ink_of (stage.rgb);
  TesseraView view = { 0.0, 1.0, 0.0, 20 << 20 };
  uint32_t pixels[80 * 80], ground[80 * 80];
  int n_seen = 0;
  tessera_scene_render (stage.scene, &view, &ink, ground, 80, 80, 80, 0, 0);
  g_assert_cmphex (ground[60 * 80 + 20], ==, 0x4060a0);
  g_assert_cmphex (ground[60 * 80 + 60], ==, 0x4060a0);
  ink.block_lit = lit;
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  g_assert_cmphex (pixels[60 * 80 + 20], ==, 0x4060a0);
  g_assert_cmphex (pixels[60 * 80 + 60], ==, 0xb8c0d0); /* the rest is reserved's */
  for (int y = 0; y < 40; y++)
    for (int x = 0; x < 80; x++)
      {
        uint32_t pixel = pixels[y * 80 + x];
        if (x < 40)
          n_seen += pixel == 0x4060a0;
        else
          g_assert_cmphex (pixel, ==, ground[y * 80 + x]);
      }
  g_assert_cmpint (n_seen, >=, 1);
  g_assert_cmpint (n_seen, <=, 4);
  /* Out of sight by the legend, out of light. */
  ink.block_shown = (const uint8_t[]){ 1, 1, 0, 1 };
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 80, 0, 0);
  for (int i = 0; i < 40 * 80; i++)
    g_assert_cmphex (pixels[i], !=, 0x4060a0);
}

static void
test_pending (void)
{
  MadeLayout *made = made_layout_new (8, 1, 0);
  made_layout_set (made, 0, 0, 1 << 20, 0, 8);
  made->blocks.blocks[0].freed_index = 4;
  g_auto (Stage) stage = stage_of (made, TESSERA_AXIS_EVENTS);
  stage.rgb[0] = 0x4477aa;
  TesseraInk ink = ink_of (stage.rgb);
  TesseraView view = { 0.0, 1.0, 0.0, 1 << 20 };
  uint32_t pixels[80 * 20];
  tessera_scene_render (stage.scene, &view, &ink, pixels, 80, 80, 20, 0, 0);
  g_assert_cmphex (pixels[10 * 80 + 20], ==, 0x4477aa);
  g_assert_cmphex (pixels[10 * 80 + 60], ==, 0x9ab1c8); /* 45 % of it, 55 % reserved */
}

static void
test_empty (void)
{
  g_auto (Stage) stage = stage_of (made_layout_new (0, 0, 0), TESSERA_AXIS_BYTES_MOVED);
  TesseraInk ink = ink_of (stage.rgb);
  TesseraView views[] = { { 0, 1, 0, 1 }, { 0, 0, 0, 0 }, { -5, 7, -1e12, 1e12 } };
  uint32_t pixels[64];
  for (size_t i = 0; i < G_N_ELEMENTS (views); i++)
    {
      tessera_scene_render (stage.scene, &views[i], &ink, pixels, 8, 8, 8, 0, 0);
      for (int k = 0; k < 64; k++)
        g_assert_cmphex (pixels[k], ==, BACKGROUND);
    }
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.5, 0.0), ==, TESSERA_NONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/render/three-blocks", test_three_blocks);
  g_test_add_func ("/render/brute-force", test_brute_force);
  g_test_add_func ("/render/thin-peak", test_thin_peak);
  g_test_add_func ("/render/threads", test_threads);
  g_test_add_func ("/render/filter", test_filter);
  g_test_add_func ("/render/missed", test_missed);
  g_test_add_func ("/render/lit", test_lit);
  g_test_add_func ("/render/pending", test_pending);
  g_test_add_func ("/render/empty", test_empty);
  return g_test_run ();
}
