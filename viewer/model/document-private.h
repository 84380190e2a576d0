/*
 * What the files of the session share: work on other threads, what it is given, how it ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <sys/stat.h>

/* --- works ------------------------------------------------------------------------- */

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

/* --- what follows a change ---------------------------------------------------------- */

void tessera_document_relight (TesseraDocument *self);
void tessera_document_refresh_facts (TesseraDocument *self);
/* Groups and classes, as the edits that stand make them. */
void tessera_document_refresh_groups (TesseraDocument *self);
void tessera_document_changed (TesseraDocument *self, guint what);
void tessera_document_refresh_moment (TesseraDocument *self);
void tessera_document_refresh_verdict (TesseraDocument *self);
void tessera_document_refresh_paint (TesseraDocument *self);
void tessera_document_refresh_sheets (TesseraDocument *self);
void tessera_document_refresh_world (TesseraDocument *self);
/* @path: (nullable): of the file it was read from. */
void tessera_document_note_plan (TesseraDocument *self, const char *path);
void tessera_document_refresh_comparison (TesseraDocument *self);
void tessera_kept_free (gpointer kept);

/* What the next plan is compared with. */
void tessera_document_remember_height (TesseraDocument *self);
/* Takes @history over. */
void tessera_document_take_history (TesseraDocument *self, TesseraHistory *history);
/* What follows any change of the edits: kept, shown, planned again. */
void tessera_document_edits_changed (TesseraDocument *self);
/* Writes the edits where they are kept. What others have kept there meanwhile stays, and
 * is taken over. */
void tessera_document_keep_edits (TesseraDocument *self);
/* What is known of the file that the edits of what is open are kept in, which is watched
 * from now on: edits that others keep there are taken over, and where something else is
 * written there a sentence says so. @json: the edits, as they were read. @seen: the file,
 * before it was read. */
typedef struct TesseraEditsFile TesseraEditsFile;
TesseraEditsFile *
tessera_edits_file_new (TesseraDocument *self, const char *json, const struct stat *seen);
void tessera_edits_file_unref (TesseraEditsFile *file);
void tessera_rule_free (TesseraRule *rule); /* NULL is fine */

/* --- writing what is open to a file ------------------------------------------------- */

/* What the worker is given, kept alive for it. */

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
/* The name decides: ".svg", else PNG. @error is filled on failure. Any thread. */
TesseraStatus tessera_picture_save (const TesseraSaveInput *input,
                                    const TesseraProgress *progress,
                                    TesseraError *error);
/* One self-contained HTML page. @error is filled on failure. Any thread. */
TesseraStatus tessera_report_save (const TesseraSaveInput *input,
                                   const TesseraProgress *progress,
                                   TesseraError *error);
