/*
 * Made-up training programs, and runs of them, for tests: steps of several kinds that
 * train, evaluate and save in any order, with what outlives a step, what takes turns, and
 * where it is wanted sizes that follow the length of a batch, requests that some steps
 * leave out, several streams, frees that wait for another one, and what is kept for good.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "planner/test-traces.h"

#define MADE_UNIT 512u

enum
{
  MADE_MAX_OPERATIONS = 80,
  MADE_MAX_KINDS = 5,
  MADE_N_GRADIENTS = 4,
  MADE_MAX_UNITS = 60
};

typedef enum
{
  MADE_LOCAL,    /* asks for a block and frees it some operations later */
  MADE_GRADIENT, /* asks for one that the next training step frees */
  MADE_ZERO,     /* frees all gradients */
  MADE_REPLACE,  /* asks for a new block of a variable, then frees the old one */
  MADE_KEEP      /* asks for one and keeps it: for good, or until a collector comes by */
} MadeOp;

typedef enum
{
  MADE_ALWAYS,
  MADE_WHERE_PADDED, /* in steps whose length is no multiple of 8 */
  MADE_WHERE_MANY,   /* in steps of more than one sequence */
  MADE_NOW_AND_THEN  /* drawn in each step */
} MadePresence;

/* What a request adds to its constant size where steps vary: exact, so that who looks for
 * laws can be judged by it. */
typedef struct
{
  guint64 per_batch, per_length, per_token, per_square;
  guint64 cap_bytes; /* 0: none */
  guint rounding;    /* of the length; 0: none */
  guint noise;       /* up to so many units more, drawn each time: no law */
} MadeSize;

typedef struct
{
  MadeOp op;
  guint64 size_bytes;
  guint which; /* gradient or variable; of a local: operations until it is freed */
  MadeSize more;
  MadePresence presence;
  guint16 stream;
  guint late; /* up to so many operations until its free completes */
} MadeOperation;

typedef struct
{
  gboolean trains; /* it is a step; else it comes between two */
  MadeOperation operations[MADE_MAX_OPERATIONS];
  guint n_operations;
  guint backward; /* operation with which its backward pass begins; 0: no phases */
} MadeKind;

typedef struct
{
  MadeKind kinds[MADE_MAX_KINDS];
  guint n_kinds;
  guint64 gradient_bytes[MADE_N_GRADIENTS];
  guint64 variable_bytes;
  guint n_parameters, n_states; /* state: what the first step makes and keeps */
  guint64 scale;                /* of all sizes */
  gboolean varies, has_batch;   /* see MadeOptions */
  gboolean collects;            /* what is kept is freed now and then, all of it */
} MadeProgram;

/* All zero: constant sizes, one stream, no phases, two kinds or more. */
typedef struct
{
  gboolean has_part; /* the second kind is the first with a stretch left out */
  gboolean is_tiny;  /* a step of a few requests */
  guint n_kinds;     /* 0: drawn, 2 or more */
  guint n_streams;   /* 0: one */
  gboolean has_late; /* frees of some complete later */
  gboolean has_phases;
  gboolean varies;    /* sizes follow the length */
  gboolean has_batch; /* ... and the batch */
  gboolean has_noise; /* some sizes have no law */
  gboolean leaves_out;
  gboolean keeps; /* steps keep a little of what they ask for */
  guint64 scale;  /* 0: 1 */
} MadeOptions;

MadeProgram made_program (GRand *random, const MadeOptions *options);

/* One unit of a run. */
typedef struct
{
  guint kind;
  TesseraParameters parameters; /* 0: it does not vary */
} MadeUnit;

/* @n_units, at most MADE_MAX_UNITS, after a first step and before a last of the first
 * kind. Two training steps follow each other or have one other thing between them.
 * @counts: how often each kind came. */
void made_units (GRand *random,
                 const MadeProgram *program,
                 guint n_units,
                 MadeUnit *out_units,
                 guint *counts);

/* The first unit makes the optimizer's state. @random: for what is drawn at each request.
 */
TesseraTrace *made_run (GRand *random,
                        const MadeProgram *program,
                        const MadeUnit *units,
                        guint n_units);
