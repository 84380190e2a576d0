/*
 * What a session is made of: a trace as it was read, layouts, plans, sets of blocks.
 *
 * Made by workers, shared between threads by reference counting, never changed once it is
 * there. No widgets, and nothing of the session itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/suggestions.h"
#include "db/plan.h"
#include "edits/edits.h"
#include "picture/palette.h"
#include "picture/scene.h"
#include "planner/edit.h"
#include "planner/groups.h"
#include "planner/lengths.h"
#include "planner/planner.h"
#include "simulator/simulate.h"
#include "simulator/verdict.h"

#include <glib.h>

/* The two functions of a type that is shared by counting references: NULL is fine to
 * both. */
#define TESSERA_DEFINE_SHARED(Type, name, clear)                                         \
  Type *name##_ref (Type *shared)                                                        \
  {                                                                                      \
    return shared != NULL ? g_atomic_rc_box_acquire (shared) : NULL;                     \
  }                                                                                      \
  void name##_unref (Type *shared)                                                       \
  {                                                                                      \
    if (shared != NULL)                                                                  \
      g_atomic_rc_box_release_full (shared, clear);                                      \
  }

/* --- what a trace file became: events, blocks, structure, and the layouts made from them */

/* Shared between the main thread and workers by reference counting; what is in it never
 * changes once it is there. Axes and layouts are made when first asked for. Edits of
 * groups and classes make another of it, which has blocks and groups of its own and all
 * else in common with the one that it comes from. */

#define TESSERA_N_AXES 3
#define TESSERA_N_CLASSES 5 /* of TesseraClass, and 0: not known */
#define TESSERA_N_LAYOUTS 3 /* recorded, native, expandable: a plan's is its own */

typedef struct TesseraData
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraGroup *groups;
  size_t n_groups;
  TesseraRecordedPool pool;   /* of the plan that the recorded run followed */
  TesseraLayoutKind own_kind; /* as recorded; native where no address was recorded */
  uint64_t bound_bytes;
  uint32_t bound_index; /* first event of it */
  TesseraLeak leak;
  TesseraLaws *laws;        /* made when first planned with: tessera_data_get_laws() */
  TesseraWhose whose;       /* of the blocks as analysed, without a layout */
  char *filling;            /* of tessera_describe_filling() */
  TesseraError rules_error; /* why the trace's own rules are left aside, or "" */

  /* private */
  struct TesseraData *origin; /* that edits made this from; NULL: it is as analysed */
  GMutex lock;
  TesseraAxis *axes[TESSERA_N_AXES];
  TesseraLayout *layouts[TESSERA_N_LAYOUTS];
} TesseraData;

/* Reads a file, and finds its blocks. @device: which of the file, or TESSERA_NONE: the
 * one with most events. @error is filled. */
TesseraStatus tessera_data_read (const char *path,
                                 uint32_t device,
                                 const TesseraProgress *progress,
                                 TesseraError *error,
                                 TesseraData **out_data);
/* Finds steps, phases, groups and the bound, once, before anybody else asks for them.
 * Axes and layouts of policies other than a plan need none of that and may be made on
 * another thread meanwhile. */
void tessera_data_analyse (TesseraData *data);
/* The same with the groups and classes that blocks have under edits. @data may have been
 * made so itself: edits are applied to what it comes from. The very data, as analysed,
 * where none of the edits is about groups. TESSERA_REFUSED: an edit can't be applied.
 * @edits: (array length=n_edits): those that stand
 * @out_data: (transfer full) */
TesseraStatus tessera_data_regroup (TesseraData *data,
                                    const TesseraEdit *edits,
                                    size_t n_edits,
                                    TesseraError *error,
                                    TesseraData **out_data);
/* The data as analysed: what plans are made of, which apply edits themselves. (transfer
 * none) */
TesseraData *tessera_data_origin (TesseraData *data);
/* Whether any of the edits is about groups or classes. */
gboolean tessera_edits_are_of_groups (const TesseraEdit *edits, size_t n_edits);
TesseraData *tessera_data_ref (TesseraData *data);
void tessera_data_unref (TesseraData *data);

/* Made on first use, borrowed, valid as long as @data. Any thread. */
const TesseraAxis *tessera_data_get_axis (TesseraData *data, TesseraAxisKind kind);
const TesseraLaws *tessera_data_get_laws (TesseraData *data);
TesseraStatus tessera_data_get_layout (TesseraData *data,
                                       TesseraLayoutKind kind,
                                       const TesseraProgress *progress,
                                       TesseraError *error,
                                       const TesseraLayout **out_layout);

/* The layout of own_kind, which whoever opened the file has asked for first. */
const TesseraLayout *tessera_data_own_layout (TesseraData *data);

/* Every failure leaves with a sentence, also where a layer below had none to give.
 * @doing: "reading", "planning" ... */
