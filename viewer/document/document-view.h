/*
 * Moving about: the part of time and address that both canvases show.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

/* Any view is made valid: inside the world, not smaller than what can be drawn. */
void tessera_document_set_view (TesseraDocument *self, const TesseraView *view);
/* @factor_t, @factor_y: > 1 shows less. (@t, @y) keeps its place. */
void tessera_document_zoom (
    TesseraDocument *self, double factor_t, double factor_y, double t, double y);
/* By fractions of what is shown: (1, 0) is a whole page later. */
void tessera_document_pan (TesseraDocument *self, double pages_t, double pages_y);
/* A stretch of time at the height that is shown. */
void tessera_document_show_time (TesseraDocument *self, double t0, double t1);
void tessera_document_fit (TesseraDocument *self);
/* The least movement that shows the block; zooms in where it would be a speck. */
void tessera_document_reveal (TesseraDocument *self, uint32_t block);
/* Brings a moment into view. */
void tessera_document_go_to (TesseraDocument *self, uint32_t event_index);
gboolean tessera_document_is_fit (TesseraDocument *self);
