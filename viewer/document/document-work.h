/*
 * What the session's works share: what a worker is given, how it starts, how it ends.
 *
 * For document-*.c only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/stat.h>

#include "viewer/document/document.h"

/* What a worker is given, and what it gives back. */
typedef struct
{
  char *path;
  uint32_t device;   /* of the file to open */
  TesseraData *data; /* as analysed */
  TesseraFollowed *planned;
  TesseraFollowed *shown; /* a plan that need not be made; or NULL */
  TesseraLayoutKind left_kind;
  TesseraFollowed *left_planned; /* ... or this */
  TesseraAxisKind axis_kind;
  TesseraColourKey colour_key;
  gboolean dark;
  TesseraPlanRequest request; /* of a plan to be made */
  TesseraHistory *history;    /* edits that it is to follow, or that stand */
  gboolean is_of_edits;       /* the plan was made with them */
  TesseraEditConflict conflict;
  struct stat seen;           /* the file, before it was read */
  char *kept_json;            /* edits as the file has them; NULL: they can't be read */
  TesseraError history_error; /* its text is empty: the edits could be read */
  TesseraSheet *sheets[TESSERA_N_SIDES];
  TesseraPaint *paint;
  TesseraMoves *moves;
  TesseraLayoutKind fit_kind;
  uint64_t fit_bytes;
  uint32_t moment;    /* event */
  TesseraMoment told; /* of it */
} TesseraWorkInput;

/* All that is open and chosen now. */
TesseraWorkInput *tessera_work_input_new (TesseraDocument *self);
void tessera_work_input_free (gpointer input);

/* Drops the work of the same kind that runs. @input, the kind's own, passes. */
void tessera_work_start (TesseraDocument *self,
                         TesseraWork work,
                         const TesseraJobKind *kind,
                         gpointer input);
/* Common end of all works. Returns: TRUE when there is a result. */
gboolean tessera_work_finished (TesseraDocument *self,
                                TesseraWork work,
                                TesseraStatus status,
                                const TesseraError *error);
void tessera_work_progressed (TesseraDocument *self, TesseraWork work, double fraction);

/* Looks for the smallest device under a policy, then under those that come after it. */
void tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind kind);
