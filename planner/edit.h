/*
 * Edits: what a person changed about how blocks are grouped and placed.
 *
 * An edit is data: what it is about is said by a selector, as a rule where one can be
 * said (module, phase, size, ordinal ...), so that the same edit can be applied to
 * tomorrow's trace; else by a list of blocks of one trace. Edits are applied in the order
 * of the list; those undone are skipped. JSON, history and storage are edits/'s business.
 *
 * What an edit does:
 *
 * - merge: the groups of all that @what selects become one, named @group.
 * - split: each group that @what touches is split by @by; names get a suffix.
 * - group: what is selected becomes a group of its own, named @group.
 * - move: what is selected joins the group @group, which exists.
 * - pin: offset_bytes of the selected. @at is the offset of the lowest of them; the
 *   others keep the distances that they have in the plan the pin was made from (@shape).
 * - together: the selected keep fixed distances from each other, as laid out by
 *   themselves, wherever the planner puts them.
 * - apart: what @what selects and what @with selects never share an address; without
 *   @with no two of @what do.
 * - dynamic: the selected get no slot: the dynamic allocator serves them.
 * - class: the selected are of @lifetime_class from here on.
 * - cap: the pool is at most @at bytes. What does not fit gets no slot, the least bytes x
 *   lifetime first.
 *
 * Groups shape the layout under the strategy stalloc (planner.h); pin, together,
 * apart, dynamic, class and cap hold under all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/structure.h"

typedef enum
{
  TESSERA_EDIT_MERGE = 1,
  TESSERA_EDIT_SPLIT,
  TESSERA_EDIT_GROUP,
  TESSERA_EDIT_MOVE,
  TESSERA_EDIT_PIN,
  TESSERA_EDIT_TOGETHER,
  TESSERA_EDIT_APART,
  TESSERA_EDIT_DYNAMIC,
  TESSERA_EDIT_CLASS,
  TESSERA_EDIT_CAP
} TesseraEditKind;

typedef enum
{
  TESSERA_SPLIT_PHASE = 1, /* of birth */
  TESSERA_SPLIT_SIZE,
  TESSERA_SPLIT_MODULE,
  TESSERA_SPLIT_STEP,
  TESSERA_SPLIT_AT /* born before the event @at, or not */
} TesseraSplitBy;

/*
 * What a block that was listed by hand is called in every trace of one program: an index
 * means a block of one trace. Its size, the phase and the step that it was born in and its
 * ordinal among its like mean it in tomorrow's trace, too, where another index may lie
 * before it.
 */
typedef struct
{
  uint64_t size_bytes; /* asked for */
  const char *phase;   /* interned: equal names are one pointer; NULL: born in none */
  uint32_t step;       /* of the trace, from 0; TESSERA_NONE: born in none */
  uint32_t ordinal;    /* see tessera_block_ordinals */
} TesseraBlockName;

/* Made once and never changed: copies of a selector share them (g_atomic_rc_box). */
typedef struct
{
  size_t n_names;
  TesseraBlockName names[];
} TesseraBlockNames;

/* All conditions that are set have to hold. All zero (see tessera_selector_init): every
 * block. Texts are compared whole, "*" stands for any run of characters. Strings and
 * blocks are owned by the selector. */
typedef struct
{
  uint32_t *blocks; /* indices in planner order, ascending; NULL: no condition */
  size_t n_blocks;
  TesseraBlockNames *names;         /* of @blocks; NULL: nobody knows. No condition */
  uint64_t least_bytes, most_bytes; /* size_bytes; most 0: no condition */
  uint32_t least_life, most_life;   /* events from birth to death; most 0: none */
  char *phase;      /* of birth: name of the innermost or an enclosing one */
  char *died_phase; /* of death */
  char *module;     /* path of the innermost module range of birth; in a trace without
                       modules the file of the stack's innermost frame called forward */
  char *source; /* a frame of its stack: "file.py:123", "file.py" or a function's name */
  char *group;  /* name of its group, as edits so far have made it */
  int64_t step; /* number of the step of birth as shown; -1: no condition */
  int32_t stream;         /* -1: no condition */
  uint32_t ordinal;       /* see tessera_block_ordinals; TESSERA_NONE: no condition */
  uint32_t alive_at;      /* event; TESSERA_NONE: no condition */
  uint8_t lifetime_class; /* TesseraClass; 0: no condition */
} TesseraSelector;

typedef struct
{
  TesseraEditKind kind;
  char *name; /* one line that a person can read; never NULL */
  TesseraSelector what;
  TesseraSelector with; /* apart only */
  bool has_with;
  char *group; /* merge, group, move; else NULL */
  uint64_t
      *shape; /* pin of several: distance of each of what.blocks from the lowest; owned,
                 what.n_blocks long, or NULL: all of them at @at (lives must differ) */
  TesseraSplitBy by;
  uint64_t at; /* pin: offset; cap: bytes; split at: event */
  uint8_t lifetime_class;
  int64_t created_s; /* since 1970, UTC */
  bool is_undone;
} TesseraEdit;

/* Merge, split, group, move, class: the kind shapes groups. All others are of places. */
bool tessera_edit_is_of_groups (const TesseraEdit *edit);
/* Owned once, all zero; for g_atomic_rc_box_release(). */
TesseraBlockNames *tessera_block_names_new (size_t n_names);
void tessera_selector_init (TesseraSelector *selector);
void tessera_selector_clear (TesseraSelector *selector); /* leaves it as after init */
void tessera_edit_clear (TesseraEdit *edit);
void tessera_selector_copy (const TesseraSelector *from, TesseraSelector *out_copy);
void tessera_edit_copy (const TesseraEdit *from, TesseraEdit *out_copy);

