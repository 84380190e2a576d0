/*
 * The session: what is open, what was made of it, and what the person looks at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <math.h>

G_DEFINE_TYPE (TesseraDocument, tessera_document, G_TYPE_OBJECT)

static guint changed_signal;

void
tessera_document_changed (TesseraDocument *self, guint what)
{
  g_signal_emit (self, changed_signal, 0, what);
}

static void
clear_contents (TesseraDocument *self)
{
  g_clear_pointer (&self->suggestions, g_array_unref);
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    g_clear_pointer (&self->sheets[i], tessera_sheet_unref);
  g_clear_pointer (&self->paint, tessera_paint_unref);
  g_clear_pointer (&self->planned, tessera_followed_unref);
  g_clear_pointer (&self->data, tessera_data_unref);
  g_clear_pointer (&self->history, tessera_history_free);
  g_clear_pointer (&self->edits_file, tessera_edits_file_unref);
  for (size_t i = 0; i < G_N_ELEMENTS (self->watched); i++)
    {
      if (self->watched[i] != NULL)
        g_file_monitor_cancel (self->watched[i]);
      g_clear_object (&self->watched[i]);
    }
  g_clear_pointer (&self->rule, tessera_rule_free);
  g_clear_pointer (&self->moves, g_array_unref);
  g_clear_pointer (&self->proposal.landings, tessera_landings_free);
  g_clear_pointer (&self->proposal.pushed, tessera_selection_unref);
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  self->former_bytes = 0;
  self->needs = (TesseraNeeds){ 0 };
  self->verdict = (TesseraVerdict){ 0 };
  self->described = (TesseraMoment){ 0 };
  self->selected = TESSERA_NONE;
  g_clear_pointer (&self->selection, tessera_selection_unref);
  g_clear_pointer (&self->grouping, tessera_grouping_unref);
  g_clear_pointer (&self->list, g_array_unref);
  g_clear_pointer (&self->left_planned, tessera_followed_unref);
  g_clear_pointer (&self->comparison, tessera_comparison_free);
  g_clear_pointer (&self->difference, tessera_selection_unref);
  g_ptr_array_set_size (self->kept, 0);
  self->n_named = 0;
  g_clear_pointer (&self->query, g_free);
  g_clear_pointer (&self->query_error, g_free);
  tessera_selection_facts_clear (&self->facts);
  self->hovered = TESSERA_NONE;
  self->moment = 0;
}

static void
tessera_document_finalize (GObject *object)
{
  TesseraDocument *self = TESSERA_DOCUMENT (object);

  clear_contents (self);
  g_ptr_array_unref (self->kept);
  g_free (self->path);
  g_free (self->error);
  g_free (self->notice);
  G_OBJECT_CLASS (tessera_document_parent_class)->finalize (object);
}

static void
tessera_document_class_init (TesseraDocumentClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_document_finalize;
  changed_signal = g_signal_new ("changed", TESSERA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0,
                                 NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void
tessera_document_init (TesseraDocument *self)
{
  self->kept = g_ptr_array_new_with_free_func (tessera_kept_free);
  clear_contents (self);
  g_queue_init (&self->next_kept);
  self->plan_automatically = TRUE;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  self->world_bytes = 1;
}

TesseraDocument *
tessera_document_new (void)
{
  return g_object_new (TESSERA_TYPE_DOCUMENT, NULL);
}

void
tessera_document_close (TesseraDocument *self)
{
  /* What is being written has all it needs and comes to its end. */
  for (int i = 0; i < TESSERA_N_WORKS; i++)
    if (i != TESSERA_WORK_SAVE && i != TESSERA_WORK_KEEP)
      g_clear_pointer (&self->jobs[i], tessera_job_drop);
  clear_contents (self);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->error, g_free);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
}

void
tessera_document_cancel (TesseraDocument *self)
{
  static const TesseraWork order[] = { TESSERA_WORK_LOAD, TESSERA_WORK_PLAN,
                                       TESSERA_WORK_SHEETS, TESSERA_WORK_SAVE,
                                       TESSERA_WORK_NEEDS };

  for (size_t i = 0; i < G_N_ELEMENTS (order); i++)
    if (self->jobs[order[i]] != NULL)
      {
        tessera_job_cancel (self->jobs[order[i]]);
        return;
      }
}

