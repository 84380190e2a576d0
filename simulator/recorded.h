/*
 * The recorded layout: everything where the file says it lay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/simulate.h"

/* TESSERA_REFUSED for a trace without addresses or segments: a CSV says neither. */
TESSERA_MUST_USE TesseraStatus
tessera_lay_recorded (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraSimulateOptions *options,
                      TesseraError *error,
                      TesseraLayout **out_layout);
