/*
 * Sizes as text, as PyTorch writes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

typedef struct
{
  char text[32];
} RuntimeSize;

RuntimeSize tessera_size_text (uint64_t bytes);
