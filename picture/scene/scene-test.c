/*
 * Rows, hit tests and rectangle queries of scenes, against looking at every block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/made-layout.h"
#include "picture/scene.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

#define SEED 77

typedef struct
{
  MadeLayout *made;
  TesseraAxis *axis;
  TesseraScene *scene;
} Stage;

static Stage
stage_of (MadeLayout *made)
{
  Stage stage = { .made = made };
  stage.axis = tessera_axis_new (&made->trace, &made->blocks, TESSERA_AXIS_EVENTS);
  stage.scene = tessera_scene_new (&made->blocks, &made->layout, stage.axis);
  return stage;
}

static void
stage_clear (Stage *stage)
{
  tessera_scene_free (stage->scene);
  tessera_axis_free (stage->axis);
  made_layout_free (stage->made);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Stage, stage_clear)

static void
set_span (MadeLayout *made,
          size_t i,
          uint64_t addr,
          uint64_t size,
          uint32_t born,
          uint32_t died)
{
  made->layout.spans[i] = (TesseraSpan){
    .addr = addr, .size_bytes = size, .born_index = born, .died_index = died
  };
}

/* Two segments live at different times, one always: two rows deep, the long one below. */
static void
test_rows_are_shared (void)
{
  MadeLayout *made = made_layout_new (10, 1, 3);
  set_span (made, 0, 1000, 100, 0, 5);
  set_span (made, 1, 9000, 50, 1, 10);
  set_span (made, 2, 5000, 100, 5, 10);
  made_layout_set (made, 0, 5020, 30, 6, 9);
  g_auto (Stage) stage = stage_of (made);
  g_assert_cmpuint (tessera_scene_height_bytes (stage.scene), ==, 150);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, 9000, 3), ==, 0);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, 1000, 3), ==, 50);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, 1000, 7), ==, TESSERA_NOWHERE);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, 5099, 7), ==, 149);
  TesseraView rect;
  g_assert_true (tessera_scene_block_rect (stage.scene, 0, &rect));
  g_assert_cmpfloat (rect.y0, ==, 70);
  g_assert_cmpfloat (rect.y1, ==, 100);
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.65, 71), ==, 0);
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.65, 101), ==, TESSERA_NONE);
}

/* The same address given twice, to segments of different size, belongs to whichever is
 * alive. */
static void
test_address_comes_back (void)
{
  MadeLayout *made = made_layout_new (10, 2, 3);
  set_span (made, 0, 1000, 100, 0, 5);
  set_span (made, 1, 1000, 400, 5, 10);
  set_span (made, 2, 4000, 300, 0, 10);
  made_layout_set (made, 0, 1000, 100, 0, 5);
  made_layout_set (made, 1, 1000, 400, 5, 9);
  g_auto (Stage) stage = stage_of (made);
  g_assert_cmpuint (tessera_scene_height_bytes (stage.scene), ==, 700);
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.2, 350), ==, 0);
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.6, 650), ==, 1);
  g_assert_cmpuint (tessera_scene_block_at (stage.scene, 0.2, 650), ==, TESSERA_NONE);
}

/* Pages of one reservation stay in their order whenever they were mapped. */
static void
test_expandable (void)
{
  const uint64_t page = 2 << 20, base = UINT64_C (1) << 40;
  MadeLayout *made = made_layout_new (10, 1, 4);
  set_span (made, 0, base + page, page, 0, 10);
  set_span (made, 1, base, page, 2, 6);
  set_span (made, 2, base + 2 * page, 2 * page, 1, 10);
  set_span (made, 3, base * 2, page, 0, 10);
  for (int i = 0; i < 4; i++)
    made->layout.spans[i].is_expandable = true;
  made_layout_set (made, 0, base + page / 2, 2 * page, 3, 5);
  g_auto (Stage) stage = stage_of (made);
  g_assert_cmpuint (tessera_scene_height_bytes (stage.scene), ==, 5 * page);
  uint64_t y = tessera_scene_y_of (stage.scene, base + page, 0);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, base, 3), ==, y - page);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, base, 7), ==, TESSERA_NOWHERE);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, base + 3 * page, 9), ==,
                    y + 2 * page);
  TesseraView rect;
  g_assert_true (tessera_scene_block_rect (stage.scene, 0, &rect));
  g_assert_cmpfloat (rect.y1 - rect.y0, ==, 2.0 * (double) page);
}

