/*
 * The session: what is open, what was made of it, and what the person looks at.
 *
 * No widgets here. Every view reads the fields and hears "changed"; every change goes
 * through a function. Fields are for reading only outside document*.c. Main thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gio/gio.h>

#include "planner/compare.h"
#include "viewer/document/grouping.h"
#include "viewer/document/job.h"
#include "viewer/document/moment.h"
#include "viewer/document/select/selection-facts.h"
#include "viewer/canvas/paint.h"
#include "viewer/document/edits/landings.h"
#include "viewer/document/edits/moves.h"
#include "viewer/document/sheet.h"

/* What a "changed" signal is about: its one argument, a guint. */
enum
{
  TESSERA_CHANGED_TRACE = 1 << 0,     /* another file, or none: all is new */
  TESSERA_CHANGED_SHEETS = 1 << 1,    /* a layout on either side, or the axis */
  TESSERA_CHANGED_VIEW = 1 << 2,      /* the part that is shown */
  TESSERA_CHANGED_SELECTION = 1 << 3, /* the selected blocks */
  TESSERA_CHANGED_MOMENT = 1 << 4,    /* the chosen moment, what is told of it */
  TESSERA_CHANGED_COLOUR = 1 << 5,    /* colours, dark or light, legend filter */
  TESSERA_CHANGED_VERDICT = 1 << 6,   /* verdict or needs */
  TESSERA_CHANGED_WORK = 1 << 7,      /* what is being worked on, and how far */
  TESSERA_CHANGED_HOVER = 1 << 8,     /* what is under the pointer */
  TESSERA_CHANGED_EDITS = 1 << 9,     /* edits, how to plan, which edits conflict */
  TESSERA_CHANGED_FACTS = 1 << 10,    /* what is told of the selection */
  TESSERA_CHANGED_PROPOSAL = 1 << 11, /* what is on the move; the selection's rule */
  TESSERA_CHANGED_GROUPS = 1 << 12,   /* groups and classes of blocks (data), the query
                                         that groups are filtered by */
  TESSERA_CHANGED_PLANS = 1 << 13,    /* which are kept, how those on both sides differ */
  TESSERA_CHANGED_ALL = (1 << 14) - 1
};

typedef enum
{
  TESSERA_SIDE_LEFT, /* PyTorch: recorded or simulated; or another plan */
  TESSERA_SIDE_RIGHT /* the plan */
} TesseraSide;
#define TESSERA_N_SIDES 2

typedef enum
{
  TESSERA_WORK_LOAD,
  TESSERA_WORK_SHEETS, /* simulating, changing the axis */
  TESSERA_WORK_PLAN,
  TESSERA_WORK_NEEDS, /* the smallest devices */
  TESSERA_WORK_SAVE,
  TESSERA_WORK_MOMENT,  /* too short to be shown, as what follows */
  TESSERA_WORK_PAINT,   /* colours */
  TESSERA_WORK_SELECT,  /* looking for blocks */
  TESSERA_WORK_FACTS,   /* what is told of the selection */
  TESSERA_WORK_RULE,    /* what is selected, as a rule */
  TESSERA_WORK_EDIT,    /* the same, for an edit of it */
  TESSERA_WORK_KEEP,    /* edits to where they are kept */
  TESSERA_WORK_PLACES,  /* where what is selected could lie */
  TESSERA_WORK_GROUPS,  /* what is told of the groups */
  TESSERA_WORK_REGROUP, /* groups and classes, as the edits make them */
  TESSERA_WORK_COMPARE, /* the plans of both sides */
  TESSERA_N_WORKS
} TesseraWork;

typedef enum
{
  TESSERA_SAVE_PICTURE, /* PNG or SVG, as the name ends */
  TESSERA_SAVE_REPORT,
  TESSERA_SAVE_PLAN /* checked once more before */
} TesseraSave;

/* What is selected, on the move: see document-propose.h. */
typedef struct
{
  TesseraLandings *landings; /* NULL: nothing is */
  uint64_t offset_bytes;     /* of the lowest */
  GArray *pushed;            /* uint32_t: blocks that are in the way there */
} TesseraProposal;

#define TESSERA_TYPE_DOCUMENT (tessera_document_get_type ())
G_DECLARE_FINAL_TYPE (TesseraDocument, tessera_document, TESSERA, DOCUMENT, GObject)

struct _TesseraDocument
{
  GObject parent_instance;

  char *path;        /* of what is open or being opened; NULL: nothing */
  TesseraData *data; /* with groups and classes as the edits make them, a little later;
                        NULL: nothing open (yet) */
  TesseraFollowed *planned;
  gboolean is_plan_of_edits;             /* made with those that stood when it came */
  TesseraSheet *sheets[TESSERA_N_SIDES]; /* NULL: not made (yet) */
  TesseraLayoutKind left_kind;
  TesseraFollowed *left_planned; /* stands on the left instead; NULL: PyTorch does */
  TesseraAxisKind axis_kind;

  GPtrArray *kept;               /* plans: document-plans.h */
  guint n_named;                 /* of them, kept by hand so far */
  TesseraComparison *comparison; /* of the plans on both sides; NULL: not both sides have
                                    one, or it comes a little later */
  TesseraSelection *difference;  /* blocks that lie elsewhere; NULL: none, likewise */
  gboolean show_difference;      /* they are lit */

  TesseraColourKey colour_key;
  gboolean dark;
  TesseraPaint *paint; /* NULL when nothing is open */

