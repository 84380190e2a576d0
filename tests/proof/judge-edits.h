/*
 * Whether a plan does what edits say, asked of slots by the blocks that they were made
 * from: knows nothing of how edits become holds on slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "tests/proof/instance.h"

void judge_edits (const Instance *instance, const TesseraPlan *plan);
