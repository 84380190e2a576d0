/*
 * The files of the process: the trace that its recorder writes, the plan that it follows.
 *
 * The recorder is opened once, used by every thread, closed under them: it is used between
 * enter and leave, which cost an atomic addition each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/recorder.h"
#include "runtime/process/options.h"

/* NULL where nothing is recorded; else to be left again. */
TesseraRecorder *tessera_recorder_enter (void);
void tessera_recorder_leave (TesseraRecorder *recorder); /* NULL is fine */
/* Under a device's lock: @recorder, or NULL where recording ended in the meantime. */
TesseraRecorder *tessera_recorder_still (TesseraRecorder *recorder);

/* Opens the trace that the options name; a notice where it cannot be. Called once.
 * @policy: what the devices are opened with. @plan: (nullable): to be followed. */
void tessera_recording_begin (TesseraPolicyKind policy, const TesseraPlan *plan);
/* Nobody enters any more. Returns: (nullable): what is to be ended, once the devices have
 * told it what they hold. */
TesseraRecorder *tessera_recording_take (void);
/* Waits a while for those who entered before, and closes it. */
void tessera_recording_end (TesseraRecorder *taken);
/* In a forked child: the parent's is not ours to close. */
void tessera_recording_forget (void);

/* Loads, has it checked, and looks whether it was made for a run like this one. Returns
 * NULL after a notice where it is declined. */
TesseraPlan *tessera_plan_file_open (const TesseraOptions *options, const char *path);

/* Whether this device may follow it; else a notice says why not. */
bool
tessera_plan_file_suits (const TesseraPlan *plan, int ordinal, uint64_t device_bytes);
