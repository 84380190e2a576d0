/*
 * What is proven about a plan's height, as subcommands tell it (db/plan.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "db/plan.h"

/* Members proven_bound_bytes, gap (0.01: one percent above it), optimal (true, or null:
 * not known), proof (the sentence), cut_short (null, "time" or "person"), resumed_digest
 * (of the plan that it goes on from, null: none) and time_limit_s (null: none). */
void cli_json_proof (JsonBuilder *builder, const TesseraPlan *plan);
