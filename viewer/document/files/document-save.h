/*
 * Writing what is open to a file: what the worker is given, kept alive for it.
 *
 * For document-save.c and the files that know one format each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

typedef struct
{
  TesseraSave what;
  gboolean stacked; /* a picture's layouts, one above the other */
  char *path;       /* of the file to write */
  char *source;     /* of the trace */
  TesseraData *data;
  TesseraFollowed *planned;              /* (nullable) */
  TesseraSheet *sheets[TESSERA_N_SIDES]; /* (nullable) each */
  TesseraNeeds needs;
  TesseraVerdict verdict;
  TesseraColourKey colour_key;
  gboolean dark;
} TesseraSaveInput;

/* The file is there whole, or as it was before. TESSERA_CANCELLED, else @error is
 * filled. */
TesseraStatus tessera_save_bytes (const char *path,
                                  const void *bytes,
                                  size_t n_bytes,
                                  const TesseraProgress *progress,
                                  TesseraError *error);
