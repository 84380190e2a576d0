/*
 * What fits, as curves: the largest value over whatever else was swept, a panel for each GPU.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <cairo.h>
#include <stddef.h>
#include <stdint.h>

#define TESSERA_FRONTIER_POLICIES 3u /* native, expandable segments, plan */

/* All is borrowed. */
typedef struct
{
  const char *title;
  const char *const *at;   /* [n_at] "length=512" */
  const char *const *gpus; /* [n_gpus] */
  size_t n_at, n_gpus;
  const uint64_t *largest; /* [n_at][n_gpus][TESSERA_FRONTIER_POLICIES]; 0: none fits */
  uint64_t last;           /* the end of the range: more may fit there */
} TesseraFrontier;

/* Draws into @cr, whose background is light, at @width x @height user units. */
void tessera_frontier_draw (const TesseraFrontier *frontier,
                            cairo_t *cr,
                            double width,
                            double height);