  TesseraHistory *history;      /* edits of what is open; NULL: nothing is */
  TesseraEditConflict conflict; /* which of them cannot hold together; or NONE */
  uint64_t former_bytes;        /* peak of the plan before the last change; 0: unknown */
  TesseraProposal proposal;
  TesseraMoves *moves;      /* from the plan's former picture to this; or NULL */
  struct TesseraRule *rule; /* of what is selected, once found; or NULL */

  TesseraNeeds needs; /* 0: not known yet */
  TesseraVerdict verdict;

  uint64_t ceiling_bytes;     /* all that PyTorch could have got; 0: not known */
  gboolean ceiling_is_device; /* ... is the device's memory, else what the driver said */
  double world_bytes;         /* height of the world: all of both layouts and some air */
  TesseraView view;
  uint32_t selected;           /* block that leads the selection, or TESSERA_NONE */
  TesseraSelection *selection; /* all that is selected; NULL: nothing */
  TesseraSelectionFacts facts; /* of two and more; come a little later: of another
                                  selection until then */
  TesseraGrouping *grouping; /* of all blocks that match the query; NULL: not asked for */
  char *query;               /* of the grouping; NULL: none, all blocks */
  char *query_error; /* why the last query is none, one sentence; NULL: it is one */
  uint32_t hovered;
  TesseraSide hovered_side;
  uint32_t moment;    /* event */
  TesseraMoment told; /* of the moment and the left layout; comes a little later */

  TesseraJob *jobs[TESSERA_N_WORKS]; /* NULL: not at it */
  double fractions[TESSERA_N_WORKS];
  GQueue next_kept;         /* document-keep.c */
  GFileMonitor *watched[2]; /* what is open, and the edits beside it; NULL: nothing */
  struct TesseraEditsFile *edits_file; /* NULL: nothing is kept */
  char *error;  /* the last thing that went wrong, one sentence; NULL: nothing */
  char *notice; /* the last thing that was done, one sentence; NULL: nothing */
  gboolean plan_automatically; /* as soon as a trace is there */
  TesseraPlanRequest request;  /* how to plan */
};

TesseraDocument *tessera_document_new (void);

/* Opens in the background. What was open stays until the new one is there. A plan's
 * file is shown over the trace that is open. */
void tessera_document_open (TesseraDocument *self, const char *path);
/* Opens the same file again, another device of it. */
void tessera_document_set_device (TesseraDocument *self, uint32_t device);
/* Shows a plan from a file in place of the one there is. */
void tessera_document_open_plan (TesseraDocument *self, const char *path);
void tessera_document_close (TesseraDocument *self);
/* Makes or makes again the plan, in the background. */
void tessera_document_plan (TesseraDocument *self);
/* The same, with a preview of it at once. */
void tessera_document_plan_at_once (TesseraDocument *self);
/* Plans on from the plan that stands, as `tessera plan --resume` does: never higher, and
 * what comes of it is the same as there, as often as it is done. */
void tessera_document_go_on (TesseraDocument *self);
/* NULL: it can be done. Else the reason, a sentence. */
const char *tessera_document_why_no_going_on (TesseraDocument *self);
/* Stops the most recent of the works that run; opening first. */
void tessera_document_cancel (TesseraDocument *self);
gboolean tessera_document_is_busy (TesseraDocument *self);
/* Writes a file in the background, one at a time; then says so in notice or error.
 * @stacked: of a picture, one layout above the other. */
void tessera_document_save (TesseraDocument *self,
                            TesseraSave what,
                            gboolean stacked,
                            const char *path);
void tessera_document_take_error (TesseraDocument *self, char *sentence); /* NULL: seen */

void tessera_document_set_strategy (TesseraDocument *self, TesseraStrategy strategy);
void tessera_document_set_left_kind (TesseraDocument *self, TesseraLayoutKind kind);
/* On the left, in place of PyTorch's layout. */
void tessera_document_set_left_plan (TesseraDocument *self, TesseraFollowed *planned);
/* One that was made before, as the plan. */
void tessera_document_show_plan (TesseraDocument *self, TesseraFollowed *planned);
void tessera_document_set_axis_kind (TesseraDocument *self, TesseraAxisKind kind);
void tessera_document_set_colour_key (TesseraDocument *self, TesseraColourKey key);
void tessera_document_set_dark (TesseraDocument *self, gboolean dark);
/* Colours come a little later, from a worker.
 * One entry of the legend in or out; @alone: it alone, or all again. */
void tessera_document_filter (TesseraDocument *self, size_t entry, gboolean alone);
void tessera_document_show_all (TesseraDocument *self);

/* It alone; TESSERA_NONE: nothing. Of several: document-select.h. */
void tessera_document_select (TesseraDocument *self, uint32_t block);
void tessera_document_hover (TesseraDocument *self, TesseraSide side, uint32_t block);
void tessera_document_set_moment (TesseraDocument *self, uint32_t event_index);
/* Of the two blocks beside the largest hole of the moment the one that lives on longest:
 * while it lies there, the hole cannot grow. */
void tessera_document_select_hole_keeper (TesseraDocument *self);
/* The moment of the verdict: the failure, else the peak. */
void tessera_document_reset_moment (TesseraDocument *self);
/* The block born before or after the selected one; where none is, the one under the
 * pointer, else the first or last one born in the part that is shown. */
void tessera_document_select_next (TesseraDocument *self, int direction);
/* For document-*.c. */
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
