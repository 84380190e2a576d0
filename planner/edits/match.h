/*
 * Patterns of selectors: "*" stands for any run of characters, the rest for itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>

/* The whole of @text. At most text x pattern comparisons. */
bool tessera_match (const char *pattern, const char *text);
