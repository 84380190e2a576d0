/*
 * What to do about the peak: policies, and changes of the program, each with what it would win.
 *
 * What a change wins is computed from the trace, by giving the blocks that it is about other
 * sizes or lives: nothing is said that wins less than a hundredth of the peak.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/whose.h"
#include "db/plan.h"
#include "simulator/verdict.h"

typedef enum
{
  TESSERA_TRY_EXPANDABLE, /* the two policies: the program stays as it is */
  TESSERA_TRY_PLAN,
  TESSERA_TRY_FUSED,      /* the optimizer makes no temporaries */
  TESSERA_TRY_ZERO_GRAD,  /* gradients go right after the optimizer's step */
  TESSERA_TRY_CHUNKS,     /* logits and loss by eighths */
  TESSERA_TRY_CHECKPOINT, /* of the heaviest repeated module: made again in the backward */
  TESSERA_TRY_NO_GRAD,    /* evaluations keep nothing for a backward pass */
  TESSERA_TRY_DELETE,     /* what a step leaves behind goes at its end */
  TESSERA_TRY_8BIT,    /* optimizer state in a byte each, by a step with no temporaries */
  TESSERA_TRY_OFFLOAD, /* optimizer state on the host, where it is stepped */
  TESSERA_TRY_HALF_BATCH,
  TESSERA_N_TRIES
} TesseraTry;

/* "fused" ... */
const char *tessera_try_name (TesseraTry what);
/* Whether a dry run can make the change from outside, by that name: dry-run --try fused. */
bool tessera_try_is_from_outside (TesseraTry what);

/* Begins the keys of a trace's meta that tell what was live at most in a dry run of the same
 * program with a change, in decimal, or why there was none: "tried_fused". */
#define TESSERA_TRIED_KEY "tried_"

typedef struct
{
  TesseraTry what;
  const char *of;      /* what becomes less: "needed" (the smallest device) or "live" */
  uint64_t peak_bytes; /* that would have to be so after it; failed requests count */
  uint64_t wins_bytes; /* so much less than now, as measured where it was tried */
  uint64_t
      tried_bytes; /* the peak that a dry run with it had; 0: the trace tells of none */
  char *sentence; /* what it does to which blocks, and whether that was verified; owned */
  char *type;     /* the text to type; owned */
  char *modules;  /* of CHECKPOINT: which, "blocks.*"; else NULL; owned */
} TesseraSuggestion;

/* Policies, by the smallest devices that were found. @plan: (nullable) the one that @needs
 * is of; @path: the trace's file, for the text to type. TesseraSuggestion, g_array_unref(). */
GArray *tessera_suggest_policies (const TesseraTrace *trace,
                                  const TesseraNeeds *needs,
                                  const TesseraPlan *plan,
                                  const char *path);

/* Changes that win at least a hundredth, in a dry run too where one tried them, the largest
 * win first, the last two of the list last: TesseraSuggestion, g_array_unref(). Linear in
 * blocks and events for each. */
GArray *tessera_suggest (const TesseraWhose *whose);

/* ---- passes.c: passes of the modules of a list, blocks.0, blocks.1 ...: what checkpointing is
 * about ---- */

/* One pass of one of them through its forward. */
typedef struct
{
  uint32_t step, forward, backward; /* phases; TESSERA_NONE: there is none, or not yet */
  uint32_t next;                    /* pass of the module; TESSERA_NONE: none yet */
  uint32_t forward_end;             /* behind the last block that it made */
  uint32_t backward_begin;          /* where the first of them goes */
  uint32_t output;     /* the last block, which the next one starts from ... */
  uint64_t most_bytes; /* ... and no statistic of a norm, beside its largest */
  uint32_t last;       /* phase: the backward pass in which that one goes, or NONE */
} TesseraPass;

typedef struct
{
  char *family; /* "blocks.*": with most bytes of activations at the peak; or NULL */
  uint32_t *of_block; /* [n_blocks] into ...; TESSERA_NONE: made in no pass of these */
  GArray *passes;     /* ... TesseraPass */
} TesseraPasses;

/* The backward pass in which a block goes: a phase; NONE: it goes in none. */
uint32_t tessera_last_backward (const TesseraWhose *whose, const TesseraBlock *block);
void tessera_passes_find (TesseraPasses *passes, const TesseraWhose *whose);
void tessera_passes_clear (TesseraPasses *passes);
