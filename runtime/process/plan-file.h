/*
 * The plan that this process was told to follow, and whether it may.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "runtime/process/options.h"

/* Loads, has it checked, and looks whether it was made for a run like this one. Returns
 * NULL after a notice where it is declined. */
TesseraPlan *tessera_plan_file_open (const TesseraOptions *options, const char *path);

/* Whether this device may follow it; else a notice says why not. */
bool
tessera_plan_file_suits (const TesseraPlan *plan, int ordinal, uint64_t device_bytes);
