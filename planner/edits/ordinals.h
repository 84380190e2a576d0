/*
 * Ordinals of blocks among their like, and what they go by.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edit.h"

/* @numbers: (array): one for each phase of @structure. Equal names, equal numbers. */
void tessera_phase_numbers (const TesseraTrace *trace,
                            const TesseraStructure *structure,
                            uint32_t *numbers);
