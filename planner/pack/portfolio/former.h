/*
 * What a layout of before is worth: repaired, it is there before anything is tried.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/run.h"

/* What comes of problem->former (TesseraPackOptions) is the best in @portfolio from now
 * on, and is kept unless something lower is found. Nothing happens where there is none.
 * @part: of the looks that it may take. Returns: TESSERA_OK, TESSERA_NO_MEMORY or
 * TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_portfolio_repair (TesseraPortfolio *portfolio,
                                                         uint32_t part);