TesseraStatus
tessera_explain (TesseraStatus status, TesseraError *error, const char *doing);

/* What is said elsewhere behind a colon stands alone from now on. */
void tessera_make_sentence (TesseraError *error);

/* --- plans that were made or read, and how the trace runs when it follows them ----- */

/* What a plan is to be. */
typedef struct
{
  TesseraStrategy strategy;
  TesseraStreams streams;
  gboolean is_preview; /* made at once, to be looked at until the full plan is there */
  uint32_t generation; /* of the session's edits: which stood */
} TesseraPlanRequest;

/* A plan and how the trace runs when it is followed, by length where it is for every length, as
 * a run does. Shared like TesseraData. */
typedef struct
{
  TesseraData *data;
  TesseraPlan *plan;
  TesseraLayout *layout;
  uint64_t height_bytes; /* the plan's; for every length: of a step of the fullest seen */
  uint64_t bound_bytes;  /* that no layout of it is below, as far as is proven */
  uint64_t length;       /* of that step; 0: the plan is of what was recorded alone */
  char *why_no_lengths;  /* ... though lengths vary: a sentence, or NULL */
  TesseraPlanRequest request; /* all zero: the plan is from a file */
  double seconds;             /* that planning took; 0: it is from a file */
} TesseraFollowed;

/* Without plan and layout yet; the other has the trace follow its plan. */
TesseraFollowed *tessera_followed_new (TesseraData *data);
TesseraStatus tessera_followed_run (TesseraFollowed *planned,
                                    const TesseraFollowOptions *options,
                                    TesseraError *error);
/* A plan from a file, checked against the trace it is to serve. */
TesseraStatus tessera_followed_load (TesseraData *data,
                                     const char *path,
                                     const TesseraProgress *progress,
                                     TesseraError *error,
                                     TesseraFollowed **out_planned);
/* What the run takes at the most: the pool, and beside it what the plan leaves to the
 * dynamic allocator (*out_beside_bytes). */
uint64_t tessera_followed_peak_bytes (const TesseraFollowed *planned,
                                      uint64_t *out_beside_bytes);
TesseraFollowed *tessera_followed_ref (TesseraFollowed *planned);
void tessera_followed_unref (TesseraFollowed *planned);

/* --- layouts ready to be drawn ----------------------------------------------------- */

/* One layout on one axis, ready to draw. Shared like TesseraData. */
typedef struct
{
  TesseraData *data;
  TesseraFollowed *planned; /* NULL but for a plan's sheet */
  const TesseraLayout *layout;
  const TesseraAxis *axis;
  TesseraScene *scene;
} TesseraSheet;

/* @planned: (nullable): its layout, else the one of @kind. */
TesseraStatus tessera_sheet_new (TesseraData *data,
                                 TesseraFollowed *planned,
                                 TesseraLayoutKind kind,
                                 TesseraAxisKind axis_kind,
                                 const TesseraProgress *progress,
                                 TesseraError *error,
                                 TesseraSheet **out_sheet);
TesseraSheet *tessera_sheet_ref (TesseraSheet *sheet);
void tessera_sheet_unref (TesseraSheet *sheet);
/* Where a moment lies on the sheet's axis, 0..1. */
double tessera_sheet_t_of (const TesseraSheet *sheet, uint32_t event_index);

/* --- a set of blocks: what is selected --------------------------------------------- */

/* Never empty: no selection is NULL. Shared between threads by reference counting, never
 * changed. */

typedef struct
{
  uint32_t *blocks; /* ascending, each once */
  size_t n_blocks;  /* > 0 */
  uint8_t *is_in;   /* [n_all]: 0 or 1 */
  size_t n_all;     /* blocks that there are */
} TesseraSelection;

/* How what is found joins what is selected. */
typedef enum
{
  TESSERA_SELECT_ONLY, /* takes its place */
  TESSERA_SELECT_MORE, /* is added to it */
  TESSERA_SELECT_LESS, /* is taken out of it */
  TESSERA_SELECT_TURN  /* is added where it is not in it, else taken out */
} TesseraSelectHow;

/* @is_in: (array length=n_all) (transfer full). NULL: there is none in it. */
TesseraSelection *tessera_selection_new (size_t n_all, uint8_t *is_in);
/* Blocks in any order, also several times; those beyond @n_all are left out. */
TesseraSelection *
tessera_selection_of_blocks (size_t n_all, const uint32_t *blocks, size_t n_blocks);
/* Either may be NULL. (transfer full) */
TesseraSelection *tessera_selection_join (TesseraSelection *selection,
                                          TesseraSelection *found,
                                          TesseraSelectHow how);
