/*
 * Rotas of several kinds of step: see carries.h and db/plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/kinds/carries.h"

/* A carry for each place that the carried @spots of one stream, pool and size need
 * together; they are in order of kind and birth. */
TESSERA_MUST_USE TesseraStatus tessera_carries_rota (TesseraCarries *carries,
                                                     TesseraSpot **spots,
                                                     size_t n_spots);

/* Adds a carry like a spot; NULL: no memory. */
TesseraCarry *tessera_carries_add (TesseraCarries *carries, const TesseraSpot *like);
