/*
 * A random trace with the options of a plan of it, from a seed: what the planner's
 * promises are proven on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/planner.h"
#include "tests/simulator/made-case.h"
#include "tests/simulator/made-program.h"

enum
{
  INSTANCE_MOST_EDITS = 4
};

typedef enum
{
  INSTANCE_TINY,       /* a history of at most 8 blocks */
  INSTANCE_TINY_STEPS, /* steps of a few requests */
  INSTANCE_HISTORY,    /* blocks that come and go, without steps */
  INSTANCE_PROGRAM,    /* steps of several kinds */
  INSTANCE_ONE_KIND,   /* all steps are alike */
  INSTANCE_EXPERTS,    /* requests that no two steps make alike */
  INSTANCE_VARIES,     /* steps of different length */
  INSTANCE_N_KINDS,
  INSTANCE_KEEPS = INSTANCE_N_KINDS, /* steps of one or more kinds that keep something;
                                        not among those that are drawn by turns */
  INSTANCE_VARIES_AND_KEEPS
} InstanceKind;

typedef struct
{
  guint32 seed;
  InstanceKind kind;
  GRand *random; /* where its draws have come to */
  MadeOptions made;
  MadeProgram program; /* of a program: other runs of it can be drawn */
  gboolean is_program;
  gboolean was_run, is_frequent; /* each kind of step came again in its first run */
  Case of;
  TesseraPlanOptions options;
  TesseraEdit edits[INSTANCE_MOST_EDITS];
  guint n_edits;
  TesseraEditConflict conflict;
} Instance;

/* The trace, studied, and plan options without edits. */
void instance_init (Instance *instance, guint32 seed, InstanceKind kind);
typedef enum
{
  INSTANCE_NO_EDITS,
  INSTANCE_EDITS,       /* one to INSTANCE_MOST_EDITS of them, about anything */
  INSTANCE_SMALL_EDITS, /* the same, about a few blocks each: most of them can hold */
  INSTANCE_PINS         /* one or two, low enough for a plan for every length */
} InstanceEdits;

void instance_draw_edits (Instance *instance, InstanceEdits edits);
void instance_clear (Instance *instance);

/* The run under the plan, in which nothing overlaps and no request fails. */
TesseraLayout *instance_follow (const Case *run, const TesseraPlan *plan, bool by_length);
/* Another run of its program, with other draws. */
Case instance_other_run (Instance *instance, guint n_units);

/* Whether each run of the program is like the one that was planned but for the order of
 * its kinds of step: nothing is drawn, and each kind came often enough. */
gboolean instance_is_certain (const Instance *instance);

/* What a run reserved over what it reserves with expandable segments. */
double instance_of_expandable (const Case *run, uint64_t reserved_bytes);

/* Whether the plan is not worse than PyTorch for the run that it was made from, which @own is
 * under it: else nobody is advised to follow it (simulator/advice.c). */
gboolean instance_is_advised (const Instance *instance, const TesseraLayout *own);

/* What TESSERA_PROOF_SEED says, or 0. */
guint32 instance_first_seed (void);
/* 10,000 with TESSERA_TEST_LONG, what TESSERA_PROOF_INSTANCES says, or @n_short. */
guint instance_number (guint n_short);
guint instance_pick (GRand *random, guint n);
