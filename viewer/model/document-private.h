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
  /* On the worker. What it makes goes into the job. */
  TesseraStatus (*run) (TesseraJob *job, TesseraError *error);
  /* On the main thread: takes over what was made. */
  void (*take) (TesseraDocument *self, TesseraJob *job);
  /* (nullable): where nothing was made (job->status says why), before that is told. */
  void (*fail) (TesseraDocument *self, TesseraJob *job);
  gboolean is_of_file; /* the program stays until it is written */
} TesseraWorkKind;

/* What is known of the file that the edits of what is open are kept in, which is watched
 * from now on: edits that others keep there are taken over, and where something else is
 * written there a sentence says so. */
typedef struct TesseraEditsFile TesseraEditsFile;

/* What a worker is given and makes. All that is owned is (nullable), and freed with it. */
struct TesseraJob
{
  const TesseraWorkKind *kind;

  /* All that was open and chosen when it began. */
  TesseraData *data;
  TesseraFollowed *planned, *left_planned;
  TesseraSheet *sheets[TESSERA_N_SIDES];
  TesseraPaint *paint;
  TesseraSelection *selection;
  TesseraLayoutKind left_kind;
  TesseraAxisKind axis_kind;
  TesseraColourKey colour_key;
  gboolean colour_is_chosen, dark;
  uint32_t moment; /* event; of a file that was opened, what its verdict is about */
  TesseraPlanRequest request; /* of a plan to be made */
  TesseraNeeds needs;
  TesseraVerdict verdict;

  /* What is asked for, where the kind of work leaves that open. */
  char *path;       /* of the file to be read or written */
  uint32_t device;  /* of that file */
  TesseraSave save; /* what is written ... */
  gboolean stacked; /* ... and how */
  char *text;       /* a query, NULL: all blocks; the name of a report's trace */
  TesseraSelector selectors[2]; /* any of which matches */
  size_t n_selectors;
  TesseraBlockFilter filter; /* its text is @text */
  TesseraFollowed *shown;    /* a plan that need not be made */
  TesseraLayoutKind policy;  /* whose smallest device is looked for */
  TesseraEdit edit;
  gboolean by_rule;         /* of the edit */
  int direction;            /* of the key that began a proposal; 0: none */
  gboolean pushing, is_pin; /* ... with Shift; at once, at @bytes */

  /* What is made. */
  TesseraData *new_data;
  TesseraFollowed *made;
  TesseraSheet *new_sheets[TESSERA_N_SIDES];
  TesseraPaint *new_paint;
  TesseraMoment described;
  GArray *moves; /* from the sheet that was */
  TesseraEditConflict conflict;
  TesseraComparison *comparison;
  TesseraGrouping *grouping;
  TesseraSelectionFacts facts;
  TesseraRule *rule;
  TesseraLandings *landings;
  GArray *list;
  GArray *suggestions;
  uint8_t *is_in; /* a byte for each block that was looked for */
  uint64_t bytes; /* of a need; or where to pin */

  /* Edits: that are to be followed or kept, or as their file has them. */
  TesseraHistory *history;
  TesseraEditsFile *file;
  struct stat seen;        /* the file, before it was read */
  char *json;              /* what it has */
  TesseraError left_aside; /* why its edits can't be used */
  gboolean is_look;        /* nothing is written */
  gboolean is_anew;        /* something else than edits was written there */
  gboolean met_others;     /* edits of another program */
  size_t n_same;           /* those before are not new here */

  /* job.c */
  TesseraDocument *document; /* NULL: done, or not begun */
  gboolean dropped;          /* or done; main thread only, as is the document */
  gboolean holds_program;
  int stop;                 /* atomic: who asked for the end */
  int permille;             /* atomic: where the work is */
  int reported;             /* atomic: the main thread will soon be told */
  TesseraProgress progress; /* worker only, as is all up to the listener */
  double begin, end;
  gboolean keeps;           /* what it has so far is lost by a drop alone */
  TesseraListener listener; /* takes the planner's news */
  GMutex lock;
  TesseraNews news; /* under the lock */
  TesseraStatus status;
  TesseraError error;
};

/* A job of this kind, not begun. (transfer full) */
TesseraJob *tessera_job_new (TesseraDocument *self, const TesseraWorkKind *kind);
/* Drops the work of the same kind that runs. @job passes. */
void tessera_job_start (TesseraDocument *self, TesseraJob *job);
/* Asks the worker to stop; it ends soon: TESSERA_CANCELLED, or with what it has by then. */
void tessera_job_cancel (TesseraJob *job);
/* Asks the worker to stop, hears nothing of it any more, and gives the reference up. */
void tessera_job_drop (TesseraJob *job);
void tessera_job_unref (TesseraJob *job);
/* For the worker: what to hand to long calls. @begin and @end: the part of the whole job
 * that the call is; one call at a time. @to_keep: of what follows work that keeps the best it
 * has: only a drop stops it, so that what was found is not lost to the stop that was for the
 * search. */
const TesseraProgress *
tessera_job_progress (TesseraJob *job, double begin, double end, gboolean to_keep);

/* Looks for the smallest device under a policy, then under those that come after it. */
void tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind policy);

/* --- what follows a change ---------------------------------------------------------- */

void tessera_document_relight (TesseraDocument *self);
void tessera_document_refresh_facts (TesseraDocument *self);
/* Groups and classes, as the edits that stand make them, then what is told of them. */
void tessera_document_refresh_groups (TesseraDocument *self);
void tessera_document_changed (TesseraDocument *self, guint what);
void tessera_document_refresh_verdict (TesseraDocument *self);
void tessera_document_refresh_paint (TesseraDocument *self);
void tessera_document_refresh_sheets (TesseraDocument *self);
void tessera_document_refresh_world (TesseraDocument *self);
void tessera_document_refresh_comparison (TesseraDocument *self);
void tessera_kept_free (gpointer kept);
/* A sentence of what was done. Takes it over. */
void tessera_document_take_notice (TesseraDocument *self, char *sentence);

/* Makes *@edit about @blocks: (transfer full) (nullable): see
 * tessera_document_edit_selection(). */
void tessera_document_edit_blocks (TesseraDocument *self,
                                   TesseraSelection *blocks,
                                   TesseraEdit *edit,
                                   gboolean by_rule);
/* Counts again what is told of the groups, as they are filtered. */
void tessera_document_refresh_grouping (TesseraDocument *self);
/* What the next plan is compared with. */
void tessera_document_remember_height (TesseraDocument *self);
/* Takes @history over. */
void tessera_document_take_history (TesseraDocument *self, TesseraHistory *history);
/* Writes the edits where they are kept. What others have kept there meanwhile stays, and
 * is taken over. */
void tessera_document_keep_edits (TesseraDocument *self);
/* @read: the job that has read the edits. */
TesseraEditsFile *tessera_edits_file_new (TesseraDocument *self, TesseraJob *read);
void tessera_edits_file_unref (TesseraEditsFile *file); /* NULL is fine, as below */
void tessera_rule_free (TesseraRule *rule);
