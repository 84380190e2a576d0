/*
 * A small training run, made up event by event, for tests of whole pictures.
 *
 * Weights, then steps of forward (activations stay), loss (a giant, briefly), backward
 * and optimizer; every step is longer than the one before, and the last one asks for more
 * than the device has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

#define MADE_TRACE_STEPS 3
#define MADE_TRACE_LAYERS 12

/* Fails the test on any error; the caller frees with tessera_trace_free(). */
TesseraTrace *made_trace_new (void);
