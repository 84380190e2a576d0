/* Kinds of step and laws of their sizes, as text and JSON. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "cli/output.h"
#include "cli/study.h"

/* Nothing where no kind of step varies by a law. */
void cli_print_laws (const CliStudy *study);
/* "N", and what it is for besides: " and batch up to B". */
void cli_print_most (const TesseraLengths *lengths);
/* Member "steps_that_vary" of the object that is open; null where none do. */
void cli_json_laws (JsonBuilder *builder, const CliStudy *study);
