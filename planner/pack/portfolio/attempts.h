/*
 * What attempt number so-and-so of a round is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/run.h"

/*
 * tessera_portfolio_attempt:
 * @attempt: its number is set; name and height are filled in
 *
 * Makes the attempt at @desk, where its offsets stand afterwards. Returns: false where
 * it was given up, or there is none of this number.
 */
TESSERA_MUST_USE bool tessera_portfolio_attempt (TesseraPortfolio *portfolio,
                                                 TesseraDesk *desk,
                                                 TesseraFinished *attempt);
