/*
 * Layouts ready to be drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/followed.h"

/* One layout on one axis, ready to draw. Shared like TesseraData. */
typedef struct
{
  TesseraData *data;
  TesseraFollowed *planned; /* NULL but for a plan's sheet */
  const TesseraLayout *layout;
  const TesseraAxis *axis;
  TesseraScene *scene;
} TesseraSheet;

/* @planned: (nullable): its layout, else the one of @kind. */
TesseraStatus tessera_sheet_new (TesseraData *data,
                                 TesseraFollowed *planned,
                                 TesseraLayoutKind kind,
                                 TesseraAxisKind axis_kind,
                                 const TesseraProgress *progress,
                                 TesseraError *error,
                                 TesseraSheet **out_sheet);
TesseraSheet *tessera_sheet_ref (TesseraSheet *sheet);
void tessera_sheet_unref (TesseraSheet *sheet); /* NULL is fine */
/* Where a moment lies on the sheet's axis, 0..1. */
double tessera_sheet_t_of (const TesseraSheet *sheet, uint32_t event_index);
