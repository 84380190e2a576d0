/*
 * The session's colours: made by a worker, since some million blocks are looked at.
 *
 * Until they are there the picture keeps those it had.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

/* Lights several selected blocks up, else those that two plans place differently. */
void
tessera_document_relight (TesseraDocument *self)
{
  TesseraPaint *before = self->paint;
  gboolean several = self->selection != NULL && self->selection->n_blocks > 1;

  if (before == NULL)
    return;
  self->paint = tessera_paint_light (before, several || !self->show_difference ||
                                                     self->comparison == NULL
                                                 ? self->selection
                                                 : self->difference);
  tessera_paint_unref (before);
}

/* Takes @paint over. */
static void
take_paint (TesseraDocument *self, TesseraPaint *paint)
{
  tessera_paint_unref (self->paint);
  self->paint = paint;
  tessera_document_relight (self);
  tessera_document_changed (self, TESSERA_CHANGED_COLOUR);
  if (self->told.colouring != paint->colouring)
    tessera_document_refresh_moment (self);
}

static TesseraStatus
paint_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;

  input->paint = tessera_paint_new (input->data, input->colour_key, input->dark);
  if (input->paint == NULL)
    return tessera_explain (TESSERA_NO_MEMORY, error, "colouring");
  return TESSERA_OK;
}

static void
paint_done (gpointer owner,
            gpointer user,
            TesseraStatus status,
            const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (!tessera_work_finished (self, TESSERA_WORK_PAINT, status, error))
    return;
  if (input->data == self->data)
    take_paint (self, g_steal_pointer (&input->paint));
  else
    tessera_document_refresh_paint (self); /* groups changed meanwhile */
}

static const TesseraJobKind paint_kind = { paint_work, paint_done, NULL,
                                           tessera_work_input_free, "colours" };

void
tessera_document_refresh_paint (TesseraDocument *self)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  tessera_data_unref (input->data);
  input->data = tessera_data_ref (self->data);
  tessera_work_start (self, TESSERA_WORK_PAINT, &paint_kind, input);
}

void
tessera_document_set_colour_key (TesseraDocument *self, TesseraColourKey key)
{
  if (self->colour_key == key)
    return;
  self->colour_key = key;
  tessera_document_refresh_paint (self);
}

void
tessera_document_set_dark (TesseraDocument *self, gboolean dark)
{
  if (self->dark == dark)
    return;
  self->dark = dark;
  tessera_document_refresh_paint (self);
}

void
tessera_document_filter (TesseraDocument *self, size_t entry, gboolean alone)
{
  g_autofree uint8_t *shown = NULL;
  size_t n, n_shown = 0;

  if (self->paint == NULL || entry >= self->paint->colouring->n_entries)
    return;
  n = self->paint->colouring->n_entries;
  shown = g_memdup2 (self->paint->shown_entries, n);
  for (size_t i = 0; i < n; i++)
    n_shown += shown[i];
  if (!alone)
    shown[entry] = !shown[entry];
  else
    {
      gboolean was_alone = n_shown == 1 && shown[entry];

      for (size_t i = 0; i < n; i++)
        shown[i] = was_alone || i == entry;
    }
  take_paint (self, tessera_paint_filter (self->paint, shown));
}

void
tessera_document_show_all (TesseraDocument *self)
{
  if (self->paint != NULL && self->paint->whole != NULL)
    take_paint (self, tessera_paint_ref (self->paint->whole));
}
