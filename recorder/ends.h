/*
 * What the driver has given at the end, device by device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/news.h"

typedef struct
{
  uint32_t device;
  TesseraHeld held;
} TesseraEndState;

typedef struct
{
  TesseraEndState *states;
  size_t n_states, cap_states;
} TesseraEnds;

/* Copies @held in order of address; replaces an earlier state of the device. Without
 * memory there is none. */
void tessera_ends_set (TesseraEnds *ends, uint32_t device, const TesseraHeld *held);
/* Lends the states to the news' devices. */
void tessera_ends_fill (TesseraEnds *ends, TesseraNews *news);
void tessera_ends_clear (TesseraEnds *ends);
