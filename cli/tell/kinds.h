/* The kinds of step that a plan folds, as text and JSON. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include "cli/output.h"
#include "db/plan.h"

/* A line for each, where there are several. */
void cli_print_kinds (const TesseraPlan *plan);
/* Member "kinds" of the object that is open: an array, empty where no step repeats. */
void cli_json_kinds (JsonBuilder *builder, const TesseraPlan *plan);
