/*
 * Every cached figure and every invariant, worked out anew; @error says what was expected
 * and what was found.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

TesseraStatus tessera_caching_check (const TesseraCaching *caching, TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_policy_check (const TesseraPolicy *policy,
                                                     TesseraError *error);
