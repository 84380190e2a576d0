/*
 * Which steps of a trace fold into one, and why none do.
 *
 * The longest run of steps with equal requests is folded, else what all steps have in
 * common (planner/dynamic/dynamic.h). A block that is alive through the whole of the step
 * after its own is kept for good: its request gets no place in any step, where that is
 * little (planner/kept.h); else nothing can be folded up to there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/run.h"

/* Folds steps among [@from, @to], if any do, and gives the reason. @is_asked: a person
 * chose these. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_run_choose (TesseraRun *run,
                                                   uint32_t from,
                                                   uint32_t to,
                                                   bool is_asked);

/* Folds these steps, which ask for the same but for what is dynamic. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_run_fold (TesseraRun *run,
                                                 uint32_t first,
                                                 uint32_t last);

/* Nothing is folded. */
void tessera_run_whole (TesseraRun *run, const char *reason);

/* Adds to the reason what the steps that fold keep, if they do. */
void tessera_run_say_kept (TesseraRun *run);
