/*
 * Whether laws of parts hold where steps are cut: see parts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/laws.h"

/*
 * tessera_cuts_are_clean:
 * @laws: of parts
 *
 * They do where three parts in four are of one kind, parts of one step have parameters of
 * their own, and at each cut inside a step at most a hundredth of the live bytes is of
 * blocks whose size varies: what is alive over a cut has a place that does not move.
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_cuts_are_clean (const TesseraLaws *laws,
                                                       const TesseraBlocks *blocks,
                                                       bool *out_are_clean);
