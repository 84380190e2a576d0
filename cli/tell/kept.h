/*
 * What steps keep for good, by the program's own lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/output.h"
#include "cli/study.h"

/* A line for each, where the study's plan has requests that steps keep: not where edits
 * may have left them out. */
void cli_print_kept (const CliStudy *study);
/* Member "kept" of the object that is open: an array, empty where nothing is. */
void cli_json_kept (JsonBuilder *builder, const CliStudy *study);
