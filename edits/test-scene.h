/*
 * A trace, a history of edits and the plans that come of both, for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "edits/edits.h"
#include "planner/planner.h"
#include "tests/db/auto.h"

#define MIB (UINT64_C (1) << 20)

/* Of the loop (planner/test-traces.h): parameters, the first layer's activation, all
 * activations. */
#define PARAMETERS "class=persistent"
#define FIRST "size=8192"
#define ACTIVATIONS "size>=8192 phase=forward"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraHistory *history;
  TesseraPlanOptions options;
  TesseraEditConflict conflict;
  TesseraError error;
} TestScene;

/* Takes @trace. */
TestScene test_scene_new (TesseraTrace *trace);
/* A loop of four steps and five layers. */
void test_scene_begin (TestScene *scene, gconstpointer data);
void test_scene_end (TestScene *scene, gconstpointer data);

static inline void
test_scene_clear (TestScene *scene)
{
  test_scene_end (scene, NULL);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TestScene, test_scene_clear)

/* The edit that was added, for the caller to finish; until the next one is. */
TesseraEdit *
test_add (TestScene *scene, TesseraEditKind kind, const char *what, uint64_t at);
void test_add_apart (TestScene *scene, const char *what, const char *with);
void test_add_group (TestScene *scene,
                     TesseraEditKind kind,
                     const char *what,
                     const char *group);

TesseraStatus test_try_plan (TestScene *scene, TesseraPlan **out_plan);
/* A checked plan; test_digest() is its digest. */
TesseraPlan *test_plan (TestScene *scene);
uint64_t test_digest (TestScene *scene);

/* By block, without groups. */
guint8 *test_select_blocks (const TestScene *scene, const char *query);
gsize
test_count_slots (const TestScene *scene, const TesseraPlan *made, const char *query);
/* The trace once more, after the plan. Returns: misses. */
uint64_t test_follow (const TestScene *scene, const TesseraPlan *made);
/* By block; all of these misses are planned. */
guint8 *test_find_missed (const TestScene *scene, const TesseraPlan *made);