/* A plan's pool begins at 0 though others live longer; without any segments the rows are
 * what blocks touch. */
static void
test_pool_and_lone_blocks (void)
{
  MadeLayout *made = made_layout_new (10, 3, 2);
  set_span (made, 0, 1 << 20, 100, 0, 10);
  set_span (made, 1, 0, 500, 2, 9);
  made->layout.spans[1].is_plan_pool = true;
  made_layout_set (made, 0, 40, 10, 3, 4);
  made_layout_set (made, 1, 900000, 10, 3, 4);
  made_layout_set (made, 2, 900010, 20, 5, 6);
  g_auto (Stage) stage = stage_of (made);
  g_assert_cmpuint (tessera_scene_y_of (stage.scene, 40, 3), ==, 40);
  g_assert_cmpuint (tessera_scene_height_bytes (stage.scene), ==, 630);
  TesseraView rect, next;
  g_assert_true (tessera_scene_block_rect (stage.scene, 1, &rect));
  g_assert_true (tessera_scene_block_rect (stage.scene, 2, &next));
  g_assert_cmpfloat (rect.y1, ==, next.y0);
  made->layout.addr[0] = TESSERA_NOWHERE;
  g_assert_false (tessera_scene_block_rect (stage.scene, 0, &rect));
}

/* Segments that come and go at random, few and many: none overlaps
 * another that is there at the same time, and the height is near what is needed. */
static void
test_random_rows (void)
{
  static const size_t counts[] = { 3, 60, 400, 5000 };
  uint64_t state = SEED;
  for (size_t c = 0; c < G_N_ELEMENTS (counts); c++)
    {
      const uint32_t n_events = 2000;
      size_t n = counts[c];
      MadeLayout *made = made_layout_new (n_events, 0, n);
      uint64_t load[2000] = { 0 }, bound = 0;
      for (size_t i = 0; i < n; i++)
        {
          uint32_t born = (uint32_t) (made_random (&state) % n_events);
          uint32_t died =
              born + 1 + (uint32_t) (made_random (&state) % (n_events - born));
          uint64_t size = (1 + made_random (&state) % 20) << 21;
          set_span (made, i, (uint64_t) (i + 1) << 40, size, born, died);
          for (uint32_t e = born; e < died; e++)
            {
              load[e] += size;
              bound = MAX (bound, load[e]);
            }
        }
      g_auto (Stage) stage = stage_of (made);
      uint64_t height = tessera_scene_height_bytes (stage.scene);
      g_assert_cmpuint (height, >=, bound);
      g_assert_cmpuint (height, <=, bound + bound / 4);
      for (size_t i = 0; i < MIN (n, 400); i++)
        for (size_t k = 0; k < i; k++)
          {
            const TesseraSpan *a = &made->layout.spans[i], *b = &made->layout.spans[k];
            if (a->born_index >= b->died_index || b->born_index >= a->died_index)
              continue;
            uint64_t ya = tessera_scene_y_of (stage.scene, a->addr, a->born_index);
            uint64_t yb = tessera_scene_y_of (stage.scene, b->addr, b->born_index);
            g_assert_true (ya >= yb + b->size_bytes || yb >= ya + a->size_bytes);
            g_assert_cmpuint (ya + a->size_bytes, <=, height);
          }
    }
}

static int
compare_u32 (const void *a, const void *b)
{
  return *(const uint32_t *) a < *(const uint32_t *) b ? -1 : 1;
}

/* Of a view on @width x @height pixels, in each of @found at least @least pixels both ways, the largest
 * first; no other block has as much. */
