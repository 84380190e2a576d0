/*
 * Room for words: the nearest place above or below what is in the way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/labels.h"

#include <math.h>

/* Air between two. */
#define GAP 2

void
tessera_labels_begin (TesseraLabels *self, double width, double height)
{
  self->width = (float) width;
  self->height = (float) height;
  self->n_taken = 0;
}

void
tessera_labels_avoid (TesseraLabels *self, const graphene_rect_t *box)
{
  if (self->n_taken < TESSERA_MOST_LABELS)
    self->taken[self->n_taken++] = *box;
}

static bool
is_free (const TesseraLabels *self, const graphene_rect_t *box)
{
  if (box->origin.y < 0 || box->origin.y + box->size.height > self->height)
    return false;
  for (unsigned i = 0; i < self->n_taken; i++)
    {
      const graphene_rect_t *r = &self->taken[i];

      if (box->origin.x < r->origin.x + r->size.width + GAP &&
          r->origin.x < box->origin.x + box->size.width + GAP &&
          box->origin.y < r->origin.y + r->size.height + GAP &&
          r->origin.y < box->origin.y + box->size.height + GAP)
        return false;
    }
  return true;
}

bool
tessera_labels_place (TesseraLabels *self, graphene_rect_t *box, double most_pixels)
{
  graphene_rect_t best = *box, at;
  float wanted, least = INFINITY;

  if (self->n_taken == TESSERA_MOST_LABELS)
    return false;
  best.origin.x = fmaxf (fminf (best.origin.x, self->width - best.size.width), 0);
  best.origin.y = fmaxf (fminf (best.origin.y, self->height - best.size.height), 0);
  wanted = best.origin.y;
  at = best;
  if (is_free (self, &at))
    least = 0;
  /* Else the nearest free place touches one of those in the way. */
  for (unsigned i = 0; least > 0 && i < 2 * self->n_taken; i++)
    {
      const graphene_rect_t *r = &self->taken[i / 2];
      float way;

      at.origin.y = i % 2 == 0 ? r->origin.y - at.size.height - GAP
                               : r->origin.y + r->size.height + GAP;
      way = fabsf (at.origin.y - wanted);
      if (way < least && way <= most_pixels && is_free (self, &at))
        {
          best = at;
          least = way;
        }
    }
  if (isinf (least))
    return false;
  *box = best;
  tessera_labels_avoid (self, box);
  return true;
}
