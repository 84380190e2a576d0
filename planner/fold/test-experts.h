/*
 * Traces of a made-up mixture of experts, for tests: layers with experts whose sizes are
 * drawn anew in each step, some kept for the backward pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/test-traces.h"

enum
{
  TEST_EXPERTS_LAYERS = 10,
  TEST_EXPERTS_EXPERTS = 4, /* of a layer */
};

/* @may_be_equal: dynamic sizes may be those of planned requests; @scale: what all sizes
 * are times: from 18 up some dynamic ones are above 1 MiB. The caller frees it. */
TesseraTrace *
test_experts_new (uint32_t seed, gboolean may_be_equal, uint32_t n_steps, uint32_t scale);
