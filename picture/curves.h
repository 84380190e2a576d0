/*
 * Curves folded to pixel columns: low and high per column, so that no peak can vanish.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/axis.h"

/* An index over one curve of values in force after each event. The values are borrowed
 * and must outlive it. */
typedef struct TesseraFold TesseraFold;

TESSERA_MUST_USE TesseraStatus tessera_fold_new (const uint64_t *values,
                                                 uint32_t n_values,
                                                 TesseraFold **out_fold);
void tessera_fold_free (TesseraFold *fold);
/* low[c], high[c] of column c of @n_columns over axis positions [t0, t1); 0 in columns
 * outside of the axis. */
void tessera_fold_columns (const TesseraFold *fold,
                           const TesseraAxis *axis,
                           double t0,
                           double t1,
                           uint32_t n_columns,
                           uint64_t *low,
                           uint64_t *high);
