/*
 * Moving about: the part of time and address that both canvases show.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <math.h>

/* Below these, pixel positions of the whole picture would leave the exact range of
 * doubles, or one block would fill everything. */
#define LEAST_SPAN_T 1e-9
#define LEAST_SPAN_BYTES 4096.0
#define MOST_ZOOM_Y 1e7
/* A revealed block takes at least this share of what is shown. */
#define LEAST_SHARE 0.001

static double
least_span_bytes (const TesseraDocument *self)
{
  return MAX (LEAST_SPAN_BYTES, self->world_bytes / MOST_ZOOM_Y);
}

static void
clamp_span (double *low, double *high, double least, double world)
{
  double span = *high - *low;
  double middle = *low + span / 2;

  /* Whatever was asked for: also what is not a number comes out as a view. */
  if (!isfinite (span) || !isfinite (middle))
    span = world, middle = world / 2;
  span = CLAMP (span, MIN (least, world), world);
  *low = CLAMP (middle - span / 2, 0, world - span);
  *high = MIN (*low + span, world);
}

void
tessera_document_set_view (TesseraDocument *self, const TesseraView *view)
{
  TesseraView next = *view;

  clamp_span (&next.t0, &next.t1, LEAST_SPAN_T, 1);
  clamp_span (&next.y0, &next.y1, least_span_bytes (self), self->world_bytes);
  if (memcmp (&next, &self->view, sizeof next) == 0)
    return;
  self->view = next;
  tessera_document_changed (self, TESSERA_CHANGED_VIEW);
}

void
tessera_document_zoom (
    TesseraDocument *self, double factor_t, double factor_y, double t, double y)
{
  const TesseraView *v = &self->view;
  double span_t = CLAMP ((v->t1 - v->t0) / factor_t, LEAST_SPAN_T, 1);
  double span_y =
      CLAMP ((v->y1 - v->y0) / factor_y, least_span_bytes (self), self->world_bytes);
  double share_t = (t - v->t0) / (v->t1 - v->t0);
  double share_y = (y - v->y0) / (v->y1 - v->y0);
  TesseraView next = { .t0 = t - share_t * span_t, .y0 = y - share_y * span_y };

  next.t1 = next.t0 + span_t;
  next.y1 = next.y0 + span_y;
  tessera_document_set_view (self, &next);
}

void
tessera_document_pan (TesseraDocument *self, double pages_t, double pages_y)
{
  TesseraView next = self->view;
  double dt = pages_t * (next.t1 - next.t0);
  double dy = pages_y * (next.y1 - next.y0);

  next.t0 += dt;
  next.t1 += dt;
  next.y0 += dy;
  next.y1 += dy;
  tessera_document_set_view (self, &next);
}

void
tessera_document_show_time (TesseraDocument *self, double t0, double t1)
{
  TesseraView next = self->view;

  next.t0 = t0;
  next.t1 = t1;
  tessera_document_set_view (self, &next);
}

void
tessera_document_fit (TesseraDocument *self)
{
  TesseraView all = { 0, 1, 0, self->world_bytes };

  tessera_document_set_view (self, &all);
}

gboolean
tessera_document_is_fit (TesseraDocument *self)
{
  return self->view.t0 <= 0 && self->view.t1 >= 1 && self->view.y0 <= 0 &&
         self->view.y1 >= self->world_bytes;
}

/* Moves [*low, *high) so that [begin, end) is seen, with a little room around. */
static void
include (double *low, double *high, double begin, double end)
{
  double span = *high - *low;

  if (end - begin < span * LEAST_SHARE)
    span = (end - begin) / LEAST_SHARE;
  else if (end - begin > span)
    span = (end - begin) * 1.2;
  else if (begin >= *low && end <= *high)
    return;
  if (begin >= *low && end <= *high && span < *high - *low)
    {
      /* Already in sight, only too small: stay around its middle. */
      *low = (begin + end) / 2 - span / 2;
      *high = *low + span;
      return;
    }
  *low = (begin + end) / 2 - span / 2;
  *high = *low + span;
}

void
tessera_document_reveal (TesseraDocument *self, uint32_t block)
{
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      TesseraView rect, next = self->view;

      if (self->sheets[side] == NULL ||
          !tessera_scene_block_rect (self->sheets[side]->scene, block, &rect))
        continue;
      include (&next.t0, &next.t1, rect.t0, rect.t1);
      include (&next.y0, &next.y1, rect.y0, rect.y1);
      tessera_document_set_view (self, &next);
      return;
    }
}

void
tessera_document_go_to (TesseraDocument *self, uint32_t event_index)
{
  TesseraSheet *sheet = self->sheets[TESSERA_SIDE_LEFT];
  TesseraView next = self->view;
  double t;

  if (sheet == NULL)
    return;
  t = tessera_sheet_t_of (sheet, event_index);
  tessera_document_set_moment (self, event_index);
  if (t >= next.t0 && t <= next.t1)
    return;
  next.t0 = t - (next.t1 - next.t0) / 2;
  next.t1 = t + (self->view.t1 - self->view.t0) / 2;
  tessera_document_set_view (self, &next);
}

/* Where the file does not tell the device's memory, a failure does: what was reserved and
 * what the driver still had is all that there was to get. */
static void
refresh_ceiling (TesseraDocument *self)
{
  const TesseraLayout *layout;

  self->ceiling_bytes = self->data != NULL ? self->data->trace->device_bytes : 0;
  self->ceiling_is_device = self->ceiling_bytes != 0;
  if (self->ceiling_bytes != 0 || self->data == NULL ||
      tessera_data_get_layout (self->data, self->data->own_kind, NULL, NULL, &layout) !=
          TESSERA_OK)
    return;
  for (size_t i = 0; i < layout->n_ooms; i++)
    if (layout->ooms[i].free_at_driver_bytes != TESSERA_NOWHERE)
      self->ceiling_bytes =
          MAX (self->ceiling_bytes,
               layout->ooms[i].free_at_driver_bytes +
                   layout->curves.reserved_bytes[layout->ooms[i].event_index]);
}

void
tessera_document_refresh_world (TesseraDocument *self)
{
  gboolean was_fit = tessera_document_is_fit (self);
  double top = 1;

  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      const TesseraSheet *sheet = self->sheets[side];

      if (sheet == NULL)
        continue;
      top = MAX (top, (double) tessera_scene_height_bytes (sheet->scene));
      /* Room for the requests that failed, on top of what was reserved then. */
      for (size_t i = 0; sheet->planned == NULL && i < sheet->layout->n_ooms; i++)
        {
          const TesseraOom *oom = &sheet->layout->ooms[i];

          top = MAX (top,
                     (double) oom->size_bytes +
                         (double) sheet->layout->curves.reserved_bytes[oom->event_index]);
        }
    }
  if (self->data != NULL)
    top = MAX (top, (double) self->data->bound_bytes);
  /* The device's size is worth its height unless it would squeeze the picture. */
  refresh_ceiling (self);
  if ((double) self->ceiling_bytes < 1.4 * top)
    top = MAX (top, (double) self->ceiling_bytes);
  self->world_bytes = top * 1.04;
  if (was_fit)
    self->view = (TesseraView){ 0, 1, 0, self->world_bytes };
  tessera_document_set_view (self, &self->view);
}
