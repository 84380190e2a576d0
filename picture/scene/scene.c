/*
 * Building a scene, and asking it; how high an address lies rows.c says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/private.h"

#include <glib.h>

static uint32_t
time_units (double position)
{
  double units = position * TESSERA_BOX_INDEX_TIME_UNITS;
  if (!(units > 0.0))
    return 0;
  return units < (double) UINT32_MAX ? (uint32_t) units : UINT32_MAX;
}

static bool
make_box (const TesseraScene *scene,
          uint32_t born,
          uint32_t died,
          uint64_t y_bytes,
          uint64_t size_bytes,
          TesseraBox *out_box)
{
  const TesseraAxis *axis = scene->axis;
  died = died < axis->n_events ? died : axis->n_events;
  if (born >= died || size_bytes == 0)
    return false;
  out_box->t0 = time_units (axis->at[born]);
  out_box->t1 = time_units (axis->at[died]);
  out_box->y0 = (uint32_t) (y_bytes >> scene->y_shift);
  out_box->y1 = (uint32_t) ((y_bytes + size_bytes) >> scene->y_shift);
  if (out_box->t1 == out_box->t0) /* thinner than a unit: as thin as can be */
    out_box->t1 = out_box->t0 < UINT32_MAX ? out_box->t0 + 1 : out_box->t0--;
  if (out_box->y1 == out_box->y0)
    out_box->y1++;
  return true;
}

typedef bool (*BoxOf) (const TesseraScene *scene, size_t i, TesseraBox *out_box);

static bool
box_of_block (const TesseraScene *scene, size_t i, TesseraBox *out_box)
{
  const TesseraLayout *layout = scene->layout;
  uint64_t y = scene->rows->block_y[i];
  return y != TESSERA_NOWHERE &&
         make_box (scene, scene->blocks->blocks[i].born_index, layout->died_index[i], y,
                   layout->block_bytes[i], out_box);
}

/* From the free of a block to when its memory could be used again. Most frees complete with the
 * next event: those are not worth a rectangle. */
static bool
box_of_pending (const TesseraScene *scene, size_t i, TesseraBox *out_box)
{
  const TesseraLayout *layout = scene->layout;
  const TesseraBlock *b = &scene->blocks->blocks[i];
  uint64_t y = scene->rows->block_y[i];
  return y != TESSERA_NOWHERE && b->freed_index >= b->born_index &&
         b->freed_index < layout->n_events &&
         layout->died_index[i] > b->freed_index + 1 &&
         make_box (scene, b->freed_index, layout->died_index[i], y,
                   layout->block_bytes[i], out_box);
}

static bool
box_of_span (const TesseraScene *scene, size_t i, TesseraBox *out_box)
{
  const TesseraSpan *span = &scene->layout->spans[i];
  const TesseraRow *row = &scene->rows->rows[scene->rows->row_of_span[i]];
  return make_box (scene, span->born_index, span->died_index,
                   row->y_bytes + (span->addr - row->addr), span->size_bytes, out_box);
}

/* In the order of time: what neighbours need of the axis lies close together. */
static void
index_boxes (const TesseraScene *scene,
             TesseraBoxIndex *index,
             size_t n_all,
             BoxOf box_of,
             uint32_t height_units)
{
  TesseraRecord *records = g_new (TesseraRecord, n_all + 1);
  size_t n = 0;
  for (size_t i = 0; i < n_all; i++)
    {
      records[n].id = (uint32_t) i;
      n += box_of (scene, i, &records[n].box);
    }
  tessera_box_index_init (index, records, n, height_units);
}

TesseraScene *
tessera_scene_new (const TesseraBlocks *blocks,
                   const TesseraLayout *layout,
                   const TesseraAxis *axis)
{
  TesseraScene *scene = g_new0 (TesseraScene, 1);
  scene->blocks = blocks;
  scene->layout = layout;
  scene->axis = axis;
  scene->rows = tessera_rows_new (blocks, layout);
  uint64_t height = scene->rows->height_bytes;
  while (height >> scene->y_shift >= UINT32_MAX)
    scene->y_shift++;
  uint32_t units = (uint32_t) (height >> scene->y_shift) + 1;
  index_boxes (scene, &scene->span_index, layout->n_spans, box_of_span, units);
  index_boxes (scene, &scene->pending_index, layout->n_blocks, box_of_pending, units);
  index_boxes (scene, &scene->block_index, layout->n_blocks, box_of_block, units);
  g_clear_pointer (&scene->rows->block_y, g_free);
  return scene;
}

void
tessera_scene_free (TesseraScene *scene)
{
  if (scene == NULL)
    return;
  tessera_rows_free (scene->rows);
  tessera_box_index_clear (&scene->block_index);
  tessera_box_index_clear (&scene->span_index);
  tessera_box_index_clear (&scene->pending_index);
  g_free (scene);
}

uint64_t
tessera_scene_height_bytes (const TesseraScene *scene)
{
  return scene->rows->height_bytes;
}

double
tessera_scene_top_bytes (const TesseraScene *scene)
{
  const TesseraLayout *layout = scene->layout;
  double top = (double) scene->rows->height_bytes;
  for (size_t i = 0; i < layout->n_ooms; i++)
    if (layout->curves.reserved_bytes != NULL &&
        layout->ooms[i].event_index < layout->n_events)
      top =
          MAX (top, (double) layout->curves.reserved_bytes[layout->ooms[i].event_index] +
                        (double) layout->ooms[i].size_bytes);
  return top;
}