gboolean tessera_selection_has (const TesseraSelection *selection, uint32_t block);
gboolean tessera_selection_equals (const TesseraSelection *a, const TesseraSelection *b);
TesseraSelection *tessera_selection_ref (TesseraSelection *selection);
void tessera_selection_unref (TesseraSelection *selection);

/* --- what several blocks have in common, in words ---------------------------------- */

typedef enum
{
  TESSERA_COMMON_AT_PEAK, /* block bytes alive at the trace's peak */
  TESSERA_COMMON_AT_ONCE, /* at the most, and the first event of it */
  TESSERA_COMMON_CLASSES,
  TESSERA_COMMON_PHASES, /* of birth and death, as the next two the most common first */
  TESSERA_COMMON_SIZES,
  TESSERA_COMMON_GROUPS,
  TESSERA_COMMON_STEPS, /* of birth */
  TESSERA_COMMON_LIVES, /* from the shortest to the longest */
  TESSERA_COMMON_STREAMS,
  TESSERA_N_COMMON
} TesseraCommon;

typedef struct
{
  TesseraSelection *selection; /* of which; owned */
  uint64_t size_bytes;         /* asked for, of all */
  char *texts[TESSERA_N_COMMON];
} TesseraSelectionFacts;

/* Sorts them several times: for workers. @out_facts was clear. */
void tessera_selection_facts (const TesseraData *data,
                              TesseraSelection *selection,
                              TesseraSelectionFacts *out_facts);
void tessera_selection_facts_clear (TesseraSelectionFacts *facts);

/* --- colours of the drawing --------------------------------------------------------- */

/* Colours of all blocks. Shared between threads by reference counting, never changed. */
typedef struct TesseraPaint
{
  TesseraData *data;
  struct TesseraPaint *whole; /* NULL, or the one that owns the colouring and shows all */
  TesseraColouring *colouring;
  uint8_t *shown;         /* [n_blocks], or NULL: all; shared */
  uint8_t *shown_entries; /* [n_entries] */
  TesseraSelection *lit;  /* the others are dimmed; NULL: all are lit */
  gboolean dark;
  TesseraInk ink;
} TesseraPaint;

/* Everything shown and lit. */
TesseraPaint *tessera_paint_new (TesseraData *data, TesseraColourKey key, gboolean dark);
/* The same with some legend entries left out.
 * @shown_entries: (array): for each entry, whether it is shown. */
TesseraPaint *tessera_paint_filter (TesseraPaint *paint, const uint8_t *shown_entries);
/* The same with but @selection lit; of one block or NULL: all are. Costs nothing that
 * grows with the blocks. */
TesseraPaint *tessera_paint_light (TesseraPaint *paint, TesseraSelection *selection);
TesseraPaint *tessera_paint_ref (TesseraPaint *paint);
void tessera_paint_unref (TesseraPaint *paint);

/* --- what is to be told of one moment of a layout: its parts, and its largest blocks */

#define TESSERA_N_LARGEST 12

/* Blocks of one size, allocated at one place in one phase, alive at one moment. */
typedef struct
{
  uint32_t block; /* the oldest of them */
  uint32_t n_blocks;
} TesseraAlike;

typedef struct
{
  TesseraParts parts; /* with the event it is about */
  TesseraAlike largest[TESSERA_N_LARGEST];
  size_t n_largest;
  const TesseraColouring *colouring; /* that live_bytes is of; never looked into */
  uint64_t live_bytes[TESSERA_MAX_LEGEND_ENTRIES]; /* by entry of the legend */
} TesseraMoment;

/* Looks at every block born so far: for workers. */
void tessera_moment_at (const TesseraData *data,
                        const TesseraLayout *layout,
                        const TesseraPaint *paint,
                        uint32_t event_index,
                        TesseraMoment *out_moment);

/* The largest blocks live at an event of @layout in at most @n rows of those that are alike,
 * largest first, of equal sizes the oldest first. Returns: how many rows there are. */
size_t tessera_largest_blocks (const TesseraBlocks *blocks,
                               const TesseraLayout *layout,
                               uint32_t event_index,
                               size_t n,
                               TesseraAlike *out_rows);

/* --- blocks by lifetime class and group, with what each is in numbers: what the tree of */

/* groups shows. All blocks, or those that a search left.
 *
 * Shared between threads by reference counting, never changed. */

typedef struct
{
  uint64_t n_blocks;
  uint64_t size_bytes;    /* asked for, of all */
  uint64_t peak_bytes;    /* block bytes alive at the trace's peak */
  uint64_t height_bytes;  /* of a whole group: of its local layout; else block bytes alive
                             at once, at the most */
  double filled;          /* time-memory product: share of height x time in use, 0..1 */
  uint8_t lifetime_class; /* 0: its blocks are of several */
  gboolean is_whole;      /* no block of it was left out */
} TesseraGroupRow;