gboolean
tessera_document_is_busy (TesseraDocument *self)
{
  for (int i = 0; i < TESSERA_N_WORKS; i++)
    if (self->jobs[i] != NULL)
      return TRUE;
  return FALSE;
}

void
tessera_document_take_error (TesseraDocument *self, char *sentence)
{
  g_free (self->error);
  self->error = sentence;
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

void
tessera_document_take_notice (TesseraDocument *self, char *sentence)
{
  g_free (self->notice);
  self->notice = sentence;
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

void
tessera_document_hover (TesseraDocument *self, TesseraSide side, uint32_t block)
{
  if (self->hovered == block && self->hovered_side == side)
    return;
  self->hovered = block;
  self->hovered_side = side;
  tessera_document_changed (self, TESSERA_CHANGED_HOVER);
}

void
tessera_document_refresh_verdict (TesseraDocument *self)
{
  const TesseraParts parts = self->verdict.parts;

  if (self->data == NULL)
    return;
  tessera_verdict (self->data->trace, tessera_data_own_layout (self->data), &parts,
                   &self->needs, &self->verdict);
  tessera_document_changed (self, TESSERA_CHANGED_VERDICT);
}

/* --- moving about: the part of time and address that both canvases show -------------- */

/* Below these, pixel positions of the whole picture would leave the exact range of
 * doubles, or one block would fill everything. */
#define LEAST_SPAN_T 1e-9
#define LEAST_SPAN_BYTES 4096.0
#define MOST_ZOOM_Y 1e7
/* Of a step's width, shown on either side of one that is shown whole. */
#define BESIDE_STEP 0.02
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
  const TesseraView *v = &self->view;
  double dt = pages_t * (v->t1 - v->t0), dy = pages_y * (v->y1 - v->y0);

  tessera_document_set_view (
      self, &(TesseraView){ v->t0 + dt, v->t1 + dt, v->y0 + dy, v->y1 + dy });
}

void
tessera_document_show_time (TesseraDocument *self, double t0, double t1)
{
  tessera_document_set_view (self,
                             &(TesseraView){ t0, t1, self->view.y0, self->view.y1 });
}

void
tessera_document_fit (TesseraDocument *self)
{
  tessera_document_set_view (self, &(TesseraView){ 0, 1, 0, self->world_bytes });
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
tessera_document_show_step (TesseraDocument *self, uint32_t event_index)
{
  const TesseraSheet *sheet = self->sheets[TESSERA_SIDE_LEFT];
  uint32_t begin = 0, end;
  double t0, t1;

  if (sheet == NULL)
    return;
  end = sheet->layout->n_events;
  for (size_t i = 0; i < self->data->structure->n_steps; i++)
    if (self->data->structure->steps[i].begin_index <= event_index)
      begin = self->data->structure->steps[i].begin_index;
    else
      end = MIN (end, self->data->structure->steps[i].begin_index);
  t0 = tessera_sheet_t_of (sheet, begin);
  t1 = tessera_sheet_t_of (sheet, end);
  tessera_document_set_moment (self, event_index);
  tessera_document_set_view (self, &(TesseraView){ t0 - BESIDE_STEP * (t1 - t0),
                                                   t1 + BESIDE_STEP * (t1 - t0), 0,
                                                   self->world_bytes });
}

void
tessera_document_refresh_world (TesseraDocument *self)
{
  gboolean was_whole = self->view.y0 <= 0 && self->view.y1 >= self->world_bytes;
  double top = 1;

  for (int side = 0; side < TESSERA_N_SIDES; side++)
    if (self->sheets[side] != NULL)
      top = MAX (top, tessera_scene_top_bytes (self->sheets[side]->scene));
  if (self->data != NULL)
    top = MAX (top, (double) self->data->bound_bytes);
  /* The device's size is worth its height unless it would squeeze the picture. */
  self->ceiling_bytes = 0;
  if (self->data != NULL)
    self->ceiling_bytes =
        tessera_room_bytes (self->data->trace, tessera_data_own_layout (self->data),
                            &self->ceiling_is_device);
  if ((double) self->ceiling_bytes < 1.4 * top)
    top = MAX (top, (double) self->ceiling_bytes);
  self->world_bytes = top * 1.04;
  if (was_whole)
    self->view.y1 = self->world_bytes;
  tessera_document_set_view (self, &self->view);
}
