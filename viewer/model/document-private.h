/*
 * What the files of the session share: work on other threads, what it is given, how it ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <sys/stat.h>

/* --- works ------------------------------------------------------------------------- */

/* A kind of work on another thread, of which one runs at a time. */
typedef struct
{
  TesseraWork work;
  const char *name; /* of what it makes, for who measures */
  size_t n_bytes;   /* of its input, which begins with a TesseraWorkInput */
  /* On the worker. What it makes goes into the input. */
  TesseraJobWork run;
  /* On the main thread: takes over what was made. */
  void (*take) (TesseraDocument *self, gpointer input);
  GDestroyNotify clear; /* (nullable): of what is the input's own */
  /* (nullable): where nothing was made, before that is told. */
  void (*fail) (TesseraDocument *self, gpointer input, TesseraStatus status);
} TesseraWorkKind;

/* What every worker is given: all that was open and chosen when it began. */
typedef struct
{
  const TesseraWorkKind *kind;
  TesseraData *data; /* (nullable), as are all of these */
  TesseraFollowed *planned;
  TesseraFollowed *left_planned;
  TesseraSheet *sheets[TESSERA_N_SIDES];
  TesseraPaint *paint;
  TesseraSelection *selection;
  TesseraHistory *history; /* a copy, where the kind wants one */
  TesseraLayoutKind left_kind;
  TesseraAxisKind axis_kind;
  TesseraColourKey colour_key;
  gboolean colour_is_chosen;
  gboolean dark;
  uint32_t moment;            /* event */
  TesseraPlanRequest request; /* of a plan to be made */
} TesseraWorkInput;

/* The input of such a work, all zero behind its beginning. */
gpointer tessera_work_new (TesseraDocument *self, const TesseraWorkKind *kind);
/* Drops the work of the same kind that runs. @input passes. */
void tessera_work_start (TesseraDocument *self, gpointer input);

/* Looks for the smallest device under a policy, then under those that come after it. */
void tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind kind);

/* --- what follows a change ---------------------------------------------------------- */

void tessera_document_relight (TesseraDocument *self);
void tessera_document_refresh_facts (TesseraDocument *self);
/* Groups and classes, as the edits that stand make them. */
void tessera_document_refresh_groups (TesseraDocument *self);
void tessera_document_changed (TesseraDocument *self, guint what);
void tessera_document_refresh_verdict (TesseraDocument *self);
void tessera_document_refresh_paint (TesseraDocument *self);
void tessera_document_refresh_sheets (TesseraDocument *self);
void tessera_document_refresh_world (TesseraDocument *self);
void tessera_document_refresh_comparison (TesseraDocument *self);
void tessera_kept_free (gpointer kept);

/* What the next plan is compared with. */
void tessera_document_remember_height (TesseraDocument *self);
/* Takes @history over. */
void tessera_document_take_history (TesseraDocument *self, TesseraHistory *history);
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
