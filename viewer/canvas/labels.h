/*
 * Room for words on a picture: none covers another, or a line that must be seen.
 *
 * First come, first served: what is asked for first stands where it wants to, what comes
 * later makes way up or down, by as little as it takes, and what finds no room is left
 * out. Draws nothing and needs no display.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <graphene.h>
#include <stdbool.h>

#define TESSERA_MOST_LABELS 48

typedef struct
{
  float width, height; /* of the picture, pixels */
  graphene_rect_t taken[TESSERA_MOST_LABELS];
  unsigned n_taken;
} TesseraLabels;

/* @width, @height: pixels. */
void tessera_labels_begin (TesseraLabels *self, double width, double height);
/* No label will stand on @box. */
void tessera_labels_avoid (TesseraLabels *self, const graphene_rect_t *box);
/* Room for @box, which is moved into the picture and then up or down by at most
 * @most_pixels. Returns: whether there is; @box is then where, and taken. */
bool tessera_labels_place (TesseraLabels *self, graphene_rect_t *box, double most_pixels);
