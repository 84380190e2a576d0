/*
 * What all fuzz targets share: the entry point, and the law that a failure has a
 * sentence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "db/status.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes);

/* Success without a sentence, failure with one line of text: anything else is a finding.
 */
static inline void
fuzz_check (TesseraStatus status, const TesseraError *error)
{
  if ((status == TESSERA_OK) != (error->text[0] == '\0') ||
      (status != TESSERA_OK && error->status != status) ||
      strchr (error->text, '\n') != NULL)
    abort ();
}
