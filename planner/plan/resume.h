/*
 * Going on from a plan that was made before.
 *
 * The plan is a hint that the packer repairs (pack/repack/repair.h), and a floor: what is
 * made from it is never higher. Its file may say anything. Slots are those of the trace,
 * found anew; only offsets are taken from it, and the checker judges them as always.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/plan/build.h"

/* Whether the plan that options->resumed names (NULL is fine) can be of this trace and
 * these options. Returns: TESSERA_OK or TESSERA_REFUSED with a sentence. */
TESSERA_MUST_USE TesseraStatus tessera_resume_check (const TesseraPlanBuild *build);

/* Where the plan before is lower than what was made, its offsets are taken. Says in the
 * plan what it goes on from. Returns: TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_REFUSED
 * where its slots are others. */
TESSERA_MUST_USE TesseraStatus tessera_resume_settle (TesseraPlanBuild *build);