/*
 * tessera_select:
 * @groups: (nullable) (array length=n_groups): as blocks' group fields mean them
 * @selected: (array): one byte for each block, 0 or 1
 *
 * Any thread. Linear in blocks, and in frames of stacks where @selector has a source or a
 * module.
 */
void tessera_select (const TesseraSelector *selector,
                     const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure,
                     const TesseraGroup *groups,
                     size_t n_groups,
                     uint8_t *selected);
/* The indices of those that are, ascending; the caller frees them. */
void tessera_selected_list (const uint8_t *selected,
                            size_t n_blocks,
                            uint32_t **out_blocks,
                            size_t *out_n_blocks);

/* 0, 1 ... of each block among those of equal step, size_bytes and name of the innermost
 * phase of birth, in planner order. @ordinals: (array): one for each block. */
void tessera_block_ordinals (const TesseraTrace *trace,
                             const TesseraBlocks *blocks,
                             const TesseraStructure *structure,
                             uint32_t *ordinals);

/*
 * tessera_edits_name_blocks:
 * @edits: (inout): what they list by hand gets the names by which it is found in other
 *     traces of the same program, where it has none
 *
 * tessera_edits_find_blocks:
 * @edits: (inout): lists with names become those of the blocks that are called so here:
 * of this size, the same one in the order of its like in a step and phase (or in an
 *     earlier step, where the trace has not as many). Shapes go along. Lists without
 *     names stay
 * @error: names the edit and what is missing
 *
 * Any thread. Linear in blocks, where any edit lists some.
 *
 * Returns: TESSERA_OK or TESSERA_REFUSED: a block that an edit lists is not there. Then
 * some edits are as they were.
 */
void tessera_edits_name_blocks (const TesseraTrace *trace,
                                const TesseraBlocks *blocks,
                                const TesseraStructure *structure,
                                TesseraEdit *edits,
                                size_t n_edits);
TESSERA_MUST_USE TesseraStatus
tessera_edits_find_blocks (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           TesseraEdit *edits,
                           size_t n_edits,
                           TesseraError *error);

/* Two edits that cannot hold together (indices into the list; the same twice: one that
 * cannot hold by itself), or TESSERA_NONE. */
typedef struct
{
  uint32_t first, second;
} TesseraEditConflict;

/* Of what an edit of places is about. */
typedef struct
{
  size_t n_placed;  /* have a slot that can be held or left out */
  size_t n_dynamic; /* have none: their requests differ from step to step, and go to rooms
                       (planner/fold/), or wherever there is space */
} TesseraEditReach;

/* Says why an edit that reaches dynamic requests only is refused. */
#define TESSERA_ALL_DYNAMIC                                                              \
  "the requests that it is about differ from step to step: the plan has no slots for "   \
  "them that could be held or left out, they go to rooms, ranges that no slot needs "    \
  "meanwhile"

/* Why an edit that is to hold requests that steps keep is refused. */
#define TESSERA_ALL_KEPT                                                                 \
  "steps keep beyond the next one what the requests that it is about give: these have "  \
  "no place that could be held"

/* In a plan of all steps. @selected: (array): one byte for each block. Any thread; finds the
 * steps that fold. */
TesseraEditReach tessera_edit_reach (const TesseraTrace *trace,
                                     const TesseraBlocks *blocks,
                                     const TesseraStructure *structure,
                                     const uint8_t *selected);

/*
 * tessera_edits_regroup:
 * @blocks: without edits; stay as they are
 * @error: (nullable): a sentence that names the edit, where one is refused
 * @out_conflict: (nullable): which one it is
 * @out_blocks: (array): the same blocks with the groups and classes that they have under
 *     the edits; the caller frees it
 * @out_groups: (array length=out_n_groups): the groups that the plan made with the same
 *     edits has; for tessera_groups_free()
 *
 * Any thread. As long as grouping takes, once more for each edit of a class.
 *
 * Returns: TESSERA_OK or TESSERA_REFUSED: an edit can't be applied.
 * Nothing is given back then.
 */
TESSERA_MUST_USE TesseraStatus tessera_edits_regroup (const TesseraTrace *trace,
                                                      const TesseraBlocks *blocks,
                                                      const TesseraStructure *structure,
                                                      const TesseraEdit *edits,
                                                      size_t n_edits,
                                                      TesseraError *error,
                                                      TesseraEditConflict *out_conflict,
                                                      TesseraBlock **out_blocks,
                                                      TesseraGroup **out_groups,
                                                      size_t *out_n_groups);

/*
 * tessera_edits_settle:
 * @edits: (inout): of those that stand, selectors become lists of the blocks that they
 *     mean here: the same edits then hold of the same blocks wherever a trace's lives
 *     differ (planner/what-if.h). A shape goes along
 *
 * Any thread. As long as tessera_edits_regroup().
 *
 * Returns: TESSERA_OK or TESSERA_REFUSED where one can't be applied.
 * Then some are as they were.
 */
TESSERA_MUST_USE TesseraStatus tessera_edits_settle (const TesseraTrace *trace,
                                                     const TesseraBlocks *blocks,
                                                     const TesseraStructure *structure,
                                                     TesseraEdit *edits,
                                                     size_t n_edits);