uint64_t
tessera_scene_y_of (const TesseraScene *scene, uint64_t addr, uint32_t event_index)
{
  return tessera_rows_y_of (scene->rows, addr, event_index);
}

TesseraBox
tessera_scene_box_of_view (const TesseraScene *scene, const TesseraView *view)
{
  double per_unit = 1.0 / (double) (UINT64_C (1) << scene->y_shift);
  double y0 = view->y0 * per_unit, y1 = view->y1 * per_unit;
  TesseraBox box = { time_units (view->t0), time_units (view->t1), 0, 0 };
  if (box.t1 < UINT32_MAX)
    box.t1++;
  box.y0 = y0 > 0.0 ? (y0 < (double) UINT32_MAX ? (uint32_t) y0 : UINT32_MAX) : 0;
  box.y1 =
      y1 > 0.0 ? (y1 < (double) (UINT32_MAX - 1) ? (uint32_t) y1 + 1 : UINT32_MAX) : 0;
  return box;
}

uint32_t
tessera_scene_block_at (const TesseraScene *scene, double t, double y_bytes)
{
  if (!(t >= 0.0 && t <= 1.0 && y_bytes >= 0.0))
    return TESSERA_NONE;
  TesseraView point = { t, t, y_bytes, y_bytes };
  g_autoptr (GArray) found = tessera_scene_blocks_in (scene, &point);
  return found->len > 0 ? g_array_index (found, uint32_t, 0) : TESSERA_NONE;
}

GArray *
tessera_scene_blocks_in (const TesseraScene *scene, const TesseraView *view)
{
  TesseraBox box = tessera_scene_box_of_view (scene, view);
  GArray *found = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  const TesseraRecord *record;
  TesseraWalk walk;
  tessera_walk_init (&walk, &scene->block_index, box);
  while ((record = tessera_walk_next (&walk)) != NULL)
    g_array_append_val (found, record->id);
  return found;
}

static int
compare_shown (const void *a, const void *b)
{
  const TesseraShownBlock *x = a, *y = b;
  double x_area = x->width * x->height, y_area = y->width * y->height;
  if (x_area != y_area)
    return x_area > y_area ? -1 : 1;
  return x->block < y->block ? -1 : x->block > y->block;
}

static TesseraShownBlock
shown_part (const TesseraScene *scene,
            const TesseraRecord *record,
            const TesseraView *view,
            double width,
            double height)
{
  const TesseraBox *box = &record->box;
  const TesseraBlock *block = &scene->blocks->blocks[record->id];
  double unit_bytes = (double) (UINT64_C (1) << scene->y_shift);
  double t0 = box->t0 / TESSERA_BOX_INDEX_TIME_UNITS;
  double t1 = block->freed_index < scene->axis->n_events &&
                      scene->layout->died_index[record->id] > block->freed_index + 1
                  ? scene->axis->at[block->freed_index]
                  : box->t1 / TESSERA_BOX_INDEX_TIME_UNITS;
  double per_t = width / (view->t1 - view->t0), per_y = height / (view->y1 - view->y0);
  double left = MAX ((t0 - view->t0) * per_t, 0);
  double top = MAX ((view->y1 - box->y1 * unit_bytes) * per_y, 0);
  return (TesseraShownBlock){ record->id, left, top,
                              MIN ((t1 - view->t0) * per_t, width) - left,
                              MIN ((view->y1 - box->y0 * unit_bytes) * per_y, height) -
                                  top };
}

GArray *
tessera_scene_largest (const TesseraScene *scene,
                       const TesseraView *view,
                       double width,
                       double height,
                       double least_width,
                       double least_height,
                       guint most)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (TesseraShownBlock));
  const TesseraRecord *record;
  TesseraWalk walk;
  tessera_walk_init (&walk, &scene->block_index, tessera_scene_box_of_view (scene, view));
  walk.least_t = time_units (least_width / width * (view->t1 - view->t0));
  walk.least_y =
      (uint64_t) (least_height / height * (view->y1 - view->y0)) >> scene->y_shift;
  while ((record = tessera_walk_next (&walk)) != NULL)
    {
      TesseraShownBlock room = shown_part (scene, record, view, width, height);
      if (room.width >= least_width && room.height >= least_height)
        g_array_append_val (found, room);
    }
  g_array_sort (found, compare_shown);
  g_array_set_size (found, MIN (found->len, most));
  return found;
}

bool
tessera_scene_block_rect (const TesseraScene *scene,
                          uint32_t block,
                          TesseraView *out_rect)
{
  const TesseraLayout *layout = scene->layout;
  if (block >= layout->n_blocks || layout->addr[block] == TESSERA_NOWHERE)
    return false;
  uint32_t born = scene->blocks->blocks[block].born_index;
  uint32_t died = layout->died_index[block];
  died = died < layout->n_events ? died : layout->n_events;
  uint64_t y = tessera_rows_y_of (scene->rows, layout->addr[block], born);
  if (y == TESSERA_NOWHERE || born >= died)
    return false;
  *out_rect = (TesseraView){ scene->axis->at[born], scene->axis->at[died], (double) y,
                             (double) (y + layout->block_bytes[block]) };
  return true;
}
