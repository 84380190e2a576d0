/*
 * Opening whatever an engineer has: a PyTorch snapshot (.pickle, also gzipped), a CSV, a
 * profiler's trace (.json, also gzipped), a .tsr. Our own process only: uses GLib and zlib.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

typedef struct
{
  uint32_t device; /* which device of the file; TESSERA_NONE: the one with most events */
  uint64_t device_bytes, limit_bytes; /* 0: what the file says */
  const TesseraProgress *progress;
} TesseraOpenOptions;

/*
 * Memory: files are streamed. A snapshot takes 40 bytes for each trace entry, 8 for each
 * memo entry of the pickle, and each distinct stack once: 0.2 times the size of a file
 * with stacks, at most 1.5 times that of one without. A file larger than memory therefore
 * opens as long as its events fit.
 *
 * Meta of an imported trace: "format"; "pytorch" (which versions write such a file);
 * "alloc_conf" (text of PYTORCH_CUDA_ALLOC_CONF); "history" (only where there is none,
 * and how to record one); "note.*" (what was odd, left out or guessed, in words).
 */

/* Sniffs the content, never the name. On failure *out_trace is NULL and @error says which
 * file, where, what was found, what to do. */
TESSERA_MUST_USE TesseraStatus tessera_open (const char *path,
                                             const TesseraOpenOptions *options,
                                             TesseraError *error,
                                             TesseraTrace **out_trace);
