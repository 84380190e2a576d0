/*
 * An attempt that finished, with where everything lies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  uint32_t number;
  const char *name;  /* static text */
  uint64_t *offsets; /* [n_items] */
} TesseraFinished;

TESSERA_MUST_USE TesseraStatus tessera_finished_init (TesseraFinished *finished,
                                                      size_t n_items);
void tessera_finished_clear (TesseraFinished *finished); /* a zeroed one is fine */

/* Lower, or as high and of lower number. */
bool tessera_finished_is_better (const TesseraFinished *a, const TesseraFinished *b);
void tessera_finished_swap (TesseraFinished *a, TesseraFinished *b);
