/*
 * Recordings of our own policy, for tests: a random program over the virtual device,
 * written down as PyTorch would write it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

#include <glib.h>

/* @skip: so many of the @n_operations happen before the recording begins, and what they
 * left is the state at the start. Settings, device and limit follow from @seed. */
TesseraTrace *made_trace (guint32 seed, guint skip, guint n_operations);
