/*
 * Traces and plans that go with the block in which they are declared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/plan.h"
#include "db/trace.h"

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraTrace, tessera_trace_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraPlan, tessera_plan_free)