static void
assert_largest (const Stage *stage, const TesseraView *rects, const TesseraView *view)
{
  const double width = 1000, height = 800, least = 20, hair = 1e-3;
  g_autoptr (GArray) found =
      tessera_scene_largest (stage->scene, view, width, height, least, least, G_MAXUINT);
  double last_area = HUGE_VAL;
  guint n = 0, n_less = 0;
  for (guint i = 0; i < found->len; i++)
    {
      const TesseraShownBlock *shown = &g_array_index (found, TesseraShownBlock, i);
      g_assert_true (shown->width >= least && shown->height >= least);
      g_assert_true (shown->x >= 0 && shown->x + shown->width <= width + hair);
      g_assert_true (shown->y >= 0 && shown->y + shown->height <= height + hair);
      g_assert_cmpfloat (shown->width * shown->height, <=, last_area);
      last_area = shown->width * shown->height;
    }
  for (size_t i = 0; i < stage->made->blocks.n_blocks; i++)
    {
      double w = (MIN (rects[i].t1, view->t1) - MAX (rects[i].t0, view->t0)) /
                 (view->t1 - view->t0) * width;
      double h = (MIN (rects[i].y1, view->y1) - MAX (rects[i].y0, view->y0)) /
                 (view->y1 - view->y0) * height;
      n += w >= least + hair && h >= least + hair;
      n_less += w >= least - hair && h >= least - hair;
    }
  g_assert_true (n <= found->len && found->len <= n_less);
}

/* Live at every moment is at most what is reserved, and no two blocks overlap. */
static void
test_against_all_blocks (void)
{
  g_test_message ("seed %d", SEED);
  uint64_t state = SEED;
  g_auto (Stage) stage = stage_of (made_layout_random (3000, SEED));
  size_t n_blocks = stage.made->blocks.n_blocks;
  double height = (double) tessera_scene_height_bytes (stage.scene);
  g_autofree TesseraView *rects = g_new (TesseraView, n_blocks);
  for (uint32_t i = 0; i < n_blocks; i++)
    g_assert_true (tessera_scene_block_rect (stage.scene, i, &rects[i]));
  for (int round = 0; round < 300; round++)
    {
      double t = (double) (made_random (&state) % 1000003) / 1000003.0;
      double y = (double) (made_random (&state) % 1000003) / 1000003.0 * height;
      double w = (double) (made_random (&state) % 1000) / 20000.0;
      TesseraView view = { t, t + w, y, y + w * height };
      uint32_t want_at = TESSERA_NONE, *want = g_new (uint32_t, n_blocks);
      size_t n_want = 0;
      for (uint32_t i = 0; i < n_blocks; i++)
        {
          const TesseraView *r = &rects[i];
          if (r->t0 <= t && t < r->t1 && r->y0 <= y && y < r->y1)
            {
              g_assert_cmpuint (want_at, ==, TESSERA_NONE);
              want_at = i;
            }
          if (r->t0 < view.t1 && view.t0 < r->t1 && r->y0 < view.y1 && view.y0 < r->y1)
            want[n_want++] = i;
        }
      g_assert_cmpuint (tessera_scene_block_at (stage.scene, t, y), ==, want_at);
      g_autoptr (GArray) found = tessera_scene_blocks_in (stage.scene, &view);
      g_array_sort (found, compare_u32);
      g_assert_cmpmem (found->data, (int) found->len * 4, want, (int) n_want * 4);
      g_free (want);
      assert_largest (&stage, rects, &view);
    }
  assert_largest (&stage, rects, &(TesseraView){ 0, 1, 0, height });
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/scene/rows-are-shared", test_rows_are_shared);
  g_test_add_func ("/scene/address-comes-back", test_address_comes_back);
  g_test_add_func ("/scene/expandable", test_expandable);
  g_test_add_func ("/scene/pool-and-lone-blocks", test_pool_and_lone_blocks);
  g_test_add_func ("/scene/random-rows", test_random_rows);
  g_test_add_func ("/scene/against-all-blocks", test_against_all_blocks);
  return g_test_run ();
}
