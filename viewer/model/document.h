/*
 * The session: what is open, what was made of it, and what the person looks at.
 *
 * No widgets here. Every view reads the fields and hears "changed"; every change goes
 * through a function. Fields are for reading only outside model/. Main thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/size-text.h"
#include "picture/figure.h"
#include "planner/compare.h"
#include "viewer/model/data.h"

#include <gio/gio.h>

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
  TESSERA_CHANGED_LIST = 1 << 14,     /* the list of blocks */
  TESSERA_CHANGED_ALL = (1 << 15) - 1
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
  TESSERA_WORK_SUGGEST, /* what to do */
  TESSERA_WORK_COMPARE, /* the plans of both sides */
  TESSERA_WORK_LIST,    /* blocks, sorted and filtered */
  TESSERA_N_WORKS
} TesseraWork;

/* One of them at work on another thread. */
typedef struct TesseraJob TesseraJob;

typedef enum
{
  TESSERA_SAVE_PICTURE, /* PNG or SVG, as the name ends */
  TESSERA_SAVE_REPORT,
  TESSERA_SAVE_PLAN /* checked once more before */
} TesseraSave;

/* What is selected, on the move: see tessera_document_propose(). */
typedef struct
{
  TesseraLandings *landings; /* NULL: nothing is */
  uint64_t offset_bytes;     /* of the lowest */
  TesseraSelection *pushed;  /* blocks that are in the way there; NULL: it is free */
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
  TesseraSheet *sheets[TESSERA_N_SIDES]; /* NULL: not made (yet) */
  TesseraLayoutKind left_kind;
  TesseraFollowed *left_planned; /* stands on the left instead; NULL: PyTorch does */
  TesseraAxisKind axis_kind;

  GPtrArray *kept;               /* plans: TesseraKept */
  guint n_named;                 /* of them, kept by hand so far */
  TesseraComparison *comparison; /* of the plans on both sides; NULL: not both sides have
                                    one, or it comes a little later */
  TesseraSelection *difference;  /* blocks that lie elsewhere; NULL: none, likewise */
  gboolean show_difference;      /* they are lit */

  TesseraColourKey colour_key;
  gboolean colour_is_chosen; /* else each trace has its usual one */
  gboolean dark;
  TesseraPaint *paint; /* NULL when nothing is open */

  TesseraHistory *history;      /* edits of what is open; NULL: nothing is */
  TesseraEditConflict conflict; /* which of them cannot hold together; or NONE */
  uint64_t former_bytes;        /* peak of the plan before the last change; 0: unknown */
  TesseraProposal proposal;
  GArray *moves; /* TesseraMove: from the plan's former picture to this; or NULL */
  struct TesseraRule *rule; /* of what is selected, once found; or NULL */

  GArray *
      suggestions; /* TesseraSuggestion: changes of the program, a little later; or NULL */
  TesseraNeeds needs; /* 0: not known yet */
  TesseraVerdict verdict;

  uint64_t ceiling_bytes; /* all that PyTorch could have got; 0: not known */
  bool ceiling_is_device; /* ... is the device's memory, else what the driver said */
  double world_bytes;     /* height of the world: all of both layouts and some air */
  TesseraView view;
  uint32_t selected;           /* block that leads the selection, or TESSERA_NONE */
  TesseraSelection *selection; /* all that is selected; NULL: nothing */
  TesseraSelectionFacts facts; /* of two and more; come a little later: of another
                                  selection until then */
  TesseraGrouping *grouping; /* of all blocks that match the query; NULL: not asked for */
  char *query;               /* of the grouping; NULL: none, all blocks */
  char *query_error; /* why the last query is none, one sentence; NULL: it is one */
  GArray *list;      /* of blocks (uint32_t); NULL: not asked for */
  uint32_t hovered;
  TesseraSide hovered_side;
  uint32_t moment;         /* event */
  TesseraMoment described; /* of the moment and the left layout; comes a little later */

  TesseraJob *jobs[TESSERA_N_WORKS]; /* NULL: not at it */
  double fractions[TESSERA_N_WORKS];
  GQueue next_kept;         /* keep.c */
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
/* Makes or makes again the plan, in the background; or a preview of it at once, and then it. */
void tessera_document_plan (TesseraDocument *self, gboolean is_preview);
/* Stops the most recent of the works that run; opening first. */
void tessera_document_cancel (TesseraDocument *self);
gboolean tessera_document_is_busy (TesseraDocument *self);
/* The planner's last news of a job that makes a plan; all 0: none. */
TesseraNews tessera_job_news (TesseraJob *job);
/* Writes a file in the background, one at a time; then says so in notice or error.
 * @stacked: of a picture, one layout above the other. */
void tessera_document_save (TesseraDocument *self,
                            TesseraSave what,
                            gboolean stacked,
                            const char *path);
void tessera_document_take_error (TesseraDocument *self, char *sentence); /* NULL: seen */

void tessera_document_set_strategy (TesseraDocument *self, TesseraStrategy strategy);
/* Whether the plan that is made next has one pool over all streams. */
void tessera_document_set_streams (TesseraDocument *self, TesseraStreams streams);
gboolean tessera_document_has_streams (const TesseraDocument *self); /* several */
void tessera_document_set_left_kind (TesseraDocument *self, TesseraLayoutKind kind);
/* On the left, in place of PyTorch's layout. */
void tessera_document_set_left_plan (TesseraDocument *self, TesseraFollowed *planned);
void tessera_document_set_axis_kind (TesseraDocument *self, TesseraAxisKind kind);
void tessera_document_set_colour_key (TesseraDocument *self, TesseraColourKey key);
void tessera_document_set_dark (TesseraDocument *self, gboolean dark);
/* Colours come a little later, from a worker.
 * One entry of the legend in or out; @alone: it alone, or all again. */
void tessera_document_filter (TesseraDocument *self, size_t entry, gboolean alone);
void tessera_document_show_all (TesseraDocument *self);

/* It alone; TESSERA_NONE: nothing. Of several: below. */
void tessera_document_select (TesseraDocument *self, uint32_t block);
void tessera_document_hover (TesseraDocument *self, TesseraSide side, uint32_t block);
void tessera_document_set_moment (TesseraDocument *self, uint32_t event_index);
/* Of the two blocks beside the largest hole of the moment the one that lives on longest:
 * while it lies there, the hole cannot grow. */
void tessera_document_select_hole_keeper (TesseraDocument *self);
/* The moment of the verdict: the failure, else the peak. */
void tessera_document_reset_moment (TesseraDocument *self);

/* --- moving about: the part of time and address that both canvases show ------------ */

/* Any view is made valid: inside the world, not smaller than what can be drawn. */
void tessera_document_set_view (TesseraDocument *self, const TesseraView *view);
/* @factor_t, @factor_y: > 1 shows less. (@t, @y) keeps its place. */
void tessera_document_zoom (
    TesseraDocument *self, double factor_t, double factor_y, double t, double y);
/* By fractions of what is shown: (1, 0) is a whole page later. */
void tessera_document_pan (TesseraDocument *self, double pages_t, double pages_y);
/* A stretch of time at the height that is shown. */
void tessera_document_show_time (TesseraDocument *self, double t0, double t1);
void tessera_document_fit (TesseraDocument *self);
/* The least movement that shows the block; zooms in where it would be a speck. */
void tessera_document_reveal (TesseraDocument *self, uint32_t block);
/* A moment, and the step that it is in from there to the next one, over the whole width and at its
 * full height; all of a trace without steps. */
void tessera_document_show_step (TesseraDocument *self, uint32_t event_index);

/* --- choosing blocks, one or many -------------------------------------------------- */

/* The document's `selection` is the set, `selected` one block of it that leads: the one
 * that is outlined and told of in full. Whoever changes one changes both here. A new
 * choice gives up a search that is still running. */

/* At once. @lead leads where it is in the selection; else who led, or the largest. */
void tessera_document_select_blocks (TesseraDocument *self,
                                     const uint32_t *blocks,
                                     size_t n_blocks,
                                     TesseraSelectHow how,
                                     uint32_t lead);
/* @selection: (transfer full) (nullable) */
void tessera_document_set_selection (TesseraDocument *self,
                                     TesseraSelection *selection,
                                     uint32_t lead);
/* The block born before or after the one that leads; where none does, the one under the
 * pointer, else the first or last one born in the part that is shown. */
void
tessera_document_select_next (TesseraDocument *self, int direction, TesseraSelectHow how);
size_t tessera_document_n_selected (TesseraDocument *self);

/* All that meet @rect of a side, in time and address. */
void tessera_document_select_in (TesseraDocument *self,
                                 TesseraSide side,
                                 const TesseraView *rect,
                                 TesseraSelectHow how);
void tessera_document_select_alive (TesseraDocument *self,
                                    uint32_t event_index,
                                    TesseraSelectHow how);
void tessera_document_select_all (TesseraDocument *self);
/* The next three search on a worker: the selection changes a moment later.
 * What an edit of the history is about: of those kept apart, both. Nothing changes for a
 * cap, which is about the pool. */
void tessera_document_select_edit (TesseraDocument *self, size_t index);
/* All of a block's group. */
void tessera_document_select_group_of (TesseraDocument *self, uint32_t block);

/* --- blocks by what they are: queries (edits/query.h) ----------------------------- */

/* Filters the groups, on a worker: `grouping` and `query` change a moment later. What is
 * not understood is said in query_error at once, and the groups stay. "" shows all. */
void tessera_document_set_query (TesseraDocument *self, const char *text);
/* Selects what matches, likewise. */
void tessera_document_select_query (TesseraDocument *self, const char *text);
/* Sorts and filters all blocks, on a worker: `list` changes a moment later. */
void tessera_document_list_blocks (TesseraDocument *self,
                                   const TesseraBlockFilter *filter);
/* All like a block: same size, phases, module and stream, of any step. */
void tessera_document_select_similar (TesseraDocument *self, uint32_t block);

/* --- several plans side by side ---------------------------------------------------- */

/* Each plan that was made or read is kept under the name of what it is; a newer one of
 * the same name takes its place, unless it was kept by hand. Any of them can stand on
 * either side; on the right it is the plan that is edited and exported. */

/* One that is kept. */
typedef struct
{
  char *name; /* "free", "stalloc, 2 edits", "night.tsp", "kept 1" */
  TesseraFollowed *followed;
  gint64 made_s;    /* since 1970, UTC */
  gboolean by_hand; /* stays whatever is planned */
} TesseraKept;

/* Of all that are kept, oldest first. Borrowed until the next change. */
const TesseraKept *tessera_document_get_kept (TesseraDocument *self, guint index);
/* What a plan is called; NULL: it is not kept. Borrowed. */
const char *tessera_document_plan_name (TesseraDocument *self,
                                        const TesseraFollowed *followed);
/* Keeps the plan on the right under a name of its own. */
void tessera_document_keep_plan (TesseraDocument *self);
/* Shows one on a side, a moment later. */
void tessera_document_show_kept (TesseraDocument *self, TesseraSide side, guint index);
/* One that stands on a side goes on standing there. */
void tessera_document_forget_kept (TesseraDocument *self, guint index);
/* Lights up the blocks that lie elsewhere on the other side, unless several blocks are
 * selected. */
void tessera_document_set_show_difference (TesseraDocument *self, gboolean show);
/* Selects them. */
void tessera_document_select_difference (TesseraDocument *self);

/* --- what the person changed about the plan, and the planning that follows ---------- */

/* Every change is kept in the background, in the trace or beside it, and planned again: a
 * preview at once, the full plan after it. The plan that was stays until the next is
 * there; where edits conflict it stays altogether. Main thread only. */

/* What the selected blocks are, as a rule where one can be said. */
typedef struct TesseraRule
{
  TesseraSelector selector;
  gboolean is_rule; /* else it lists the blocks */
  char *text;       /* of the selector; never NULL */
} TesseraRule;

/* An edit that is about nothing yet. */
TesseraEdit tessera_edit_of (TesseraEditKind kind);
/* Takes what is in *@edit over and leaves it cleared. Without a name it gets the one that
 * describes it. */
void tessera_document_add_edit (TesseraDocument *self, TesseraEdit *edit);
void tessera_document_undo (TesseraDocument *self);
void tessera_document_redo (TesseraDocument *self);
/* Undoes or redoes until @n_standing edits stand. */
void tessera_document_go_to_edits (TesseraDocument *self, size_t n_standing);
void tessera_document_rename_edit (TesseraDocument *self, size_t index, const char *name);
/* Edits that stand, and all there are: 0 where nothing is open. */
size_t tessera_document_n_standing (TesseraDocument *self);
size_t tessera_document_n_edits (TesseraDocument *self);
/* The plan that is shown is the full one, of all edits that stand. */
gboolean tessera_document_is_plan_current (TesseraDocument *self);
/* Why the plan cannot be exported now: one sentence, static; NULL: it can. */
const char *tessera_document_why_no_export (TesseraDocument *self);

/* Edits as JSON. Those read are added behind the ones that stand, once a worker has found
 * the blocks that they list. */
void tessera_document_save_edits (TesseraDocument *self, const char *path);
void tessera_document_load_edits (TesseraDocument *self, const char *path);

/*
 * tessera_document_edit_selection:
 * @edit: what is to be done; what it is about is not filled in yet
 * @by_rule: whatever else the rule of the selected blocks selects, too; else just them
 *
 * Makes *@edit about what is selected, which a worker finds out, and adds it then. Takes what
 * is in *@edit over and leaves it cleared.
 */
void tessera_document_edit_selection (TesseraDocument *self,
                                      TesseraEdit *edit,
                                      gboolean by_rule);
/* Why this cannot be done to what is selected: one sentence, static; NULL: it can. */
const char *tessera_document_why_no_edit (TesseraDocument *self,
                                          TesseraEditKind kind,
                                          TesseraSplitBy by);
/* Looks for the rule of what is selected; document->rule says it a little later. */
void tessera_document_seek_rule (TesseraDocument *self);

/* --- a place that is proposed for what is selected, until it is pinned or not ------ */

/* Looks for the places where what is selected could lie in the plan; then it is on the
 * move, at the place that it has. */
void tessera_document_propose (TesseraDocument *self);
/* Is it on the move, or are its places being looked for? */
gboolean tessera_document_is_proposing (TesseraDocument *self);
/* To the nearest stop, a free one where one is within @reach_bytes. */
void tessera_document_propose_at (TesseraDocument *self,
                                  int64_t offset_bytes,
                                  uint64_t reach_bytes);
/* To the next stop up (@direction > 0) or down. Begins where nothing is proposed yet. */
void
tessera_document_propose_next (TesseraDocument *self, int direction, gboolean pushing);
/* Pins what is selected with its lowest at @offset_bytes, be it a stop or not: several
 * keep their distances. @by_rule: see tessera_document_edit_selection(). */
void
tessera_document_pin_at (TesseraDocument *self, uint64_t offset_bytes, gboolean by_rule);
/* Makes the edit. At the place it has it is pinned as well. */
void tessera_document_accept_proposal (TesseraDocument *self);
void tessera_document_drop_proposal (TesseraDocument *self);
/* "2.50 GiB, pushes 3 blocks": (transfer full); NULL: nothing is on the move. */
char *tessera_document_describe_proposal (TesseraDocument *self);

/* --- words for what is drawn ------------------------------------------------------ */

/* One way of saying each thing. Macros are in place, as TESSERA_SIZE() is; all other strings
 * are (transfer full). */

#define TESSERA_COUNT(count) /* "33,457" */                                              \
  tessera_format_count ((count), (char[32]){ 0 }, 32)
#define TESSERA_COUNTED(count, noun) /* "1 block", "11,411 blocks" */                    \
  tessera_format_counted ((count), (noun), (char[64]){ 0 })
#define TESSERA_BYTES(bytes) TESSERA_COUNTED ((bytes), "byte")
char *tessera_format_counted (uint64_t count, const char *noun, char text[64]);
/* "33.172 GiB": with as many decimals as tell it from one @step_bytes away. */
char *tessera_describe_height (uint64_t bytes, double step_bytes);
/* The bound that is shown: proven for the full plan on the right, else of the trace. */
uint64_t tessera_document_bound (TesseraDocument *document);
/* Of a plan's height: "= bound" where no layout is lower, "by edits" where those force
 * more than is alive, else how far it is above what is proven: "0.70 % over bound".
 * "= proven bound" and "over proven" where what is proven of the plan is not @bound_bytes,
 * the bound on screen. */
char *tessera_describe_gap (const TesseraPlan *plan, uint64_t bound_bytes);
/* The same of a plan as it is followed: at the fullest length seen, where it is for every
 * length. */
char *tessera_describe_above (const TesseraFollowed *planned, uint64_t bound_bytes);
/* Of planning: "11.21 GiB so far, bound 11.07 GiB (+1.27 %)"; NULL: nothing is known. */
char *tessera_describe_news (const TesseraNews *news);
char *tessera_describe_duration (int64_t ns); /* "1.25 ms" */

const char *tessera_class_name (uint8_t lifetime_class);
const char *tessera_layout_kind_name (TesseraLayoutKind kind); /* "as recorded" ... */

/* "step 1, forward", or "before the first step". */
char *tessera_describe_moment (TesseraData *data, uint32_t event_index);
/* What parts, legend and the largest blocks are of: "the failure", "the peak of reserved",
 * "the later peak of reserved" (that comes back after a start with full caches), "event
 * 1,234". */
char *tessera_document_describe_moment (TesseraDocument *document);
/* "step 1, forward": where a block was born; of an unknown moment "at the start". */
char *tessera_describe_birth (TesseraData *data, uint32_t block);
/* "7 events, 1.2 ms", "to the end". */
char *tessera_describe_life (TesseraData *data, uint32_t block);
/* "0x7f... ", "8.37 GiB into the pool". */
char *tessera_describe_place (const TesseraSheet *sheet, uint32_t block);
/* Where the file says that it lay: "0x7f0280400000"; a request that failed nowhere. */
char *tessera_describe_address (TesseraData *data, uint32_t block);
/* "forward -> backward" */
char *tessera_describe_phases (TesseraData *data, uint32_t block);
/* What it is, and which module or line asked for it; "" where the file does not tell. */
char *tessera_describe_owner (TesseraData *data, TesseraBy by, uint32_t block);
char *tessera_describe_group (TesseraData *data, uint32_t block);
/* "0 (default)", as the legend numbers it */
char *tessera_describe_stream (uint32_t stream);
/* "finetune.py:33", "" when unknown. */
char *tessera_describe_frame_place (const TesseraTrace *trace, uint32_t frame);

typedef enum
{
  TESSERA_FACT_CATEGORY,
  TESSERA_FACT_MODULE,
  TESSERA_FACT_LINE,
  TESSERA_FACT_CLASS,
  TESSERA_FACT_LIVES,
  TESSERA_FACT_BORN,
  TESSERA_FACT_DIES,
  TESSERA_FACT_PHASES,
  TESSERA_FACT_STREAM,
  TESSERA_FACT_LEFT, /* where it lies, as is the next */
  TESSERA_FACT_RIGHT,
  TESSERA_FACT_FROM, /* under a plan across streams: who had its memory before, and who */
  TESSERA_FACT_TO,   /* ... gets it, and whether that waits */
  TESSERA_FACT_GROUP,
  TESSERA_N_FACTS
} TesseraFactKind;

/* What is told of a block: its name, static, and the fact; NULL or "": it is not known.
 * (transfer full) */
char *tessera_describe_fact (TesseraDocument *document,
                             uint32_t block,
                             TesseraFactKind kind,
                             const char **out_name);

/* --- what is selected, as text to take along --------------------------------------- */

/* Of one block all that the panel tells, a line each, with its whole stack. Of several a
 * table with tabs, the first thousand of them, which is said then. NULL: nothing is
 * selected. (transfer full) */
char *tessera_copy_text (TesseraDocument *document);

/* --- edits by hand: one table for actions, menus, keys and help -------------------- */

typedef struct
{
  const char *action; /* of the window, without "win." */
  const char *title;  /* ends in … where a value is asked for */
  const char *key;    /* accelerator */
  TesseraEditKind kind;
  TesseraSplitBy by;
  gboolean asks;   /* for a value, in the edit bar */
  gboolean begins; /* a section of the menu */
} TesseraEditCommand;

const TesseraEditCommand *tessera_edit_commands (size_t *out_n_commands);
/* The same as a menu of the window's actions, behind undo and redo. What cannot be done now
 * says why. (transfer full) */
GMenuModel *tessera_edit_menu_model (TesseraDocument *document);
