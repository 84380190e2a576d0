/*
 * Whether a plan that came from a file is one: what is followed, drawn or compared has
 * been looked at by the checker.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/command.h"
#include "db/plan.h"
#include "db/trace.h"

/* @path: named in the sentence. @trace: (nullable): the one it has to be made from.
 * Returns: TESSERA_OK, or TESSERA_REFUSED with a sentence that names the law it breaks;
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus cli_accept_plan (const char *path,
                                                const TesseraPlan *plan,
                                                const TesseraTrace *trace,
                                                TesseraError *error);
