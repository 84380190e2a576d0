/*
 * What the checks of plans for every length share: see check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "planner/check.h"

/* TESSERA_REFUSED, saying at which parameters @found holds: "at batch 1 and length 2,
 * ...".
 */
TESSERA_MUST_USE TesseraStatus tessera_check_refuse_at (const TesseraParameters *at,
                                                        const TesseraError *found,
                                                        TesseraError *error);
