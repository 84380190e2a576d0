/*
 * The verdict and its parts, as JSON (stable keys) and as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/study.h"
#include "simulator/verdict.h"

const char *cli_cause_name (TesseraCause cause);

/* Members at_event, reserved_bytes, parts {...}, largest_hole_bytes, request_bytes,
 * free_at_driver_bytes, outside_bytes of the object under construction. */
void
cli_json_parts (JsonBuilder *builder, const CliStudy *study, const TesseraParts *parts);
/* Members native_bytes, expandable_bytes, plan_bytes, bound_bytes, and per policy
 * _retries (flushes with a wait on that device) and _endless_bytes (reserved where memory
 * never ends). */
void cli_json_needs (JsonBuilder *builder, const CliStudy *study);

/* Members cut_off (the recording has no end) and leak: an object with step_bytes,
 * kept_bytes, steps and line, or null where no step keeps more than the one before. */
void cli_json_warnings (JsonBuilder *builder, const CliStudy *study);
/* What comes before every figure, for commands that print no verdict: a leak, and that the
 * recording was cut off; nothing where neither is. */
void cli_print_warnings (const CliStudy *study);

void cli_print_parts (const CliStudy *study, const TesseraParts *parts);
void cli_print_needs (const CliStudy *study);