/* A place is a group, or behind all groups the blocks of a class that are in none. */
typedef struct
{
  TesseraData *data;
  size_t n_places;
  TesseraGroupRow *rows; /* of the places, then of each class: of all its places */
  uint32_t *begin;       /* [n_places + 1] into blocks */
  uint32_t *blocks;      /* by place, then by birth */
} TesseraGrouping;

/* @is_in: (nullable) (array): a byte for each block: those that count. For workers. */
TesseraGrouping *tessera_grouping_new (TesseraData *data, const uint8_t *is_in);
TesseraGrouping *tessera_grouping_ref (TesseraGrouping *grouping);
void tessera_grouping_unref (TesseraGrouping *grouping);
/* Of any block of @data. */
uint32_t tessera_place_of (const TesseraData *data, uint32_t block);
/* Of a place: "forward -> backward, step 1", "in no group". */
const char *tessera_place_name (const TesseraData *data, uint32_t place);
/* Why its blocks are together, in a few words. */
const char *tessera_place_reason (const TesseraData *data, uint32_t place);

/* --- the blocks as a list: sorted and filtered ------------------------------------ */

typedef enum
{
  TESSERA_COLUMN_BLOCK, /* by birth */
  TESSERA_COLUMN_SIZE,
  TESSERA_COLUMN_LIFE,
  TESSERA_COLUMN_CLASS,
  TESSERA_COLUMN_PHASES,
  TESSERA_COLUMN_SOURCE,
  TESSERA_COLUMN_GROUP,
  TESSERA_COLUMN_ADDRESS,
  TESSERA_N_COLUMNS
} TesseraColumn;

typedef struct
{
  TesseraColumn column; /* to sort by; equals stay in order of birth */
  gboolean down;
  const char *text; /* (nullable): in class, phases, group or any line of the stack,
                       without regard to case; "": all */
  uint64_t least_bytes, most_bytes; /* inclusive */
} TesseraBlockFilter;

typedef uint64_t (*TesseraKeyFunc) (gconstpointer user, uint32_t index);

/* By the keys of @indices; equals stay in the order in which they came, whichever way. */
void tessera_sort_indices (uint32_t *indices,
                           uint32_t n,
                           TesseraKeyFunc key_of,
                           gconstpointer user,
                           gboolean down);

/* Blocks (uint32_t), never changed from then on. For workers. */
GArray *tessera_block_list_new (const TesseraData *data,
                                const TesseraBlockFilter *filter);
/* Where a block is in the list, or G_MAXUINT. */
guint tessera_block_list_find (const GArray *list, uint32_t block);

/* --- what lies elsewhere in the next picture: blocks that the eye can follow on their way */

/* The most that are drawn on their way: more than an eye follows, and a frame's time. */
#define TESSERA_MOST_MOVES 3000

typedef struct
{
  uint32_t block;
  TesseraView to;
  double from_y0; /* bytes: where its bottom was */
} TesseraMove;

/* TesseraMove, largest area first; never changed. Looks at every block: for workers. */
GArray *tessera_moves_new (const TesseraSheet *from, const TesseraSheet *to);

/* --- where blocks could lie in a plan instead: places for them to be pinned at ----- */

/* The blocks that are moved keep their distances; their places are told by the offset of
 * the lowest. What shares their slots in other steps moves along. A place is free when
 * nothing that does not move lies there while any of them lives; at any other it pushes
 * what lies there. Stops are the places worth resting at: right on top of a block or
 * right below one, and the bottom of the pool. */

typedef struct
{
  uint32_t block;
  int64_t low, high; /* it is in the way of the offsets between, without these two */
} TesseraObstacle;

typedef struct
{
  uint64_t offset_bytes;
  gboolean is_free;
} TesseraStop;

typedef struct
{
  uint32_t *blocks;         /* that were chosen and lie in the pool, ascending */
  uint64_t *distance_bytes; /* of each from the lowest */
  size_t n_blocks, n_all;   /* n_all: of the trace */
  uint64_t pool_addr;
  uint64_t base_bytes; /* offset of the lowest now */
  GArray *obstacles;   /* TesseraObstacle, by low */
  GArray *stops;       /* TesseraStop, ascending, each once */
} TesseraLandings;

/* @chosen: ascending. Looks at every block: for workers. TESSERA_REFUSED: none of them
 * lies in the pool. */
TesseraStatus tessera_landings_new (TesseraFollowed *planned,
                                    const uint32_t *chosen,
                                    size_t n_chosen,
                                    const TesseraProgress *progress,
                                    TesseraError *error,
                                    TesseraLandings **out_landings);
void tessera_landings_free (TesseraLandings *landings); /* NULL is fine */
/* The blocks that are in the way: (transfer full); NULL: none. */
TesseraSelection *tessera_landings_pushed (const TesseraLandings *landings,
                                           uint64_t offset_bytes);
