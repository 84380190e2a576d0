/*
 * What a trace file became: events, blocks, structure, and the layouts made from them.
 *
 * Shared between the main thread and workers by reference counting; what is in it never
 * changes once it is there. Axes and layouts are made when first asked for. Edits of
 * groups and classes make another of it, which has blocks and groups of its own and all
 * else in common with the one that it comes from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/plan.h"
#include "picture/curves.h"
#include "picture/scene.h"
#include "planner/edit.h"
#include "planner/groups.h"
#include "simulator/pool.h"
#include "simulator/simulate.h"
#include "simulator/verdict.h"

#define TESSERA_N_AXES 3
#define TESSERA_N_CLASSES 5 /* of TesseraClass, and 0: not known */
#define TESSERA_N_LAYOUTS 3 /* recorded, native, expandable: a plan's is its own */

typedef struct
{
  TesseraFold *live;
  TesseraFold *allocated;
  TesseraFold *reserved;
} TesseraFolds;

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

  /* private */
  struct TesseraData *origin; /* that edits made this from; NULL: it is as analysed */
  GMutex lock;
  TesseraAxis *axes[TESSERA_N_AXES];
  TesseraLayout *layouts[TESSERA_N_LAYOUTS];
  TesseraFolds folds[TESSERA_N_LAYOUTS];
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
TesseraStatus tessera_data_analyse (TesseraData *data, TesseraError *error);
/* The same with the groups and classes that blocks have under edits. @data may have been
 * made so itself: edits are applied to what it comes from. The very data, as analysed,
 * where none of the edits is about groups; @data itself where they make it so: views have
 * nothing to show anew then. TESSERA_REFUSED: an edit can't be applied.
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
void tessera_data_unref (TesseraData *data); /* NULL is fine */

/* Made on first use, borrowed, valid as long as @data. Any thread. */
TesseraStatus tessera_data_get_axis (TesseraData *data,
                                     TesseraAxisKind kind,
                                     TesseraError *error,
                                     const TesseraAxis **out_axis);
TesseraStatus tessera_data_get_layout (TesseraData *data,
                                       TesseraLayoutKind kind,
                                       const TesseraProgress *progress,
                                       TesseraError *error,
                                       const TesseraLayout **out_layout);
/* Of a layout that was already made. */
const TesseraFolds *tessera_data_get_folds (TesseraData *data, TesseraLayoutKind kind);

/* Not kept: the caller frees it. */
TesseraStatus tessera_data_simulate (TesseraData *data,
                                     TesseraLayoutKind kind,
                                     const TesseraPlan *plan,
                                     const TesseraProgress *progress,
                                     TesseraError *error,
                                     TesseraLayout **out_layout);

/* Every failure leaves with a sentence, also where a layer below had none to give.
 * @doing: "reading", "planning" ... */
TesseraStatus
tessera_explain (TesseraStatus status, TesseraError *error, const char *doing);
