/*
 * Where a result is written: by everything of ours that writes a file.
 *
 * A file takes its place whole, once it is on disk, with the mode and owner of what it
 * replaces. A symbolic link stays: what it names is replaced. A device, a pipe or a
 * descriptor of this process (/dev/stdout) is written to once all is there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/stat.h>

#include "db/status.h"

typedef struct
{
  char *target;      /* what is replaced or written to; no symbolic link */
  char *temporary;   /* holds what is written until then */
  struct stat there; /* what is replaced; st_mode 0: nothing */
  bool is_stream;    /* a device, pipe or descriptor */
  int descriptor;    /* -1: none */
  int place;         /* among the temporary files that a signal removes; -1: none */
} TesseraOutput;

/* Returns: 0, or an errno for which nothing can be written to @path. Makes nothing. */
int tessera_output_check (const char *path);
/* The descriptor of this process that @path names, or -1. */
int tessera_output_descriptor (const char *path);

/* Makes an empty temporary file: beside the target, or, of a stream, in TMPDIR. */
TESSERA_MUST_USE TesseraStatus tessera_output_begin (TesseraOutput *output,
                                                     const char *path,
                                                     TesseraError *error);
/* Puts it into its place. Clears @output in any case; where it fails nothing is left. */
TESSERA_MUST_USE TesseraStatus tessera_output_commit (TesseraOutput *output,
                                                      const char *path,
                                                      TesseraError *error);
/* Leaves nothing behind. */
void tessera_output_discard (TesseraOutput *output);

/* From a signal's handler, before the process ends: removes all temporary files. */
void tessera_outputs_remove (void);

TESSERA_MUST_USE TesseraStatus tessera_write_file (const char *path,
                                                   const void *bytes,
                                                   size_t n_bytes,
                                                   TesseraError *error);
