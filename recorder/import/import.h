/*
 * Opening whatever an engineer has: a PyTorch snapshot (.pickle, also gzipped), a CSV, a
 * .tsr. Our own process only: uses GLib and zlib.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef struct
{
  uint32_t device; /* which device of the file; TESSERA_NONE: the one with most events */
  uint64_t device_bytes; /* 0: look for params.json beside the file */
  uint64_t limit_bytes;
  const TesseraProgress *progress;
} TesseraOpenOptions;

/* Sniffs the content, never the name. On failure *out_trace is NULL and @error says which
 * file, where, what was found, what to do. */
TESSERA_MUST_USE TesseraStatus tessera_open (const char *path,
                                             const TesseraOpenOptions *options,
                                             TesseraError *error,
                                             TesseraTrace **out_trace);
